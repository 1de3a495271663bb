"""A tape of an algorithm as it is written: every operation that its text performs, once for each time it performs it.

Nothing is shared and nothing rearranged. It only drops what a careful programmer would not write either: products with
a literal 0 or 1, sums with a literal 0, arithmetic of two literals, and whatever no result needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.tape.fold import ANY, CONST, DIV, RULES, Rule, table
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Node, Tape
from appell.compile.tape.trace import record

_KEPT = {
    *("-(c)", "c + d", "0 + x = x", "x + c = c + x", "x - c = (-c) + x", "0 - y = -y"),
    *("c d", "x c = c x", "0 x = 0", "1 x = x", "(-c) x = -(c x)", "0 / x = 0"),
}
_RULES = (
    *(rule for rule in RULES if rule.name in _KEPT or rule.op > Op.NEG),
    Rule("c / d", DIV, ((CONST, CONST),), lambda g, x, y: g.const(g.value(x) / g.value(y)) if g.value(y) else None),
    Rule("x / 1 = x", DIV, ((ANY, CONST),), lambda g, x, y: x if g.value(y) == 1.0 else None),
)


class _Verbatim(Graph):
    rules = table(_RULES)

    def node(self, node: Node) -> int:
        if node[0] <= Op.INPUT or node[0] in (Op.SIN, Op.COS):  # a joint's sine and cosine are given, not computed
            return super().node(node)
        self.nodes.append(node)
        return len(self.nodes) - 1


def verbatim(name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """Like `trace`, with nothing shared and nothing rearranged."""
    return record(_Verbatim(), name, inputs, function)
