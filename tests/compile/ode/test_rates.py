"""Rates: held inputs, Python callbacks and their exceptions, ends of intervals, threads, the cache."""

import gc
import sys
import threading

import numpy as np
import pytest

from appell.compile.function import Function
from appell.compile.native import kernels
from appell.compile.native.machine import Target, assemble, host
from appell.compile.ode.driver import Reason, driver, driver_text
from appell.compile.ode.stepper import Rate, Stepper
from appell.compile.ode.tableau import METHODS
from appell.errors import ArgumentError
from compile.object_file import undefined_symbols
from compile.ode.problems import KEPLER_START, kepler, oscillator

methods = pytest.mark.parametrize("method", METHODS)


def finish(stepper):
    while (reason := stepper.advance(64)) is Reason.FULL:
        pass
    return reason


def decay(size=1, note=lambda t: None):
    """Return the rate ẏ = -y computed by Python; `note` is called with every time."""

    def compute():
        note(rate.time.item())
        np.negative(rate.y, out=rate.slope)

    rate = Rate.called(size, compute)
    return rate


def test_any_number_of_inputs_can_be_held_by_name():
    """ẋ = Σ over three held arrays, so x grows by it."""

    def body(x, a, b, c):
        return {"dx": [xi * 0.0 + a + b[0] + b[1] + c[0][0] + c[1][2] for xi in x]}

    rate = Rate.compiled(Function.of("several", {"x": 2, "a": (), "b": 2, "c": (2, 3)}, body), 1)
    assert {name: array.shape for name, array in rate.held.items()} == {"a": (), "b": (2,), "c": (2, 3)}
    rate.held["a"][()], rate.held["b"][:], rate.held["c"][:] = 1.0, [2.0, 3.0], np.arange(6.0).reshape(2, 3)
    stepper = Stepper("RK45", rate)
    stepper.start(0.0, [0.0, 1.0], 1.0, rtol=1e-6, atol=1e-6)
    assert finish(stepper) is Reason.END
    np.testing.assert_allclose(stepper.y, [11.0, 12.0], rtol=1e-14)


def test_held_inputs_can_be_changed_between_intervals():
    rate = oscillator()
    stepper = Stepper("DOP853", rate)
    for k in (1.0, 4.0):
        rate.held["k"][()] = k
        stepper.start(0.0, [1.0, 0.0], 2.0 * np.pi / np.sqrt(k), rtol=1e-11, atol=1e-11)
        finish(stepper)
        np.testing.assert_allclose(stepper.y, [1.0, 0.0], atol=1e-9)


def test_an_input_called_t_is_the_time():
    rate = Rate.compiled(Function.of("ramp", {"x": (), "t": ()}, lambda x, t: {"dx": 2.0 * t + 0.0 * x}), 1)
    stepper = Stepper("RK23", rate)
    stepper.start(1.0, [0.0], 3.0, rtol=1e-8, atol=1e-8)
    finish(stepper)
    np.testing.assert_allclose(stepper.y, [8.0], rtol=1e-12)


def test_a_function_called_before_an_evaluation_sets_held_inputs():
    """ẍ = -k x with k = 4 set by Python at every evaluation has the bits of k = 4 that is held."""
    held = oscillator()
    held.held["k"][()] = 4.0
    function = Function.of("spring", {"x": (), "v": (), "k": ()}, lambda x, v, k: {"dx": v, "dv": -k * x})
    called = Rate.compiled(function, 2, lambda: called.held["k"].fill(4.0))
    ends = []
    for rate in (held, called):
        stepper = Stepper("DOP853", rate)
        stepper.start(0.0, [1.0, 0.0], 3.0, rtol=1e-8, atol=1e-8)
        finish(stepper)
        ends.append(stepper.y)
    np.testing.assert_array_equal(*ends)


def test_results_beyond_the_slope_are_available():
    function = Function.of("more", {"x": 2}, lambda x: {"dx": [-x[0], -x[1]], "energy": x[0] * x[0] + x[1] * x[1]})
    rate = Rate.compiled(function, 1)
    rate.y[:] = 3.0, 4.0
    np.testing.assert_array_equal(rate(), [-3.0, -4.0])
    assert rate.given["energy"] == 25.0


def test_a_function_that_does_not_compute_a_rate_is_rejected():
    function = Function.of("wrong", {"x": 2, "v": 3}, lambda x, v: {"dx": list(x), "dv": list(x)})
    with pytest.raises(ArgumentError, match=r"does not compute the rate of x\[2\], v\[3\]"):
        Rate.compiled(function, 2)


class Stopped(BaseException):
    """An exception that is never caught by accident."""


