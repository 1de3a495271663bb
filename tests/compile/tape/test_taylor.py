"""Derivatives of a function along a motion, each compared with differences of the previous one."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.compile.function import Function
from appell.compile.tape.taylor import Taylor

Q, V, A = np.array([0.3, -0.8]), np.array([1.1, 0.4]), np.array([-0.6, 0.9])
WEIGHTS = np.array([[0.2, -1.0], [0.7, 1.3]])
STEP = 1e-5


def matrix(q):
    x, y = q
    return [[ap.sin(x) * y, x / (2.0 + y)], [ap.sqrt(1.0 + x * x), 3.0]]


@pytest.fixture
def taylor():
    return Taylor("matrix", 2, matrix)


def rate_of(function, *state):
    """d/dt of a function of (q, v) along the motion, by a central difference good to about 1e-10."""

    def at(t):
        return np.array(function(*(Q + V * t + A * t * t / 2, V + A * t)[: len(state)]))

    return (at(STEP) - at(-STEP)) / (2 * STEP)


def test_rates_are_time_derivatives(taylor):
    np.testing.assert_array_equal(taylor.value(Q), matrix(Q))
    np.testing.assert_allclose(taylor.rate(Q, V), rate_of(taylor.value, Q), atol=1e-9)
    np.testing.assert_allclose(taylor.second_rate(Q, V, A), rate_of(taylor.rate, Q, V), atol=1e-9)
    np.testing.assert_allclose(taylor.partial_rates(Q, V), rate_of(taylor.partials, Q), atol=1e-9)


def test_partials_times_velocities_are_the_rate(taylor):
    partials = np.array(taylor.partials(Q))
    assert partials.shape == (*taylor.shape, 2)
    np.testing.assert_allclose(partials @ V, taylor.rate(Q, V), rtol=1e-14)


def test_a_pullback_is_the_weighted_sum_of_partials(taylor):
    expected = np.einsum("ij,ijk->k", WEIGHTS, taylor.partials(Q))
    np.testing.assert_allclose(taylor.pullback(Q, WEIGHTS.tolist()), expected, rtol=1e-14)


def test_traced_results_equal_results_for_numbers(taylor):
    def body(q, v, a):
        return {
            "value": taylor.value(q),
            "rate": taylor.rate(q, v),
            "second": taylor.second_rate(q, v, a),
            "partials": taylor.partials(q),
            "partial_rates": taylor.partial_rates(q, v),
            "pullback": taylor.pullback(q, WEIGHTS.tolist()),
        }

    compiled = Function.of("all", {"q": 2, "v": 2, "a": 2}, body)(Q, V, A)
    numbers = body(Q.tolist(), V.tolist(), A.tolist())
    for got, expected in zip(compiled, numbers.values(), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
