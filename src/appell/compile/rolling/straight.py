"""What is traced between loops, as straight code: one turn each, that stores what later stages read.

A value is computed where it is first needed. If straight code after a loop needs it again, it waits in a slot; so does
a value of a table that a loop overwrites in the meantime. Constants and what still lies in its slot need not wait. What
is stored where nobody reads it is not stored.
"""

from __future__ import annotations

from collections import defaultdict

from appell.compile.ops import Op
from appell.compile.passes.pipeline import TRACED, run
from appell.compile.program import FrameStep, Stage, Window
from appell.compile.rolling.rolled import Rolled, Slot
from appell.compile.rolling.tables import SlotBlock
from appell.compile.tape import Array, Tape, needed, renumber, verify


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
        inputs, outputs = (
            tuple(Array(f"row{k}", (window.width,)) for k, window in enumerate(windows)) for windows in (reads, writes)
        )
        tape = run(TRACED, verify(Tape(name, inputs, outputs, nodes, results)))
        return Stage((FrameStep(tape, reads, writes),), (0,))

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
