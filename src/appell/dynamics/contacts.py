"""Functions of a robot on contacts: `con = dyn.contacts(left=ap.Sole("left_sole"), hand=ap.Touch("gripper"))`.

Which frames may touch is structure and is compiled once. Where they touch and which of them do are arguments, so that a
step, a new foothold or another set of contacts compiles nothing. Every function takes some of

    footholds    (nc, 3, 4)    [R p] of each contact in the world, or in the frame `on` of another link, in the order of
                               `con.names`; finite even if inactive
    active       (nc,)         1 for each contact that touches, 0 for the others; `con.mask("left")`
    gains        (2,)          k_p (1/s²) and k_d (1/s) that return the frames to their footholds; (0, 0) holds rates

The axes, signs and formulas are those of `formulate.contacts`. The parameters of a formula below after `contacts` and
`equations` are the arguments of its function, as scalars and nested lists of scalars. Use float64: the test for
dependent rows assumes its precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Any, final

import numpy as np

from appell.algebra.matrix import Mat3, skew
from appell.algebra.scalar import Scalar, Vector, dot, sqrt
from appell.algebra.vector import UNITS, Vec3, total
from appell.compile.cache.content_hash import content_hash
from appell.compile.function import Function
from appell.compile.native.build_lock import BUILD_LOCK, locked_cached_property
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import inline, trace
from appell.dynamics.derivatives import DerivativeRule
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate.contacts import (
    Contacted,
    ContactRows,
    ContactSystem,
    Foothold,
    Stance,
    contact_adjoint,
    contact_dynamics,
    contact_impulse,
    contact_inverse_dynamics,
    contact_motions,
    row_residuals,
    spans,
    stacked_jacobian,
)
from appell.formulate.derivatives.contacts import (
    ContactColumn,
    contact_derivatives,
    foothold_columns,
    impulse_columns,
    motion_columns,
)
from appell.formulate.equations import Equations
from appell.model.contact import Sole, Touch
from appell.model.frame import Frame
from appell.model.joints import Floating
from appell.model.robot import refuse_flexible

if TYPE_CHECKING:
    from appell.dynamics.dynamics import Dynamics


def forward_dynamics(contacts, equations, q, v, tau, footholds, active, gains) -> dict[str, Any]:
    """Accelerations and contact forces for given actuator forces.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    tau : forces at the actuators, (..., nu), N m or N
    footholds : [R p] of each contact in the world or in the frame `on`, (..., nc, 3, 4); p in m
    active : 1 for contacts that touch, 0 for others, (..., nc)
    gains : k_p (1/s²) and k_d (1/s), (..., 2)

    Returns
    -------
    a : generalised accelerations, (..., nv), rad/s² or m/s²
    force : force (N) and moment (N m) on the link of each contact frame, at its origin, in foothold axes, (..., nc, 6);
        (..., nc, 3) without soles; exactly zero for inactive contacts. The link of `on` has the opposite wrench.
    flag : 0 regular, 1 redundant rows, 2 contradictory rows, 3 nearly singular rows; (...). If it is not 0, the forces
        of dependent rows are zero; `least_norm_dynamics` distributes them.

    Notes
    -----
    `derivatives` and `gradient` of the contacts are much faster than `jacobian` of this function for large robots.
    """
    stance = Stance.of(equations, contacts.rows, q, v, footholds, active)
    return contact_dynamics(equations, stance, q, v, tau, gains).results


def least_norm_dynamics(contacts, equations, q, v, tau, footholds, active, gains) -> dict[str, Any]:
    """The same as `forward_dynamics`, for any set of contacts: redundant forces have the least norm, in N and N m.

    For contradictory rows, accelerations satisfy them in the sense of least squares. It takes a third more time.
    """
    stance = Stance.of(equations, contacts.rows, q, v, footholds, active)
    return contact_dynamics(equations, stance, q, v, tau, gains, least_norm=True).results


def impulse(contacts, equations, q, v, footholds, active, restitution) -> dict[str, Any]:
    """Velocity after an impact of the active contacts.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : velocities before the impact, (..., nv), rad/s or m/s
    footholds : [R p] of each contact in the world or in the frame `on`, (..., nc, 3, 4); only the axes R are used
    active : 1 for contacts that hit, 0 for others, (..., nc)
    restitution : coefficient e: the rates of all active rows become -e times those before, (...)

    Returns
    -------
    v_after : velocities after the impact, (..., nv), rad/s or m/s
    impulse : impulses in foothold axes, as `force` of `forward_dynamics`, N s and N m s
    flag : as of `forward_dynamics`; redundant impulses have the least norm
    """
    stance = Stance.of(equations, contacts.rows, q, v, footholds, active)
    after, impulses, flag = contact_impulse(equations, stance, q, v, restitution)
    return {"v_after": after, "impulse": impulses, "flag": flag}


def inverse_dynamics(contacts, equations, q, v, a, footholds, active) -> dict[str, Any]:
    """Actuator forces and contact forces of a motion of a robot with a floating base.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    a : generalised accelerations, (..., nv), rad/s² or m/s²
    footholds : [R p] of each contact in the world or in the frame `on`, (..., nc, 3, 4); only the axes R are used
    active : 1 for contacts that touch, 0 for others, (..., nc)

    Returns
    -------
    tau : generalised forces, (..., nv), N m or N; zero at the base
    force : contact forces of least norm (in N and N m) in foothold axes, as of `forward_dynamics`; zero between links
    flag : 0 if the contacts can apply any wrench to the base; 1 if they cannot, but apply the required one; 2 if they
        cannot apply the required one, and tau has forces at the base; 3 if nearly so; (...)
    """
    stance = Stance.of(equations, contacts.rows, q, v, footholds, active)
    required = equations.forces(q, v, a, {})
    tau, force, flag = contact_inverse_dynamics(stance, required, contacts.base_velocities)
    return {"tau": tau, "force": force, "flag": flag}


def jacobian(contacts, equations, q) -> dict[str, Any]:
    """J(q), the rows of all contacts, three or six each, (..., rows, nv): velocities in the axes of the frames.

    They are relative to the world or to the frame `on`.
    """
    rest = [0.0] * contacts.dyn.system.nv
    return {"J": stacked_jacobian(equations, contact_motions(equations, contacts.rows, q, rest, rest), q)}


def drift(contacts, equations, q, v) -> dict[str, Any]:
    """The accelerations of all rows of `jacobian` at a = 0, (..., rows), m/s² and rad/s².

    Three rows are the acceleration of the frame's origin, six the rates of its velocities in its own axes, relative to
    the world or to the frame `on`.
    """
    motions = contact_motions(equations, contacts.rows, q, v, [0.0] * len(v))
    return {"drift": [x for motion in motions for x in motion.drift]}


def gap(contacts, equations, q, footholds) -> dict[str, Any]:
    """Deviations of the contact frames from their footholds, in rows of `jacobian`, (..., rows), m and rad."""
    rest = [0.0] * contacts.dyn.system.nv
    motions = contact_motions(equations, contacts.rows, q, rest, rest)
    pairs = zip(motions, footholds, strict=True)
    return {"gap": [x for motion, rows in pairs for x in Foothold.of(motion.pose, rows).gap(motion.size)]}


def poses(contacts, equations, q) -> dict[str, Any]:
    """[R p] of all contact frames, (..., nc, 3, 4), in the world or in `on`: the footholds it stands on at q."""
    poses = [equations.pose(contact.frame, q) for contact in contacts.rows]
    bases = [contact.on and equations.pose(contact.on, q).inverse for contact in contacts.rows]
    return {"footholds": [(base @ pose if base else pose).rows for base, pose in zip(bases, poses, strict=True)]}


def friction(contacts, equations, force, mu, size) -> dict[str, Any]:
    """Rows of the friction cones; all are positive if the contacts hold.

    The normal of a foothold is its z axis. Forces have the shape that `forward_dynamics` returns.

    Parameters
    ----------
    force : contact forces in foothold axes, (..., nc, 6) or (..., nc, 3), N and N m
    mu : coefficient of friction, (...)
    size : half lengths of the soles along x and y, (..., 2), m

    Returns
    -------
    margin : mu f_z - |(f_x, f_y)| of each contact and, for soles, l_y f_z - |m_x| and l_x f_z - |m_y|,
        (..., nc, 3) or (..., nc, 1); both are f_z for a contact without a moment
    """
    margins = []
    for contact, (fx, fy, fz, *moment) in zip(contacts.rows, force, strict=True):
        cone = mu * fz - sqrt(fx * fx + fy * fy)
        edges = [size[1] * fz - abs(moment[0]), size[0] * fz - abs(moment[1])] if moment else []
        margins.append([cone, *(edges if contact.size == 6 else [fz] * len(edges))])
    return {"margin": margins}


def zero_moment_point(contacts, equations, force, footholds, height) -> dict[str, Any]:
    """The point of a level plane about which forces from the world have no horizontal moment, (..., 2), m.

    Parameters
    ----------
    force : contact forces in foothold axes, as `forward_dynamics` returns them, N and N m
    footholds : [R p] of each contact in the world, (..., nc, 3, 4)
    height : z of the plane, (...), m
    """
    forces, moments = [], []
    for contact, components, rows in zip(contacts.rows, force, footholds, strict=True):
        if contact.on is not None:
            continue
        R, p = Mat3.of(row[:3] for row in rows), Vec3.of(row[3] for row in rows)
        f = R @ Vec3.of(components[:3])
        forces.append(f)
        moments.append((p - Vec3(0.0, 0.0, height)).cross(f))
        if len(components) == 6:
            moments.append(R @ Vec3.of(components[3:]))
    if not forces:
        raise ModelError(f"zero_moment_point of {contacts.dyn.system.owner}: no contact touches the world.")
    inverse, moment = 1.0 / total(forces).z, total(moments)
    return {"point": [-moment.y * inverse, moment.x * inverse]}


def capture_point(contacts, equations, q, v, height) -> dict[str, Any]:
    """The point of a level plane on which a linear inverted pendulum with the motion of the centre of mass stops.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    height : z of the plane, (...), m

    Returns
    -------
    point : c + ċ √((c_z - height)/g) in x and y, (..., 2), m, for gravity g along -z
    """
    c, momentum = equations.center_of_mass(q), equations.momentum(q, v)[0]
    mass = sum(body.mass for body in contacts.dyn.system.bodies.values() if body)
    time = sqrt((c.z - height) * (-1.0 / contacts.dyn.system.gravity.z)) * (1.0 / mass)
    return {"point": [c.x + time * momentum.x, c.y + time * momentum.y]}


def _traced(formula: Callable[..., dict[str, Any]], *, inertial: bool = True) -> locked_cached_property[Function]:
    """Return the property of `ContactSet` that traces a formula at first access."""
    doc = cleandoc(formula.__doc__ or "")

    def make(contacts: ContactSet) -> Function:
        names = list(signature(formula).parameters)[2:]

        def without_others(contacts: ContactSet, equations: Equations, *values):
            return formula(contacts, equations, *values[: len(names)])

        return contacts.function(formula.__name__, names, without_others, doc, inertial=inertial)

    make.__doc__ = doc
    return locked_cached_property(make)


@final
class ContactSet:
    """Functions of a robot on contacts, created by `Dynamics.contacts`.

    `names` are the contacts in the order of footholds and masks. All functions take leading axes as the batch.

    Examples
    --------
    >>> import appell as ap
    >>> con = ap.Dynamics(ap.load("planar-2r")).contacts(tip=ap.Touch("tool"))
    >>> con.names
    ('tip',)
    >>> con.mask("tip")
    array([1.])
    """

    def __init__(self, dyn: Dynamics, contacts: Mapping[str, Touch | Sole]):
        refuse_flexible(dyn.system, "contacts")
        self.dyn, self.contacts = dyn, dict(contacts)
        self.names = tuple(contacts)
        self.rows = tuple(self._row(name, contact) for name, contact in contacts.items())
        self._check()
        self._made: dict[tuple, Function] = {}

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={contact}" for name, contact in self.contacts.items())
        return f"ContactSet({self.dyn.system.owner}: {listed})"

    def _row(self, name: str, contact: Any) -> ContactRows:
        system = self.dyn.system
        if not isinstance(contact, (Touch, Sole)):
            raise ArgumentError(
                f"contact '{name}' of {system.owner} is {contact!r}.",
                expected=f'ap.Touch("{system.frame_names[-1]}") or ap.Sole("{system.frame_names[-1]}")',
            )
        frame = system.frame(contact.frame)
        if frame.body is None:
            raise ModelError(
                f"contact '{name}' of {system.owner}: frame '{frame.name}' is fixed to the world and cannot touch it.",
                expected="a frame on a moving link",
            )
        if contact.on is None:
            return ContactRows(frame, contact.size)
        on = system.frame(contact.on)
        if on.body in (None, frame.body):
            problem = "the world" if on.body is None else f"the link '{on.body}' of frame '{frame.name}'"
            raise ModelError(
                f"contact '{name}' of {system.owner}: frame '{on.name}' in `on` is fixed to {problem}.",
                expected="a frame on another moving link",
                hint="" if on.body else "Omit `on`; footholds are then poses in the world.",
            )
        return ContactRows(frame, contact.size, on)

    def _check(self) -> None:
        dyn, system = self.dyn, self.dyn.system
        if not self.contacts:
            raise ArgumentError(
                f"contacts of {system.owner} is empty.", expected='a contact, such as foot=ap.Touch("foot")'
            )
        if system.tree is None:
            raise ModelError(
                f"contacts are for trees and robots with loops; {system.owner} is a mechanism in closed form.",
                hint="Describe it as a tree of links with loops: robot.with_loops(...).",
            )
        if dyn.wrenches:
            raise ArgumentError(
                f"contacts of {system.owner}: its Dynamics has external wrenches on {', '.join(dyn.wrenches)}.",
                expected="Dynamics without wrenches",
            )

    # ---- functions

    forward_dynamics = _traced(forward_dynamics)
    least_norm_dynamics = _traced(least_norm_dynamics)
    impulse = _traced(impulse)
    jacobian = _traced(jacobian, inertial=False)
    drift = _traced(drift, inertial=False)
    gap = _traced(gap, inertial=False)
    poses = _traced(poses, inertial=False)
    friction = _traced(friction, inertial=False)
    zero_moment_point = _traced(zero_moment_point, inertial=False)
    capture_point = _traced(capture_point)
    inverse_dynamics = _traced(inverse_dynamics)

    def solve(self, q, v, tau, footholds, active, gains, *others) -> Any:
        """Return a, force and flag of `forward_dynamics`, with forces of least norm where the flag is not 0.

        Samples with a flag are computed again by `least_norm_dynamics`. See `forward_dynamics` for the arguments;
        parameters of free bodies and values of prescribed motions follow them.
        """
        given = (q, v, tau, footholds, active, gains, *others)
        result = self.forward_dynamics(*given)
        again = np.asarray(result.flag) > 0.0  # not where it is NaN
        if not again.any():
            return result
        inputs = zip(self.forward_dynamics.inputs, given, strict=True)
        chosen = [np.broadcast_to(x, (*again.shape, *array.shape))[again] for array, x in inputs]
        values = [np.array(x) for x in result]
        for value, corrected in zip(values, self.least_norm_dynamics(*chosen), strict=True):
            value[again] = corrected
        return result._replace(**dict(zip(result._fields, values, strict=True)))

    def derivatives(self, *wrt: str, forces: bool = True) -> Function:
        """Return the derivatives of a and force with respect to arguments of `forward_dynamics`.

        They hold for any state, also if the contact frames are not at their footholds or move, and for every active
        set of independent rows. For redundant rows (flag 1) `da` is correct and `dforce` is one of many solutions.

        Parameters
        ----------
        *wrt : {"q", "v", "tau", "footholds", "parameters"}
            Arguments. Derivatives by q are along the velocities; those by footholds along a shift (m) and a turn (rad)
            of each foothold in its own axes. `parameters` are the inertial parameters of free bodies.
        forces : bool
            Whether to compute the derivatives of the forces as well.

        Returns
        -------
        Function
            Of the arguments of `forward_dynamics`. Its results are `a`, `force` and `flag`, followed by `da_d<name>`,
            (..., nv, columns), and `dforce_d<name>`, (..., nc, 6 or 3, columns), for every name.
        """
        return self._once(("derivatives", wrt, forces), lambda: self._derivatives(wrt, forces))

    def impulse_derivatives(self) -> Function:
        """Return the derivatives of the velocity after an impact without restitution with respect to q and v.

        They are for contacts with the world, and for every active set. The arguments are those of `impulse` without the
        restitution. The results are `v_after`, (..., nv), and `dv_after_dq` and `dv_after_dv`, (..., nv, nv).
        """
        return self._once(("impulse_derivatives",), self._impulse_derivatives)

    def _impulse_derivatives(self) -> Function:
        self._differentiable("impulse_derivatives", ("q", "v"))
        if linked := [name for name, contact in zip(self.names, self.rows, strict=True) if contact.on is not None]:
            raise ModelError(
                f"impulse_derivatives of {self.dyn.system.owner}: contact '{linked[0]}' is on another link.",
                expected="contacts with the world",
            )

        def formula(contacts, equations, q, v, footholds, active, *others) -> dict[str, Any]:
            rest = [0.0] * len(v)
            system = ContactSystem.of(equations, Stance.of(equations, self.rows, q, v, footholds, active), q)
            impulses = system.solver.solve(system.right([-x for each in system.stance.motions for x in each.rate]))
            change = system.acceleration(rest, impulses)
            after = [x + d for x, d in zip(v, change, strict=True)]
            solution = Contacted(change, impulses, 0.0, system)
            none, rule = self._wrenches([0.0] * len(impulses)), self._rule
            with_change = rule.forces(equations, q, rest, change, self._wrenches(impulses))
            inverse = with_change, rule.forces(equations, q, rest, rest, none)
            motions = contact_motions(equations, self.rows, q, after, rest)
            tree = equations.bodies.tree  # type: ignore[union-attr]
            columns = impulse_columns(tree, self.rows, motions, solution, inverse, after)
            solved = contact_derivatives(solution, columns, ("q", "v"), others[-1], forces=False)
            by_v = [[x + (1.0 if i == j else 0.0) for j, x in enumerate(row)] for i, row in enumerate(solved["v"][0])]
            return {"v_after": after, "dv_after_dq": solved["q"][0], "dv_after_dv": by_v}

        doc = "Derivatives of the velocity after an impact with respect to q and v."
        return self.function("impulse_dq_dv", ["q", "v", "footholds", "active"], formula, doc, loops=True)

    def _once(self, key: tuple, make: Callable[[], Function]) -> Function:
        with BUILD_LOCK:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def _derivatives(self, wrt: tuple[str, ...], forces: bool) -> Function:
        names = self._differentiable("derivatives", wrt)

        def formula(contacts, equations, q, v, tau, footholds, active, gains, *others) -> dict[str, Any]:
            stance = Stance.of(equations, self.rows, q, v, footholds, active)
            solution = contact_dynamics(equations, stance, q, v, tau, gains)
            motions = contact_motions(equations, self.rows, q, v, solution.a)
            columns: dict[str, Any] = {}
            if {"q", "v"} & {*wrt}:
                inverse = self._rule.forces(equations, q, v, solution.a, self._wrenches(solution.forces))
                tree = equations.bodies.tree  # type: ignore[union-attr]
                columns |= motion_columns(tree, self.rows, motions, solution, inverse, v, gains)
            if "footholds" in wrt:
                columns["footholds"] = foothold_columns(self.rows, solution, gains, len(v))
            if "parameters" in wrt:
                columns["parameters"] = self._parameter_columns(equations, q, v, solution)
            solved = contact_derivatives(solution, columns, wrt, others[-1], forces=forces)
            results = solution.results
            for name in wrt:
                results[f"da_d{name}"] = solved[name][0]
                if forces:
                    results[f"dforce_d{name}"] = self._by_contact(solved[name][1])
            return results

        name = f"contact_dynamics_d{'_d'.join(wrt)}{'' if forces else '_without_forces'}"
        doc = f"Derivatives of a{' and force' * forces} with respect to {', '.join(wrt)}."
        return self.function(name, names, formula, doc, loops=True)

    def gradient(self, *wrt: str) -> Function:
        """Return the gradient of Σ weights_a · a + Σ weights_force · force, by the adjoint method.

        It costs little more than `forward_dynamics`, whatever the number of arguments. See `derivatives` for the
        directions, and for redundant rows.

        Parameters
        ----------
        *wrt : {"q", "v", "tau", "footholds", "parameters"}
            Arguments.

        Returns
        -------
        Function
            Of the arguments of `forward_dynamics`, `weights_a`, (..., nv), and `weights_force`, with the shape of
            force. Its results are `a`, `force` and `flag`, followed by `gradient_<name>`, (..., columns).
        """
        return self._once(("gradient", wrt), lambda: self._gradient(wrt))

    def _gradient(self, wrt: tuple[str, ...]) -> Function:
        names = [*self._differentiable("gradient", wrt), "weights_a", "weights_force"]

        def formula(
            contacts, equations, q, v, tau, footholds, active, gains, of_a, of_force, *parameters
        ) -> dict[str, Any]:
            stance = Stance.of(equations, self.rows, q, v, footholds, active)
            solution = contact_dynamics(equations, stance, q, v, tau, gains)
            adjoint_rows, adjoint = contact_adjoint(solution, of_a, of_force)
            fixed = (solution.a, solution.forces, adjoint, adjoint_rows, of_force)
            gradients = inline(self._lagrangian(wrt), q, v, tau, footholds, gains, *fixed, *parameters)
            return solution.results | {f"gradient_{name}": values for name, values in zip(wrt, gradients, strict=True)}

        doc = f"Gradient of Σ weights_a · a + Σ weights_force · force with respect to {', '.join(wrt)}."
        return self.function(f"contact_gradient_d{'_d'.join(wrt)}", names, formula, doc)

    def _lagrangian(self, wrt: tuple[str, ...]) -> Tape:
        """The gradient of -(s·r₁ + t·r₂) + weights_force·λ_b at fixed a, λ and adjoints s, t."""
        system = self.dyn.system
        count, rows = system.nv, sum(contact.size for contact in self.rows)
        inputs = self.inputs(["q", "v", "tau", "footholds", "gains"], inertial=False)
        inputs |= {"a": (count,), "forces": (rows,), "s": (count,), "t": (rows,)}
        inputs |= self.inputs(["weights_force"], inertial=True)

        def total(q, v, tau, footholds, gains, a, forces, s, t, of_force, parameters=()) -> dict[str, Any]:
            equations = self._rule.equations(parameters)
            required = equations.forces(q, v, a, self._wrenches(forces))
            value = -dot(s, [x - y for x, y in zip(required, tau, strict=True)])
            motions = contact_motions(equations, self.rows, q, v, a)
            feet = [Foothold.of(motion.pose, rows) for motion, rows in zip(motions, footholds, strict=True)]
            value = value - dot(t, row_residuals(motions, feet, gains))
            for contact, motion, span in zip(self.rows, motions, spans(self.rows), strict=True):
                if contact.on is not None:  # λ·J s
                    value = value + dot([forces[k] for k in span], [dot(row, s) for row in motion.J])
            for foot, span, weights in zip(feet, spans(self.rows), of_force, strict=True):
                value = value + dot(weights[: len(span)], foot.turned([forces[k] for k in span]))
            return {"total": value}

        return Function.of("lagrangian", inputs, total, tangents=self.tangents).jacobian(*wrt).tape

    def _differentiable(self, use: str, wrt: tuple[str, ...]) -> list[str]:
        """Return the arguments of forward dynamics; raise an error if derivatives by `wrt` cannot be computed."""
        system = self.dyn.system
        if not system.is_tree:
            raise ModelError(
                f"{use} of contacts is for trees; {system.owner} has loops, other constraints or elastic joints.",
                hint="Use con.forward_dynamics.jacobian(...), which differentiates its tape.",
            )
        known = ["q", "v", "tau", "footholds", *["parameters"] * bool(self.dyn.free_bodies)]
        if not wrt or len({*wrt}) < len(wrt) or not {*wrt} <= {*known}:
            wrong = next((name for name in wrt if name not in known), "")
            problem = f"'{wrong}'" if wrong else f"{wrt}"
            hint = (
                "Name the bodies whose parameters are arguments: robot.with_free(...)." if wrong == "parameters" else ""
            )
            raise ArgumentError(
                f"{use} of contacts of {system.owner} with respect to {problem}.",
                expected=f"some of {', '.join(known)}, each once",
                hint=hint,
            )
        return ["q", "v", "tau", "footholds", "active", "gains"]

    @cached_property
    def _rule(self) -> DerivativeRule:
        """Derivatives of inverse dynamics with wrenches on the contact frames."""
        system, choice = self.dyn.system, replace(self.dyn.choice, reference="LOCAL")
        frames = tuple(dict.fromkeys(contact.frame for contact in self.rows if contact.on is None))
        free = tuple(self.dyn.free_bodies)
        return DerivativeRule(system.tree, choice, "forward_dynamics", (), (), frames, free, self.dyn.tangents)

    def _wrenches(self, forces: Vector) -> dict[Frame, list[Scalar]]:
        """Wrenches of contacts with the world on the contact frames, in the axes of the frames."""
        wrenches = {contact.frame: [0.0] * 6 for contact in self.rows if contact.on is None}
        for contact, rows in zip(self.rows, spans(self.rows), strict=True):
            for i, k in enumerate(rows if contact.on is None else ()):
                wrenches[contact.frame][i] = wrenches[contact.frame][i] + forces[k]
        return wrenches

    def _parameter_columns(
        self, equations: Equations, q: Vector, v: Vector, solution: Contacted
    ) -> list[ContactColumn]:
        names = [*self.dyn.system.bodies]
        indices = [10 * names.index(name) + k for name in self.dyn.free_bodies for k in range(10)]
        order = sorted(indices)
        Y = equations.body_regressor(q, v, solution.a, order)
        rest = [0.0] * len(solution.forces)
        return [ContactColumn([row[order.index(k)] for row in Y], rest) for k in indices]

    def _by_contact(self, rows: list) -> list:
        """Rows of ∂λ, one block per contact, padded with zeros."""
        width = max(contact.size for contact in self.rows)
        blocks = [[rows[k] for k in span] for span in spans(self.rows)]
        return [[*block, *[[0.0] * len(rows[0])] * (width - len(block))] for block in blocks]

    def mask(self, *names: str) -> np.ndarray:
        """Return the array `active` in which the named contacts touch."""
        for name in names:
            if name not in self.names:
                raise ArgumentError(unknown_name("contact", str(name), self.names, self.dyn.system.owner))
        return np.array([float(name in names) for name in self.names])

    def footholds(self, poses) -> np.ndarray:
        """Return footholds, (..., nc, 3, 4), from poses of the contacts in the world or in the frame `on`.

        Parameters
        ----------
        poses : array_like
            Homogeneous matrices, (..., nc, 4, 4), or positions and quaternions x y z w of any length, (..., nc, 7).
        """
        values, n = np.asarray(poses, float), len(self.rows)
        if values.shape[-3:] == (n, 4, 4):
            return values[..., :3, :]
        if values.shape[-2:] != (n, 7):
            raise ArgumentError(
                f"poses of the contacts of {self.dyn.system.owner} have shape {values.shape}.",
                expected=f"(..., {n}, 4, 4), or (..., {n}, 7) with position and quaternion x y z w",
            )
        x, y, z, w = np.moveaxis(values[..., 3:] / np.linalg.norm(values[..., 3:], axis=-1, keepdims=True), -1, 0)
        u = np.moveaxis(np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]]), (0, 1), (-2, -1))
        R = np.eye(3) + 2.0 * (w[..., None, None] * u + u @ u)
        return np.concatenate([R, values[..., :3, None]], axis=-1)

    @cached_property
    def base_velocities(self) -> range:
        """Indices of the velocities of the floating base."""
        system = self.dyn.system
        if not system.is_tree or not isinstance(system.tree.links[0].joint.motion, Floating):
            raise ModelError(
                f"inverse_dynamics of contacts needs a floating base; {system.owner} has none.",
                hint="Use Dynamics(wrenches=...).inverse_dynamics with known contact forces.",
            )
        return range(*system.tree.span(system.tree.links[0].joint)[1].indices(system.nv))

    def function(
        self,
        name: str,
        arguments: list[str],
        formula: Callable[..., dict[str, Any]],
        doc: str = "",
        *,
        inertial: bool = True,
        loops: bool = False,
    ) -> Function:
        """Make a Function of a formula of contacts.

        Parameters
        ----------
        name : name of the function
        arguments : names of its arguments
        formula : function (contacts, equations, *arguments, *others); the others are the parameters of free bodies and
            the values of prescribed motions, which the equations contain, and the `Loops` if `loops`
        doc : documentation of the function
        inertial : whether it depends on inertial parameters, so that those of free bodies are an argument
        loops : whether its loops remain loops
        """
        inputs = self.inputs(arguments, inertial)
        if inertial and self.dyn.system.is_tree and not self.dyn.equations.is_regular:
            raise ModelError(f"{name} of {self.dyn.system.owner}: some of its joints move no inertia.")

        def body(*values) -> dict[str, Any]:
            given = dict(zip(inputs, values, strict=False))
            equations = self.dyn.equations_with(given.get("parameters", ()), given.get("prescribed", ()))
            return formula(self, equations, *(given[argument] for argument in arguments), *values[len(arguments) :])

        system = self.dyn.system
        subject = content_hash("contacts", system, self.dyn.choice, self.rows, name, arguments)
        return Function.of(name, inputs, body, doc, system.owner, self.tangents, loops=loops, subject=subject)

    def inputs(self, arguments: list[str], inertial: bool) -> dict[str, tuple[int, ...]]:
        """Shapes of arguments by name, with those of free bodies and prescribed motions."""
        system, n = self.dyn.system, len(self.rows)
        width = max(contact.size for contact in self.rows)
        shapes: dict[str, tuple[int, ...]] = {name: (size,) for name, size in system.sizes.items()}
        shapes |= {"footholds": (n, 3, 4), "active": (n,), "gains": (2,), "force": (n, width), "size": (2,)}
        shapes |= {"weights_a": (system.nv,), "weights_force": (n, width)}
        chosen = {name: shapes.get(name, ()) for name in arguments}
        if inertial and (free := self.dyn.free_bodies):
            chosen["parameters"] = (10 * len(free),)
        if system.prescribed and "q" in arguments:
            chosen["prescribed"] = (3 * len(system.prescribed),)
        return chosen

    @cached_property
    def tangents(self) -> dict[str, Tape]:
        """Directions of q, and shifts and turns of footholds in their own axes; they are not vector spaces."""
        n = len(self.rows)

        def directions(footholds) -> dict[str, Any]:
            columns = []
            for c, rows in enumerate(footholds):
                R = Mat3.of(row[:3] for row in rows)
                shifts = [[[0.0, 0.0, 0.0, x] for x in R @ unit] for unit in UNITS]
                turns = [[[*row, 0.0] for row in (R @ skew(unit)).rows] for unit in UNITS]
                empty = [0.0] * 12
                for moved in (*shifts, *turns):
                    columns.append(empty * c + [x for row in moved for x in row] + empty * (n - 1 - c))
            return {"N": [list(row) for row in zip(*columns, strict=True)]}

        return {**self.dyn.tangents, "footholds": trace("tangent", [Array("footholds", (n, 3, 4))], directions)}
