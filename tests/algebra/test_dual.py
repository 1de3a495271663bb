"""Dual numbers, compared with the compiler's derivatives and with differences in 40 digits."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.algebra.derivative import Dual, slopes, value_and_rate
from appell.algebra.scalar import floor, nearest
from exact import derivative, exact


def everything(q):
    """Use every operation of a scalar."""
    x, y, z = q
    smooth = [ap.sin(x) * ap.cos(y) - z / (2.0 + x * x), ap.sqrt(1.0 + y * y) + 3.0 / (z * z + 1.0), -x + 2.0 - y]
    powers = [x**3 + y**1 - (1.0 + z * z) ** 0.5, (2.0 + x * x) ** -2, +x - 1.0]
    angles = [ap.atan2(y, x + 3.0), ap.atan2(1.0, x + 3.0), ap.atan2(z, 2.0)]
    chosen = [ap.select(x, y, z), ap.select(-x, 1.0, y * z), abs(y) + abs(-z)]
    curved = [ap.exp(x), ap.log(3.0 + x * x) * ap.tanh(y), ap.arcsin(ap.sin(x) / 2.0) + ap.arccos(ap.cos(y) / 2.0)]
    raised = [ap.power(1.0 + x * x, y), ap.power(2.0, z) + 3.0**x, (1.0 + y * y) ** 1.5 + ap.erf(z)]
    limited = [ap.minimum(x, y) + ap.minimum(0.5, z), ap.maximum(x, 0.2) * ap.maximum(y, z), ap.sign(x) * ap.abs(y)]
    return [smooth, powers, angles, chosen, curved, raised, limited]


def test_rates_agree_with_those_of_the_compiler():
    rng = np.random.default_rng(1)
    function = ap.Function.of("everything", {"q": 3}, lambda q: {"all": everything(q)})
    for _ in range(20):
        q, v = rng.normal(size=3), rng.normal(size=3)
        value, rate = value_and_rate(everything, q.tolist(), v.tolist())
        np.testing.assert_allclose(value, function(q), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(rate, function.jacobian("q")(q) @ v, rtol=1e-12, atol=1e-12)


def test_slopes_of_slopes_are_second_derivatives():
    rng = np.random.default_rng(2)

    def function(q):
        return ap.sin(q[0] * q[1]) / (1.0 + q[2] * q[2]) + ap.sqrt(2.0 + q[0]) * q[2]

    q, v = rng.uniform(-1.0, 1.0, 3), rng.normal(size=3)
    computed = value_and_rate(lambda at: slopes(function, at), q.tolist(), v.tolist())[1]
    expected = derivative(lambda at: slopes(function, at), lambda at: exact(v), exact(q))
    np.testing.assert_allclose(computed, [float(x) for x in expected], rtol=1e-13)


def test_roundings_have_rate_zero():
    x = Dual(2.7, 1.0)
    assert (nearest(x).value, nearest(x).rate) == (3.0, 0.0)
    assert (floor(x).value, floor(x).rate) == (2.0, 0.0)


def test_a_rate_can_be_traced():
    def rate(q):
        return {"rate": value_and_rate(lambda x: x[0] * x[0], q, [3.0])[1]}

    assert ap.Function.of("rate", {"q": 1}, rate)(np.array([5.0])) == 30.0


def test_operations_with_other_types_raise_a_type_error():
    with pytest.raises(TypeError):
        Dual(1.0, 0.0) * "x"
