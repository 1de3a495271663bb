"""Sine, cosine and arctangent compared with multiple-precision arithmetic."""

import functools

import mpmath
import numpy as np
import pytest

from appell.compile.llvm.trigonometry import pi, pieces, two_over_pi
from appell.compile.native import kernels
from appell.compile.native.machine import Target, host
from appell.compile.tape.ops import Op
from compile.llvm.tapes import binary, tape
from compile.ufuncs import make_ufunc

DIGITS = 1200  # bits: enough to reduce 2^1023 and keep a double
FORMATS = {np.float64: (52, -1022, 1023), np.float32: (23, -126, 127)}
both_formats = pytest.mark.parametrize("kind", FORMATS, ids=["float64", "float32"])


@functools.cache
def sincos():
    return make_ufunc(tape({"x": ()}, {"s": (), "c": ()}, [(Op.INPUT, 0), (Op.SIN, 0), (Op.COS, 0)], [1, 2]))


@functools.cache
def atan2():
    return make_ufunc(binary(Op.ATAN2))


def units(got, exact, kind) -> float:
    """Return the error in units of the last place of the exact result."""
    fraction, smallest, _ = FORMATS[kind]
    exponent = max(mpmath.frexp(exact)[1] - 1, smallest) if exact else smallest
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.ldexp(1, exponent - fraction))


def worst(kind, x, ufunc=None) -> float:
    x = np.asarray(x, kind)
    sines, cosines = (ufunc or sincos())(x)
    assert sines.dtype == kind
    with mpmath.workprec(DIGITS):
        angles = [mpmath.mpf(float(angle)) for angle in x]
        errors = [units(got, mpmath.sin(angle), kind) for got, angle in zip(sines, angles, strict=True)]
        errors += [units(got, mpmath.cos(angle), kind) for got, angle in zip(cosines, angles, strict=True)]
    return max(errors)


@both_formats
@pytest.mark.parametrize("size", [0.8, 4.0, 1e3, 2.0**30])
def test_sines_of_moderate_angles_are_accurate_to_two_units(kind, size):
    assert worst(kind, np.random.default_rng(1).uniform(-size, size, 600)) < 2.0


@both_formats
def test_sines_near_multiples_of_a_right_angle_are_accurate_to_two_units(kind):
    draw = np.random.default_rng(2)
    k = np.concatenate([np.arange(1, 60), draw.integers(1, 2**14, 150), draw.integers(1, 2**29, 150)])
    with mpmath.workprec(200):
        near = np.array([float(mpmath.pi / 2 * int(each)) for each in k]).astype(kind)
    angles = np.concatenate([near, np.nextafter(near, kind(0)), np.nextafter(near, kind(np.inf))])
    assert worst(kind, np.concatenate([angles, -angles])) < 2.0


@both_formats
def test_sines_of_huge_angles_are_accurate_to_two_units(kind):
    draw = np.random.default_rng(3)
    largest = FORMATS[kind][2]
    angles = np.ldexp(draw.uniform(1, 2, 500), draw.integers(15, largest, 500)) * draw.choice([-1, 1], 500)
    assert worst(kind, angles) < 2.0


def test_the_double_nearest_to_a_multiple_of_a_right_angle_is_accurate():
    assert worst(np.float64, [6381956970095103 * 2.0**797, 1e300, -1e300, 2.0**1023, np.finfo(float).max]) < 2.0


@both_formats
def test_sines_of_tiny_angles_are_accurate_to_two_units_and_raise_no_flag(kind):
    smallest = FORMATS[kind][1]
    angles = np.ldexp(1.3, np.arange(-4, smallest, -7)).astype(kind)
    sincos()(np.zeros(1, kind))
    with np.errstate(all="raise"):
        assert worst(kind, angles) < 2.0
        sincos()(np.array([0.0, -0.0], kind))
    assert worst(kind, np.ldexp(kind(1), np.arange(smallest, smallest - 20, -3)).astype(kind)) < 2.0


