"""Loops, wheels, blades and gears in TOML: what is read, what is written, and what is told of mistakes."""

from __future__ import annotations

import pytest

import appell as ap
from appell.model.robot import ConstrainedRobot

FOUR_BAR = """
name = "fourbar"
gravity = [0, -9.81, 0]
home = [0.6, 0.1, 1.6]
actuated = ["crank"]
independent = ["crank"]

[[link]]
name = "crank"
joint = "revolute"
joint_name = "crank"
mass = 1.0
com = [0.15, 0.03, 0]
inertia = [1e-4, 0.0075, 0.0075]

[[link]]
name = "coupler"
parent = "crank"
joint = "revolute"
joint_name = "coupler"
xyz = [0.3, 0, 0]
mass = 1.5
com = [0.4, 0, 0]
inertia = [1e-4, 0.08, 0.08]

[[link]]
name = "rocker"
joint = "revolute"
joint_name = "rocker"
xyz = [0.9, 0, 0]
mass = 1.2
com = [0.35, 0, 0]
inertia = [1e-4, 0.05, 0.05]

[[frame]]
name = "tip"
on = "coupler"
xyz = [0.8, 0, 0]

[[frame]]
name = "pin"
on = "rocker"
xyz = [0.7, 0, 0]
"""
POINT = '\n[[loop]]\ntype = "point"\nframes = ["tip", "pin"]\n'
CART = """
name = "cart"

[root]
name = "chassis"
mass = 4
com = [0, 0, 0]
inertia = [0.1, 0.1, 0.1]

[[link]]
name = "left"
parent = "chassis"
joint = "continuous"
xyz = [0, 0.2, 0.1]
axis = [0, 1, 0]
mass = 1
com = [0, 0, 0]
inertia = [0.01, 0.01, 0.01]

[[link]]
name = "right"
parent = "chassis"
joint = "continuous"
xyz = [0, -0.2, 0.1]
axis = [0, 1, 0]
mass = 1
com = [0, 0, 0]
inertia = [0.01, 0.01, 0.01]
"""
WHEELS = '\n[[rolling]]\nlink = "left"\nradius = 0.1\n\n[[rolling]]\nlink = "right"\nradius = 0.1\naxis = "y"\n'


def test_a_loop_is_read():
    system = ap.load(FOUR_BAR + POINT)
    assert isinstance(system, ConstrainedRobot)
    assert system.constraints == (ap.Point("tip", "pin"),)
    assert (system.velocity_names, system.actuator_names) == (("crank",), ("crank",))
    by_hand = ap.load(FOUR_BAR.replace('actuated = ["crank"]\nindependent = ["crank"]\n', ""))
    assert system == by_hand.with_loops(ap.Point("tip", "pin"), actuated=["crank"], independent=("crank",))


def test_wheels_are_read():
    system = ap.load(CART + WHEELS, base="planar")
    assert system.constraints == (ap.Rolling("left", 0.1), ap.Rolling("right", 0.1))
    assert system.nv == 2


WRITTEN = {
    "a point": (ap.Point("tip", "pin"),),
    "a named hinge": (ap.Hinge("tip", "pin", name="knee"),),
    "a rod": (ap.Distance("tip", "pin", 0.1),),
    "a rod of the length that it has": (ap.Distance("tip", "rocker"),),
    "a place in the world": (ap.OnLine("tip", ap.Pose.from_rpy(ap.Vec3(0.1, 0.2, 0.3), ap.Vec3(1.0, 0.5, 0.0))),),
    "the world": (ap.OnPlane("tip", None), ap.Orientation("pin", "world")),
    "a gear": (ap.Gear({"crank": 1.0, "rocker": -0.5}, 0.1), ap.Gear({"coupler": 2.0}, name="held")),
    "a motion": (ap.Prescribed(ap.Gear({"crank": 1.0})), ap.Prescribed(ap.Distance("tip", "pin", 0.2), name="ram")),
    "a wheel and a ball": (
        ap.Rolling("tip", 0.1, axis="z"),
        ap.Rolling("pin", 0.2, ball=True, on="coupler", turning=0.3, name="ball"),
    ),
    "blades": (ap.Skate("tip", "x"), ap.Skate("pin", "z", on="coupler", name="edge")),
}


def lines(constraints):
    """What a file says of constraints, by way of a robot that is given them unclosed."""
    tree = ap.load(FOUR_BAR.replace('actuated = ["crank"]\nindependent = ["crank"]\n', ""))
    return ConstrainedRobot(tree, constraints, {"crank": 1.0}, tuple(tree.start), None, None, False)


