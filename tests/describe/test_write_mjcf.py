"""Robots written as MJCF: MuJoCo compiles them, and gives the same dynamics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError, ModelWarning
from appell_lab.references.mujoco_terms import differences, gaps
from robots import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
TOLERANCE = 1e-12


def largest_difference(robot) -> float:
    """The largest difference between MuJoCo's terms and those of the robot, before and after a round trip."""
    text = ap.to_mjcf(robot)
    back, model = ap.load_text(text, "mjcf"), mujoco.MjModel.from_xml_string(text)
    errors = [differences(model, each, np.random.default_rng(3), compiled=False) for each in (robot, back)]
    assert back.tree.joint_names == robot.tree.joint_names
    return max(value for each in errors for value in each.values())


@pytest.mark.parametrize("name", ["puma", "panda", "stanford", "tree10", "four-bar", "two-body"])
def test_robots_of_the_zoo_have_the_same_dynamics_in_mujoco(name):
    assert largest_difference(ap.load(name)) < TOLERANCE


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_have_the_same_dynamics_in_mujoco(seed):
    """Rotated placements, slides and ball joints, on a fixed or floating base."""
    kinds = ("revolute", "continuous", "prismatic", "spherical")
    base = ("fixed", "floating")[seed % 2]
    assert largest_difference(random_tree(seed, 5, base=base, kinds=kinds, branching=False)) < TOLERANCE


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_have_the_same_dynamics_in_another_order(seed):
    robot = random_tree(seed, 7, kinds=("revolute", "prismatic"), actuators=True)
    back = ap.load_text(ap.to_mjcf(robot), "mjcf")
    at = [back.joint_names.index(name) for name in robot.joint_names]
    q, v, a = np.random.default_rng(seed).normal(size=(3, robot.nv))
    ours = ap.Dynamics(robot, rotors=True).equations.forces(q.tolist(), v.tolist(), a.tolist(), {})
    reordered = np.empty((3, robot.nv))
    reordered[:, at] = q, v, a
    theirs = ap.Dynamics(back, rotors=True).equations.forces(*reordered.tolist(), {})
    np.testing.assert_allclose(np.array(theirs)[at], ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())


def arm(**options) -> ap.Builder:
    builder = ap.Builder("arm", root=None, **options)
    builder.link(
        "upper",
        ap.Revolute((0, 1, 0)),
        mass=2.0,
        com=(0.1, 0, 0.2),
        inertia=(
            0.1,
            0.2,
            0.15,
        ),
        joint_name="lift",
    )
    return builder


def test_massless_links_share_a_body():
    builder = arm()
    builder.link(
        "x", ap.Revolute((1, 0, 0)), parent="upper", xyz=(0.3, 0.1, 0), rpy=(0.2, 0.1, 0.4), mass=0, joint_name="x"
    )
    builder.link("y", ap.Prismatic((0, 1, 1)), parent="x", xyz=(0, 0.2, 0), rpy=(0, 0.5, 0), mass=0, joint_name="y")
    builder.link("z", ap.Revolute((0, 1, 0)), parent="y", rpy=(0.3, 0, 0), mass=1, inertia=(1, 1, 1), joint_name="z")
    robot = builder.build()
    assert ap.to_mjcf(robot).count("<body") == 2
    assert largest_difference(robot) < TOLERANCE


def test_rotors_friction_springs_limits_and_home_are_written():
    motor = ap.Actuator(gear=10, rotor_inertia=0.02, friction=ap.Friction(0.3, 0.4), torque=7, stiffness=3, rest=0.2)
    builder = arm(home=(0.1, 0.2))
    builder.link(
        "lower",
        ap.Revolute(),
        parent="upper",
        mass=1,
        inertia=(1, 1, 1),
        actuator=motor,
        limits=(-1, 2),
        joint_name="k",
    )
    robot = builder.build()
    back = ap.load_text(ap.to_mjcf(robot), "mjcf")
    actuator = back.joint("k").actuator
    assert (actuator.reflected_inertia, actuator.friction, actuator.torque) == (2.0, ap.Friction(0.3, 0.4), 7.0)
    assert (actuator.stiffness, actuator.rest, back.joint("k").limits, back.home) == (
        3.0,
        0.2,
        ap.Limits(-1, 2),
        (0.1, 0.2),
    )
    assert largest_difference(robot) < TOLERANCE


def test_a_floating_base_has_the_same_states():
    robot = ap.load_text(ap.to_urdf(arm().build()), "urdf", base="fixed")
    builder = ap.Builder("m", base="floating", root="trunk").root_body(mass=3, inertia=(1, 2, 2.5), com=(0.1, 0, 0))
    builder.link("leg", ap.Revolute((1, 1, 0)), mass=1, inertia=(1, 1, 1), joint_name="hip")
    assert largest_difference(builder.build()) < TOLERANCE
    assert largest_difference(robot) < TOLERANCE


def test_loops_are_written_and_close_in_the_same_configuration():
    robot = ap.load("four-bar")
    text = ap.to_mjcf(robot)
    back = ap.load_text(text, "mjcf")
    np.testing.assert_allclose(back.start, robot.start, atol=1e-12)
    assert max(gaps(mujoco.MjModel.from_xml_string(text), robot, np.random.default_rng(1)).values()) < 1e-12
    builder = arm()
    builder.link("lower", ap.Revolute(), parent="upper", mass=1, inertia=(1, 1, 1), joint_name="k")
    geared = builder.build().with_loops(ap.Gear({"lift": 2.0, "k": -1.0}, 0.4))
    model = mujoco.MjModel.from_xml_string(ap.to_mjcf(geared))
    assert max(gaps(model, geared, np.random.default_rng(1)).values()) < 1e-12


