"""All estimators on data with known parameters."""

import numpy as np
import pytest

import appell as ap
from appell import identify
from appell.identify import (
    InstrumentalVariables,
    LeastSquares,
    Payload,
    PhysicallyConsistent,
    Ridge,
    Robust,
    TotalLeastSquares,
    flaws,
    select_parameters,
)
from identify.records import clean
from robots import random_tree

ROBOTS = [ap.load("puma"), ap.load("panda"), random_tree(3, 8)]


def noisy(seed=0, samples=1500, level=0.5, **options):
    """Return a PUMA with random motions and noise on tau: parameter set, truth, q, v, a, tau, tau without noise."""
    parameter_set = select_parameters(ap.load("puma"), **options)
    rng = np.random.default_rng(seed)
    truth = parameter_set.nominal.copy()
    truth[60:] = rng.uniform(0.2, 2.0, len(truth) - 60)
    q, v, a = parameter_set.sample(samples, rng)
    tau = parameter_set.regressor(q, v, a) @ truth
    return parameter_set, truth, q, v, a, tau + level * rng.normal(size=tau.shape), tau


@pytest.mark.parametrize("solver", ["qr", "svd", "pinv"])
@pytest.mark.parametrize("robot", ROBOTS, ids=str)
def test_clean_data_give_the_base_parameters_to_nine_digits(robot, solver):
    q, v, a, tau = clean(robot)
    zero = np.zeros(10 * len(robot.links))
    fit = LeastSquares(robot, solver=solver, prior=zero).fit(q, v, a, tau)
    truth = fit.base_.values()
    assert fit.rank_ == fit.base_.count
    # relative to each parameter; for those that are only rounding, relative to the largest one
    assert np.max(np.abs(fit.base_parameters_ - truth) / np.maximum(np.abs(truth), 1e-3 * np.abs(truth).max())) < 1e-9
    assert fit.score(q, v, a, tau) > 1.0 - 1e-12


def test_a_long_record_of_a_poor_motion_is_reduced_without_squaring_its_condition_number():
    """Blocks of rows are reduced one after the other; normal equations of the same rows lose twice the digits."""
    rng, robot = np.random.default_rng(0), ap.load("puma")
    q, v, a = (x + 3e-6 * rng.normal(size=(9000, 6)) for x in (0.3, 0.1, 0.0))
    base = identify.base_parameters(robot)
    Y = np.asarray(base.regressor(q, v, a))
    tau = Y @ base.values()
    R = identify.triangular_factors(base.regressor, (q, v, a), tau).weighted(np.ones(6))
    rows, size = Y.reshape(-1, base.count), np.linalg.norm(Y, axis=(0, 1))
    condition = np.linalg.cond(rows / size)
    assert condition > 1e6
    by_normal_equations = np.linalg.solve((rows / size).T @ (rows / size), (rows / size).T @ tau.ravel()) / size

    def error(beta):
        return np.linalg.norm(size * (beta - base.values())) / np.linalg.norm(size * base.values())

    bound = 10.0 * condition * np.finfo(float).eps
    assert error(np.linalg.solve(R[:-1, :-1], R[:-1, -1])) < bound < 0.1 * error(by_normal_equations)


def test_least_squares_agrees_with_numpy():
    parameter_set, _, q, v, a, tau, _ = noisy(friction=True, width=0.1)
    fit = LeastSquares(parameter_set, weighting=None).fit(q, v, a, tau)
    Y = parameter_set.regressor.columns(fit.base_.columns)(q, v, a).reshape(-1, fit.base_.count)
    expected, *_ = np.linalg.lstsq(Y, tau.ravel(), rcond=None)
    np.testing.assert_allclose(fit.base_parameters_, expected, rtol=1e-8, atol=1e-9)
    rest = tau.ravel() - Y @ expected
    covariance = np.linalg.inv(Y.T @ Y) * (rest @ rest) / (len(rest) - len(expected))
    # the inflation by autocorrelation is random here, a few percent
    np.testing.assert_allclose(fit.std_, np.sqrt(np.diag(covariance)), rtol=0.1)


def test_weighting_by_joint_improves_joints_with_little_noise():
    parameter_set, truth, q, v, a, _, tau = noisy(samples=3000)
    rng = np.random.default_rng(5)
    loud = tau + rng.normal(size=tau.shape) * np.array([20.0, 20.0, 20.0, 0.01, 0.01, 0.01])
    errors = []
    for weighting in ("joint", None):
        fit = LeastSquares(parameter_set, weighting=weighting).fit(q, v, a, loud)
        errors.append(np.abs((fit.base_parameters_ - fit.base_.values(truth))[-7:]).max())
    assert errors[0] < 0.1 * errors[1]


