"""An expression graph: the growing list of nodes from which tapes are made by tracing, differentiating and rewriting.

Nodes are hash-consed, so that equal expressions share one index, and the rules of `fold` are applied before a node is
made. The operands of sums and products are sorted, so that x + y and y + x are one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.tape.fold import RULES, table
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import CONST, INPUT, Array, Node, Tape, needed, renumber, verify
from appell.errors import TraceError

_SELECT = int(Op.SELECT)
MAX_NODES = 2_000_000


def _unary(name: Op) -> Callable[[Graph, int], int]:
    op = int(name)

    def make(self: Graph, x: int) -> int:
        for rule in self.rules[op][self.nodes[x][0]]:
            rewritten = rule(self, x)
            if rewritten is not None:
                return rewritten
        return self.node((op, x))

    return make


def _binary(name: Op, commutes: bool = False) -> Callable[[Graph, int, int], int]:
    op = int(name)

    def make(self: Graph, x: int, y: int) -> int:
        nodes = self.nodes
        kind = nodes[x][0]
        for rule in self.rules[op][kind][nodes[y][0]]:
            rewritten = rule(self, x, y)
            if rewritten is not None:
                return rewritten
        if commutes and y < x and kind != CONST:
            return self.node((op, y, x))
        return self.node((op, x, y))

    return make


class Graph:
    """A growing list of nodes. The methods named like instructions return the index of a node."""

    rules = table(RULES)

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.index: dict[Node, int] = {}
        self.loops: Any = None  # `Loops` of a trace with loops, in which products of large matrices are loops
        self.has_large_products = False  # whether a matrix was multiplied that should be a loop
        self.squares: Any = None  # called by `ap.square` with its operands: how a cost is traced for its Hessian
        # tangents of the functions that were inlined, by the nodes of an argument and by digest
        self.tangents: dict[tuple[int, ...], dict[str, Tape]] = {}

    def node(self, node: Node) -> int:
        """Return the index of exactly this node, which is added if it is new."""
        index = self.index.get(node)
        if index is None:
            index = len(self.nodes)
            if index >= MAX_NODES:
                raise TraceError(
                    f"a function has more than {MAX_NODES:,} operations, which would take many minutes to compile.",
                    hint="Request less at once: derivatives with respect to fewer arguments, some columns, or a "
                    "pullback.",
                )
            self.index[node] = index
            self.nodes.append(node)
        return index

    def const(self, value: float) -> int:
        """Return the node of a constant."""
        return self.node((CONST, float(value) + 0.0))  # + 0.0 turns -0.0 into 0.0

    def input(self, number: int) -> int:
        """Return the node of a scalar input."""
        return self.node((INPUT, number))

    def value(self, x: int) -> float | None:
        """Return the value of a constant node, None for any other."""
        node = self.nodes[x]
        return node[1] if node[0] == CONST else None

    neg = _unary(Op.NEG)
    sqrt = _unary(Op.SQRT)
    sin = _unary(Op.SIN)
    cos = _unary(Op.COS)
    round = _unary(Op.ROUND)
    level = _unary(Op.LEVEL)
    abs = _unary(Op.ABS)
    sign = _unary(Op.SIGN)
    exp = _unary(Op.EXP)
    log = _unary(Op.LOG)
    tanh = _unary(Op.TANH)
    arcsin = _unary(Op.ARCSIN)
    arccos = _unary(Op.ARCCOS)
    erf = _unary(Op.ERF)
    add = _binary(Op.ADD, commutes=True)
    sub = _binary(Op.SUB)
    mul = _binary(Op.MUL, commutes=True)
    div = _binary(Op.DIV)
    atan2 = _binary(Op.ATAN2)
    minimum = _binary(Op.MINIMUM)
    maximum = _binary(Op.MAXIMUM)
    power = _binary(Op.POWER)

    def select(self, condition: int, if_positive: int, otherwise: int) -> int:
        """Return the node of `if_positive` if `condition` > 0, else `otherwise`."""
        for rule in self.rules[_SELECT][self.nodes[condition][0]][self.nodes[if_positive][0]]:
            rewritten = rule(self, condition, if_positive, otherwise)
            if rewritten is not None:
                return rewritten
        return self.node((_SELECT, condition, if_positive, otherwise))

    # ---- copying and finishing

    def copy(self, node: Node, index: Mapping[int, int] | Sequence[int]) -> int:
        """Rebuild a node of another tape here; `index` maps the earlier nodes of that tape to nodes of this graph."""
        op = node[0]
        if op <= INPUT:
            return self.const(node[1]) if op == CONST else self.input(node[1])
        return CONSTRUCTORS[op](self, *[index[k] for k in node[1:]])

    def splice(self, tape: Tape, inputs: Sequence[int] = ()) -> list[int]:
        """Rebuild all nodes of a tape here and return their indices; `inputs` are the nodes that replace its inputs."""
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
        """Return the nodes that the results depend on as a tape, in the order of their creation or in `order`.

        Parameters
        ----------
        name : name of the tape
        inputs, outputs : names and shapes of arguments and results
        results : nodes of all scalar results
        order : nodes in the order of computation
        """
        nodes, indices = renumber(self.nodes, needed(self.nodes, results) if order is None else order, results)
        return verify(Tape(name, tuple(inputs), tuple(outputs), nodes, indices))


# by op; ops that a graph never makes, such as fused products, have no constructor
CONSTRUCTORS: dict[int, Callable[..., int]] = {
    op: vars(Graph)[op.name.lower()] for op in Op if op > Op.INPUT and op.name.lower() in vars(Graph)
}
