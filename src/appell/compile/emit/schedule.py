"""The order in which the machine computes a tape: sines first, and long tapes in chunks.

A sine or cosine of a huge angle needs another way, and testing each angle alone would cut the code into hundreds of
small blocks. So they go in levels: the level of a sine or cosine is one more than the highest level among the values
its angle depends on. All angles of a level are tested at once, and reduced at once. Most robots have one level.

    angles of level 1, sines and cosines of level 1, angles of level 2, …, everything else in the order of the tape

A value is computed early only if a later angle needs it. A value that no result needs is not computed at all.

Code generation takes more than linear time in the length of a function, and keeps values in registers worse the longer
it is, so a long schedule is cut into chunks, each a function of its own. What a chunk computes for a later one waits in
memory, where an instruction can read it as cheaply as a register. A short schedule stays whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.ops import Op
from appell.compile.tape import Tape

CHUNK = 300  # steps of one function
_WHOLE = 3  # chunks: so long a schedule is not cut
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
    """All angles of one level, or so many as go into one chunk."""

    angles: tuple[SineCosine, ...]

    @property
    def defines(self) -> list[int]:
        return [node for angle in self.angles for node in angle.sines + angle.cosines]

    @property
    def uses(self) -> list[int]:
        return [angle.node for angle in self.angles]


Step = int | Group  # a node of the tape, or a group of its sines and cosines


def operands(tape: Tape, node: int) -> tuple[int, ...]:
    """The nodes a node reads."""
    content = tape.nodes[node]
    return () if content[0] in _LEAVES else content[1:]


def schedule(tape: Tape) -> list[Step]:
    """All nodes that matter, but constants and inputs, in order of computation."""
    live = _ancestors(tape, tape.results)
    level = _levels(tape)
    angles = [tape.nodes[k][1] for k in range(len(tape)) if live[k] and tape.nodes[k][0] in _TRIG]
    early = _ancestors(tape, angles)

    highest = max((level[k] + 1 for k in angles), default=0)
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
        found = [sine_and_cosine_of(tape, angle, nodes) for angle, nodes in group.items()]
        largest = _WHOLE * CHUNK // _TRIG_WEIGHT
        steps += [Group(tuple(found[k : k + largest])) for k in range(0, len(found), largest)]
    return steps


def weight(step: Step) -> int:
    """What a step takes, in time and in code."""
    return len(step.angles) * _TRIG_WEIGHT if isinstance(step, Group) else 1


def chunks(steps: list[Step], size: int = CHUNK) -> list[list[Step]]:
    """The schedule cut into pieces of about equal weight, at most `size` each, or whole if it is short."""
    weights = [weight(step) for step in steps]
    if sum(weights) <= _WHOLE * size:
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


def sine_and_cosine_of(tape: Tape, angle: int, nodes: list[int]) -> SineCosine:
    """An angle and those among the nodes that are its sine or its cosine."""
    return SineCosine(angle, *(tuple(node for node in nodes if tape.nodes[node][0] == op) for op in _TRIG))


def _ancestors(tape: Tape, nodes) -> list[bool]:
    """Which nodes are among the given ones, or read by them through any number of steps."""
    marked = [False] * len(tape)
    for node in nodes:
        marked[node] = True
    for node in range(len(tape) - 1, -1, -1):
        if marked[node]:
            for operand in operands(tape, node):
                marked[operand] = True
    return marked


def _levels(tape: Tape) -> list[int]:
    """The number of sines and cosines on the longest way from the inputs to each node, itself included."""
    level = [0] * len(tape)
    for node, content in enumerate(tape.nodes):
        level[node] = max([level[k] for k in operands(tape, node)], default=0) + (content[0] in _TRIG)
    return level
