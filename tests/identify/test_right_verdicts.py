"""Verdicts agree with the truth: noise does not fail a good fit, and a wrong model does not pass."""

import json

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import CubicSpline
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.identify import LeastSquares, choose_band, estimate_delay, identify_record, process, select_parameters
from appell.model.body import welded
from appell_lab.campaigns.verdicts import Case, outcome

ARM = ap.load("planar-2r")


def log_of_an_arm(seconds=20.0, rate=200.0, delay=0.0, noise=0.0, filtered=None, law=None, size=0.5):
    """Return a log of the two-joint arm whose torques are late by `delay` and pass a filter of `filtered` Hz."""
    rng, t = np.random.default_rng(0), np.arange(0.0, seconds, 1.0 / rate)
    k = np.array([1.0, 2.3, 3.7])
    phase = rng.uniform(0.0, 6.0, (2, 3))

    def motion(t):
        angle = t[:, None, None] * k + phase
        return (size * x.sum(axis=-1) for x in (np.sin(angle), k * np.cos(angle), -(k**2) * np.sin(angle)))

    q, v, a = motion(t - delay)
    tau = ap.Dynamics(ARM).inverse_dynamics(q, v, a) + (0.0 if law is None else law(q, v))
    disturbance = noise * rng.normal(size=tau.shape)
    if filtered is not None:
        pole = np.exp(-2.0 * np.pi * filtered / rate)
        for n in range(1, len(t)):
            disturbance[n] = pole * disturbance[n - 1] + (1.0 - pole) * disturbance[n]
    return ap.Record.of(t, {"q": next(motion(t)), "tau": tau + disturbance}, ARM.joint_names)


@pytest.mark.parametrize("delay", [-8e-3, 0.0, 3e-3, 21e-3])
def test_the_delay_of_the_torques_is_estimated_within_its_standard_deviation(delay):
    data = process(log_of_an_arm(delay=delay, noise=0.5))
    estimate = estimate_delay(select_parameters(ARM), data)
    assert abs(estimate.value - delay) < 4.0 * estimate.std < 4e-3
    assert estimate.significant == bool(delay)


def test_a_delay_is_removed_and_reported():
    verdict = identify_record(LeastSquares(ARM), log_of_an_arm(delay=15e-3, noise=0.3))
    assert verdict.delay == pytest.approx(15e-3, abs=1e-3)
    assert verdict.passed
    assert "15 ms behind the positions" in verdict.to_markdown()
    late = identify_record(LeastSquares(ARM), log_of_an_arm(delay=15e-3, noise=0.3), delay=0.0)
    assert late.best.model_errors.max() > 3.0 * verdict.best.model_errors.max()
    assert late.limited_by == "timing"


def test_noise_of_half_the_torque_does_not_fail_a_good_fit():
    record = log_of_an_arm(seconds=60.0)
    rms = np.sqrt(np.mean(record.tau**2, axis=0))
    noise = 0.5 * rms * np.random.default_rng(1).normal(size=record.tau.shape)
    noisy = ap.Record.of(record.t, {"q": record.q, "tau": record.tau + noise}, ARM.joint_names)
    best = identify_record(LeastSquares(ARM), noisy).best
    assert best.passed
    assert best.residuals.min() > 0.05  # what is judged is not the residual
    assert best.parts.band < process(noisy).about["band"]  # the torques have lower frequencies than the filter allows
    passed = 0.9 * best.parts.band  # bandwidth of the filter for noise
    np.testing.assert_allclose(best.parts.torque_noise, 0.5 * rms * np.sqrt(2.0 * passed / 200.0), rtol=0.1)


def test_the_cut_off_frequency_of_a_torque_filter_is_estimated():
    verdict = identify_record(LeastSquares(ARM), log_of_an_arm(seconds=60.0, noise=1.0, filtered=20.0))
    np.testing.assert_allclose(verdict.best.parts.cutoff, 20.0, rtol=0.5)
    assert "cut-off frequency" in verdict.to_markdown()
    white = identify_record(LeastSquares(ARM), log_of_an_arm(seconds=60.0, noise=1.0))
    assert np.all(np.isinf(white.best.parts.cutoff))


