"""Factoring: x y ± x z becomes x (y ± z) where nothing else needs the products."""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.tape import Node, Tape

ADD, SUB, MUL = map(int, (Op.ADD, Op.SUB, Op.MUL))
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
                return shared, x, second[2] if second[1] == shared else second[1]
    return None
