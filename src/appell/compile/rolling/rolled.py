"""Loops that stay loops: a function is traced into a program, each step of a loop once.

    tables     `given` stores scalars in slots of the frame, `table` sets slots aside, `values` are inputs of the trace
    each       the step is traced on inputs of its own: its rows, then the numbers of the turn
    between    what is traced outside of loops is straight code between them (`straight`)

A number that is the same in all turns of a step is a constant of its tape, and folds as any other: links that are all
alike lose their zeros as they would in a tape of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appell.algebra.loops import Loops, Rows, Step
from appell.algebra.scalar import Vector, is_number
from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.passes.pipeline import TRACED, run
from appell.compile.rolling.tables import Leaf, RolledTable, SlotBlock, seen
from appell.compile.tape import Array, Tape
from appell.compile.trace import Traced, record
from appell.errors import TraceError

Slot = tuple[SlotBlock, int]  # a block and a place in it
ALWAYS = 1 << 60  # a time after everything


@dataclass(frozen=True)
class View:
    """A window in the making: where each turn begins in a block."""

    block: SlotBlock
    starts: tuple[int, ...]
    width: int
    stride: int


@dataclass(frozen=True)
class Turns:
    """A step in the making."""

    tape: Tape
    reads: tuple[View, ...]
    writes: tuple[View, ...]
    numbers: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class RolledLoop:
    """A stage in the making."""

    steps: tuple[Turns, ...]
    order: tuple[int, ...]


class Rolled(Loops):
    """Records the loops of one function; its graph takes down what is done outside of them."""

    def __init__(self, graph: Graph, input_size: int):
        self.graph = graph
        self.time = 0
        self.inputs = SlotBlock(input_size, reads=[-1, ALWAYS])
        self.leaves = [Leaf(self.inputs, k, 0) for k in range(input_size)]  # by the number of the graph's input
        self.stores: dict[int, list[tuple[Slot, int]]] = {0: []}  # by time: slots and the nodes that go there
        self.loops: dict[int, RolledLoop] = {}  # by time
        self._numbers = {leaf: k for k, leaf in enumerate(self.leaves)}
        self._just_stored: dict[Slot, int] = {}
        self._tables: list[RolledTable] = []

    # ---- tables

    def given(self, rows: Sequence[Vector]) -> RolledTable:
        scalars = [list(row) for row in rows]
        width = len(scalars[0]) if scalars else 0
        if any(len(row) != width for row in scalars):
            raise TraceError(f"a table is given rows of {sorted({len(row) for row in scalars})} scalars.")
        nodes = [[self._node(scalar) for scalar in row] for row in scalars]
        table = self._seen(nodes, width) or self._stored(nodes, width)
        self._tables.append(table)
        return table

    def table(self, rows: int, width: int) -> RolledTable:
        table = RolledTable.fresh(rows, width)
        self._tables.append(table)
        return table

    def values(self, table: RolledTable) -> list[list[Any]]:
        if missing := set(range(len(table.starts))) - table.written:
            raise TraceError(f"row {min(missing)} of a table is asked for before it is written.")
        rows = (self._row(table, row) for row in range(len(table.starts)))
        return [[self._scalar(node) for node in row] for row in rows]

    def _scalar(self, node: int) -> Any:
        value = self.graph.value(node)
        return Traced(self.graph, node) if value is None else value

    def _row(self, table: RolledTable, row: int) -> list[int]:
        """The nodes that stand for the slots of a row as they are now."""
        if table.block.writes[-1:] == [self.time]:
            return [self._just_stored[table.block, offset] for offset in table.offsets(row)]
        found = []
        for offset in table.offsets(row):
            leaf = Leaf(table.block, offset, table.block.version)
            number = self._numbers.setdefault(leaf, len(self.leaves))
            if number == len(self.leaves):
                self.leaves.append(leaf)
            found.append(self.graph.input(number))
        return found

    def _node(self, scalar: Any) -> int:
        if isinstance(scalar, Traced) and scalar.graph is self.graph:
            return scalar.index
        if not is_number(scalar):
            raise TraceError(f"a table is given {scalar!r}, which is neither a number nor a scalar of this trace.")
        return self.graph.const(scalar)

    def _seen(self, nodes: list[list[int]], width: int) -> RolledTable | None:
        graph = self.graph.nodes
        if not width or any(graph[node][0] != Op.INPUT for row in nodes for node in row):
            return None
        return seen([[self.leaves[graph[node][1]] for node in row] for row in nodes], width)

    def _stored(self, nodes: list[list[int]], width: int) -> RolledTable:
        table = RolledTable.fresh(len(nodes), width)
        for row, stored in enumerate(nodes):
            self._store(table, row, stored)
        return table

    def _store(self, table: RolledTable, row: int, nodes: list[int]) -> None:
        targets = [(table.block, offset) for offset in table.offsets(row)]
        self.stores[self.time] += zip(targets, nodes, strict=True)
        self._just_stored |= zip(targets, nodes, strict=True)
        if table.block.writes[-1:] != [self.time]:
            table.block.writes.append(self.time)
        table.written.add(row)

    def _own(self, table: RolledTable) -> None:
        """Let a table that is to be written share its block with no other."""
        sharing = [other for other in self._tables if other.block is table.block and other is not table]
        for other in [table] if table.block is self.inputs else sharing:
            rows = [self._row(other, row) for row in sorted(other.written)]
            copy = RolledTable.fresh(len(other.starts), other.width)
            other.block, other.starts, other.stride = copy.block, copy.starts, 1
            for row, nodes in zip(sorted(other.written), rows, strict=True):
                self._store(other, row, nodes)

    # ---- turns

    def each(
        self,
        steps: Sequence[Step],
        kinds: Sequence[int],
        reads: Sequence[Rows],
        writes: Sequence[Rows],
        numbers: Sequence[Sequence[float]] = (),
    ) -> None:
        if not len(kinds):
            return
        _check(steps, kinds, reads, writes, numbers)
        for table, _ in writes:
            self._own(table)
        used = sorted(set(kinds))
        time = self.time + 1
        made = []
        for kind in used:
            turns = [turn for turn, other in enumerate(kinds) if other == kind]
            taken, written = ([_view(rows, turns) for rows in each] for each in (reads, writes))
            made.append(_traced(steps[kind], taken, written, [numbers[turn] for turn in turns] if numbers else []))
        for table, _ in reads:
            table.block.reads.append(time)
        for table, _ in writes:
            table.block.writes.append(time)
        self.loops[time] = RolledLoop(tuple(made), tuple(used.index(kind) for kind in kinds))
        self.time += 2
        self.stores[self.time] = []
        self._just_stored.clear()


def _check(steps, kinds, reads: Sequence[Rows], writes: Sequence[Rows], numbers) -> None:
    turns = len(kinds)
    if any(len(rows) != turns for _, rows in [*reads, *writes]) or len(numbers) not in (0, turns):
        raise TraceError(f"a loop of {turns} turns has rows or numbers for another number of turns.")
    if not all(0 <= kind < len(steps) for kind in kinds):
        raise TraceError(f"a loop of {len(steps)} steps has a turn of kind {max(kinds)}.")
    for turn in range(turns):
        for number, (table, rows) in enumerate(reads):
            if rows[turn] is not None and rows[turn] not in table.written:
                raise TraceError(f"turn {turn} reads row {rows[turn]} of table {number} before it is written.")
        for table, rows in writes:
            row = rows[turn]
            if row is None:
                continue
            if not 0 <= row < len(table.starts):
                raise TraceError(f"turn {turn} writes row {row} of a table of {len(table.starts)} rows.")
            table.written.add(row)


def _view(rows: Rows, turns: list[int]) -> View:
    """Where the turns of one kind find their rows; a view of no width if they have none."""
    table, absent = rows.table, {rows.rows[turn] is None for turn in turns}
    if len(absent) > 1:
        raise TraceError("some turns of a step have a row of a table, others none.", hint="a kind for each of the two")
    if absent == {True}:
        return View(table.block, (0,) * len(turns), 0, 1)
    return View(table.block, tuple(table.starts[rows.rows[turn]] for turn in turns), table.width, table.stride)


def _traced(step: Step, reads: list[View], writes: list[View], numbers: list[Sequence[float]]) -> Turns:
    """One step: its tape, with a further input for every number that changes from turn to turn."""
    if len({len(row) for row in numbers}) > 1:
        raise TraceError("the turns of a step have rows of different lengths for numbers.")
    columns = [tuple(float(x) for x in column) for column in zip(*numbers, strict=True)]
    changing = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
    arrays = [Array(f"row{k}", (view.width,)) for k, view in enumerate(reads)]
    arrays += [Array("numbers", (len(changing),))] if changing else []

    def body(*rows: list) -> Mapping[str, Any]:
        taken = [*rows[: len(reads)]]
        if numbers:
            known = dict(zip(changing, rows[-1], strict=True)) if changing else {}
            taken.append([known.get(column, column[0]) for column in columns])
        found = step(*taken)
        for k, (view, row) in enumerate(zip(writes, found, strict=True)):
            if len(row) != view.width:
                raise TraceError(f"a step writes a row of {len(row)} to table {k}.", expected=f"{view.width} scalars")
        return {f"row{k}": list(row) for k, row in enumerate(found)}

    tape = run(TRACED, record(Graph(), getattr(step, "__name__", "step"), arrays, body))
    return Turns(tape, tuple(reads), tuple(writes), tuple(zip(*changing, strict=True)) if changing else ())
