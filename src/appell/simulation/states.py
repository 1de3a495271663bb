"""Where the states of a run belong, and how they are kept there.

y = (q, w): coordinates, and the velocities in which the motion is integrated. For most systems these are v, and every
pair is a state: nothing has to be kept.

The states of a constrained robot are the pairs (q, w) that keep its rows, w the velocities of the tree:

    after a step      q goes to the nearest closed configuration, w to the nearest velocity that keeps all rows     (1)
    under impulses    w changes by P Jᵀf, P Jᵀ = Δ of [M Kᵀ; K 0] (Δ, ·) = (Jᵀ, 0): the rows take their share        (2)

Which rows carry forces was decided when the robot was made, and never in a step: a row that others imply looks
independent off the manifold, and would take the last freedom away. Coordinates, torques and results are those of the
system: v are its independent velocities, read off w. Accelerations come from multipliers, which need no velocity to be
independent; where links without mass leave the tree's own inertia matrix singular, from the independent velocities.
"""

from __future__ import annotations

from functools import cached_property, singledispatch

import numpy as np
from scipy.linalg import lapack

from appell.compile.function import Function
from appell.compile.native.bound import Bound
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembling import assemble_loops
from appell.kinematics.assembly import ConstraintRows, saddle_solve, tree_dynamics
from appell.model.robot import ConstrainedRobot
from appell.model.system import System
from appell.motion.curve import Piece, fit_matrix
from appell.simulation.inputs import PrescribedMotions
from appell.simulation.status import Status, Stop

AIM = 1e-12  # of the robot's size (at least 1), and of speeds: what is left of gaps and rates
MET = 1e-9  # the same: what a start, or Newton's method, may leave open
SINGULAR = 1e-6  # of the usual: a row whose pivot is smaller than this does not determine its force


