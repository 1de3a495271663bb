"""SDF: relative poses, dynamics compared with numbers of Drake, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.load import load, load_text
from appell.errors import DescriptionError, ModelWarning
from sdf_texts import ARM

INERTIAL = "<inertial><mass>{}</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"

# results of Drake 1.51 with the base welded to the world: CalcInverseDynamics with damping, CalcMassMatrix
STATE = np.array(
    [
        [-0.8287016657127513, 0.16432407212873557, -0.04189740371833195],
        [-2.5556650313141818, -0.45264929211044586, -0.23193237764418947],
        [0.41809884672577885, -0.2155971630897659, -0.8652130762749417],
    ]
)
FORCES = [-3.3631252596003938, 5.072804735137896, -0.04070269351795985]
INERTIA = [
    [0.34254168942163826, 0.09599679660763616, 0.0006112974872707712],
    [0.09599679660763616, 1.8000000000000012, -0.003287270406420162],
    [0.0006112974872707712, -0.003287270406420162, 0.0004800000000000003],
]


def test_dynamics_agree_with_drake():
    robot = load_text(ARM, "sdf")
    assert robot.joint_names == ("lift", "reach", "tool::spin")
    equations = ap.Dynamics(robot, friction=True).equations
    q, v, a = STATE.tolist()
    np.testing.assert_allclose(equations.forces(q, v, a, {}), FORCES, rtol=1e-12)
    np.testing.assert_allclose(equations.mass_matrix(q), INERTIA, rtol=1e-12)


def test_limits_actuators_and_frames_are_read():
    robot = load(ARM)
    lift = robot.joint("lift")
    assert (lift.limits.lower, lift.limits.upper, lift.actuator.torque, lift.actuator.speed) == (-1.0, 2.0, 30.0, 4.0)
    assert {"base", "shoulder", "upper", "tool::cup", "tool::spinner"} <= set(robot.frame_names)
    pose = ap.Dynamics(robot).equations.pose(robot.frame("shoulder"), [0.0] * 3)
    np.testing.assert_allclose([*pose.translation], [0.1, 0.3, 0.8], atol=1e-15)


def test_the_poses_of_the_file_are_those_at_q_zero():
    """At q = 0 the pose of upper is shoulder * pose, wherever its joint is."""
    robot = load(ARM)
    equations = ap.Dynamics(robot).equations
    shoulder, upper = (equations.pose(robot.frame(name), [0.0] * 3) for name in ("shoulder", "upper"))
    relative = shoulder.inverse @ upper
    np.testing.assert_allclose([*relative.translation], [0.05, 0.0, 0.02], atol=1e-15)


def model(inside: str, version: str = "1.7", world: str = "") -> str:
    body = f'<model name="m">\n{inside}\n</model>'
    inner = f'<world name="w">{world}{body}</world>' if world else body
    return f'<sdf version="{version}">{inner}</sdf>'


def link(name: str, more: str = "") -> str:
    return f'<link name="{name}">{INERTIAL.format(1)}{more}</link>'


def joint(kind: str = "revolute", more: str = "<axis><xyz>0 0 1</xyz></axis>", ends: tuple = ("a", "b")) -> str:
    return f'<joint name="j" type="{kind}"><parent>{ends[0]}</parent><child>{ends[1]}</child>{more}</joint>'


def axis(robot):
    return tuple(round(x, 12) for x in robot.joint("j").motion.axis)


def test_axes_of_old_versions_are_in_the_axes_of_the_model():
    turned = link("a") + link("b", "<pose>0 0 1 1.5707963267948966 0 0</pose>") + joint()
    assert axis(load(model(turned, "1.7"))) == (0, 0, 1)
    assert axis(load(model(turned, "1.4"))) == (0, 1, 0)
    old = turned.replace("</xyz>", "</xyz><use_parent_model_frame>1</use_parent_model_frame>")
    assert axis(load(model(old, "1.6"))) == (0, 1, 0)


def test_a_world_defines_gravity_and_static_models_are_ignored():
    static = '<model name="table"><static>true</static><link name="t"/></model><gravity>0 0 -1.6</gravity>'
    assert tuple(load(model(link("a") + link("b") + joint(), world=static)).gravity) == (0.0, 0.0, -1.6)


def test_a_joint_to_the_world_needs_no_root():
    robot = load(model(link("b") + joint(ends=("world", "b"))))
    assert robot.nv == 1
    with pytest.raises(DescriptionError, match="base='floating' does not apply"):
        load(model(link("b") + joint(ends=("world", "b"))), base="floating")


def test_springs_mimics_and_ball_joints_are_read():
    text = model(
        link("a") + link("b") + link("c") + link("d") + joint("ball", "", ("b", "d")).replace('"j"', '"s"')
        + joint(more="<axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>5</spring_stiffness>"
                "<spring_reference>0.2</spring_reference></dynamics></axis>")
        + joint(ends=("b", "c"), more='<axis><xyz>1 0 0</xyz><mimic joint="j"><multiplier>2</multiplier>'
                "<offset>0.1</offset><reference>0.5</reference></mimic></axis>").replace('name="j"', 'name="k"', 1)
    )  # fmt: skip
    robot = load(text)
    actuator = robot.joint("j").actuator
    assert (actuator.stiffness, actuator.rest, robot.nv) == (5.0, 0.2, 4)
    assert (robot.joint("k").mimic.multiplier, robot.joint("k").mimic.offset) == (2.0, -0.9)


def test_a_link_without_inertial_has_the_default_mass_of_sdf():
    with pytest.warns(ModelWarning, match="link 'b' has no <inertial> and gets the mass of 1 kg"):
        robot = load(model(link("a") + '<link name="b"/>' + joint()))
    assert robot.link("b").body.mass == 1.0
    assert robot.link("b").body.moments == (1.0, 1.0, 1.0)


TWO = link("a") + "\n" + link("b") + "\n"
UNSUPPORTED = {
    "a screw": (TWO + joint("screw"), "joint 'j' has type 'screw'", 4),
    "a gearbox": (TWO + joint() + joint("gearbox").replace('"j"', '"k"'), "'k' has no <gearbox_reference_body>", 4),
    "two axes": (TWO + joint("universal", "<axis/><axis2/>"), "has type 'universal'", 4),
    "a second axis": (TWO + joint(more="<axis><xyz>1 0 0</xyz></axis>\n<axis2/>"), "has a second axis", 5),
    "no axis": (TWO + joint(more=""), "joint 'j' has no <axis>", 4),
    "an axis of zeros": (TWO + joint(more="<axis><xyz>0 0 0</xyz></axis>"), "which has no direction", 4),
    "strings in a pose": (
        TWO.replace('name="b">', 'name="b"><pose>0 0 x 0 0 0</pose>') + joint(),
        "<pose> of link 'b'",
        3,
    ),
    "an unknown frame": (TWO + joint(ends=("a", "c")), "has no link or frame 'c'", 4),
    "a cycle of poses": (
        TWO.replace('name="b">', 'name="b"><pose relative_to="f"/>')
        + joint()
        + '<frame name="f" attached_to="a"><pose relative_to="b"/></frame>',
        "the poses form a cycle",
        3,
    ),
    "parts": (TWO + link("c") + joint(), "no joints connect the root link 'a' with 'c'", 1),
    "the world as a child": (TWO + joint(ends=("a", "world")), "joint 'j' has the world as its child", 4),
    "no links": ("", "the model has no links", 1),
    "another file": (TWO + joint() + "<include><uri>x</uri></include>", "<include> refers to another file", 4),
    "no gravity": (TWO.replace('name="b">', 'name="b"><gravity>0</gravity>') + joint(), "link 'b' disables gravity", 3),
    "kinematic": (TWO.replace('name="b">', 'name="b"><kinematic>true</kinematic>') + joint(), "is kinematic", 3),
    "inertia from shapes": (
        TWO.replace("<inertial>", '<inertial auto="true">') + joint(),
        "to be computed from shapes",
        2,
    ),
    "the world as a link": (TWO + link("world") + joint(), "a link is named 'world'", 4),
    "two of a name": (TWO + link("a") + joint(), "two parts named 'a'", 4),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_elements_are_errors_with_their_lines(name):
    inside, problem, line = UNSUPPORTED[name]
    with pytest.raises(DescriptionError) as raised:
        load_text(model(inside), "sdf", source="m.sdf")
    errors = raised.value.parts or (raised.value,)
    assert any(problem in error.problem and error.source == f"m.sdf, line {line}" for error in errors), str(
        raised.value
    )


def test_each_error_is_reported_once():
    pitch = "<axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>1</screw_thread_pitch>"
    with pytest.raises(DescriptionError) as raised:
        load(model(TWO.replace('name="b">', 'name="b"><gravity>0</gravity>') + joint("screw", pitch)))
    assert [error.problem for error in raised.value.parts] == [
        "link 'b' disables gravity, which appell does not support.",
        "joint 'j' has type 'screw'.",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE sdf [<!ENTITY a "b">]><sdf/>', "declares a document type"),
        ("<sdf><model></sdf>", "the text is not valid XML"),
        ("<sdf/>", "there are 0 models that are not static"),
        ('<sdf><model name="a"/><model name="b"/></sdf>', "2 models that are not static: 'a', 'b'"),
    ],
)
def test_hostile_and_empty_documents_are_errors(text, problem):
    with pytest.raises(DescriptionError, match=problem):
        load_text(text, "sdf")
