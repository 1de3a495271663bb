"""The TOML format of appell: reading and errors."""

from __future__ import annotations

import math

import pytest

from appell.algebra.vector import Vec3
from appell.describe.load import load_text
from appell.describe.values import parse_quantity
from appell.errors import DescriptionError, ModelError
from appell.model.limits import Limits
from appell.model.robot import Mimic

LINK = '[[link]]\nname = "arm"\njoint = "revolute"\nmass = 1\ninertia = [1, 1, 1]\n'


def read(text: str, **options):
    return load_text(text, "toml", **options)


def test_a_robot_given_by_links():
    robot = read(
        'name = "r"\nhome = ["pi/2"]\nfree = ["arm"]\n'
        + LINK
        + 'axis = [0, 2, 0]\nxyz = [0, 0, 1]\nrpy = ["90 deg", 0, 0]\nlower = "-pi"\nupper = 3\n'
        + '[[link]]\nname = "tool"\nparent = "arm"\njoint = "fixed"\nxyz = [1, 0, 0]\n'
        + '[[link]]\nname = "jaw"\nparent = "tool"\njoint = "prismatic"\nmass = 0\nmimic = { leader = "arm_joint" }\n'
    )
    assert robot.home == (math.pi / 2,)
    assert robot.free == {"arm"}
    assert robot.joint("arm_joint").motion.axis == Vec3(0.0, 1.0, 0.0)
    assert robot.joint("arm_joint").limits == Limits(-math.pi, 3.0)
    assert robot.joint("arm_joint").placement.rotation[2, 1] == 1.0
    assert robot.joint("jaw_joint").mimic == Mimic("arm_joint")
    assert robot.joint("jaw_joint").placement.translation == Vec3(1.0, 0.0, 0.0)
    assert robot.frame("tool").body == "arm"


def test_a_dh_table_with_base_tool_and_gripper():
    robot = read(
        'name = "r"\nconvention = "standard"\n[base]\nxyz = [0, 0, 1]\n[tool]\nxyz = [0, 0, 0.1]\n'
        + '[[dh]]\ntwist = "pi/2"\nlength = 0.5\nmass = 1\ninertia = [1, 1, 1]\nupper = 2\n'
        + '[[link]]\nname = "jaw"\nparent = "link1"\njoint = "prismatic"\nmass = 0\n'
    )
    assert robot.link_names == ("link1", "jaw")
    assert robot.frame_names == ("link1", "jaw", "base", "frame1", "tool")
    assert robot.frame("base").pose.translation == Vec3(0.0, 0.0, 1.0)
    assert robot.link("link1").body.com == Vec3(0.5, 0.0, 0.0)
    assert robot.joint("joint1").limits == Limits(upper=2.0)


@pytest.mark.warns("massless")
def test_a_root_with_a_mass_for_a_moving_base():
    text = 'name = "r"\n[root]\nname = "hull"\nmass = 3\ninertia = [1, 1, 1]\n' + LINK
    assert read(text).frame_names == ("arm", "hull")
    floating = read(text, base="floating")
    assert floating.link_names == ("hull", "arm")
    assert floating.link("hull").body.mass == 3.0
    assert read('name = "r"\n' + LINK, base="floating").missing == ("base",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi", math.pi),
        ("-pi/2", -math.pi / 2),
        ("2pi/3", 2 * math.pi / 3),
        ("-2*pi/3", -2 * math.pi / 3),
        ("0.5 π", math.pi / 2),
        ("120 deg", math.radians(120)),
        ("-90°", -math.pi / 2),
        ("1e-3", 1e-3),
        (".5", 0.5),
    ],
)
def test_numbers_may_be_written_with_pi_and_degrees(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "p", "pi/0", "nan", "inf", "1_0", "1e999", "__import__('os')", "pi pi", "٣"])
def test_strings_that_are_not_numbers(text):
    assert parse_quantity(text) is None