def test_a_mimic_joint_becomes_an_equivalent_constraint():
    builder = arm()
    builder.link(
        "f", ap.Revolute(), parent="upper", mass=1, inertia=(1, 1, 1), joint_name="k", mimic=ap.Mimic("lift", -0.5, 0.3)
    )
    with pytest.warns(ModelWarning, match="mimic joint 'k' is an equality constraint"):
        text = ap.to_mjcf(builder.build())
    back = ap.load_text(text, "mjcf")
    assert back.nv == 1
    np.testing.assert_allclose(back.start[1], -0.5 * back.start[0] + 0.3, atol=1e-12)


def test_joints_and_home_have_the_order_of_mujoco():
    builder = ap.Builder("m", root=None, home=(0.1, 0.2, 0.3))
    for name, parent in (("a", None), ("b", None), ("c", "a")):
        builder.link(name, ap.Revolute(), parent=parent, mass=1, inertia=(1, 1, 1), joint_name=name)
    with pytest.warns(ModelWarning, match="the order of the joints is a, c, b"):
        back = ap.load_text(ap.to_mjcf(builder.build()), "mjcf")
    assert (back.joint_names, back.home) == (("a", "c", "b"), (0.1, 0.3, 0.2))


def test_a_planar_joint_is_two_slides_and_a_hinge():
    with pytest.warns(ModelWarning, match="'root_joint' is two slides and a hinge"):
        text = ap.to_mjcf(ap.Builder("m", base="planar").root_body(mass=1, inertia=(1, 1, 1)).build())
    assert ap.load_text(text, "mjcf").joint_names == ("root_joint_x", "root_joint_y", "root_joint_angle")


@pytest.mark.parametrize("limit", [0.5, 0.0, -0.25])
def test_equal_limits_remain_limits_in_mujoco(limit):
    """MuJoCo takes a range of two equal numbers for no range at all."""
    builder = arm().link(
        "k", ap.Prismatic(), parent="upper", mass=1, inertia=(1, 1, 1), joint_name="k", limits=(limit, limit)
    )
    with pytest.warns(ModelWarning, match="the equal limits of joint 'k' are a range of one rounding error"):
        text = ap.to_mjcf(builder.build())
    assert mujoco.MjModel.from_xml_string(text).jnt_limited.tolist() == [False, True]
    limits = ap.load_text(text, "mjcf").joint("k").limits
    assert limits.lower == limit
    assert limits.upper == pytest.approx(limit, rel=1e-15, abs=1e-300)


def test_a_moving_link_called_world_has_another_name_in_mujoco():
    builder = ap.Builder("m", root="world", base="floating").root_body(mass=1, inertia=(1, 1, 1))
    builder.link("world_link", ap.Revolute(), parent="world", mass=1, inertia=(1, 1, 1), joint_name="k")
    robot = builder.build()
    with pytest.warns(ModelWarning, match="link 'world' is the body 'world_link_'"):
        text = ap.to_mjcf(robot)
    assert ap.load_text(text, "mjcf").link_names == ("world_link_", "world_link")
    assert largest_difference(robot) < TOLERANCE


def test_values_that_mjcf_cannot_express_are_listed_in_a_warning():
    motor = ap.Actuator(friction=ap.Friction(0.1, 0.2, static=0.3), speed=4, offset=0.5)
    builder = ap.Builder("m", root=None).link(
        "a", ap.Revolute(), mass=1, inertia=(1, 1, 1), joint_name="k", actuator=motor
    )
    with pytest.warns(ModelWarning, match="cannot express static 0.3 of joint 'k'; offset 0.5 of joint 'k'; speed 4"):
        ap.to_mjcf(builder.build())


def test_a_torque_limit_of_zero_is_named_because_mujoco_rejects_empty_ranges():
    robot = ap.load("pendulum").with_actuators({"hinge": ap.Actuator(torque=0.0)})
    with pytest.warns(ModelWarning, match="cannot express torque limit 0 of joint 'hinge'"):
        ap.load_text(ap.to_mjcf(robot), "mjcf")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ap.load("delta"), "not a tree of links"),
        (lambda: ap.load("differential-drive"), "rolling 'left' .* cannot be written as MJCF"),
        (lambda: arm().link("tip", ap.Revolute(), parent="upper", mass=0).build(), "link 'tip' .* is massless"),
        (lambda: arm().link("p", ap.Revolute(), parent="upper", mass=1, inertia=(0, 0, 0)).build(), "moment 0 kg"),
        (
            lambda: arm().link("b", ap.Floating(), parent="upper", mass=1, inertia=(1, 1, 1)).build(),
            "'b_joint' .* is carried by link 'upper'; in MJCF, free joints must be on the world",
        ),
    ],
    ids=["a mechanism", "a wheel", "a massless tip", "a point mass", "a floating hand"],
)  # fmt: skip
def test_robots_that_mujoco_does_not_accept_are_errors(make, problem):
    with pytest.raises(ModelError, match=problem):
        ap.to_mjcf(make())
