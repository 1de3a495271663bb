"""The plant: smooth motion against the simulator, friction and brakes against analytical solutions."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.control.friction_parts import FrictionParts
from appell.describe.dh import DH, from_dh
from appell.errors import ModelError
from appell.hardware.plant import Plant, plant_function
from control_motion import START, driven, ideal


@pytest.fixture(scope="module")
def wheel():
    """Return one body of 2 kg m² about a vertical axis: a = τ / 2, no gravity."""
    return from_dh([DH(mass=1.0, com=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, 2.0))], name="wheel")


def test_without_friction_the_plant_agrees_with_the_simulator(puma):
    plant, tau = Plant(ideal(puma)), np.array([5.0, -80.0, -20.0, 1.0, 0.5, 0.1])
    plant.set_state(START)
    plant(tau, 0.2)
    motion = ap.simulate(ap.Dynamics(puma), START, None, 0.2, tau, solver=ap.Solver(rtol=1e-11, atol=1e-13))
    np.testing.assert_allclose(plant.q, motion.q[-1], atol=1e-9)
    np.testing.assert_allclose(plant.v, motion.v[-1], atol=1e-8)


def test_rotors_add_to_the_inertia_of_their_joints(wheel):
    plant = Plant(driven(wheel, rotor_inertia=3.0))
    plant.set_state(0.0)
    plant([10.0], 1.0)
    np.testing.assert_allclose(plant.v, 10.0 / (2.0 + 3.0))


def test_a_joint_with_a_torque_below_its_friction_does_not_move(puma):
    plant = Plant(driven(puma, coulomb=[30, 120, 60, 2, 2, 2]))
    plant.set_state(START)
    plant(np.zeros(6), 0.05)  # gravity up to 80 N m; the sweeps converge to the holding torques in a few steps
    np.testing.assert_allclose(plant.q, START, atol=1e-8)
    held = plant.q
    plant(np.zeros(6), 2.0)
    np.testing.assert_allclose(plant.q, held, atol=1e-12)
    assert np.abs(plant.v).max() < 1e-12


def test_a_sliding_joint_decelerates_by_coulomb_friction_and_stops(wheel):
    plant = Plant(driven(wheel, coulomb=4.0))
    plant.set_state(0.0, 1.0)  # decelerates by 2 rad/s²: stops after 0.5 s and 0.25 rad
    plant([0.0], 0.25)
    np.testing.assert_allclose([plant.q[0], plant.v[0]], [1.0 * 0.25 - 0.0625, 0.5], atol=1e-12)
    plant([0.0], 1.0)
    np.testing.assert_allclose(plant.q[0], 0.25, atol=1e-12)
    assert plant.v[0] == 0.0


def test_a_joint_breaks_loose_at_the_static_level_and_slides_at_the_coulomb_level(wheel):
    plant = Plant(driven(wheel, coulomb=4.0, static=6.0, stribeck=0.05))
    plant.set_state(0.0)
    plant([5.9], 0.5)
    assert abs(plant.q[0]) < 1e-20
    plant([6.1], 0.5)
    loose = plant.v[0]
    assert loose > 0.15
    plant([5.0], 0.5)
    assert plant.v[0] > loose + 0.2  # between the Coulomb and static levels it accelerates by nearly (5 - 4) / 2


def test_viscous_friction_leads_to_a_constant_speed(wheel):
    plant = Plant(driven(wheel, viscous=5.0))
    plant.set_state(0.0)
    plant([10.0], 0.4)
    np.testing.assert_allclose(plant.v[0], 2.0 * (1.0 - np.exp(-0.4 * 5.0 / 2.0)), rtol=1e-9)


@pytest.mark.parametrize("width", [0.1, 1e-3])  # with time constants of 50 and 0.5 ms
def test_friction_with_a_width_follows_the_smooth_law_and_does_not_hold(wheel, width):
    """Until issue 30 the plant had the friction of width zero, so that identification with the width was wrong."""
    plant = Plant(driven(wheel, coulomb=4.0, width=width))
    plant.set_state(0.0)
    plant([2.0], 2.0)
    np.testing.assert_allclose(plant.v, width * 0.5 / np.sqrt(0.75), rtol=1e-6)  # 4 v / √(v² + width²) = 2
    plant.bound.brake[:] = 1.0
    plant([0.9], 2.0)
    assert abs(plant.v[0]) < 1e-12  # the brake holds


def test_with_smooth_friction_the_plant_agrees_with_the_simulator():
    friction = ap.Friction(viscous=0.1, coulomb=1.0, static=1.5, width=0.05)
    robot = ap.load("planar-2r").with_actuators(lambda *_: ap.Actuator(friction=friction))
    plant = Plant(robot, longest_step=1e-4)
    plant.set_state([0.3, 0.4])
    plant([2.0, -1.2], 0.3)
    dyn = ap.Dynamics(robot, friction=True, rotors=True)
    motion = ap.simulate(dyn, [0.3, 0.4], None, 0.3, [2.0, -1.2], solver=ap.Solver(rtol=1e-9, atol=1e-11))
    np.testing.assert_allclose(plant.q, motion.q[-1], atol=2e-4)
    np.testing.assert_allclose(plant.v, motion.v[-1], rtol=2e-3)


def test_friction_never_increases_the_energy(puma):
    still = puma.with_gravity((0.0, 0.0, 0.0))
    arm, dyn = driven(still, coulomb=[5, 5, 5, 1, 1, 1], static=[6, 6, 6, 2, 2, 2]), ap.Dynamics(still)
    plant = Plant(arm)
    plant.set_state(START, np.array([1.0, -1.0, 1.5, 2.0, -2.0, 1.0]))
    energy = [float(dyn.energy(plant.q, plant.v)[0])]
    for _ in range(5000):
        plant(np.zeros(6), 1e-3)
        energy.append(float(dyn.energy(plant.q, plant.v)[0]))
    assert (np.diff(energy) <= 1e-12).all()
    assert energy[-1] < 1e-15 * energy[0]


def test_a_brake_stops_and_holds_a_falling_arm(puma):
    step = plant_function(FrictionParts(ideal(puma))).bind()
    step.state_next[:6], step.dt[...], step.brake[:] = START, 1e-3, [200, 250, 150, 10, 10, 10]
    step.state_next[6:12] = [1.0, 1.0, -1.0, 1.0, 1.0, 1.0]
    for _ in range(400):
        step.state[:] = step.state_next
        step()
    stopped = step.state_next[:6].copy()
    for _ in range(400):
        step.state[:] = step.state_next
        step()
    assert np.abs(step.state_next[6:12]).max() < 1e-9
    np.testing.assert_allclose(step.state_next[:6], stopped, atol=1e-9)


def test_a_payload_adds_its_weight_at_its_centre_of_mass(puma):
    dyn, loaded = ap.Dynamics(puma), ap.Dynamics(puma.with_payload(2.0, "tool", com=(0.0, 0.0, 0.1)))
    reach = np.array([0.0, 0.0, 0.1, 1.0])
    J = dyn.jacobian("tool", "LOCAL_WORLD_ALIGNED")(START)
    arm = (dyn.pose("tool")(START) @ reach)[:3] - dyn.pose("tool")(START)[:3, 3]
    force = np.array([0.0, 0.0, -2.0 * 9.81])
    weight = J.T @ np.concatenate([force, np.cross(arm, force)])
    np.testing.assert_allclose(loaded.gravity(START) - dyn.gravity(START), -weight, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coulomb": -1.0}, "'joint1' of robot 'puma' has coulomb friction -1"),
        ({"coulomb": 2.0, "static": 1.0}, "'joint1' of robot 'puma' has static friction 1 below"),
        ({"rotor_inertia": float("nan")}, "'joint1' of robot 'puma' has rotor inertia nan"),
        ({"stribeck": 0.0}, "Stribeck"),
    ],
)
def test_impossible_friction_is_rejected_by_name(puma, options, words):
    with pytest.raises(ModelError, match=words):
        driven(puma, **options)


@pytest.mark.warns("massless")
def test_an_arm_on_a_floating_base_is_rejected_with_the_name_of_its_joint():
    with pytest.raises(ap.ModelError, match=r"joint '.*' of robot 'puma' is floating"):
        Plant(ap.load("puma", base="floating"))
