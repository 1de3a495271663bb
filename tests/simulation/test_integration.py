"""How a run is integrated: closed forms, reproducibility, callbacks, ends, settings."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import appell as ap
from appell.simulation import Status
from appell.simulation.events.hybrid import History

explicit = pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23"])


@pytest.fixture(scope="module")
def arm():
    return ap.Dynamics(ap.load("planar-2r"))


@pytest.fixture(scope="module")
def puma():
    return ap.Dynamics(ap.load("puma"))


def pendulum(frequency: float) -> ap.Dynamics:
    """A point mass on a massless rod, about a level axis, hanging at q = 0."""
    length = 9.81 / frequency**2
    builder = ap.Builder("pendulum", gravity=(0, 0, -9.81))
    builder.link("bob", ap.Revolute(axis=(0, 1, 0)), mass=2.0, com=(0, 0, -length), inertia=(1e-12, 1e-12, 1e-12))
    return ap.Dynamics(builder.build())


@pytest.mark.parametrize(
    ("method", "rtol", "tolerance"), [("DOP853", 1e-11, 1e-8), ("RK45", 1e-8, 1e-5), ("RK23", 1e-6, 1e-2)]
)
def test_a_pendulum_swings_by_elliptic_functions(method, rtol, tolerance):
    """sin(θ/2) = k sn(K - ωt), k = sin(θ₀/2), at any time; the bob's own inertia of 1e-12 is below rounding."""
    amplitude, frequency = 2.5, 3.0
    motion = ap.simulate(
        pendulum(frequency), [amplitude], until=5.0, solver=ap.Solver(method=method, rtol=rtol, atol=1e-2 * rtol)
    )
    t = np.linspace(0.0, 5.0, 301)
    m = np.sin(0.5 * amplitude) ** 2
    sn = ellipj(ellipk(m) - frequency * t, m)[0]
    np.testing.assert_allclose(motion(t)[0][:, 0], 2.0 * np.arcsin(np.sqrt(m) * sn), rtol=0, atol=tolerance)


@explicit
def test_a_constant_torque_and_a_function_that_returns_it_give_the_same_bits(puma, method):
    """One implementation of each method, with and without calls of Python."""
    tau = np.array([3.0, -20.0, 5.0, 0.1, -0.2, 0.05])
    given = {"q0": np.full(6, 0.3), "until": 0.4, "solver": ap.Solver(method, rtol=1e-7)}
    constant, called = (ap.simulate(puma, torque=torque, **given) for torque in (tau, lambda t, q, v: tau))
    np.testing.assert_array_equal(constant.t, called.t)
    np.testing.assert_array_equal(constant.q, called.q)
    np.testing.assert_array_equal(constant.v, called.v)


