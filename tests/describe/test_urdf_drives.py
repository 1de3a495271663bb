"""What a URDF says about drives: transmissions in every dialect, and what other readers will not see."""

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
def test_a_simple_transmission_is_a_gear(text):
    assert read(text) == Actuator(gear=50.0)


@pytest.mark.parametrize("tag", ["motorInertia", "rotor_inertia"])
def test_a_transmission_may_know_its_rotor(tag):
    motor = f'<actuator name="m"><mechanicalReduction>-9</mechanicalReduction><{tag}>2e-4</{tag}></actuator>'
    text = f'<transmission name="t">{SIMPLE}<joint name="j"/>{motor}</transmission>'
    assert read(text) == Actuator(gear=-9.0, rotor_inertia=2e-4)


REDUCED = "<mechanicalReduction>50</mechanicalReduction>"
PASSED_OVER = {
    "no joint": f'<transmission name="t">{SIMPLE}<actuator name="m">{REDUCED}</actuator></transmission>',
    "a joint without a name": f'<transmission name="t">{SIMPLE}<joint/>{REDUCED}</transmission>',
    "no reduction": f'<transmission name="t">{SIMPLE}<joint name="j"/><actuator name="m"/></transmission>',
    "a blank reduction": f'<transmission name="t">{SIMPLE}<joint name="j"/><mechanicalReduction> </mechanicalReduction>'
    "</transmission>",
    "two actuators": f'<transmission name="t">{SIMPLE}<joint name="j"/><actuator>{REDUCED}</actuator><actuator/>'
    "</transmission>",
    "a differential": '<transmission name="t"><type>transmission_interface/DifferentialTransmission</type>'
    f'<joint name="j"/><actuator name="m">{REDUCED}</actuator></transmission>',
    "nothing": "<transmission/>",
}


@pytest.mark.parametrize("text", PASSED_OVER.values(), ids=PASSED_OVER)
def test_a_transmission_that_is_no_gear_ratio_is_passed_over(text):
    assert read(text) == IDEAL


def test_transmissions_of_joints_that_are_not_there_are_one_warning_with_their_lines():
    strangers = [f'<transmission name="t"><joint name="{name}"/>{REDUCED}</transmission>' for name in ("k", "l")]
    with pytest.warns(ModelWarning, match=r"'k' \(line 5\), 'l' \(line 6\)") as warned:
        assert read(DIALECTS["PR2"], *strangers) == Actuator(gear=50.0)
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DIALECTS["attributes"].replace("50", "x"), "mechanicalReduction of <actuator> .* holds 'x'"),
        (DIALECTS["PR2"].replace("50", "0"), "joint 'j' of robot 'r' has gear ratio 0"),
        (DIALECTS["PR2"] + DIALECTS["ROS 1"].replace("50", "60"), "two transmissions of joint 'j' disagree"),
    ],
)
def test_a_transmission_that_cannot_be_is_refused(text, message):
    with pytest.raises((DescriptionError, ModelError), match=message):
        read(text)


@pytest.mark.parametrize("word", ["fifty", "nan", "reduction"])
def test_a_reduction_in_words_is_passed_over_with_its_line(word):
    with pytest.warns(ModelWarning, match=r"a <mechanicalReduction> that is no number \(line 4\)"):
        assert read(DIALECTS["PR2"].replace("50", word)) == IDEAL


def test_an_unknown_attribute_of_our_own_tag_is_refused():
    with pytest.raises(DescriptionError, match=r"has no attribute 'rotor_mass'\. Did you mean 'rotor_inertia'"):
        read(inside='<appell rotor_mass="1"/>')


def test_what_other_readers_of_a_urdf_will_not_see_is_one_warning():
    robot = load("puma")
    with pytest.warns(ModelWarning) as warned:
        text = to_urdf(robot)
    assert len(warned) == 1
    told = str(warned[0].message)
    assert "robot 'puma'" in told
    assert "joint 'joint4' has rotor inertia 3.3e-05, current 4, torque constant 0.09" in told
    assert "gear" not in told
    assert "<mechanicalReduction>62.6111</mechanicalReduction>" in text
    assert load_text(text, "urdf") == robot


def test_what_urdf_can_say_is_written_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drive = Actuator(gear=3.0, friction=Friction(1.0, 2.0), torque=4.0, speed=5.0)
        to_urdf(random_tree(0, 3, kinds=("revolute",)).with_actuators(lambda *_: drive))
