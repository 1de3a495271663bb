"""Circular functions of numbers are rounded correctly, so they do not depend on the C library."""

import math

import mpmath
import numpy as np
import pytest

import appell as ap
from appell.algebra import circular

CASES = {
    "sine": mpmath.sin,
    "cosine": mpmath.cos,
    "arcsine": mpmath.asin,
    "arccosine": mpmath.acos,
    "angle": mpmath.atan2,
}


def arguments(name, count=300):
    rng = np.random.default_rng(len(name))
    if name.startswith("arc"):
        return [(x,) for x in [*np.sin(rng.uniform(-2.0, 2.0, count)), 1.0, -1.0, 0.0, -0.0, 1e-30, 1.0 - 2.0**-53]]
    sizes = 2.0 ** rng.integers(-40, 50, count)
    if name == "angle":
        return [
            *zip(sizes * rng.normal(size=count), rng.normal(size=count), strict=True),
            (1e-300, 1e300),
            (-1e-9, -1.0),
        ]
    twelfths = [k * math.pi / 12 for k in range(-24, 25)]
    return [(x,) for x in [*(sizes * rng.normal(size=count)), *twelfths, 0.0, -0.0, 5e-324, 2.0**59]]


@pytest.mark.parametrize("name", CASES)
def test_results_are_rounded_correctly(name):
    exact = CASES[name]
    with mpmath.workprec(300):
        for case in arguments(name):
            x = [float(each) for each in case]
            result = getattr(circular, name)(*x)
            assert result == float(exact(*map(mpmath.mpf, x))), x


def test_special_values_are_those_of_the_library():
    assert [circular.angle(y, x) for y in (0.0, -0.0, math.inf) for x in (1.0, -1.0, 0.0, -0.0, math.inf)] == [
        math.atan2(y, x) for y in (0.0, -0.0, math.inf) for x in (1.0, -1.0, 0.0, -0.0, math.inf)
    ]
    assert math.isnan(circular.angle(math.nan, 1.0))
    assert math.isnan(circular.sine(math.nan))
    assert math.copysign(1.0, circular.sine(-0.0)) == -1.0
    for function in (circular.sine, circular.cosine):
        with pytest.raises(ValueError, match=r"math domain|finite"):
            function(math.inf)
    for function in (circular.arcsine, circular.arccosine):
        with pytest.raises(ValueError, match=r"math domain|range"):
            function(1.5)


@pytest.mark.parametrize("kind", [int, np.int64, np.float16, np.float32])
def test_numbers_of_other_types_are_accepted(kind):
    x = kind(1)
    assert (ap.sin(x), ap.arcsin(x), ap.atan2(x, x)) == (math.sin(1.0), math.pi / 2, math.pi / 4)
