"""Every folding rule by an example: what it makes of its operands, and that the value stays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from appell.compile.tape.evaluate import MEANING, evaluate
from appell.compile.tape.fold import RULES
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import inline, trace

POINT = (0.75, -1.25, 2.5)

# name of the rule -> operands, and the node that should come of them; n has the inputs x, y, z and the constants
EXAMPLES = {
    "-(c)": (lambda g, n: [n.two], lambda g, n: g.const(-2.0)),
    "-(-x) = x": (lambda g, n: [g.neg(n.x)], lambda g, n: n.x),
    "-(x - y) = y - x, if known": (
        lambda g, n: [g.node((Op.SUB, n.x, n.y)), g.node((Op.SUB, n.y, n.x))][:1],
        lambda g, n: g.node((Op.SUB, n.y, n.x)),
    ),
    "c + d": (lambda g, n: [n.two, n.three], lambda g, n: g.const(5.0)),
    "0 + x = x": (lambda g, n: [n.zero, n.x], lambda g, n: n.x),
    "x + c = c + x": (lambda g, n: [n.x, n.two], lambda g, n: g.node((Op.ADD, n.two, n.x))),
    "x + (-y) = x - y": (lambda g, n: [n.x, g.neg(n.y)], lambda g, n: g.node((Op.SUB, n.x, n.y))),
    "(-x) + y = y - x": (lambda g, n: [g.neg(n.x), n.y], lambda g, n: g.node((Op.SUB, n.y, n.x))),
    "c z + d z = (c + d) z": (
        lambda g, n: [g.mul(n.two, n.z), g.mul(n.three, n.z)],
        lambda g, n: g.node((Op.MUL, g.const(5.0), n.z)),
    ),
    "(p + q) + (r - q) = p + r": (
        lambda g, n: [g.add(n.x, n.y), g.sub(n.z, n.y)],
        lambda g, n: g.node((Op.ADD, n.x, n.z)),
    ),
    "(r - q) + (p + q) = p + r": (
        lambda g, n: [g.sub(n.z, n.x), g.add(n.x, n.y)],
        lambda g, n: g.node((Op.ADD, n.y, n.z)),
    ),
    "x - x = 0": (lambda g, n: [n.x, n.x], lambda g, n: n.zero),
    "x - c = (-c) + x": (lambda g, n: [n.x, n.two], lambda g, n: g.node((Op.ADD, g.const(-2.0), n.x))),
    "0 - y = -y": (lambda g, n: [n.zero, n.y], lambda g, n: g.node((Op.NEG, n.y))),
    "x - (-y) = x + y": (lambda g, n: [n.x, g.neg(n.y)], lambda g, n: g.node((Op.ADD, n.x, n.y))),
    "(-x) - y = -(x + y)": (
        lambda g, n: [g.neg(n.x), n.y],
        lambda g, n: g.node((Op.NEG, g.node((Op.ADD, n.x, n.y)))),
    ),
    "c z - d z = (c - d) z": (lambda g, n: [g.mul(n.three, n.z), n.z], lambda g, n: g.node((Op.MUL, n.two, n.z))),
    "x - y = -(y - x), if known": (
        lambda g, n: [n.x, n.y, g.node((Op.SUB, n.y, n.x))][:2],
        lambda g, n: g.node((Op.NEG, g.node((Op.SUB, n.y, n.x)))),
    ),
    "(p + q) - (q - r) = p + r": (
        lambda g, n: [g.add(n.x, n.y), g.sub(n.y, n.z)],
        lambda g, n: g.node((Op.ADD, n.x, n.z)),
    ),
    "c d": (lambda g, n: [n.two, n.three], lambda g, n: g.const(6.0)),
    "x c = c x": (lambda g, n: [n.x, n.two], lambda g, n: g.node((Op.MUL, n.two, n.x))),
    "0 x = 0": (lambda g, n: [n.zero, n.x], lambda g, n: n.zero),
    "1 x = x": (lambda g, n: [n.one, n.x], lambda g, n: n.x),
    "(-c) x = -(c x)": (
        lambda g, n: [g.const(-2.0), n.x],
        lambda g, n: g.node((Op.NEG, g.node((Op.MUL, n.two, n.x)))),
    ),
    "c (d z) = (c d) z": (
        lambda g, n: [n.two, g.mul(n.three, n.z)],
        lambda g, n: g.node((Op.MUL, g.const(6.0), n.z)),
    ),
    "(-x) y = -(x y)": (lambda g, n: [g.neg(n.x), n.y], lambda g, n: g.node((Op.NEG, g.node((Op.MUL, n.x, n.y))))),
    "x (-y) = -(x y)": (lambda g, n: [n.x, g.neg(n.y)], lambda g, n: g.node((Op.NEG, g.node((Op.MUL, n.x, n.y))))),
    "x / c = (1/c) x": (lambda g, n: [n.x, n.two], lambda g, n: g.node((Op.MUL, g.const(0.5), n.x))),
    "0 / x = 0": (lambda g, n: [n.zero, n.x], lambda g, n: n.zero),
    "(-x) / y = -(x / y)": (lambda g, n: [g.neg(n.x), n.y], lambda g, n: g.node((Op.NEG, g.node((Op.DIV, n.x, n.y))))),
    "x / (-y) = -(x / y)": (lambda g, n: [n.x, g.neg(n.y)], lambda g, n: g.node((Op.NEG, g.node((Op.DIV, n.x, n.y))))),
    "√c": (lambda g, n: [g.const(2.25)], lambda g, n: g.const(1.5)),
    "sin c": (lambda g, n: [n.zero], lambda g, n: n.zero),
    "sin(-x) = -sin x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.SIN, n.x))))),
    "cos c": (lambda g, n: [n.zero], lambda g, n: n.one),
    "cos(-x) = cos x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.COS, n.x))),
    "atan2(c, d)": (lambda g, n: [n.zero, n.one], lambda g, n: n.zero),
    "round c": (lambda g, n: [g.const(2.5)], lambda g, n: n.two),
    "round(round x) = round x": (lambda g, n: [g.round(n.x)], lambda g, n: g.node((Op.ROUND, n.x))),
    "round(-x) = -round x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.ROUND, n.x))))),
    "level c": (lambda g, n: [g.const(1.5)], lambda g, n: g.const(0.125)),
    "level(level x) = level x": (lambda g, n: [g.level(n.x)], lambda g, n: g.node((Op.LEVEL, n.x))),
    "level(-x) = level x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.LEVEL, n.x))),
    "abs c": (lambda g, n: [g.const(-2.0)], lambda g, n: n.two),
    "sign c": (lambda g, n: [n.three], lambda g, n: n.one),
    "minimum c": (lambda g, n: [n.two, n.three], lambda g, n: n.two),
    "maximum c": (lambda g, n: [n.two, n.three], lambda g, n: n.three),
    "exp c": (lambda g, n: [n.zero], lambda g, n: n.one),
    "log c": (lambda g, n: [n.one], lambda g, n: n.zero),
    "power c": (lambda g, n: [n.three, n.two], lambda g, n: g.const(9.0)),
    "tanh c": (lambda g, n: [n.zero], lambda g, n: n.zero),
    "arcsin c": (lambda g, n: [n.zero], lambda g, n: n.zero),
    "arccos c": (lambda g, n: [n.one], lambda g, n: n.zero),
    "erf c": (lambda g, n: [n.zero], lambda g, n: n.zero),
    "|-x| = |x|": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.ABS, n.x))),
    "| |x| | = |x|": (lambda g, n: [g.abs(n.x)], lambda g, n: g.node((Op.ABS, n.x))),
    "sign(-x) = -sign x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.SIGN, n.x))))),
    "tanh(-x) = -tanh x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.TANH, n.x))))),
    "arcsin(-x) = -arcsin x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.ARCSIN, n.x))))),
    "erf(-x) = -erf x": (lambda g, n: [g.neg(n.x)], lambda g, n: g.node((Op.NEG, g.node((Op.ERF, n.x))))),
    "minimum(x, x) = x": (lambda g, n: [n.x, n.x], lambda g, n: n.x),
    "maximum(x, x) = x": (lambda g, n: [n.x, n.x], lambda g, n: n.x),
    "power(x, 0)": (lambda g, n: [n.x, n.zero], lambda g, n: n.one),
    "power(x, 1)": (lambda g, n: [n.x, n.one], lambda g, n: n.x),
    "power(x, 2)": (lambda g, n: [n.x, n.two], lambda g, n: g.node((Op.MUL, n.x, n.x))),
    "power(x, -1)": (lambda g, n: [n.x, g.const(-1.0)], lambda g, n: g.node((Op.DIV, n.one, n.x))),
    "select(c, x, y)": (lambda g, n: [n.one, n.x, n.y], lambda g, n: n.x),
    "select(c, x, x) = x": (lambda g, n: [n.x, n.y, n.y], lambda g, n: n.y),
}


def test_every_rule_has_an_example_and_a_unique_name():
    assert [rule.name for rule in RULES] == list(EXAMPLES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_returns_its_node_and_preserves_the_value(rule):
    g = Graph()
    n = SimpleNamespace(x=g.input(0), y=g.input(1), z=g.input(2))
    n.zero, n.one, n.two, n.three = (g.const(c) for c in (0.0, 1.0, 2.0, 3.0))
    given, wanted = EXAMPLES[rule.name]
    operands = given(g, n)
    assert rule.apply(g, *operands) == wanted(g, n)
    assert getattr(g, Op(rule.op).name.lower())(*operands) == wanted(g, n)
    tape = g.tape("f", [Array("x", (3,))], [Array("r", (len(operands) + 1,))], [*operands, wanted(g, n)])
    *values, result = evaluate(tape, POINT)[0]
    np.testing.assert_allclose(result, MEANING[rule.op](*values), rtol=4e-16)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("x / c = (1/c) x", lambda g, n: [n.x, n.zero]),
        ("0 / x = 0", lambda g, n: [n.zero, n.zero]),
        ("√c", lambda g, n: [g.const(-1.0)]),
        ("log c", lambda g, n: [n.zero]),
        ("power(x, 2)", lambda g, n: [n.x, g.const(3.0)]),
        ("c (d z) = (c d) z", lambda g, n: [n.two, g.mul(n.x, n.y)]),
        ("c z + d z = (c + d) z", lambda g, n: [g.mul(n.x, n.y), g.mul(n.x, n.y)]),
        ("(p + q) + (r - q) = p + r", lambda g, n: [g.add(n.x, n.y), g.sub(n.x, n.z)]),
        ("x - y = -(y - x), if known", lambda g, n: [n.x, n.y]),
    ],
)
def test_a_rule_returns_none_where_it_does_not_apply(name, operands):
    g = Graph()
    n = SimpleNamespace(x=g.input(0), y=g.input(1), z=g.input(2), zero=g.const(0.0), two=g.const(2.0))
    (rule,) = (rule for rule in RULES if rule.name == name)
    assert rule.apply(g, *operands(g, n)) is None


@pytest.mark.parametrize(
    ("body", "point", "value"),
    [
        (lambda x: x / 1e-310, 3e-310, 3e-310 / 1e-310),
        (lambda x: (x * 1e200) * 1e200, 1e-250, 1e150),
        (lambda x: x * 1.5e308 + x * 1e308, 1e-300, 2.5e8),
    ],
    ids=["reciprocal", "product", "sum"],
)
def test_a_constant_that_would_overflow_is_not_folded(body, point, value):
    traced = trace("f", [Array("x", ())], lambda x: {"y": body(x)})
    inlined = trace("g", [Array("x", ())], lambda x: {"y": inline(traced, x)[0]})
    for tape in (traced, inlined):
        assert evaluate(tape, point)[0] == pytest.approx(value, rel=1e-15)
