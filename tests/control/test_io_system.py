"""Systems for python-control: simulations and linearisations there agree with those of appell."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell as ap
import control
from appell.control import io_system, linearize

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
T = np.linspace(0.0, 0.6, 13)


def wave(t):
    return np.stack([2.0 * np.sin(5.0 * np.asarray(t)), 0.5 * np.cos(3.0 * np.asarray(t))])


def test_a_simulation_in_python_control_agrees_with_appell():
    arm = ap.load("planar-2r")
    dyn = ap.Dynamics(arm)
    fine = np.linspace(0.0, 0.6, 6001)  # python-control interpolates inputs linearly between these points
    theirs = control.input_output_response(
        io_system(dyn), fine, wave(fine), [0.3, -0.2, 0.1, 0.4], solve_ivp_kwargs=TIGHT | {"max_step": 0.01}
    )
    ours = ap.simulate(
        dyn,
        [0.3, -0.2],
        [0.1, 0.4],
        until=0.6,
        torque=lambda t, q, v: wave(t),
        solver=ap.Solver(rtol=1e-11, atol=1e-12),
    )
    for t in T:
        q, v = ours(t)[:2]
        # linear interpolation of a wave of 50 N m/s² has an error of h²/8 · 50 = 6e-8 N m, over 0.6 s
        np.testing.assert_allclose(theirs.states[:, round(t / 1e-4)], np.concatenate([q, v]), atol=3e-7)


def test_names_are_those_of_the_robot():
    system = io_system(ap.load("planar-2r"))
    arm = ap.load("planar-2r")
    assert system.state_labels == [f"{kind}_{joint}" for kind in "qv" for joint in arm.joint_names]
    assert system.input_labels == [f"tau_{name}" for name in arm.actuator_names]
    assert system.output_labels == system.state_labels
    assert system.name == arm.name
    assert io_system(arm, name="plant").name == "plant"


@pytest.mark.parametrize("name", ["planar-2r", "puma"])
def test_the_linearisation_of_python_control_agrees_with_appell(name):
    robot = ap.load(name)
    q = np.linspace(-0.7, 0.9, robot.nq)
    ours = linearize(robot, q)
    theirs = control.linearize(io_system(robot), np.r_[q, np.zeros(robot.nv)], ours.point.tau)
    # python-control uses one-sided differences with step 1e-6, on values near 1e3
    np.testing.assert_allclose(theirs.A, ours.A, rtol=1e-4, atol=1e-4 * np.abs(ours.A).max())
    np.testing.assert_allclose(theirs.B, ours.B, rtol=1e-4, atol=1e-6 * np.abs(ours.B).max())


def test_outputs_are_chosen_by_name_and_by_function():
    dyn = ap.Dynamics(ap.load("puma"))
    chosen = ["v_joint3", "a_joint2", dyn.energy, dyn.pose("tool"), dyn.forward_dynamics, "q_joint1"]
    system = io_system(dyn, chosen)
    x, u = np.random.default_rng(0).uniform(-1, 1, 12), np.random.default_rng(1).uniform(-1, 1, 6)
    q, v = x[:6], x[6:]
    a, pose = dyn.forward_dynamics(q, v, u), dyn.pose("tool")(q)
    expected = [v[2], a[1], *dyn.energy(q, v), *pose.ravel(), *a, q[0]]
    np.testing.assert_array_equal(system.output(0.0, x, u), expected)
    np.testing.assert_array_equal(system.dynamics(0.0, x, u), [*v, *a])
    labels = system.output_labels
    assert labels[:5] == ["v_joint3", "a_joint2", "energy_T", "energy_U", "pose_tool_0_0"]
    assert labels[-2:] == ["forward_dynamics_5", "q_joint1"]


def test_external_wrenches_are_inputs():
    dyn = ap.Dynamics(ap.load("planar-2r"), wrenches=["tool"])
    system = io_system(dyn)
    assert system.input_labels[2:] == [f"wrench_tool_{axis}" for axis in ("fx", "fy", "fz", "mx", "my", "mz")]
    x, u = np.array([0.1, 0.2, 0.3, 0.4]), np.linspace(-1, 1, 8)
    np.testing.assert_array_equal(system.dynamics(0.0, x, u)[2:], dyn.forward_dynamics(x[:2], x[2:], u[:2], u[2:]))


def test_a_free_body_has_its_quaternion_among_the_states():
    body = ap.Builder("ball", base="floating", root="ball").root_body(1.0, (0, 0, 0), (0.1, 0.1, 0.1)).build()
    system = io_system(body)
    assert system.nstates == 13
    x = np.r_[np.zeros(3), 0.0, 0.0, 0.0, 1.0, np.zeros(5), 2.0]
    expected = np.r_[np.zeros(5), 1.0, 0.0, 0.0, 0.0, -9.81, np.zeros(3)]  # half the angular velocity, and gravity
    np.testing.assert_allclose(system.dynamics(0.0, x, np.zeros(6)), expected)


def test_a_loop_is_closed_in_python_control():
    """A PD law as an interconnection settles where its torque balances gravity."""
    arm = ap.load("planar-2r")
    plant = io_system(arm, name="plant")
    law = control.nlsys(
        None,
        lambda t, x, u, params: -400.0 * u[:2] - 40.0 * u[2:],
        inputs=plant.output_labels,
        outputs=plant.input_labels,
        name="law",
    )
    closed = control.interconnect([plant, law], inputs=None, outputs=plant.output_labels)
    end = control.input_output_response(closed, np.linspace(0.0, 4.0, 50), 0.0, np.zeros(4)).outputs[:, -1]
    q = end[:2]
    np.testing.assert_allclose(-400.0 * q, ap.Dynamics(arm).gravity(q), rtol=1e-3)
    np.testing.assert_allclose(end[2:], 0.0, atol=1e-3)


def test_invalid_outputs_and_systems_are_rejected(monkeypatch):
    puma = ap.load("puma")
    with pytest.raises(ap.ArgumentError, match=r"has no output 'q_joint7'\. Did you mean 'q_joint"):
        io_system(puma, ["q_joint7"])
    other = ap.Dynamics(ap.load("planar-2r")).energy
    with pytest.raises(ap.ArgumentError, match=r"energy takes q\[2\], v\[2\], which is not a state"):
        io_system(puma, [other])
    with pytest.raises(ap.ModelError, match="free inertial parameters"):
        io_system(puma.with_free("link6"))
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ap.ArgumentError, match=r"pip install .appell\[tuning\]"):
        io_system(puma)
