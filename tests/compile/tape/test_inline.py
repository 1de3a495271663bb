"""A tape called inside a trace, and on numbers."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.compile.function import Function
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import inline, trace
from appell.errors import TraceError

INNER = trace(
    "inner",
    [Array("x", (2,)), Array("s", ())],
    lambda x, s: {"m": [[x[0] * s, ap.sin(x[1])], [x[0] / s, 1.0]], "t": x[1] / s},
)


def outer(x, y):
    m, t = inline(INNER, [x[1], x[0] * y], 2.0 + y)
    return {"r": [m[0][0] + m[1][0], m[0][1] * t, m[1][1]]}


def by_hand(x, y):
    a, b, s = x[1], x[0] * y, 2.0 + y
    return [a * s + a / s, np.sin(b) * (b / s), 1.0]


def test_an_inlined_tape_computes_the_same_values():
    function = Function.of("outer", {"x": 2, "y": ()}, outer)
    np.testing.assert_allclose(function([0.3, -1.2], 0.7), by_hand([0.3, -1.2], 0.7), rtol=1e-15)


def test_quotients_by_one_denominator_divide_once():
    assert Function.of("outer", {"x": 2, "y": ()}, outer).count().div == 1


def test_inlining_on_numbers_returns_numbers():
    m, t = inline(INNER, [3.0, 0.5], np.float64(2.0))
    assert m == [[6.0, np.sin(0.5)], [1.5, 1.0]]
    assert t == 0.25


def test_a_wrong_number_of_scalars_is_rejected_by_name():
    with pytest.raises(TraceError, match="'inner' is called with 2 scalars"):
        inline(INNER, [1.0, 2.0])


def test_scalars_of_another_trace_are_refused():
    scalars = []
    trace("f", [Array("x", ())], lambda x: {"r": scalars.append(x) or x})
    with pytest.raises(TraceError, match="different traces"):
        trace("g", [Array("x", ())], lambda x: {"r": inline(INNER, [x, scalars[0]], 1.0)[1]})
