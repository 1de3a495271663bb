"""Robots written as MJCF: MuJoCo compiles them, and its dynamics are those of the robot."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError, ModelWarning
from appell_lab.judges.mujoco_terms import differences, gaps
from robots import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
AGREE = 1e-12


def judged(robot) -> float:
    """How far MuJoCo's terms are from the robot's own, and from those of what is read back."""
    text = ap.to_mjcf(robot)
    back, model = ap.load_text(text, "mjcf"), mujoco.MjModel.from_xml_string(text)
    found = [differences(model, each, np.random.default_rng(3), compiled=False) for each in (robot, back)]
    assert back.tree.joint_names == robot.tree.joint_names
    return max(value for each in found for value in each.values())


@pytest.mark.parametrize("name", ["puma", "panda", "stanford", "tree10", "four-bar", "two-body"])
def test_robots_of_the_zoo_have_their_dynamics_in_mujoco(name):
    assert judged(ap.load(name)) < AGREE


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_have_their_dynamics_in_mujoco(seed):
    """Turned placements, slides and balls, on a base that is fixed or free."""
    kinds = ("revolute", "continuous", "prismatic", "spherical")
    base = ("fixed", "floating")[seed % 2]
    assert judged(random_tree(seed, 5, base=base, kinds=kinds, branching=False)) < AGREE


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_are_the_same_in_another_order(seed):
    robot = random_tree(seed, 7, kinds=("revolute", "prismatic"), actuators=True)
    back = ap.load_text(ap.to_mjcf(robot), "mjcf")
    at = [back.joint_names.index(name) for name in robot.joint_names]
    q, v, a = np.random.default_rng(seed).normal(size=(3, robot.nv))
    ours = ap.Dynamics(robot, rotors=True).equations.forces(q.tolist(), v.tolist(), a.tolist(), {})
    moved = np.empty((3, robot.nv))
    moved[:, at] = q, v, a
    theirs = ap.Dynamics(back, rotors=True).equations.forces(*moved.tolist(), {})
    np.testing.assert_allclose(np.array(theirs)[at], ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())


def arm(**options) -> ap.Builder:
    made = ap.Builder("arm", root=None, **options)
    made.link(
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
    return made


def test_links_without_mass_share_a_body():
    made = arm()
    made.link(
        "x", ap.Revolute((1, 0, 0)), parent="upper", xyz=(0.3, 0.1, 0), rpy=(0.2, 0.1, 0.4), mass=0, joint_name="x"
    )
    made.link("y", ap.Prismatic((0, 1, 1)), parent="x", xyz=(0, 0.2, 0), rpy=(0, 0.5, 0), mass=0, joint_name="y")
    made.link("z", ap.Revolute((0, 1, 0)), parent="y", rpy=(0.3, 0, 0), mass=1, inertia=(1, 1, 1), joint_name="z")
    robot = made.build()
    assert ap.to_mjcf(robot).count("<body") == 2
    assert judged(robot) < AGREE


def test_rotors_friction_springs_limits_and_home_come_along():
    drive = ap.Actuator(gear=10, rotor_inertia=0.02, friction=ap.Friction(0.3, 0.4), torque=7, stiffness=3, rest=0.2)
    made = arm(home=(0.1, 0.2))
    made.link(
        "lower",
        ap.Revolute(),
        parent="upper",
        mass=1,
        inertia=(1, 1, 1),
        actuator=drive,
        limits=(-1, 2),
        joint_name="k",
    )
    robot = made.build()
    back = ap.load_text(ap.to_mjcf(robot), "mjcf")
    own = back.joint("k").actuator
    assert (own.reflected_inertia, own.friction, own.torque) == (2.0, ap.Friction(0.3, 0.4), 7.0)
    assert (own.stiffness, own.rest, back.joint("k").limits, back.home) == (3.0, 0.2, ap.Limits(-1, 2), (0.1, 0.2))
    assert judged(robot) < AGREE


def test_a_free_base_keeps_its_states():
    robot = ap.load_text(ap.to_urdf(arm().build()), "urdf", base="fixed")
    made = ap.Builder("m", base="floating", root="trunk").root_body(mass=3, inertia=(1, 2, 2.5), com=(0.1, 0, 0))
    made.link("leg", ap.Revolute((1, 1, 0)), mass=1, inertia=(1, 1, 1), joint_name="hip")
    assert judged(made.build()) < AGREE
    assert judged(robot) < AGREE


def test_loops_are_written_and_closed_where_they_were():
    robot = ap.load("four-bar")
    text = ap.to_mjcf(robot)
    back = ap.load_text(text, "mjcf")
    np.testing.assert_allclose(back.start, robot.start, atol=1e-12)
    assert max(gaps(mujoco.MjModel.from_xml_string(text), robot, np.random.default_rng(1)).values()) < 1e-12
    made = arm()
    made.link("lower", ap.Revolute(), parent="upper", mass=1, inertia=(1, 1, 1), joint_name="k")
    tied = made.build().with_loops(ap.Gear({"lift": 2.0, "k": -1.0}, 0.4))
    model = mujoco.MjModel.from_xml_string(ap.to_mjcf(tied))
    assert max(gaps(model, tied, np.random.default_rng(1)).values()) < 1e-12


def test_a_mimic_joint_becomes_a_constraint_that_says_the_same():
    made = arm()
    made.link(
        "f", ap.Revolute(), parent="upper", mass=1, inertia=(1, 1, 1), joint_name="k", mimic=ap.Mimic("lift", -0.5, 0.3)
    )
    with pytest.warns(ModelWarning, match="joint 'k' mimics by an equality constraint"):
        text = ap.to_mjcf(made.build())
    back = ap.load_text(text, "mjcf")
    assert back.nv == 1
    np.testing.assert_allclose(back.start[1], -0.5 * back.start[0] + 0.3, atol=1e-12)


def test_joints_stand_in_the_order_of_mujoco_and_home_with_them():
    made = ap.Builder("m", root=None, home=(0.1, 0.2, 0.3))
    for name, parent in (("a", None), ("b", None), ("c", "a")):
        made.link(name, ap.Revolute(), parent=parent, mass=1, inertia=(1, 1, 1), joint_name=name)
    with pytest.warns(ModelWarning, match="joints stand in the order a, c, b"):
        back = ap.load_text(ap.to_mjcf(made.build()), "mjcf")
    assert (back.joint_names, back.home) == (("a", "c", "b"), (0.1, 0.3, 0.2))


def test_a_planar_joint_is_two_slides_and_a_hinge():
    with pytest.warns(ModelWarning, match="'root_joint' is two slides and a hinge"):
        text = ap.to_mjcf(ap.Builder("m", base="planar").root_body(mass=1, inertia=(1, 1, 1)).build())
    assert ap.load_text(text, "mjcf").joint_names == ("root_joint_x", "root_joint_y", "root_joint_angle")


def test_what_mjcf_has_no_words_for_is_named():
    drive = ap.Actuator(friction=ap.Friction(0.1, 0.2, static=0.3), speed=4, offset=0.5)
    made = ap.Builder("m", root=None).link(
        "a", ap.Revolute(), mass=1, inertia=(1, 1, 1), joint_name="k", actuator=drive
    )
    with pytest.warns(ModelWarning, match="no words for static 0.3 of joint 'k'; offset 0.5 of joint 'k'; speed 4"):
        ap.to_mjcf(made.build())


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ap.load("delta"), "no tree of links"),
        (lambda: ap.load("differential-drive"), "rolling 'left' .* cannot stand in an MJCF"),
        (lambda: arm().link("tip", ap.Revolute(), parent="upper", mass=0).build(), "link 'tip' .* has no mass"),
        (lambda: arm().link("p", ap.Revolute(), parent="upper", mass=1, inertia=(0, 0, 0)).build(), "least moment 0"),
        (
            lambda: arm().link("b", ap.Floating(), parent="upper", mass=1, inertia=(1, 1, 1)).build(),
            "floats on upper; in MJCF only a body on the world is free",
        ),
    ],
    ids=["a mechanism", "a wheel", "a massless tip", "a point mass", "a floating hand"],
)  # fmt: skip
def test_what_mujoco_does_not_take_is_refused(make, problem):
    with pytest.raises(ModelError, match=problem):
        ap.to_mjcf(make())
