"""Estimation of the widths of Coulomb friction, and their effect on confidence intervals."""

import numpy as np
import pytest

import appell as ap
from appell.identify import (
    LeastSquares,
    PhysicallyConsistent,
    export,
    identified_system,
    judge,
    process,
    select_parameters,
    split,
)
from appell.motion import Record
from appell_lab.campaigns.iiwa import Case, described

ARM = ap.load("planar-2r")
SMOOTH = np.array([0.1, 0.02])


def motion(seed=0, samples=4000):
    """Return random smooth motions with fast and slow parts."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) * 0.005
    waves = [(k, rng.normal(size=(2, 2))) for k in (1.0, 2.3, 3.7, 6.1)]
    q = sum(np.sin(k * t)[:, None] * x[0] + np.cos(k * t)[:, None] * x[1] for k, x in waves) * 0.4
    v = sum(k * (np.cos(k * t)[:, None] * x[0] - np.sin(k * t)[:, None] * x[1]) for k, x in waves) * 0.4
    a = sum(-k * k * (np.sin(k * t)[:, None] * x[0] + np.cos(k * t)[:, None] * x[1]) for k, x in waves) * 0.4
    return t, q, v, a


def torques(q, v, a, width, noise=0.0, seed=0):
    """Return torques with friction computed explicitly: 1.5 and 0.8 N m dry, 0.4 and 0.2 N m s viscous."""
    with np.errstate(invalid="ignore"):
        sign = np.nan_to_num(v / np.hypot(v, width))
    tau = ap.Dynamics(ARM).inverse_dynamics(q, v, a) + np.array([1.5, 0.8]) * sign + np.array([0.4, 0.2]) * v
    return tau + noise * np.random.default_rng(seed).normal(size=tau.shape)


@pytest.mark.parametrize("kind", [LeastSquares, PhysicallyConsistent])
def test_the_width_of_every_joint_is_estimated(kind):
    _, q, v, a = motion()
    fit = kind(ARM, friction=True).fit(q, v, a, torques(q, v, a, SMOOTH, 0.1))
    np.testing.assert_allclose(fit.widths_, SMOOTH, rtol=0.25)
    assert np.all((fit.width_bounds_[:, 0] < SMOOTH) & (fit.width_bounds_[:, 1] > SMOOTH))
    assert [actuator.friction.width for actuator in identified_system(fit).actuators] == fit.widths_.tolist()


def test_friction_with_a_discontinuous_sign_has_width_zero():
    _, q, v, a = motion()
    fit = LeastSquares(ARM, friction=True).fit(q, v, a, torques(q, v, a, 0.0, 0.05))
    assert fit.widths_.tolist() == [0.0, 0.0]
    exact = LeastSquares(ARM, friction=True).fit(q, v, a, torques(q, v, a, 0.0))
    values = dict(zip(exact.base_.names, exact.base_parameters_, strict=True))
    assert values["fc1"] == pytest.approx(1.5, abs=1e-9)


def test_a_given_width_is_kept_and_a_described_one_on_request():
    _, q, v, a = motion()
    tau = torques(q, v, a, SMOOTH, 0.1)
    smooth = ARM.with_actuators(lambda *_: ap.Actuator(friction=ap.Friction(width=0.03)))
    for options in ({"width": 0.03}, {"width": "described"}):
        fit = LeastSquares(smooth, friction=True, **options).fit(q, v, a, tau)
        assert not hasattr(fit, "widths_")
        assert {actuator.friction.width for actuator in fit.parameter_set_.system.actuators} == {0.03}
    with pytest.raises(ap.ArgumentError, match="width of Coulomb friction is 'wide'"):
        select_parameters(ARM, friction=True, width="wide")


def test_intervals_of_friction_contain_the_truth_unlike_those_with_a_guessed_width():
    """Forty records; with a width of 0.02 instead of 0.1, the Coulomb level is nearly always wrong."""
    _, q, v, a = motion(1, 1500)
    truth = {"fc1": 1.5, "fv1": 0.4, "fc2": 0.8, "fv2": 0.2}
    inside = {None: [], 0.02: []}
    for seed in range(40):
        tau = torques(q, v, a, SMOOTH, 0.2, seed)
        for width, results in inside.items():
            fit = LeastSquares(ARM, friction=True, width=width).fit(q, v, a, tau)
            bounds = dict(zip(fit.base_.names, fit.intervals(), strict=True))
            results.append([low <= truth[name] <= high for name, (low, high) in bounds.items() if name in truth])
    assert np.mean(inside[None]) >= 0.9
    assert np.mean(inside[0.02]) < 0.75


def test_the_description_is_kept_if_it_predicts_better_than_the_fit(tmp_path):
    """The fit uses torques dominated by noise, and is judged on the torques of the description."""
    t, q, v, a = motion()
    tau = ap.Dynamics(ARM).inverse_dynamics(q, v, a)
    rng = np.random.default_rng(0)
    fit = LeastSquares(ARM).fit(q, v, a, tau + 3.0 * np.abs(tau).max() * rng.normal(size=tau.shape))
    held = Record.of(t, {"q": q, "v": v, "a": a, "tau": tau}, ARM.joint_names)
    verdict = judge(fit, held)
    assert verdict.best is verdict.described
    assert verdict.passed
    assert "the description is kept unchanged" in verdict.to_markdown()
    export(verdict, tmp_path / "kept.toml")
    assert ap.load(tmp_path / "kept.toml").bodies == ARM.bodies


def test_a_verdict_that_fails_is_exported_only_on_request(tmp_path):
    t, q, v, a = motion()
    tau = torques(q, v, a, SMOOTH) + 40.0 * np.tanh(5.0 * v)
    fit = LeastSquares(ARM).fit(q, v, a, tau)  # friction is not estimated
    verdict = judge(fit, Record.of(t, {"q": q, "v": v, "a": a, "tau": tau}, ARM.joint_names))
    assert not verdict.passed
    with pytest.raises(ap.ArgumentError, match=r"is FAIL: the expected errors of 'shoulder' .* exceed 5 %"):
        export(verdict, tmp_path / "found.toml", consistent_bodies=True)
    assert not (tmp_path / "found.toml").exists()
    export(verdict, tmp_path / "found.toml", consistent_bodies=True, force=True)
    assert ap.load(tmp_path / "found.toml").nv == 2


def test_an_iiwa_with_friction_is_identified_from_a_weak_log():
    case = Case("weak", "low", 3)
    log = case.log()
    fit = PhysicallyConsistent(described(3), friction=True).fit_record(split(process(log))[0])
    truth = case.friction()
    values = dict(zip(fit.base_.names, fit.base_parameters_, strict=True))
    for kind, symbol in (("coulomb", "fc"), ("viscous", "fv")):
        np.testing.assert_allclose([values[f"{symbol}{k}"] for k in range(1, 8)], truth[kind], rtol=0.25)
    verdict = judge(fit, split(process(log, smooth=True))[1])
    assert verdict.best is verdict.judgements[0]
    assert verdict.best.error < 0.2 * verdict.described.error
