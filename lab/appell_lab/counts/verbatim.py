"""Tapes of algorithms as written: every operation of the text, as often as it is executed.

Nothing is shared or rearranged. Only operations that a careful programmer would not write are dropped: products with a
literal 0 or 1, sums with a literal 0, arithmetic on two literals, and operations that no result needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.tape.fold import ANY, CONST, DIV, RULES, Rule, table
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Node, Tape
from appell.compile.tape.trace import record

_KEPT_RULES = {
    *("-(c)", "c + d", "0 + x = x", "x + c = c + x", "x - c = (-c) + x", "0 - y = -y"),
    *("c d", "x c = c x", "0 x = 0", "1 x = x", "(-c) x = -(c x)", "0 / x = 0"),
}
_RULES = (
    *(rule for rule in RULES if rule.name in _KEPT_RULES or rule.op > Op.NEG),
    Rule("c / d", DIV, ((CONST, CONST),), lambda g, x, y: g.const(g.value(x) / g.value(y)) if g.value(y) else None),
    Rule("x / 1 = x", DIV, ((ANY, CONST),), lambda g, x, y: x if g.value(y) == 1.0 else None),
)


class _Verbatim(Graph):
    rules = table(_RULES)

    def node(self, node: Node) -> int:
        if node[0] <= Op.INPUT or node[0] in (Op.SIN, Op.COS):  # sines and cosines of joints are not counted
            return super().node(node)
        self.nodes.append(node)
        return len(self.nodes) - 1


def verbatim(name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """Trace a function like `trace`, without sharing or rearranging operations."""
    return record(_Verbatim(), name, inputs, function)
