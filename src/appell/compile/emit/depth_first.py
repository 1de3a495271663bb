"""Another order for long tapes: depth first, one limb of a robot after the other.

A trace goes out along all links and then back, so that what the outward pass leaves for the way back waits for all
links at once. Depth first, from the last result to the first, each limb goes out and back before the next begins, and
less waits: the frame of a humanoid's inverse dynamics shrinks by a quarter, and a fifth less is written to it. For a
regressor it is better to begin with the first result, and where every result is made of everything, as in derivatives,
the order of the tape is best. Which is, is counted (`plan`).

    operands   the one with the longest way behind it first: the others need not wait for it
    then       values that free more registers than they take move up to their operands,
               values that take one and free none move down to their first use
    sines      in groups of eight, when the first of a group is needed; angles that are inputs can join any group
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from appell.compile.emit.schedule import Group, Step, operands, sine_and_cosine_of
from appell.compile.ops import Op
from appell.compile.tape import INPUT, Tape

GROUP = 8  # angles


def depth_first(tape: Tape, results: Sequence[int]) -> list[Step]:
    """All nodes that matter, but constants and inputs, by a walk from these results, which are those of the tape."""
    depth = [0] * len(tape)
    for node, content in enumerate(tape.nodes):
        if content[0] > INPUT:
            depth[node] = 1 + max(depth[k] for k in content[1:])
    visited = _in_order(tape, results, key=depth.__getitem__)
    return _grouped(tape, _in_order(tape, _eased(tape, visited)))


def _in_order(tape: Tape, wanted: Sequence[int], key: Callable[[int], int] | None = None) -> list[int]:
    """The wanted nodes in turn, each after the operands that have not come yet; of these the largest key first."""
    seen = bytearray(len(tape))
    order: list[int] = []
    for root in wanted:
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if seen[node] or tape.nodes[node][0] <= INPUT:
                waiting.pop()
                continue
            missing = [k for k in operands(tape, node) if not seen[k] and tape.nodes[k][0] > INPUT]
            if not missing:
                seen[node] = 1
                order.append(waiting.pop())
            else:
                waiting.append(max(missing, key=key) if key else missing[0])
    return order


def _eased(tape: Tape, order: list[int]) -> list[int]:
    """The order with every value where it holds the fewest registers; what comes before its operands is yet to mend."""
    time = {node: now for now, node in enumerate(order)}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for now, node in enumerate(order):
        for k in operands(tape, node):
            first.setdefault(k, now)
            last[k] = now
    place = {}
    for now, node in enumerate(order):
        used = {k for k in operands(tape, node) if k in time}
        freed = sum(last[k] == now for k in used) - (node in first)
        place[node] = float(now)
        if freed > 0:
            place[node] = min(float(now), max(time[k] for k in used) + 0.5)
        elif freed < 0:
            place[node] = max(float(now), first[node] - 0.5)
    return sorted(order, key=place.__getitem__)


def _grouped(tape: Tape, order: list[int]) -> list[Step]:
    """The order with the sines and cosines of several angles in one step."""
    angles: dict[int, list[int]] = {}
    for node in order:
        if tape.nodes[node][0] in (Op.SIN, Op.COS):
            angles.setdefault(tape.nodes[node][1], []).append(node)
    free = [angle for angle in angles if tape.nodes[angle][0] <= INPUT]
    steps: list[Step] = []
    for node in order:
        if tape.nodes[node][0] not in (Op.SIN, Op.COS):
            steps.append(node)
        elif (angle := tape.nodes[node][1]) in angles:
            chosen = [angle, *[k for k in free if k in angles and k != angle][: GROUP - 1]]
            steps.append(Group(tuple(sine_and_cosine_of(tape, k, angles.pop(k)) for k in chosen)))
    return steps
