"""Configurations and velocities of a constrained robot as numbers: compiled gaps, K and b, one or many; closing loops.

Near the manifold the closed configuration is had by Newton's method on the rows that carry forces,

    q ← q ⊕ -Kᵀ (K Kᵀ)⁻¹ φ                                                                                     (1)

which rows they are was decided when the robot was made. The velocity nearest to w that keeps all rows is

    [M Kᵀ; K 0] (Δ, λ) = (0, -(K w + b))        w ← w + Δ        the least change in the metric of M             (2)

which never adds kinetic energy if b = 0, and needs no more of M than that it resists the motions that are left.

Which velocities of the tree are independent was chosen about its home. Elsewhere they may stop determining the others:
a bicycle that was made leaning has a yaw that follows from its wheels, and upright it does not. The same robot made
there has another choice for its positions; its velocities v stay (`charted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembling import OpenLoops, assemble_loops
from appell.model.robot import Robot
from appell.model.system import System

ROUNDS = 6  # of (1): each doubles the digits
RANK = 1e-9  # of the largest singular value: smaller ones count as none, where a configuration is singular
_TREES: WeakKeyDictionary[Dynamics, Dynamics] = WeakKeyDictionary()


def dynamics_of(given: Dynamics | System) -> Dynamics:
    """The catalogue that was given, or that of a system that was."""
    if not isinstance(given, Dynamics | System):
        raise ArgumentError(f"{given!r} is no constrained robot.", expected="robot.with_loops(...), or its Dynamics")
    return given if isinstance(given, Dynamics) else Dynamics(given)


def tree_dynamics(dyn: Dynamics) -> Dynamics:
    """The catalogue of a constrained robot's tree without its constraints, with the same choices."""
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
    """The robot of a catalogue, if it has constraints."""
    system = dyn.system
    if not system.is_constrained:
        raise ArgumentError(f"{system.owner} has no constraints.", expected="robot.with_loops(...), or its Dynamics")
    return system


class ConstraintRows:
    """Gaps and rows of a constrained robot; `prescribed` are the motions that are given, three numbers each."""

    def __init__(self, dyn: Dynamics, prescribed: Sequence[float] | np.ndarray | None = None):
        self.dyn, self.system = dyn, constrained(dyn)
        self.tree, manifold = self.system.tree, self.system.map
        self.kept = np.array(manifold.partition.kept, int)  # rows that carry forces
        self.placed = np.array(manifold.placing.kept, int)  # those of gaps, among all gaps
        self.placing = np.array([manifold.holonomic[k] for k in manifold.placing.kept], int)  # and among all rows
        self.holonomic = np.array(manifold.holonomic, int)
        self.labels: tuple[tuple[str, str], ...] = manifold.labels
        names = self.system.prescribed
        given = np.zeros(3 * len(names)) if prescribed is None else np.array(prescribed, float)
        if given.shape != (3 * len(names),):
            raise ArgumentError(
                f"prescribed has shape {given.shape}; {self.system.owner} has {len(names)} prescribed motions.",
                expected=f"({3 * len(names)},): position, velocity and acceleration of each",
            )
        self.given = (given,) if names else ()

    def at(self, prescribed: np.ndarray) -> None:
        """Take other values of the prescribed motions."""
        if self.given:
            self.given[0][:] = prescribed

    # ---- numbers

    def gap(self, q: np.ndarray) -> np.ndarray:
        """φ of all rows on positions."""
        return self.dyn.gap(q, *self.given) if len(self.holonomic) else np.zeros((*q.shape[:-1], 0))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """K of all rows."""
        return self.dyn.row_jacobian(q, *self.given)

    def rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """K w + b of all rows."""
        return self.dyn.row_rates(q, w, *self.given)

    def owner(self, row: int) -> str:
        """The constraint of a row."""
        return self.labels[row][0]

    # ---- onto the manifold

    @property
    def loops(self) -> OpenLoops:
        """The same for `formulate.constrained.assembling`."""

        def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.gap(q), self.jacobian(q)[self.holonomic]

        known = tuple(self.labels[k] for k in self.holonomic)
        return OpenLoops(self.tree, self.system.constraints, gaps, known)

    def open_by(self, q: np.ndarray) -> float:
        """The largest gap."""
        return float(np.abs(self.gap(q)).max(initial=0.0))

    def tangents(self, q: np.ndarray) -> np.ndarray:
        """The velocities of the tree in which loops stay closed, a column for each of `system.map.positions`."""
        free = list(self.system.map.positions)
        tied = np.setdiff1d(np.arange(self.tree.nv), free)
        found = np.zeros((self.tree.nv, len(free)))
        found[free] = np.eye(len(free))
        if len(tied):
            K = self.jacobian(q)[self.placing]
            found[tied] = -np.linalg.solve(K[:, tied], K[:, free])
        return found

    def nearest(self, q: np.ndarray) -> np.ndarray:
        """Configurations near some that are nearly closed (1), any batch; look at the gap that is left."""
        q, exact = np.array(q, float), self.loops.exact
        if not len(self.placing):
            return q
        for _ in range(ROUNDS):
            phi = self.gap(q)
            if not np.abs(phi).max(initial=0.0) > exact:
                break
            K = self.jacobian(q)[..., self.placing, :]
            step = np.linalg.pinv(K, rcond=RANK) @ -phi[..., self.placed, None]
            q = self.tree.integrate(q, step[..., 0])
        return q


