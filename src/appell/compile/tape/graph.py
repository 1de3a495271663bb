"""A graph of arithmetic that grows: what a tape is made from while it is traced, differentiated or rewritten.

Nodes are hash-consed, so that equal expressions share one index, and every node passes the rules of `fold`
before it is made. Sums and products hold their operands in order, so that x + y and y + x are one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from appell.compile.tape.fold import RULES, table
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import CONST, INPUT, Array, Node, Tape, needed, renumber, verify
from appell.errors import TraceError

_SELECT = int(Op.SELECT)
MOST = 2_000_000  # nodes


def _unary(name: Op) -> Callable[[Graph, int], int]:
    op = int(name)

    def make(self: Graph, x: int) -> int:
        for rule in self.rules[op][self.nodes[x][0]]:
            found = rule(self, x)
            if found is not None:
                return found
        return self.node((op, x))

    return make


def _binary(name: Op, commutes: bool = False) -> Callable[[Graph, int, int], int]:
    op = int(name)

    def make(self: Graph, x: int, y: int) -> int:
        nodes = self.nodes
        kind = nodes[x][0]
        for rule in self.rules[op][kind][nodes[y][0]]:
            found = rule(self, x, y)
            if found is not None:
                return found
        if commutes and y < x and kind != CONST:
            return self.node((op, y, x))
        return self.node((op, x, y))

    return make


class Graph:
    """Grows a list of nodes; every method returns the index of a node."""

    rules = table(RULES)

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.index: dict[Node, int] = {}

    def node(self, node: Node) -> int:
        """The index of this very node, made if it is new."""
        index = self.index.get(node)
        if index is None:
            index = len(self.nodes)
            if index >= MOST:
                raise TraceError(
                    f"a function has grown beyond {MOST:,} operations, which would take many minutes to compile.",
                    hint="ask for less at once: derivatives by fewer arguments, some columns, or a pullback",
                )
            self.index[node] = index
            self.nodes.append(node)
        return index

    def const(self, value: float) -> int:
        return self.node((CONST, float(value) + 0.0))  # + 0.0 turns -0.0 into 0.0

    def input(self, number: int) -> int:
        return self.node((INPUT, number))

    def value(self, x: int) -> float | None:
        """The number of a constant node, None for any other."""
        node = self.nodes[x]
        return node[1] if node[0] == CONST else None

    neg = _unary(Op.NEG)
    sqrt = _unary(Op.SQRT)
    sin = _unary(Op.SIN)
    cos = _unary(Op.COS)
    round = _unary(Op.ROUND)
    level = _unary(Op.LEVEL)
    add = _binary(Op.ADD, commutes=True)
    sub = _binary(Op.SUB)
    mul = _binary(Op.MUL, commutes=True)
    div = _binary(Op.DIV)
    atan2 = _binary(Op.ATAN2)

    def select(self, condition: int, if_positive: int, otherwise: int) -> int:
        for rule in self.rules[_SELECT][self.nodes[condition][0]][self.nodes[if_positive][0]]:
            found = rule(self, condition, if_positive, otherwise)
            if found is not None:
                return found
        return self.node((_SELECT, condition, if_positive, otherwise))

    # ---- copying and finishing

    def copy(self, node: Node, index: Mapping[int, int] | Sequence[int]) -> int:
        """A node of another tape, rebuilt here; `index` tells where the nodes before it have gone."""
        op = node[0]
        if op <= INPUT:
            return self.const(node[1]) if op == CONST else self.input(node[1])
        return CONSTRUCTORS[op](self, *[index[k] for k in node[1:]])

    def splice(self, tape: Tape, inputs: Sequence[int] = ()) -> list[int]:
        """All nodes of a tape, rebuilt here: where each has gone. `inputs` are the nodes that its inputs become."""
        index: list[int] = []
        for node in tape.nodes:
            index.append(inputs[node[1]] if inputs and node[0] == INPUT else self.copy(node, index))
        return index

    def tape(
        self,
        name: str,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        results: Sequence[int],
        order: Sequence[int] | None = None,
    ) -> Tape:
        """The nodes that the results need, in order of their making or in one that is given."""
        nodes, kept = renumber(self.nodes, needed(self.nodes, results) if order is None else order, results)
        return verify(Tape(name, tuple(inputs), tuple(outputs), nodes, kept))


# by the names of the ops; what no graph makes, such as a fused product, has no constructor
CONSTRUCTORS: dict[int, Callable[..., int]] = {
    op: vars(Graph)[op.name.lower()] for op in Op if op > Op.INPUT and op.name.lower() in vars(Graph)
}
