"""Fusing: products that only feed sums become fused multiply-adds, which round once and cost one instruction.

The choice is written into the tape and not left to the code generator, so that one tape gives the same bits scalar,
vectorised, in the tail of a batch and under every version of LLVM. Operation counts are taken before.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.ops import Op
from appell.compile.tape import INPUT, Node, Tape, needed, renumber, verify

ADD, SUB, MUL, NEG, FMA, FMS, FNMA = map(int, (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.FMA, Op.FMS, Op.FNMA))


def fuse(tape: Tape) -> Tape:
    """The same computation with FMA, FMS and FNMA, and without negations that a subtraction can absorb."""
    uses, depth = tape.uses(), _depths(tape)
    nodes: list[Node] = []
    for node in tape.nodes:
        if node[0] == NEG:
            node = _flip(tape, node, uses)
        if node[0] == ADD or node[0] == SUB:
            node = _fused(nodes, node, uses, depth)
        nodes.append(node)
    kept, results = renumber(nodes, needed(nodes, tape.results), tape.results)
    return verify(Tape(tape.name, tape.inputs, tape.outputs, kept, results))


def _flip(tape: Tape, node: Node, uses: Sequence[int]) -> Node:
    """-(x - y) as y - x, where nothing else needs x - y."""
    op, x, *y = tape.nodes[node[1]]
    return (SUB, *y, x) if op == SUB and uses[node[1]] == 1 else node


def _fused(nodes: Sequence[Node], node: Node, uses: Sequence[int], depth: Sequence[int]) -> Node:
    """A sum or difference with the product that only it needs; of two, with the one that is ready last."""
    op, x, y = node
    first = nodes[x][0] == MUL and uses[x] == 1
    second = nodes[y][0] == MUL and uses[y] == 1
    if not first and not second:
        return node
    if first and (not second or depth[x] >= depth[y]):  # the other can run ahead
        return (FMA if op == ADD else FMS, *nodes[x][1:], y)
    return (FMA if op == ADD else FNMA, *nodes[y][1:], x)


def _depths(tape: Tape) -> list[int]:
    depth: list[int] = []
    for node in tape.nodes:
        if node[0] <= INPUT:
            depth.append(0)
        elif len(node) == 3:  # most are
            x, y = depth[node[1]], depth[node[2]]
            depth.append(1 + (x if x > y else y))
        else:
            depth.append(1 + max([depth[k] for k in node[1:]]))
    return depth
