"""Actuators in URDF: transmissions in every dialect, and values that other readers ignore."""

from __future__ import annotations

import warnings

import pytest

from appell.describe.load import load, load_text
from appell.describe.write import to_urdf
from appell.errors import DescriptionError, ModelError, ModelWarning
from appell.model.actuator import IDEAL, Actuator, Friction
from robots import random_tree

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def urdf(*parts: str, inside: str = "") -> str:
    ends = f'<parent link="base"/><child link="arm"/>{inside}'
    joint = f'<joint name="j" type="revolute">{ends}</joint>'
    links = f'<link name="base"/><link name="arm">{BODY}</link>'
    return "\n".join(['<robot name="r">', links, joint, *parts, "</robot>"])


def read(*parts: str, inside: str = "") -> Actuator:
    return load_text(urdf(*parts, inside=inside), "urdf").joint("j").actuator


SIMPLE = "<type>transmission_interface/SimpleTransmission</type>"
DIALECTS = {
    "ROS 1": f'<transmission name="t">{SIMPLE}<joint name="j"><hardwareInterface>E</hardwareInterface></joint>'
    '<actuator name="m"><mechanicalReduction> 50 </mechanicalReduction></actuator></transmission>',
    "PR2": '<transmission name="t" type="SimpleTransmission"><actuator name="m"/><joint name="j"/>'
    "<mechanicalReduction>50</mechanicalReduction></transmission>",
    "attributes": '<transmission name="t" type="SimpleTransmission"><actuator name="m" mechanicalReduction="50"/>'
    '<joint name="j"/></transmission>',
    "ROS 2": '<ros2_control name="c"><transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
    '<actuator name="m" role="actuator1"/><joint name="j" role="joint1"><mechanical_reduction>50.0'
    "</mechanical_reduction></joint></transmission></ros2_control>",
    "twice the same": '<transmission name="t"><joint name="j"/><mechanicalReduction>50</mechanicalReduction>'
    '</transmission><transmission name="u"><joint name="j"/><mechanicalReduction>50.0</mechanicalReduction>'
    "</transmission>",
}


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
def test_a_simple_transmission_is_a_gear_ratio(text):
    assert read(text) == Actuator(gear=50.0)


@pytest.mark.parametrize("tag", ["motorInertia", "rotor_inertia"])
def test_a_transmission_may_contain_the_rotor_inertia(tag):
    motor = f'<actuator name="m"><mechanicalReduction>-9</mechanicalReduction><{tag}>2e-4</{tag}></actuator>'
    text = f'<transmission name="t">{SIMPLE}<joint name="j"/>{motor}</transmission>'
    assert read(text) == Actuator(gear=-9.0, rotor_inertia=2e-4)


REDUCED = "<mechanicalReduction>50</mechanicalReduction>"
IGNORED = {
    "no joint": f'<transmission name="t">{SIMPLE}<actuator name="m">{REDUCED}</actuator></transmission>',
    "a joint without a name": f'<transmission name="t">{SIMPLE}<joint/>{REDUCED}</transmission>',
    "no reduction": f'<transmission name="t">{SIMPLE}<joint name="j"/><actuator name="m"/></transmission>',
    "a blank reduction": f'<transmission name="t">{SIMPLE}<joint name="j"/><mechanicalReduction> </mechanicalReduction>'
    "</transmission>",
    "two actuators": f'<transmission name="t">{SIMPLE}<joint name="j"/><actuator>{REDUCED}</actuator><actuator/>'
    "</transmission>",
    "a differential": '<transmission name="t"><type>transmission_interface/DifferentialTransmission</type>'
    f'<joint name="j"/><actuator name="m">{REDUCED}</actuator></transmission>',
    "empty": "<transmission/>",
}


@pytest.mark.parametrize("text", IGNORED.values(), ids=IGNORED)
def test_a_transmission_without_a_gear_ratio_is_ignored(text):
    assert read(text) == IDEAL


def test_transmissions_of_unknown_joints_cause_one_warning_with_their_lines():
    unknown = [f'<transmission name="t"><joint name="{name}"/>{REDUCED}</transmission>' for name in ("k", "l")]
    with pytest.warns(ModelWarning, match=r"'k' \(line 5\), 'l' \(line 6\)") as warned:
        assert read(DIALECTS["PR2"], *unknown) == Actuator(gear=50.0)
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DIALECTS["attributes"].replace("50", "x"), "mechanicalReduction of <actuator> .* contains 'x'"),
        (DIALECTS["PR2"].replace("50", "0"), "joint 'j' of robot 'r' has gear ratio 0"),
        (
            DIALECTS["PR2"] + DIALECTS["ROS 1"].replace("50", "60"),
            "joint 'j' has two transmissions with different values",
        ),
    ],
)
def test_an_invalid_transmission_is_an_error(text, message):
    with pytest.raises((DescriptionError, ModelError), match=message):
        read(text)


@pytest.mark.parametrize("word", ["fifty", "nan", "reduction"])
def test_a_reduction_that_is_not_a_number_is_ignored_with_a_warning(word):
    with pytest.warns(ModelWarning, match=r"a <mechanicalReduction> that is not a number \(line 4\)"):
        assert read(DIALECTS["PR2"].replace("50", word)) == IDEAL


def test_an_unknown_attribute_of_the_appell_tag_is_an_error():
    with pytest.raises(DescriptionError, match=r"has no attribute 'rotor_mass'\. Did you mean 'rotor_inertia'"):
        read(inside='<appell rotor_mass="1"/>')


def test_values_that_other_readers_ignore_cause_one_warning():
    robot = load("puma")
    with pytest.warns(ModelWarning) as warned:
        text = to_urdf(robot)
    assert len(warned) == 1
    message = str(warned[0].message)
    assert "robot 'puma'" in message
    assert "joint 'joint4' has rotor inertia 3.3e-05, current 4, torque constant 0.09" in message
    assert "gear" not in message
    assert "<mechanicalReduction>62.6111</mechanicalReduction>" in text
    assert load_text(text, "urdf") == robot


def test_values_that_urdf_can_express_are_written_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actuator = Actuator(gear=3.0, friction=Friction(1.0, 2.0), torque=4.0, speed=5.0)
        to_urdf(random_tree(0, 3, kinds=("revolute",)).with_actuators(lambda *_: actuator))
