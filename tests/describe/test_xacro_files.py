"""Xacro files, expanded with the package xacro."""

from __future__ import annotations

import sys

import pytest

from appell.describe.load import load
from appell.errors import DescriptionError

pytest.importorskip("xacro", reason="the optional package xacro is not installed")

XACRO = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="parts.xacro"/>
  <xacro:arg name="prefix" default="left"/>
  <xacro:property name="length" value="0.5"/>
  <link name="base"/>
  <xacro:arm name="$(arg prefix)" mass="${2 * length}"/>
  <xacro:if value="${length > 1}"><link name="never"/></xacro:if>
</robot>
"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="arm" params="name mass">
    <link name="${name}_arm"><inertial><mass value="${mass}"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="${sqrt(4) / 2}"/></inertial></link>
    <joint name="${name}" type="continuous"><parent link="base"/><child link="${name}_arm"/><axis xyz="0 0 1"/></joint>
  </xacro:macro>
</robot>
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "parts.xacro").write_text(PARTS)
    (tmp_path / "arm.urdf.xacro").write_text(XACRO)
    return tmp_path / "arm.urdf.xacro"


def test_macros_includes_properties_and_conditions_are_expanded(path):
    robot = load(path)
    assert robot.joint_names == ("left",)
    assert robot.link("left_arm").body.mass == 1.0
    assert robot.link("left_arm").body.moments == (1.0, 1.0, 1.0)


def test_arguments_are_passed_to_xacro(path):
    assert load(path, arguments={"prefix": "right"}).joint_names == ("right",)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("2 * length", "2 * lenght", "xacro cannot expand this file: .*lenght"),
        ("parts.xacro", "no_parts.xacro", "xacro cannot expand this file: .*no_parts.xacro"),
        ("<xacro:arm ", "<xacro:leg ", "xacro cannot expand this file: .*leg"),
        ("$(arg prefix)", "$(arg suffix)", "xacro cannot expand this file: .*suffix"),
        ("${2 * length}", "${__import__('os').getcwd()}", "xacro cannot expand this file"),
        ('<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY a "b">]>', "declares a document type"),
    ],
    ids=["unknown property", "missing file", "unknown macro", "unknown argument", "Python", "entities"],
)
def test_files_that_cannot_be_expanded_are_named_errors(path, old, new, problem):
    path.write_text(XACRO.replace(old, new))
    with pytest.raises(DescriptionError, match=problem):
        load(path)


def test_entities_in_an_included_file_are_rejected(path):
    (path.parent / "parts.xacro").write_text(
        '<!DOCTYPE r [<!ENTITY a "b">]>\n' + PARTS.replace('"arm" params', '"&a;" params')
    )
    path.write_text(XACRO.replace("<xacro:arm ", "<xacro:b "))
    with pytest.raises(DescriptionError, match=r"(?s)declares a document type.*parts.xacro, line 1"):
        load(path)


def test_optional_includes_may_be_missing(path):
    path.write_text(XACRO.replace("<link", '<xacro:include filename="no_parts.xacro" optional="true"/>\n  <link', 1))
    assert load(path).joint_names == ("left",)


def test_errors_of_the_expansion_refer_to_the_expansion(path):
    path.write_text(XACRO.replace('mass="${2 * length}"', 'mass="heavy"'))
    with pytest.raises(DescriptionError, match=r"(?s)'heavy'.*the expansion of .*arm.urdf.xacro, line"):
        load(path)


def test_arguments_apply_to_xacro_files_only(tmp_path):
    (path := tmp_path / "a.urdf").write_text("<robot/>")
    with pytest.raises(DescriptionError, match="arguments= applies to xacro files only"):
        load(path, arguments={"a": "b"})


def test_without_the_package_the_error_says_how_to_install_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(DescriptionError, match="pip install xacro"):
        load(path, arguments={"prefix": "right"})
    with pytest.raises(
        DescriptionError, match=r"(?s)the file is xacro, not URDF.*hint      xacro arm.urdf.xacro > arm.urdf"
    ):
        load(path)