@both_formats
def test_sines_without_fused_instructions_are_accurate_to_three_units(kind, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(kernels, "host", lambda: Target(host().triple, host().cpu, host().features, has_fma=False))
    unfused = make_ufunc(tape({"x": ()}, {"s": (), "c": ()}, [(Op.INPUT, 0), (Op.SIN, 0), (Op.COS, 0)], [1, 2]))
    angles = [np.random.default_rng(4).uniform(-size, size, 300) for size in (4.0, 1e4, 1e6, 1e12)]
    near = np.arange(1, 200) * (np.pi / 2)
    assert worst(kind, np.concatenate([*angles, near]), unfused) < 3.0


def test_a_huge_angle_in_one_lane_changes_no_bit_in_the_others():
    angles = np.random.default_rng(5).uniform(-1e6, 1e6, 64)
    mixed = angles.copy()
    mixed[5::7] = 1e200
    kept = mixed == angles
    for plain, beside in zip(sincos()(angles), sincos()(mixed), strict=True):
        np.testing.assert_array_equal(plain[kept], beside[kept])


def test_angles_of_angles_are_reduced_level_by_level():
    nodes = [(Op.INPUT, 0), (Op.SIN, 0), (Op.CONST, 1e20), (Op.MUL, 1, 2), (Op.COS, 3), (Op.ADD, 4, 1), (Op.SIN, 5)]
    x = np.linspace(-3, 3, 13)
    s = sincos()(x)[0]
    c = sincos()(s * 1e20)[1]
    want = sincos()(c + s)[0]
    np.testing.assert_array_equal(make_ufunc(tape({"x": ()}, {"y": ()}, nodes, [6]))(x), want)


@both_formats
@pytest.mark.parametrize("spread", [0, 3, 30])
def test_arctangents_are_accurate_to_three_units(kind, spread):
    draw = np.random.default_rng(6)
    y, x = (draw.normal(size=(2, 800)) * 10.0 ** draw.uniform(-spread, spread, (2, 800))).astype(kind)
    with np.errstate(under="ignore"):
        got = atan2()(y, x)
    with mpmath.workprec(300):
        exact = [mpmath.atan2(float(a), float(b)) for a, b in zip(y, x, strict=True)]
        assert max(units(g, e, kind) for g, e in zip(got, exact, strict=True)) < 3.0


@both_formats
def test_arctangents_keep_the_signs_of_zeros(kind):
    tiny, huge = np.finfo(kind).smallest_subnormal, np.finfo(kind).max
    special = np.array([0.0, -0.0, 1.0, -1.0, tiny, -tiny, huge, -huge], kind)
    y, x = (grid.ravel() for grid in np.meshgrid(special, special))
    atan2()(y, x)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        got = atan2()(y, x)
    want = np.arctan2(y, x)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(kind).eps)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_arctangents_of_infinite_values_are_those_of_c():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.CONST, 1e200), (Op.MUL, 0, 2), (Op.MUL, 1, 2), (Op.ATAN2, 3, 4)]
    ufunc = make_ufunc(tape({"y": (), "x": ()}, {"angle": ()}, nodes, [5]))
    special = np.array([0.0, -0.0, 1.0, -1.0, 1e200, -1e200])
    y, x = (grid.ravel() for grid in np.meshgrid(special, special))
    with np.errstate(over="ignore", invalid="raise"):
        got, want = ufunc(y, x), np.arctan2(y * 1e200, x * 1e200)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_a_negligible_arctangent_behind_the_axis_raises_no_flag():
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(atan2()([1e-300, -1e-300], -1e300), [np.pi, -np.pi])
        np.testing.assert_array_equal(atan2()(1e300, [1e-300, -1e-300]), np.pi / 2)


def test_the_digits_of_pi_are_correct():
    with mpmath.workprec(2000):
        assert abs(pi(1400) - int(mpmath.floor(mpmath.ldexp(mpmath.pi, 1400)))) <= 1
        assert abs(two_over_pi(1168) - int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 1168)))) <= 1
        cut = sum(mpmath.mpf(piece) for piece in pieces(0.5, (53, 53, 53)))
        assert abs(cut - mpmath.pi / 2) < mpmath.ldexp(1, -159)
