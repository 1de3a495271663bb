"""A robot's own friction: known to its plant, to its controller's model, and gone if asked for."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.control import Controller, Design, critical, linearize
from appell.describe.legs import disc
from appell.hardware import Plant, Reference, Rig, closed_loop
from appell.model.actuator import Actuator, Friction
from appell.model.variations import with_masses, with_stiction, without_friction
from appell.motion import Ramp
from control_motion import Swing, driven

PERIOD = 1e-3


@pytest.fixture(scope="module")
def rough():
    """Damping 5 and friction 2 in every joint."""
    return driven(ap.load("planar-2r"), viscous=5.0, coulomb=2.0)


def track(model, plant) -> float:
    moved = Plant(plant)
    moved.place(plant.start)
    reference = Reference.sampled(Swing(plant.start, np.full(plant.nq, 0.5)), PERIOD)
    law = Controller(Design(model, critical(20.0, PERIOD)))
    return float(np.abs(closed_loop(law, moved, reference).error).max())


def test_a_controller_asks_for_the_friction_of_its_robot(rough):
    """At the reference, the torque is that of inverse dynamics with friction, which `control` does not make."""
    q, v, a = np.array([0.3, -0.4]), np.array([1.0, -2.0]), np.array([0.5, 1.5])
    law = Controller(Design(rough, critical(20.0), ahead=0.0)).function
    demand = law(q, v, np.stack([q, v, a]), np.zeros(2), np.zeros(2))[2]
    expected = ap.Dynamics(rough, friction=True).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(demand, expected, atol=2.0 * 0.5 * (0.02 / 1.0) ** 2)  # the sign is smooth over 0.02
    smooth = ap.Dynamics(rough).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(demand - smooth, 5.0 * v + 2.0 * np.sign(v), atol=1e-3)


def test_a_rough_robot_is_tracked_by_its_own_model_nearly_as_a_smooth_one(rough):
    smooth = without_friction(rough)
    own, frictionless, ignorant = track(rough, rough), track(smooth, smooth), track(smooth, rough)
    assert frictionless < 1e-6
    assert own < 1e-3  # what is left is sticking at the two turning points
    assert ignorant > 30 * own


def test_so_it_is_on_the_cabinet(rough):
    """Once it has broken loose, a rough robot with its own model is as good as a smooth one."""
    smooth = without_friction(rough)
    path = Ramp(rough.start, rough.start + 1.2, 0.8, 3.0, names=rough.coordinate_names)
    errors = {}
    for name, system, model in (("own", rough, rough), ("smooth", smooth, smooth), ("ignorant", rough, smooth)):
        found = Rig(system, model).record(path)
        errors[name] = np.abs(found.truth.q - found.record["qd"])[900:1500].max()
    assert errors["own"] < 1.5 * errors["smooth"] < 1e-4
    assert errors["ignorant"] > 30 * errors["own"]


def test_friction_that_a_urdf_states_reaches_the_controller():
    text = ap.to_urdf(driven(ap.load("planar-2r"), viscous=5.0, coulomb=2.0))
    robot = ap.load_text(text, "urdf")
    v = np.array([1.0, -1.0])
    law = Controller(Design(robot, critical(20.0), ahead=0.0)).function
    still = np.zeros(2)
    reference = np.stack([still, v, still])
    given = law(still, v, reference, still, still)[2] - ap.Dynamics(robot).bias(still, v)
    np.testing.assert_allclose(given, 7.0 * v, atol=1e-3)


def test_friction_of_a_mechanism_acts_at_its_actuators():
    """A block of 2 kg on a motor with ratio 3: friction c along the motor brakes the block by 3c / 2 kg."""
    body = ap.MovingBody("block", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), disc(2.0, 0.1))
    motor = ap.LegJoint("motor", lambda q: 3.0 * q[0], "m", Actuator(friction=Friction(coulomb=4.0)))
    block = ap.Mechanism("block", ("x",), [body], [motor], home=(0.0,), gravity=(0.0, 0.0, 0.0))
    plant = Plant(block)
    plant.place(0.0, 1.2)
    plant([0.0], 0.1)
    np.testing.assert_allclose(plant.v, 1.2 - 0.1 * 3.0 * 4.0 / 2.0, rtol=1e-12)
    plant([0.0], 1.0)
    np.testing.assert_allclose([plant.q[0], plant.v[0]], [0.5 * 1.2**2 / 6.0, 0.0], atol=1e-12)
    plant([3.9], 1.0)  # below friction at the motor
    np.testing.assert_allclose(plant.q, 0.5 * 1.2**2 / 6.0, atol=1e-12)
    plant([5.0], 0.5)
    np.testing.assert_allclose(plant.v, 0.5 * 3.0 * (5.0 - 4.0) / 2.0, rtol=1e-12)


def test_offsets_of_amplifiers_are_in_the_plant_and_in_the_model():
    robot = ap.load("planar-2r").with_actuators(lambda name, own: Actuator(offset=1.5))
    assert track(robot, robot) < 1e-6
    assert track(ap.load("planar-2r"), robot) > 1e-3


def test_variations_change_what_they_say_and_nothing_else(rough):
    q, v, a = np.array([0.3, -0.4]), np.array([1.0, -2.0]), np.array([0.5, 1.5])
    tau = ap.Dynamics(rough).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(ap.Dynamics(with_masses(rough, 1.1)).inverse_dynamics(q, v, a), 1.1 * tau, rtol=1e-12)
    assert with_masses(rough, 1.1).actuators == rough.actuators
    assert {own.friction for own in without_friction(rough).actuators} == {Friction()}
    assert {own.friction.static for own in with_stiction(rough, 1.2).actuators} == {2.4}
    known = with_stiction(with_stiction(rough, 1.5), 1.2)  # a static friction that is known stays
    assert {own.friction.static for own in known.actuators} == {3.0}


def test_a_payload_on_a_mechanism_is_on_its_platform():
    delta = ap.load("delta")
    more = ap.Dynamics(delta.with_payload(2.0)).gravity(delta.start) - ap.Dynamics(delta).gravity(delta.start)
    np.testing.assert_allclose(more, [0.0, 0.0, 2.0 * 9.81], atol=1e-12)
    assert delta.with_payload(1.0).body_names == delta.body_names


def test_linear_systems_have_the_robots_viscous_friction(rough):
    damped, free = (linearize(robot, rough.start).A for robot in (rough, without_friction(rough)))
    M = ap.Dynamics(rough).mass_matrix(rough.start)
    np.testing.assert_allclose(damped[2:, 2:] - free[2:, 2:], -5.0 * np.linalg.inv(M), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            lambda: ap.load("puma", base="floating"),
            "joint '.*' of robot 'puma' is floating",
            marks=pytest.mark.warns("massless"),
        ),
        pytest.param(
            lambda: ap.load("puma", base="spherical"),
            "joint '.*' of robot 'puma' is spherical",
            marks=pytest.mark.warns("massless"),
        ),
        (lambda: ap.load("puma").with_free("link3"), "robot 'puma' has free inertial parameters, of link3"),
        (lambda: ap.load("delta").with_free("platform"), "mechanism 'delta' has free inertial parameters, of platform"),
    ],
)
def test_what_cannot_be_controlled_is_named(make, words):
    for use in (lambda s: Design(s, critical(20.0)), Plant):
        with pytest.raises(ap.ModelError, match=words):
            use(make())
