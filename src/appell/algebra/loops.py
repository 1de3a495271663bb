"""Loops over tables of scalars: the interface for algorithms that repeat one computation for many links.

A table has rows of the same number of scalars. A loop runs a body once per iteration: the body reads one row of some
tables and one row of a list of numbers, and its results are written to rows of other tables before the next iteration.

    parent's row of `moved`, q, numbers of the link   ->   body   ->   the link's row of `moved`

An algorithm written this way runs in two modes. `Unrolled` runs every iteration while the function is traced: the code
is specific to the robot, and its structural zeros fold away. The compiler's loops trace the body once and iterate at
run time: the length of the code does not depend on the number of links.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from appell.algebra.scalar import Scalar, Vector

LoopBody = Callable[..., Sequence[Vector]]  # (row of each table that is read, then of the numbers) -> rows to write
Table = Any  # what `Loops.table` and `Loops.given` return: opaque to algorithms


class Rows(NamedTuple):
    """The row of a table that each iteration reads or writes; None where an iteration does not use the table."""

    table: Table
    rows: Sequence[int | None]


class Loops(ABC):
    """How loops are run: unrolled while tracing, or by the compiler at run time."""

    @abstractmethod
    def given(self, rows: Sequence[Vector]) -> Table:
        """Return a table with the given scalars."""

    @abstractmethod
    def table(self, rows: int, width: int) -> Table:
        """Return an empty table of the given size; a row must be written before it is read."""

    @abstractmethod
    def values(self, table: Table) -> list[list[Scalar]]:
        """Return the scalars of a table, row by row."""

    @abstractmethod
    def each(
        self,
        bodies: Sequence[LoopBody],
        kinds: Sequence[int],
        reads: Sequence[Rows],
        writes: Sequence[Rows],
        numbers: Sequence[Sequence[float]] = (),
        when: tuple[Table, int] | None = None,
    ) -> None:
        """Run a loop: iteration k calls `bodies[kinds[k]]` on the k-th rows of `reads`, `writes` and `numbers`.

        Parameters
        ----------
        bodies : the computations, one per kind of iteration
        kinds : index of the body for each iteration
        reads, writes : tables, and the row of each that every iteration reads or writes. For a table of which an
            iteration has no row, the body receives and returns an empty one.
        numbers : constants, one row per iteration; rows of the same kind have the same length
        when : table and row of a flag, 0 or 1. The loop may be skipped where the flag is 0: the tables then keep their
            values or hold what it would write, and the algorithm selects between these and other values.
        """


class Unrolled(Loops):
    """Loops that run every iteration while the algorithm is traced; a table is a list of lists."""

    def given(self, rows: Sequence[Vector]) -> list[list[Scalar]]:
        return [list(row) for row in rows]

    def table(self, rows: int, width: int) -> list[list[Scalar]]:
        return [[] for _ in range(rows)]

    def values(self, table: list[list[Scalar]]) -> list[list[Scalar]]:
        return table

    def each(self, bodies, kinds, reads, writes, numbers=(), when=None) -> None:
        for k, kind in enumerate(kinds):
            constants = [numbers[k]] if numbers else []
            results = bodies[kind](*([] if rows[k] is None else table[rows[k]] for table, rows in reads), *constants)
            for (table, rows), written in zip(writes, results, strict=True):
                if rows[k] is not None:
                    table[rows[k]] = list(written)


UNROLLED = Unrolled()
