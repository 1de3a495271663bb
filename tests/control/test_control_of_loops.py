"""Control and identification of robots with loops, through their independent joints."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelError
from constrained_cases import constrained

MOTORS = ("left1", "right1")
GAINS = ap.control.critical(20.0)


def five_bar():
    return constrained("five-bar", MOTORS)


def reach(system, displacement=(0.2, -0.15)):
    start = system.start[[0, 2]]
    return ap.motion.Spline([0.0, 1.0], [start, start + np.array(displacement)], names=MOTORS)


def test_a_tracking_law_controls_a_five_bar_along_a_path_of_its_motors():
    """The model is exact, so errors are only those of holding the torque for a period, far below 1 mrad."""
    system = five_bar()
    controller = ap.control.Controller(ap.control.Design(system, GAINS, period=1e-3))
    path, plant = reach(system), ap.hardware.Plant(system)
    samples = np.stack(path(1e-3 * np.arange(1001)), axis=1)
    response = ap.hardware.closed_loop(controller, plant, ap.hardware.Reference(samples, 1e-3, MOTORS))
    assert np.abs(response.error).max() <= 1e-4
    assert np.abs(ap.Dynamics(system).gap(response.q)).max() <= 1e-12
    np.testing.assert_allclose(response.q[-1, [0, 2]], path(1.0)[0], atol=1e-4)


def test_the_plant_agrees_with_the_simulator():
    """The error of the fourth-order method at 1 ms, for motions with rates of about 20/s, is 0.02⁴ per radian."""
    system = five_bar()
    plant = ap.hardware.Plant(system)
    plant.set_state(system.start)
    tau = np.array([0.4, -0.3])
    for _ in range(200):
        plant(tau, 1e-3)
    run = ap.simulate(system, until=0.2, torque=tau, solver=ap.Solver(rtol=1e-11, atol=1e-12), progress=False)
    np.testing.assert_allclose(plant.q, run.q[-1], rtol=0, atol=1.6e-7)
    np.testing.assert_allclose(plant.v, run.v[-1], rtol=1.6e-7)


def test_the_closed_loop_has_the_desired_poles():
    """Computed torque gives every independent joint a double pole at -20/s; sampling shifts it by about 20² T."""
    system = five_bar()
    controller = ap.control.Controller(ap.control.Design(system, GAINS, period=1e-4))
    poles = ap.control.linearize_closed_loop(controller, system, system.start).poles
    np.testing.assert_allclose(poles.real, -20.0, atol=1.0)


def test_torques_of_a_lifted_path_move_the_robot_along_it():
    """Simulation inverts inverse dynamics, with all joints on the constraint manifold."""
    system = five_bar()
    dyn, path = ap.Dynamics(system), reach(system)
    lifted = ap.motion.lift(dyn, path, samples=2001)
    run = ap.simulate(
        dyn,
        until=1.0,
        torque=lambda t, q, v: [np.interp(t, lifted.t, column) for column in lifted.tau.T],
        solver=ap.Solver(max_step=1e-3),
        progress=False,
    )
    np.testing.assert_allclose(run.q[-1], lifted.q[-1], rtol=0, atol=1e-4)


def test_parameters_of_a_five_bar_are_identified_from_its_motion():
    system = five_bar()
    rng, parameter_set = np.random.default_rng(0), ap.identify.select_parameters(system)
    series = (0.4 * rng.normal(size=(4, 2)) for _ in range(2))
    path = ap.motion.Fourier(0.5, *series, system.start[[0, 2]], 4.0, names=MOTORS)
    record = ap.motion.lift(system, path, samples=1000)
    fit = ap.identify.LeastSquares(parameter_set).fit_record(record)
    other = ap.motion.lift(system, reach(system))
    np.testing.assert_allclose(fit.predict(other.q, other.v, other.a), other.tau, atol=1e-8 * np.abs(other.tau).max())


# ---- errors


def test_a_rolling_robot_is_rejected():
    with pytest.raises(ModelError, match="joint 'body' of robot 'diff-drive-caster' is planar"):
        ap.control.Design(constrained("diff-drive-caster", ("left", "right")), GAINS)


def test_too_few_actuators_are_reported():
    with pytest.raises(ModelError, match="has 1 actuators for 2 coordinates, too few to control them"):
        ap.control.Design(constrained("five-bar", ("left1",)), GAINS)


def test_the_cabinet_rejects_a_robot_with_loops():
    with pytest.raises(ModelError, match="has 4 coordinates and 2 velocities"):
        ap.hardware.generic_wiring(five_bar())


def test_excitation_of_a_robot_with_loops_is_rejected():
    with pytest.raises(ArgumentError, match="has constraints, which a Fourier series"):
        ap.identify.excite(ap.identify.select_parameters(five_bar()))
