"""Accelerations under constraints from a factorisation of a tree's inertia matrix, without independent velocities.

    M = Lᵀ D L  leaves first           Y = L⁻ᵀ Kᵀ         y = L⁻ᵀ (Q - h)                                        (1)
    A = Yᵀ D⁻¹ Y                       A λ = -(γ + Yᵀ D⁻¹ y)                                                     (2)
    a = L⁻¹ D⁻¹ (y + Y λ)                                                                                      (3)

Gauss's principle: of all accelerations with K a = -γ, this one is nearest to the unconstrained acceleration in the
metric of M. A column of Y has entries only on the path from the joints of its row to the root; literal zeros in K cost
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.scalar import Matrix, Scalar, Vector, dot
from appell.algebra.solve import LDL


@dataclass(frozen=True)
class Schur:
    """Schur complement of the rows K and a factorised inertia matrix."""

    factors: LDL
    rows: Sequence[Vector]

    @cached_property
    def _raised(self) -> Matrix:
        """Columns of Y of (1)."""
        return [self.factors.solve_upper(row) for row in self.rows]

    @cached_property
    def _weighted(self) -> Matrix:
        """D⁻¹ Y."""
        return [[d * x for d, x in zip(self.factors.inverse_pivots, column, strict=True)] for column in self._raised]

    @cached_property
    def resistance(self) -> Matrix:
        """A of (2), symmetric."""
        A: Matrix = [[0.0] * len(self.rows) for _ in self.rows]
        for i, column in enumerate(self._raised):
            for k in range(i + 1):
                A[i][k] = A[k][i] = dot(column, self._weighted[k])
        return A

    @cached_property
    def _inner(self) -> LDL:
        return LDL.of(self.resistance)

    def solve(self, forces: Vector, drift: Vector) -> tuple[list[Scalar], list[Scalar]]:
        """a and λ for forces Q - h and drifts γ."""
        y = self.factors.solve_upper(forces)
        right = [-(gamma + dot(column, y)) for gamma, column in zip(drift, self._weighted, strict=True)]
        multipliers = self._inner.solve(right)
        for column, force in zip(self._raised, multipliers, strict=True):
            y = [x + entry * force for x, entry in zip(y, column, strict=True)]
        return self.factors.solve_lower(y), multipliers