@pytest.mark.parametrize("kind", [LeastSquares, Ridge, Robust, TotalLeastSquares, PhysicallyConsistent])
def test_noise_is_averaged_and_the_intervals_contain_the_truth(kind):
    parameter_set, truth, q, v, a, tau, quiet = noisy(friction=True, rotor=True, width=0.1)
    fit = kind(parameter_set).fit(q, v, a, tau)
    beta = fit.base_.values(truth)
    inside = np.mean((fit.intervals()[:, 0] <= beta) & (beta <= fit.intervals()[:, 1]))
    assert inside > 0.85
    # 58 parameters from 9000 equations leave 0.5 sqrt(58/9000) = 0.04 of noise
    assert np.sqrt(np.mean((fit.predict(q, v, a) - quiet) ** 2)) < 0.06


def test_robust_fits_are_insensitive_to_outliers():
    parameter_set, truth, q, v, a, tau, _ = noisy()
    tau[::40] += 200.0
    beta = LeastSquares(parameter_set).fit(q, v, a, tau).base_.values(truth)
    errors = {}
    for kind, options in ((LeastSquares, {}), (Robust, {}), (Robust, {"loss": "tukey"})):
        fit = kind(parameter_set, **options).fit(q, v, a, tau)
        errors[kind, options.get("loss")] = np.linalg.norm(fit.base_parameters_ - beta)
    plain = errors.pop((LeastSquares, None))
    assert max(errors.values()) < 0.1 * plain


def test_ridge_regression_chooses_its_strength_and_helps_with_weak_data():
    parameter_set, truth, *_ = noisy()
    rng = np.random.default_rng(2)
    q = 0.05 * rng.normal(size=(120, 6))  # hardly moves
    v, a = 0.2 * rng.normal(size=(2, 120, 6))
    tau = parameter_set.regressor(q, v, a) @ truth + 0.5 * rng.normal(size=(120, 6))
    plain = LeastSquares(parameter_set, solver="svd").fit(q, v, a, tau)
    ridge = Ridge(parameter_set).fit(q, v, a, tau)
    beta = ridge.base_.values(truth)
    assert ridge.strength_ > min(ridge.strengths)
    assert np.linalg.norm(ridge.base_parameters_ - beta) < np.linalg.norm(plain.base_parameters_ - beta)
    assert len(ridge.cross_validation_) == len(ridge.strengths)


def test_instruments_remove_the_bias_of_a_noisy_motion():
    parameter_set, truth, q, v, a, _, tau = noisy(samples=4000)
    rng = np.random.default_rng(4)
    measured = q, v, a + 0.7 * rng.normal(size=a.shape)
    plain = LeastSquares(parameter_set).fit(*measured, tau)
    instrumental = InstrumentalVariables(parameter_set).fit(*measured, tau, instruments=(q, v, a))
    beta = plain.base_.values(truth)
    error = [np.linalg.norm(fit.base_parameters_ - beta) / np.linalg.norm(beta) for fit in (plain, instrumental)]
    assert error[0] > 0.2
    assert error[1] < 0.05


def test_total_least_squares_accounts_for_errors_of_the_columns():
    parameter_set = select_parameters(ap.load("pendulum"), friction=("viscous",))
    rng = np.random.default_rng(0)
    q, v, a = parameter_set.sample(20_000, rng)
    base = (
        LeastSquares(parameter_set)
        .fit(q, v, a, parameter_set.regressor(q, v, a) @ parameter_set.nominal + 1e-9 * rng.normal(size=v.shape))
        .base_
    )
    truth = np.linspace(1.0, 2.0, base.count)
    tau = parameter_set.regressor.columns(base.columns)(q, v, a) @ truth + 0.3 * rng.normal(size=v.shape)
    measured = q, v + 0.3 * rng.normal(size=v.shape), a + 0.3 * rng.normal(size=a.shape)
    equal = np.array([1e-6 if name.startswith("mc") else 1.0 for name in base.names])
    plain = LeastSquares(parameter_set).fit(*measured, tau)
    # errors of v and a are as large as those of tau
    total = TotalLeastSquares(parameter_set, column_errors=equal, weighting=None).fit(*measured, tau)
    assert np.abs(total.base_parameters_ - truth).max() < 0.03
    assert np.abs(plain.base_parameters_ - truth).max() > 0.1


def test_consistent_fits_are_physically_possible_at_any_noise():
    for seed in range(5):
        parameter_set, truth, q, v, a, tau, _ = noisy(seed, samples=60, level=5.0)
        free = LeastSquares(parameter_set).fit(q, v, a, tau)
        bound = PhysicallyConsistent(parameter_set).fit(q, v, a, tau)
        assert flaws(parameter_set, free.parameters_)
        assert not flaws(parameter_set, bound.parameters_)
        held = parameter_set.sample(300, np.random.default_rng(99))
        exact = parameter_set.regressor(*held) @ truth
        error = [np.sqrt(np.mean((fit.predict(*held) - exact) ** 2)) for fit in (free, bound)]
        assert error[1] < 1.05 * error[0]


