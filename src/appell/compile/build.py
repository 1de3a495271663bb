"""The builder of a tape: constructors that fold constants and never build the same node twice.

Nodes are hash-consed, so that equal expressions share one index. Structural zeros and ones vanish here, which is where
a general algorithm becomes the economical program of one robot. Negations move outward and constants stay positive and
to the left, so that expressions equal up to sign meet. Rules that would need to know how often a node is used belong to
`simplify`.

0·x folds to 0 although x may be NaN: the compiled loop, not the tape, makes the results of a sample with a non-finite
input NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from appell.compile.ops import Op
from appell.compile.tape import Array, Node, Tape, verify


class Builder:
    """Grows a list of nodes; every method returns the index of a node."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def node(self, *node) -> int:
        """The index of this very node, made if it is new."""
        index = self._index.get(node)
        if index is None:
            index = self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return index

    def const(self, value: float) -> int:
        return self.node(Op.CONST, float(value) + 0.0)  # + 0.0 turns -0.0 into 0.0

    def input(self, number: int) -> int:
        return self.node(Op.INPUT, number)

    def value(self, x: int) -> float | None:
        """The number of a constant node, None for any other."""
        node = self.nodes[x]
        return node[1] if node[0] == Op.CONST else None

    # ---- arithmetic

    def neg(self, x: int) -> int:
        node = self.nodes[x]
        if node[0] == Op.CONST:
            return self.const(-node[1])
        if node[0] == Op.NEG:
            return node[1]
        if node[0] == Op.SUB and (Op.SUB, node[2], node[1]) in self._index:
            return self._index[Op.SUB, node[2], node[1]]
        return self.node(Op.NEG, x)

    def add(self, x: int, y: int) -> int:
        first, second = self.nodes[x], self.nodes[y]
        if first[0] == Op.CONST:
            if second[0] == Op.CONST:
                return self.const(first[1] + second[1])
            if first[1] == 0.0:
                return y
        elif second[0] == Op.CONST:
            return self.add(y, x)
        if second[0] == Op.NEG:
            return self.sub(x, second[1])
        if first[0] == Op.NEG:
            return self.sub(y, first[1])
        merged = self._merge(x, y, 1.0)
        if merged is not None:
            return merged
        if first[0] == Op.SUB and second[0] == Op.ADD:
            first, second, x, y = second, first, y, x
        if first[0] == Op.ADD and second[0] == Op.SUB and second[2] in first[1:]:  # (p + q) + (r - q) = p + r
            return self.add(first[1] if first[2] == second[2] else first[2], second[1])
        return self.node(Op.ADD, x, y) if x < y or first[0] == Op.CONST else self.node(Op.ADD, y, x)

    def sub(self, x: int, y: int) -> int:
        if x == y:
            return self.const(0.0)
        first, second = self.nodes[x], self.nodes[y]
        if second[0] == Op.CONST:
            return self.add(self.const(-second[1]), x)
        if first[0] == Op.CONST and first[1] == 0.0:
            return self.neg(y)
        if second[0] == Op.NEG:
            return self.add(x, second[1])
        if first[0] == Op.NEG:
            return self.neg(self.add(first[1], y))
        merged = self._merge(x, y, -1.0)
        if merged is not None:
            return merged
        if (Op.SUB, y, x) in self._index:
            return self.neg(self._index[Op.SUB, y, x])
        if first[0] == Op.ADD and second[0] == Op.SUB and second[1] in first[1:]:  # (p + q) - (q - r) = p + r
            return self.add(first[1] if first[2] == second[1] else first[2], second[2])
        return self.node(Op.SUB, x, y)

    def mul(self, x: int, y: int) -> int:
        first, second = self.nodes[x], self.nodes[y]
        if second[0] == Op.CONST and first[0] != Op.CONST:
            return self.mul(y, x)
        if first[0] == Op.CONST:
            factor = first[1]
            if second[0] == Op.CONST:
                return self.const(factor * second[1])
            if factor == 0.0:
                return x
            if factor == 1.0:
                return y
            if factor < 0.0:
                return self.neg(self.mul(self.const(-factor), y))
            if second[0] == Op.MUL and (inner := self.value(second[1])) is not None:
                return self.mul(self.const(factor * inner), second[2])
        if first[0] == Op.NEG:
            return self.neg(self.mul(first[1], y))
        if second[0] == Op.NEG:
            return self.neg(self.mul(x, second[1]))
        return self.node(Op.MUL, x, y) if x < y or first[0] == Op.CONST else self.node(Op.MUL, y, x)

    def div(self, x: int, y: int) -> int:
        divisor, dividend = self.value(y), self.value(x)
        if divisor is not None and divisor != 0.0:
            return self.mul(self.const(1.0 / divisor), x)
        if dividend == 0.0 and divisor is None:
            return x
        if self.nodes[x][0] == Op.NEG:
            return self.neg(self.div(self.nodes[x][1], y))
        if self.nodes[y][0] == Op.NEG:
            return self.neg(self.div(x, self.nodes[y][1]))
        return self.node(Op.DIV, x, y)

    def _merge(self, x: int, y: int, sign: float) -> int | None:
        """c₁ z ± c₂ z as one product, if both sides are multiples of the same z."""
        (c1, z1), (c2, z2) = self._multiple(x), self._multiple(y)
        if z1 != z2 or (c1 == c2 == 1.0 and sign > 0):
            return None
        return self.mul(self.const(c1 + sign * c2), z1)

    def _multiple(self, x: int) -> tuple[float, int]:
        node = self.nodes[x]
        if node[0] == Op.MUL and (factor := self.value(node[1])) is not None:
            return factor, node[2]
        return 1.0, x

    # ---- functions

    def sqrt(self, x: int) -> int:
        value = self.value(x)
        return self.const(math.sqrt(value)) if value is not None and value >= 0.0 else self.node(Op.SQRT, x)

    def sin(self, x: int) -> int:
        value = self.value(x)
        if value is not None:
            return self.const(math.sin(value))
        if self.nodes[x][0] == Op.NEG:
            return self.neg(self.sin(self.nodes[x][1]))
        return self.node(Op.SIN, x)

    def cos(self, x: int) -> int:
        value = self.value(x)
        if value is not None:
            return self.const(math.cos(value))
        return self.node(Op.COS, self.nodes[x][1] if self.nodes[x][0] == Op.NEG else x)

    def atan2(self, y: int, x: int) -> int:
        first, second = self.value(y), self.value(x)
        if first is not None and second is not None:
            return self.const(math.atan2(first, second))
        return self.node(Op.ATAN2, y, x)

    def select(self, condition: int, if_positive: int, otherwise: int) -> int:
        value = self.value(condition)
        if value is not None:
            return if_positive if value > 0.0 else otherwise
        return if_positive if if_positive == otherwise else self.node(Op.SELECT, condition, if_positive, otherwise)

    # ---- copying and finishing

    def copy(self, node: Node, operands: list[int]) -> int:
        """A node of another tape, rebuilt here on translated operands."""
        op = node[0]
        if op == Op.CONST:
            return self.const(node[1])
        if op == Op.INPUT:
            return self.input(node[1])
        return CONSTRUCTORS[op](self, *operands)

    def tape(self, name: str, inputs: tuple[Array, ...], outputs: tuple[Array, ...], results: list[int]) -> Tape:
        """The nodes that the results need, in order of their making."""
        needed = bytearray(len(self.nodes))
        for result in results:
            needed[result] = 1
        for index in range(len(self.nodes) - 1, -1, -1):
            if needed[index] and self.nodes[index][0] > Op.INPUT:
                for operand in self.nodes[index][1:]:
                    needed[operand] = 1
        renumbered: dict[int, int] = {}
        nodes: list[Node] = []
        for index, node in enumerate(self.nodes):
            if needed[index]:
                renumbered[index] = len(nodes)
                nodes.append(node if node[0] <= Op.INPUT else (node[0], *[renumbered[k] for k in node[1:]]))
        return verify(Tape(name, tuple(inputs), tuple(outputs), tuple(nodes), tuple(renumbered[k] for k in results)))


CONSTRUCTORS: dict[Op, Callable[..., int]] = {
    Op.ADD: Builder.add,
    Op.SUB: Builder.sub,
    Op.MUL: Builder.mul,
    Op.DIV: Builder.div,
    Op.NEG: Builder.neg,
    Op.SQRT: Builder.sqrt,
    Op.SIN: Builder.sin,
    Op.COS: Builder.cos,
    Op.ATAN2: Builder.atan2,
    Op.SELECT: Builder.select,
}
