"""Scheduling and register allocation: the order in which a tape is computed, its division, and where values are stored.

**Order.** The sine or cosine of a huge angle needs another algorithm, and testing each angle separately would divide
the code into hundreds of small blocks. So angles are grouped by level: the level of a sine or cosine is one more than
the highest level among the values its angle depends on. All angles of a level are tested and reduced together. Most
robots have one level.

    angles of level 1, sines and cosines of level 1, angles of level 2, …, everything else in the order of the tape

A value is computed early only if a later angle needs it. A value that no result needs is not computed at all.

In wide registers, long tapes are also ordered depth first, from the first result and from the last, and the order with
the least memory traffic is used. A trace goes out along all links and then back, so that values of the outward pass
are live for all links at once; depth first, one limb is completed before the next starts. This makes the mass matrix of
Talos 7 % faster (AVX-512); in narrow registers it is 4 % slower. Of the operands, the one with the longest path comes
first. Then values that free more registers than they take move up to their operands, and values that take one and free
none move down to their first use. Sines are computed in groups of eight, when the first of a group is needed.

**Chunks.** Code generation takes more than linear time in the length of a function, and its register allocation gets
worse, so a long schedule is divided into chunks, each a separate function. A short schedule stays in one function.

**Spills.** The machine has 16 registers (32 if they are wide). Reading a value from memory costs almost nothing, since
most instructions accept one operand in memory; writing is expensive, on some machines as much as two multiplications.
LLVM allocates registers well in short functions only, so in chunks the allocation is done here, with the entire
schedule in view: when no register is free, the value that is needed last is evicted (Belady 1966), and no value is
written twice. No register is preserved between functions and across groups of sines.

A value receives a slot of the frame when it is evicted and returns it after its last use, so the frame is as large as
the widest cut through the tape. Constants, inputs and, once computed, results are in memory already and need no slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from appell.compile.llvm.lanes import NARROW_BYTES, Form, Lanes
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import INPUT, Tape

MAX_ANGLES = 45  # of a group of sines: as many as fit into a function
_SEARCHED_NODES = 10_000  # in longer tapes, derivatives of large robots, no other order was ever better
_GROUP_ANGLES = 8  # of a group of sines in depth-first order
_LOAD_COST = 0.25  # of reading an evicted value again, in stores
_MAX_COST_RATIO = 0.9  # to the cost of the order of the tape, below which another order is used
_TRIG_WEIGHT = 20  # a sine and cosine cost as many instructions as twenty other steps

_LEAVES = (Op.CONST, Op.INPUT)
_TRIG = (Op.SIN, Op.COS)


@dataclass(frozen=True)
class SineCosine:
    """A node, and the nodes that are its sine and its cosine."""

    node: int
    sines: tuple[int, ...]
    cosines: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """All angles of one level, or as many as fit into one chunk."""

    angles: tuple[SineCosine, ...]

    @property
    def defines(self) -> list[int]:
        """Sines and cosines that the group computes."""
        return [node for angle in self.angles for node in angle.sines + angle.cosines]

    @property
    def uses(self) -> list[int]:
        """Angles of the group."""
        return [angle.node for angle in self.angles]


Step = int | Group  # a node of the tape, or a group of its sines and cosines


def operands(tape: Tape, node: int) -> tuple[int, ...]:
    """Return the operands of a node."""
    content = tape.nodes[node]
    return () if content[0] in _LEAVES else content[1:]


def schedule(tape: Tape, max_angles: int = MAX_ANGLES) -> list[Step]:
    """Return all nodes that results depend on, except constants and inputs, in the order of computation.

    Parameters
    ----------
    tape : fused tape
    max_angles : angles of one group, at most
    """
    live = _ancestors(tape, tape.results)
    level = _levels(tape)
    angle_nodes = [tape.nodes[k][1] for k in range(len(tape)) if live[k] and tape.nodes[k][0] in _TRIG]
    early = _ancestors(tape, angle_nodes)

    highest = max((level[k] + 1 for k in angle_nodes), default=0)
    before: list[list[Step]] = [[] for _ in range(highest + 1)]
    groups: list[dict[int, list[int]]] = [{} for _ in range(highest + 1)]
    for node, (op, *_) in enumerate(tape.nodes):
        if not live[node] or op in _LEAVES:
            continue
        if op in _TRIG:
            groups[level[node] - 1].setdefault(tape.nodes[node][1], []).append(node)
        else:
            before[level[node] if early[node] else highest].append(node)

    steps: list[Step] = []
    for nodes, group in zip(before, groups, strict=True):
        steps += nodes
        angles = [_sine_and_cosine_of(tape, angle, trig_nodes) for angle, trig_nodes in group.items()]
        steps += [Group(tuple(angles[k : k + max_angles])) for k in range(0, len(angles), max_angles)]
    return steps


def weight(step: Step) -> int:
    """Return the cost of a step in time and code size, in instructions."""
    return len(step.angles) * _TRIG_WEIGHT if isinstance(step, Group) else 1


def chunks(steps: list[Step], size: int, undivided: int = 3) -> list[list[Step]]:
    """Return the schedule in pieces of about equal weight, at most `size` each, or in one piece if it is short.

    Parameters
    ----------
    steps : the schedule
    size : maximum weight of a piece
    undivided : maximum weight of a schedule in one piece, in pieces
    """
    weights = [weight(step) for step in steps]
    if sum(weights) <= undivided * size:
        return [steps]
    count = -(-sum(weights) // size)
    pieces: list[list[Step]] = [[]]
    filled, target = 0, sum(weights) / count
    for step, added in zip(steps, weights, strict=True):
        if pieces[-1] and filled + added > target:
            pieces.append([])
            filled = 0
        pieces[-1].append(step)
        filled += added
    return pieces


def _sine_and_cosine_of(tape: Tape, angle: int, nodes: list[int]) -> SineCosine:
    """Return an angle with the nodes that are its sine or cosine."""
    return SineCosine(angle, *(tuple(node for node in nodes if tape.nodes[node][0] == op) for op in _TRIG))


def _ancestors(tape: Tape, nodes) -> list[bool]:
    """Return for every node whether it is one of `nodes` or one of them depends on it."""
    marked = [False] * len(tape)
    for node in nodes:
        marked[node] = True
    for node in range(len(tape) - 1, -1, -1):
        if marked[node]:
            for operand in operands(tape, node):
                marked[operand] = True
    return marked


def _levels(tape: Tape) -> list[int]:
    """Return the largest number of sines and cosines on a path from the inputs to each node, itself included."""
    level = [0] * len(tape)
    for node, content in enumerate(tape.nodes):
        level[node] = max([level[k] for k in operands(tape, node)], default=0) + (content[0] in _TRIG)
    return level


@dataclass
class SpillPlan:
    """The slot of every evicted value, and the values evicted before each step of each chunk."""

    slots: dict[int, int] = field(default_factory=dict)
    size: int = 0  # slots of the frame
    evicted: list[list[list[tuple[int, bool]]]] = field(default_factory=list)  # node, and whether it is written

    @property
    def cost(self) -> float:
        """Memory traffic and size of the frame, in stores."""
        written = [is_stored for piece in self.evicted for entry in piece for _, is_stored in entry]
        return sum(written) + _LOAD_COST * (len(written) - sum(written)) + self.size


def step_defines(step: Step) -> list[int]:
    """Return the nodes that a step computes."""
    return step.defines if isinstance(step, Group) else [step]


def step_uses(tape: Tape, step: Step) -> list[int] | tuple[int, ...]:
    """Return the nodes that a step reads."""
    return step.uses if isinstance(step, Group) else operands(tape, step)


def plan_spills(tape: Tape, chunks: list[list[Step]], registers: int) -> SpillPlan:
    """Simulate the registers along the schedule; every chunk has one entry more than steps, for evictions at its end.

    A schedule that is not divided is left to LLVM.

    Parameters
    ----------
    tape : fused tape
    chunks : its schedule, divided into functions
    registers : number of values that registers hold
    """
    spills = SpillPlan()
    if len(chunks) == 1:
        return spills
    uses, results = _uses(tape, chunks), frozenset(tape.results)
    held: dict[int, int] = {}  # values in registers, and when they are needed next
    free: list[int] = []

    def evict(node: int, entry: list[tuple[int, bool]]) -> None:
        del held[node]
        is_stored = node not in spills.slots and node not in results
        if is_stored:
            if not free:
                free.append(spills.size)
                spills.size += 1
            spills.slots[node] = free.pop()
        entry.append((node, is_stored))

    time = 0
    for chunk in chunks:
        entries: list[list[tuple[int, bool]]] = []
        for step in chunk:
            entry: list[tuple[int, bool]] = []
            needed = [node for node in step_uses(tape, step) if node in uses]
            for node in needed:
                held[node] = time  # needed now, so it is evicted last
            limit = 0 if isinstance(step, Group) else registers
            while len(held) > limit and max(held.values()) > time:
                evict(max(held, key=held.__getitem__), entry)
            entries.append(entry)
            for node in {*needed}:
                uses[node].pop()
                if uses[node]:
                    held[node] = uses[node][-1]
                else:
                    del held[node]
                    if node in spills.slots:
                        free.append(spills.slots[node])
            for node in step_defines(step):
                if node in uses:
                    held[node] = uses[node][-1]
            time += 1
        last: list[tuple[int, bool]] = []
        for node in list(held):
            evict(node, last)
        spills.evicted.append([*entries, last])
    return spills


def _uses(tape: Tape, chunks: list[list[Step]]) -> dict[int, list[int]]:
    """Return the steps that use each value except constants and inputs, the last one first."""
    uses: dict[int, list[int]] = {}
    steps = [step for chunk in chunks for step in chunk]
    for time in range(len(steps) - 1, -1, -1):
        for node in {*step_uses(tape, steps[time])}:
            if tape.nodes[node][0] > Op.INPUT:
                uses.setdefault(node, []).append(time)
    return uses


def allocate(tape: Tape, lanes: Lanes, form: Form) -> tuple[list[list[Step]], SpillPlan]:
    """Return the chunks of a tape and their spills, in the cheapest order.

    Parameters
    ----------
    tape : fused tape
    lanes : registers of samples
    form : form of the kernel
    """

    def plan(steps: list[Step]) -> tuple[list[list[Step]], SpillPlan]:
        pieces = chunks(steps, form.chunk, form.tuning.undivided)
        return pieces, plan_spills(tape, pieces, form.tuning.registers(lanes.bytes))

    in_order = plan(schedule(tape, form.tuning.angles))
    if len(in_order[0]) == 1 or len(tape) > _SEARCHED_NODES or lanes.bytes <= NARROW_BYTES:
        return in_order
    best = min(
        (plan(_depth_first(tape, order)) for order in (tape.results, tape.results[::-1])), key=lambda p: p[1].cost
    )
    return best if best[1].cost < _MAX_COST_RATIO * in_order[1].cost else in_order


def _depth_first(tape: Tape, results: Sequence[int]) -> list[Step]:
    """Return the schedule of a depth-first walk from the results of the tape, given in some order."""
    depth = [0] * len(tape)
    for node, content in enumerate(tape.nodes):
        if content[0] > INPUT:
            depth[node] = 1 + max(depth[k] for k in content[1:])
    visited = _in_order(tape, results, key=depth.__getitem__)
    return _grouped(tape, _in_order(tape, _moved_to_uses(tape, visited)))


def _in_order(tape: Tape, roots: Sequence[int], key: Callable[[int], int] | None = None) -> list[int]:
    """Return the wanted nodes, each after its operands that are not yet in the order, largest key first."""
    is_placed = bytearray(len(tape))
    order: list[int] = []
    for root in roots:
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if is_placed[node] or tape.nodes[node][0] <= INPUT:
                waiting.pop()
                continue
            missing = [k for k in operands(tape, node) if not is_placed[k] and tape.nodes[k][0] > INPUT]
            if not missing:
                is_placed[node] = 1
                order.append(waiting.pop())
            else:
                waiting.append(max(missing, key=key) if key else missing[0])
    return order


def _moved_to_uses(tape: Tape, order: list[int]) -> list[int]:
    """Return the order with every value where it occupies the fewest registers; values may precede their operands."""
    time = {node: now for now, node in enumerate(order)}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for now, node in enumerate(order):
        for k in operands(tape, node):
            first.setdefault(k, now)
            last[k] = now
    position = {}
    for now, node in enumerate(order):
        used = {k for k in operands(tape, node) if k in time}
        freed = sum(last[k] == now for k in used) - (node in first)
        position[node] = float(now)
        if freed > 0:
            position[node] = min(float(now), max(time[k] for k in used) + 0.5)
        elif freed < 0:
            position[node] = max(float(now), first[node] - 0.5)
    return sorted(order, key=position.__getitem__)


def _grouped(tape: Tape, order: list[int]) -> list[Step]:
    """Return the order with the sines and cosines of several angles in one step."""
    angles: dict[int, list[int]] = {}
    for node in order:
        if tape.nodes[node][0] in _TRIG:
            angles.setdefault(tape.nodes[node][1], []).append(node)
    free = [angle for angle in angles if tape.nodes[angle][0] <= INPUT]
    steps: list[Step] = []
    for node in order:
        if tape.nodes[node][0] not in _TRIG:
            steps.append(node)
        elif (angle := tape.nodes[node][1]) in angles:
            chosen = [angle, *[k for k in free if k in angles and k != angle][: _GROUP_ANGLES - 1]]
            steps.append(Group(tuple(_sine_and_cosine_of(tape, k, angles.pop(k)) for k in chosen)))
    return steps