class States:
    """The states of a system whose velocities are free: all pairs (q, v)."""

    keeps = False  # whether states have to be led back after a step

    def __init__(self, dyn: Dynamics, moving: Dynamics, motions: PrescribedMotions):
        self.dyn, self.moving, self.motions = dyn, moving, motions  # `moving`: the catalogue in which w is the velocity
        self.nq, self.nw = moving.system.nq, moving.system.nv

    def rate(self, slides: bool) -> Function:
        """(q̇, ẇ) of q, w, tau, and the directions s of dry drives if some slide."""
        if not slides:
            return self.dyn.state_rate

        def body(equations, q, v, tau, s, wrenches):
            return {"rate": equations.rate(q, v), "a": equations.acceleration(q, v, tau, wrenches, s)}

        doc = "The equations of motion with the directions of dry friction given as -1, 0 or 1, a drive each."
        return self.dyn.function("sliding_state_rate", body, doc)

    def velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """v of states, any batch."""
        return w

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The configuration after a step along w."""
        return self.moving.system.integrate(q, step)

    def start(self, t: float, q: np.ndarray, v, project: bool) -> np.ndarray:
        """The state of a start, checked."""
        return np.concatenate([q, numbers(v, self.nw, "v0", self.dyn.system.owner)])

    def kept(self, t: float, y: np.ndarray) -> np.ndarray:
        """The state that is meant by one that a step has led to."""
        return y

    def actuator_rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """θ̇ of the actuators."""
        return self.dyn.actuator_jacobian(q) @ w

    def groups(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        """What a record has of states, any batch."""
        return {"q": q, "v": w}

    @property
    def units(self) -> dict[str, dict[str, str]]:
        """Names and units of groups that only these states have."""
        return {}

    def shown(self, piece: Piece) -> Piece:
        """A step as a record keeps it: (q, v)."""
        return piece

    def volume(self, q: np.ndarray) -> np.ndarray:
        """How independent rows are at configurations, a batch; of systems without, as ever."""
        return np.zeros(len(q))

    def blamed(self, q: np.ndarray) -> str:
        """The constraint that is about to say nothing."""
        return "It is no constraint"

    # ---- impulses

    @cached_property
    def mass(self) -> Bound:
        """The inertia matrix; of a long robot that touches nothing it would take long to compile, for nothing."""
        return self.moving.mass_matrix.bind()

    def place(self, q: np.ndarray) -> None:
        """Evaluate the inertia at a configuration, for `response`."""
        self.mass.q[:] = q
        self.mass()

    def response(self, rows: np.ndarray) -> np.ndarray:
        """M⁻¹ rowsᵀ, (nw, rows)."""
        _, found, failed = lapack.dposv(self.mass.M, rows.T, lower=1)
        return np.linalg.solve(self.mass.M, rows.T) if failed else found

    def stands(self, rows: np.ndarray) -> bool:
        """Whether nothing moves if these rows do not."""
        return int(np.linalg.matrix_rank(rows, tol=1e-9)) == self.nw


def numbers(given, size: int, name: str, owner: str) -> np.ndarray:
    """As many finite numbers, or an error that names them."""
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {given!r}.", expected=f"{size} numbers") from None
    if found.shape != (size,):
        raise ArgumentError(f"{name} has shape {found.shape}.", expected=f"({size},) for {owner}")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name} holds a value that is not finite: {found}.", expected="finite numbers")
    return found


class ConstrainedStates(States):
    """The states of a constrained robot: velocities of its tree that keep the rows, and closed configurations."""

    keeps = True

    def __init__(self, dyn: Dynamics, moving: Dynamics, motions: PrescribedMotions):
        super().__init__(dyn, moving, motions)
        self.rows = ConstraintRows(dyn)
        self.system = self.rows.system
        names = self.system.tree.velocity_names
        chosen = self.system.velocity_names
        self._chosen = [names.index(name) for name in chosen] if set(chosen) <= {*names} else None
        self.scale = max(1.0, self.rows.loops.size)
        self.K = np.zeros((len(self.rows.kept), self.nw))
        self.rows.at(motions(motions.start))
        self._volume = self._latest = -np.inf  # log det K Kᵀ about the last step, and at its end
        self.usual = _pivots(self.rows.jacobian(self.system.start)[self.rows.kept])

    def rate(self, slides: bool) -> Function:
        place, nw = self.system.actuated, self.nw

        def sliding(equations, q, w, tau, s, wrenches):
            force = [0.0] * nw
            for k, x in zip(place, tau, strict=True):
                force[k] = x
            a = equations.constrained_acceleration(q, w, force, wrenches, s)[0]
            return {"rate": equations.tree.rate(q, w), "a": a}

        def free(equations, q, w, tau, wrenches):
            return sliding(equations, q, w, tau, None, wrenches)

        doc = "The equations of motion of a tree under constraints, in its own velocities."
        return self.dyn.function("tree_state_rate", sliding if slides else free, doc)

    def velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self._chosen is not None:
            return w[..., self._chosen]
        return self.dyn.independent_velocity(q, w, *self.rows.given)

    def actuator_rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return w[..., list(self.system.actuated)]

    def groups(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        return {"q": q, "v": self.velocities(q, w), "w": w}

    @property
    def units(self) -> dict[str, dict[str, str]]:
        tree = self.system.tree
        return {"w": {name: f"{unit}/s" for name, unit in zip(tree.velocity_names, tree.velocity_units, strict=True)}}

    def shown(self, piece: Piece) -> Piece:
        degree = len(piece.series) - 1
        values = piece.over(piece.start, piece.end, degree)
        q, w = values[:, : self.nq], values[:, self.nq :]
        return piece._replace(series=fit_matrix(degree) @ np.concatenate([q, self.velocities(q, w)], axis=1))

    # ---- onto the manifold

    def start(self, t: float, q: np.ndarray, v, project: bool) -> np.ndarray:
        """A start on the manifold: what breaks a constraint is refused by name, or projected if that is asked for."""
        rows, owner = self.rows, self.system.owner
        rows.at(self.motions(t))
        if rows.open_by(q) > MET * self.scale:
            if not project:
                name, size, unit = rows.loops.remaining(rows.gap(q))
                raise ArgumentError(
                    f"q0 of {owner} leaves constraint '{name}' open by {size:.4g} {unit}.",
                    expected="a configuration in which all loops are closed",
                    hint="project=True, or ap.kinematics.assemble(robot, q0)",
                )
            q = assemble_loops(rows.loops, q)
        w = self._tree_velocity(q, v, owner)
        left = np.abs(rows.rates(q, w))
        worst = int(np.argmax(left)) if len(left) else 0
        if len(left) and not left[worst] <= MET * max(1.0, float(np.abs(w).max())) and not project:
            raise ArgumentError(
                f"v0 of {owner} breaks constraint '{rows.owner(worst)}': {left[worst]:.4g} are left along its row "
                f"'{rows.labels[worst][1]}'.",
                expected=f"velocities that keep all constraints, or the {self.system.nv} independent ones: "
                f"{', '.join(self.system.velocity_names)}",
                hint="project=True, or ap.kinematics.project_velocity(robot, q0, v0)",
            )
        return self._begun(t, np.concatenate([q, w]))

    def _begun(self, t: float, y: np.ndarray) -> np.ndarray:
        try:
            return self.kept(t, y)
        except Stop as stop:
            raise ArgumentError(f"q0 of {self.system.owner} is singular. {stop.detail}", hint=stop.hint) from None

    def _tree_velocity(self, q: np.ndarray, v, owner: str) -> np.ndarray:
        """w of a start, which is given as v or as w; where everything is driven, what drives it tells."""
        nv = self.system.nv
        if np.shape(v) == (0,) and nv == 0:
            self.place(q)
            still = np.zeros(self.nw)
            left = self.rows.rates(q, still)[self.rows.kept]
            return saddle_solve(self.mass.M, self.K, still[:, None], -left)
        if np.shape(v) == (nv,) and nv != self.nw:
            return self.dyn.tree_velocity(q, numbers(v, nv, "v0", owner), *self.rows.given)
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

    def kept(self, t: float, y: np.ndarray) -> np.ndarray:
        """(1); where it cannot be, the run ends."""
        if not np.isfinite(y).all():
            return y
        rows, q, w = self.rows, self._unit(y[: self.nq]), y[self.nq :]
        rows.at(self.motions(t))
        gap = rows.open_by(q)
        if gap > AIM * self.scale:
            q = rows.nearest(q)
            gap = rows.open_by(q)
        self.place(q)
        pivots = _pivots(self.K)
        if not gap <= MET * self.scale or (pivots < SINGULAR * self.usual).any():
            more = "ap.kinematics.singularity(robot, q) tells more"
            raise Stop(Status.SINGULAR, f"{self.blamed(q)} at t = {t:.9g}.", hint=more, final=True)
        latest = 2.0 * float(np.log(pivots).sum())
        self._volume, self._latest = max(self._latest, latest), latest
        left = rows.rates(q, w)[rows.kept]
        if np.abs(left).max(initial=0.0) > 0.1 * AIM * max(1.0, float(np.abs(w).max())):
            w = w + saddle_solve(self.mass.M, self.K, np.zeros((self.nw, 1)), -left)
        return np.concatenate([q, w])

    def _unit(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions."""
        q = q.copy()
        for span in self.system.quaternions:
            q[span] /= np.linalg.norm(q[span])
        return q

    def volume(self, q: np.ndarray) -> np.ndarray:
        """log det K Kᵀ of configurations, a batch, over the larger of those at both ends of a step."""
        K = self.rows.jacobian(q)[..., self.rows.kept, :]
        with np.errstate(all="ignore"):
            return np.linalg.slogdet(K @ K.swapaxes(-1, -2))[1] - self._volume

    def blamed(self, q: np.ndarray) -> str:
        """The constraint whose rows say least that those before do not, as a message calls it."""
        share = _pivots(self.rows.jacobian(q)[self.rows.kept]) / np.maximum(self.usual, 1e-300)
        k = int(self.rows.kept[int(np.argmin(share))]) if len(share) else 0
        name, label = self.rows.labels[k]
        return f"It is row '{label}' of constraint '{name}' of {self.system.owner}"

    # ---- impulses, by (2)

    def place(self, q: np.ndarray) -> None:
        super().place(q)
        self.K = self.rows.jacobian(q)[self.rows.kept]

    def response(self, rows: np.ndarray) -> np.ndarray:
        return saddle_solve(self.mass.M, self.K, rows.T)

    def stands(self, rows: np.ndarray) -> bool:
        driven = bool(np.abs(self.rows.rates(self.mass.q, np.zeros(self.nw))).max(initial=0.0) > 0.0)
        return not driven and super().stands(np.concatenate([rows, self.K]))


@singledispatch
def states_of(system: System, dyn: Dynamics, motions: PrescribedMotions) -> States:
    """The states of a system's motion."""
    return States(dyn, dyn, motions)


@states_of.register
def _(system: ConstrainedRobot, dyn: Dynamics, motions: PrescribedMotions) -> States:
    return ConstrainedStates(dyn, tree_dynamics(dyn), motions)


def _pivots(K: np.ndarray) -> np.ndarray:
    """What is left of every row by those before it."""
    return np.abs(lapack.dgeqrf(K.T)[0].diagonal()) if len(K) else np.zeros(0)
