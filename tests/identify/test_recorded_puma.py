"""Identification of the PUMA on the simulated cabinet, and from data of another simulator."""

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.identify import (
    InstrumentalVariables,
    LeastSquares,
    ParameterMotion,
    PhysicallyConsistent,
    Robust,
    SimulatedLoop,
    flaws,
    process,
    select_parameters,
)
from appell.motion import Record
from appell_lab.papers.identification import DEAD_ZONE, NOISY, PERIOD
from appell_lab.references.oracle import Oracle
from identify.records import clean, motion, motions, processed, puma, recorded, rig, under_a_known_law


@pytest.mark.parametrize("name", ["panda", "five-bar", "agile-wrist"])
def test_forward_dynamics_from_the_regressor_agrees_with_forward_dynamics(name):
    system = ap.load(name)
    base = select_parameters(system).base
    q, v, _, tau = clean(system, 30)
    expected = ap.Dynamics(system).forward_dynamics(q, v, tau)
    np.testing.assert_allclose(ParameterMotion(base, base.values())(q, v, tau), expected, rtol=1e-7, atol=1e-7)


def test_a_record_is_determined_by_its_seed():
    first, second, third = (rig().record(motions()[1], seed, NOISY).record for seed in (4, 4, 5))
    assert np.array_equal(first.data, second.data)
    assert not np.array_equal(first.q, third.q)
    codes = first.tau / np.array(rig().servo.info.resolution)  # torques are those of whole codes of the converters
    np.testing.assert_allclose(codes, np.round(codes), rtol=0.0, atol=1e-9)
    assert len(recorded()) == 10_001


def test_held_out_torques_are_predicted_within_two_percent_of_their_range():
    _, model, _, _ = puma()
    data, held = processed(), processed(2, 1, smooth=True)
    fit = LeastSquares(model, dead_zone=DEAD_ZONE).fit_record(data)
    free = fit.errors(*motion(held), held.tau)["relative"]
    assert free.max() < 0.02
    bound = PhysicallyConsistent(model, dead_zone=DEAD_ZONE).fit_record(data)
    assert not flaws(model, bound.parameters_)
    assert np.all(bound.errors(*motion(held), held.tau)["relative"] < 1.05 * free)
    robust = Robust(model, dead_zone=DEAD_ZONE).fit_record(data)
    assert robust.errors(*motion(held), held.tau)["relative"].max() < 0.02


@pytest.mark.slow
def test_the_intervals_contain_the_truth_nine_times_in_ten():
    _, model, base, truth = puma()
    beta, inside, feasible = base.values(truth), [], []
    for k in range(12):
        data = processed(1000 + k)
        fit = LeastSquares(model, dead_zone=DEAD_ZONE).fit_record(data)
        low, high = fit.intervals().T
        inside.append(np.mean((low <= beta) & (beta <= high)))
        if k % 6 == 0:
            bound = PhysicallyConsistent(model, dead_zone=DEAD_ZONE).fit_record(data)
            feasible.append(not flaws(model, bound.parameters_))
    print(f"inside the 95 % intervals: {np.mean(inside):.3f}")
    assert np.mean(inside) >= 0.9
    assert all(feasible)


@pytest.mark.slow
def test_a_simulated_loop_gives_instruments():
    law, base, beta, data = under_a_known_law()
    loop = SimulatedLoop(law, np.round(data.t / PERIOD).astype(int), hold=True)
    options = {"dead_zone": 0.05}
    fit = InstrumentalVariables(base.parameter_set, simulate=loop.motion, iterations=2, **options).fit_record(data)
    assert np.linalg.norm(fit.base_parameters_ - beta) < 0.02 * np.linalg.norm(beta)


def test_data_simulated_with_pinocchio_identify_the_robot():
    """The data come from Pinocchio's ABA with a separate integrator and a PD law, without code of appell."""
    robot = ap.load("puma")
    oracle = Oracle(robot)
    period, inner = 2e-3, 5
    t = np.arange(0.0, 10.0, period)
    series, _ = motions()
    reference, rate, _ = series(t)
    q, v = reference[0].copy(), rate[0].copy()
    kp, kd = np.array([4e3, 4e3, 2e3, 100.0, 60.0, 8.0]), np.array([300.0, 300.0, 150.0, 8.0, 4.0, 0.6])
    qs, taus = [], []
    h = period / inner
    for k in range(len(t)):
        tau = oracle.gravity(q) + kp * (reference[k] - q) + kd * (rate[k] - v)
        qs.append(q.copy())
        taus.append(tau)
        for _ in range(inner):
            a = pin.aba(oracle.model, oracle.data, q, v, tau)
            half = v + 0.5 * h * a
            q = q + h * half
            v = half + 0.5 * h * pin.aba(oracle.model, oracle.data, q, half, tau)
    rng = np.random.default_rng(0)
    q = np.array(qs) + 2e-5 * rng.normal(size=(len(t), 6))
    log = Record.of(t, {"q": q, "tau": np.array(taus)}, robot.joint_names)
    data = process(log, hold=True, band=15.0)
    fit = LeastSquares(robot, prior=np.zeros(60)).fit_record(data)
    beta = fit.base_.values()
    assert np.linalg.norm(fit.base_parameters_ - beta) < 0.01 * np.linalg.norm(beta)
    held = processed(2, 1)
    _, _, base, _ = puma()
    # against exact torques of the robot along another motion
    exact = ap.Dynamics(robot).inverse_dynamics(*motion(held))
    assert fit.errors(*motion(held), exact)["relative"].max() < 0.02
    assert base.inertial_count == fit.base_.count
