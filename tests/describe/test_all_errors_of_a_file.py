"""All errors of a file are reported in one message, each with its line."""

from __future__ import annotations

import time

import pytest

from appell.describe.load import load_text
from appell.describe.toml.lines import lines_of
from appell.errors import DescriptionError

URDF = """<robot name="r">
<link name="base"/>
<link name="arm">
  <inertial>
    <mass value="heavy"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="x" iyz="0"/>
  </inertial>
</link>
<link name="hand">
  <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial>
</link>
<joint name="shoulder" type="helical"><parent link="bas"/><child link="arm"/><axis xyz="0 1"/></joint>
<joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/>
  <axis xyz="0 0 0"/>
  <limit lower="low" upper="1"/>
  <mimic joint="elbow"/>
  <dynamics damping="-1"/>
</joint>
<joint name="wrist" type="fixed"><parent link="arm"/><child link="hand"/></joint>
</robot>"""
IN_URDF = {
    5: "value of <mass> of link 'arm' contains 'heavy'",
    6: "iyy of <inertia> of link 'arm' contains 'x'",
    10: "link 'hand' of robot 'r' has principal moments of inertia 1, 1, 3",
    12: "joint 'shoulder' has parent 'bas'. The robot has no link 'bas'. Did you mean 'base'",
    13: "joint 'wrist' mimics 'elbow'. The robot has no joint 'elbow'",
    14: "joint 'wrist' has axis (0, 0, 0)",
    19: "there are two joints named 'wrist', the first on line 13",
}
ALSO_IN_URDF = [
    "line 6   <inertia> of link 'arm' has no attribute izz",
    "line 12  joint 'shoulder' has type 'helical'; expected revolute",
    "line 12  xyz of <axis> of joint 'shoulder' has 2 numbers; expected 3",
    "line 15  lower of <limit> of joint 'wrist' contains 'low'",
    "line 13  joint 'wrist' of robot 'r' has viscous friction -1",
]

TOML = """name = "r"
colour = "red"
gravity = [0, 0, "down"]

[[link]]
name = "upper"
joint = "revolute"
axis = [0, 0, 0]
mass = -2
inertia = [1, 1, 1]
lower = "low"

[[link]]
name = "lower"
joint = "helical"
parent = "uper"
mass = 1
inertia = [1, 1,
           "much"]
actuator = { gear = 0 }

[[link]]
joint = "revolute"

[[frame]]
name = "tip"
on = "hand"
xyz = [1, 2]
"""
IN_TOML = [
    "line 2   the document has no key 'colour'",
    "line 3   gravity of the document is 'down'",
    "line 8   link 'upper' has axis (0, 0, 0)",
    "line 10  link 'upper' of robot 'r' has mass -2 kg",
    "line 11  lower of [[link]] number 1 is 'low'",
    "line 13  link 'lower' has parent 'uper'. The robot has no link 'uper'. Did you mean 'upper'",
    "line 13  joint 'lower_joint' of robot 'r' has gear ratio 0",
    "line 15  the joint of link 'lower' has kind 'helical'",
    "line 18  inertia of [[link]] number 2 is 'much'",
    "line 22  [[link]] number 3 has no name",
    "line 25  frame 'tip' is fixed to 'hand'",
    "line 28  xyz of frame 'tip' has 2 numbers",
]


def message(text: str, format: str) -> str:
    with pytest.raises(DescriptionError) as raised:
        load_text(text, format, source=f"arm.{format}")
    return str(raised.value)


def test_all_errors_of_a_urdf_are_reported_with_their_lines():
    text = message(URDF, "urdf")
    assert text.startswith(f"arm.urdf has {len(IN_URDF) + len(ALSO_IN_URDF)} errors.")
    for line, error in IN_URDF.items():
        assert f"line {line}".ljust(9) + error in text
    for error in ALSO_IN_URDF:
        assert error in text
    numbers = [int(row.split()[1]) for row in text.splitlines() if row.startswith("  line")]
    assert numbers == sorted(numbers)


def test_all_errors_of_a_toml_are_reported_with_their_lines():
    text = message(TOML, "toml")
    assert text.startswith(f"arm.toml has {len(IN_TOML)} errors.")
    for error in IN_TOML:
        assert error in text


def test_no_error_follows_from_another():
    """With one invalid joint, neither the links outboard of it nor a second root link are reported."""
    text = (
        URDF.replace('"heavy"', '"1"').replace('iyy="x" iyz="0"', 'iyy="1" iyz="0" izz="1"').replace("helical", "ball")
    )
    text = text.replace('izz="3"', 'izz="1"').replace('<axis xyz="0 1"/>', "").replace('<axis xyz="0 0 0"/>', "")
    text = (
        text.replace('lower="low" ', 'lower="-2" ')
        .replace('<mimic joint="elbow"/>', "")
        .replace('"-1"/>\n</j', '"1"/>\n</j')
    )
    text = text.replace(text.splitlines()[18] + "\n", "")
    assert message(text, "urdf").startswith("joint 'shoulder' has parent 'bas'")
    assert load_text(text.replace('"bas"', '"base"'), "urdf").nv == 4


def test_at_most_twenty_errors_are_listed():
    links = "".join(f'\n<link name="l{i}"><inertial><mass value="?"/></inertial></link>' for i in range(30))
    text = message(f'<robot name="r">{links}</robot>', "urdf")
    assert text.startswith("arm.urdf has 61 errors.")  # an invalid mass and a missing inertia each, and thirty roots
    assert text.count("\n  line ") == 20
    assert "and 41 more" in text


def test_errors_of_dh_rows_and_of_a_mechanism_are_reported_together():
    rows = 'name = "r"\n[[dh]]\nkind = "helical"\n[[dh]]\nmass = 1\n[[dh]]\ntwist = "much"\n'
    text = message(rows, "toml")
    for error in ("line 2  [[dh]] number 1 has kind", "line 4  [[dh]] number 2 has a mass but", "line 7  twist of"):
        assert error in text
    text = message('mechanism = "delta"\n[options]\nhue = 1\n[[body]]\nmass = 1\n[[actuator]]\nname = 3\n', "toml")
    for error in (
        "line 3  mechanism 'delta' has no option 'hue'",
        "line 4  [[body]] number 1 has no name",
        "line 7  name",
    ):
        assert error in text


def test_line_numbers_are_correct_after_strings_comments_and_brackets():
    text = '''name = "a [[link]] in a text"
description = """
[[link]]
x = 1
"""   # [[link]]
home = [
  1,  # = [[
  2,
]
[[link]]
axis = [0, 0, 1]
[root]
mass = 1
[[link]]
xyz = { a = 1 }
'''
    lines = lines_of(text)
    assert lines[("description",)] == 2
    assert lines[("home",)] == 6
    assert lines[("link", 1)] == 10
    assert lines[("link", 1, "axis")] == 11
    assert lines[("root", "mass")] == 13
    assert lines[("link", 2, "xyz")] == 15
    assert ("x",) not in lines


def test_reading_stops_after_a_hundred_errors():
    """Two thousand joints on unknown links: searching a similar name for each of them would take minutes."""
    n = 2000
    links = "".join(f'<link name="link_number_{i}"/>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="link_numbr_{i}"/><child link="link_number_{i}"/></joint>'
        for i in range(n)
    )
    started = time.process_time()
    text = message(f'<robot name="r">{links}{joints}</robot>', "urdf")
    assert time.process_time() - started < 5.0
    assert text.startswith("arm.urdf has at least 100 errors.")
    assert "Did you mean 'link_number_" in text
    assert "and 80 more" in text
