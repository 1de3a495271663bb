"""Elastic joints against checked numbers: a pendulum in closed form, a 2R by SymPy, and the PUMA by Pinocchio."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import appell as ap

CASES = {
    case["name"]: case for case in json.loads(Path(__file__).with_name("elastic_joints.json").read_text())["cases"]
}


def frequencies(robot, q):
    """Return the undamped frequencies at rest at links q, rad/s, as signed roots of the eigenvalues of M⁻¹ ∂g/∂q."""
    dyn, zero = ap.Dynamics(robot), np.zeros(robot.link_nv)
    at = dyn.flat_state(q, zero, zero, zero)[0]
    squares = np.linalg.eigvals(np.linalg.solve(dyn.mass_matrix(at), dyn.gravity.jacobian("q")(at))).real
    return np.sort(np.sign(squares) * np.sqrt(np.abs(squares)))


def pendulum(case):
    p = case["parameters"]
    about = p["I"] - p["m"] * p["d"] ** 2
    body = ap.Body(p["m"], (p["d"], 0.0, 0.0), (about, about, about))
    motor = ap.Actuator(rotor_inertia=p["B"], elasticity=ap.Elasticity(p["K"]))
    joint = ap.Joint("hinge", ap.Revolute((0, 0, 1)), actuator=motor)
    return ap.Robot("pendulum", (ap.Link("rod", None, joint, body),), gravity=(p["g"], 0.0, 0.0))


def test_the_pendulum_has_the_feedforward_and_the_frequencies_of_the_closed_form():
    case = CASES["11_flexible_joint_pendulum"]
    robot, tolerance = pendulum(case), case["tolerance"]
    dyn = ap.Dynamics(robot)
    for row in case["rows"]:
        derivatives = [[x] for x in row["derivatives"]]
        q, v = dyn.flat_state(*derivatives[:4])
        ours = [dyn.feedforward(*derivatives)[0], q[1], v[1]]
        theirs = [row["tau"], row["theta"], row["theta_rate"]]
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(map(abs, theirs)))
    np.testing.assert_allclose(frequencies(robot, [0.0]), case["omega"], rtol=tolerance)
    M, K = dyn.mass_matrix([0.0, 0.0]), dyn.gravity.jacobian("q")([0.0, 0.0])
    assert np.sqrt(K[0, 0] / M[0, 0]) == pytest.approx(case["omega_motor_locked"], rel=tolerance)


def planar_arm(case, damped):
    """Motor 2 is a point mass at the elbow, on link 1."""
    p = case["parameters"]
    arm = ap.Builder("2r", gravity=(0.0, -p["g"], 0.0))
    mass = p["m1"] + p["mm2"]
    com = (p["m1"] * p["c1"] + p["mm2"] * p["l1"]) / mass
    about_com = p["I1"] + p["m1"] * (p["c1"] - com) ** 2 + p["mm2"] * (p["l1"] - com) ** 2
    links = (("1", None, 0.0, mass, com, about_com), ("2", "1", p["l1"], p["m2"], p["c2"], p["I2"]))
    for k, (name, parent, x, m, c, I) in enumerate(links, start=1):
        spring = ap.Elasticity(p[f"K{k}"], damping=p[f"D{k}"] * damped)
        motor = ap.Actuator(gear=p[f"r{k}"], rotor_inertia=p[f"Jm{k}"], elasticity=spring)
        inertia = (I, I, I)
        arm.link(
            name, ap.Revolute(), parent=parent, xyz=(x, 0, 0), mass=m, com=(c, 0, 0), inertia=inertia, actuator=motor
        )
    return arm.build()


def test_the_planar_arm_has_the_equations_of_its_lagrangian():
    case = CASES["12_2r_reduced"]
    dyn, tolerance = ap.Dynamics(planar_arm(case, True)), case["tolerance"]
    for state in case["states"]:
        q, v, tau = state["q"], state["v"], state["tau"][2:]
        for ours, theirs in (
            (dyn.mass_matrix(q), state["M"]),
            (dyn.bias(q, v), state["bias"]),
            (dyn.forward_dynamics(q, v, tau), state["a"]),
        ):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())
    hanging = frequencies(planar_arm(case, False), [-np.pi / 2, 0.0])
    np.testing.assert_allclose(hanging, case["omega_hanging"], rtol=1e-10)  # by finite differences there: 4e-11
    digits_40 = [
        3.70844624539471093,
        3.94736799360759166,
        59.8484982586222609,
        134.02580828203281,
    ]  # eigenvalues, mpmath
    np.testing.assert_allclose(hanging, digits_40, rtol=1e-12)


def test_the_planar_arm_has_the_feedforward_of_its_lagrangian():
    case = CASES["12_2r_reduced"]
    dyn = ap.Dynamics(planar_arm(case, False))
    for row in case["feedforward"]["rows"]:
        t, k = row["t"], np.arange(5)
        first = 0.5 * 2.0**k * np.sin(2.0 * t + k * np.pi / 2) - (k == 0)
        second = 0.4 * 3.0**k * np.cos(3.0 * t + k * np.pi / 2)
        derivatives = np.column_stack([first, second])
        np.testing.assert_allclose(dyn.feedforward(*derivatives), row["tau"], rtol=case["tolerance"])
        q, v = dyn.flat_state(*derivatives[:4])
        np.testing.assert_allclose([*q, *v], [*row["q"], *row["v"]], rtol=0, atol=case["tolerance"])
        np.testing.assert_allclose(dyn.forward_dynamics(q, v, row["tau"]), row["a"], rtol=0, atol=1e-11)


def puma(case, damped):
    p, arm = case["parameters"], ap.load("puma")
    springs = zip(arm.joint_names, p["K"], p["D"], strict=True)
    return arm.with_elastic_joints({name: ap.Elasticity(k, damping=d * damped) for name, k, d in springs})


def test_the_puma_has_the_accelerations_of_pinocchio_with_springs():
    case = CASES["15_puma_elastic_joints"]
    dyn, tolerance = ap.Dynamics(puma(case, True)), case["tolerance"]["forward"]
    for state in case["states"]:
        q, v = [*state["q"], *state["theta"]], [*state["v"], *state["theta_rate"]]
        theirs = np.array([*state["qdd"], *state["thdd"]])
        ours = dyn.forward_dynamics(q, v, state["tau"])
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())
        torques = np.array(state["spring_torque"])
        np.testing.assert_allclose(dyn.spring_torques(q, v), torques, rtol=0, atol=tolerance * np.abs(torques).max())


def test_the_puma_has_the_feedforward_and_the_frequencies_of_pinocchio():
    case = CASES["15_puma_elastic_joints"]
    robot, path, k = puma(case, False), case["feedforward"], np.arange(6)
    dyn, A, W = ap.Dynamics(robot), np.array(path["A"]), np.array(path["W"])
    for row in path["rows"]:
        derivatives = [A * W**i * np.sin(W * row["t"] + 0.7 * k + i * np.pi / 2) for i in range(5)]
        np.testing.assert_allclose(dyn.feedforward(*derivatives), row["tau"], rtol=case["tolerance"]["feedforward"])
        q, v = dyn.flat_state(*derivatives[:4])
        np.testing.assert_allclose([*q[6:], *v[6:]], [*row["theta"], *row["theta_rate"]], rtol=0, atol=1e-9)
    # at relaxed springs, as the reference has it; the five lowest are those of gravity
    at = robot.with_relaxed_springs(case["pose_of_frequencies"])
    squares = np.linalg.eigvals(np.linalg.solve(dyn.mass_matrix(at), dyn.gravity.jacobian("q")(at))).real
    ours = np.sort(np.sign(squares) * np.sqrt(np.abs(squares))) / (2.0 * np.pi)
    np.testing.assert_allclose(ours[6:], case["frequencies_Hz"][6:], rtol=1e-12)
