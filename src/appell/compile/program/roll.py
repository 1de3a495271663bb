"""Loops that stay loops: a traced function becomes a program, in which each step of a loop is traced once.

    tables     `given` stores scalars in slots of the frame, `table` reserves slots, `values` are inputs of the trace
    each       the step is traced on its own inputs: its rows, then the numbers of the iteration
    straight   operations traced outside loops become straight code between them

Time counts the stages in order: straight code at even times, a loop at every odd one. A block of slots is written and
read at some times and needs its slots from the first of them to the last; before and after, others may use them. A
table has its own block, or views the block of another: a table given scalars that are in the frame already (function
inputs, or values of another table, evenly spaced) copies nothing.

A number that is the same in all iterations of a step is a constant of its tape and folds as any other: links that are
all alike lose their zeros as they would in a tape of their own.

Straight code computes a value where it is first needed. If straight code after a loop needs it again, it waits in a
slot; so does a value of a table that a loop overwrites in the meantime. Constants and values that are still in their
slot need not wait. Stores that nothing reads are dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from appell.algebra.loops import Loops, Rows, LoopBody
from appell.algebra.scalar import Vector, is_number
from appell.compile.program.program import FrameStep, Program, Stage, Window, frame_step, verify_program
from appell.compile.program.sines import sines_first
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import Array, needed, renumber
from appell.compile.tape.trace import Traced, record, recorded
from appell.errors import TraceError


@dataclass(eq=False)
class SlotBlock:
    """Neighbouring slots, and the times at which they are written and read."""

    size: int
    writes: list[int] = field(default_factory=list)  # times, in order
    reads: list[int] = field(default_factory=list)
    start: int = -1  # in the frame, once it is known

    @property
    def version(self) -> int:
        """How often the block has been written."""
        return len(self.writes)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last time at which the slots are needed."""
        return min(self.writes + self.reads), max(self.writes + self.reads)


@dataclass(eq=False)
class RolledTable:
    """Rows of `width` slots, `stride` apart, in a block; `starts` is where each row begins, `written` which exist."""

    block: SlotBlock
    starts: list[int]
    width: int
    stride: int
    written: set[int]

    @classmethod
    def fresh(cls, rows: int, width: int) -> RolledTable:
        return cls(SlotBlock(rows * width), [row * width for row in range(rows)], width, 1, set())

    def offsets(self, row: int) -> range:
        """The slots of a row, counted from the beginning of the block."""
        start = self.starts[row]
        return range(start, start + self.width * self.stride, self.stride) if self.width else range(0)


@dataclass(frozen=True)
class Leaf:
    """What a traced scalar stands for that no arithmetic made: a slot of a block, as it was after some writes."""

    block: SlotBlock
    offset: int
    version: int

    def overwritten(self, time: int) -> int | None:
        """When the slot was written anew, if that was before this time."""
        later = self.block.writes[self.version :]
        return later[0] if later and later[0] < time else None


def seen(leaves: Sequence[Sequence[Leaf]], width: int) -> RolledTable | None:
    """The table whose rows are these leaves where they lie, or None if they do not lie evenly in one block."""
    block = leaves[0][0].block
    if any(leaf.block is not block or leaf.version != block.version for row in leaves for leaf in row):
        return None
    stride = leaves[0][1].offset - leaves[0][0].offset if width > 1 else 1
    if stride == 0 or any(leaf.offset != row[0].offset + k * stride for row in leaves for k, leaf in enumerate(row)):
        return None
    return RolledTable(block, [row[0].offset for row in leaves], width, stride, set(range(len(leaves))))


def place(blocks: Sequence[SlotBlock]) -> int:
    """Give every block its place in the frame, the first as it is; how many slots that takes.

    Blocks that are needed at different times may share slots.
    """
    placed: list[SlotBlock] = []
    size = 0
    for block in sorted(blocks, key=lambda block: (block.span[0], -block.size)):
        begin = block.span[0]
        placed = [other for other in placed if other.span[1] >= begin]
        start = 0
        for other in sorted(placed, key=lambda other: other.start):
            if other.start - start >= block.size:
                break
            start = max(start, other.start + other.size)
        block.start = start
        placed.append(block)
        size = max(size, start + block.size)
    return size


Slot = tuple[SlotBlock, int]  # a block and a place in it
ALWAYS = 1 << 60  # a time after everything


@dataclass(frozen=True)
class View(Window):
    """A window before its block has a place in the frame: where each iteration begins in the block."""

    block: SlotBlock = field(default_factory=lambda: SlotBlock(0))


