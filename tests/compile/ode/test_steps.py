"""Steps in machine code: accuracy, agreement with SciPy, closed forms."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy import integrate

from appell.compile.ode.driver import Reason
from appell.compile.ode.stepper import Rate, Stepper
from appell.compile.ode.tableau import METHODS
from compile.ode.problems import (
    KEPLER_START,
    kepler,
    kepler_slope,
    kepler_state,
    oscillator,
    pendulum,
    pendulum_state,
)

methods = pytest.mark.parametrize("method", METHODS)


def walk(stepper, blocks=(64,)):
    """All steps to the end: times, states at the ends, series."""
    starts, ends, series, call = [], [], [], 0
    reason = Reason.FULL
    while reason is Reason.FULL:
        reason = stepper.advance(blocks[min(call, len(blocks) - 1)])
        starts += [*stepper.starts]
        ends += [*stepper.ends]
        series += [*stepper.series.copy()]
        call += 1
    return reason, np.array(starts), np.array(ends), np.array(series)


def errors_at_fixed_steps(method, count, between):
    """The largest error over a period of an oscillator, at the ends of steps or within them."""
    stepper, period = Stepper(method, oscillator()), 2.0 * np.pi
    stepper.start(0.0, [1.0, 0.0], period, rtol=1.0, atol=1e9, first=period / count, longest=period / count)
    _, starts, ends, series = walk(stepper)
    assert len(ends) in (count, count + 1)  # the sum of the steps may be short of the end by rounding
    u = np.array([-0.6, 0.1, 0.7]) if between else np.array([1.0])
    worst = 0.0
    for start, end, one in zip(starts, ends, series, strict=True):
        t = start + (end - start) * 0.5 * (1.0 + u)
        worst = max(worst, np.abs(chebyshev.chebval(u, one) - [np.cos(t), -np.sin(t)]).max())
    return worst


@pytest.mark.parametrize(
    ("method", "between", "order", "count"),
    [
        ("DOP853", False, 8, 16),
        ("RK45", False, 5, 64),
        ("RK23", False, 3, 128),
        ("DOP853", True, 8, 12),
        ("RK45", True, 5, 64),
        ("RK23", True, 3, 128),
    ],
)
def test_the_error_falls_with_the_order(method, between, order, count):
    """The interpolants of orders 7, 4 and 3 lose one power within a step, but not over the interval: h^p for both."""
    coarse, fine = (errors_at_fixed_steps(method, n, between) for n in (count, 2 * count))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35)


@methods
def test_steps_agree_with_scipy_one_by_one(method):
    """Where errors are far above rounding, which enters their estimates by cancellation: no tiny first step."""
    start, until, rtol, atol, first = KEPLER_START, 12.0, 1e-4, 1e-6, 0.3 if method == "DOP853" else 0.03
    theirs = getattr(integrate, method)(kepler_slope, 0.0, start, until, rtol=rtol, atol=atol, first_step=first)
    ours = Stepper(method, kepler())
    ours.start(0.0, start, until, rtol=rtol, atol=atol, first=first)
    u = np.linspace(-1.0, 1.0, 7)
    while theirs.status == "running":
        theirs.step()
        ours.advance(1)
        assert ours.ends[0] == pytest.approx(theirs.t, rel=1e-9)
        np.testing.assert_allclose(ours.y, theirs.y, rtol=0, atol=1e-9)
        t = theirs.t_old + (theirs.t - theirs.t_old) * 0.5 * (1.0 + u)
        np.testing.assert_allclose(chebyshev.chebval(u, ours.series[0]), theirs.dense_output()(t), rtol=0, atol=1e-9)
    assert ours.advance(1) is Reason.END
    assert ours.t == until


@methods
def test_the_first_step_agrees_with_scipy(method):
    theirs = getattr(integrate, method)(kepler_slope, 0.0, KEPLER_START, 12.0, rtol=1e-6, atol=1e-8)
    ours = Stepper(method, kepler())
    ours.start(0.0, KEPLER_START, 12.0, rtol=1e-6, atol=1e-8)
    assert ours.step == pytest.approx(theirs.h_abs, rel=1e-9)


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize(("method", "rtol"), [("DOP853", 1e-12), ("RK45", 1e-9), ("RK23", 1e-7)])
def test_a_planet_follows_keplers_equation(method, rtol, looped):
    stepper = Stepper(method, kepler(looped))
    stepper.start(0.0, KEPLER_START, 20.0, rtol=rtol, atol=rtol)
    reason, *_ = walk(stepper)
    assert reason is Reason.END
    np.testing.assert_allclose(stepper.y, kepler_state(20.0), rtol=0, atol=1e3 * rtol)


@pytest.mark.parametrize("amplitude", [0.1, 1.5, 3.1])
def test_a_pendulum_follows_elliptic_functions_within_steps_too(amplitude):
    stepper = Stepper("DOP853", pendulum())
    stepper.start(0.0, [amplitude, 0.0], 20.0, rtol=1e-11, atol=1e-12)
    _, starts, ends, series = walk(stepper)
    u = np.linspace(-1.0, 1.0, 11)
    for start, end, one in zip(starts, ends, series, strict=True):
        t = start + (end - start) * 0.5 * (1.0 + u)
        np.testing.assert_allclose(chebyshev.chebval(u, one), pendulum_state(amplitude, t), rtol=0, atol=1e-8)


@methods
def test_interpolants_of_consecutive_steps_meet(method):
    stepper = Stepper(method, kepler())
    stepper.start(0.0, KEPLER_START, 5.0, rtol=1e-7, atol=1e-9)
    _, starts, ends, series = walk(stepper)
    np.testing.assert_array_equal(starts[1:], ends[:-1])
    np.testing.assert_allclose(
        chebyshev.chebval(-1.0, series[1:].transpose(1, 2, 0)),
        chebyshev.chebval(1.0, series[:-1].transpose(1, 2, 0)),
        rtol=0,
        atol=2e-15,
    )


@methods
def test_bits_do_not_depend_on_the_number_of_steps_per_call(method):
    def run(blocks):
        stepper = Stepper(method, kepler())
        stepper.start(0.0, KEPLER_START, 5.0, rtol=1e-7, atol=1e-9)
        return walk(stepper, blocks)

    for one, other in zip(run((1,)), run((1, 2, 4, 64)), strict=True):
        np.testing.assert_array_equal(one, other)


@methods
def test_two_intervals_equal_one_to_the_tolerance(method):
    stepper, rtol = Stepper(method, kepler()), 1e-9
    stepper.start(0.0, KEPLER_START, 6.0, rtol=rtol, atol=rtol)
    walk(stepper)
    end = stepper.y
    stepper.start(0.0, KEPLER_START, 2.3, rtol=rtol, atol=rtol)
    walk(stepper)
    assert stepper.t == 2.3
    stepper.start(2.3, stepper.y, 6.0, rtol=rtol, atol=rtol, first=stepper.step)
    walk(stepper)
    np.testing.assert_allclose(stepper.y, end, rtol=0, atol=3e2 * rtol)


@methods
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 61])
def test_states_of_any_size(method, size):
    """ẏ = -y from Python; unused lanes of the last register have no effect."""
    rate = Rate.called(size, lambda: np.negative(rate.y, out=rate.slope))
    stepper, start = Stepper(method, rate), np.arange(1.0, size + 1.0)
    stepper.start(0.0, start, 1.0, rtol=1e-7, atol=1e-9)
    ends = walk(stepper)[2]
    np.testing.assert_allclose(stepper.y, np.exp(-1.0) * start, rtol=1e-5)
    theirs = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), start, method, rtol=1e-7, atol=1e-9)
    assert len(ends) == len(theirs.t) - 1


@methods
def test_a_trial_step_to_infinity_leaves_no_trace(method):
    """The size of the state is not a multiple of a register's, whose padding no rate writes."""
    rate = oscillator()
    stepper = Stepper(method, rate)
    stepper.start(0.0, [1.0, 0.0], 1e308, rtol=1e-8, atol=1e-10, first=1e307)
    assert stepper.advance(64) is Reason.FULL
    assert not np.isnan(rate.slopes).any()
    np.testing.assert_allclose(np.hypot(*stepper.series.sum(axis=1)[-1][:2]), 1.0, atol=1e-5)
