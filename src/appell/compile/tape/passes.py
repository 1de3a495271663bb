"""Passes from a trace to machine code.

    fold       while a graph grows         rewrites a node by the kinds of its operands (`fold`)
    factor     at the end of a trace       takes common factors out of sums of products
    collect    where a formula asks for it collects sums by constants and keeps the cheaper tape (`collect`)
    in_groups  at the end of forward mode  computes the directions of a derivative one after the other
    fuse       before machine code         makes fused multiply-adds; emitters read this tape and no other

Factoring turns x y ± x z into x (y ± z) where nothing else uses the products.

Fusing turns products that only feed sums into fused multiply-adds, which round once and cost one instruction. The
choice is written into the tape and not left to the code generator, so that one tape gives the same bits scalar,
vectorised, in the tail of a batch and under every version of LLVM. Operation counts are taken before.

Ordering places results that share most of their work next to each other. A processor has sixteen registers; values that
are computed early and used late go to memory and back. Forward mode computes the changes of a node along all directions
at once, so that all of them stay alive together. Computed one direction after the other, only the values of the
function itself stay alive: the derivatives of a PUMA's inverse dynamics run a sixth faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import CONST, INPUT, Node, Tape, needed, renumber, verify

ADD, SUB, MUL, NEG, FMA, FMS, FNMA = map(int, (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.FMA, Op.FMS, Op.FNMA))
SUMS = (ADD, SUB)


def factor(tape: Tape) -> Tape:
    """The same computation with common factors taken out of sums of two products."""
    uses = tape.uses()
    graph = Graph()
    index: list[int] = []
    for node in tape.nodes:
        op = node[0]
        if op in SUMS and (parts := _common_factor(tape, node, uses)) is not None:
            shared, x, y = (index[k] for k in parts)
            index.append(graph.mul(shared, graph.add(x, y) if op == ADD else graph.sub(x, y)))
        else:
            index.append(graph.copy(node, index))
    return graph.tape(tape.name, tape.inputs, tape.outputs, [index[k] for k in tape.results])


def _common_factor(tape: Tape, node: Node, uses: Sequence[int]) -> tuple[int, int, int] | None:
    """Of two products that nothing else needs: the factor they share and the two that they do not."""
    _, x, y = node
    first, second = tape.nodes[x], tape.nodes[y]
    if first[0] == second[0] == MUL and uses[x] == uses[y] == 1:
        for shared, x in (first[1:], first[:0:-1]):
            if shared in second[1:]:
                y = second[2] if second[1] == shared else second[1]
                overflows = tape.nodes[x][0] == tape.nodes[y][0] == CONST  # or `fold` would have added them
                return None if overflows else (shared, x, y)
    return None


def fuse(tape: Tape) -> Tape:
    """The same computation with FMA, FMS and FNMA, and without negations that a subtraction can absorb."""
    uses, depth = tape.uses(), _depths(tape)
    nodes: list[Node] = []
    for node in tape.nodes:
        if node[0] == NEG:
            node = _flip(tape, node, uses)
        if node[0] == ADD or node[0] == SUB:
            node = _fused_sum(nodes, node, uses, depth)
        nodes.append(node)
    kept, results = renumber(nodes, needed(nodes, tape.results), tape.results)
    return verify(Tape(tape.name, tape.inputs, tape.outputs, kept, results))


def _flip(tape: Tape, node: Node, uses: Sequence[int]) -> Node:
    """-(x - y) as y - x, where nothing else needs x - y."""
    op, x, *y = tape.nodes[node[1]]
    return (SUB, *y, x) if op == SUB and uses[node[1]] == 1 else node


def _fused_sum(nodes: Sequence[Node], node: Node, uses: Sequence[int], depth: Sequence[int]) -> Node:
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
