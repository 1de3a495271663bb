"""The state space of a run, and the projection of states onto constraints.

y = (q, w): coordinates, and the velocities in which the motion is integrated. For a system without constraints w = v,
every pair is a valid state, and nothing is projected.

The states of a constrained robot are the pairs (q, w) that satisfy its constraint rows; w are the tree's velocities:

    after a step      q → nearest closed configuration, w → nearest velocity that satisfies all rows                (1)
    under impulses    w changes by P Jᵀf, P Jᵀ = Δ of [M Kᵀ; K 0] (Δ, ·) = (Jᵀ, 0): constraint impulses included    (2)

Which rows carry forces is decided when the robot is constructed and never during a step: off the manifold a row that is
implied by others looks independent, and would remove the last degree of freedom. Coordinates, torques and results are
those of the system: its independent velocities v are a function of w. Accelerations are computed with multipliers,
which does not require independent velocities; if massless links make the inertia matrix of the tree singular, they are
computed from the independent velocities.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.algebra.scalar import real_array
from appell.compile.function import Function
from appell.compile.native.bound import Bound
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, value_text
from appell.formulate.constrained.assembly import assemble_loops
from appell.kinematics.assembly import ConstraintRows, saddle_solve, tree_dynamics
from appell.motion.curve import Piece, fit_matrix
from appell.motion.titles import FORCES
from appell.simulation.inputs import PrescribedMotions
from appell.simulation.status import Status, Stop

PROJECTION_TOLERANCE = 1e-12  # relative to the robot's size (at least 1 m) and to speeds: aim of the projection (1)
CLOSURE_TOLERANCE = 1e-9  # relative as above: largest violation accepted at the start and after the projection
SINGULAR_PIVOT = 1e-6  # relative to the pivot at the home configuration: below it, a row does not determine its force
SINGULARITY_HINT = "Call ap.kinematics.singularity(robot, q) for details"


class States:
    """The states of a system without constraints: all pairs (q, v)."""

    projects = False  # whether states have to be projected after a step

    def __init__(self, dyn: Dynamics, moving: Dynamics, motions: PrescribedMotions):
        self.dyn, self.moving, self.motions = dyn, moving, motions  # `moving`: the Dynamics whose velocities are w
        self.nq, self.nw = moving.system.nq, moving.system.nv

    def rate(self, slides: bool) -> Function:
        """Return the function (q̇, ẇ) of q, w, tau, and, if `slides`, of the directions s of the dry drives."""
        if not slides:
            return self.dyn.state_rate

        def body(equations, q, v, tau, s, wrenches):
            return {"rate": equations.rate(q, v), "a": equations.acceleration(q, v, tau, wrenches, s)}

        doc = "The equations of motion with a given direction of dry friction per drive: -1, 0 or 1."
        return self.dyn.named(("sliding_state_rate",), lambda: self.dyn.function("sliding_state_rate", body, doc))

    def velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return v of states, (..., nv)."""
        return w

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the configuration after a small displacement along w, with an error of third order."""
        middle = q + 0.5 * self._coordinate_rate(q, step)
        return q + self._coordinate_rate(middle, step)

    @cached_property
    def _coordinate_rate(self) -> Function:
        """The function N(q) w."""
        doc = "The rate of change of the coordinates."

        def body(equations, q, v):
            return {"rate": equations.rate(q, v)}

        return self.moving.named(("coordinate_rate",), lambda: self.moving.function("coordinate_rate", body, doc))

    def start(self, t: float, q: np.ndarray, v, project: bool) -> np.ndarray:
        """Return the initial state y; raise `ArgumentError` if it is not valid."""
        return np.concatenate([q, numbers(v, self.nw, "v0", self.dyn.system.owner)])

    def projected(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the valid state nearest to the result of a step."""
        return y

    def actuator_rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the velocities θ̇ of the actuators."""
        return self.dyn.actuator_jacobian(q) @ w

    def groups(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of a record that belong to states, by quantity; with the sensors of elastic joints."""
        return {"q": q, "v": w} | self.elastic_sensors(q, w)

    @property
    def units(self) -> dict[str, dict[str, str]]:
        """Names and units of quantities that only these states have."""
        joints = self.dyn.system.elastic_joints
        units = dict(zip(self.dyn.system.actuator_names, self.dyn.system.actuator_units, strict=True))
        forces = {name: FORCES[units.get(name, "rad")] for name in joints}
        return {"motor": dict.fromkeys(joints, "rad"), "spring": forces} if joints else {}

    def elastic_sensors(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return motor positions before the gear, and spring torques, of the elastic joints."""
        system = self.dyn.system
        if not system.elastic_joints:
            return {}
        gears = np.array([system.drives[name].gear for name in system.elastic_joints])
        return {"motor": gears * q[..., system.link_nq :], "spring": self.moving.spring_torques(q, w)}

    def public_piece(self, piece: Piece) -> Piece:
        """Return a step in (q, v), for the record."""
        return piece

    def log_volume(self, q: np.ndarray) -> np.ndarray:
        """Return the logarithm of d of `events.conditions` at configurations (n, nq): 0 for regular constraint rows."""
        return np.zeros(len(q))

    def singular_row(self, q: np.ndarray) -> str:
        """Return a clause that names the constraint row closest to singular."""
        return "There is no constraint"

    # ---- impulses

    @cached_property
    def mass(self) -> Bound:
        """The inertia matrix, compiled when first needed: for a long robot without contacts it is never needed."""
        return self.moving.mass_matrix.bind()

    def evaluate(self, q: np.ndarray) -> None:
        """Evaluate the inertia matrix at a configuration, for `response`."""
        self.mass.q[:] = q
        self.mass()

    def response(self, rows: np.ndarray) -> np.ndarray:
        """Return M⁻¹ rowsᵀ, (nw, rows)."""
        _, solution, failed = scipy.linalg.lapack.dposv(self.mass.M, rows.T, lower=1)
        return np.linalg.solve(self.mass.M, rows.T) if failed else solution

    def immobilised(self, rows: np.ndarray) -> bool:
        """Return whether zero velocity along these rows implies that nothing moves."""
        return len(rows) >= self.nw and int(np.linalg.matrix_rank(rows, tol=1e-9)) == self.nw


def numbers(given, size: int, name: str, owner: str) -> np.ndarray:
    """Return `given` as an array of `size` finite numbers; raise `ArgumentError` with its name otherwise."""
    try:
        values = real_array(given)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {value_text(given)}.", expected=f"{size} numbers") from None
    if values.shape != (size,):
        raise ArgumentError(f"{name} has shape {values.shape}.", expected=f"({size},) for {owner}")
    if not np.isfinite(values).all():
        raise ArgumentError(f"{name} contains a value that is not finite: {values}.", expected="finite numbers")
    return values


class ConstrainedStates(States):
    """The states of a constrained robot: closed configurations, and tree velocities that satisfy all rows."""

    projects = True

    def __init__(self, dyn: Dynamics, moving: Dynamics, motions: PrescribedMotions):
        super().__init__(dyn, moving, motions)
        self.rows = ConstraintRows(dyn)
        self.system = self.rows.system
        names = self.system.tree.velocity_names
        independent = self.system.velocity_names
        self._independent = [names.index(name) for name in independent] if set(independent) <= {*names} else None
        self.scale = max(1.0, self.rows.loops.size)
        self.K = np.zeros((len(self.rows.active_rows), self.nw))
        self.rows.at(motions(motions.start))
        self._reference = self._latest = -np.inf  # log det K Kᵀ: larger of both ends of the last step, and at its end
        self.home_pivots = _pivots(self.rows.jacobian(self.system.start)[self.rows.active_rows])

    def rate(self, slides: bool) -> Function:
        actuated, nw = self.system.actuated, self.nw

        def sliding(equations, q, w, tau, s, wrenches):
            force = [0.0] * nw
            for k, x in zip(actuated, tau, strict=True):
                force[k] = x
            a = equations.constrained_acceleration(q, w, force, wrenches, s)[0]
            return {"rate": equations.tree.rate(q, w), "a": a}

        def free(equations, q, w, tau, wrenches):
            return sliding(equations, q, w, tau, None, wrenches)

        doc = "The equations of motion of a constrained tree in the tree's velocities."
        name, formula = ("sliding_tree_state_rate", sliding) if slides else ("tree_state_rate", free)
        return self.dyn.named((name,), lambda: self.dyn.function("tree_state_rate", formula, doc))

    def velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self._independent is not None:
            return w[..., self._independent]
        return self.dyn.independent_velocity(q, w, *self.rows.prescribed_values)

    def actuator_rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return w[..., list(self.system.actuated)]

    def groups(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        return {"q": q, "v": self.velocities(q, w), "w": w} | self.elastic_sensors(q, w)

    @property
    def units(self) -> dict[str, dict[str, str]]:
        tree = self.system.tree
        return super().units | {
            "w": {name: f"{unit}/s" for name, unit in zip(tree.velocity_names, tree.velocity_units, strict=True)}
        }

    def public_piece(self, piece: Piece) -> Piece:
        degree = len(piece.series) - 1
        values = piece.over(piece.start, piece.end, degree)
        q, w = values[:, : self.nq], values[:, self.nq :]
        return piece._replace(series=fit_matrix(degree) @ np.concatenate([q, self.velocities(q, w)], axis=1))

    # ---- onto the manifold

    def start(self, t: float, q: np.ndarray, v, project: bool) -> np.ndarray:
        """Return a start on the manifold; a violated constraint is an error, or is projected if `project` is true."""
        rows, owner = self.rows, self.system.owner
        rows.at(self.motions(t))
        if rows.largest_gap(q) > CLOSURE_TOLERANCE * self.scale:
            if not project:
                name, size, unit = rows.loops.widest_gap(rows.gap(q))
                raise ArgumentError(
                    f"q0 of {owner} leaves constraint '{name}' open by {size:.4g} {unit}.",
                    expected="a configuration in which all loops are closed",
                    hint="Pass project=True, or use ap.kinematics.assemble(robot, q0).",
                )
            q = assemble_loops(rows.loops, q)
        w = self._tree_velocity(q, v, owner)
        residual = np.abs(rows.rates(q, w))
        worst = int(np.argmax(residual)) if len(residual) else 0
        if (
            len(residual)
            and not residual[worst] <= CLOSURE_TOLERANCE * max(1.0, float(np.abs(w).max()))
            and not project
        ):
            raise ArgumentError(
                f"v0 of {owner} violates constraint '{rows.owner(worst)}': its row '{rows.labels[worst][1]}' has a "
                f"velocity of {residual[worst]:.4g}.",
                expected=f"velocities that satisfy all constraints, or the {self.system.nv} independent ones: "
                f"{', '.join(self.system.velocity_names)}",
                hint="Pass project=True, or use ap.kinematics.project_velocity(robot, q0, v0).",
            )
        return self._regular(t, np.concatenate([q, w]))

    def _regular(self, t: float, y: np.ndarray) -> np.ndarray:
        try:
            return self.projected(t, y)
        except Stop as stop:
            raise ArgumentError(f"q0 of {self.system.owner} is singular. {stop.detail}", hint=stop.hint) from None

    def _tree_velocity(self, q: np.ndarray, v, owner: str) -> np.ndarray:
        """Return w of a start given as v or as w; if nv = 0, it follows from the prescribed motions."""
        nv = self.system.nv
        if np.shape(v) == (0,) and nv == 0:
            self.evaluate(q)
            zero = np.zeros(self.nw)
            residual = self.rows.rates(q, zero)[self.rows.active_rows]
            return saddle_solve(self.mass.M, self.K, zero[:, None], -residual)
        if np.shape(v) == (nv,) and nv != self.nw:
            return self.dyn.tree_velocity(q, numbers(v, nv, "v0", owner), *self.rows.prescribed_values)
        try:
            return numbers(v, self.nw, "v0", owner)
        except ArgumentError as error:
            if np.shape(v) == (self.nw,):
                raise
            raise ArgumentError(
                error.problem,
                expected=f"{nv} independent velocities ({', '.join(self.system.velocity_names)}), or all {self.nw} of "
                "the tree",
            ) from None

    def projected(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the projection (1) of a state; raise `Stop` if there is none or if the rows are singular."""
        if not np.isfinite(y).all():
            return y
        rows, q, w = self.rows, self._unit(y[: self.nq]), y[self.nq :]
        rows.at(self.motions(t))
        gap = rows.largest_gap(q)
        if gap > PROJECTION_TOLERANCE * self.scale:
            q = rows.nearest(q)
            gap = rows.largest_gap(q)
        self.evaluate(q)
        pivots = _pivots(self.K)
        if not gap <= CLOSURE_TOLERANCE * self.scale or (pivots < SINGULAR_PIVOT * self.home_pivots).any():
            raise Stop(Status.SINGULAR, f"{self.singular_row(q)} at t = {t:.9g}.", hint=SINGULARITY_HINT, final=True)
        latest = 2.0 * float(np.log(pivots).sum())
        self._reference, self._latest = max(self._latest, latest), latest
        residual = rows.rates(q, w)[rows.active_rows]
        if np.abs(residual).max(initial=0.0) > 0.1 * PROJECTION_TOLERANCE * max(1.0, float(np.abs(w).max())):
            w = w + saddle_solve(self.mass.M, self.K, np.zeros((self.nw, 1)), -residual)
        return np.concatenate([q, w])

    def _unit(self, q: np.ndarray) -> np.ndarray:
        """Return q with unit quaternions."""
        q = q.copy()
        for span in self.system.quaternions:
            q[span] /= np.linalg.norm(q[span])
        return q

    def log_volume(self, q: np.ndarray) -> np.ndarray:
        """Return log det K Kᵀ at configurations (n, nq), less its larger value at the ends of the last step."""
        K = self.rows.jacobian(q)[..., self.rows.active_rows, :]
        with np.errstate(all="ignore"):
            return np.linalg.slogdet(K @ K.swapaxes(-1, -2))[1] - self._reference

    def singular_row(self, q: np.ndarray) -> str:
        """Return a clause that names the row that depends most on the rows before it."""
        share = _pivots(self.rows.jacobian(q)[self.rows.active_rows]) / np.maximum(self.home_pivots, 1e-300)
        k = int(self.rows.active_rows[int(np.argmin(share))]) if len(share) else 0
        name, label = self.rows.labels[k]
        return f"The row is '{label}' of constraint '{name}' of {self.system.owner}"

    # ---- impulses, by (2)

    def evaluate(self, q: np.ndarray) -> None:
        super().evaluate(q)
        self.K = self.rows.jacobian(q)[self.rows.active_rows]

    def response(self, rows: np.ndarray) -> np.ndarray:
        return saddle_solve(self.mass.M, self.K, rows.T)

    def immobilised(self, rows: np.ndarray) -> bool:
        driven = bool(np.abs(self.rows.rates(self.mass.q, np.zeros(self.nw))).max(initial=0.0) > 0.0)
        return not driven and super().immobilised(np.concatenate([rows, self.K]))


def states_of(dyn: Dynamics, motions: PrescribedMotions) -> States:
    """Return the state space of a system."""
    if dyn.system.is_constrained:
        return ConstrainedStates(dyn, tree_dynamics(dyn), motions)
    return States(dyn, dyn, motions)


def _pivots(K: np.ndarray) -> np.ndarray:
    """Return the part of each row that is orthogonal to the rows before it (diagonal of R of a QR decomposition)."""
    return np.abs(scipy.linalg.lapack.dgeqrf(K.T)[0].diagonal()) if len(K) else np.zeros(0)
