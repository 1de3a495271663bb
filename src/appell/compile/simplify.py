"""Simplification that has to know how often a node is used: factoring, then fusing.

Factoring turns x y ± x z into x (y ± z) where nothing else needs the products. Fusing turns products that only feed
sums into fused multiply-adds, which round once and cost one instruction. The choice is written into the tape and not
left to the code generator, so that one tape gives the same bits scalar, vectorised, in the tail of a batch and under
every version of LLVM. Operation counts are taken before fusing.
"""

from __future__ import annotations

from collections import Counter

from appell.compile.build import Builder
from appell.compile.ops import Op
from appell.compile.tape import Node, Tape, verify


def factor(tape: Tape) -> Tape:
    """The same computation with common factors taken out of sums of two products."""
    uses = uses_of(tape)
    builder = Builder()
    index: list[int] = []
    for node in tape.nodes:
        op, *operands = node
        if op in (Op.ADD, Op.SUB) and (parts := _common_factor(tape, operands, uses)) is not None:
            shared, x, y = (index[k] for k in parts)
            index.append(builder.mul(shared, builder.add(x, y) if op == Op.ADD else builder.sub(x, y)))
        else:
            index.append(builder.copy(node, [] if op <= Op.INPUT else [index[k] for k in operands]))
    return builder.tape(tape.name, tape.inputs, tape.outputs, [index[k] for k in tape.results])


def _common_factor(tape: Tape, operands: list[int], uses: Counter[int]) -> tuple[int, int, int] | None:
    """Of two products that nothing else needs: the factor they share and the two that they do not."""
    first, second = (tape.nodes[k] for k in operands)
    if first[0] == second[0] == Op.MUL and all(uses[k] == 1 for k in operands):
        for shared, x in (first[1:], first[:0:-1]):
            if shared in second[1:]:
                return shared, x, second[2] if second[1] == shared else second[1]
    return None


def fuse(tape: Tape) -> Tape:
    """The same computation with FMA, FMS and FNMA, and without negations that a subtraction can absorb."""
    uses = uses_of(tape)
    nodes = [_flip(tape, node, uses) for node in tape.nodes]
    depth = _depths(tape)

    def product(k: int) -> bool:
        return nodes[k][0] == Op.MUL and uses[k] == 1

    for index, node in enumerate(nodes):
        if node[0] not in (Op.ADD, Op.SUB):
            continue
        _, x, y = node
        inner = [k for k in (x, y) if product(k)]
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
    return verify(_compact(tape, nodes))


def uses_of(tape: Tape) -> Counter[int]:
    uses = Counter(tape.results)
    for op, *operands in tape.nodes:
        if op > Op.INPUT:
            uses.update(operands)
    return uses


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


def _compact(tape: Tape, nodes: list[Node]) -> Tape:
    """Without the nodes that nothing needs any more."""
    needed = set(tape.results)
    for index in range(len(nodes) - 1, -1, -1):
        if index in needed and nodes[index][0] > Op.INPUT:
            needed.update(nodes[index][1:])
    renumbered: dict[int, int] = {}
    kept: list[Node] = []
    for index, node in enumerate(nodes):
        if index in needed:
            renumbered[index] = len(kept)
            kept.append(node if node[0] <= Op.INPUT else (node[0], *[renumbered[k] for k in node[1:]]))
    return Tape(tape.name, tape.inputs, tape.outputs, tuple(kept), tuple(renumbered[k] for k in tape.results))
