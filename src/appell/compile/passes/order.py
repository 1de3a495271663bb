"""The order in which a tape computes: results that share most of their work next to each other.

A processor keeps sixteen values at hand; what is made early and used late goes to memory and back. Forward mode makes
the changes of a node along all directions at once, so that all of them wait for each other. Taken one direction after
the other, only the values of the function itself wait: the derivatives of a PUMA's inverse dynamics run a sixth faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appell.compile.tape import INPUT, Node


def in_groups(nodes: Sequence[Node], groups: Iterable[Sequence[int]]) -> list[int]:
    """The nodes that the first group of results needs, then what the second needs besides, and so on; each in order."""
    placed = bytearray(len(nodes))
    order: list[int] = []
    for group in groups:
        found: list[int] = []
        waiting = list(group)
        while waiting:
            k = waiting.pop()
            if not placed[k]:
                placed[k] = 1
                found.append(k)
                node = nodes[k]
                if node[0] > INPUT:
                    waiting += node[1:]
        order += sorted(found)
    return order