def test_friction_that_the_model_does_not_have_fails_and_is_named():
    verdict = identify_record(LeastSquares(ARM), log_of_an_arm(noise=0.1, law=lambda q, v: 6.0 * np.sign(v)))
    assert not verdict.passed
    assert verdict.limited_by == "friction model"
    modelled = identify_record(
        LeastSquares(ARM, friction=True), log_of_an_arm(noise=0.1, law=lambda q, v: 6.0 * np.sign(v))
    )
    assert modelled.passed


def test_a_quiet_validation_does_not_make_small_errors_large():
    """The torque of this validation varies by a tenth of that of the log, and its noise is larger than that."""
    loud, quiet = log_of_an_arm(seconds=40.0, noise=0.5), log_of_an_arm(seconds=20.0, noise=0.5, size=0.02)
    verdict = identify_record(LeastSquares(ARM), loud, validation=quiet)
    assert verdict.passed
    assert verdict.best.errors["relative"].max() > 0.02  # relative to the range of the held-out torque, as before


def ur10_with_a_wrist_sensor(folder):
    """Write the log of the trial: a UR10 whose bodies are wrong by 20 %, friction, encoders of 1e-4 rad, jitter."""
    described = ap.load("example-robot-data:ur10_robot")
    rng, n = np.random.default_rng(4), described.nv
    model = pin.buildModelFromUrdf(described.source)
    for inertia in list(model.inertias)[1:]:
        scale = 1.0 + 0.2 * rng.choice([-1.0, 1.0])
        inertia.mass *= scale
        inertia.inertia = inertia.inertia * scale
    data = model.createData()
    size = rng.uniform(0.3, 0.6, (2, 5, n)) * rng.choice([-1.0, 1.0], (2, 5, n))
    path = ap.motion.Fourier(0.08, *size, described.start, 30.0)
    viscous, coulomb = np.array([8.0, 8.0, 5.0, 1.5, 1.5, 1.0]), np.array([6.0, 6.0, 4.0, 1.2, 1.0, 0.8])

    def torque(q, v, a):
        rigid = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a, strict=True)])
        return rigid + viscous * v + coulomb * np.tanh(v / 1e-3)

    t = np.arange(0.0, 29.9, 4e-3) + rng.uniform(0.0, 4e-4, 7475)
    q, v, a = path(t)
    noise = np.array([2.0, 2.0, 1.5, 0.4, 0.4, 0.4]) * rng.normal(size=q.shape)
    record = ap.Record.of(t, {"q": 1e-4 * np.round(q / 1e-4), "tau": torque(q, v, a) + noise}, described.joint_names)
    record.write(folder / "log.csv")
    other = ap.motion.Fourier(0.08, *rng.permuted(size, axis=1), described.start, 20.0)
    motion = other(np.linspace(0.0, 20.0, 500))
    return motion, torque(*motion), viscous, coulomb


def test_the_ur10_of_the_trial_passes_with_the_right_numbers(tmp_path):
    motion, tau, viscous, coulomb = ur10_with_a_wrist_sensor(tmp_path)
    exported = tmp_path / "identified.toml"
    arguments = ["identify", tmp_path / "log.csv", "--robot", "example-robot-data:ur10_robot", "--friction",
                 "--held-out", 0.3, "--export", exported, "--json"]  # fmt: skip
    result = CliRunner().invoke(app, [str(x) for x in arguments])
    assert result.exit_code == 0, result.output
    expected = {row["joint"]: row["relative"] for row in json.loads(result.stdout)["joints"]}
    identified = ap.load(exported)
    error = ap.Dynamics(identified, friction=True).inverse_dynamics(*motion) - tau
    relative = np.sqrt(np.mean(error**2, axis=0) / np.mean(tau**2, axis=0))
    assert relative.max() < 0.03
    np.testing.assert_allclose([expected[name] for name in identified.joint_names], relative, atol=0.02)
    for actuator, fv, fc in zip(identified.actuators, viscous, coulomb, strict=True):
        assert actuator.friction.viscous == pytest.approx(fv, rel=0.05)
        assert actuator.friction.coulomb == pytest.approx(fc, rel=0.05)


@pytest.mark.parametrize("number", [10, 11, 30, 31, 32, 33, 51, 53])
def test_verdicts_of_the_campaign_agree_with_the_truth(number):
    result = outcome(Case(number, 1))
    assert result["passed"] == result["good"], result


