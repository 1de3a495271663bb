"""Output-error identification, from data that Pinocchio simulates."""

from functools import cache, partial

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import CubicSpline
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.identify import LeastSquares, OutputError, process, select_parameters
from appell.identify.estimators.output_error import Segments
from appell.identify.samples import samples_of
from appell.identify.simulated_loop import ParameterMotion
from appell_lab.references.oracle import Oracle

DELAY_S, VISCOUS, COULOMB, STIFFNESS, NOISE = 6e-3, 0.02, 0.03, 0.4, 2e-5
PERIOD_S, INNER_STEPS, DURATION_S, WIDTH = 2e-3, 2, 8.0, 0.1


@cache
def finger():
    """Return a three-joint finger of example-robot-data with friction, and a spring at its last joint."""
    robot = ap.load("example-robot-data:finger_edu")
    friction = ap.Friction(viscous=VISCOUS, coulomb=COULOMB, width=WIDTH)
    changes = {name: {"friction": friction} for name in robot.actuator_names}
    changes[robot.actuator_names[-1]]["stiffness"] = STIFFNESS
    return robot.with_actuators(changes)


@cache
def log():
    """Return a log of the finger under a PD law, simulated with Pinocchio's ABA, friction, a spring and RK4 steps.

    The torques are written `DELAY_S` late.
    """
    robot = ap.load("example-robot-data:finger_edu")
    oracle, rng, h = Oracle(robot), np.random.default_rng(3), PERIOD_S / INNER_STEPS
    frequencies, phases = 2 * np.pi * np.array([0.3, 0.7, 1.3]), rng.uniform(0, 6.28, (3, 3))
    spring, gains = np.array([0.0, 0.0, STIFFNESS]), np.array([0.3, 0.3, 0.0])

    def torque(t, q):
        return np.array([0.12, 0.12, 0.1]) @ np.sin(frequencies[:, None] * t + phases) - gains * q

    def rate(t, x):
        q, v = x[:3], x[3:]
        friction = VISCOUS * v + COULOMB * v / np.sqrt(v**2 + WIDTH**2)
        return np.concatenate([v, pin.aba(oracle.model, oracle.data, q, v, torque(t, q) - friction - spring * q)])

    x, rows, t = np.zeros(6), [], np.arange(0.0, DURATION_S, PERIOD_S)
    for start in t:
        rows.append((x[:3], torque(start, x[:3])))
        for now in start + h * np.arange(INNER_STEPS):
            k1 = rate(now, x)
            k2 = rate(now + h / 2, x + h / 2 * k1)
            k3 = rate(now + h / 2, x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(now + h, x + h * k3))
    q, tau = (np.array(part) for part in zip(*rows, strict=True))
    q = q + NOISE * rng.normal(size=q.shape)
    late = CubicSpline(t, tau)(t - DELAY_S)
    return ap.Record.of(t[50:], {"q": q[50:], "tau": late[50:]}, robot.joint_names)


@cache
def parameters():
    return select_parameters(finger(), friction=("viscous", "coulomb"), width=WIDTH)


@cache
def fitted():
    data = process(log())
    return OutputError(parameters()).fit_record(data), LeastSquares(parameters()).fit_record(data)


def test_friction_stiffness_and_delay_are_found_from_positions():
    refined, plain = fitted()
    truth = parameters().base.values()
    names = np.array(parameters().base.names)
    estimated = refined.base_parameters_
    for kind in ("fv", "fc", "k"):
        rows = np.char.startswith(names, kind)
        assert rows.any()
        np.testing.assert_allclose(estimated[rows], truth[rows], rtol=0.03)
    assert abs(refined.delay_ - DELAY_S) < max(4.0 * refined.delay_std_, 5e-5)
    # in units of the standard deviations; least squares does not know the delay
    errors = [np.abs(fit.base_parameters_ - truth) / refined.std_ for fit in (refined, plain)]
    assert np.sqrt(np.mean(errors[0] ** 2)) < 2.0
    assert np.median(errors[1]) > 3.0
    assert refined.log_likelihoods_[-1] > refined.log_likelihoods_[0]


def test_derivatives_of_simulated_positions_agree_with_finite_differences():
    base = parameters().base
    data = process(log()).part(slice(0, 200))
    samples = samples_of(data, finger())
    segments = Segments(partial(ParameterMotion, base), samples.q, samples.v, samples.tau, data.t, 0.1)
    x, states = np.append(base.values(), 3e-3), segments.states
    normal = segments.linearise(x, states, np.ones_like(segments.q), True)
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5 * max(abs(x[k]), 1e-2)
        change = segments.residuals(x + step, states) - segments.residuals(x - step, states)
        expected = (change / (2.0 * step[k])).reshape(len(states), -1)
        np.testing.assert_allclose(normal.of_x[..., k], expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())
    step = 1e-6 * np.eye(6)[4]
    change = segments.residuals(x, states + step) - segments.residuals(x, states - step)
    expected = (change / 2e-6).reshape(len(states), -1)
    np.testing.assert_allclose(normal.of_states[..., 4], expected, rtol=1e-5, atol=1e-7)


def test_output_error_is_a_method_of_the_command(tmp_path):
    robot, table, report = tmp_path / "finger.toml", tmp_path / "log.csv", tmp_path / "report.md"
    ap.to_toml(finger(), robot)
    log().write(table)
    options = ["--friction", "--width", str(WIDTH), "--method", "output-error", "--delay", "0", "--report", str(report)]
    result = CliRunner().invoke(app, ["identify", str(robot), str(table), *options])
    assert result.exit_code == 0, result.output
    assert "output error" in report.read_text(encoding="utf-8")


def test_bad_input_of_output_error_is_named():
    base, (q, v, a, tau) = parameters(), np.random.default_rng(0).normal(size=(4, 100, 3))
    t = 0.01 * np.arange(100)

    def fit(t, **options):
        return OutputError(base, **options).fit(q, v, a, tau, t)

    with pytest.raises(ap.ArgumentError, match="times of the samples are missing"):
        fit(None)
    with pytest.raises(ap.ArgumentError, match=r"t has shape \(99,\)"):
        fit(t[:99])
    with pytest.raises(ap.ArgumentError, match="steps of t are uneven"):
        fit(t + 0.003 * (np.arange(100) == 50))
    with pytest.raises(ap.ArgumentError, match=r"segments are 0\.05 s long"):
        fit(t, segment=0.05)
    with pytest.raises(ap.ArgumentError, match=r"no run of 0\.8 s without gaps"):
        fit(t + 1.0 * (np.arange(100) >= 50), segment=0.8)
    with pytest.raises(ap.ArgumentError, match="iterations is 0"):
        fit(t, iterations=0)
