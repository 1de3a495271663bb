"""The motions that rows allow, at one configuration.

The rows K of the constraints that carry forces and the rows U of the independent velocities make a square matrix E,
block triangular in an order that is known beforehand:

    E w = (-b, v)          w = N v + n            K N = 0,  U N = 1                                              (1)
    E a = (-γ, v̇ - δ)      a = N v̇ + ν            γ = dK/dt w + db/dt,  δ = dU/dt w                              (2)
    Eᵀ(λ, ·) = M a + h - Q                        the multipliers of the motion                                 (3)

Where v are velocities of the tree itself, the rows of U are unit vectors, δ = 0, and (1) is what remains of K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.blocks import BlockTriangular
from appell.algebra.scalar import Scalar, Vector, dot
from appell.formulate.constrained.partition import Partition
from appell.formulate.constrained.row import Row

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Basis:
    """`held` are the rows that carry forces, `moved` those of the velocities v, empty where a partition tells them."""

    held: Sequence[Row]
    moved: Sequence[Row]
    partition: Partition
    size: int  # of w

    @cached_property
    def E(self) -> BlockTriangular:
        units = [[float(i == k) for i in range(self.size)] for k in self.partition.independent]
        rows = [row.jacobian for row in self.held] + (units or [row.jacobian for row in self.moved])
        return BlockTriangular(rows, self.partition.blocks)

    @property
    def freedoms(self) -> int:
        return self.size - len(self.held)

    @cached_property
    def N(self) -> Matrix:
        """(1), a row for every velocity of the tree."""
        f, still = self.freedoms, [0.0] * len(self.held)
        columns = [self.E.solve([*still, *(float(i == k) for i in range(f))]) for k in range(f)]
        return [[column[i] for column in columns] for i in range(self.size)]

    def velocity(self, v: Vector) -> list[Scalar]:
        """w, by (1)."""
        return self.E.solve([*(-row.offset for row in self.held), *v])

    @cached_property
    def drift(self) -> list[Scalar]:
        """ν, by (2), if the rows were made at w."""
        shifted = [-row.drift for row in self.moved] or [0.0] * self.freedoms
        return self.E.solve([*(-row.drift for row in self.held), *shifted])

    def acceleration(self, gains: Vector) -> list[Scalar]:
        """a, by (2)."""
        return [x + y for x, y in zip(self.along(gains), self.drift, strict=True)]

    def along(self, v: Vector) -> list[Scalar]:
        """N v."""
        return self.E.solve([*([0.0] * len(self.held)), *v])

    def across(self, forces: Vector) -> list[Scalar]:
        """Nᵀ Q, for forces along the velocities of the tree."""
        return self.E.solve_transposed(forces)[len(self.held) :]

    def multipliers(self, forces: Vector) -> list[Scalar]:
        """λ, by (3), of forces that M a + h - Q leaves to the rows."""
        return self.E.solve_transposed(forces)[: len(self.held)]

    def independent(self, w: Vector) -> list[Scalar]:
        """v = U w."""
        if not self.moved:
            return [w[k] for k in self.partition.independent]
        return [dot(row.jacobian, w) for row in self.moved]
