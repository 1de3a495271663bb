"""How a constrained robot can move at a configuration: freedoms, rows that say nothing new, forces that are not unique.

    f = nv - rank K          λ is unique but for Kᵀλ = 0                                                          (1)

The rows that a λ of (1) has in common are a set among which forces are undetermined: only their sum acts. Near a
singular configuration the smallest singular value of the rows that carry forces vanishes, and with it what the rows say
about one motion; its left singular vector tells whose rows they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.kinematics.assembly import ConstraintRows, dynamics_of, one_configuration
from appell.model.system import System

RANK = 1e-8  # of the largest singular value
SHARE = 1e-6  # of the largest: a row that has no more to do with a set than this is not of it


@dataclass(frozen=True)
class Mobility:
    """`undetermined` are sets of rows among which forces are not unique, `idle` those that are given none."""

    velocities: int  # of the tree
    rows: int
    rank: int
    idle: tuple[str, ...]
    undetermined: tuple[tuple[str, ...], ...]

    @property
    def freedoms(self) -> int:
        return self.velocities - self.rank

    def __str__(self) -> str:
        plural = "s" * (self.freedoms != 1)
        told = f"{self.velocities} velocities, {self.rows} rows of rank {self.rank}"
        lines = [f"{self.freedoms} freedom{plural}: {told}"]
        if self.idle:
            lines.append(f"rows without force: {', '.join(self.idle)}")
        lines += [f"forces are not unique among {', '.join(group)}" for group in self.undetermined]
        return "\n".join(lines)


@dataclass(frozen=True)
class Singularity:
    """How near a configuration is to one in which rows stop being independent, and whose rows they are."""

    condition: float  # of the rows that carry forces, 1 at best, infinite if singular
    constraint: str  # the one with the largest share, "" if there are no rows
    row: str  # its label there
    motion: str  # the velocity of the tree that is about to get free
    actuation: float  # the condition number of the actuators' Jacobian

    @property
    def is_singular(self) -> bool:
        return self.condition >= 1.0 / RANK


def mobility(robot: Dynamics | System, q=None) -> Mobility:
    """How a constrained robot can move at a closed configuration, home if None."""
    rows = ConstraintRows(dynamics_of(robot))
    K = rows.jacobian(one_configuration(rows, q))
    names = rows.system.row_names
    sizes = np.linalg.norm(K, axis=1)
    still = np.flatnonzero(sizes <= RANK * sizes.max(initial=0.0))
    rank = int(np.linalg.matrix_rank(K, rtol=RANK)) if sizes.any() else 0
    return Mobility(rows.tree.nv, len(K), rank, rows.system.idle_rows, _undetermined(K, names, rank, still))


def _undetermined(K: np.ndarray, names: tuple[str, ...], rank: int, still: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """The rows that have a λ with Kᵀλ = 0 in common, a set each; a row that says nothing at all has no force."""
    moving = np.setdiff1d(np.arange(len(K)), still)
    if len(moving) <= rank:
        return ()
    null = np.linalg.svd(K[moving].T)[2][rank:]
    together = np.abs(null.T @ null)
    together = together > SHARE * together.max()
    groups: list[set[int]] = []
    for i in np.flatnonzero(together.diagonal()):
        linked = {int(k) for k in np.flatnonzero(together[i])}
        for group in [group for group in groups if group & linked]:
            linked |= group
            groups.remove(group)
        groups.append(linked)
    return tuple(tuple(names[moving[k]] for k in sorted(group)) for group in groups)


def singularity(robot: Dynamics | System, q=None) -> Singularity:
    """How near a configuration (home if None) is to a singular one, and whose rows are to blame."""
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn)
    q = one_configuration(rows, q)
    K = rows.jacobian(q)
    held = K[rows.kept]
    with np.errstate(all="ignore"):
        actuation = _condition(dyn.actuator_jacobian(q, *rows.given)) if rows.system.nv else 1.0
    if not len(held):
        return Singularity(1.0, "", "", "", actuation)
    left, sizes, right = np.linalg.svd(held)
    least = len(sizes) - 1
    worst = int(rows.kept[int(np.argmax(np.abs(left[:, least])))])
    motion = rows.tree.velocity_names[int(np.argmax(np.abs(right[least])))]
    condition = float(sizes[0] / sizes[least]) if sizes[least] > 0.0 else np.inf
    return Singularity(condition, *rows.labels[worst], motion, actuation)


def _condition(matrix: np.ndarray) -> float:
    if not np.isfinite(matrix).all():
        return np.inf
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return float(sizes[0] / sizes[-1]) if len(sizes) == matrix.shape[1] and sizes[-1] > 0.0 else np.inf
