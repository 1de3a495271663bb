"""Factoring and fusing keep the meaning and save work."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from appell.compile.tape.count import OpCount, count
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import fuse
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace

X = [Array("x", (4,))]


def traced(function):
    return trace("f", X, lambda x: {"r": [function(*x)]})


def ops(tape):
    return [node[0] for node in tape.nodes if node[0] > Op.INPUT]


def test_a_common_factor_is_taken_out():
    assert count(traced(lambda x, y, z, w: x * y + x * z)) == OpCount(mul=1, add=1)


def test_a_product_with_another_use_is_not_factored():
    tape = trace("f", X, lambda x: {"r": [x[0] * x[1] + x[0] * x[2], x[0] * x[1]]})
    assert count(tape) == OpCount(mul=2, add=1)


def test_sums_of_products_become_fused():
    assert ops(fuse(traced(lambda x, y, z, w: x * y + z))) == [Op.FMA]
    assert ops(fuse(traced(lambda x, y, z, w: x * y - z))) == [Op.FMS]
    assert ops(fuse(traced(lambda x, y, z, w: z - x * y))) == [Op.FNMA]
    assert ops(fuse(traced(lambda x, y, z, w: x * y + z * w))) == [Op.MUL, Op.FMA]


def test_a_product_used_twice_is_not_fused():
    tape = fuse(trace("f", X, lambda x: {"r": [x[0] * x[1] + x[2], x[0] * x[1] + x[3]]}))
    assert ops(tape) == [Op.MUL, Op.ADD, Op.ADD]


def test_a_negated_difference_is_the_opposite_difference():
    assert ops(fuse(traced(lambda x, y, z, w: -(x - y)))) == [Op.SUB]


EXPRESSIONS = st.recursive(
    st.sampled_from([lambda x, k=k: x[k] for k in range(4)]) | st.floats(-3, 3).map(lambda c: lambda x: c),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
        lambda t: {
            "+": lambda x: t[1](x) + t[2](x),
            "-": lambda x: t[1](x) - t[2](x),
            "*": lambda x: t[1](x) * t[2](x),
        }[t[0]]
    ),
    max_leaves=25,
)


@given(EXPRESSIONS, st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_simplification_keeps_the_value(expression, point):
    tape = trace("f", X, lambda x: {"r": [expression(x)]})
    size = max(1.0, *(abs(v) for v in np.ravel(evaluate(tape, point))))
    exact = expression(point)
    bound = 1e-12 * max(size, expression([abs(p) + 1 for p in point]), 1.0) + 1e-9 * abs(exact)
    assert abs(evaluate(tape, point)[0][0] - exact) <= max(bound, 1e-9)
    assert abs(evaluate(fuse(tape), point)[0][0] - exact) <= max(bound, 1e-9)
