"""Actuators of joints in every format: reading, writing and errors."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.describe.actuator_table import KEYS, actuator_from_table, actuator_to_table, non_default_entries
from appell.describe.build import Builder
from appell.describe.dh import DH, from_dh
from appell.describe.load import load, load_text
from appell.describe.write import to_toml, to_urdf
from appell.dynamics import Dynamics
from appell.errors import DescriptionError, ModelError, ModelWarning
from appell.model.actuator import IDEAL, Actuator, Elasticity, Friction
from appell.model.joints import Revolute, Spherical
from appell.model.robot import Mimic, Robot
from appell_lab.references.oracle import Oracle, relative_error
from robots import random_motion, random_tree

LINK = '[[link]]\nname = "arm"\njoint = "revolute"\nmass = 1\ninertia = [1, 1, 1]\n'
FULL = Actuator(-62.5, 2e-4, Friction(5.8, 26.0, 30.0, 0.1, 0.01), -0.3, 97.6, 8.2, 8.0, 0.22, 40.0, -0.5, 9.5)
FLAT = (
    "gear = -62.5, rotor_inertia = 2e-4, viscous = 5.8, coulomb = 26, static = 30, stribeck = 0.1, width = 0.01, "
    "offset = -0.3, torque = 97.6, speed = 8.2, current = 8, torque_constant = 0.22, "
    "no_load_speed = 9.5, stiffness = 40, rest = -0.5"
)

sizes = st.floats(0.0, 1e9, allow_subnormal=True)
known = st.none() | sizes
frictions = st.builds(
    lambda viscous, coulomb, more, stribeck, width: Friction(
        viscous, coulomb, None if more is None else coulomb + more, stribeck, width
    ),
    *(sizes, sizes, known, st.floats(1e-9, 1e3), sizes),
)
gears = st.floats(-1e6, 1e6).filter(lambda gear: gear != 0.0)
actuators = st.builds(Actuator, gears, sizes, frictions, st.floats(-1e6, 1e6), *[known] * 4, sizes, st.floats(-9, 9))


def arm(actuator: Actuator, **options) -> Robot:
    builder = Builder("r", root=None)
    builder.link("arm", Revolute(), mass=1.0, inertia=(1, 1, 1), joint_name="j", actuator=actuator, **options)
    return builder.build()


# ---- one table for all formats


def test_the_keys_of_a_table_are_all_fields_of_an_actuator():
    elastic = replace(FULL, stiffness=0.0, elasticity=Elasticity(4e4, 15.0, 1e6, 1e-3))
    for actuator in (FULL, elastic):
        table = {key: value for key, value in actuator_to_table(actuator).items() if value is not None}
        assert actuator_from_table(table, "joint 'j'") == actuator
    springs = {f"elastic_{key}" for key in vars(elastic.elasticity)}
    assert set(KEYS) == {*vars(FULL), *vars(FULL.friction), *springs} - {"friction", "elasticity"}
    assert non_default_entries(IDEAL) == {}
    assert non_default_entries(Actuator(gear=2.0, torque=0.0)) == {"gear": 2.0, "torque": 0.0}


@given(actuator=actuators)
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("format", ["toml", "urdf"])
def test_any_actuator_survives_a_round_trip(format, actuator):
    robot = arm(actuator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        back = load_text(to_toml(robot) if format == "toml" else to_urdf(robot), format)
    assert back == robot
    assert back.joint("j").actuator == actuator


def test_mimic_joints_and_joints_with_three_axes_keep_their_actuators():
    robot = random_tree(11, 12, actuators=True)
    assert any(link.joint.mimic and link.joint.actuator.rotor_inertia for link in robot.links)
    assert any(link.joint.motion.nv > 1 and link.joint.actuator.friction.viscous for link in robot.links)
    with pytest.warns(ModelWarning):
        assert load_text(to_urdf(robot), "urdf") == robot
    assert load_text(to_toml(robot), "toml") == robot


# ---- Python and DH tables


def test_a_builder_and_a_dh_row_accept_an_actuator():
    assert arm(FULL).joint("j").actuator == FULL
    row = DH(mass=1.0, inertia=(1, 1, 1), actuator=FULL)
    assert from_dh([row]).joint("joint1").actuator == FULL
    assert isinstance(arm(Actuator(gear=3)).joint("j").actuator.gear, float)


@pytest.mark.parametrize("actuator", [3.0, None, "motor", Actuator(friction=0.1), Actuator(gear="10"), Friction()])
def test_an_invalid_actuator_is_an_error_that_names_the_link(actuator):
    with pytest.raises(DescriptionError, match="actuator of link 'arm'"):
        arm(actuator)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gear": 0.0}, "gear ratio 0"),
        ({"rotor_inertia": -1.0}, "rotor inertia -1"),
        ({"torque": -1.0}, "torque -1"),
        ({"stiffness": -1.0}, "stiffness -1"),
        ({"current": -1.0}, "current -1"),
        ({"friction": Friction(viscous=-0.1)}, "viscous friction -0.1"),
        ({"friction": Friction(coulomb=1.0, static=0.5)}, "static friction 0.5 below its Coulomb friction 1"),
    ],
)
def test_an_impossible_actuator_is_an_error_that_names_the_joint(change, message):
    with pytest.raises(ModelError, match=f"joint 'j' of robot 'r' has {message}"):
        arm(replace(IDEAL, **change))


def test_a_spring_requires_a_joint_with_one_axis():
    builder = Builder("r", root=None)
    builder.link("ball", Spherical(), mass=1.0, inertia=(1, 1, 1), joint_name="j", actuator=Actuator(stiffness=1.0))
    with pytest.raises(ModelError, match=r"joint 'j' of robot 'r' is spherical, but has a spring"):
        builder.build()


def test_a_torsion_pendulum_accelerates_as_its_spring_requires():
    """a = -(k/I) (q - rest), and a joint without a spring does not make the tape longer."""
    dyn = Dynamics(arm(Actuator(stiffness=9.0, rest=0.25)).with_gravity((0, 0, 0)))
    np.testing.assert_allclose(dyn.forward_dynamics([0.75], [0.0], [0.0]), [-4.5], rtol=1e-15)
    np.testing.assert_allclose(dyn.energy([0.75], [2.0]), [2.0, 1.125], rtol=1e-15)
    assert [(p.name, p.kind, p.value) for p in dyn.parameters[10:]] == [("k1", "stiffness", 9.0)]
    np.testing.assert_allclose(dyn.regressor([0.75], [0.0], [0.0])[0, 10], 0.5, rtol=1e-15)
    slack = Dynamics(arm(Actuator(rest=0.25)))
    assert str(slack.inverse_dynamics.tape) == str(Dynamics(arm(IDEAL)).inverse_dynamics.tape)


# ---- TOML


@pytest.mark.parametrize(
    "text",
    [
        f'name = "r"\n{LINK}actuator = {{ {FLAT} }}\n',
        f'name = "r"\n{LINK}[link.actuator]\n' + FLAT.replace(", ", "\n"),
    ],
    ids=["inline", "separate table"],
)
def test_an_actuator_is_a_table_with_flat_keys(text):
    assert load_text(text, "toml").joint("arm_joint").actuator == FULL


def test_a_dh_row_may_have_an_actuator():
    text = f'name = "r"\n[[dh]]\nmass = 1\ninertia = [1, 1, 1]\noffset = 0.5\nactuator = {{ {FLAT} }}\n'
    robot = load_text(text, "toml")
    assert robot.joint("joint1").actuator == FULL
    assert robot.joint("joint1").placement.translation.z == 0.5


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("actuator = { geer = 2 }", "actuator of .*1.* has no key 'geer'. Did you mean 'gear'"),
        ("actuator = { friction = 2 }", "has no key 'friction'"),
        ("actuator = { gear = true }", "gear of the actuator of link 'arm' is True"),
        ('actuator = { gear = "much" }', "gear of .* is 'much'"),
        ("actuator = { torque = nan }", "torque of the actuator of link 'arm' is nan"),
        ("actuator = 3", "actuator of .* is 3.*\n.*a table"),
        ("actuator = { gear = 0 }", "joint 'arm_joint' of robot 'r' has gear ratio 0"),
        ("damping = 1", "no key 'damping'"),
        ("effort = 1", "no key 'effort'"),
    ],
)
def test_an_invalid_actuator_in_toml_is_a_named_error(entry, message):
    with pytest.raises((DescriptionError, ModelError), match=message.replace("of .*1.*", "of .*")):
        load_text(f'name = "r"\n{LINK}{entry}\n', "toml")


def test_a_fixed_link_has_no_actuator():
    with pytest.raises(DescriptionError, match="link 'a' is fixed, but has actuator"):
        load_text('name = "r"\n[[link]]\nname = "a"\njoint = "fixed"\nactuator = { gear = 2 }', "toml")


# ---- the actuators of the PUMA


def test_the_actuators_of_the_puma_are_given_at_the_joint_side():
    first, last = (load("puma").joint(name).actuator for name in ("joint1", "joint6"))
    assert first.friction.viscous == pytest.approx(1.48e-3 * 62.6111**2)
    assert first.friction.coulomb == pytest.approx(0.4150 * 62.6111)
    assert last.reflected_inertia == pytest.approx(33e-6 * 76.686**2)
    assert [each.torque for each in load("puma").actuators] == [97.6, 186.4, 89.4, 24.2, 20.1, 21.3]
    for each in load("puma").actuators:  # the maximum current gives slightly more than the maximum torque
        assert each.torque < each.current * each.torque_constant * each.gear < 1.4 * each.torque


def test_rotors_and_friction_have_no_effect_unless_requested():
    puma = load("puma")
    bare, motion = puma.with_actuators(lambda *_: IDEAL), random_motion(puma, np.random.default_rng(0))
    rigid = Dynamics(puma).inverse_dynamics(*motion)
    np.testing.assert_array_equal(rigid, Dynamics(bare).inverse_dynamics(*motion))
    complete = Dynamics(puma, rotors=True, friction=True).inverse_dynamics(*motion)
    _, v, a = motion
    per_joint = zip(puma.actuators, a, v, strict=True)
    actuator_forces = [each.reflected_inertia * x + each.friction.force(y) for each, x, y in per_joint]
    np.testing.assert_allclose(complete - rigid, actuator_forces, rtol=1e-12)


# ---- comparison with the armature of Pinocchio


@pytest.mark.parametrize("robot", [load("puma"), random_tree(3, 6, actuators=True)], ids=str)
def test_rotors_equal_the_armature_of_pinocchio(robot):
    oracle, links, dyn = Oracle(robot, rotors=True), Oracle(robot), Dynamics(robot, rotors=True)
    q, v, a = random_motion(robot, np.random.default_rng(1))
    assert relative_error(dyn.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a)) < 1e-12
    assert relative_error(dyn.mass_matrix(q), oracle.mass_matrix(q)) < 1e-12
    assert relative_error(dyn.energy(q, v)[0], oracle.energy(q, v)[0]) < 1e-12
    assert relative_error(dyn.forward_dynamics(q, v, a), oracle.forward_dynamics(q, v, a)) < 1e-9
    assert relative_error(links.mass_matrix(q), oracle.mass_matrix(q)) > 1e-3


def test_the_rotor_of_a_mimic_joint_adds_inertia_to_its_leader():
    builder = Builder("hand", root=None)
    builder.link("a", Revolute(), mass=1.0, inertia=(1, 1, 1), joint_name="j")
    motor = Actuator(gear=10.0, rotor_inertia=0.01)
    builder.link("b", Revolute(), parent="a", mass=0, joint_name="k", mimic=Mimic("j", -3.0), actuator=motor)
    robot = builder.build()
    assert Dynamics(robot, rotors=True).mass_matrix([0.0]) == pytest.approx(1.0 + 9.0 * 1.0)
    assert Oracle(robot, rotors=True).mass_matrix([0.0]) == pytest.approx(10.0)
