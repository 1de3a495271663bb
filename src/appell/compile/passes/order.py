"""The order in which a tape computes: results that share most of their work next to each other.

A processor keeps sixteen values at hand; what is made early and used late goes to memory and back. Forward mode makes
the changes of a node along all directions at once, so that all of them wait for each other. Taken one direction after
the other, only the values of the function itself wait: the derivatives of a PUMA's inverse dynamics run a sixth faster.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from appell.compile.ops import Op
from appell.compile.tape import Tape, renumber, verify


def in_groups(tape: Tape, groups: Iterable[Sequence[int]]) -> Tape:
    """The same nodes, those that the first group of results needs first, then what the second needs besides, and so on.

    A group holds node indices; every result of the tape is in some group.
    """
    placed: dict[int, None] = {}
    for group in groups:
        placed.update(dict.fromkeys(sorted(_missing(tape, group, placed))))
    nodes, results = renumber(tape.nodes, placed, tape.results)
    return verify(replace(tape, nodes=nodes, results=results))


def _missing(tape: Tape, group: Sequence[int], placed: Container[int]) -> set[int]:
    """What a group needs of the nodes that have no place yet."""
    found: set[int] = set()
    waiting = list(group)
    while waiting:
        k = waiting.pop()
        if k not in found and k not in placed:
            found.add(k)
            if tape.nodes[k][0] > Op.INPUT:
                waiting.extend(tape.nodes[k][1:])
    return found
