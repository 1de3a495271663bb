"""Factoring: x y ± x z becomes x (y ± z) where nothing else needs the products."""

from __future__ import annotations

from collections import Counter

from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.tape import Tape


def factor(tape: Tape) -> Tape:
    """The same computation with common factors taken out of sums of two products."""
    uses = tape.uses()
    graph = Graph()
    index: list[int] = []
    for node in tape.nodes:
        op = node[0]
        if op in (Op.ADD, Op.SUB) and (parts := _common_factor(tape, node[1:], uses)) is not None:
            shared, x, y = (index[k] for k in parts)
            index.append(graph.mul(shared, graph.add(x, y) if op == Op.ADD else graph.sub(x, y)))
        else:
            index.append(graph.copy(node, index))
    return graph.tape(tape.name, tape.inputs, tape.outputs, [index[k] for k in tape.results])


def _common_factor(tape: Tape, operands: tuple[int, int], uses: Counter[int]) -> tuple[int, int, int] | None:
    """Of two products that nothing else needs: the factor they share and the two that they do not."""
    first, second = (tape.nodes[k] for k in operands)
    if first[0] == second[0] == Op.MUL and all(uses[k] == 1 for k in operands):
        for shared, x in (first[1:], first[:0:-1]):
            if shared in second[1:]:
                return shared, x, second[2] if second[1] == shared else second[1]
    return None
