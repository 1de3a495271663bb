"""The Python builder, and the assembly of parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.errors import DescriptionError, ModelError
from appell.model.joints import Planar, Prismatic, Revolute
from appell.model.limits import Limits
from appell.model.robot import Mimic
from robots import random_body, random_pose

UNIT = (1.0, 1.0, 1.0)


def arm(**options) -> Builder:
    builder = Builder("arm", **options)
    builder.link("upper", Revolute(), mass=2.0, com=(0.5, 0, 0), inertia=UNIT)
    builder.link("lower", Revolute(), parent="upper", xyz=(1, 0, 0), mass=1.0, inertia=UNIT, limits=(-1, 1))
    builder.fixed("hand", parent="lower", xyz=(1, 0, 0), rpy=(0, np.pi / 2, 0), mass=0.5, inertia=UNIT)
    return builder.frame("tip", on="hand", xyz=(0, 0, 0.1))


def test_a_robot_is_built_in_a_few_lines():
    robot = arm().build()
    assert robot.joint_names == ("upper_joint", "lower_joint")
    assert robot.frame_names == ("upper", "lower", "base", "hand", "tip")
    assert robot.frame("tip").body == "lower"
    assert robot.frame("tip").pose.translation == Vec3(1.1, 0.0, 0.0)  # hand's z is lower's x
    assert robot.link("lower").body.mass == 1.5
    assert robot.joint("lower_joint").limits == Limits(-1, 1)
    assert robot.missing == ()


@pytest.mark.parametrize(("base", "nq", "nv"), [("floating", 7, 6), ("planar", 3, 3), ("spherical", 4, 3)])
def test_the_root_moves_on_a_base_that_is_not_fixed(base, nq, nv):
    robot = arm(base=base, home=(0.1, 0.2)).root_body(3.0, inertia=UNIT).build()
    assert (robot.nq, robot.nv) == (nq + 2, nv + 2)
    assert robot.links[0].name == "base"
    assert robot.links[0].body.mass == 3.0
    assert robot.home == (*robot.links[0].joint.motion.neutral, 0.1, 0.2)


def test_a_link_without_mass_is_missing_its_inertia_and_mass_zero_is_massless():
    builder = Builder("cart").link("x", Prismatic((1, 0, 0)), mass=0)
    builder.link("y", Prismatic((0, 1, 0)), parent="x")
    robot = builder.build()
    assert robot.missing == ("y",)
    assert robot.link("x").body is None


def test_mimics_are_given_by_name_or_with_a_multiplier():
    builder = arm()
    builder.link("left", Prismatic(), parent="hand", mass=1, inertia=UNIT, joint_name="left")
    builder.link("right", Prismatic(), parent="hand", mass=1, inertia=UNIT, mimic=Mimic("left", -1.0))
    builder.link("wheel", Revolute(), parent="hand", mass=1, inertia=UNIT, mimic="left")
    robot = builder.build()
    assert robot.nv == 3
    assert robot.joint("wheel_joint").mimic == Mimic("left", 1.0, 0.0)


BAD = {
    "an unknown base": (lambda: Builder("r", base="flaoting"), "no base 'flaoting'. Did you mean 'floating'"),
    "a moving base without a root": (lambda: Builder("r", base="planar", root=None), "no root link that could move"),
    "a string for a joint": (lambda: arm().link("x", "revolute"), "the joint of link 'x' is 'revolute'"),
    "an unknown parent": (lambda: arm().link("x", Revolute(), parent="uper").build(), "Did you mean 'upper'"),
    "a frame on nothing": (lambda: arm().frame("x", on="hnad").build(), "fixed to 'hnad'.*Did you mean 'hand'"),
    "a name used twice": (lambda: arm().fixed("hand").build(), "two links named 'hand'"),
    "a frame with a link's name": (lambda: arm().frame("upper").build(), "two frames .* named 'upper'"),
    "a cycle": (
        lambda: Builder("r").link("a", Revolute(), parent="b").link("b", Revolute(), parent="a").build(),
        "the links form a cycle: a -> b -> a",
    ),
    "two poses": (lambda: arm().frame("x", at=Pose(), xyz=(1, 2, 3)), "frame 'x' has two poses"),
    "a position of two numbers": (lambda: arm().frame("x", xyz=(1, 2)), "xyz of frame 'x' has 2 numbers"),
    "a position of strings": (lambda: arm().frame("x", xyz=("a", 0, 0)), "xyz of frame 'x' is 'a'"),
    "an infinite position": (lambda: arm().frame("x", xyz=(np.inf, 0, 0)), "xyz of frame 'x' is inf"),
    "a mass without inertia": (lambda: arm().fixed("x", mass=1), "link 'x' has a mass but no inertia"),
    "an inertia without mass": (lambda: arm().fixed("x", inertia=UNIT), "but no mass"),
    "an inertia of four": (
        lambda: arm().fixed("x", mass=1, inertia=(1, 1, 1, 1)),
        r"inertia of link 'x' is \(1, 1, 1, 1\)",
    ),
    "an asymmetric inertia": (
        lambda: Builder("r").link("x", Revolute(), mass=1, inertia=((1, 1, 0), (0, 1, 0), (0, 0, 1))).build(),
        "not symmetric",
    ),
    "two bodies": (
        lambda: arm().fixed("x", mass=1, body=random_body(np.random.default_rng(0))),
        "link 'x' has two bodies",
    ),
    "masses that cancel": (
        lambda: arm().fixed("x", parent="lower", xyz=(3, 0, 0), mass=-1.5, inertia=UNIT).build(),
        "add up to 0, but their inertias do not",
    ),
    "no moving joint": (lambda: Builder("r").fixed("x").build(), "has no moving joint"),
    "a home that is too long": (lambda: arm(home=(1, 2, 3)).build(), "home of robot 'arm' has 3 numbers"),
    "gravity of two": (lambda: arm(gravity=(0, 1)).build(), "gravity of robot 'arm' has 2 numbers"),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=BAD)
def test_invalid_parts_are_named_errors(build, message):
    with pytest.raises((DescriptionError, ModelError), match=message):
        build()


@given(seed=st.integers(0, 2**32), count=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_chain_of_fixed_links_has_the_total_inertia_of_its_links(seed, count):
    rng = np.random.default_rng(seed)
    builder, pose, parent = Builder("r").link("arm", Planar(), mass=0), Pose(), "arm"
    first, mass = np.zeros(3), 0.0
    for i in range(count):
        at, body = random_pose(rng), random_body(rng)
        builder.fixed(f"part{i}", parent=parent, at=at, body=body)
        parent, pose = f"part{i}", pose @ at
        first += body.mass * np.array(list(pose.apply(body.com)))
        mass += body.mass
    robot = builder.build()
    lumped, last = robot.link("arm").body, robot.frame(parent).pose
    np.testing.assert_allclose(lumped.mass, mass, rtol=1e-14)
    np.testing.assert_allclose(list(lumped.about_origin.first), first, atol=1e-13)
    np.testing.assert_allclose(list(last.translation), list(pose.translation), atol=1e-14)
    assert lumped.flaw() == ""


@given(order=st.permutations(range(6)))
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_description_changes_only_the_order_of_links(order):
    parents = [None, "l0", "l1", "l1", "l3", "l0"]
    builder = Builder("r")
    for i in order:
        builder.link(f"l{i}", Revolute(), parent=parents[i], xyz=(i, 0, 0), mass=i + 1, inertia=UNIT)
    robot = builder.build()
    for i, parent in enumerate(parents):
        assert robot.link(f"l{i}").parent == parent
        assert robot.link(f"l{i}").body.mass == i + 1
    names = list(robot.link_names)
    assert all(names.index(parent) < names.index(f"l{i}") for i, parent in enumerate(parents) if parent)
