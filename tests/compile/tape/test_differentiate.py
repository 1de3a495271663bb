"""Derivatives of tapes against closed forms and central differences, forward and in reverse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import appell as ap
from appell.algebra.scalar import nearest
from appell.compile.function import Function
from appell.compile.tape.differentiate import forward, reverse, seed
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace
from appell.errors import ArgumentError, TraceError

POINT = np.array([0.7, -1.3, 0.4])


def everything(x):
    """One expression for every instruction that can be differentiated."""
    a, b, c = x
    return [
        a * b - c / b + (-a),
        ap.sqrt(a * a + b * b) * ap.sin(c) + ap.cos(a * c),
        ap.atan2(b, a) + ap.atan2(a, 2.0),
        ap.select(b, a * a, c * c * c),
        ap.select(a, a * a, ap.sqrt(c)),
        a * nearest(4.0 * b) + nearest(c),
        ap.exp(a * b) * ap.log(c) + ap.tanh(b - c),
        ap.arcsin(a * c) + ap.arccos(b * c) * ap.erf(a),
        ap.power(a, b) + ap.power(b, 3.0) + ap.power(2.5, c) + c**1.5 + 2.0**b,
        ap.abs(b) * a + ap.abs(c) + ap.sign(b) * c,
        ap.minimum(a * a, b) * c + ap.maximum(a, b * b) - ap.minimum(c, 1.0) + ap.maximum(-1.0, c * b),
    ]


def tape():
    return trace("f", [Array("x", (3,))], lambda x: {"r": everything(x)})


def differences(function, x, step=1e-6):
    columns = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("mode", [forward, reverse])
def test_derivatives_agree_with_differences(mode):
    function = Function(tape())
    derivative = mode(function.tape, "df", [seed(function.inputs, "x")], [Array("d", (11, 3))])
    expected = differences(lambda x: evaluate(function.tape, x)[0], POINT)
    # central differences are good to about 1e-10 here
    np.testing.assert_allclose(evaluate(derivative, POINT)[0], expected, atol=1e-9)


def test_both_modes_agree_to_rounding():
    function = Function(tape())
    results = [
        evaluate(mode(function.tape, "df", [seed(function.inputs, "x")], [Array("d", (11, 3))]), POINT)[0]
        for mode in (forward, reverse)
    ]
    np.testing.assert_allclose(*results, rtol=1e-14, atol=1e-15)


def test_a_branch_that_is_not_selected_does_not_affect_the_derivative():
    function = Function(trace("f", [Array("x", (1,))], lambda x: {"r": ap.select(x[0], x[0] * x[0], ap.sqrt(x[0]))}))
    assert function.gradient("x")([3.0]).tolist() == [6.0]


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (lambda x, y: ap.abs(x) + 0.0 * y, 0.0, 1.0, [-1.0, 0.0]),
        (ap.minimum, 2.0, 2.0, [0.0, 1.0]),
        (ap.maximum, 2.0, 2.0, [0.0, 1.0]),
        (lambda x, y: ap.sign(x) * y, 0.0, 3.0, [0.0, 0.0]),
        (ap.power, 0.0, 2.0, [0.0, 0.0]),
    ],
    ids=["abs", "minimum", "maximum", "sign", "power"],
)
def test_derivatives_where_branches_meet_are_those_of_select(function, x, y, expected):
    of = trace("f", [Array("x", ()), Array("y", ())], lambda x, y: {"r": function(x, y)})
    for mode in (forward, reverse):
        d = mode(of, "df", [seed(of.inputs, name) for name in "xy"], [Array("dx", (1,)), Array("dy", (1,))])
        assert np.concatenate(evaluate(d, x, y)).tolist() == expected


def test_the_operand_that_is_not_the_minimum_does_not_affect_the_derivative():
    function = Function.of("f", {"x": 9}, lambda x: {"r": ap.minimum(-1.0, ap.sqrt(x[0])) + sum(x)})
    np.testing.assert_array_equal(function.gradient("x")(np.zeros(9)), np.ones(9))


def test_derivatives_of_higher_order_are_obtained_by_repetition():
    function = Function(trace("f", [Array("x", ())], lambda x: {"r": ap.sin(x) * x}))
    third = function.jacobian("x").jacobian("x").jacobian("x")
    x = 0.6
    np.testing.assert_allclose(np.squeeze(third(x)), -3 * np.sin(x) - x * np.cos(x), rtol=1e-14)


def test_derivatives_by_several_arguments_are_one_function():
    inputs = [Array("x", (2,)), Array("y", (3,))]
    function = Function(trace("f", inputs, lambda x, y: {"r": [x[0] * y[0] + x[1] * y[2], y[1] * y[1]]}))
    both = function.jacobian("x", "y")
    assert [str(output) for output in both.outputs] == ["dr_dx[2, 2]", "dr_dy[2, 3]"]
    dx, dy = both([1.0, 2.0], [3.0, 4.0, 5.0])
    assert dx.tolist() == [[3.0, 5.0], [0.0, 0.0]]
    assert dy.tolist() == [[1.0, 0.0, 2.0], [0.0, 8.0, 0.0]]


def test_many_directions_and_few_results_are_differentiated_in_reverse():
    size = 40

    def product(x):
        return {"r": math.prod(x[1:], start=x[0])}

    gradient = Function.of("f", {"x": size}, product).gradient("x")
    x = np.linspace(1, 2, size)
    np.testing.assert_allclose(gradient(x), np.prod(x) / x, rtol=1e-13)
    # forward, every direction passes through all products that follow it: about size² / 2 of them
    assert gradient.count().mul < 4 * size


def test_an_unknown_argument_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="It has: x"):
        Function(tape(), owner="robot 'r'").jacobian("y")
    with pytest.raises(ArgumentError, match="gradient of f: it has 11 scalar results"):
        Function(tape()).gradient("x")


def test_a_selection_by_a_constant_argument_allows_reverse_mode():
    """Reverse mode needs one sweep for the one result; forward mode would need one per direction, twenty."""

    def chain(x, p, scale):
        total = scale(p)
        for k in range(20):
            total = ap.sin(total + x[k])
        return {"r": total}

    inputs = [Array("x", (20,)), Array("p", ())]
    plain = Function(trace("f", inputs, lambda x, p: chain(x, p, lambda p: p * p)))
    chosen = Function(trace("f", inputs, lambda x, p: chain(x, p, lambda p: ap.select(p, p, -p))))
    assert len(chosen.gradient("x").tape.nodes) < len(plain.gradient("x").tape.nodes) + 5
    at = np.linspace(-1.0, 1.0, 20)
    np.testing.assert_array_equal(
        evaluate(chosen.gradient("x").tape, at, 1.0), evaluate(plain.gradient("x").tape, at, 1.0)
    )


@pytest.mark.parametrize("mode", [forward, reverse])
def test_a_seed_without_a_row_for_every_scalar_input_is_rejected(mode):
    inputs = [Array("x", (2,)), Array("y", (1,))]
    tape = trace("f", inputs, lambda x, y: {"f": x[0] * y[0]})
    short = trace("short", inputs, lambda x, y: {"seed": [[1.0], [0.0]]})
    with pytest.raises(TraceError, match=r"(?s)seed 'short' has 2 rows.*3, one per scalar input"):
        mode(tape, "df", [short], [Array("df", ())])
