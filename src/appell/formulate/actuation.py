"""Forces and velocities between actuators and coordinates, by the actuators' Jacobian J, θ̇ = J v:

    Q = Jᵀτ                τ = J⁻ᵀQ                              as many actuators as coordinates              (1)
                           τ = W⁻¹ J (Jᵀ W⁻¹ J)⁻¹ Q              more of them: the smallest τᵀWτ that does     (2)

and the other way v = J⁻¹θ̇, or the v that comes nearest to rates that do not fit together. Beyond the limit of J's
condition number everything is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.guarded import solve
from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.solve import LDL
from appell.errors import ModelError

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Actuation:
    """`weights` are W of (2), 1 if none are given."""

    J: Matrix
    limit: float
    weights: Sequence[float] = ()

    @property
    def _columns(self) -> Matrix:
        return [list(column) for column in zip(*self.J, strict=True)]

    def forces(self, tau: Vector) -> list[Scalar]:
        """Q = Jᵀτ."""
        return [dot(column, tau) for column in self._columns]

    def velocity(self, rates: Vector) -> list[Scalar]:
        """v."""
        if len(self.J) == len(self._columns):
            return [row[0] for row in solve(self.J, [[x] for x in rates], self.limit)]
        return self._gram([1.0] * len(self.J)).solve(self.forces(rates))

    def torques(self, forces: Matrix, owner: str) -> Matrix:
        """The columns of τ for columns of Q, by (1) or (2)."""
        columns = self._columns
        if len(self.J) == len(columns):
            return solve(columns, forces, self.limit)
        if len(self.J) < len(columns):
            raise ModelError(
                f"{owner} has {len(self.J)} actuators for {len(columns)} freedoms, too few to drive them.",
                expected="at least as many actuators as freedoms",
                hint="generalized_forces(q, v, a) for the forces along the velocities",
            )
        easy = [1.0 / weight for weight in self.weights] or [1.0] * len(self.J)
        gram = self._gram(easy)
        inner = [gram.solve(column) for column in zip(*forces, strict=True)]
        return [[easy[k] * dot(row, column) for column in inner] for k, row in enumerate(self.J)]

    def _gram(self, easy: Sequence[float]) -> LDL:
        """Jᵀ W⁻¹ J, factorised."""
        columns = self._columns
        weighted = [[w * x for w, x in zip(easy, column, strict=True)] for column in columns]
        return LDL.of([[dot(x, y) for y in columns] for x in weighted], self.limit * self.limit)
