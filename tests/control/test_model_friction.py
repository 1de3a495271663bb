"""Friction of a robot in its plant and in the model of its controller."""

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
    """Return an arm with viscous friction 5 and Coulomb friction 2 in every joint."""
    return driven(ap.load("planar-2r"), viscous=5.0, coulomb=2.0)


def track(model, plant) -> float:
    simulated = Plant(plant)
    simulated.set_state(plant.start)
    reference = Reference.sampled(Swing(plant.start, np.full(plant.nq, 0.5)), PERIOD)
    law = Controller(Design(model, critical(20.0, PERIOD)))
    return float(np.abs(closed_loop(law, simulated, reference).error).max())


def test_a_controller_compensates_the_friction_of_its_model(rough):
    """At the reference, the torque equals inverse dynamics with friction, computed independently."""
    q, v, a = np.array([0.3, -0.4]), np.array([1.0, -2.0]), np.array([0.5, 1.5])
    law = Controller(Design(rough, critical(20.0), ahead=0.0)).function
    demand = law(q, v, np.stack([q, v, a]), np.zeros(2), np.zeros(2))[2]
    expected = ap.Dynamics(rough, friction=True).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(
        demand, expected, atol=2.0 * 0.5 * (0.02 / 1.0) ** 2
    )  # the change of sign is smooth over 0.02
    smooth = ap.Dynamics(rough).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(demand - smooth, 5.0 * v + 2.0 * np.sign(v), atol=1e-3)


def test_with_friction_in_its_model_a_robot_is_tracked_almost_as_well_as_without_friction(rough):
    smooth = without_friction(rough)
    matching, frictionless, without = track(rough, rough), track(smooth, smooth), track(smooth, rough)
    assert frictionless < 1e-6
    assert matching < 1e-3  # the error is caused by sticking at the two reversals
    assert without > 30 * matching


def test_friction_in_the_model_improves_tracking_on_the_cabinet(rough):
    """After break-away, a robot with friction in its model is tracked as well as one without friction."""
    smooth = without_friction(rough)
    path = Ramp(rough.start, rough.start + 1.2, 0.8, 3.0, names=rough.coordinate_names)
    errors = {}
    for name, system, model in (("matching", rough, rough), ("smooth", smooth, smooth), ("without", rough, smooth)):
        recording = Rig(system, model).record(path)
        errors[name] = np.abs(recording.truth.q - recording.record["qd"])[900:1500].max()
    assert errors["matching"] < 1.5 * errors["smooth"] < 1e-4
    assert errors["without"] > 30 * errors["matching"]


def test_friction_of_a_urdf_is_in_the_model_of_the_controller():
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
    plant.set_state(0.0, 1.2)
    plant([0.0], 0.1)
    np.testing.assert_allclose(plant.v, 1.2 - 0.1 * 3.0 * 4.0 / 2.0, rtol=1e-12)
    plant([0.0], 1.0)
    np.testing.assert_allclose([plant.q[0], plant.v[0]], [0.5 * 1.2**2 / 6.0, 0.0], atol=1e-12)
    plant([3.9], 1.0)  # below friction at the motor
    np.testing.assert_allclose(plant.q, 0.5 * 1.2**2 / 6.0, atol=1e-12)
    plant([5.0], 0.5)
    np.testing.assert_allclose(plant.v, 0.5 * 3.0 * (5.0 - 4.0) / 2.0, rtol=1e-12)


def test_offsets_of_amplifiers_are_in_the_plant_and_in_the_model():
    robot = ap.load("planar-2r").with_actuators(lambda name, _: Actuator(offset=1.5))
    assert track(robot, robot) < 1e-6
    assert track(ap.load("planar-2r"), robot) > 1e-3


def test_variations_change_only_masses_or_friction(rough):
    q, v, a = np.array([0.3, -0.4]), np.array([1.0, -2.0]), np.array([0.5, 1.5])
    tau = ap.Dynamics(rough).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(ap.Dynamics(with_masses(rough, 1.1)).inverse_dynamics(q, v, a), 1.1 * tau, rtol=1e-12)
    assert with_masses(rough, 1.1).actuators == rough.actuators
    assert {actuator.friction for actuator in without_friction(rough).actuators} == {Friction()}
    assert {actuator.friction.static for actuator in with_stiction(rough, 1.2).actuators} == {2.4}
    known = with_stiction(with_stiction(rough, 1.5), 1.2)  # a described static friction is kept
    assert {actuator.friction.static for actuator in known.actuators} == {3.0}


def test_a_payload_of_a_mechanism_is_added_to_its_platform():
    delta = ap.load("delta")
    more = ap.Dynamics(delta.with_payload(2.0)).gravity(delta.start) - ap.Dynamics(delta).gravity(delta.start)
    np.testing.assert_allclose(more, [0.0, 0.0, 2.0 * 9.81], atol=1e-12)
    assert delta.with_payload(1.0).body_names == delta.body_names


def test_linear_systems_include_viscous_friction(rough):
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
        (lambda: ap.load("puma").with_free("link3"), "robot 'puma' has free inertial parameters: those of link3"),
        (
            lambda: ap.load("delta").with_free("platform"),
            "mechanism 'delta' has free inertial parameters: those of platform",
        ),
    ],
)
def test_systems_that_cannot_be_controlled_are_rejected(make, words):
    for use in (lambda s: Design(s, critical(20.0)), Plant):
        with pytest.raises(ap.ModelError, match=words):
            use(make())
