"""Whole-body control: torques, accelerations and contact forces of a robot on contacts, by a quadratic program.

    min  Σ w² |J a + J̇v - a*|²  +  ε_a |a|²  +  ε_f |f|²          over accelerations a and contact forces f        (1)
         a* = reference + k_d (reference velocity - velocity) + k_p (target - value)                                (2)
    with M a + h = τ + Gᵀf,   τ = 0 at a floating base            equations of motion                              (3)
         G a + γ = 0                                              contact frames stay at their footholds           (4)
         |τ| ≤ torque limits                                      τ is eliminated by (3)                           (5)
         C f ≥ 0                                                  friction and support area of each contact        (6)

G has the rows of the active contacts in foothold axes (`formulate.contacts`), in which (6) is constant. The friction
cone is replaced by the pyramid inside it, with the coefficient μ' = μ/√2 along x and y. For a rectangular sole of half
lengths X, Y, the wrenches of such forces at its corners are exactly those with

    |f_x| ≤ μ' f_z    |f_y| ≤ μ' f_z    |m_x| ≤ Y f_z    |m_y| ≤ X f_z                                             (7)
    |Y f_x - μ' m_x| + |X f_y - μ' m_y| - μ'(X + Y) f_z  ≤  m_z  ≤  μ'(X + Y) f_z - |Y f_x + μ' m_x| - |X f_y + μ' m_y|

Caron, Pham and Nakamura 2015. Each absolute value gives two rows: 16 rows per sole, 4 per point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from appell.algebra.vector import Vec3
from appell.compile.cache.content_hash import content_hash
from appell.compile.function import Function
from appell.control.quadratic_program import InfeasibleError, solve_qp
from appell.dynamics import Dynamics
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError, ModelError, SimulationError, check_number, unknown_name
from appell.formulate.contacts import ContactRows, Foothold, contact_motions, row_residuals
from appell.kinematics.inverse.numerical_solver import ROTATION_TOLERANCE, checked_poses, frame_error
from appell.kinematics.tasks import ComTask, FrameTask, checked_tasks, target_of
from appell.model.contact import Sole, Touch
from appell.model.joints import Floating
from appell.model.system import System

ACCELERATION_WEIGHT = 1e-6  # ε_a, s⁴/rad² or s⁴/m²
FORCE_WEIGHT = 1e-6  # ε_f, 1/N² and 1/(N m)²


@dataclass(frozen=True)
class PostureTask:
    """All one-axis joints, which should reach the positions of a configuration (nq); `weight` in 1/rad or 1/m."""

    weight: float = 0.1
    name = "posture"


@dataclass(frozen=True)
class MomentumTask:
    """The angular momentum about the centre of mass, which should reach a value (3,), N m s; `weight` in 1/(N m s)."""

    weight: float = 0.1
    name = "momentum"


TASKS = (FrameTask, ComTask, PostureTask, MomentumTask)


class WholeBodyCommand(NamedTuple):
    """Result of one call of a `WholeBody`."""

    tau: np.ndarray  # (nu,) forces at the actuators, N m or N
    a: np.ndarray  # (nv,) accelerations, rad/s² or m/s²
    force: np.ndarray  # (nc, 6) or (nc, 3) forces and moments in foothold axes, N and N m
    duals: np.ndarray  # (rows,) multipliers of the rows of `WholeBody.program`; 0 for rows that are not active


class QuadraticProgram(NamedTuple):
    """min ½ xᵀHx + gᵀx with lower ≤ C x ≤ upper; x = (a, f of active contacts)"""

    H: np.ndarray
    g: np.ndarray
    C: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class WholeBody:
    """A controller of a robot on contacts that weighs several tasks, within friction and torque limits.

    Parameters
    ----------
    dyn : Robot or Dynamics
        The robot; friction and rotors as in `simulate`.
    contacts : mapping of str to Sole or Touch
        Frames that may touch the ground, by name, as in `Dynamics.contacts`. They must touch the world.
    tasks : sequence
        `FrameTask`, `ComTask`, `PostureTask`, `MomentumTask`, or names of frames, with their weights. Priorities are
        for inverse kinematics and must be 1.
    gains : pair of float, or mapping of str to pairs
        k_p (1/s²) and k_d (1/s) of (2), for all tasks or by the name of a task; a mapping may have the key "default".
    friction : float
        Coefficient of friction of all contacts.
    size : pair of float
        Half lengths of the soles along x and y of their footholds, m.
    contact_gains : pair of float
        k_p (1/s²) and k_d (1/s) that return contact frames to their footholds.

    Examples
    --------
    >>> import appell as ap, numpy as np
    >>> arm = ap.load("panda")
    >>> controller = ap.control.WholeBody(arm, {}, [ap.control.FrameTask("tool"), ap.control.PostureTask()])
    >>> command = controller(arm.start, np.zeros(7), controller.references(arm.start))
    >>> bool(np.allclose(command.tau, ap.Dynamics(arm).gravity(arm.start), atol=1e-6))  # it holds its pose
    True
    """

    def __init__(
        self,
        dyn: Dynamics | System,
        contacts: Mapping[str, Sole | Touch],
        tasks: Iterable[Any],
        *,
        gains: tuple[float, float] | Mapping[str, tuple[float, float]] = (100.0, 20.0),
        friction: float = 0.5,
        size: tuple[float, float] = (0.1, 0.05),
        contact_gains: tuple[float, float] = (0.0, 20.0),
    ):
        self.dyn = moving_dynamics(dyn, "WholeBody")
        system = self.system = self.dyn.system
        if not system.is_tree:
            raise ModelError(
                f"WholeBody is for trees; {system.owner} has loops or elastic joints, or is a mechanism in closed form."
            )
        self.tasks = checked_tasks(system, tasks, TASKS)
        if later := [task for task in self.tasks if getattr(task, "priority", 1) != 1]:
            raise ArgumentError(
                f"priority of the task '{later[0].name}' is {later[0].priority}.",
                expected="1: tasks of a WholeBody are weighed",
                hint="Express its importance by its weight.",
            )
        self.contacts = dict(contacts)
        self.contact_set = self.dyn.contacts(**self.contacts) if self.contacts else None
        self.contact_rows = self.contact_set.rows if self.contact_set else ()
        if elsewhere := [name for name, contact in self.contacts.items() if contact.on is not None]:
            raise ArgumentError(
                f"contact '{elsewhere[0]}' of {system.owner} is on another link.", expected="contacts with the world"
            )
        check_number("friction", friction, least=0.0, above=True)
        self.friction, self.size = friction, _pair("size", size)
        self.contact_gains = _pair("contact_gains", contact_gains)
        named = dict(gains) if isinstance(gains, Mapping) else {"default": gains}
        for name in named:
            if name not in ("default", *self.names):
                raise ArgumentError(unknown_name("task", str(name), self.names, "gains of the WholeBody"))
        default = named.get("default", (100.0, 20.0))
        self._made: dict[tuple[bool, ...], QuadraticProgram] = {}
        self.gains = np.array([_pair(f"gains of '{name}'", named.get(name, default)) for name in self.names])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tasks, in order."""
        return tuple(task.name for task in self.tasks)

    # ---- calls

    def __call__(self, q, v, references: Mapping[str, Any], *, footholds=None, active=None) -> WholeBodyCommand:
        """Return torques, accelerations and contact forces.

        Parameters
        ----------
        q, v : coordinates (nq,) and velocities (nv,)
        references : mapping from the name of each task to its target, or to (target, velocity, acceleration)
            Targets are poses (4, 4), points (3,), configurations (nq,) and angular momenta (3,). Velocities and
            accelerations, zero by default, are linear and angular in world axes (6,) for frames, (3,) for the centre of
            mass, (nv,) for the posture; of the momentum there is only a rate, (target, rate).
        footholds : (nc, 3, 4), optional
            [R p] of each contact in the world; the z axis is the normal. The present poses of the frames by default.
        active : (nc,), optional
            1 for contacts that touch, 0 for others; all by default.

        Raises
        ------
        ArgumentError
            If an argument is missing, has a wrong shape or is not finite.
        SimulationError
            If no torques and forces satisfy all constraints; the message names those that contradict each other.
        """
        terms, touching = self._terms(q, v, references, footholds, active)
        try:
            solution = solve_qp(*self._program(terms, touching))
        except InfeasibleError as error:
            labels = self.labels(touching)
            amounts: dict[str, float] = {}
            for k, amount in error.violations:  # largest first
                amounts.setdefault(labels[k], amount)
            worst = ", ".join(f"{label} (by {amount:.3g})" for label, amount in list(amounts.items())[:3])
            raise SimulationError(
                f"no forces within the limits move {self.system.owner} as required. Closest, these are violated: "
                f"{worst}.",
                hint="Raise limits or friction, use more contacts, or check footholds and velocities of the contacts.",
            ) from None
        return self._command(terms, touching, solution.x, solution.duals)

    def program(self, q, v, references: Mapping[str, Any], *, footholds=None, active=None) -> QuadraticProgram:
        """Return the quadratic program of a call, for other solvers; see `__call__` for the arguments."""
        return self._program(*self._terms(q, v, references, footholds, active))

    def references(self, q) -> dict[str, Any]:
        """Return the references that hold a robot at rest at q (nq)."""
        q = self.system.sized("q", q, self.system.nq)
        values: dict[str, Any] = {}
        for task in self.tasks:
            if isinstance(task, FrameTask):
                values[task.name] = self.dyn.pose(task.frame)(q)
            else:
                held = {"com": lambda: self.dyn.center_of_mass(q), "posture": q.copy, "momentum": lambda: np.zeros(3)}
                values[task.name] = held[task.name]()
        return values

    # ---- the terms of the program, compiled

    def _shapes(self, task: Any) -> tuple[tuple[int, ...], ...]:
        """Shapes of the target of a task, its velocity and acceleration."""
        system = self.system
        if isinstance(task, FrameTask):
            return (4, 4), (6,), (6,)
        if isinstance(task, PostureTask):
            return (system.nq,), (system.nv,), (system.nv,)
        return ((3,), (3,), (3,)) if isinstance(task, ComTask) else ((3,), (3,))

    @cached_property
    def function(self) -> Function:
        """Function (q, v, footholds, contact_gains, gains, *references) -> M, h, G, gamma, J, goal, posture.

        J has the weighted rows of all tasks but the posture, goal is their a* - J̇v, also weighted. For the posture, it
        is multiplied by the squared weight.
        """
        system, contacts = self.system, self.contact_rows
        inputs: dict[str, Any] = {"q": system.nq, "v": system.nv}
        if contacts:
            inputs |= {"footholds": (len(contacts), 3, 4), "contact_gains": 2}
        inputs["gains"] = (len(self.tasks), 2)
        for k, task in enumerate(self.tasks):
            inputs |= {f"{part}{k}": shape for part, shape in zip(("x", "v", "a"), self._shapes(task), strict=False)}

        def body(*given):
            values = dict(zip(inputs, given, strict=True))
            q, v, equations = values["q"], values["v"], self.dyn.equations
            results: dict[str, Any] = {"M": equations.mass_matrix(q), "h": equations.bias(q, v)}
            frames = tuple(ContactRows(system.frame(t.frame), 6) for t in self.tasks if isinstance(t, FrameTask))
            motions = contact_motions(equations, (*contacts, *frames), q, v, [0.0] * system.nv)
            if contacts:
                feet = [Foothold.of(m.pose, p) for m, p in zip(motions, values["footholds"], strict=False)]
                touching = motions[: len(contacts)]
                residual = iter(row_residuals(touching, feet, values["contact_gains"]))
                G: list[Any] = []
                gamma: list[Any] = []
                for motion, foot in zip(touching, feet, strict=True):
                    gamma += foot.turned([next(residual) for _ in motion.J])
                    G += zip(*(foot.turned(column) for column in zip(*motion.J, strict=True)), strict=True)
                results |= {"G": G, "gamma": gamma}
            moving = iter(motions[len(contacts) :])
            J, goal, posture = [], [], []
            for k, task in enumerate(self.tasks):
                reference = [values.get(f"{part}{k}") for part in ("x", "v", "a")]
                of_frame = next(moving) if isinstance(task, FrameTask) else None
                rows, wanted = self._task_rows(task, of_frame, q, v, reference, values["gains"][k])
                J += rows
                if rows:
                    goal += wanted
                else:
                    posture += wanted
            named = {"J": J, "goal": goal, "posture": posture}
            return results | {name: rows for name, rows in named.items() if rows}

        subject = content_hash("whole body", system, self.dyn.choice, contacts, self.tasks)
        doc = "Terms of the quadratic program of a whole-body controller."
        return Function.of("whole_body", inputs, body, doc, system.owner, subject=subject)

    def _task_rows(self, task, motion, q, v, reference, gains):
        """Rows J of a task and a* - J̇v, weighted."""
        target, velocity, acceleration = reference
        kp, kd = gains
        if isinstance(task, FrameTask):
            linear, angular, _ = frame_error(motion.pose.matrix, target)
            inverse, w, u = motion.pose.rotation.T, motion.velocity.angular, motion.velocity.linear
            rate, second = ([inverse @ Vec3.of(x[k : k + 3]) for k in (0, 3)] for x in (velocity, acceleration))
            drift = [motion.acceleration.linear + w.cross(u), motion.acceleration.angular]
            weights = [task.position] * 3 + [task.rotation] * 3
            goal = [
                x
                for at, error, held, now in zip(second, (linear, angular), rate, (u, w), strict=True)
                for x in at + kd * (held - now) + kp * error
            ]
            goal = [x - d for x, d in zip(goal, [x for part in drift for x in part], strict=True)]
            return [[weights[k] * x for x in motion.J[k]] for k in task.rows], [weights[k] * goal[k] for k in task.rows]
        if isinstance(task, PostureTask):
            axes = [self.system.tree.coordinate_of(i) for i in range(self.system.nv)]
            return [], [
                task.weight**2 * (acceleration[i] + kd * (velocity[i] - v[i]) + kp * (target[c] - q[c]))
                for i, c in enumerate(axes)
                if c is not None
            ]
        A, momentum = self.dyn.equations.centroidal_matrix(q), self.dyn.equations.momentum(q, v)
        drift = list(self.dyn.momentum.directional("q")(q, v, v))
        if isinstance(task, ComTask):
            inverse = 1.0 / self.system.mass
            centre = self.dyn.equations.center_of_mass(q)
            terms = zip(acceleration, velocity, inverse * momentum[0], target, centre, drift[:3], strict=True)
            goal = [a + kd * (dx - now) + kp * (x - c) - inverse * d for a, dx, now, x, c, d in terms]
            return [[task.weight * inverse * x for x in row] for row in A[:3]], [task.weight * x for x in goal]
        terms = zip(velocity, target, momentum[1], drift[3:], strict=True)
        goal = [rate + kd * (x - now) - d for rate, x, now, d in terms]
        return [[task.weight * x for x in row] for row in A[3:]], [task.weight * x for x in goal]

    # ---- one call

    def _terms(self, q, v, references, footholds, active) -> tuple[Any, np.ndarray]:
        system, contacts = self.system, self.contact_rows
        q, v = self._finite("q", q, (system.nq,)), self._finite("v", v, (system.nv,))
        given: list[Any] = [q, v]
        if self.contact_set:
            feet = self.contact_set.poses(q) if footholds is None else footholds
            given += [self._finite("footholds", feet, (len(contacts), 3, 4)), np.array(self.contact_gains)]
        active = np.ones(len(contacts)) if active is None else self._finite("active", active, (len(contacts),))
        return self.function(*given, self.gains, *self._references(references)), active > 0.5

    def _finite(self, name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(value, float)
        if array.shape != shape or not np.isfinite(array).all():
            raise ArgumentError(
                f"{name} of the WholeBody of {self.system.owner} has shape {array.shape} or is not finite.",
                expected=f"finite numbers of shape {shape}",
            )
        return array

    def _references(self, references: Mapping[str, Any]) -> list[np.ndarray]:
        if extra := [name for name in references if name not in self.names]:
            raise ArgumentError(unknown_name("task", str(extra[0]), self.names, "the WholeBody"))
        values: list[np.ndarray] = []
        for task in self.tasks:
            if task.name not in references:
                raise ArgumentError(
                    f"references has no target of the task '{task.name}'.",
                    expected=f"references of {', '.join(self.names)}",
                )
            shapes, given = self._shapes(task), references[task.name]
            parts = given if isinstance(given, tuple) else (given,)
            if len(parts) > len(shapes):
                raise ArgumentError(
                    f"the reference of the task '{task.name}' has {len(parts)} parts.",
                    expected=f"a target, or a tuple of up to {len(shapes)} parts",
                )
            for part, shape in zip(parts, shapes, strict=False):
                array = target_of(task, part, shape, f"numbers of shape {shape}")
                if array.shape != shape:
                    raise ArgumentError(
                        f"the target of the task '{task.name}' has shape {array.shape}.",
                        expected=f"shape {shape}: a WholeBody has no batch axes",
                    )
                values.append(array)
            if isinstance(task, FrameTask):
                R = values[-len(parts)][:3, :3]
                if abs(R @ R.T - np.eye(3)).max() > ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
                    checked_poses(values[-len(parts)], f"the target of the task '{task.name}'")
            values += self._zeros[task.name][len(parts) :]
        return values

    @cached_property
    def _zeros(self) -> dict[str, list[np.ndarray]]:
        return {task.name: [np.zeros(shape) for shape in self._shapes(task)] for task in self.tasks}

    @cached_property
    def _base(self) -> np.ndarray:
        """Mask (nv) of the velocities without actuators: those of a floating base."""
        joint = self.system.tree.links[0].joint
        mask = np.zeros(self.system.nv, bool)
        if isinstance(joint.motion, Floating):
            mask[self.system.tree.span(joint)[1]] = True
        return mask

    @cached_property
    def _one_axis(self) -> list[int]:
        """Indices of the velocities of one-axis joints."""
        return [i for i in range(self.system.nv) if self.system.tree.coordinate_of(i) is not None]

    @cached_property
    def _limited(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the velocities whose force is limited, and these limits; 0 for a floating base."""
        limit = np.where(self._base, 0.0, self.system.limits.torque)
        return np.flatnonzero(np.isfinite(limit)), limit[np.isfinite(limit)]

    @cached_property
    def _cones(self) -> list[np.ndarray]:
        """Rows (6) of each contact."""
        return [friction_rows(contact.size, self.friction, self.size) for contact in self.contact_rows]

    def _columns(self, touching: np.ndarray) -> np.ndarray:
        """Mask of the rows of G that belong to active contacts."""
        return np.repeat(touching, [contact.size for contact in self.contact_rows]).astype(bool)

    def _program(self, terms: Any, touching: np.ndarray) -> QuadraticProgram:
        n, (limited, limit) = self.system.nv, self._limited
        H, g, C, lower, upper = (array.copy() for array in self._constants(tuple(touching)))
        if hasattr(terms, "J"):
            H[:n, :n] += terms.J.T @ terms.J
            g[:n] = -terms.J.T @ terms.goal
        if hasattr(terms, "posture"):
            g[self._one_axis] -= terms.posture
        count, h = len(limited), terms.h[limited]
        C[:count, :n] = terms.M[limited]  # (3), solved for τ
        lower[:count], upper[:count] = -limit - h, limit - h
        if touching.any():
            columns = self._columns(touching)
            G, rows = terms.G[columns], slice(count, count + np.count_nonzero(columns))
            C[:count, n:] = -G.T[limited]
            C[rows, :n] = G  # (4)
            lower[rows] = upper[rows] = -terms.gamma[columns]
        return QuadraticProgram(H, g, C, lower, upper)

    def _constants(self, touching: tuple[bool, ...]) -> QuadraticProgram:
        """The program of an active set without the terms that depend on the state."""
        if touching not in self._made:
            n, cones = self.system.nv, [cone for cone, on in zip(self._cones, touching, strict=True) if on]
            rows = sum(cone.shape[1] for cone in cones)
            diagonal = np.r_[np.full(n, ACCELERATION_WEIGHT), np.full(rows, FORCE_WEIGHT)]
            for task in self.tasks:
                if isinstance(task, PostureTask):
                    diagonal[self._one_axis] += task.weight**2
            count = len(self._limited[0]) + rows
            cone_rows = (
                np.hstack([np.zeros((sum(map(len, cones)), n)), block_diag(*cones)]) if cones else np.zeros((0, n))
            )
            C = np.vstack([np.zeros((count, n + rows)), cone_rows])
            upper = np.r_[np.zeros(count), np.full(len(cone_rows), np.inf)]
            made = QuadraticProgram(np.diag(diagonal), np.zeros(n + rows), C, np.zeros(len(C)), upper)
            self._made[touching] = made
        return self._made[touching]

    def labels(self, touching: np.ndarray) -> list[str]:
        """Return what the rows of `program` stand for if the contacts of a mask (nc,) are active."""
        names = self.system.velocity_names
        labels = [
            f"equation of motion of the base along {name}" if free else f"torque limit {limit:g} of '{name}'"
            for name, limit, free in zip(names, self.system.limits.torque, self._base, strict=True)
            if free or np.isfinite(limit)
        ]
        active = [
            (name, contact, cone)
            for name, contact, cone, touches in zip(
                self.contacts, self.contact_rows, self._cones, touching, strict=True
            )
            if touches
        ]
        labels += [f"acceleration of contact '{name}'" for name, contact, _ in active for _ in range(contact.size)]
        return labels + [f"friction and support area of contact '{name}'" for name, _, cone in active for _ in cone]

    def _command(self, terms: Any, touching: np.ndarray, x: np.ndarray, duals: np.ndarray) -> WholeBodyCommand:
        n = self.system.nv
        a, sizes = x[:n], [contact.size for contact in self.contact_rows]
        tau = terms.M @ a + terms.h
        f = np.zeros(sum(sizes))
        if touching.any():
            f[self._columns(touching)] = x[n:]
            tau -= terms.G.T @ f
        tau[self._base] = 0.0
        force = np.zeros((len(sizes), max(sizes, default=6)))
        for row, size, end in zip(force, sizes, np.cumsum(sizes), strict=True):
            row[:size] = f[end - size : end]
        return WholeBodyCommand(tau, a, force, duals)


def friction_rows(size: int, friction: float, lengths: tuple[float, float]) -> np.ndarray:
    """Return the rows C of (6): C f ≥ 0 if the forces of a contact hold.

    Parameters
    ----------
    size : 3 for a point, 6 for a sole
    friction : coefficient of friction
    lengths : half lengths X, Y of a sole, m
    """
    mu, signs = friction / np.sqrt(2.0), (1.0, -1.0)
    if size == 3:
        return np.array([[s * (axis == 0), s * (axis == 1), mu] for axis in (0, 1) for s in signs])
    X, Y = lengths
    rows = [[s, 0, mu, 0, 0, 0] for s in signs] + [[0, s, mu, 0, 0, 0] for s in signs]
    rows += [[0, 0, Y, s, 0, 0] for s in signs] + [[0, 0, X, 0, s, 0] for s in signs]
    for s, t in product(signs, signs):
        rows.append([s * Y, t * X, mu * (X + Y), s * mu, t * mu, -1])  # upper bound of m_z in (7)
        rows.append([s * Y, t * X, mu * (X + Y), -s * mu, -t * mu, 1])
    return np.array(rows, float)


def _pair(name: str, value: Any) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {value!r}.", expected="two numbers") from None
    check_number(name, first, least=0.0)
    check_number(name, second, least=0.0)
    return float(first), float(second)
