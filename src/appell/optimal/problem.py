"""An optimal control problem on a grid of knots, over abstract scalars: what a solver evaluates at every knot.

    min  Σ h l(t, q, v, τ, p) + l_N(q, v, p)       x_{k+1} = s(x_k, u_k, h, p),  g(t, x, u, p) ≤ 0,  e = 0          (1)

s is the step of `ap.rollout`, so that an optimal motion rolled out gives the same numbers. x = (q, v) is a state, whose
directions (ξ, δv) are those of `manifold`; u are the forces of the actuators that are inputs; p are the unknowns of
the whole motion: its duration, arguments of costs, inertial parameters of free bodies.

Every function of a `Problem` may be called in a trace. Data that differ between problems or knots are its arguments.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from appell.algebra.scalar import Scalar
from appell.compile.tape.dependence import result_arguments, result_constants, summed_inputs
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import trace
from appell.compile.tape.traced_array import traced_array
from appell.dynamics import Dynamics
from appell.dynamics.margins import margin_of
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError, ModelWarning, check_number, unknown_name, value_text
from appell.model.robot import refuse_immobile
from appell.model.system import System
from appell.optimal.constraints import Bounded, ConstraintRow, Constraints, bounded_rows
from appell.optimal.contact_steps import ContactStep, Phases
from appell.optimal.guesses import Guess, guess_of
from appell.optimal.limits import LimitRows
from appell.optimal.manifold import Manifold
from appell.optimal.objective import KnotInputs, Objective, Rows
from appell.optimal.steps import EMPTY, KnotStep, KnotStepResult, StepSlopes, add, identity, product
from appell.optimal.sweep import transposed
from appell.simulation.options import SpringContacts, checked_step_length, checked_steps
from appell.simulation.rollouts.contacts.penalty import STANDARD_GRAVITY
from appell.simulation.rollouts.laws import NO_ARGUMENTS, keyword_names
from appell.simulation.rollouts.plan import RESERVED
from appell.simulation.rollouts.tracing import called, name_of, scalar_of

METHODS = ("euler", "rk4", "midpoint")
HESSIANS = ("auto", "gauss-newton", "exact")
MARGIN_SMOOTHING = 0.01  # of distances that keep a margin: they exceed exact ones by some millimetres, which is added
FRICTION_CHANGE = 0.25  # largest share of a speed that smoothed dry friction takes in one step
RANK_TOLERANCE = 1e-9  # relative to the largest column: smaller combinations of torques do not act on the motion


class Values(NamedTuple):
    """What a knot evaluates to: the next state, the cost, and the rows g ≤ 0 and e = 0."""

    q: list[Scalar]
    v: list[Scalar]
    cost: Scalar
    g: list[Scalar]
    e: list[Scalar]


class KnotDerivatives(NamedTuple):
    """Values of a knot and their derivatives by z = (ξ, δv, u, p): `slopes` of the step, gradient, Hessian, rows."""

    values: Values
    slopes: StepSlopes  # empty at the last knot, and of costs alone
    gradient: list[Scalar]
    hessian: Rows
    g_z: Rows
    e_z: Rows
    force_rows: Rows = EMPTY  # of costs alone, G: the Hessian lacks Fᵀ G, with the derivatives F of contact forces


class Problem:
    """Equation (1) for a system; see `ap.optimize` for the parameters.

    Sizes: `nq`, `nv`, `nd` (directions of q), `nx` = nd + nv, `nu` (inputs), `np` (free parameters, the duration first)
    and `nz` = nx + nu + np. `held` and `driven` are sizes of data by name, the same at all knots or one row per knot.
    """

    def __init__(
        self,
        dyn: Dynamics | System,
        steps: int,
        dt: float | None = None,
        *,
        cost: Callable | None = None,
        final_cost: Callable | None = None,
        limits: Any = True,
        keep: Callable | None = None,
        meet: Callable | None = None,
        margin: float | None = None,
        duration: tuple[float, float] | None = None,
        free: Mapping[str, Any] = NO_ARGUMENTS,
        arguments: Mapping[str, int | tuple[int, ...]] = NO_ARGUMENTS,
        signals: Mapping[str, int | tuple[int, ...]] = NO_ARGUMENTS,
        actuators: Iterable[str] | None = None,
        method: str = "euler",
        hessian: str = "auto",
        contacts: Any = None,
        phases: Any = None,
        gains: Any = (100.0, 20.0),
        cone: float | None = None,
        friction: bool | None = None,
        rotors: bool | None = None,
    ):
        self.dyn = dyn = moving_dynamics(dyn, "optimize", friction=friction, rotors=rotors)
        self.system = system = dyn.system
        refuse_immobile(system, "optimize")
        self.steps = checked_steps("steps", steps)
        self.duration = _checked_duration(duration)
        self.dt = _checked_dt(dt, self.duration, self.steps)
        for name, options, value in (("method", METHODS, method), ("hessian", HESSIANS, hessian)):
            if value not in options:
                raise ArgumentError(unknown_name(name, str(value), options, "optimize"))
        if system.prescribed:
            raise ArgumentError(
                f"{system.owner} has prescribed motions, which an optimisation does not support: "
                f"{', '.join(system.prescribed)}.",
                hint="Remove the Prescribed constraints.",
            )
        self.method, self.hessian, self.exact = method, hessian, hessian == "exact"
        self.functions = _functions(cost=cost, final_cost=final_cost, keep=keep, meet=meet)
        self.limits = LimitRows(dyn, limits, _chosen(system, actuators))
        self.actuators = self.limits.actuators
        self.margin = None if margin is None else margin_of(dyn, margin, smooth=MARGIN_SMOOTHING).near
        self.phases = self._checked_phases(contacts, phases, gains, cone)
        self._shapes = self._checked_arguments(arguments, signals)
        self._lay_out(free, [*signals])
        smoothing = self._smoothing() if dyn.equations.dry_drives else None
        if smoothing is not None:
            warnings.warn(
                f"{system.owner} has dry friction, which is smoothed near rest as in a rollout with "
                f"contact_model=SpringContacts(depth={smoothing.depth:.4g}): drives "
                f"{', '.join(dyn.equations.drives[k].name for k in dyn.equations.dry_drives)}.",
                ModelWarning,
                stacklevel=3,
            )
        self.step = self._make_step(smoothing)
        self.structured = self.step.structured
        self._make_functions()
        self.kinds = [0] * self.steps if self.phases is None else self.phases.kinds
        both = self._stage_rows.inequalities, self._stage_rows.equalities
        self.rows, self.equalities = ((tuple(map(self._row, rows)),) * (max(self.kinds) + 1) for rows in both)
        self.final_rows, self.final_equalities = self._final_rows.inequalities, self._final_rows.equalities
        self._check_determined()
        self._check_terminal()

    def __repr__(self) -> str:
        sizes = f"{self.steps} steps, {self.nx} states, {self.nu} inputs, {self.np} free parameters"
        return f"<Problem of {self.system.owner} by {self.method}: {sizes}>"

    # ---- layout

    def _checked_phases(self, contacts: Any, phases: Any, gains: Any, cone: Any) -> Phases | None:
        if contacts is None:
            if phases is not None or cone is not None:
                raise ArgumentError(
                    "phases or cone are given without contacts.", expected="contacts={name: ap.Touch(...)}"
                )
            return None
        if self.method != "euler" or self.exact:
            raise ArgumentError(
                f"contacts with method '{self.method}'{' and exact Hessians' * self.exact}.",
                expected="method 'euler' and hessian 'gauss-newton'",
            )
        return Phases(self.dyn, contacts, phases, self.steps, gains, cone)

    def _smoothing(self) -> SpringContacts:
        """Return the model of dry friction: near rest it changes a speed by at most FRICTION_CHANGE of it per step."""
        longest = self.duration[1] / self.steps if self.duration else 0.0
        step = self.dt or longest
        frequency = FRICTION_CHANGE / (2.0 * step)  # the grip of a drive is 2 ω times its effective mass
        depth = float(f"{STANDARD_GRAVITY / frequency**2:.4g}")  # as a warning shows it
        return SpringContacts(depth=max(depth, SpringContacts().depth))

    def _make_step(self, smoothing: SpringContacts | None) -> KnotStep:
        names = [name for name in self.stage.wrt if name not in ("q", "v", "u", "force")]
        if self.phases is None:
            return KnotStep(self.dyn, self.method, self.actuators, self.stage, names, smoothing)
        if smoothing or any(name != "time" for name in names):
            raise ArgumentError("contacts with dry friction or free parameters.", expected="neither of them")
        return ContactStep(self.dyn, self.actuators, self.stage, names, self.phases)

    def _row(self, row: ConstraintRow) -> ConstraintRow:
        """Return a row whose unknown is not an entry of z, such as a contact force, as a function."""
        return row if row.unknown is None or row.unknown < self.nz else row._replace(unknown=None, sign=0.0)

    @property
    def uses_forces(self) -> bool:
        """Whether costs or constraints use contact forces."""
        used = any("force" in keyword_names(function) for function in self.functions.values())
        return self.phases is not None and (used or self.phases.cone is not None)

    def _checked_arguments(
        self, arguments: Mapping[str, Any], signals: Mapping[str, Any]
    ) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all arguments and signals of costs and constraints."""
        for name in signals:
            for what in ("final_cost", "meet"):
                if what in self.functions and name in keyword_names(self.functions[what]):
                    raise ArgumentError(
                        f"{what} uses the signal '{name}', which has no value at the end.", hint="Use an argument."
                    )
            if name in arguments:
                raise ArgumentError(f"'{name}' is an argument and a signal.", expected="one of the two")
        both = {**arguments, **signals}
        shapes = {name: (size,) if isinstance(size, int) else tuple(size) for name, size in both.items()}
        used = {name for function in self.functions.values() for name in keyword_names(function)}
        for what, function in self.functions.items():
            for name in keyword_names(function):
                if name not in shapes and not (name == "force" and self.phases is not None):
                    raise ArgumentError(
                        f"parameter '{name}' of {what} '{name_of(function)}' is not an argument of the problem.",
                        expected=f"arguments={{'{name}': its size or shape}}",
                    )
        for name, shape in shapes.items():
            if name in RESERVED | {"u", "time", "duration", "force", "active", "footholds"}:
                raise ArgumentError(
                    f"argument '{name}' has the name of an input of the problem.", expected="another name"
                )
            if name not in used:
                raise ArgumentError(
                    f"argument '{name}' of the problem is not used.",
                    expected=f"a cost with the keyword-only parameter '{name}': cost(t, q, v, tau, *, {name})",
                )
            if not math.prod(shape) > 0:
                raise ArgumentError(f"argument '{name}' of the problem has shape {shape}.", expected="positive sizes")
        return shapes

    def _lay_out(self, free: Mapping[str, Any], signals: Sequence[str]) -> None:
        """Set the sizes, and the arguments of the functions of a knot and of the last knot."""
        dyn, system = self.dyn, self.system
        manifold = self.manifold = Manifold(dyn)
        self.nq, self.nv, self.nd, self.nu = system.nq, system.nv, manifold.size, len(self.actuators)
        self.nx = self.nd + self.nv
        self.signals = {name: math.prod(self._shapes[name]) for name in signals}
        sizes = {name: math.prod(shape) for name, shape in self._shapes.items() if name not in self.signals}
        if dyn.free_bodies:
            sizes["parameters"] = 10 * len(dyn.free_bodies)
        for name in free:
            if name not in sizes:
                raise ArgumentError(unknown_name("free parameter", str(name), sizes, "the problem"))
        self.free = {name: _bounds(f"free parameter '{name}'", bounds, sizes[name]) for name, bounds in free.items()}
        if self.duration is not None:
            self.free = {"time": (np.array([self.duration[0]]), np.array([self.duration[1]])), **self.free}
        self.held = {name: size for name, size in sizes.items() if name not in self.free}
        self.driven = ({"wrenches": 6 * len(dyn.wrenches)} if dyn.wrenches else {}) | self.signals
        force: dict[str, int] = {}
        if self.phases is not None:
            self.driven |= self.phases.driven(self.uses_forces)
            force = {"force": self.phases.force_size} if self.uses_forces else {}
        self._free_sizes = {name: 1 if name == "time" else sizes[name] for name in self.free}
        self.np = sum(self._free_sizes.values())
        self.nz = self.nx + self.nu + self.np
        tangents: dict[str, Tape] = dict(dyn.tangents)
        if self.duration is not None:
            share = 1.0 / self.steps  # t = k h and h = T/N: along T, t changes by t/(N h)
            body = lambda time: {"N": [[share * (time[0] / time[1])], [share]]}  # noqa: E731
            tangents["time"] = trace("tangent_time", [Array("time", (2,))], body)
        state = {"time": 2, "q": self.nq, "v": self.nv}
        wrt = ("q", "v", "u", *self.free, *force)
        self.stage = KnotInputs(
            state | {"u": self.nu} | sizes | self.driven | force, wrt, tangents, self.steps, manifold.shifts
        )
        self.end = KnotInputs(state | sizes, ("q", "v", *self.free), tangents, self.steps, manifold.shifts)

    def _given(self, inputs: KnotInputs, time: Sequence[Scalar], q, v, p, data, u=()) -> dict[str, Any]:
        """Return the scalars of a knot by name."""
        given: dict[str, Any] = {"time": list(time), "q": list(q), "v": list(v), "u": list(u)}
        start = 0
        for name, size in self._free_sizes.items():
            if name != "time":
                given[name] = list(p[start : start + size])
            start += size
        start = 0
        for name, size in (self.held | self.driven).items():
            if name in inputs.sizes:
                given[name] = list(data[start : start + size])
                start += size
        return given

    # ---- functions of users

    def _call(self, what: str, given: Mapping[str, Any], *arguments: Any) -> Any:
        function, shapes = self.functions[what], dict(self._shapes)
        if self.phases is not None:
            shapes["force"] = (len(self.phases.set.names), self.phases.width)
            given = {"force": [0.0] * self.phases.force_size, **given}
        named = {
            name: traced_array(given[name]).reshape(shapes[name]) if shapes[name] else given[name][0]
            for name in keyword_names(function)
        }
        title = f"{what} '{name_of(function)}'"
        return called(partial(function, **named), title, *arguments, source=function)

    def _knot(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        tau = self.step.torques(list(given["u"])) if "u" in given else [0.0] * self.system.nu
        return (given["time"][0], *map(traced_array, (list(given["q"]), list(given["v"]), tau)))

    def _make_functions(self) -> None:
        owner = self.system.owner

        def running(given: dict[str, Any]) -> Scalar:
            what = f"cost '{name_of(self.functions['cost'])}'"
            return given["time"][1] * scalar_of(self._call("cost", given, *self._knot(given)), what)

        def final(given: dict[str, Any]) -> Scalar:
            what = f"final_cost '{name_of(self.functions['final_cost'])}'"
            return scalar_of(self._call("final_cost", given, given["q"], given["v"]), what)

        def kept(given: dict[str, Any]) -> list[Bounded]:
            if "keep" not in self.functions:
                return []
            what = f"keep '{name_of(self.functions['keep'])}'"
            return bounded_rows(self._call("keep", given, *self._knot(given)), what)

        def apart(given: dict[str, Any]) -> list[Bounded]:
            if self.margin is None:
                return []
            bounds = zip(self.margin.pairs, self.margin.least, self.margin.distances(list(given["q"])), strict=True)
            return [Bounded(f"distance of '{a}' and '{b}'", float(low), d, None, False) for (a, b), low, d in bounds]

        def stage(given: dict[str, Any]) -> list[Bounded]:
            cones = [] if self.phases is None else self.phases.friction_rows(given)
            return [*self.limits(given), *kept(given), *apart(given), *cones]

        def last(given: dict[str, Any]) -> list[Bounded]:
            rows = [row for row in stage(given) if row.name in self._stage_rows.of_state]
            if "meet" not in self.functions:
                return rows
            what = f"meet '{name_of(self.functions['meet'])}'"
            return [*rows, *bounded_rows(self._call("meet", given, given["q"], given["v"]), what, terminal=True)]

        exact = self.exact
        self._cost = Objective("cost", owner, self.stage, running, exact) if "cost" in self.functions else None
        has_final = "final_cost" in self.functions
        self._final_cost = Objective("final_cost", owner, self.end, final, exact) if has_final else None
        self._stage_rows = Constraints("rows", owner, self.stage, stage)
        self._final_rows = Constraints("final_rows", owner, self.end, last)
        for what, tape in self._tapes():
            self._refuse_quaternion_differences(what, tape)

    def _tapes(self) -> list[tuple[str, Tape]]:
        costs = (("cost", self._cost), ("final_cost", self._final_cost))
        parts = [(what, None if objective is None else objective.total) for what, objective in costs]
        for what, rows in (("keep", self._stage_rows), ("meet", self._final_rows)):
            parts += [(what, rows.g), (what, rows.e)]
        return [(what, function.tape) for what, function in parts if function is not None and what in self.functions]

    def _refuse_quaternion_differences(self, what: str, tape: Tape) -> None:
        """Raise an error if a component of a quaternion is added to a constant or to an argument, or subtracted."""
        first = 2  # of q: the time comes before it
        for number in sorted(summed_inputs(tape)):
            if any(span.start <= number - first < span.stop for span in self.system.quaternions):
                name = self.system.coordinate_names[number - first]
                raise ArgumentError(
                    f"{what} '{name_of(self.functions[what])}' subtracts '{name}', a component of a quaternion.",
                    expected="a difference of orientations",
                    hint="Use ap.turn(q[3:7], reference), a vector of three numbers.",
                )

    # ---- what a solver evaluates

    def clock(self, k: Scalar, p: Sequence[Scalar], dt: Scalar) -> tuple[Scalar, Scalar]:
        """Return the time of knot k, in s, and the length of a step."""
        h = p[0] * (1.0 / self.steps) if self.duration is not None else dt
        return k * h, h

    def torques(self, u: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces of all actuators of the system; those of other actuators are zero."""
        return self.step.torques(u)

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the configuration at `step` (nd) from q."""
        return self.manifold.integrate(q, step)

    def difference(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """Return the step (nd) that leads from one configuration to another."""
        return self.manifold.difference(start, end)

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """Return the directions (nx) that lead from one state (q, v) to another."""
        n = self.nq
        return [*self.difference(start[:n], end[:n]), *(b - a for a, b in zip(start[n:], end[n:], strict=True))]

    def moved(self, x: Sequence[Scalar], dx: Sequence[Scalar]) -> list[Scalar]:
        """Return the state (q, v) at the directions dx (nx) from x."""
        q = self.integrate(list(x[: self.nq]), list(dx[: self.nd]))
        return [*q, *(a + b for a, b in zip(x[self.nq :], dx[self.nd :], strict=True))]

    def values(self, kind: int, t, h, q, v, u, p, data) -> Values:
        """Return the values of a knot: `cost` is h l, and `data` are the held data, then the driven ones."""
        given = self._given(self.stage, (t, h), q, v, p, data, u)
        q_next, v_next, force = self.step(given, kind)
        given["force"] = list(force)
        cost = 0.0 if self._cost is None else self._cost(given)
        return Values(q_next, v_next, cost, *self._stage_rows(given))

    def derivatives(self, kind: int, t, h, q, v, u, p, data, costate=None, weights=(None, None)) -> KnotDerivatives:
        """Return values and derivatives of a knot.

        With exact Hessians, `costate` (nx) is that after the step, and `weights` are the multipliers of g and e.
        """
        given = self._given(self.stage, (t, h), q, v, p, data, u)
        after, slopes = self.step.derivatives(given, kind)
        curvature = self.step.curvature(given, after.q, costate) if self.exact and costate is not None else None
        d = self._cost_derivatives(given, after.force, slopes.of_force, curvature, weights)
        H = (
            add(d.hessian, product(transposed(self._by_z(slopes.of_force)), d.force_rows))
            if d.force_rows
            else d.hessian
        )
        values = d.values._replace(q=after.q, v=after.v)
        return d._replace(values=values, slopes=slopes, hessian=H, force_rows=EMPTY)

    def _by_z(self, rows: Rows) -> Rows:
        """Return derivatives by (x, u) as derivatives by z."""
        return [[*row, *[0.0] * self.np] for row in rows]

    def impact(self, q, v, data) -> tuple[list[Scalar], Rows, Rows]:
        """Return the velocity after the impact at a knot, and its derivatives by q and v."""
        return self._contact_step.impact(self._given(self.stage, (0.0, 0.0), q, v, (), data))

    def flow(self, t, h, q, v, u, p, data) -> tuple[KnotStepResult, StepSlopes]:
        """Return the state after a step on contacts from the velocity v after an impact, and its derivatives."""
        return self._contact_step.flow(self._given(self.stage, (t, h), q, v, p, data, u), list(v))

    @property
    def _contact_step(self) -> ContactStep:
        assert isinstance(self.step, ContactStep)
        return self.step

    def cost_derivatives(self, t, h, q, v, u, p, data, force, of_force) -> KnotDerivatives:
        """Return cost and rows of a knot and their derivatives, for contact forces with derivatives by (x, u)."""
        given = self._given(self.stage, (t, h), q, v, p, data, u)
        return self._cost_derivatives(given, force, of_force, None, (None, None))

    def _cost_derivatives(self, given, force, of_force, curvature, weights) -> KnotDerivatives:
        given["force"] = list(force)
        size = self.nz + (len(force) if self.uses_forces else 0)
        cost, gradient, H = self._of(self._cost, size, given)
        if curvature is not None:
            H = add(H, curvature)
        values = Values([], [], cost, *self._stage_rows(given))
        H, g_z, e_z = self._row_slopes(self._stage_rows, given, H, weights)
        if not self.uses_forces:
            return KnotDerivatives(values, StepSlopes(), gradient, H, g_z, e_z)
        n, F = self.nz, self._by_z(of_force)  # forces are functions of z
        mixed = product([row[n:] for row in H[:n]], F)
        both = add(add([row[:n] for row in H[:n]], mixed), transposed(mixed))
        of_rows = product([row[n:] for row in H[n:]], F)
        pull = [*identity(n), *F]
        [gradient], g_z, e_z = product([gradient], pull), product(g_z, pull), product(e_z, pull)
        return KnotDerivatives(values, StepSlopes(), gradient, both, g_z, e_z, of_rows)

    def final_values(self, t, h, q, v, p, data) -> Values:
        """Return cost and rows of the last knot; `data` are the held data."""
        given = self._given(self.end, (t, h), q, v, p, data)
        cost = 0.0 if self._final_cost is None else self._final_cost(given)
        return Values([], [], cost, *self._final_rows(given))

    def final_derivatives(self, t, h, q, v, p, data, weights=(None, None)) -> KnotDerivatives:
        """Return values and derivatives of the last knot, by (ξ, δv, p)."""
        given = self._given(self.end, (t, h), q, v, p, data)
        cost, gradient, H = self._of(self._final_cost, self.nx + self.np, given)
        values = Values([], [], cost, *self._final_rows(given))
        return KnotDerivatives(values, StepSlopes(), gradient, *self._row_slopes(self._final_rows, given, H, weights))

    def _of(self, objective: Objective | None, size: int, given: Mapping[str, Any]) -> tuple[Scalar, list, Rows]:
        if objective is None:
            return 0.0, [0.0] * size, [[0.0] * size for _ in range(size)]
        return objective.derivatives(given)

    def _row_slopes(self, rows: Constraints, given, H: Rows, weights) -> tuple[Rows, Rows, Rows]:
        if self.exact:
            for part in rows.hessian(given, weights):
                H = add(H, part)
        return (H, *rows.jacobians(given))

    # ---- free parameters

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the entries of p."""
        names = []
        for name, size in self._free_sizes.items():
            label = "duration" if name == "time" else name
            names += [label] if size == 1 else [f"{label}[{k}]" for k in range(size)]
        return tuple(names)

    @property
    def parameter_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of p, infinite where there are none."""
        pairs = list(self.free.values())
        return tuple(np.concatenate([pair[k] for pair in pairs]) if pairs else np.zeros(0) for k in (0, 1))  # type: ignore[return-value]

    @property
    def parameter_rows(self) -> tuple[ConstraintRow, ...]:
        """The finite bounds of p as rows; `unknown` is an index into p."""
        rows = []
        for k, (name, low, high) in enumerate(zip(self.parameter_names, *self.parameter_bounds, strict=True)):
            rows += [ConstraintRow(f"{name} above its limit", k, 1.0, True)] if high < np.inf else []
            rows += [ConstraintRow(f"{name} below its limit", k, -1.0, True)] if low > -np.inf else []
        return tuple(rows)

    def parameter_values(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Return the values g ≤ 0 of `parameter_rows`."""
        lower, upper = self.parameter_bounds
        return [
            p[row.unknown] - float(upper[row.unknown]) if row.sign > 0.0 else float(lower[row.unknown]) - p[row.unknown]
            for row in self.parameter_rows
            if row.unknown is not None
        ]

    # ---- numbers

    def guess(self, q0: Any, v0: Any = None, given: Any = None, p: Any = None) -> Guess:
        """Return a checked start and the first iterate; see `guesses.guess_of`."""
        return guess_of(self, q0, v0, given, p)

    def data_values(
        self,
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        signals: Mapping[str, Any] = NO_ARGUMENTS,
        q0: Any = None,
        footholds: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the held data, (members, held), and the driven data, (members, steps, driven), checked.

        Parameters
        ----------
        arguments : mapping
            Arrays for the arguments of costs and constraints that are not free, by name.
        parameters : array_like, optional
            Inertial parameters of free bodies that are not free parameters of the problem.
        wrenches : mapping, optional
            For each frame of the `Dynamics`, (6,) or (steps, 6).
        signals : mapping
            Arrays with one value per knot, (steps, *shape) or (members, steps, *shape), by name.
        q0, footholds : array_like, optional
            Start, (nq,) or (members, nq), and footholds of contacts; by default those at the start.
        """
        from appell.simulation.rollouts.task import flat_per_member, per_member, wrench_rows

        owner = self.system.owner
        names = [name for name in self.held if name != "parameters"]
        if {*arguments} != {*names}:
            raise ArgumentError(
                f"arguments are given for {', '.join(map(str, arguments)) or 'nothing'}.",
                expected=", ".join(f"{name} {self._shapes[name]}" for name in names) or "no arguments",
            )
        arrays = [flat_per_member(f"argument '{name}'", arguments[name], self._shapes[name]) for name in names]
        if "parameters" in self.held:
            if parameters is None:
                raise ArgumentError(
                    f"no parameters are given for the free bodies of {owner}: {', '.join(self.dyn.free_bodies)}.",
                    expected=f"parameters=, ({self.held['parameters']},)",
                )
            arrays.append(per_member("parameters", parameters, self.held["parameters"], owner))
        elif parameters is not None:
            raise ArgumentError(f"parameters are given, but {owner} has no free bodies that are not unknowns.")
        members = max((len(array) for array in arrays), default=1)
        held = [np.broadcast_to(array, (members, array.shape[1])) for array in arrays]
        rows = wrench_rows(self.dyn.wrenches, wrenches, self.steps, owner)
        driven = [] if rows is None else [np.broadcast_to(rows, (len(rows), self.steps, rows.shape[2]))]
        driven += self._signal_values(signals)
        if self.phases is not None:
            q = np.atleast_2d(np.asarray(self.system.start if q0 is None else q0, float))
            driven.append(self.phases.values(q, footholds, self.uses_forces))
        members = max((len(part) for part in driven), default=1)
        parts = [np.broadcast_to(part, (members, *part.shape[1:])) for part in driven]
        course = np.concatenate(parts, axis=2) if parts else np.zeros((1, self.steps, 0))
        return np.concatenate(held, axis=1) if held else np.zeros((1, 0)), course

    def _signal_values(self, signals: Mapping[str, Any]) -> list[np.ndarray]:
        if {*signals} != {*self.signals}:
            raise ArgumentError(
                f"signals are given for {', '.join(map(str, signals)) or 'nothing'}.",
                expected=", ".join(self.signals) or "no signals",
            )
        arrays = []
        for name, size in self.signals.items():
            shape = (self.steps, *self._shapes[name])
            array = np.asarray(signals[name], float)
            if array.shape != shape and array.shape[1:] != shape:
                raise ArgumentError(f"signal '{name}' has shape {array.shape}.", expected=f"{shape}, or one per member")
            arrays.append(array.reshape(-1, self.steps, size))
        return arrays

    # ---- checks

    def _check_determined(self) -> None:
        """Raise an error if the cost does not depend on some torques and these do not act on the motion alone."""
        if self._cost is None and self._final_cost is None and "meet" not in self.functions:
            raise ArgumentError("the problem has no cost.", expected="cost=, final_cost=, or both")
        nx, nu = self.nx, self.nu
        costed: set[int] = set()
        if self._cost is not None:
            constants = result_constants(self._cost.total.jacobian("u").tape)
            costed |= {k for k, constant in enumerate(constants) if constant != 0.0}
        costed |= {row.unknown - nx for row in self.rows[0] if row.unknown is not None and nx <= row.unknown < nx + nu}
        loose = [k for k in range(nu) if k not in costed]
        if not loose:
            return
        names = [self.system.actuator_names[self.actuators[k]] for k in loose]
        slopes = [x.total.jacobian("q", "v").tape for x in (self._cost, self._final_cost) if x is not None]
        depends = any(constant != 0.0 for tape in slopes for constant in result_constants(tape))
        hint = "Add a small cost: 1e-6 * ap.square(tau), or limits of the torque."
        if not depends and "meet" not in self.functions:
            raise ArgumentError(f"the cost does not determine the torque of '{names[0]}'.", hint=hint)
        q = self.system.start
        with np.errstate(all="ignore"):
            columns = np.asarray(self.dyn.actuator_jacobian(q), float).T[:, [self.actuators[k] for k in loose]]
        if not np.isfinite(columns).all():
            return
        lengths = np.linalg.norm(columns, axis=0)
        for k, name in enumerate(names):
            part = columns[:, : k + 1]
            if np.linalg.matrix_rank(part, RANK_TOLERANCE * max(lengths.max(initial=0.0), 1e-300)) <= k:
                raise ArgumentError(f"the cost does not determine the torque of '{name}'.", hint=hint)

    def _check_terminal(self) -> None:
        """Raise an error if a terminal row requires a state outside its limits."""
        names = (*self.manifold.names, *self.system.velocity_names)
        q, v = self.system.start, np.zeros(self.nv)
        at = dict(zip(self.system.coordinate_names, q, strict=True))
        x = [*(at.get(name, np.nan) for name in self.manifold.names), *v]

        def required(rows: Sequence[ConstraintRow], function: Any) -> Iterator[tuple[ConstraintRow, int, float]]:
            """Yield rows that bound an entry of the state, with the index and the bound of this entry."""
            sizes = {"q": q, "v": v, "time": np.array([0.0, 1.0])}
            if function is None:
                return
            values = evaluate(function.tape, *(sizes.get(a.name, np.zeros(a.shape)) for a in function.inputs))[0]
            for row, value, used in zip(rows, values, result_arguments(function.tape), strict=True):
                if row.unknown is not None and row.unknown < self.nx and used <= {"q", "v"}:
                    yield row, row.unknown, x[row.unknown] - row.sign * float(value)

        limits = np.array([[-np.inf, np.inf]] * self.nx)
        for row, k, bound in required(self.rows[0], self._stage_rows.g):
            limits[k, 1 if row.sign > 0.0 else 0] = bound
        last = self._final_rows
        pairs = ((self.final_rows, last.g), (self.final_equalities, last.e))
        for is_equality, (rows, function) in enumerate(pairs):
            for row, k, bound in required(rows, function):
                low, high = limits[k]
                slack = 1e-9 * max(1.0, abs(bound))
                too_high = bound > high + slack and (is_equality or row.sign < 0.0)
                if too_high or (bound < low - slack and (is_equality or row.sign > 0.0)):
                    what = "" if k < self.nd else "the velocity of "
                    raise ArgumentError(
                        f"terminal row '{row.name}' requires {what}'{names[k]}' to be {bound:g}.",
                        expected=f"from {low:g} to {high:g}, its limits",
                    )


def _functions(**given: Any) -> dict[str, Callable]:
    for name, function in given.items():
        if not (function is None or callable(function)):
            raise ArgumentError(f"{name} is {function!r}.", expected="a function over traced scalars, or None")
    return {name: function for name, function in given.items() if function is not None}


def _checked_duration(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        raise ArgumentError(f"duration is {value_text(given)}.", expected="(shortest, longest) in s, or None") from None
    check_number("the shortest duration", low, least=0.0, above=True)
    if not low <= high:
        raise ArgumentError(f"duration is ({low:g}, {high:g}).", expected="(shortest, longest) in s")
    return low, high


def _checked_dt(dt: Any, duration: tuple[float, float] | None, steps: int) -> float | None:
    if duration is None:
        return checked_step_length(dt)
    if dt is not None:
        raise ArgumentError(
            f"dt is {value_text(dt)}, but the duration is unknown.", expected="dt or duration, not both"
        )
    return None


def _chosen(system: System, actuators: Iterable[str] | None) -> list[int]:
    names = system.actuator_names
    if actuators is None:
        return list(range(len(names)))
    given = [actuators] if isinstance(actuators, str) else list(actuators)
    index = {name: k for k, name in enumerate(names)}
    chosen = [system.find("actuator", name, index) for name in given]
    for name in given:
        if given.count(name) > 1:
            raise ArgumentError(f"actuators names '{name}' {given.count(name)} times.", expected="each actuator once")
    if not chosen:
        raise ArgumentError("actuators is empty.", expected=f"some of {', '.join(names)}")
    return chosen


def _bounds(what: str, given: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds (size,) from a pair; None: there are none."""
    try:
        pair = (None, None) if given is None else tuple(given)
        arrays = [
            np.broadcast_to(np.asarray(default if x is None else x, float).reshape(-1), size).copy()
            for x, default in zip(pair, (-np.inf, np.inf), strict=True)
        ]
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is {value_text(given)}.", expected="(lower, upper), or None") from None
    if not (arrays[0] <= arrays[1]).all():
        k = int(np.argmin(arrays[0] <= arrays[1]))
        raise ArgumentError(
            f"{what} has the lower bound {arrays[0][k]:g} above its upper bound {arrays[1][k]:g}.",
            expected="lower <= upper",
        )
    return arrays[0], arrays[1]
