"""Fusing: products that only feed sums become fused multiply-adds, which round once and cost one instruction.

The choice is written into the tape and not left to the code generator, so that one tape gives the same bits scalar,
vectorised, in the tail of a batch and under every version of LLVM. Operation counts are taken before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from appell.compile.ops import Op
from appell.compile.tape import Node, Tape, needed, renumber, verify


def fuse(tape: Tape) -> Tape:
    """The same computation with FMA, FMS and FNMA, and without negations that a subtraction can absorb."""
    uses = tape.uses()
    nodes = [_flip(tape, node, uses) for node in tape.nodes]
    depth = _depths(tape)
    for index, node in enumerate(nodes):
        if node[0] not in (Op.ADD, Op.SUB):
            continue
        _, x, y = node
        inner = [k for k in (x, y) if nodes[k][0] == Op.MUL and uses[k] == 1]
        if not inner:
            continue
        chosen = max(inner, key=lambda k: depth[k])  # the one that is ready last; the other can run ahead
        a, b = nodes[chosen][1:]
        if node[0] == Op.ADD:
            nodes[index] = (Op.FMA, a, b, y if chosen == x else x)
        elif chosen == x:
            nodes[index] = (Op.FMS, a, b, y)
        else:
            nodes[index] = (Op.FNMA, a, b, x)
    kept, results = renumber(nodes, needed(nodes, tape.results), tape.results)
    return verify(replace(tape, nodes=kept, results=results))


def _flip(tape: Tape, node: Node, uses: Counter[int]) -> Node:
    """-(x - y) as y - x, where nothing else needs x - y."""
    if node[0] == Op.NEG:
        inner = tape.nodes[node[1]]
        if inner[0] == Op.SUB and uses[node[1]] == 1:
            return (Op.SUB, inner[2], inner[1])
    return node


def _depths(tape: Tape) -> list[int]:
    depth: list[int] = []
    for op, *operands in tape.nodes:
        depth.append(0 if op <= Op.INPUT else 1 + max(depth[k] for k in operands))
    return depth
