"""Tracing with loops: a traced function becomes a program in which each body of a loop is traced once.

    tables     `given` stores scalars in slots of the frame, `table` reserves slots, `values` are inputs of the trace
    each       a body is traced on separate inputs: its rows, followed by the numbers of the iteration
    straight   operations traced outside loops become straight code between the loops

Time counts the stages in order: straight code at even times, loops at odd times. A block of slots is needed from the
first time at which it is written or read to the last; at other times other blocks may use the slots. A table has its
own block, or is a view of the block of another table: a table made from scalars that are in the frame already (function
inputs, or values of another table, evenly spaced) copies nothing.

A number that is the same in all iterations of a body is a constant of its tape and is folded: if all links have a zero
in the same position, it vanishes as it would in straight code. A function that is the body of several loops is traced
once.

Straight code computes a value where it is first needed. If straight code after a later loop needs it again, it is
saved in a slot; so is a value of a table that a loop overwrites in the meantime. Constants, and values that are still
in their slot, are not saved. Stores that nothing reads are dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from appell.algebra.loops import LoopBody, Loops, Rows, Table
from appell.algebra.scalar import Vector, is_number
from appell.compile.program.hoist_sines import hoist_sines
from appell.compile.program.program import FrameStep, Program, Stage, Window, frame_step, verify_program
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import Array, renumber
from appell.compile.tape.trace import Traced, record, recorded
from appell.errors import TraceError


@dataclass(eq=False)
class SlotBlock:
    """Neighbouring slots, and the times at which they are written and read."""

    size: int
    writes: list[int] = field(default_factory=list)  # times, in order
    reads: list[int] = field(default_factory=list)
    start: int = -1  # first slot in the frame, once it is known

    @property
    def version(self) -> int:
        """Number of times at which the block has been written."""
        return len(self.writes)

    @property
    def span(self) -> tuple[int, int]:
        """First and last time at which the slots are needed."""
        return min(self.writes + self.reads), max(self.writes + self.reads)


@dataclass(eq=False)
class RolledTable:
    """A table in a block: rows of `width` slots, `stride` apart, that start at `starts`; `written` rows have values."""

    block: SlotBlock
    starts: list[int]
    width: int
    stride: int
    written: set[int]

    @classmethod
    def new(cls, rows: int, width: int) -> RolledTable:
        """Return a table with its own block."""
        return cls(SlotBlock(rows * width), [row * width for row in range(rows)], width, 1, set())

    def offsets(self, row: int) -> range:
        """Return the slots of a row, relative to the start of the block."""
        start = self.starts[row]
        return range(start, start + self.width * self.stride, self.stride) if self.width else range(0)


@dataclass(frozen=True)
class Leaf:
    """A traced scalar that is not the result of an operation: the value of a slot after `version` writes."""

    block: SlotBlock
    offset: int
    version: int

    def overwritten(self, time: int) -> int | None:
        """Return the time at which the slot was overwritten, if that was before `time`."""
        later = self.block.writes[self.version :]
        return later[0] if later and later[0] < time else None


def table_of_leaves(leaves: Sequence[Sequence[Leaf]], width: int) -> RolledTable | None:
    """Return a view of these leaves as rows of a table, or None if they are not evenly spaced in one block."""
    block = leaves[0][0].block
    if any(leaf.block is not block or leaf.version != block.version for row in leaves for leaf in row):
        return None
    stride = leaves[0][1].offset - leaves[0][0].offset if width > 1 else 1
    if stride == 0 or any(leaf.offset != row[0].offset + k * stride for row in leaves for k, leaf in enumerate(row)):
        return None
    return RolledTable(block, [row[0].offset for row in leaves], width, stride, set(range(len(leaves))))


def allocate(blocks: Sequence[SlotBlock]) -> int:
    """Set the start of every block in the frame, and return the size of the frame.

    Blocks that are needed at different times may share slots.
    """
    placed: list[SlotBlock] = []
    size = 0
    for block in sorted(blocks, key=lambda block: (block.span[0], -block.size)):
        first_time = block.span[0]
        placed = [other for other in placed if other.span[1] >= first_time]
        start = 0
        for other in sorted(placed, key=lambda other: other.start):
            if other.start - start >= block.size:
                break
            start = max(start, other.start + other.size)
        block.start = start
        placed.append(block)
        size = max(size, start + block.size)
    return size


Slot = tuple[SlotBlock, int]  # a block and an offset in it
END_TIME = 1 << 60  # later than all stages


@dataclass(frozen=True)
class View(Window):
    """A window whose starts are relative to a block, used until the block has a start in the frame."""

    block: SlotBlock = field(default_factory=lambda: SlotBlock(0))


class Rolled(Loops):
    """Records the loops of one function; its graph records the operations outside loops."""

    def __init__(self, graph: Graph, input_size: int):
        self.graph = graph
        self.time = 0
        self.inputs = SlotBlock(input_size, reads=[-1, END_TIME])
        self.leaves = [Leaf(self.inputs, k, 0) for k in range(input_size)]  # by the index of the graph's input
        self.stores: dict[int, list[tuple[Slot, int]]] = {0: []}  # by time: slots, and the nodes stored in them
        self.loops: dict[int, Stage] = {}  # by time; their windows are views
        self.flags: dict[int, Slot] = {}  # by time, of loops that may be skipped
        self._numbers = {leaf: k for k, leaf in enumerate(self.leaves)}
        self._just_stored: dict[Slot, int] = {}
        self._tables: list[RolledTable] = []
        self._bodies: dict[Any, FrameStep] = {}  # traced bodies, by function, widths of the rows, and numbers

    # ---- tables

    def given(self, rows: Sequence[Vector]) -> RolledTable:
        scalars = [list(row) for row in rows]
        width = len(scalars[0]) if scalars else 0
        if any(len(row) != width for row in scalars):
            lengths = sorted({len(row) for row in scalars})
            raise TraceError(f"a table has rows of {lengths} scalars.", expected="rows of the same length")
        nodes = [[self._node(scalar) for scalar in row] for row in scalars]
        table = self._viewed(nodes, width) or self._stored(nodes, width)
        self._tables.append(table)
        return table

    def table(self, rows: int, width: int) -> RolledTable:
        table = RolledTable.new(rows, width)
        self._tables.append(table)
        return table

    def values(self, table: RolledTable) -> list[list[Any]]:
        if missing := set(range(len(table.starts))) - table.written:
            raise TraceError(f"row {min(missing)} of a table is read before it is written.")
        rows = (self._row(table, row) for row in range(len(table.starts)))
        return [[self._scalar(node) for node in row] for row in rows]

    def _scalar(self, node: int) -> Any:
        value = self.graph.value(node)
        return Traced(self.graph, node) if value is None else value

    def _row(self, table: RolledTable, row: int) -> list[int]:
        """Return the nodes of the present values of a row."""
        if table.block.writes[-1:] == [self.time]:
            return [self._just_stored[table.block, offset] for offset in table.offsets(row)]
        nodes = []
        for offset in table.offsets(row):
            leaf = Leaf(table.block, offset, table.block.version)
            number = self._numbers.setdefault(leaf, len(self.leaves))
            if number == len(self.leaves):
                self.leaves.append(leaf)
            nodes.append(self.graph.input(number))
        return nodes

    def _node(self, scalar: Any) -> int:
        if isinstance(scalar, Traced) and scalar.graph is self.graph:
            return scalar.index
        if not is_number(scalar):
            raise TraceError(f"a table holds {scalar!r}.", expected="numbers and scalars of this trace")
        return self.graph.const(scalar)

    def _viewed(self, nodes: list[list[int]], width: int) -> RolledTable | None:
        graph = self.graph.nodes
        if not width or any(graph[node][0] != Op.INPUT for row in nodes for node in row):
            return None
        return table_of_leaves([[self.leaves[graph[node][1]] for node in row] for row in nodes], width)

    def _stored(self, nodes: list[list[int]], width: int) -> RolledTable:
        table = RolledTable.new(len(nodes), width)
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

    def _separate(self, table: RolledTable) -> None:
        """Copy tables so that a table to be written shares no slot with another table, nor among its rows."""
        sharing = [other for other in self._tables if other.block is table.block and other is not table]
        slots = [offset for row in range(len(table.starts)) for offset in table.offsets(row)]
        is_copied = table.block is self.inputs or len(set(slots)) < len(slots)
        for other in [table] if is_copied else sharing:
            rows = [self._row(other, row) for row in sorted(other.written)]
            copy = RolledTable.new(len(other.starts), other.width)
            other.block, other.starts, other.stride = copy.block, copy.starts, 1
            for row, nodes in zip(sorted(other.written), rows, strict=True):
                self._store(other, row, nodes)

    # ---- loops

    def each(
        self,
        bodies: Sequence[LoopBody],
        kinds: Sequence[int],
        reads: Sequence[Rows],
        writes: Sequence[Rows],
        numbers: Sequence[Sequence[float]] = (),
        when: tuple[Table, int] | None = None,
    ) -> None:
        if not len(kinds):
            return
        _check(bodies, kinds, reads, writes, numbers)
        for table, _ in writes:
            self._separate(table)
        used = sorted(set(kinds))
        time = self.time + 1
        steps = []
        for kind in used:
            iterations = [k for k, other in enumerate(kinds) if other == kind]
            read, written = ([_view(rows, iterations) for rows in each] for each in (reads, writes))
            steps.append(self._step(bodies[kind], read, written, [numbers[k] for k in iterations] if numbers else []))
        read_tables = [table for table, _ in reads]
        if when is not None:
            self.flags[time] = _flag(*when)
            read_tables.append(when[0])
        for block in dict.fromkeys(table.block for table in read_tables):
            block.reads.append(time)
        for block in dict.fromkeys(table.block for table, _ in writes):
            block.writes.append(time)
        self.loops[time] = Stage(tuple(steps), tuple(used.index(kind) for kind in kinds))
        self.time += 2
        self.stores[self.time] = []
        self._just_stored.clear()

    def _step(self, body: LoopBody, reads: list[View], writes: list[View], numbers: list[Sequence[float]]) -> FrameStep:
        """Trace a body of a loop, or reuse its tape if an earlier loop has the same body, widths and numbers."""
        widths = (tuple(view.width for view in views) for views in (reads, writes))
        key = (body, *widths, tuple(map(tuple, numbers)))
        if key not in self._bodies:
            self._bodies[key] = _traced(body, reads, writes, numbers)
        return replace(self._bodies[key], reads=tuple(reads), writes=tuple(writes))


def _flag(table: RolledTable, row: int) -> Slot:
    """Return the slot of the flag of a loop."""
    if table.width != 1 or row not in table.written:
        raise TraceError(
            f"the flag of a loop is row {row} of a table of width {table.width}.", expected="a written row of width 1"
        )
    return table.block, table.starts[row]


def _check(bodies, kinds, reads: Sequence[Rows], writes: Sequence[Rows], numbers) -> None:
    """Raise an error if a loop is not valid; mark the rows that it writes as written."""
    iterations = len(kinds)
    if any(len(rows) != iterations for _, rows in [*reads, *writes]) or len(numbers) not in (0, iterations):
        raise TraceError(f"a loop of {iterations} iterations has rows or numbers for another number of iterations.")
    if not all(0 <= kind < len(bodies) for kind in kinds):
        raise TraceError(f"a loop of {len(bodies)} bodies has an iteration of kind {max(kinds)}.")
    for k in range(iterations):
        for number, (table, rows) in enumerate(reads):
            if rows[k] is not None and rows[k] not in table.written:
                raise TraceError(f"iteration {k} reads row {rows[k]} of table {number} before it is written.")
        for table, rows in writes:
            row = rows[k]
            if row is None:
                continue
            if not 0 <= row < len(table.starts):
                raise TraceError(f"iteration {k} writes row {row} of a table of {len(table.starts)} rows.")
            table.written.add(row)


def _view(rows: Rows, iterations: list[int]) -> View:
    """Return the rows of the iterations of one kind as a view, which has the width 0 if they have none."""
    table, absent = rows.table, {rows.rows[k] is None for k in iterations}
    if len(absent) > 1:
        raise TraceError(
            "some iterations of a body have a row of a table and others do not.", hint="Use a separate kind for each."
        )
    if absent == {True}:
        return View((0,) * len(iterations), 0, 1, table.block)
    return View(tuple(table.starts[rows.rows[k]] for k in iterations), table.width, table.stride, table.block)


def _traced(loop_body: LoopBody, reads: list[View], writes: list[View], numbers: list[Sequence[float]]) -> FrameStep:
    """Trace a body of a loop; the numbers that change from iteration to iteration are further inputs of its tape."""
    if len({len(row) for row in numbers}) > 1:
        raise TraceError("the iterations of a body have rows of numbers of different lengths.")
    columns = [tuple(float(x) for x in column) for column in zip(*numbers, strict=True)]
    changing = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
    arrays = [Array(f"row{k}", (view.width,)) for k, view in enumerate(reads)]
    arrays += [Array("numbers", (len(changing),))] if changing else []

    def body(*rows: list) -> Mapping[str, Any]:
        arguments = [*rows[: len(reads)]]
        if numbers:
            traced = dict(zip(changing, rows[-1], strict=True)) if changing else {}
            arguments.append([traced.get(column, column[0]) for column in columns])
        results = loop_body(*arguments)
        for k, (view, row) in enumerate(zip(writes, results, strict=True)):
            if len(row) != view.width:
                raise TraceError(
                    f"the body of a loop writes a row of {len(row)} scalars to table {k}.", expected=f"{view.width}"
                )
        return {f"row{k}": list(row) for k, row in enumerate(results)}

    tape = factor(record(Graph(), getattr(loop_body, "__name__", "step"), arrays, body))
    return FrameStep(tape, tuple(reads), tuple(writes), tuple(zip(*changing, strict=True)) if changing else ())


class StraightCode:
    """The straight code between loops; `stores` are the slots and nodes that are stored, by time."""

    def __init__(self, rolled: Rolled):
        self._nodes, self._leaves = rolled.graph.nodes, rolled.leaves
        self.stores = self._read_later(rolled.stores)
        self._computed_at: dict[int, int] = {}  # time, by node
        last_use: dict[int, int] = {}
        for time in sorted(self.stores):
            last_use |= dict.fromkeys(self._loaded(time), time)
        self._saved = self._save(last_use)

    def _read_later(self, stores: dict[int, list[tuple[Slot, int]]]) -> dict[int, list[tuple[Slot, int]]]:
        """Return only the stores to blocks that are read."""
        read: set[SlotBlock] = set()
        visited: set[int] = set()
        used = {}
        for time in sorted(stores, reverse=True):
            used[time] = [((block, k), node) for (block, k), node in stores[time] if block.reads or block in read]
            pending = [node for _, node in used[time]]
            while pending:
                node = pending.pop()
                if node not in visited:
                    visited.add(node)
                    content = self._nodes[node]
                    if content[0] > Op.INPUT:
                        pending += content[1:]
                    elif content[0] == Op.INPUT:
                        read.add(self._leaves[content[1]].block)
        return used

    def _loaded(self, time: int) -> set[int]:
        """Determine which nodes are computed at a time, and return those that must be loaded from an earlier time."""
        loaded: set[int] = set()
        pending = [node for _, node in self.stores[time]]
        while pending:
            node = pending.pop()
            op, *operands = self._nodes[node]
            if op == Op.INPUT:
                leaf = self._leaves[operands[0]]
                overwritten = leaf.overwritten(time)
                if overwritten is not None:
                    self._computed_at[node] = overwritten - 1
                    loaded.add(node)
                leaf.block.reads.append(time if overwritten is None else overwritten - 1)
            elif op != Op.CONST and node not in self._computed_at:
                self._computed_at[node] = time
                pending += operands
            elif op != Op.CONST and self._computed_at[node] < time:
                loaded.add(node)
        return loaded

    def _save(self, last_use: dict[int, int]) -> dict[int, Slot]:
        """Return slots for nodes that are loaded later; nodes with the same first and last time share a block."""
        together: dict[tuple[int, int], list[int]] = defaultdict(list)
        for node, last in sorted(last_use.items()):
            together[self._computed_at[node], last].append(node)
        saved = {}
        for (first, last), nodes in together.items():
            block = SlotBlock(len(nodes), [first], [last])
            for offset, node in enumerate(nodes):
                saved[node] = (block, offset)
                self.stores[first].append(((block, offset), node))
        return saved

    def stage(self, name: str, time: int) -> Stage:
        """Return the straight code of one time; the starts of all blocks must be known."""
        stores = sorted((block.start + offset, node) for (block, offset), node in self.stores[time])
        loaded: dict[int, int] = {}  # slot by node
        pending = [node for _, node in stores]
        computed: set[int] = set()
        while pending:
            node = pending.pop()
            if node in computed or node in loaded:
                continue
            slot = self._slot(node, time)
            if slot is not None:
                loaded[node] = slot
            else:
                computed.add(node)
                pending += self._nodes[node][1:] if self._nodes[node][0] > Op.INPUT else ()
        slots = sorted(set(loaded.values()))
        numbers = {slot: k for k, slot in enumerate(slots)}
        content = {node: self._nodes[node] for node in computed}
        content |= {node: (Op.INPUT, numbers[slot]) for node, slot in loaded.items()}
        nodes, results = renumber(content, sorted(content), [node for _, node in stores])
        reads, writes = _windows(slots), _windows([slot for slot, _ in stores])
        step = frame_step(name, nodes, results, reads, writes)
        return Stage((replace(step, tape=factor(step.tape)),), (0,))

    def _slot(self, node: int, time: int) -> int | None:
        """Return the slot of a node that is not computed at this time, or None."""
        op, *operands = self._nodes[node]
        if op == Op.INPUT and self._leaves[operands[0]].overwritten(time) is None:
            leaf = self._leaves[operands[0]]
            return leaf.block.start + leaf.offset
        if op >= Op.INPUT and self._computed_at[node] < time:
            block, offset = self._saved[node]
            return block.start + offset
        return None


def _windows(slots: list[int]) -> tuple[Window, ...]:
    """Return windows of one iteration that cover these sorted slots: one per run of neighbours."""
    starts = [k for k, slot in enumerate(slots) if k == 0 or slot != slots[k - 1] + 1]
    ends = [*starts, len(slots)][1:]
    return tuple(Window((slots[start],), end - start) for start, end in zip(starts, ends, strict=True))


def roll(name: str, inputs: Sequence[Array], body: Callable[..., Mapping[str, Any]]) -> Program:
    """Trace a function with loops and return it as a program.

    Parameters
    ----------
    name : name of the program
    inputs : names and shapes of the arguments
    body : receives one nested list of scalars per argument and, as the last argument, the `Loops` to use; returns its
        results by name
    """
    graph = Graph()
    graph.loops = rolled = Rolled(graph, sum(array.size for array in inputs))
    outputs, results = recorded(graph, name, inputs, lambda *arrays: body(*arrays, rolled))
    result_slots = _result_slots(rolled, results)
    straight = StraightCode(rolled)
    size = allocate(_blocks(rolled, straight))
    stages = []
    for time in range(rolled.time + 1):
        if time in rolled.loops:
            stages.append(_stage(rolled.loops[time], rolled.flags.get(time)))
        elif straight.stores[time]:
            stages.append(straight.stage(f"{name}_{time // 2}", time))
    slots = tuple(block.start + offset for block, offset in result_slots)
    return verify_program(hoist_sines(Program(name, tuple(inputs), tuple(outputs), size, tuple(stages), slots)))


def _result_slots(rolled: Rolled, results: list[int]) -> list[Slot]:
    """Return the slot of every result: its present one, or a new one in which the last straight code stores it."""
    new_block = SlotBlock(0, reads=[END_TIME])
    slots: dict[int, Slot] = {}
    for node in results:
        op, *operands = rolled.graph.nodes[node]
        if node in slots:
            continue
        leaf = rolled.leaves[operands[0]] if op == Op.INPUT else None
        if leaf is not None and leaf.overwritten(rolled.time) is None:
            slots[node] = (leaf.block, leaf.offset)
            leaf.block.reads.append(END_TIME)
        else:
            slots[node] = (new_block, new_block.size)
            rolled.stores[rolled.time].append((slots[node], node))
            new_block.size += 1
    return [slots[node] for node in results]


def _blocks(rolled: Rolled, straight: StraightCode) -> list[SlotBlock]:
    """Return all blocks that loops or straight code read or write."""
    blocks = {rolled.inputs: None}
    for loop in rolled.loops.values():
        views: Any = (view for step in loop.steps for view in (*step.reads, *step.writes))
        blocks |= {view.block: None for view in views}
    for pairs in straight.stores.values():
        blocks |= {block: None for (block, _), _ in pairs}
    return list(blocks)


def _stage(loop: Stage, flag: Slot | None) -> Stage:
    """Return a loop with its views as windows of the frame."""
    steps = (
        replace(step, reads=tuple(map(_window, step.reads)), writes=tuple(map(_window, step.writes)))
        for step in loop.steps
    )
    return replace(loop, steps=tuple(steps), flag=None if flag is None else flag[0].start + flag[1])


def _window(view: Any) -> Window:
    return Window(tuple(view.block.start + start for start in view.starts), view.width, view.stride)