@pytest.mark.parametrize("case", WRITTEN)
def test_what_is_written_is_read_back(case, monkeypatch):
    """Whether loops close is another matter: here the reader only takes down what it is told."""
    monkeypatch.setattr(ap.Robot, "with_loops", lambda self, *held, **options: held)
    text = ap.to_toml(lines(WRITTEN[case]))
    read = ap.load(text)
    names = [held.name for held in read]
    assert names == [held.name for held in WRITTEN[case]]
    for one, other in zip(read, WRITTEN[case], strict=True):
        if isinstance(other, ap.Prescribed):
            assert one.labels == other.labels
            one, other = (
                one.constraint,
                ap.Distance("tip", "pin", 0.2, name="ram") if other.name == "ram" else other.constraint,
            )
        assert one == other


@pytest.mark.parametrize("weights", [["crank"], {"crank": 2.0, "rocker": 1.0}])
def test_a_constrained_robot_that_is_written_is_read_back_the_same(weights):
    system = ap.load(FOUR_BAR + POINT).tree.with_loops(ap.Point("tip", "pin"), actuated=weights, independent="crank")
    read = ap.load(ap.to_toml(system))
    assert read == system
    assert read.home == system.home


def test_what_a_file_cannot_say_is_named():
    on_a_sphere = lines((ap.Rolling("tip", 0.1, on=ap.Sphere(2.0)),))
    with pytest.raises(ap.ModelError, match="cannot be written: rolling 'tip' is more than a file can say"):
        ap.to_toml(on_a_sphere)
    with pytest.raises(ap.ModelError, match=r"which is all that URDF describes(?s:.*)system.tree"):
        ap.to_urdf(on_a_sphere)


BAD = {
    "an unknown type": (
        POINT.replace("point", "pont"),
        r"no type of loop 'pont'. Did you mean 'point'\?(?s:.*)line 45",
    ),
    "no type": (POINT.replace('type = "point"\n', ""), "no type of loop 'None'"),
    "three frames": (POINT.replace('"pin"]', '"pin", "pin"]'), "has frames .*(?s:.*)two names"),
    "an unknown frame": (POINT.replace('"tip"', '"tpi"'), r"Did you mean 'tip'\?(?s:.*)line 44"),
    "a length of a point": (POINT + "length = 0.1\n", "is a point, which has no length"),
    "two frames and a place": (POINT + "xyz = [0, 0, 1]\n", "has two frames and a place"),
    "an unknown key": (POINT + "lenght = 0.1\n", r"no key 'lenght'. Did you mean 'length'\?"),
    "a wheel without a link": ("\n[[rolling]]\nradius = 0.1\n", "number 1 has no link"),
    "a wheel without a radius": ('\n[[rolling]]\nlink = "tip"\n', "rolling 'tip' has radius None"),
    "a ball that is a number": ('\n[[rolling]]\nlink = "tip"\nradius = 0.1\nball = 1\n', "ball of .* is 1"),
    "ratios in a list": ("\n[[gear]]\nratios = [1.0]\n", r"ratios of \[\[gear\]\] number 1 is"),
    "a ratio in words": ('\n[[gear]]\nratios = { crank = "two" }\n', "ratios of .* is 'two'"),
    "loops on one link": (POINT.replace('"pin"', '"coupler"'), "both on link 'coupler'"),
    "an unknown motor": (POINT, "has no velocity 'carnk'"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told_with_their_lines(case):
    loops, message = BAD[case]
    text = FOUR_BAR.replace('actuated = ["crank"]', 'actuated = ["carnk"]') if "motor" in case else FOUR_BAR
    with pytest.raises(ap.AppellError, match=message):
        ap.load(text + loops)


def test_motors_of_a_robot_without_constraints_are_a_mistake():
    with pytest.raises(ap.DescriptionError, match=r"actuated is for robots with constraints(?s:.*)loop"):
        ap.load(FOUR_BAR)


URDF = """<robot name="rods">
  <link name="base"/>
  <link name="one"/>
  <link name="two"/>
  <joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="continuous"><parent link="base"/><child link="two"/><axis xyz="0 0 1"/></joint>{more}
</robot>"""


def test_loops_are_added_to_a_description_that_has_none():
    system = ap.load(URDF.format(more=""), loops=[ap.Gear({"a": 1.0, "b": -2.0})], name="geared")
    assert (system.nv, system.name) == (1, "geared")
    with pytest.raises(ap.DescriptionError, match="loops= means nothing"):
        ap.load("delta", loops=[ap.Gear({"a": 1.0})])


def test_a_loop_in_a_urdf_is_told_how_it_is_closed():
    second = '\n  <joint name="c" type="continuous"><parent link="one"/><child link="two"/><axis xyz="0 0 1"/></joint>'
    with pytest.raises(ap.DescriptionError, match=r"'two' is the child of two joints(?s:.*)loops=\[ap.Hinge"):
        ap.load(URDF.format(more=second))


def test_a_loop_of_links_in_toml_is_told_how_it_is_closed():
    circle = FOUR_BAR.replace('parent = "crank"', 'parent = "coupler"')
    with pytest.raises(ap.DescriptionError, match=r"in a circle(?s:.*)\[\[loop\]\] in TOML, robot.with_loops"):
        ap.load(circle)
