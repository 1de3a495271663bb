"""Leftover xacro tags, texts instead of paths, and paths that cannot be read."""

from __future__ import annotations

import os
import sys
import time
import warnings

import numpy as np
import pytest

from appell.describe import assemble
from appell.describe.load import load, load_text
from appell.describe.write import to_toml, to_urdf
from appell.errors import DescriptionError, ModelWarning
from appell.model.joints import Planar

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
PARTS = f"""
<link name="base"/>
<link name="arm">{BODY}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>"""
XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def urdf(extra: str = "", attributes: str = "") -> str:
    return f'<robot name="r" {attributes}>{PARTS}\n{extra}\n</robot>'


@pytest.mark.parametrize(
    "text",
    [
        urdf(attributes=XMLNS),
        urdf('<xacro:property name="pi" value="3.14"/><xacro:arg name="x" default="1"/>', XMLNS),
        urdf('<xacro:macro name="m" params="x"><link name="${x}"/><xacro:n/></xacro:macro>', XMLNS),
        urdf('<gazebo reference="arm"><material>Gazebo/${colour}</material></gazebo>'),
        urdf('<drake:declare_convex/><link_extra/><sensor name="s"><camera/></sensor>'),
    ],
)
def test_tags_without_effect_are_ignored_without_a_warning(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_text(text, "urdf").joint_names == ("shoulder",)


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ('<xacro:my_macro prefix="left"/>', XMLNS),
        ('<xacro:include filename="x.xacro"/>', ""),
        ('<x:if value="1"/>', 'xmlns:x="http://ros.org/wiki/xacro"'),
    ],
)
def test_a_leftover_tag_in_a_complete_file_causes_a_warning(tag, attributes):
    with pytest.warns(ModelWarning, match=rf"ignored or adjusted: the xacro tags <{tag[1:-2].split()[0]}> \(line 5\)"):
        assert load_text(urdf(tag, attributes), "urdf").joint_names == ("shoulder",)


@pytest.mark.parametrize(
    "text",
    [
        f'<robot name="r" {XMLNS}><xacro:include filename="x"/><xacro:arm/></robot>',
        urdf("<xacro:hand/>").replace('link="base"', 'link="hand"'),
        urdf().replace('value="1"', 'value="${mass}"'),
        urdf().replace('value="1"', 'value="$(arg mass)"'),
    ],
)
def test_a_file_that_needs_xacro_says_how_to_run_it(text, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)  # with the package it is expanded: test_xacro_files.py
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(text)
    with pytest.raises(
        DescriptionError, match=r"(?s)the file is xacro, not URDF.*hint      xacro arm.urdf.xacro > arm.urdf$"
    ):
        load(path)


def test_a_xacro_file_that_is_a_complete_urdf_is_read(tmp_path):
    path = tmp_path / "arm.xacro"
    path.write_text(urdf(attributes=XMLNS))
    assert load(path).nv == 1


def test_a_text_may_be_passed_instead_of_a_path():
    robot = load("pendulum")
    assert load(to_toml(robot)) == load(to_urdf(robot)) == load("\n\ufeff " + to_urdf(robot)) == robot
    with pytest.raises(DescriptionError, match="the text is not valid XML"):
        load("<robot")


LONG_NAME_ERROR = "the file cannot be read: File name too long" + "|the file does not exist" * (os.name == "nt")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x" * 5000 + ".urdf", LONG_NAME_ERROR),
        ("d/" * 5000 + "x.toml", LONG_NAME_ERROR),
        ("x" * 5000, "The zoo has no robot|is not a robot description"),
        ("ro\0bot.urdf", "the path contains a character that is not allowed in paths"),
        ("ro\0bot", "not a robot description|no robot"),
        (None, "None is not a path or text"),
        (3.0, "3.0 is not a path or text"),
        (b"<robot/>", "is not a path or text"),
    ],
    ids=["long name", "long path", "long word", "NUL in a file", "NUL in a word", "None", "a number", "bytes"],
)
def test_an_invalid_path_is_a_named_error(source, message):
    with pytest.raises(DescriptionError, match=message) as raised:
        load(source)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("data", "line"), [(urdf("<!-- \xe9 -->").encode("latin-1"), 5), (b'name = "\xff"', 1)], ids=["urdf", "toml"]
)
def test_a_text_in_another_encoding_is_an_error_with_its_line(data, line, tmp_path):
    path = tmp_path / ("r.urdf" if data[:1] == b"<" else "r.toml")
    path.write_bytes(data)
    with pytest.raises(DescriptionError, match=rf"not valid UTF-8 text.*\n.*line {line}"):
        load(path)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "ascii", "UTF-8"])