def saddle_solve(M: np.ndarray, K: np.ndarray, forces: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
    """Δ with M Δ + Kᵀλ = forces (n, columns) and K Δ = rates, zero if None; of one column, if rates are given."""
    n, m = len(M), len(K)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = M, K.T, K
    right = np.zeros((n + m, forces.shape[1]))
    right[:n] = forces
    if rates is not None:
        right[n:, 0] = rates
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    return found[:n] if rates is None else found[:n, 0]


APART = 1e-6  # rad or m: solutions that are nearer to each other are one
FREE = 1e-7  # of the largest singular value: what is smaller leaves a joint free
FARTHEST = 3.2  # rad or robot's sizes: how far about the start others are looked for


def assemble(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """The configuration near q0 (home if None) in which all loops are closed, with the joints of `hold` where they are.

    Raises an error that names the loop and by how much it stays open. `prescribed` are position, velocity and
    acceleration of every prescribed motion, zeros if None.
    """
    rows, q, held = _given(robot, q0, hold, prescribed)
    return assemble_loops(rows.loops, q, held)


def assemblies(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    tries: int = 60,
    prescribed: Sequence[float] | None = None,
) -> list[np.ndarray]:
    """All ways to close the loops that are found from starts about q0, the nearest first: the branches of a linkage.

    `hold` must leave no freedom, or there are infinitely many; more `tries` find more of them.
    """
    rows, q, held = _given(robot, q0, hold, prescribed)
    loops, tree = rows.loops, rows.tree
    found: list[np.ndarray] = []
    for start in (q, *loops.starts(q, held, tries, FARTHEST)):
        root = loops.root(start, held)
        if loops.good(root) and all(_apart(tree, root.q, other) > APART for other in found):
            found.append(root.q)
    if not found:
        return [assemble_loops(loops, q, held)]
    if left := _left(rows, found[0], held):
        raise ArgumentError(
            f"{rows.system.owner} has infinitely many configurations: {left} of its motions are left free.",
            expected=f"{left} more joints in hold",
            hint="hold=[names of joints]; assemble(...) for the nearest one",
        )
    return sorted(found, key=lambda one: float(np.linalg.norm(tree.difference(q, one))))


def _apart(tree: Robot, one: np.ndarray, other: np.ndarray) -> float:
    """How far two configurations differ, whole turns apart."""
    way = tree.difference(one, other)
    turns = np.array(tree.velocity_units) == "rad"
    return float(np.abs(np.where(turns, np.remainder(way + np.pi, 2.0 * np.pi) - np.pi, way)).max(initial=0.0))


def _given(
    robot: Dynamics | System, q0, hold: str | Iterable[str], prescribed: Sequence[float] | None
) -> tuple[ConstraintRows, np.ndarray, tuple[str, ...]]:
    rows = ConstraintRows(dynamics_of(robot), prescribed)
    q = one_configuration(rows, q0)
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    for name in held:
        rows.tree.joint(name)
    return rows, q, held


def one_configuration(rows: ConstraintRows, q0) -> np.ndarray:
    """q0 as one configuration of finite numbers; home if None."""
    q = rows.system.start if q0 is None else rows.system.sized("q0", q0, rows.system.nq)
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q0 is {q}.", expected=f"{rows.system.nq} finite numbers for {rows.system.owner}")
    return np.array(q)


def _left(rows: ConstraintRows, q: np.ndarray, held: Sequence[str]) -> int:
    """How many motions the loops leave with these joints held."""
    K = rows.jacobian(q)[rows.placing][:, rows.loops.longest(held) > 0.0]
    return K.shape[1] - int(np.linalg.matrix_rank(K, rtol=FREE)) if K.size else K.shape[1]


MET = 1e-9  # of the speeds: what may be left of the rows


def project_velocity(
    robot: Dynamics | System,
    q,
    w,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """The velocity of the tree that keeps all rows, nearest to w; the joints of `hold` keep theirs.

    Raises an error that names the constraint if these joints cannot.
    """
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn, prescribed)
    q, tree = one_configuration(rows, q), rows.tree
    w = np.array(tree.sized("w", w, tree.nv))
    free = np.ones(tree.nv, bool)
    for name in (hold,) if isinstance(hold, str) else hold:
        free[tree.span(tree.joint(name))[1]] = False
    K, M = rows.jacobian(q)[rows.kept], tree_dynamics(dyn).mass_matrix(q)
    left = rows.rates(q, w)[rows.kept]
    w[free] += saddle_solve(M[np.ix_(free, free)], K[:, free], np.zeros((int(free.sum()), 1)), -left)
    left = np.abs(rows.rates(q, w))
    if left.max(initial=0.0) > MET * max(1.0, float(np.abs(w).max(initial=0.0))):
        worst = int(np.argmax(left))
        raise ArgumentError(
            f"no velocity of {rows.system.owner} keeps constraint '{rows.owner(worst)}' with these joints held: "
            f"{left[worst]:.4g} are left.",
            hint="fewer joints in hold, or other velocities of theirs",
        )
    return w


POOR = 1e-4  # of the smallest singular value of all columns: what the dependent ones leave of it


def charted(system: Any, q: np.ndarray) -> Any:
    """The system with independent positions that determine all others at q; a system without loops as it is."""
    if not system.is_constrained:
        return system
    placing = list(system.map.placing.kept)
    K = OpenLoops.of(system.tree, system.constraints).gaps(q)[1][placing]
    tied = np.setdiff1d(np.arange(system.tree.nv), system.map.positions)
    if not len(K) or _least(K[:, tied]) > POOR * _least(K):
        return system
    names = system.velocity_names
    own = names if {*names} <= {*system.tree.velocity_names} else system.chosen
    actuated = system.weights if system.motors else None
    return system.tree.with_loops(*system.constraints, actuated=actuated, independent=own, home=q)


def _least(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).min())


def close_loops(dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """The closed configurations nearest to q, any batch; with prescribed motions, and without loops, q itself."""
    system = dyn.system
    loops = system.is_constrained and not system.prescribed
    return ConstraintRows(dyn).nearest(q) if loops else q


def step_along(dyn: Dynamics, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The configuration after a step along the directions in which a system's functions are differentiated by q."""
    system = dyn.system
    if not system.is_constrained:
        return system.integrate(q, step)
    rows = ConstraintRows(dyn)
    return rows.nearest(system.tree.integrate(q, rows.tangents(q) @ step))