class Rolled(Loops):
    """Records the loops of one function; its graph takes down what is done outside of them."""

    def __init__(self, graph: Graph, input_size: int):
        self.graph = graph
        self.time = 0
        self.inputs = SlotBlock(input_size, reads=[-1, ALWAYS])
        self.leaves = [Leaf(self.inputs, k, 0) for k in range(input_size)]  # by the number of the graph's input
        self.stores: dict[int, list[tuple[Slot, int]]] = {0: []}  # by time: slots and the nodes that go there
        self.loops: dict[int, Stage] = {}  # by time; their windows are views
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
        """Let a table that is to be written share its slots with no other table, and no two of its rows a slot."""
        sharing = [other for other in self._tables if other.block is table.block and other is not table]
        slots = [offset for row in range(len(table.starts)) for offset in table.offsets(row)]
        moves = table.block is self.inputs or len(set(slots)) < len(slots)
        for other in [table] if moves else sharing:
            rows = [self._row(other, row) for row in sorted(other.written)]
            copy = RolledTable.fresh(len(other.starts), other.width)
            other.block, other.starts, other.stride = copy.block, copy.starts, 1
            for row, nodes in zip(sorted(other.written), rows, strict=True):
                self._store(other, row, nodes)

    # ---- turns

    def each(
        self,
        steps: Sequence[LoopBody],
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
        self.loops[time] = Stage(tuple(made), tuple(used.index(kind) for kind in kinds))
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
        return View((0,) * len(turns), 0, 1, table.block)
    return View(tuple(table.starts[rows.rows[turn]] for turn in turns), table.width, table.stride, table.block)


def _traced(step: LoopBody, reads: list[View], writes: list[View], numbers: list[Sequence[float]]) -> FrameStep:
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

    tape = factor(record(Graph(), getattr(step, "__name__", "step"), arrays, body))
    return FrameStep(tape, tuple(reads), tuple(writes), tuple(zip(*changing, strict=True)) if changing else ())


class Straight:
    """Which straight code computes and stores what; `stores` are the slots and nodes of each time."""

    def __init__(self, rolled: Rolled):
        self._nodes, self._leaves = rolled.graph.nodes, rolled.leaves
        self.stores = self._read_later(rolled.stores)
        self._home: dict[int, int] = {}  # the time at which each node is computed
        last_use: dict[int, int] = {}
        for time in sorted(self.stores):
            last_use |= dict.fromkeys(self._fetched(time), time)
        self._waits = self._waiting(last_use)

    def _read_later(self, stores: dict[int, list[tuple[Slot, int]]]) -> dict[int, list[tuple[Slot, int]]]:
        """Only the stores to blocks that are read."""
        read: set[SlotBlock] = set()
        kept = {}
        for time in sorted(stores, reverse=True):
            kept[time] = [((block, k), node) for (block, k), node in stores[time] if block.reads or block in read]
            for node in needed(self._nodes, [node for _, node in kept[time]]):
                if self._nodes[node][0] == Op.INPUT:
                    read.add(self._leaves[self._nodes[node][1]].block)
        return kept

    def _fetched(self, time: int) -> set[int]:
        """Settle what is computed at a time; the nodes that must be fetched from an earlier one."""
        fetched: set[int] = set()
        wanted = [node for _, node in self.stores[time]]
        while wanted:
            node = wanted.pop()
            op, *operands = self._nodes[node]
            if op == Op.INPUT:
                leaf = self._leaves[operands[0]]
                overwritten = leaf.overwritten(time)
                if overwritten is not None:
                    self._home[node] = overwritten - 1
                    fetched.add(node)
                leaf.block.reads.append(time if overwritten is None else overwritten - 1)
            elif op != Op.CONST and node not in self._home:
                self._home[node] = time
                wanted += operands
            elif op != Op.CONST and self._home[node] < time:
                fetched.add(node)
        return fetched

    def _waiting(self, last_use: dict[int, int]) -> dict[int, Slot]:
        """Slots for what is fetched later; what waits equally long waits in one block."""
        together: dict[tuple[int, int], list[int]] = defaultdict(list)
        for node, last in sorted(last_use.items()):
            together[self._home[node], last].append(node)
        waits = {}
        for (home, last), nodes in together.items():
            block = SlotBlock(len(nodes), [home], [last])
            for offset, node in enumerate(nodes):
                waits[node] = (block, offset)
                self.stores[home].append(((block, offset), node))
        return waits

    def stage(self, name: str, time: int) -> Stage:
        """The straight code of one time; all blocks have their places by now."""
        stores = sorted((block.start + offset, node) for (block, offset), node in self.stores[time])
        found: dict[int, int] = {}  # nodes that are found in a slot
        wanted = [node for _, node in stores]
        computed: set[int] = set()
        while wanted:
            node = wanted.pop()
            if node in computed or node in found:
                continue
            slot = self._slot(node, time)
            if slot is not None:
                found[node] = slot
            else:
                computed.add(node)
                wanted += self._nodes[node][1:] if self._nodes[node][0] > Op.INPUT else ()
        slots = sorted(set(found.values()))
        numbers = {slot: k for k, slot in enumerate(slots)}
        content = {node: self._nodes[node] for node in computed}
        content |= {node: (Op.INPUT, numbers[slot]) for node, slot in found.items()}
        nodes, results = renumber(content, sorted(content), [node for _, node in stores])
        reads, writes = _windows(slots), _windows([slot for slot, _ in stores])
        step = frame_step(name, nodes, results, reads, writes)
        return Stage((replace(step, tape=factor(step.tape)),), (0,))

    def _slot(self, node: int, time: int) -> int | None:
        """Where a node is found that is not computed at this time."""
        op, *operands = self._nodes[node]
        if op == Op.INPUT and self._leaves[operands[0]].overwritten(time) is None:
            leaf = self._leaves[operands[0]]
            return leaf.block.start + leaf.offset
        if op >= Op.INPUT and self._home[node] < time:
            block, offset = self._waits[node]
            return block.start + offset
        return None


def _windows(slots: list[int]) -> tuple[Window, ...]:
    """Windows of one turn that hold these slots, which are in order: one for each run of neighbours."""
    starts = [k for k, slot in enumerate(slots) if k == 0 or slot != slots[k - 1] + 1]
    ends = [*starts, len(slots)][1:]
    return tuple(Window((slots[start],), end - start) for start, end in zip(starts, ends, strict=True))


def roll(name: str, inputs: Sequence[Array], body: Callable[..., Mapping[str, Any]]) -> Program:
    """The program of a function of nested lists of scalars and, last, of the loops that it may use."""
    graph = Graph()
    rolled = Rolled(graph, sum(array.size for array in inputs))
    outputs, results = recorded(graph, name, inputs, lambda *arrays: body(*arrays, rolled))
    kept = _kept(rolled, results)
    straight = Straight(rolled)
    size = place(_blocks(rolled, straight))
    stages = []
    for time in range(rolled.time + 1):
        if time in rolled.loops:
            stages.append(_stage(rolled.loops[time]))
        elif straight.stores[time]:
            stages.append(straight.stage(f"{name}_{time // 2}", time))
    slots = tuple(block.start + offset for block, offset in kept)
    return verify_program(sines_first(Program(name, tuple(inputs), tuple(outputs), size, tuple(stages), slots)))


def _kept(rolled: Rolled, results: list[int]) -> list[Slot]:
    """The slot of every result: where it lies already, or one that the last straight code stores it in."""
    made = SlotBlock(0, reads=[ALWAYS])
    found: dict[int, Slot] = {}
    for node in results:
        op, *operands = rolled.graph.nodes[node]
        if node in found:
            continue
        leaf = rolled.leaves[operands[0]] if op == Op.INPUT else None
        if leaf is not None and leaf.overwritten(rolled.time) is None:
            found[node] = (leaf.block, leaf.offset)
            leaf.block.reads.append(ALWAYS)
        else:
            found[node] = (made, made.size)
            rolled.stores[rolled.time].append((found[node], node))
            made.size += 1
    return [found[node] for node in results]


def _blocks(rolled: Rolled, straight: Straight) -> list[SlotBlock]:
    """All blocks that are read or written by anything that is left."""
    found = {rolled.inputs: None}
    for loop in rolled.loops.values():
        views: Any = (view for step in loop.steps for view in (*step.reads, *step.writes))
        found |= {view.block: None for view in views}
    for pairs in straight.stores.values():
        found |= {block: None for (block, _), _ in pairs}
    return list(found)


def _stage(loop: Stage) -> Stage:
    """Return a loop with its views at their places in the frame."""
    steps = (
        replace(step, reads=tuple(map(_window, step.reads)), writes=tuple(map(_window, step.writes)))
        for step in loop.steps
    )
    return Stage(tuple(steps), loop.order)


def _window(view: Any) -> Window:
    return Window(tuple(view.block.start + start for start in view.starts), view.width, view.stride)
