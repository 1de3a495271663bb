"""User-defined mechanisms: a crank slider, one with two motors, and an arm that is compared with a tree."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import LegJoint, Mechanism, MovingBody
from appell.describe.legs import Angle, closing_angle, cylinder, disc

CRANK, ROD = 0.1, 0.3


def crank_slider(actuators=("crank",)):
    """q = (x,), the position of the slider on a line through the crank's axis; the crank angle follows from it."""

    def theta(q):
        (x,) = q
        return closing_angle(x, 0.0, (x * x + (CRANK**2 - ROD**2)) * (0.5 / CRANK), 1)

    def crank(q):
        return ap.Pose(theta(q).about_z)

    def rod(q):
        t = theta(q)
        pin = CRANK * ap.Vec3(t.cosine, t.sine, 0.0)
        along = Angle((q[0] - pin.x) * (1.0 / ROD), -pin.y * (1.0 / ROD))
        return ap.Pose(along.about_z, pin)

    drives = {"crank": LegJoint("crank", lambda q: theta(q).value), "slider": LegJoint("slider", lambda q: q[0], "m")}
    mechanism = Mechanism(
        "crank-slider",
        ("x",),
        [
            MovingBody("crank", crank, cylinder(0.4, CRANK, 0.01)),
            MovingBody("rod", rod, cylinder(0.6, ROD, 0.01)),
            MovingBody("slider", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), disc(0.5, 0.02)),
        ],
        [drives[name] for name in actuators],
        home=(0.3,),
        units=("m",),
        gravity=(0.0, -9.81, 0.0),
    )
    return ap.Dynamics(mechanism)


def test_the_energy_of_a_crank_slider_agrees_with_textbook_formulas():
    robot = crank_slider()
    theta = np.linspace(0.3, 2.8, 40)
    omega = 3.0
    beta = np.arcsin(CRANK * np.sin(theta) / ROD)
    beta_rate = CRANK * omega * np.cos(theta) / (ROD * np.cos(beta))
    x = CRANK * np.cos(theta) + ROD * np.cos(beta)
    x_rate = -CRANK * omega * np.sin(theta) - ROD * beta_rate * np.sin(beta)
    crank, rod = (0.4, CRANK), (0.6, ROD)

    def about_end(mass, length):
        return mass * (0.01**2 / 4 + length**2 / 3)

    middle = np.stack(
        [
            -CRANK * omega * np.sin(theta) - ROD / 2 * beta_rate * np.sin(beta),
            CRANK * omega * np.cos(theta) - ROD / 2 * beta_rate * np.cos(beta),
        ]
    )
    centre = about_end(*rod) - rod[0] * (ROD / 2) ** 2
    kinetic = 0.5 * about_end(*crank) * omega**2 + 0.5 * 0.5 * x_rate**2
    kinetic = kinetic + 0.5 * rod[0] * (middle**2).sum(axis=0) + 0.5 * centre * beta_rate**2
    potential = 9.81 * (0.4 * CRANK / 2 + 0.6 * CRANK / 2) * np.sin(theta)
    T, U = robot.energy(x[:, None], x_rate[:, None])
    assert np.allclose(robot.actuator_positions(x[:, None])[:, 0], theta, rtol=1e-13)
    assert np.allclose(T, kinetic, rtol=1e-12)
    assert np.allclose(U, potential, rtol=1e-12)


def test_two_motors_on_one_coordinate_share_the_load_with_the_least_norm():
    one, two = crank_slider(), crank_slider(actuators=("crank", "slider"))
    motion = [0.33], [0.4], [1.5]
    Q, J = two.generalized_forces(*motion), two.actuator_jacobian(motion[0])
    tau = two.inverse_dynamics(*motion)
    assert np.allclose(J.T @ tau, Q, rtol=1e-13)
    assert np.allclose(tau, np.linalg.pinv(J.T) @ Q, rtol=1e-12)
    assert np.allclose(one.inverse_dynamics(*motion), Q / J[0], rtol=1e-13)
    assert np.allclose(two.forward_dynamics(motion[0], motion[1], tau), motion[2], rtol=1e-12)


@pytest.fixture(scope="module")
def arm():
    """The same two-link arm as a tree and as a mechanism."""
    bodies = cylinder(1.2, 0.5, 0.03), cylinder(0.7, 0.4, 0.02)
    joints = [
        ap.Joint("shoulder", ap.Revolute((0, 0, 1))),
        ap.Joint("elbow", ap.Revolute((0, 1, 0)), ap.Pose(translation=ap.Vec3(0.5, 0.0, 0.0))),
    ]
    links = ap.Link("upper", None, joints[0], bodies[0]), ap.Link("lower", "upper", joints[1], bodies[1])
    gravity = ap.Vec3(0.5, -1.0, -9.0)

    def upper(q):
        return joints[0].motion.pose(q[:1])

    def lower(q):
        return upper(q) @ joints[1].placement @ joints[1].motion.pose(q[1:])

    mechanism = Mechanism(
        "arm",
        ("shoulder", "elbow"),
        [MovingBody("upper", upper, bodies[0]), MovingBody("lower", lower, bodies[1])],
        [LegJoint("shoulder", lambda q: q[0]), LegJoint("elbow", lambda q: q[1])],
        home=(0.0, 0.0),
        gravity=gravity,
    )
    return ap.Dynamics(ap.Robot("arm", links, gravity=gravity)), ap.Dynamics(mechanism)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mass_matrix", 1),
        ("gravity", 1),
        ("bias", 2),
        ("energy", 2),
        ("inverse_dynamics", 3),
        ("forward_dynamics", 3),
        ("regressor", 3),
        ("coriolis", 2),
    ],
)
def test_the_dynamics_of_an_open_arm_agree_with_a_tree(arm, name, arguments):
    tree, mechanism = arm
    motion = np.random.default_rng(5).normal(size=(3, 30, 2))[:arguments]
    ours, theirs = (getattr(robot, name)(*motion) for robot in (mechanism, tree))
    assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-13)