def test_a_declared_encoding_is_used(encoding, tmp_path):
    path = tmp_path / "r.urdf"
    note = "" if encoding == "ascii" else "<!-- \xe9 -->"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>\n{urdf(note)}'.encode(encoding))
    assert load(path).nv == 1


@pytest.mark.parametrize(
    "text",
    ["1" * 2000 + "x", "1.1" * 700, " " * 1000 + "*" + " " * 1000, "1" + " " * 2000 + "q", "-" * 2000],
    ids=["digits", "points", "blanks", "tail", "signs"],
)
def test_a_text_that_is_not_a_number_is_rejected_in_linear_time(text):
    started = time.process_time()
    with pytest.raises(DescriptionError):
        load_text(f'name = "r"\n[[link]]\nname = "l"\njoint = "revolute"\nmass = "{text}"\n', "toml")
    with pytest.raises(DescriptionError):
        load_text(urdf().replace('value="1"', f'value="{text}"'), "urdf")
    assert time.process_time() - started < 2.0  # patterns with backtracking took from seconds to half a minute


class ExecutedLines:
    """Count the executed lines of a module, which do not depend on the load of the machine."""

    def __init__(self, module):
        self.file, self.count = module.__file__, 0

    def __enter__(self):
        self.previous = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.previous)

    def _on_call(self, frame, event, given):
        return self._on_line if frame.f_code.co_filename == self.file else None

    def _on_line(self, frame, event, given):
        self.count += event == "line"
        return self._on_line


def test_a_chain_of_mimics_is_resolved_in_linear_time():
    """2000 joints, each of which mimics the next: two million steps if each is resolved separately."""
    n = 2000
    links = '<link name="l0"/>' + "".join(f'<link name="l{i}">{BODY}</link>' for i in range(1, n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l0"/><child link="l{i}"/>'
        + (f'<mimic joint="j{i + 1}" multiplier="-1" offset="1"/>' if i < n else "")
        + "</joint>"
        for i in range(1, n + 1)
    )
    lines = {}
    for mimic in (False, True):
        with ExecutedLines(assemble) as executed:
            robot = load_text(f'<robot name="r">{links}{joints}</robot>', "urdf", mimic=mimic)
        lines[mimic] = executed.count
    assert lines[True] < 2 * lines[False], lines
    first = robot.links[0].joint.mimic
    assert (first.leader, first.multiplier, first.offset) == (f"j{n}", -1.0, 1.0)  # 1999 sign changes, an odd number


@pytest.mark.parametrize(
    "axis",
    ["0 0 -1", "1e-9 0 -1", "1e-12 1e-12 -1", "1e-5 -1e-5 -1", "1e-15 0 -1", "1e-8 0 1", "0.3 0.4 -0.5", "1 0 0"],
)
def test_a_planar_joint_moves_in_the_plane_normal_to_any_axis(axis):
    text = urdf().replace('"revolute"', '"planar"').replace('"0 0 1"', f'"{axis}"')
    robot = load_text(text, "urdf")
    assert isinstance(robot.links[0].joint.motion, Planar)
    normal = np.array([float(x) for x in axis.split()])
    R = np.array([list(row) for row in robot.links[0].joint.placement.rotation.rows])
    np.testing.assert_allclose(R[:, 2], normal / np.linalg.norm(normal), atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) > 0.0
