"""Loops over tables of scalars: the interface for algorithms that repeat one computation for many links.

A table has rows of the same number of scalars. A loop runs a body once per iteration: the body reads one row of some
tables and one row of a list of numbers, and its results are written to rows of other tables before the next iteration.

    parent's row of `moved`, q, numbers of the link   ->   body   ->   the link's row of `moved`

An algorithm written this way runs in two modes. `Unrolled` runs every iteration while the function is traced: the code
is specific to the robot, and its structural zeros fold away. The compiler's loops trace the body once and iterate at
run time: the length of the code does not depend on the number of links.

A row can be a matrix, stored row by row. A loop over its columns (`Columns`) runs the body once per column: products,
triangular solves and rank-one updates are written in this way.

    A (rows), column of B   ->   body   ->   column of A B
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from appell.algebra.scalar import Scalar, Vector
from appell.errors import TraceError

LoopBody = Callable[..., Sequence[Vector]]  # (row of each table that is read, then of the numbers) -> rows to write
Table = Any  # what `Loops.table` and `Loops.given` return: opaque to algorithms


class Rows(NamedTuple):
    """The row of a table that each iteration reads or writes; None where an iteration does not use the table."""

    table: Table
    rows: Sequence[int | None]


class Columns(NamedTuple):
    """Rows that are matrices, stored row by row; the body runs once per column, for `count` columns from `first` on.

    The columns of an iteration are independent: none reads or writes what another one writes. A row counts as written
    as soon as some of its columns are.
    """

    table: Table
    rows: Sequence[int | None]
    count: int  # type: ignore[assignment]  # a tuple has a method of this name
    first: int = 0
    of: int | None = None  # number of columns of the matrix, if the loop does not use all

    @property
    def total(self) -> int:
        """Number of columns of the matrix."""
        return self.count if self.of is None else self.of


class LoopPart(NamedTuple):
    """A loop of one body, with the arguments of `Loops.each`."""

    body: LoopBody
    reads: Sequence[Rows | Columns]
    writes: Sequence[Rows | Columns]
    numbers: Sequence[Sequence[float]] = ()


def column_count(operands: Sequence[Rows | Columns], iteration: int) -> int:
    """Return the number of columns of an iteration, 1 if it has only rows; raise an error if tables do not agree."""
    counts = {each.count for each in operands if isinstance(each, Columns) and each.rows[iteration] is not None}
    if len(counts) > 1 or min(counts, default=1) < 1:
        raise TraceError(f"a loop has tables of {sorted(counts)} columns.", expected="one positive number of columns")
    return counts.pop() if counts else 1


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
        reads: Sequence[Rows | Columns],
        writes: Sequence[Rows | Columns],
        numbers: Sequence[Sequence[float]] = (),
        when: tuple[Table, int] | None = None,
    ) -> None:
        """Run a loop: iteration k calls `bodies[kinds[k]]` on the k-th rows of `reads`, `writes` and `numbers`.

        With `Columns`, an iteration calls the body once per column: the body receives and returns that column of each
        matrix, and the complete `Rows`. Such a loop writes only columns.

        Parameters
        ----------
        bodies : the computations, one per kind of iteration
        kinds : index of the body for each iteration
        reads, writes : tables, and the row of each that every iteration reads or writes. For a table of which an
            iteration has no row, the body receives and returns an empty one.
        numbers : constants, one row per iteration; rows of the same kind have the same length
        when : table and row of a flag, 0 or 1. The loop may be skipped where the flag is 0: what it writes is then
            unspecified, and the algorithm selects between it and other values.
        """

    @abstractmethod
    def interleaved(self, parts: Sequence[LoopPart], when: tuple[Table, int] | None = None) -> None:
        """Run loops of the same number of iterations in turn: iteration k of each, then iteration k + 1 of each.

        A recursion over knots whose step consists of products, factorisations and solutions is written in this way.
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
            _iterate(LoopPart(bodies[kind], reads, writes, numbers), k)

    def interleaved(self, parts, when=None) -> None:
        for k in range(len((*parts[0].reads, *parts[0].writes)[0].rows)):
            for part in parts:
                _iterate(part, k)


def _iterate(loop: LoopPart, k: int) -> None:
    """Run iteration k of a loop on tables of `Unrolled`."""
    constants = [loop.numbers[k]] if loop.numbers else []
    columns = range(column_count([*loop.reads, *loop.writes], k))
    results = [loop.body(*(_read(operand, k, column) for operand in loop.reads), *constants) for column in columns]
    for operand, written in zip(loop.writes, zip(*results, strict=True), strict=True):
        if (number := operand.rows[k]) is None:
            continue
        if isinstance(operand, Columns):
            row = operand.table[number] or [math.nan] * (len(written[0]) * operand.total)
            for column, values in enumerate(written, operand.first):
                row[column :: operand.total] = values
            operand.table[number] = row
        else:
            operand.table[number] = list(written[0])


def _read(operand: Rows | Columns, iteration: int, column: int) -> list[Scalar]:
    """Return what the body receives of a table of `Unrolled`."""
    row = operand.rows[iteration]
    if row is None:
        return []
    if isinstance(operand, Columns):
        return operand.table[row][operand.first + column :: operand.total]
    return operand.table[row]


UNROLLED = Unrolled()