def test_the_payload_is_estimated_with_its_mass_and_centre():
    parameter_set = select_parameters(ap.load("puma"))
    load = np.array([2.0, 0.02, 0.04, 0.2, 0.03, 0.0, 0.03, 0.0, -0.002, 0.01])
    q, v, a = parameter_set.sample(2000, np.random.default_rng(0))
    full = parameter_set.nominal.copy()
    full[50:60] += load
    tau = parameter_set.regressor(q, v, a) @ full
    fit = Payload(ap.load("puma")).fit(q, v, a, tau)
    np.testing.assert_allclose(fit.payload_, load, atol=1e-9)
    rough = tau + 0.5 * np.random.default_rng(1).normal(size=tau.shape)
    for physical in (False, True):
        fit = Payload(ap.load("puma"), physical=physical).fit(q, v, a, rough)
        assert fit.mass_ == pytest.approx(2.0, abs=0.02)
        np.testing.assert_allclose(fit.com_, [0.01, 0.02, 0.1], atol=0.003)
        assert fit.score(q, v, a, rough) > 0.7


def test_estimators_follow_the_conventions_of_scikit_learn():
    robot = ap.load("puma")
    fit = LeastSquares(robot, solver="svd", friction=True)
    params = fit.get_params()
    assert params["solver"] == "svd"
    assert params["friction"] is True
    twin = type(fit)(**params)
    assert twin.get_params() == params
    assert twin.set_params(rcond=1e-6).rcond == 1e-6
    with pytest.raises(ap.ArgumentError, match="no option 'tempo'"):
        fit.set_params(tempo=3)
    with pytest.raises(ap.ArgumentError, match="has not been fitted"):
        fit.predict(np.zeros(6), np.zeros(6), np.zeros(6))
    for kind in (Ridge, Robust, TotalLeastSquares, PhysicallyConsistent, InstrumentalVariables, Payload):
        estimator = kind(robot)
        assert type(estimator)(**estimator.get_params()).get_params() == estimator.get_params()
        assert estimator.get_params()["system"] is robot


def instruments(parameter_set, **options):
    """Return the fit of instrumental variables with the true motion as instruments."""
    fit = InstrumentalVariables(parameter_set, **options)
    return lambda q, v, a, tau: fit.fit(q, v, a, tau, instruments=(q, v, a))


@pytest.mark.parametrize(
    "kind", [LeastSquares, Ridge, Robust, TotalLeastSquares, instruments], ids=lambda k: k.__name__
)
def test_a_dead_zone_ignores_slow_samples_of_each_joint(kind):
    parameter_set, truth, q, v, a, _, tau = noisy(friction=True)
    slow = np.abs(v) < 0.3
    corrupted = np.where(slow, tau + 50.0, tau)
    make = kind if kind is instruments else lambda *given, **options: kind(*given, **options).fit
    fit = make(parameter_set, dead_zone=0.3)(q, v, a, corrupted)
    np.testing.assert_allclose(fit.base_parameters_, fit.base_.values(truth), rtol=1e-7, atol=1e-7)
    naive = make(parameter_set)(q, v, a, corrupted)
    assert np.abs(naive.base_parameters_ - naive.base_.values(truth)).max() > 1e-4


def test_the_dead_zone_of_a_mechanism_is_that_of_its_actuators():
    system = ap.load("five-bar")
    parameter_set = select_parameters(system, friction=True)
    q, v, a = parameter_set.sample(600, np.random.default_rng(0))
    truth = parameter_set.nominal + np.array([0.0] * 40 + [0.4, 0.3, 0.2] * 2)
    tau = parameter_set.regressor(q, v, a) @ truth
    rates = np.einsum("nij,nj->ni", ap.Dynamics(system).actuator_jacobian(q), v)
    corrupted = np.where(np.abs(rates) < 0.5, tau + 50.0, tau)
    fit = LeastSquares(parameter_set, dead_zone=0.5).fit(q, v, a, corrupted)
    np.testing.assert_allclose(fit.base_parameters_, fit.base_.values(truth), rtol=1e-7, atol=1e-7)


def test_a_second_fit_does_not_depend_on_the_first():
    first, second = (clean(ap.load("puma"), seed=seed) for seed in (1, 2))
    once = LeastSquares(ap.load("puma")).fit(*second)
    twice = LeastSquares(ap.load("puma")).fit(*first).fit(*second)
    np.testing.assert_array_equal(once.base_parameters_, twice.base_parameters_)
    kept = LeastSquares(ap.load("puma")).fit(*first)
    before = dict(vars(kept))
    with pytest.raises(ap.ArgumentError):
        kept.fit(*(x[:3] for x in second))
    assert vars(kept) == before
