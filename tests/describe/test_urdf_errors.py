"""Invalid and hostile URDF: each causes an error with the name of the culprit and its line."""

from __future__ import annotations

import pytest

from appell.describe.load import load, load_text
from appell.errors import DescriptionError, ModelError, ModelWarning

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LINKS = f"""
<link name="base"/>
<link name="arm">{BODY}</link>
<link name="hand">{BODY}</link>"""
SHOULDER = '<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>'
WRIST = '<joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/></joint>'


def urdf(*parts: str) -> str:
    return "\n".join(['<robot name="r">', *parts, "</robot>"])


GOOD = urdf(LINKS, SHOULDER, WRIST)


def joint(inside: str, kind: str = "revolute") -> str:
    ends = '<parent link="arm"/><child link="hand"/>'
    return urdf(LINKS, SHOULDER, f'<joint name="wrist" type="{kind}">{ends}{inside}</joint>')


BAD = {
    "not XML": ("robot", "the text is not valid XML"),
    "an empty text": ("", "the text is not valid XML: no element found"),
    "a tag left open": (GOOD[:-8], "the text is not valid XML"),
    "another tag outside": ("<sdf/>", "the outermost tag is <sdf>"),
    "no name": ("<robot/>", "<robot> of the robot has no attribute name|the robot has no links"),
    "no links": ('<robot name="r"/>', "the robot has no links"),
    "xacro": ('<robot name="r"><xacro:include filename="x"/></robot>', "the file is xacro, not URDF"),
    "a document type": ("<!DOCTYPE robot>" + GOOD, "declares a document type"),
    "a link without a name": (urdf("<link/>"), "<link> of a link has no attribute name"),
    "two links of one name": (urdf(LINKS, '<link name="arm"/>'), "two links named 'arm', the first on line 4"),
    "two joints of one name": (
        urdf(LINKS, SHOULDER, WRIST.replace('"wrist"', '"shoulder"')),
        "two joints named 'shoulder'",
    ),
    "two roots": (urdf(LINKS, SHOULDER), r"2 root links: 'base' \(line 3\), 'hand' \(line 5\)"),
    "two parents": (
        urdf(LINKS, SHOULDER, WRIST.replace("hand", "arm")),
        "link 'arm' is the child of two joints, 'shoulder'",
    ),
    "a cycle": (
        urdf(LINKS, SHOULDER.replace('"base"', '"hand"'), WRIST),
        "the links form a cycle: arm -> hand -> arm",
    ),
    "only a cycle": (
        urdf(f'<link name="arm">{BODY}</link>', SHOULDER.replace('"base"', '"arm"')),
        "every link is the child of a joint",
    ),
    "an unknown parent": (urdf(LINKS, SHOULDER, WRIST.replace('"arm"', '"amr"')), "parent 'amr'.*Did you mean 'arm'"),
    "an unknown child": (urdf(LINKS, SHOULDER, WRIST.replace('"hand"', '"hnad"')), "child 'hnad'.*Did you mean 'hand'"),
    "a joint without a child": (
        urdf(LINKS, '<joint name="j"><parent link="base"/></joint>'),
        "joint 'j' has no <child>",
    ),
    "a joint without a type": (
        urdf(LINKS, SHOULDER, WRIST.replace('type="revolute"', "")),
        "joint 'wrist' has no attribute type",
    ),
    "an unknown type": (joint("", "helical"), "joint 'wrist' has type 'helical'.*\n.*revolute, continuous, prismatic"),
    "an axis of zero": (joint('<axis xyz="0 0 0"/>'), r"joint 'wrist' has axis \(0, 0, 0\), which has no direction"),
    "an axis of two": (joint('<axis xyz="0 1"/>'), "xyz of <axis> of joint 'wrist' has 2 numbers"),
    "an axis that is nan": (joint('<axis xyz="0 0 nan"/>'), "contains 'nan'"),
    "an axis that is infinite": (joint('<axis xyz="0 0 1e999"/>'), "contains '1e999'"),
    "an axis of strings": (joint('<axis xyz="0 0 up"/>'), "contains 'up'"),
    "an axis with an underscore": (joint('<axis xyz="0 0 1_0"/>'), "contains '1_0'"),
    "an axis without numbers": (joint("<axis/>"), "<axis> of joint 'wrist' has no attribute xyz"),
    "an origin of four": (joint('<origin xyz="0 0 0 0"/>'), "xyz of <origin> of joint 'wrist' has 4 numbers"),
    "a rotation that is not its rpy": (
        joint('<origin rpy="1 0 0" rotation="1 0 0 0 1 0 0 0 1"/>'),
        "rpy and rotation of joint 'wrist' are different rotations",
    ),
    "a mimic of an unknown joint": (joint('<mimic joint="sholder"/>'), "mimics 'sholder'.*Did you mean 'shoulder'"),
    "a mimic of itself": (joint('<mimic joint="wrist"/>'), "joint 'wrist' mimics itself"),
    "a mimic without a leader": (joint("<mimic/>"), "<mimic> of joint 'wrist' has no attribute joint"),
    "a mimic of six axes": (
        urdf(LINKS, SHOULDER.replace("revolute", "floating"), WRIST.replace("<axis", '<mimic joint="shoulder"/><axis')),
        "joint 'wrist' mimics 'shoulder', but 'wrist' is revolute and 'shoulder' is floating",
    ),
    "a limit that is not a number": (joint('<limit lower="low"/>'), "lower of <limit> of joint 'wrist' contains 'low'"),
    "a negative effort": (
        joint('<limit effort="-1"/>'),
        "joint 'wrist' of robot 'r' has torque -1",
    ),
    "a negative damping": (
        joint('<dynamics damping="-1"/>'),
        "joint 'wrist' of robot 'r' has viscous friction -1",
    ),
    "an infinite damping": (
        joint('<dynamics damping="inf"/>'),
        "damping of <dynamics> of joint 'wrist' contains 'inf'",
    ),
    "a negative mass": (GOOD.replace('value="1"', 'value="-2"'), "link 'arm' of robot 'r' has mass -2 kg"),
    "no mass": (GOOD.replace('value="1"', 'value="0"'), "link 'arm' of robot 'r' has mass 0 kg"),
    "a mass without a value": (GOOD.replace('value="1"', ""), "<mass> of link 'arm' has no attribute value"),
    "an inertial without inertia": (GOOD.replace("<inertia ixx", "<x ixx"), "link 'arm' has no <inertia>"),
    "an inertia with a missing entry": (GOOD.replace('ixy="0"', ""), "<inertia> of link 'arm' has no attribute ixy"),
    "an inertia that is negative": (GOOD.replace('izz="1"', 'izz="-1"'), "principal moments of inertia -1, 1, 1"),
    "an impossible inertia": (GOOD.replace('izz="1"', 'izz="2.5"'), "the largest exceeds the sum of the other two"),
    "a fixed robot": (GOOD.replace('"revolute"', '"fixed"'), "robot 'r' has no moving joint"),
    "tags too deep": ("<a>" * 101 + "</a>" * 101, "nested more than 100 deep"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_invalid_urdf_is_a_named_error(text, message):
    with pytest.raises((DescriptionError, ModelError), match=f"(?s){message}"):
        load_text(text, "urdf")


def test_the_valid_urdf_from_which_the_invalid_ones_are_made_is_read():
    assert load_text(GOOD, "urdf").joint_names == ("shoulder", "wrist")


def test_an_error_names_file_and_line(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(joint('\n\n<axis xyz="0 1"/>'))
    with pytest.raises(DescriptionError, match=r"read from .*arm\.urdf, line 9"):
        load(path)


def test_an_entity_bomb_is_rejected():
    lines = [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 30)]
    text = f'<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a0 "ha">{"".join(lines)}]><robot name="&a29;"/>'
    with pytest.raises(DescriptionError, match="declares a document type or an entity"):
        load_text(text, "urdf")


def test_an_entity_cannot_fetch_a_file():
    text = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'
    with pytest.raises(DescriptionError, match="declares a document type or an entity"):
        load_text(text, "urdf")


def test_a_file_of_100_megabytes_is_rejected_without_being_read(tmp_path):
    path = tmp_path / "huge.urdf"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(DescriptionError, match=r"the file has 100 MB.*\n.*at most 64 MB"):
        load(path)


def test_a_file_that_is_not_utf8_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "latin.urdf"
    path.write_bytes(b'<robot\nname="\xe9"/>')
    with pytest.raises(DescriptionError, match=r"not valid UTF-8 text.*\n.*latin\.urdf, line 2"):
        load(path)


def test_a_chain_of_thousands_of_links_does_not_exhaust_the_stack():
    count = 2000
    links = "".join(f'<link name="l{i}">{BODY}</link>' for i in range(count + 1))
    ends = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(count)
    )
    robot = load_text(urdf(links, ends), "urdf", base="floating")
    assert robot.links[0].body.mass == count + 1


def test_impossible_bodies_are_accepted_on_request_with_one_warning():
    text = GOOD.replace('value="1"', 'value="0"')
    with pytest.warns(ModelWarning) as warned:
        robot = load_text(text, "urdf", physical=False)
    assert len(warned) == 1
    assert "'arm' has mass 0" in str(warned[0].message)
    assert "'hand' has mass 0" in str(warned[0].message)
    assert robot.nv == 2


def test_bodies_that_overflow_are_always_errors():
    text = GOOD.replace("<inertial>", '<inertial><origin xyz="1e200 0 0"/>')
    with pytest.raises(DescriptionError, match=r"link 'arm' .* inertia that is not finite"):
        load_text(text, "urdf", physical=False)
