"""Loops over tables of scalars: how an algorithm says that it does one thing many times.

A table has rows of equally many scalars. A loop takes a step turn by turn: the step reads a row of some tables, the
same row of a list of numbers, and what it returns is written to rows of other tables, before the next turn begins.

    parent's row of `moved`, q, numbers of the link   ->   step   ->   the link's row of `moved`

Written this way, an algorithm runs in two ways. `Unrolled` takes every turn while the function is traced: each robot
gets a program of its own, with all its zeros folded away. The compiler's loops trace a step once, and the machine takes
the turns: the program is as long as the step, however long the robot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from appell.algebra.scalar import Scalar, Vector

Step = Callable[..., Sequence[Vector]]  # (row of each table that is read, then of the numbers) -> rows to be written
Table = Any  # what `Loops.table` and `Loops.given` return: opaque to algorithms


class Rows(NamedTuple):
    """The row of a table that each turn reads or writes; None: turns of that kind have nothing to do with the table."""

    table: Table
    rows: Sequence[int | None]


class Loops(ABC):
    """A way to run loops."""

    @abstractmethod
    def given(self, rows: Sequence[Vector]) -> Table:
        """Scalars as a table."""

    @abstractmethod
    def table(self, rows: int, width: int) -> Table:
        """A table that is still to be written; a row must be written before it is read."""

    @abstractmethod
    def values(self, table: Table) -> list[list[Scalar]]:
        """The scalars of a table, row by row."""

    @abstractmethod
    def each(
        self,
        steps: Sequence[Step],
        kinds: Sequence[int],
        reads: Sequence[Rows],
        writes: Sequence[Rows],
        numbers: Sequence[Sequence[float]] = (),
    ) -> None:
        """Take turn after turn: turn k is `steps[kinds[k]]` on row k of everything.

        A step that has no row of a table is given an empty one, and gives an empty one back. Numbers are constants;
        all rows of them that belong to one kind have the same length.
        """


class Unrolled(Loops):
    """Every turn is taken while the algorithm runs; a table is a list of lists."""

    def given(self, rows: Sequence[Vector]) -> list[list[Scalar]]:
        return [list(row) for row in rows]

    def table(self, rows: int, width: int) -> list[list[Scalar]]:
        return [[] for _ in range(rows)]

    def values(self, table: list[list[Scalar]]) -> list[list[Scalar]]:
        return table

    def each(self, steps, kinds, reads, writes, numbers=()) -> None:
        for turn, kind in enumerate(kinds):
            row = [numbers[turn]] if numbers else []
            found = steps[kind](*([] if rows[turn] is None else table[rows[turn]] for table, rows in reads), *row)
            for (table, rows), written in zip(writes, found, strict=True):
                if rows[turn] is not None:
                    table[rows[turn]] = list(written)


UNROLLED = Unrolled()