@methods
@pytest.mark.parametrize("kind", [Stopped, KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_an_exception_of_a_callback_is_propagated_and_the_stepper_stays_usable(method, kind):
    raised = kind("at this time")

    def note(t):
        if t > limit[0]:
            raise raised

    limit = [0.5]
    stepper = Stepper(method, decay(3, note))
    stepper.start(0.0, np.ones(3), 2.0, rtol=1e-6, atol=1e-8)
    with pytest.raises(kind) as caught:
        finish(stepper)
    assert caught.value is raised
    assert [entry.name for entry in caught.traceback][-2:] == ["compute", "note"]
    assert 0.0 < stepper.t <= 0.5
    np.testing.assert_allclose(stepper.y, np.exp(-stepper.t), rtol=1e-4)
    limit[0] = np.inf
    stepper.start(stepper.t, stepper.y, 2.0, rtol=1e-6, atol=1e-8)
    assert finish(stepper) is Reason.END
    np.testing.assert_allclose(stepper.y, np.exp(-2.0), rtol=1e-4)


@methods
@pytest.mark.parametrize("until", [0.3, 1.0, 1.0 + 2**-52, 5e-324, 1e-300])
def test_no_evaluation_is_beyond_the_end_or_before_the_start(method, until):
    times = []
    stepper = Stepper(method, decay(1, times.append))
    stepper.start(0.0, [1.0], until, rtol=1e-6, atol=1e-8)
    assert finish(stepper) is Reason.END
    assert (min(times), max(times)) == (0.0, until)
    assert stepper.t == until


@methods
def test_consecutive_short_intervals_take_one_step_each(method):
    """A thousand intervals: rounding leaves no tiny step before an end, and no interval starts with a small step."""
    stepper, taken = Stepper(method, oscillator()), 0
    y, first = np.array([1.0, 0.0]), None
    for tick in range(1, 1001):
        start = 1e-3 * (tick - 1)
        stepper.start(start, y, 1e-3 * tick, rtol=1e-4, atol=1e-4, first=first)
        assert finish(stepper) is Reason.END
        taken += stepper.taken
        y, first = stepper.y, stepper.step
    assert taken <= 1003
    np.testing.assert_allclose(y, [np.cos(1.0), -np.sin(1.0)], atol=1e-9)


@methods
def test_no_step_exceeds_the_maximum_length(method):
    stepper = Stepper(method, oscillator())
    stepper.start(0.0, [1.0, 0.0], 1.0, rtol=1.0, atol=1.0, longest=0.03)
    lengths = []
    while stepper.advance(64) is Reason.FULL:
        lengths += [*(stepper.ends - stepper.starts)]
    lengths += [*(stepper.ends - stepper.starts)]
    assert max(lengths) <= 0.03 * (1.0 + 1e-12)
    assert len(lengths) >= 33


@methods
def test_integration_of_a_diverging_state_ends_at_a_finite_one(method):
    """ẋ = x² ends at t = 1 for x(0) = 1; ẋ = 1000 x overflows at t = 0.71."""
    square = Rate.compiled(Function.of("square", {"x": ()}, lambda x: {"dx": x * x}), 1)
    growth = Rate.compiled(Function.of("growth", {"x": ()}, lambda x: {"dx": 1000.0 * x}), 1)
    for rate, end in ((square, 1.0), (growth, np.log(np.finfo(float).max) / 1000.0)):
        stepper = Stepper(method, rate)
        stepper.start(0.0, [1.0], 2.0, rtol=1e-4, atol=1e-6)
        assert finish(stepper) in (Reason.STEP_TOO_SMALL, Reason.NOT_FINITE)
        assert np.isfinite(stepper.y).all()
        assert stepper.t == pytest.approx(end, abs=0.02)


@methods
def test_python_is_not_called_for_a_state_that_is_not_finite(method):
    """Slopes of 1e300 make trial states overflow, and Python code that computes with them would raise or warn."""
    seen = []

    def compute():
        seen.append(rate.y.copy())
        with np.errstate(over="ignore"):
            rate.slope[:] = 1e300 * rate.y

    rate = Rate.called(2, compute)
    stepper = Stepper(method, rate)
    stepper.start(0.0, [1.0, 1e5], 1.0, rtol=1e-3, atol=1e-3, first=1.0)
    assert stepper.advance(8) is not Reason.END
    assert np.isfinite(seen).all()


@methods
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_slope_that_is_not_finite_at_the_start_is_reported_at_once(method, bad):
    rate = oscillator()
    rate.held["k"][()] = bad
    stepper = Stepper(method, rate)
    for first in (0.1, None):
        stepper.start(0.0, [1.0, 0.0], 1.0, rtol=1e-6, atol=1e-6, first=first)
        assert stepper.advance(8) is Reason.NOT_FINITE
        assert stepper.taken == 0


@methods
@pytest.mark.parametrize("size", [1e-300, 1e-20, 1e20, 1e300])
def test_a_first_step_is_found_for_slopes_of_any_size(method, size):
    times = []

    def compute():
        times.append(rate.time.item())
        rate.slope[:] = size

    rate = Rate.called(1, compute)
    stepper = Stepper(method, rate)
    stepper.start(0.0, [1.0], 1e-3, rtol=1e-6, atol=1e-9)
    assert finish(stepper) is Reason.END
    np.testing.assert_allclose(stepper.y, 1.0 + 1e-3 * size, rtol=1e-12)
    assert (min(times), max(times)) == (0.0, 1e-3)


@methods
def test_a_singularity_that_no_step_can_resolve_is_reported(method):
    """A slope that grows without bound towards t = 0.5, but is finite everywhere."""

    def compute():
        rate.slope[:] = 1.0 / max(abs(rate.time.item() - 0.5), 1e-300)

    rate = Rate.called(1, compute)
    stepper = Stepper(method, rate)
    stepper.start(0.0, [0.0], 1.0, rtol=1e-6, atol=1e-6)
    assert finish(stepper) in (Reason.STEP_TOO_SMALL, Reason.NOT_FINITE)
    assert stepper.t == pytest.approx(0.5, abs=1e-3)


def test_threads_do_not_interfere():
    def run(results, number):
        stepper = Stepper("DOP853", decay(2) if number % 2 else kepler())
        start = np.ones(2) if number % 2 else KEPLER_START
        for _ in range(20):
            stepper.start(0.0, start, 3.0, rtol=1e-9, atol=1e-9)
            finish(stepper)
        results[number] = stepper.y

    results: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=run, args=(results, number)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        np.testing.assert_array_equal(results[number], results[number % 2])
    np.testing.assert_allclose(results[1], np.exp(-3.0), rtol=1e-8)


def test_callbacks_leak_nothing():
    answers = [object()]

    def compute():
        np.negative(rate.y, out=rate.slope)
        return answers[0]

    rate = Rate.called(1, compute)
    stepper = Stepper("RK45", rate)
    counts = []
    for _ in range(3):
        stepper.start(0.0, [1.0], 1.0, rtol=1e-8, atol=1e-8)
        finish(stepper)
        counts.append((sys.getrefcount(answers[0]), sys.getrefcount(compute)))
    assert counts[0] == counts[1] == counts[2]


def test_a_stepper_keeps_the_memory_of_its_code_alive():
    stepper = Stepper("RK45", oscillator())
    gc.collect()
    stepper.start(0.0, [1.0, 0.0], np.pi, rtol=1e-10, atol=1e-10)
    finish(stepper)
    np.testing.assert_allclose(stepper.y, [-1.0, 0.0], atol=1e-7)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The methods that are assembled and not found in an empty cache."""
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    names = []
    real = kernels.assemble

    def assemble(text, target, name):
        if name in METHODS:
            names.append(name)
        return real(text, target, name)

    monkeypatch.setattr(kernels, "assemble", assemble)
    driver.cache_clear()
    yield names
    driver.cache_clear()


def test_a_method_is_compiled_once_for_all_rates_and_then_loaded_from_disk(made):
    for rate in (oscillator(), kepler(), decay(7)):
        Stepper("RK45", rate)
    assert made == ["RK45"]
    driver.cache_clear()
    stepper = Stepper("RK45", oscillator())
    assert made == ["RK45"]
    stepper.start(0.0, [1.0, 0.0], np.pi, rtol=1e-10, atol=1e-10)
    finish(stepper)
    np.testing.assert_allclose(stepper.y, [-1.0, 0.0], atol=1e-7)


def test_a_changed_constant_of_a_method_changes_the_key(made, monkeypatch):
    driver("RK23")
    driver.cache_clear()
    monkeypatch.setattr("appell.compile.ode.driver.SAFETY", 0.8)
    driver("RK23")
    assert made == ["RK23", "RK23"]


@methods
@pytest.mark.parametrize("cpu", ["host", "x86-64", "x86-64-v3"])
def test_the_object_refers_to_nothing_outside_itself(method, cpu):
    if cpu != "host" and not host().triple.startswith("x86_64"):
        pytest.skip("another family of processors")
    target = host() if cpu == "host" else Target(host().triple, cpu, "", has_fma=cpu == "x86-64-v3")
    image = assemble(driver_text(METHODS[method](), target.has_fma), target, method)
    assert [symbol for symbol in undefined_symbols(image) if symbol != "_GLOBAL_OFFSET_TABLE_"] == []
