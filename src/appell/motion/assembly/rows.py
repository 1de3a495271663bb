"""The rows of a constrained robot as numbers: compiled gaps, K and b at configurations, one or many.

Near the manifold the closed configuration is had by Newton's method on the rows that carry forces,

    q ← q ⊕ -Kᵀ (K Kᵀ)⁻¹ φ                                                                                     (1)

which rows they are was decided when the robot was made. The velocity nearest to w that keeps all rows is

    [M Kᵀ; K 0] (Δ, λ) = (0, -(K w + b))        w ← w + Δ        the least change in the metric of M             (2)

which never adds kinetic energy if b = 0, and needs no more of M than that it resists the motions that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembling import OpenLoops
from appell.formulate.constrained.manifold import TreeManifold
from appell.model.constrained import ConstrainedRobot
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


def constrained(dyn: Dynamics) -> ConstrainedRobot:
    """The robot of a catalogue, if it has constraints."""
    system = dyn.system
    if not isinstance(system, ConstrainedRobot):
        raise ArgumentError(f"{system.owner} has no constraints.", expected="robot.with_loops(...), or its Dynamics")
    return system


class ConstraintRows:
    """Gaps and rows of a constrained robot; `prescribed` are the motions that are given, three numbers each."""

    def __init__(self, dyn: Dynamics, prescribed: Sequence[float] | np.ndarray | None = None):
        self.dyn, self.system = dyn, constrained(dyn)
        self.tree, manifold = self.system.tree, self.system.manifold
        assert isinstance(manifold, TreeManifold)
        self.kept = np.array(manifold.partition.kept, int)  # rows that carry forces
        self.placed = np.array(manifold.placing.kept, int)  # those of gaps, among all gaps
        self.placing = np.array([manifold.holonomic[k] for k in manifold.placing.kept], int)  # and among all rows
        self.holonomic = np.array(manifold.holonomic, int)
        self.labels = manifold.labels
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
        """The velocities of the tree in which loops stay closed, a column for each of `system.manifold.positions`."""
        free = list(self.system.manifold.positions)
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
