"""Square systems over abstract scalars whose matrix is block triangular, with the blocks known beforehand.

    block k:    A_kk x_k = right_k - Σ A_kj x_j  over the blocks j before it                                      (1)

A block is inverted once, by `guarded`: any block that is not singular has its inverse, wherever its own zeros move to,
and one that is gives NaN. What lies outside the blocks is never looked at; literal zeros there cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.guarded import solve
from appell.algebra.scalar import Scalar, Vector, dot

LIMIT = 1e10  # the size of a block over what is left of it, beyond which it counts as singular


@dataclass(frozen=True)
class MatrixBlock:
    """Rows and columns of a matrix that are solved together, and how large their entries usually are."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    size: float


@dataclass(frozen=True)
class BlockTriangular:
    """A matrix and its blocks, each of which needs those before it."""

    matrix: Sequence[Vector]
    blocks: Sequence[MatrixBlock]

    @cached_property
    def inverses(self) -> list[list[list[Scalar]]]:
        """Of every block."""
        return [self._inverse(block) for block in self.blocks]

    def _inverse(self, block: MatrixBlock) -> list[list[Scalar]]:
        n = len(block.rows)
        entries = [[self.matrix[i][k] for k in block.columns] for i in block.rows]
        return solve(entries, [[float(i == k) for k in range(n)] for i in range(n)], LIMIT, block.size * block.size)

    def solve(self, right: Vector) -> list[Scalar]:
        """x with A x = right, by (1)."""
        x: list[Scalar] = [0.0] * len(right)
        known: list[int] = []
        for block, inverse in zip(self.blocks, self.inverses, strict=True):
            left = [_less(right[i], (self.matrix[i][k] * x[k] for k in known)) for i in block.rows]
            for k, row in zip(block.columns, inverse, strict=True):
                x[k] = dot(row, left)
            known += block.columns
        return x

    def solve_transposed(self, right: Vector) -> list[Scalar]:
        """z with Aᵀ z = right."""
        z: list[Scalar] = [0.0] * len(right)
        known: list[int] = []
        for block, inverse in zip(reversed(self.blocks), reversed(self.inverses), strict=True):
            left = [_less(right[k], (self.matrix[i][k] * z[i] for i in known)) for k in block.columns]
            for i, column in zip(block.rows, zip(*inverse, strict=True), strict=True):
                z[i] = dot(column, left)
            known += block.rows
        return z


def _less(x: Scalar, terms) -> Scalar:
    for term in terms:
        x = x - term
    return x
