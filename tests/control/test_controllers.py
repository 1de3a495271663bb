"""Control laws against Pinocchio, the exact solution of the linear error, and the simulated arm."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import appell as ap
from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.control.linear import linearize_closed_loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.response import closed_loop
from appell.hardware.plant import Plant
from appell.model.variations import with_masses, without_friction
from control_motion import START, Swing, ideal

PERIOD = 1e-3


@pytest.fixture(scope="module")
def arm(puma):
    return without_friction(puma)


@pytest.fixture(scope="module")
def plant(arm):
    return Plant(arm)


def controller(arm, poles=(-20.0, -20.0), law="tracking", period=PERIOD, **options) -> Controller:
    return Controller(Design(arm, placed(poles, period), law=law, period=period, **options))


def track(arm, plant, period: float, **options) -> float:
    plant.set_state(START)
    plant.longest_step = period
    response = closed_loop(controller(arm, period=period, **options), plant, Reference.sampled(Swing(), period))
    return float(np.abs(response.error).max())


def test_every_law_agrees_with_its_formula_in_pinocchio(puma):
    import pinocchio as pin

    model = pin.buildModelFromXML(ap.to_urdf(ideal(puma)))
    data, rng = model.createData(), np.random.default_rng(7)
    q, v, integral = rng.normal(size=(3, 6))
    q_d, v_d, a_d = reference = rng.normal(size=(3, 6))
    kp, kd, ki = rng.uniform(1.0, 50.0, (3, 6))
    e, de = q - q_d, v - v_d
    expected = {
        "point-to-point": pin.rnea(model, data, q, v, -kd * v - kp * e),
        "tracking": pin.rnea(model, data, q, v, a_d - kd * de - kp * e),
        "tracking-integral": pin.rnea(model, data, q, v, a_d - kd * de - kp * e - ki * integral),
        "pd-gravity": pin.rnea(model, data, q, 0 * v, 0 * v) - kd * de - kp * e,
        "pid": -kd * de - kp * e - ki * integral,
    }
    for law, tau in expected.items():
        gains = Gains(kp.tolist(), kd.tolist(), ki.tolist() if "integral" in law or law == "pid" else 0.0)
        function = Controller(Design(ideal(puma), gains, law=law, ahead=0.0)).function
        given = function(q, v, reference, integral, np.zeros(6))[2]
        np.testing.assert_allclose(given, tau, rtol=1e-12, atol=1e-10)


def test_continuous_tracking_with_a_perfect_model_is_as_accurate_as_the_integrator(puma):
    law = Controller(Design(ideal(puma), critical(20.0), ahead=0.0))
    motion = ap.simulate(
        ap.Dynamics(puma), START, None, 2.0, law.continuous(Swing()), solver=ap.Solver(rtol=1e-10, atol=1e-12)
    )
    assert np.abs(motion.q - Swing()(motion.t)[0]).max() < 1e-9


def test_the_error_of_sampled_tracking_is_proportional_to_the_square_of_the_period(arm, plant):
    errors = [track(arm, plant, period) for period in (2e-3, 1e-3, 5e-4)]
    assert errors[1] < 1e-6  # rad at 1 kHz
    for coarse, fine in pairwise(errors):
        assert 3.5 < coarse / fine < 4.5


def test_evaluating_the_model_half_a_period_ahead_gains_two_digits(arm, plant):
    assert track(arm, plant, PERIOD, ahead=0.5) < 0.02 * track(arm, plant, PERIOD, ahead=0.0)


@pytest.mark.parametrize("poles", [(-8, -12), (-10, -10), (-8 + 4j, -8 - 4j), (-6, -10, -15), (-20, -20, -20)], ids=str)
def test_the_sampled_error_has_the_desired_poles(arm, poles):
    law = "tracking-integral" if len(poles) == 3 else "tracking"
    actual = linearize_closed_loop(controller(arm, poles, law), arm, START).poles
    desired = np.asarray(poles, complex)
    for pole in actual:
        assert np.abs(desired - pole).min() < 0.01 * abs(pole)
    assert len(actual) == 6 * len(poles)


def test_the_poles_of_the_simulated_loop_agree_with_the_linearisation(arm, plant):
    """The loop is differentiated over one period by central differences, without using `control.linear`."""
    law, target = controller(arm, (-8, -12)), np.stack([START, np.zeros(6), np.zeros(6)])

    def one_period(x: np.ndarray) -> np.ndarray:
        plant.set_state(START + x[:6], x[6:])
        plant.longest_step = PERIOD
        law.reset()
        plant(law(plant.q, plant.v, target), PERIOD)
        return np.concatenate([plant.q - START, plant.v])

    h = 1e-5
    columns = [(one_period(h * unit) - one_period(-h * unit)) / (2 * h) for unit in np.eye(12)]
    poles = np.log(np.linalg.eigvals(np.array(columns).T).astype(complex)) / PERIOD
    np.testing.assert_allclose(np.sort(poles.real), [-12.0] * 6 + [-8.0] * 6, rtol=0.01)
    assert np.abs(poles.imag).max() < 0.05


def test_point_to_point_settles_without_overshoot_at_critical_damping(arm, plant):
    displacement = np.array([0.3, -0.2, 0.2, 0.4, -0.3, 0.5])
    plant.set_state(START)
    plant.longest_step = PERIOD
    law = controller(arm, (-10.0, -10.0), "point-to-point", torque_limit=np.inf)
    response = closed_loop(law, plant, Reference.hold(START + displacement, PERIOD, 2.5))
    remaining = (response.error / -displacement).T  # 1 at the start, 0 at the target, negative beyond it
    assert remaining.min() > -1e-7
    assert np.abs(remaining[:, -1]).max() < 1e-8
    t = response.t
    np.testing.assert_allclose(remaining, np.broadcast_to((1 + 10 * t) * np.exp(-10 * t), remaining.shape), atol=2e-3)


@pytest.mark.slow
def test_integral_action_removes_the_error_of_an_unknown_payload_and_friction(puma):
    model, limit = without_friction(puma), [actuator.torque_limit for actuator in puma.actuators]
    plant = Plant(puma.with_payload(2.0, com=(0.0, 0.0, 0.1)))
    reference = Reference.sampled(Swing(duration=2.0), PERIOD, duration=1.0)  # first half of the swing
    gains = critical(30.0, PERIOD, integral=True)
    final = {}
    for law, chosen in (("tracking", Gains(gains.kp, gains.kd)), ("tracking-integral", gains)):
        plant.set_state(START)
        plant.longest_step = PERIOD
        response = closed_loop(
            Controller(Design(model, chosen, law=law, torque_limit=limit)), plant, reference, settle=10.0
        )
        final[law] = np.abs(response.error[-1]).max()
    assert final["tracking"] > 1e-3
    assert final["tracking-integral"] < 0.01 * final["tracking"]


def test_a_model_with_wrong_masses_tracks_with_a_larger_error(arm, plant):
    right, wrong = (track(model, plant, PERIOD) for model in (arm, with_masses(arm, 1.1)))
    assert 100 * right < wrong < 0.05


def test_torque_and_its_rate_never_exceed_their_limits(arm, plant):
    limit, rate = np.array([30.0, 90.0, 40.0, 5.0, 5.0, 5.0]), 2000.0
    plant.set_state(START)
    plant.longest_step = PERIOD
    law = controller(arm, (-20, -20), "point-to-point", torque_limit=limit.tolist(), torque_rate=rate)
    response = closed_loop(law, plant, Reference.hold(START + 0.5, PERIOD, 0.5))
    assert (np.abs(response.tau) <= limit).all()
    assert (np.abs(response.tau) == limit).any()
    steps = np.abs(np.diff(response.tau, axis=0))
    assert steps.max() <= rate * PERIOD * (1 + 1e-9)


def test_the_integral_does_not_wind_up_while_the_torque_is_at_its_limit(arm):
    gains = placed((-20, -20, -20), PERIOD)
    held = Controller(Design(arm, gains, law="tracking-integral", torque_limit=1.0))
    free = Controller(Design(arm, gains, law="tracking-integral", torque_limit=np.inf))
    reference = np.stack([START + 0.3, np.zeros(6), np.zeros(6)])  # the arm does not move
    for _ in range(500):
        held(START, np.zeros(6), reference)
        free(START, np.zeros(6), reference)
    np.testing.assert_allclose(free.integral, -0.3 * 500 * PERIOD)
    saturated = np.abs(held._bound.demand) > 1.0
    assert saturated.any()
    assert np.abs(held.integral[saturated]).max() < 0.1 * np.abs(free.integral).max()


def test_the_integral_stays_within_its_limit(arm):
    law = controller(arm, (-20, -20, -20), "tracking-integral", integral_limit=0.01, torque_limit=np.inf)
    reference = np.stack([START + 0.1, np.zeros(6), np.zeros(6)])
    for _ in range(1000):
        law(START, np.zeros(6), reference)
    np.testing.assert_allclose(law.integral, -0.01)


@pytest.mark.parametrize("name", ["planar-2r", "panda", "stanford"])
def test_other_arms_are_controlled_as_well(name):
    robot = ap.load(name)
    plant = Plant(robot)
    plant.set_state(robot.start)
    path = Swing(robot.start, np.full(robot.nv, 0.2), 1.0)
    response = closed_loop(controller(robot), plant, Reference.sampled(path, PERIOD))
    assert np.abs(response.error).max() < 2e-6


def test_the_torque_limits_of_the_model_are_the_default(puma):
    free, gains, rest = ideal(puma), Gains(1e4, 20.0), np.zeros(6)  # actuators of `free` have no limits
    limited, unlimited = (Design(model, gains) for model in (puma, free))
    assert limited.torque_limit == tuple(puma.limits.torque.tolist())
    assert unlimited.torque_limit == (np.inf,) * 6
    reference = np.stack([START + 1.0, rest, rest])
    np.testing.assert_array_equal(np.abs(Controller(limited)(START, rest, reference)), puma.limits.torque)
    large = Controller(Design(free, gains, torque_limit=1e6))(START, rest, reference)
    np.testing.assert_array_equal(Controller(unlimited)(START, rest, reference), large)
    assert unlimited.to_c("arm").source
