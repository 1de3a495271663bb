"""Configurations and velocities that satisfy the constraints of a robot, from compiled gaps φ, rows K and rates b.

Near the constraint manifold, Newton's method on the rows that carry forces gives the closed configuration,

    q ← q ⊕ -Kᵀ (K Kᵀ)⁻¹ φ                                                                                     (1)

Which rows carry forces is decided when the robot is created. The velocity nearest to w that satisfies all rows is

    [M Kᵀ; K 0] (Δ, λ) = (0, -(K w + b))        w ← w + Δ        the least change in the metric of M             (2)

It never adds kinetic energy if b = 0. M only has to be positive definite on the motions that the constraints allow.

The independent velocities of the tree are chosen at its home configuration. Elsewhere they may not determine the
others: the yaw of a bicycle that was created leaning follows from its wheels, but not when it is upright. `recharted`
creates the same robot with independent positions chosen at another configuration; its velocities v stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembly import OpenLoops, assemble_loops
from appell.model.robot import Robot
from appell.model.system import System

NEWTON_STEPS = 6  # of (1); each doubles the number of correct digits
PSEUDOINVERSE_RCOND = 1e-9  # singular values below this fraction of the largest are neglected
_TREES: WeakKeyDictionary[Dynamics, Dynamics] = WeakKeyDictionary()


def dynamics_of(given: Dynamics | System) -> Dynamics:
    """Return the `Dynamics` that is given, or that of a given system."""
    if not isinstance(given, Dynamics | System):
        raise ArgumentError(f"{given!r} is not a constrained robot.", expected="robot.with_loops(...), or its Dynamics")
    return given if isinstance(given, Dynamics) else Dynamics(given)


def tree_dynamics(dyn: Dynamics) -> Dynamics:
    """Return the `Dynamics` of a constrained robot's tree without constraints, with the same options."""
    if dyn not in _TREES:
        choice = dyn.choice
        _TREES[dyn] = Dynamics(
            constrained(dyn).tree,
            choice.formulation,
            inertia=choice.inertia,
            wrenches=dyn.wrenches,
            reference=choice.reference,
            friction=choice.friction,
            rotors=choice.rotors,
        )
    return _TREES[dyn]


def constrained(dyn: Dynamics) -> Any:
    """Return the robot of a `Dynamics`; raise ArgumentError if it has no constraints."""
    system = dyn.system
    if not system.is_constrained:
        raise ArgumentError(f"{system.owner} has no constraints.", expected="robot.with_loops(...), or its Dynamics")
    return system


class ConstraintRows:
    """Gaps and rows of a constrained robot.

    Parameters
    ----------
    dyn : functions of the robot
    prescribed : position, velocity and acceleration of every prescribed motion; zeros by default
    """

    def __init__(self, dyn: Dynamics, prescribed: Sequence[float] | np.ndarray | None = None):
        self.dyn, self.system = dyn, constrained(dyn)
        self.tree, manifold = self.system.tree, self.system.map
        active_positions = manifold.position_partition.active
        self.active_rows = np.array(manifold.partition.active, int)  # indices of rows that carry forces
        self.position_gaps = np.array(active_positions, int)  # indices of gaps of independent position rows
        self.position_rows = np.array([manifold.holonomic[k] for k in active_positions], int)  # indices of these rows
        self.holonomic = np.array(manifold.holonomic, int)
        self.labels: tuple[tuple[str, str], ...] = manifold.labels
        names = self.system.prescribed
        given = np.zeros(3 * len(names)) if prescribed is None else np.array(prescribed, float)
        if given.shape != (3 * len(names),):
            raise ArgumentError(
                f"prescribed has shape {given.shape}; {self.system.owner} has {len(names)} prescribed motions.",
                expected=f"({3 * len(names)},): position, velocity and acceleration of each",
            )
        self.prescribed_values = (given,) if names else ()

    def at(self, prescribed: np.ndarray) -> None:
        """Set the values of the prescribed motions."""
        if self.prescribed_values:
            self.prescribed_values[0][:] = prescribed

    # ---- evaluation

    def gap(self, q: np.ndarray) -> np.ndarray:
        """Return φ of all position rows."""
        return self.dyn.gap(q, *self.prescribed_values) if len(self.holonomic) else np.zeros((*q.shape[:-1], 0))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return K of all rows."""
        return self.dyn.row_jacobian(q, *self.prescribed_values)

    def rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return K w + b of all rows."""
        return self.dyn.row_rates(q, w, *self.prescribed_values)

    def owner(self, row: int) -> str:
        """Return the name of the constraint of a row."""
        return self.labels[row][0]

    # ---- projection onto the constraint manifold

    @property
    def loops(self) -> OpenLoops:
        """The open loops, for `formulate.constrained.assembly`."""

        def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.gap(q), self.jacobian(q)[self.holonomic]

        labels = tuple(self.labels[k] for k in self.holonomic)
        return OpenLoops(self.tree, self.system.constraints, gaps, labels)

    def largest_gap(self, q: np.ndarray) -> float:
        """Return the largest gap."""
        return float(np.abs(self.gap(q)).max(initial=0.0))

    def tangents(self, q: np.ndarray) -> np.ndarray:
        """Return the tree velocities that keep loops closed, one column per entry of `system.map.positions`."""
        free = list(self.system.map.positions)
        dependent = np.setdiff1d(np.arange(self.tree.nv), free)
        columns = np.zeros((self.tree.nv, len(free)))
        columns[free] = np.eye(len(free))
        if len(dependent):
            K = self.jacobian(q)[self.position_rows]
            columns[dependent] = -np.linalg.solve(K[:, dependent], K[:, free])
        return columns

    def nearest(self, q: np.ndarray) -> np.ndarray:
        """Close nearly closed configurations (..., nq) by (1); the caller has to check the remaining gap."""
        q, exact = np.array(q, float), self.loops.exact
        if not len(self.position_rows):
            return q
        for _ in range(NEWTON_STEPS):
            phi = self.gap(q)
            if not np.abs(phi).max(initial=0.0) > exact:
                break
            K = self.jacobian(q)[..., self.position_rows, :]
            step = np.linalg.pinv(K, rcond=PSEUDOINVERSE_RCOND) @ -phi[..., self.position_gaps, None]
            q = self.tree.integrate(q, step[..., 0])
        return q


