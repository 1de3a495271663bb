"""Folding: rewrite rules that are tried before a node is made.

A rule applies to one instruction with operands of certain kinds; `apply` receives the graph and the operands and
returns the node to use instead, or None. The rules of an instruction are tried in the order of the table. There are
three groups:

    constants       0 x, 1 x and 0 + x vanish; this turns a general algorithm into the program of one robot
    normal form     constants are the first operand and positive, signs move outward, so that expressions which are
                    equal up to their sign share nodes
    cancellation    c z ± d z, (p + q) ± (r ∓ q), which are frequent in derivatives of vector products

0 x is 0 although x may be NaN: the compiled loop, not the tape, makes the results of a sample with a non-finite input
NaN. A rule that depends on how often a node is used belongs in another pass. To add a rule, add a row here and an
example in tests/compile/tape/test_fold.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from appell.compile.tape.evaluate import MEANING
from appell.compile.tape.ops import ARITY, TRANSCENDENTAL, Op

if TYPE_CHECKING:
    from appell.compile.tape.graph import Graph

Apply = Callable[..., int | None]  # (graph, *operands) -> the node to use instead
ANY = None
CONST, ADD, SUB, MUL, DIV, NEG = map(int, (Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG))


class Rule(NamedTuple):
    """A rewrite rule; it is tried if the kinds of the operands match one of the patterns."""

    name: str
    op: int
    patterns: tuple[tuple[int | None, ...], ...]  # kinds of the first two operands
    apply: Apply


def _constant(op: Op) -> Apply:
    """Return the rule that evaluates an instruction on constants, unless the value is not finite."""

    def apply(g: Graph, *operands: int) -> int | None:
        value = MEANING[op](*(g.nodes[k][1] for k in operands))
        return g.const(value) if math.isfinite(value) else None

    return apply


def _inner(g: Graph, x: int) -> int:
    """Return the first operand of a node: y of -y."""
    return g.nodes[x][1]


def _multiple(g: Graph, x: int) -> tuple[float, int]:
    """Return a node as a product c z: (c, z)."""
    node = g.nodes[x]
    if node[0] == MUL and (first := g.nodes[node[1]])[0] == CONST:
        return first[1], node[2]
    return 1.0, x


def _merge(g: Graph, x: int, y: int, sign: float) -> int | None:
    (c, z), (d, other) = _multiple(g, x), _multiple(g, y)
    if z != other or (c == d == 1.0 and sign > 0):
        return None
    return _scaled(g, c + sign * d, z)


def _scaled(g: Graph, scale: float, x: int) -> int | None:
    """Return scale · x, or None if the scale overflows: constants of a tape are finite."""
    return g.mul(g.const(scale), x) if math.isfinite(scale) else None


def _cancel(g: Graph, total: int, opposite: int, left: int) -> int | None:
    """Return p + `left` for the sum p + q = `total` combined with `left` - `opposite`, if `opposite` is q."""
    _, p, q = g.nodes[total]
    if opposite == q:
        return g.add(p, left)
    return g.add(q, left) if opposite == p else None


def _positive_scale(g: Graph, x: int, y: int) -> int | None:
    factor = g.nodes[x][1]
    return g.neg(g.mul(g.const(-factor), y)) if factor < 0.0 else None


def _nested_scale(g: Graph, x: int, y: int) -> int | None:
    _, inner, z = g.nodes[y]
    first = g.nodes[inner]
    return _scaled(g, g.nodes[x][1] * first[1], z) if first[0] == CONST else None


def _minus_opposite(g: Graph, x: int, y: int) -> int | None:
    opposite = g.index.get((SUB, y, x))
    return None if opposite is None else g.neg(opposite)


def _reciprocal(g: Graph, x: int, y: int) -> int | None:
    divisor = g.nodes[y][1]
    return _scaled(g, 1.0 / divisor, x) if divisor != 0.0 else None


def _odd(op: Op) -> Apply:
    """Return the rule f(-x) = -f(x)."""
    return lambda g, x: g.neg(getattr(g, op.name.lower())(_inner(g, x)))


def _power(exponent: float, replaced: Apply) -> Rule:
    """Return the rule for a power with a constant exponent that is rounded once."""

    def apply(g: Graph, x: int, y: int) -> int | None:
        return replaced(g, x) if g.nodes[y][1] == exponent else None

    return Rule(f"power(x, {exponent:g})", Op.POWER, ((ANY, CONST),), apply)


FUNCTIONS = (Op.ABS, Op.SIGN, Op.MINIMUM, Op.MAXIMUM, *TRANSCENDENTAL)
RULES = (
    Rule("-(c)", NEG, ((CONST,),), lambda g, x: g.const(-g.nodes[x][1])),
    Rule("-(-x) = x", NEG, ((NEG,),), _inner),
    Rule("-(x - y) = y - x, if known", NEG, ((SUB,),), lambda g, x: g.index.get((SUB, *g.nodes[x][:0:-1]))),
    # sums
    Rule("c + d", ADD, ((CONST, CONST),), lambda g, x, y: g.const(g.nodes[x][1] + g.nodes[y][1])),
    Rule("0 + x = x", ADD, ((CONST, ANY),), lambda g, x, y: y if g.nodes[x][1] == 0.0 else None),
    Rule("x + c = c + x", ADD, ((ANY, CONST),), lambda g, x, y: g.add(y, x)),
    Rule("x + (-y) = x - y", ADD, ((ANY, NEG),), lambda g, x, y: g.sub(x, _inner(g, y))),
    Rule("(-x) + y = y - x", ADD, ((NEG, ANY),), lambda g, x, y: g.sub(y, _inner(g, x))),
    Rule("c z + d z = (c + d) z", ADD, ((MUL, ANY), (ANY, MUL)), lambda g, x, y: _merge(g, x, y, 1.0)),
    Rule("(p + q) + (r - q) = p + r", ADD, ((ADD, SUB),), lambda g, x, y: _cancel(g, x, g.nodes[y][2], g.nodes[y][1])),
    Rule("(r - q) + (p + q) = p + r", ADD, ((SUB, ADD),), lambda g, x, y: _cancel(g, y, g.nodes[x][2], g.nodes[x][1])),
    # differences
    Rule("x - x = 0", SUB, ((ANY, ANY),), lambda g, x, y: g.const(0.0) if x == y else None),
    Rule("x - c = (-c) + x", SUB, ((ANY, CONST),), lambda g, x, y: g.add(g.const(-g.nodes[y][1]), x)),
    Rule("0 - y = -y", SUB, ((CONST, ANY),), lambda g, x, y: g.neg(y) if g.nodes[x][1] == 0.0 else None),
    Rule("x - (-y) = x + y", SUB, ((ANY, NEG),), lambda g, x, y: g.add(x, _inner(g, y))),
    Rule("(-x) - y = -(x + y)", SUB, ((NEG, ANY),), lambda g, x, y: g.neg(g.add(_inner(g, x), y))),
    Rule("c z - d z = (c - d) z", SUB, ((MUL, ANY), (ANY, MUL)), lambda g, x, y: _merge(g, x, y, -1.0)),
    Rule("x - y = -(y - x), if known", SUB, ((ANY, ANY),), _minus_opposite),
    Rule("(p + q) - (q - r) = p + r", SUB, ((ADD, SUB),), lambda g, x, y: _cancel(g, x, *g.nodes[y][1:])),
    # products
    Rule("c d", MUL, ((CONST, CONST),), lambda g, x, y: g.const(g.nodes[x][1] * g.nodes[y][1])),
    Rule("x c = c x", MUL, ((ANY, CONST),), lambda g, x, y: g.mul(y, x)),
    Rule("0 x = 0", MUL, ((CONST, ANY),), lambda g, x, y: x if g.nodes[x][1] == 0.0 else None),
    Rule("1 x = x", MUL, ((CONST, ANY),), lambda g, x, y: y if g.nodes[x][1] == 1.0 else None),
    Rule("(-c) x = -(c x)", MUL, ((CONST, ANY),), _positive_scale),
    Rule("c (d z) = (c d) z", MUL, ((CONST, MUL),), _nested_scale),
    Rule("(-x) y = -(x y)", MUL, ((NEG, ANY),), lambda g, x, y: g.neg(g.mul(_inner(g, x), y))),
    Rule("x (-y) = -(x y)", MUL, ((ANY, NEG),), lambda g, x, y: g.neg(g.mul(x, _inner(g, y)))),
    # quotients
    Rule("x / c = (1/c) x", DIV, ((ANY, CONST),), _reciprocal),
    Rule("0 / x = 0", DIV, ((CONST, ANY),), lambda g, x, y: x if g.value(x) == 0.0 and g.value(y) is None else None),
    Rule("(-x) / y = -(x / y)", DIV, ((NEG, ANY),), lambda g, x, y: g.neg(g.div(_inner(g, x), y))),
    Rule("x / (-y) = -(x / y)", DIV, ((ANY, NEG),), lambda g, x, y: g.neg(g.div(x, _inner(g, y)))),
    # functions
    Rule("√c", Op.SQRT, ((CONST,),), _constant(Op.SQRT)),
    Rule("sin c", Op.SIN, ((CONST,),), _constant(Op.SIN)),
    Rule("sin(-x) = -sin x", Op.SIN, ((NEG,),), lambda g, x: g.neg(g.sin(_inner(g, x)))),
    Rule("cos c", Op.COS, ((CONST,),), _constant(Op.COS)),
    Rule("cos(-x) = cos x", Op.COS, ((NEG,),), lambda g, x: g.cos(_inner(g, x))),
    Rule("atan2(c, d)", Op.ATAN2, ((CONST, CONST),), _constant(Op.ATAN2)),
    Rule("round c", Op.ROUND, ((CONST,),), _constant(Op.ROUND)),
    Rule("round(round x) = round x", Op.ROUND, ((Op.ROUND,),), lambda g, x: x),
    Rule("round(-x) = -round x", Op.ROUND, ((NEG,),), lambda g, x: g.neg(g.round(_inner(g, x)))),
    Rule("level c", Op.LEVEL, ((CONST,),), _constant(Op.LEVEL)),
    Rule("level(level x) = level x", Op.LEVEL, ((Op.LEVEL,),), lambda g, x: x),
    Rule("level(-x) = level x", Op.LEVEL, ((NEG,),), lambda g, x: g.level(_inner(g, x))),
    *(Rule(f"{op.name.lower()} c", op, ((CONST,) * ARITY[op],), _constant(op)) for op in FUNCTIONS),
    Rule("|-x| = |x|", Op.ABS, ((NEG,),), lambda g, x: g.abs(_inner(g, x))),
    Rule("| |x| | = |x|", Op.ABS, ((Op.ABS,),), lambda g, x: x),
    *(
        Rule(f"{op.name.lower()}(-x) = -{op.name.lower()} x", op, ((NEG,),), _odd(op))
        for op in (Op.SIGN, Op.TANH, Op.ARCSIN, Op.ERF)
    ),
    Rule("minimum(x, x) = x", Op.MINIMUM, ((ANY, ANY),), lambda g, x, y: x if x == y else None),
    Rule("maximum(x, x) = x", Op.MAXIMUM, ((ANY, ANY),), lambda g, x, y: x if x == y else None),
    _power(0.0, lambda g, x: g.const(1.0)),
    _power(1.0, lambda g, x: x),
    _power(2.0, lambda g, x: g.mul(x, x)),
    _power(-1.0, lambda g, x: g.div(g.const(1.0), x)),
    Rule("select(c, x, y)", Op.SELECT, ((CONST, ANY),), lambda g, c, x, y: x if g.nodes[c][1] > 0.0 else y),
    Rule("select(c, x, x) = x", Op.SELECT, ((ANY, ANY),), lambda g, c, x, y: x if x == y else None),
)


def table(rules: Iterable[Rule]) -> list[list]:
    """Return the rules by instruction and kinds of its first two operands: table[op][kind] or table[op][kind][kind]."""
    rows: list[list] = [[[] if ARITY[op] == 1 else [[] for _ in Op] for _ in Op] for op in Op]
    for rule in rules:
        for pattern in rule.patterns:
            cells = [rows[rule.op]]
            for kind in pattern:
                cells = [cell for row in cells for cell in (row if kind is ANY else (row[kind],))]
            for cell in cells:
                if rule.apply not in cell:
                    cell.append(rule.apply)
    return rows
