"""Robots with loops under control, and identified: led along their independent joints, on the manifold all the time."""

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


def reach(system, way=(0.2, -0.15)):
    start = system.start[[0, 2]]
    return ap.motion.Spline([0.0, 1.0], [start, start + np.array(way)], names=MOTORS)


def test_a_tracking_law_leads_a_five_bar_along_a_path_of_its_motors():
    """The loop is the law's own model: errors are those of holding the torque for a period, far below a millirad."""
    system = five_bar()
    controller = ap.control.Controller(ap.control.Design(system, GAINS, period=1e-3))
    path, plant = reach(system), ap.hardware.Plant(system)
    samples = np.stack(path(1e-3 * np.arange(1001)), axis=1)
    response = ap.hardware.closed_loop(controller, plant, ap.hardware.Reference(samples, 1e-3, MOTORS))
    assert np.abs(response.error).max() <= 1e-4
    assert np.abs(ap.Dynamics(system).gap(response.q)).max() <= 1e-12
    np.testing.assert_allclose(response.q[-1, [0, 2]], path(1.0)[0], atol=1e-4)


def test_the_plant_moves_as_the_simulator_does():
    """Runge and Kutta's fourth order at 1 ms, of motions of about 20/s: 0.02⁴ a radian, and there is one."""
    system = five_bar()
    plant = ap.hardware.Plant(system)
    plant.place(system.start)
    tau = np.array([0.4, -0.3])
    for _ in range(200):
        plant(tau, 1e-3)
    run = ap.simulate(system, until=0.2, torque=tau, solver=ap.Solver(rtol=1e-11, atol=1e-12), progress=False)
    np.testing.assert_allclose(plant.q, run.q[-1], rtol=0, atol=1.6e-7)
    np.testing.assert_allclose(plant.v, run.v[-1], rtol=1.6e-7)


def test_the_poles_of_the_closed_loop_are_the_ones_that_were_asked_for():
    """Computed torque makes every independent joint a double pole at -20/s; sampling moves it by about 20² T."""
    system = five_bar()
    controller = ap.control.Controller(ap.control.Design(system, GAINS, period=1e-4))
    poles = ap.control.linearize_closed_loop(controller, system, system.start).poles
    np.testing.assert_allclose(poles.real, -20.0, atol=1.0)


def test_torques_of_a_lifted_path_drive_the_robot_along_it():
    """Inverse dynamics and simulation are one another's inverse, with all joints on the manifold."""
    system = five_bar()
    dyn, path = ap.Dynamics(system), reach(system)
    wanted = ap.motion.lift(dyn, path, samples=2001)
    run = ap.simulate(
        dyn,
        until=1.0,
        torque=lambda t, q, v: [np.interp(t, wanted.t, column) for column in wanted.tau.T],
        solver=ap.Solver(max_step=1e-3),
        progress=False,
    )
    np.testing.assert_allclose(run.q[-1], wanted.q[-1], rtol=0, atol=1e-4)


def test_parameters_of_a_five_bar_are_found_from_its_motion():
    system = five_bar()
    rng, sought = np.random.default_rng(0), ap.identify.seek(system)
    series = (0.4 * rng.normal(size=(4, 2)) for _ in range(2))
    path = ap.motion.Fourier(0.5, *series, system.start[[0, 2]], 4.0, names=MOTORS)
    record = ap.motion.lift(system, path, samples=1000)
    fit = ap.identify.LeastSquares(sought).fit_record(record)
    other = ap.motion.lift(system, reach(system))
    np.testing.assert_allclose(fit.predict(other.q, other.v, other.a), other.tau, atol=1e-8 * np.abs(other.tau).max())


# ---- what cannot be


def test_a_robot_that_rolls_is_sent_to_linear_feedback():
    with pytest.raises(ModelError, match="joint 'body' of robot 'diff-drive-caster' is planar"):
        ap.control.Design(constrained("diff-drive-caster", ("left", "right")), GAINS)


def test_too_few_motors_for_the_freedoms_are_counted():
    with pytest.raises(ModelError, match="has 1 actuators for 2 coordinates, too few to lead them"):
        ap.control.Design(constrained("five-bar", ("left1",)), GAINS)


def test_the_cabinet_says_that_it_does_not_know_where_all_joints_are():
    with pytest.raises(ModelError, match="has 4 coordinates and 2 velocities"):
        ap.hardware.generic_wiring(five_bar())


def test_a_series_of_sines_in_all_coordinates_would_open_the_loops():
    with pytest.raises(ArgumentError, match="has constraints, which a series of sines"):
        ap.identify.excite(ap.identify.seek(five_bar()))
