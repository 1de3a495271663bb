"""Mistakes in URDF files that other readers tolerate: ignored with one warning that lists them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from appell.describe.load import load_text
from appell.describe.zoo.mechanisms import agile_wrist
from appell.errors import ModelWarning

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def urdf(arm: str = BODY, joint: str = "", extra: str = "") -> str:
    return f"""<robot name="r"><link name="base"/>
<link name="arm">{arm}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>{joint}</joint>
{extra}</robot>"""


def read(text: str, message: str):
    with pytest.warns(ModelWarning, match=message) as warned:
        robot = load_text(text, "urdf", source="arm.urdf")
    assert len(warned) == 1
    return robot


def test_the_first_of_two_tags_counts():
    robot = read(urdf(BODY + BODY.replace('value="1"', 'value="9"')), r"a second <inertial> of link 'arm' \(line 2\)")
    assert robot.bodies["arm"].mass == 1.0
    robot = read(urdf(joint='<axis xyz="1 0 0"/>'), r"a second <axis> of joint 'j' \(line 3\)")
    assert tuple(robot.joint("j").motion.axis) == (0.0, 0.0, 1.0)


def test_an_identical_repetition_is_ignored_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_text(urdf(BODY + BODY, '<axis xyz="0 0 1"/>'), "urdf").nv == 1


def test_an_inertial_without_a_mass_is_ignored():
    robot = read(urdf('<inertial><density value="7"/></inertial>'), r"<inertial> of link 'arm', which has no <mass>")
    assert robot.missing == ("arm",)


def test_inverted_limits_mean_no_limits():
    robot = read(
        urdf(joint='<limit lower="1" upper="-1" effort="3"/>'),
        r"the limits of joint 'j', because 1 is above -1 \(line 3\)",
    )
    assert robot.joint("j").limits.lower is None
    assert robot.joint("j").actuator.torque == 3.0


@pytest.mark.parametrize("before", ["\n\n", "<!-- by hand -->\n", "  "])
def test_an_xml_declaration_after_the_first_line_is_accepted(before):
    text = f'{before}<?xml version="1.0"\n?>{urdf()}'
    assert load_text(text, "urdf").nv == 1


@pytest.mark.parametrize("moments", [(-2.4e-35, 0.0, 2.4e-35), (4.9e-21, 3.5e-20, 5.5e-20), (-6e-21, 8e-22, 1.1e-18)])
def test_the_rounding_of_a_point_mass_is_not_an_error(moments):
    inertia = '<inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/>'.format(*moments)
    text = urdf(f'<inertial><mass value="1"/>{inertia}</inertial>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_text(text, "urdf").nv == 1


def test_a_plate_with_rounded_inertia_causes_a_warning_in_a_urdf_and_in_a_mechanism():
    """The platform of Abedloo 2014 with its centre of mass at 0.05165 m, as a link and as a part of a wrist."""
    moment = 38.29e-4 - 1.351 * 0.05165**2
    inertia = f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="4.5e-4"/>'
    text = urdf(f'<inertial><origin xyz="0 0 0.05165"/><mass value="1.351"/>{inertia}</inertial>')
    with pytest.warns(ModelWarning, match=r"link 'arm' has principal moments .* by 0\.041 %"):
        robot = load_text(text, "urdf")
    with pytest.warns(ModelWarning, match=r"body 'platform' has principal moments .* by 0\.041 %"):
        wrist = agile_wrist(platform_com=(0.0, 0.0, 0.05165))
    np.testing.assert_allclose(robot.bodies["arm"].parameters, wrist.bodies["platform"].parameters, rtol=1e-15)
