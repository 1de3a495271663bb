"""Tracing Python functions, and operations that traced scalars reject."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.algebra.vector import Vec3
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape, verify
from appell.compile.tape.trace import trace
from appell.errors import CompileError, TraceError

X = [Array("x", ())]
XY = [Array("x", ()), Array("y", ())]


def value(function, *arguments):
    tape = trace("f", [Array(f"x{k}", ()) for k in range(len(arguments))], lambda *x: {"r": function(*x)})
    return float(evaluate(tape, *arguments)[0])


def test_a_traced_function_computes_what_python_computes():
    def function(x, y):
        return (x + 2 * y - 3) / (1 + x**2) + ap.sin(x) * ap.cos(y) - ap.sqrt(x * x + y**4) + ap.atan2(y, x) ** 3

    assert value(function, 0.7, -1.3) == pytest.approx(function(0.7, -1.3), rel=1e-15)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, 0.5, 1.5, 2.0, -0.3])
def test_powers(exponent):
    assert value(lambda x: x**exponent * 1.0 if exponent else x + x**exponent - x, 1.7) == pytest.approx(1.7**exponent)


def test_absolute_value_and_select_use_the_right_branch():
    assert value(abs, -2.5) == value(abs, 2.5) == 2.5
    assert value(lambda x: ap.select(x, 1.0, -1.0), 0.3) == 1.0
    assert value(lambda x: ap.select(x, 1.0, -1.0), 0.0) == -1.0


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.uint8])
def test_numpy_numbers_mix_with_traced_scalars_on_either_side(kind):
    assert value(lambda x: kind(2) * x + x * kind(3) - ap.select(x, kind(1), 0.0), 1.5) == 6.5
    assert value(lambda x: ap.atan2(kind(0), x) + ap.sin(kind(0)), 1.5) == 0.0
    assert (
        value(lambda x: ap.minimum(kind(2), x) + ap.maximum(x, kind(1)) + ap.power(kind(4), x) + kind(4) ** x, 1.5)
        == 19.0
    )


def test_the_functions_of_numpy_accept_arrays_of_traced_scalars():
    def functions(x):
        return [
            *np.exp([x, x]),
            *np.log([x]),
            *np.tanh([x]),
            *np.arcsin([x]),
            *np.arccos([x]),
            *np.abs([-x]),
            *np.fabs([x]),
        ]

    assert value(lambda x: sum(functions(x)), 0.5) == pytest.approx(sum(functions(0.5)), rel=1e-14)


def test_gravity_may_be_given_in_single_precision():
    robot = ap.load("panda")
    down = np.float32([0.1, 0.2, -9.81])
    weighed = ap.Dynamics(replace(robot, gravity=Vec3.of(down))).gravity(np.ones(7))
    expected = ap.Dynamics(replace(robot, gravity=Vec3(*down.tolist()))).gravity(np.ones(7))
    np.testing.assert_array_equal(weighed, expected)


def test_shapes_follow_the_nesting():
    tape = trace(
        "f", [Array("m", (2, 3))], lambda m: {"t": [list(column) for column in zip(*m, strict=True)], "c": 1.0}
    )
    transposed, constant = evaluate(tape, np.arange(6.0).reshape(2, 3))
    assert transposed.tolist() == np.arange(6.0).reshape(2, 3).T.tolist()
    assert constant == 1.0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1.0 if x > 0 else 2.0,
        lambda x: 1.0 if x == 0 else 2.0,
        lambda x: max(x, 0.0),
        lambda x: math.sin(x),
        lambda x: [1.0, 2.0][x],
        lambda x: x and 1.0,
    ],
)
def test_a_branch_on_a_traced_scalar_is_rejected_with_a_hint(function):
    with pytest.raises(TraceError, match=r"appell\.minimum and appell\.maximum .* appell\.select"):
        trace("f", X, lambda x: {"r": function(x)})


def test_numbers_that_a_tape_cannot_represent_are_rejected():
    with pytest.raises(TraceError, match="inf"):
        trace("f", X, lambda x: {"r": x + math.inf})
    with pytest.raises(TraceError, match="divided by the constant 0"):
        trace("f", X, lambda x: {"r": x / 0.0})
    with pytest.raises(TraceError, match="inf"):
        trace("f", X, lambda x: {"r": x**math.inf})
    with pytest.raises(TypeError, match="unsupported operand"):
        trace("f", X, lambda x: {"r": x ** "2"})


def test_results_that_are_not_scalars_are_rejected_by_name():
    with pytest.raises(TraceError, match="result 'r'"):
        trace("f", X, lambda x: {"r": ["text"]})
    with pytest.raises(TraceError, match="unevenly"):
        trace("f", X, lambda x: {"r": [[x], [x, x]]})


def test_scalars_of_two_traces_do_not_mix():
    scalars = []
    trace("f", X, lambda x: {"r": scalars.append(x) or x})
    with pytest.raises(TraceError, match="different traces"):
        trace("g", X, lambda x: {"r": x + scalars[0]})


def test_a_tape_prints_its_nodes():
    text = str(trace("f", [Array("q", (2,))], lambda q: {"r": [ap.sin(q[0]) * 0.5]}))
    assert text.splitlines() == [
        "tape f (q[2]) -> (r[1])",
        "  v0 = input 0         q[0]",
        "  v1 = sin v0",
        "  v2 = const 0.5",
        "  v3 = mul v2 v1",
        "  r[0] = v3",
    ]


@pytest.mark.parametrize(
    ("nodes", "results", "complaint"),
    [
        (((Op.INPUT, 5),), (0,), "scalar inputs"),
        (((Op.ADD, 0, 1),), (0,), "earlier node"),
        (((Op.INPUT, 0), (Op.SIN, 0, 0)), (1,), "takes 1 operands"),
        (((Op.CONST, math.nan),), (0,), "finite"),
        (((Op.INPUT, 0),), (3,), "not one of its nodes"),
        (((Op.INPUT, 0),), (0, 0), "2 results"),
    ],
)
def test_the_verifier_names_the_broken_rule(nodes, results, complaint):
    with pytest.raises((CompileError, TraceError), match=complaint):
        verify(Tape("bad", tuple(X), (Array("r", ()),), nodes, results))


def test_the_digest_depends_on_the_content_of_a_tape_only():
    one, same = (trace(name, XY, lambda x, y: {"r": x * y + 0.1}) for name in "fg")
    other = trace("f", XY, lambda x, y: {"r": x * y + math.nextafter(0.1, 1)})
    assert one.digest == same.digest != other.digest