def test_a_load_on_a_panda_is_found_in_one_command(tmp_path):
    robot, rng = ap.load("panda"), np.random.default_rng(3)
    load = ap.Body(1.3, (0.02, -0.03, 0.08), (0.004, 0.005, 0.002))
    loaded = robot.with_bodies({"link7": welded(robot.bodies["link7"], load)})
    size = 0.25 * rng.normal(size=(2, 5, robot.nv))
    motion = ap.motion.Fourier(0.1, *size, robot.start, 10.0).record(period=2e-3)
    tau = ap.Dynamics(loaded, friction=True, rotors=True).inverse_dynamics(motion.q, motion.v, motion.a)
    tau += (0.05 * np.sqrt(np.mean(tau**2, axis=0)) + 0.1) * rng.normal(size=tau.shape)
    q = motion.q + 2e-5 * rng.normal(size=tau.shape)
    ap.Record.of(motion.t, {"q": q, "tau": tau}, robot.joint_names).write(tmp_path / "log.csv")
    arguments = ["identify", str(tmp_path / "log.csv"), "--robot", "panda", "--payload", "link7", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = {row["quantity"]: row for row in json.loads(result.stdout)["payload"]}
    assert rows["mass"]["value"] == pytest.approx(1.3, rel=0.01)
    for axis, value in zip("xyz", (0.02, -0.03, 0.08), strict=True):
        assert rows[f"centre {axis}"]["value"] == pytest.approx(value, abs=0.005)
    truth = {"mass": 1.3, "centre x": 0.02, "Ixx": 0.004, "Iyy": 0.005, "Izz": 0.002}
    for quantity, value in truth.items():
        half = 0.5 * (rows[quantity]["high"] - rows[quantity]["low"])
        assert abs(rows[quantity]["value"] - value) < 2.0 * half
    both = CliRunner().invoke(app, [*arguments, "--friction"])
    assert both.exit_code == 1
    assert "--payload is given together with" in both.output


def test_the_load_that_joints_cannot_show_is_named():
    """A pendulum about one axis shows neither the mass of a load nor its offset along the axis."""
    robot = ap.load("planar-2r")
    q, v, a = select_parameters(robot).sample(300, np.random.default_rng(0))
    tau = ap.Dynamics(robot.with_payload(1.0)).inverse_dynamics(q, v, a)
    notes = {row.quantity: row.note for row in ap.identify.Payload(robot).fit(q, v, a, tau).properties_}
    assert notes["Ixx"] == "not shown by this motion"
    assert notes["centre z"] == "not shown by this motion"


def test_wrong_stamps_of_even_samples_are_recognised_and_uneven_samples_are_resampled():
    """The delay of this log was estimated as 12 ms, because stamps with errors made smooth positions rough."""
    case = Case(13, 1)
    assert case.settings()["clock"] == "wrong stamps"
    verdict = case.verdict()
    assert verdict.passed
    assert abs(verdict.delay - case.settings()["delay"]) < 3e-3
    assert case.truth(verdict).max() < 0.015
    assert any("the positions are smoother at even steps" in remark for remark in verdict.remarks)
    record = log_of_an_arm(seconds=10.0)
    uneven = record.t + 1e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, len(record))
    remarks = process(
        ap.Record.of(uneven, {"q": CubicSpline(record.t, record.q)(uneven), "tau": record.tau}, ARM.joint_names)
    ).about["remarks"]
    assert any("resampled every" in remark for remark in remarks)


def test_a_gap_does_not_change_the_band_of_the_filter():
    record = log_of_an_arm(seconds=30.0)
    rows = np.r_[0:3000, 3080:6000]  # a gap of 0.4 s
    noisy = record.q + 1e-5 * np.random.default_rng(0).normal(size=record.q.shape)
    with_gap = ap.Record.of(record.t[rows], {"q": noisy[rows], "tau": record.tau[rows]}, ARM.joint_names)
    without = ap.Record.of(record.t, {"q": noisy, "tau": record.tau}, ARM.joint_names)
    assert choose_band(with_gap) == pytest.approx(choose_band(without), rel=0.25)