def saddle_solve(M: np.ndarray, K: np.ndarray, forces: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
    """Solve M Δ + Kᵀλ = forces, K Δ = rates for Δ.

    Parameters
    ----------
    M : (n, n)
    K : (m, n)
    forces : (n, columns)
    rates : (m,), for a single column; zeros by default

    Returns
    -------
    Δ, (n, columns), or (n,) if rates are given.
    """
    n, m = len(M), len(K)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = M, K.T, K
    right = np.zeros((n + m, forces.shape[1]))
    right[:n] = forces
    if rates is not None:
        right[n:, 0] = rates
    try:
        solution = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    return solution[:n] if rates is None else solution[:n, 0]


DISTINCT_DISTANCE = 1e-6  # rad or m: solutions closer to each other are the same
FREE_MOTION_RTOL = 1e-7  # singular values below this fraction of the largest leave a motion free
SEARCH_RADIUS = 3.2  # rad, or multiples of the size of the robot, about the start


def assemble(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """Return the configuration near q0 in which all loops are closed.

    Parameters
    ----------
    robot : a constrained robot, or its `Dynamics`
    q0 : initial configuration (nq,); home by default
    hold : names of joints that keep their coordinates
    prescribed : position, velocity and acceleration of every prescribed motion; zeros by default

    Returns
    -------
    q, (nq,)

    Raises
    ------
    ArgumentError
        If the loops cannot be closed; the message names the loop and its remaining gap.

    Examples
    --------
    >>> import appell as ap
    >>> four_bar = ap.load("four-bar")
    >>> ap.kinematics.assemble(four_bar, [1.0, 0.0, 1.5], hold="crank").round(4)
    array([ 1.    , -0.4119,  1.6743])
    """
    rows, q, held = _arguments(robot, q0, hold, prescribed)
    return assemble_loops(rows.loops, q, held)


def assemblies(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    tries: int = 60,
    prescribed: Sequence[float] | None = None,
) -> list[np.ndarray]:
    """Return all configurations with closed loops (the branches of a linkage) found near q0, nearest first.

    Parameters
    ----------
    robot : a constrained robot, or its `Dynamics`
    q0 : configuration (nq,) about which solutions are searched; home by default
    hold : names of joints that keep their coordinates; they must leave no motion free
    tries : number of starting points; more tries may find more solutions
    prescribed : position, velocity and acceleration of every prescribed motion; zeros by default

    Returns
    -------
    List of q, (nq,) each.

    Raises
    ------
    ArgumentError
        If the loops cannot be closed, or if there are infinitely many solutions because motions are left free.
    """
    rows, q, held = _arguments(robot, q0, hold, prescribed)
    loops, tree = rows.loops, rows.tree
    solutions: list[np.ndarray] = []
    for start in (q, *loops.starts(q, held, tries, SEARCH_RADIUS)):
        root = loops.root(start, held)
        if loops.is_closed(root) and all(_distance(tree, root.q, other) > DISTINCT_DISTANCE for other in solutions):
            solutions.append(root.q)
    if not solutions:
        return [assemble_loops(loops, q, held)]
    if free := _free_motions(rows, solutions[0], held):
        plural = "s" * (free > 1)
        raise ArgumentError(
            f"{rows.system.owner} has infinitely many configurations: it has {free} free motion{plural} left.",
            expected=f"{free} more joint{plural} in hold",
            hint="Pass hold=[names of joints], or call assemble(...) for the nearest configuration.",
        )
    return sorted(solutions, key=lambda one: float(np.linalg.norm(tree.difference(q, one))))


def _distance(tree: Robot, one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two configurations, angles modulo 2π."""
    difference = tree.difference(one, other)
    is_angle = np.array(tree.velocity_units) == "rad"
    wrapped = np.remainder(difference + np.pi, 2.0 * np.pi) - np.pi
    return float(np.abs(np.where(is_angle, wrapped, difference)).max(initial=0.0))


def _arguments(
    robot: Dynamics | System, q0, hold: str | Iterable[str], prescribed: Sequence[float] | None
) -> tuple[ConstraintRows, np.ndarray, tuple[str, ...]]:
    rows = ConstraintRows(dynamics_of(robot), prescribed)
    q = one_configuration(rows, q0)
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    for name in held:
        rows.tree.joint(name)
    return rows, q, held


def one_configuration(rows: ConstraintRows, q0) -> np.ndarray:
    """Return q0 as one configuration (nq,) of finite numbers; home if None."""
    q = rows.system.start if q0 is None else rows.system.sized("q0", q0, rows.system.nq)
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q0 is {q}.", expected=f"{rows.system.nq} finite numbers for {rows.system.owner}")
    return np.array(q)


def _free_motions(rows: ConstraintRows, q: np.ndarray, held: Sequence[str]) -> int:
    """Return the number of motions that the loops allow with these joints held."""
    K = rows.jacobian(q)[rows.position_rows][:, rows.loops.max_step(held) > 0.0]
    return K.shape[1] - int(np.linalg.matrix_rank(K, rtol=FREE_MOTION_RTOL)) if K.size else K.shape[1]


ROW_TOLERANCE = 1e-9  # relative to the largest speed: remaining violation of a row


def project_velocity(
    robot: Dynamics | System,
    q,
    w,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """Return the velocity of the tree nearest to w that satisfies all constraints, by (2).

    Parameters
    ----------
    robot : a constrained robot, or its `Dynamics`
    q : closed configuration (nq,)
    w : velocity of the tree (tree.nv,)
    hold : names of joints that keep their velocities
    prescribed : position, velocity and acceleration of every prescribed motion; zeros by default

    Returns
    -------
    w, (tree.nv,)

    Raises
    ------
    ArgumentError
        If no velocity satisfies the constraints with these joints held; the message names a violated constraint.
    """
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn, prescribed)
    q, tree = one_configuration(rows, q), rows.tree
    w = np.array(tree.sized("w", w, tree.nv))
    free = np.ones(tree.nv, bool)
    for name in (hold,) if isinstance(hold, str) else hold:
        free[tree.span(tree.joint(name))[1]] = False
    K, M = rows.jacobian(q)[rows.active_rows], tree_dynamics(dyn).mass_matrix(q)
    violation = rows.rates(q, w)[rows.active_rows]
    w[free] += saddle_solve(M[np.ix_(free, free)], K[:, free], np.zeros((int(free.sum()), 1)), -violation)
    violation = np.abs(rows.rates(q, w))
    if violation.max(initial=0.0) > ROW_TOLERANCE * max(1.0, float(np.abs(w).max(initial=0.0))):
        worst = int(np.argmax(violation))
        raise ArgumentError(
            f"no velocity of {rows.system.owner} satisfies constraint '{rows.owner(worst)}' with these joints held: "
            f"a violation of {violation[worst]:.4g} remains.",
            hint="Hold fewer joints, or change their velocities.",
        )
    return w


CHART_TOLERANCE = 1e-4  # relative to the smallest singular value of all columns: minimum for the dependent columns


def recharted(system: Any, q: np.ndarray) -> Any:
    """Return the system with independent positions that determine all others at q; unchanged if it has no loops."""
    if not system.is_constrained:
        return system
    placing = list(system.map.position_partition.active)
    K = OpenLoops.of(system.tree, system.constraints).gaps(q)[1][placing]
    dependent = np.setdiff1d(np.arange(system.tree.nv), system.map.positions)
    if not len(K) or _smallest_singular_value(K[:, dependent]) > CHART_TOLERANCE * _smallest_singular_value(K):
        return system
    names = system.velocity_names
    independent = names if {*names} <= {*system.tree.velocity_names} else system.chosen
    actuated = system.weights if system.motors else None
    return system.tree.with_loops(*system.constraints, actuated=actuated, independent=independent, home=q)


def _smallest_singular_value(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).min())


def close_loops(dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """Return the closed configurations nearest to q (..., nq); q itself without loops or with prescribed motions."""
    system = dyn.system
    has_loops = system.is_constrained and not system.prescribed
    return ConstraintRows(dyn).nearest(q) if has_loops else q


def step_along(dyn: Dynamics, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the configuration after a step, with closed loops.

    Parameters
    ----------
    dyn : functions of the system
    q : closed configuration, (nq,)
    step : step along the directions of derivatives with respect to q
    """
    system = dyn.system
    if not system.is_constrained:
        return system.integrate(q, step)
    rows = ConstraintRows(dyn)
    return rows.nearest(system.tree.integrate(q, rows.tangents(q) @ step))