@explicit
def test_a_run_is_the_same_to_the_last_bit_when_repeated(arm, method):
    first, second = (ap.simulate(arm, [0.4, 1.0], until=2.0, solver=method) for _ in range(2))
    for name in ("t", "q", "v", "energy"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@explicit
def test_two_consecutive_runs_equal_one_run(arm, method):
    given = {"solver": ap.Solver(method, rtol=1e-9, atol=1e-11)}
    complete = ap.simulate(arm, [0.4, 1.0], until=1.5, **given)
    half = ap.simulate(arm, [0.4, 1.0], until=0.7, **given)
    rest = ap.simulate(arm, half.q[-1], half.v[-1], start=0.7, until=1.5, **given)
    assert (half.t[-1], rest.t[-1]) == (0.7, 1.5)
    np.testing.assert_allclose(rest.q[-1], complete.q[-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("until", [0.1, 0.3, 1.0])
def test_no_torque_is_evaluated_outside_the_run(arm, method, until):
    times = []

    def torque(t, q, v):
        times.append(t)
        return -0.5 * v

    motion = ap.simulate(arm, [0.4, 1.0], until=until, torque=torque, solver=ap.Solver(method=method, rtol=1e-6))
    assert motion.t[-1] == until
    assert min(times) >= 0.0
    assert max(times) <= until


@explicit
@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_of_a_torque_propagates_unchanged(arm, method, kind):
    raised = kind("here")

    def torque(t, q, v):
        if t > 0.2:
            raise raised
        return 0.0 * v

    with pytest.raises(kind) as caught:
        ap.simulate(arm, [0.4, 1.0], until=1.0, torque=torque, solver=method)
    assert caught.value is raised


def test_an_interrupt_between_the_columns_of_a_block_leaves_complete_rows(arm, monkeypatch):
    add_block, counts = History.add_block, []

    def interrupted(history, block):
        add_block(history, block)
        counts.append(len(history.times))
        if len(counts) == 2:
            del history.forces[counts[0] + 1 :]  # the forces of the latest rows are stored last
            raise KeyboardInterrupt

    monkeypatch.setattr(History, "add_block", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        ap.simulate(arm, [0.4, 1.0], until=1000.0)
    record = caught.value.record
    assert len(record.t) == counts[0] + 1 < counts[1]
    assert np.isfinite(record.tau).all()


def test_a_torque_function_may_run_a_simulation(arm):
    """A law that simulates ahead with the same dynamics does not disturb the run."""

    def predicted(t, q, v):
        return -0.1 * ap.simulate(arm, q, v, until=0.05, solver=ap.Solver(rtol=1e-5)).v[-1]

    def wrapped(t, q, v):
        return predicted(t, q, v)

    one, other = (
        ap.simulate(arm, [0.4, 1.0], until=0.2, torque=law, solver=ap.Solver(rtol=1e-6)) for law in (predicted, wrapped)
    )
    np.testing.assert_array_equal(one.q, other.q)
    assert one.energy[-1] < one.energy[0]


def test_runs_in_threads_are_those_of_one_thread(puma):
    starts = np.random.default_rng(3).uniform(-1.0, 1.0, (6, 6))
    ends: dict[int, np.ndarray] = {}

    def run(k):
        torque = (lambda t, q, v: -3.0 * v) if k % 2 else None
        ends[k] = ap.simulate(puma, starts[k], until=0.5, torque=torque).q[-1]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = dict(ends)
    for k in range(6):
        run(k)
        np.testing.assert_array_equal(together[k], ends[k])


def test_no_step_is_longer_than_max_step(arm):
    motion = ap.simulate(arm, [0.4, 1.0], until=1.0, solver=ap.Solver(max_step=0.01))
    assert np.diff(motion.t).max() <= 0.01 * (1.0 + 1e-12)
    assert len(motion.t) >= 101


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rtol", (np.inf, np.nan, 0.0, -1e-6, 2.0, "small", None)),
        ("atol", (np.inf, np.nan, 0.0, -1e-6, 1e300)),
        ("max_step", (np.nan, 0.0, -0.1)),
        ("tolerance", (np.inf, np.nan, 0.0, -1.0, 1e-16)),
        ("rest_speed", (np.inf, np.nan, 0.0, -1.0)),
        ("max_steps", (np.inf, np.nan, 0, -5, 2.5)),
        ("max_events", (np.inf, np.nan, 0, -5, 2.5)),
    ],
)
def test_invalid_settings_are_named(name, values):
    for value in values:
        with pytest.raises(ap.ArgumentError, match=f"{name} is "):
            ap.Solver(**{name: value})


def test_time_advances_with_the_shortest_max_step(arm):
    motion = ap.simulate(arm, [0.4, 1.0], start=1.0, until=2.0, solver=ap.Solver(max_step=1e-300, max_steps=5))
    assert motion.status == Status.STEPS.name
    assert (np.diff(motion.t) > 0.0).all()


def test_steps_stored_in_blocks_have_the_bits_of_steps_searched_for_events():
    robot, times = ap.load("puma"), np.linspace(0.0, 1.0, 41)
    for t_eval in (None, times):
        runs = [
            ap.simulate(robot, until=1.0, t_eval=t_eval, friction=False, stop=stop)
            for stop in (None, lambda t, q, v: 1.0)
        ]
        for name in ("t", "q", "v", "tau", "energy"):
            np.testing.assert_array_equal(*(getattr(run, name) for run in runs))
        np.testing.assert_array_equal(*(run(times)[0] for run in runs))