BAD = {
    "invalid TOML": ("name = ?", r"the text is not valid TOML: .*line 1"),
    "too many brackets": ("a = " + "[" * 100_000, "the text is not valid TOML"),
    "no name": (LINK, "the robot has no name"),
    "an unknown key": ('name = "r"\nlinks = 1\n', "no key 'links'. Did you mean 'link'"),
    "an unknown key of a link": (
        'name = "r"\n' + LINK + "masss = 1",
        "number 1 has no key 'masss'. Did you mean 'mass'",
    ),
    "a link without a name": ('name = "r"\n[[link]]\njoint = "revolute"', r"\[\[link\]\] number 1 has no name"),
    "a link without a joint": ('name = "r"\n[[link]]\nname = "a"', "the joint of link 'a' has kind None"),
    "an unknown joint": ('name = "r"\n[[link]]\nname = "a"\njoint = "helical"', "has kind 'helical'.*\n.*revolute, "),
    "a list for a string": ("name = []", "name of the document is .*\n.*a string"),
    "a number for a table": ('name = "r"\nlink = 3', "link is not a list of tables"),
    "a bad angle": ('name = "r"\n' + LINK + 'rpy = ["pie", 0, 0]', "rpy of .* is 'pie'"),
    "a bool for a number": ('name = "r"\n' + LINK + "lower = true", "lower of link 'arm' is True"),
    "a number that is nan": ('name = "r"\n' + LINK + "lower = nan", "lower of link 'arm' is nan"),
    "an integer beyond floats": ('name = "r"\n' + LINK + f"lower = {10**400}", "lower of link 'arm'|not valid TOML"),
    "an axis of zero": ('name = "r"\n' + LINK + "axis = [0, 0, 0]", "which has no direction"),
    "an axis of two": ('name = "r"\n' + LINK + "axis = [0, 1]", "the axis of link 'arm' has 2 numbers"),
    "an axis of a planar joint": (
        'name = "r"\n[[link]]\nname = "a"\njoint = "planar"\naxis = [0, 0, 1]',
        "has an axis, but its planar joint does not take one",
    ),
    "two rotations": (
        'name = "r"\n' + LINK + "rpy = [0, 0, 0]\nrotation = [[1,0,0],[0,1,0],[0,0,1]]",
        "has two rotations",
    ),
    "a rotation of two rows": ('name = "r"\n' + LINK + "rotation = [[1,0,0],[0,1,0]]", "rotation of link 'arm'"),
    "a matrix that is not orthonormal": (
        'name = "r"\n' + LINK + "rotation = [[1,0,0],[0,1,0],[0,0,2]]",
        "is not orthonormal",
    ),
    "a reflection": ('name = "r"\n' + LINK + "rotation = [[1,0,0],[0,1,0],[0,0,-1]]", "is a reflection"),
    "a mimic without a leader": ('name = "r"\n' + LINK + "mimic = {}", "the mimic of link 'arm' has no leader"),
    "a fixed link with an axis": (
        'name = "r"\n[[link]]\nname = "a"\njoint = "fixed"\naxis = [0, 0, 1]',
        "is fixed, but has axis",
    ),
    "free that is a string": ('name = "r"\nfree = "arm"\n' + LINK, "free of the document is 'arm'"),
    "free with an unknown link": ('name = "r"\nfree = ["amr"]\n' + LINK, "no link 'amr'. Did you mean 'arm'"),
    "a frame on nothing": ('name = "r"\n' + LINK + '[[frame]]\nname = "f"\non = "amr"', "frame 'f' is fixed to 'amr'"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_invalid_documents_are_named_errors(text, message):
    with pytest.raises((DescriptionError, ModelError), match=message):
        read(text)


def test_an_error_names_the_file():
    with pytest.raises(DescriptionError, match=r"read from robots/arm\.toml, line 2"):
        read('name = "r"\nx = 1\n' + LINK, source="robots/arm.toml")
