"""A tape of an algorithm as it is written: every operation that its text performs, once for each time it performs it.

The builder of `compile` shares equal expressions and rearranges sums. This one does neither. It only drops what a
careful programmer would not write either: products with a literal 0 or 1, sums with a literal 0, arithmetic of two
literals, and whatever no result needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.build import Builder
from appell.compile.ops import Op
from appell.compile.tape import Array, Tape
from appell.compile.trace import Traced, flatten, nest


class Verbatim(Builder):
    """Appends a node for every operation; folds structural zeros and ones only."""

    def node(self, *node) -> int:
        if node[0] <= Op.INPUT or node[0] in (Op.SIN, Op.COS):  # a joint's sine and cosine are given, not computed
            return super().node(*node)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def neg(self, x: int) -> int:
        value = self.value(x)
        return self.node(Op.NEG, x) if value is None else self.const(-value)

    def add(self, x: int, y: int) -> int:
        a, b = self.value(x), self.value(y)
        if a is not None and b is not None:
            return self.const(a + b)
        if a == 0.0 or b == 0.0:
            return y if a == 0.0 else x
        return self.node(Op.ADD, x, y)

    def sub(self, x: int, y: int) -> int:
        a, b = self.value(x), self.value(y)
        if a is not None and b is not None:
            return self.const(a - b)
        if b == 0.0:
            return x
        return self.neg(y) if a == 0.0 else self.node(Op.SUB, x, y)

    def mul(self, x: int, y: int) -> int:
        a, b = self.value(x), self.value(y)
        if a is not None and b is not None:
            return self.const(a * b)
        if a == 0.0 or b == 0.0:
            return self.const(0.0)
        if a in (1.0, -1.0):
            return y if a == 1.0 else self.neg(y)
        if b in (1.0, -1.0):
            return x if b == 1.0 else self.neg(x)
        return self.node(Op.MUL, x, y)

    def div(self, x: int, y: int) -> int:
        a, b = self.value(x), self.value(y)
        if a is not None and b:
            return self.const(a / b)
        return x if a == 0.0 or b == 1.0 else self.node(Op.DIV, x, y)


def verbatim(name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """Like `compile.trace.trace`, with nothing shared and nothing rearranged."""
    builder = Verbatim()
    arguments, start = [], 0
    for array in inputs:
        arguments.append(nest([Traced(builder, builder.input(start + k)) for k in range(array.size)], array.shape))
        start += array.size
    outputs, results = [], []
    for label, value in function(*arguments).items():
        scalars, shape = flatten(value)
        outputs.append(Array(label, shape))
        results += [scalar.index if isinstance(scalar, Traced) else builder.const(scalar) for scalar in scalars]
    return builder.tape(name, tuple(inputs), tuple(outputs), results)
