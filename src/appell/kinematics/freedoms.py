"""Degrees of freedom of a constrained robot at a configuration, redundant rows, and forces that are not unique.

    f = nv - rank K          λ is unique up to solutions of Kᵀλ = 0                                               (1)

Rows that are coupled by a solution λ of (1) form a set within which the forces are undetermined: only their sum acts.
At a singular configuration the smallest singular value of the rows that carry forces is 0, so that one motion is no
longer constrained; the left singular vector identifies the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.kinematics.assembly import ConstraintRows, dynamics_of, one_configuration
from appell.model.system import System

RANK_TOLERANCE = 1e-8  # relative to the largest singular value
COUPLING_TOLERANCE = 1e-6  # relative to the largest entry: smaller couplings between rows are neglected


@dataclass(frozen=True)
class Mobility:
    """Degrees of freedom of a constrained robot; `str()` gives a summary."""

    velocities: int  # number of velocities of the tree
    rows: int  # number of constraint rows
    rank: int
    idle: tuple[str, ...]  # rows without force, because they are redundant
    undetermined: tuple[tuple[str, ...], ...]  # sets of rows among which forces are not unique

    @property
    def freedoms(self) -> int:
        """Number of degrees of freedom."""
        return self.velocities - self.rank

    def __str__(self) -> str:
        plural = "s" * (self.freedoms != 1)
        count = f"{self.velocities} velocities, {self.rows} rows of rank {self.rank}"
        lines = [f"{self.freedoms} degree{plural} of freedom: {count}"]
        if self.idle:
            lines.append(f"rows without force: {', '.join(self.idle)}")
        lines += [f"forces are not unique among {', '.join(group)}" for group in self.undetermined]
        return "\n".join(lines)


@dataclass(frozen=True)
class Singularity:
    """Distance of a configuration from a singular one, and the rows that become dependent there."""

    condition: float  # condition number of the rows that carry forces; infinite if singular
    constraint: str  # the constraint that contributes most; "" if there are no rows
    row: str  # label of its row
    motion: str  # the velocity of the tree that becomes free
    actuation: float  # condition number of the actuator Jacobian

    @property
    def is_singular(self) -> bool:
        """Whether the rows are dependent, to rounding."""
        return self.condition >= 1.0 / RANK_TOLERANCE


def mobility(robot: Dynamics | System, q=None) -> Mobility:
    """Return the degrees of freedom of a constrained robot at a closed configuration q (nq,); home by default."""
    rows = ConstraintRows(dynamics_of(robot))
    K = rows.jacobian(one_configuration(rows, q))
    names = rows.system.row_names
    sizes = np.linalg.norm(K, axis=1)
    zero_rows = np.flatnonzero(sizes <= RANK_TOLERANCE * sizes.max(initial=0.0))
    rank = int(np.linalg.matrix_rank(K, rtol=RANK_TOLERANCE)) if sizes.any() else 0
    return Mobility(rows.tree.nv, len(K), rank, rows.system.idle_rows, _undetermined(K, names, rank, zero_rows))


def _undetermined(
    K: np.ndarray, names: tuple[str, ...], rank: int, zero_rows: np.ndarray
) -> tuple[tuple[str, ...], ...]:
    """Return the sets of rows that are coupled by solutions of Kᵀλ = 0; rows that are zero have no force."""
    nonzero = np.setdiff1d(np.arange(len(K)), zero_rows)
    if len(nonzero) <= rank:
        return ()
    null = np.linalg.svd(K[nonzero].T)[2][rank:]
    coupling = np.abs(null.T @ null)
    coupled = coupling > COUPLING_TOLERANCE * coupling.max()
    groups: list[set[int]] = []
    for i in np.flatnonzero(coupled.diagonal()):
        linked = {int(k) for k in np.flatnonzero(coupled[i])}
        for group in [group for group in groups if group & linked]:
            linked |= group
            groups.remove(group)
        groups.append(linked)
    return tuple(tuple(names[nonzero[k]] for k in sorted(group)) for group in groups)


def singularity(robot: Dynamics | System, q=None) -> Singularity:
    """Return how close a configuration q (nq,) is to a singular one, and which rows cause it; home by default."""
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn)
    q = one_configuration(rows, q)
    K = rows.jacobian(q)
    independent = K[rows.active_rows]
    with np.errstate(all="ignore"):
        actuation = _condition(dyn.actuator_jacobian(q, *rows.prescribed_values)) if rows.system.nv else 1.0
    if not len(independent):
        return Singularity(1.0, "", "", "", actuation)
    left, sizes, right = np.linalg.svd(independent)
    last = len(sizes) - 1
    worst = int(rows.active_rows[int(np.argmax(np.abs(left[:, last])))])
    motion = rows.tree.velocity_names[int(np.argmax(np.abs(right[last])))]
    condition = float(sizes[0] / sizes[last]) if sizes[last] > 0.0 else np.inf
    return Singularity(condition, *rows.labels[worst], motion, actuation)


def _condition(matrix: np.ndarray) -> float:
    if not np.isfinite(matrix).all():
        return np.inf
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return float(sizes[0] / sizes[-1]) if len(sizes) == matrix.shape[1] and sizes[-1] > 0.0 else np.inf
