"""Robots of the package example-robot-data by name, with a substitute for its folder."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell as ap
from appell.describe import robot_packages
from appell.errors import DescriptionError
from grippers import GRIPPER

SRDF = """<robot name="claw"><group_state name="ready"><joint name="root_joint" value="0 0 1 0 0 0 1"/>
<joint name="elbow" value="0.5"/><joint name="left" value="0.02"/><joint name="thumb" value="3"/></group_state>
<group_state name="other"><joint name="elbow" value="9"/></group_state></robot>"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """claw_long and claw_longer in one folder with an SRDF, arm in two."""
    robots = tmp_path / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    paths = (
        "claw_data/robots/claw_long",
        "claw_data/robots/claw_longer",
        "one_description/urdf/arm",
        "two_data/urdf/arm",
    )
    for path in paths:
        file = robots / f"{path}.urdf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(GRIPPER.replace('name="gripper"', f'name="{path.split("/")[0]}"'))
    (robots / "claw_data" / "srdf").mkdir()
    (robots / "claw_data" / "srdf" / "claw.srdf").write_text(SRDF)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    robot_packages.examples.cache_clear()
    yield robots
    monkeypatch.undo()
    robot_packages.examples.cache_clear()


@pytest.mark.parametrize("name", ["claw", "claw_long", "claw_longer"])
def test_a_robot_has_the_name_of_its_file_or_a_prefix_of_it(name, folder):
    for source in (name, f"example-robot-data:{name}"):
        robot = ap.load(source)
        assert robot.name == "claw_data"
        assert robot.source.endswith("claw_longer.urdf" if name == "claw_longer" else "claw_long.urdf")


def test_robots_with_the_same_file_name_have_the_name_of_their_folder(folder):
    assert {"one", "two"} <= set(robot_packages.examples())
    assert ap.load("two").name == "two_data"


@pytest.mark.warns("massless")
def test_the_posture_of_the_srdf_is_the_home_configuration(folder):
    names = ap.load("claw").coordinate_names
    assert dict(zip(names, ap.load("claw").start, strict=True)) == {"shoulder": 0.0, "elbow": 0.5, "left": 0.02}
    flying = ap.load("claw", base="floating", physical=False)
    assert np.allclose(flying.start[:7], [0, 0, 1, 0, 0, 0, 1])
    assert (ap.load("one").start == 0.0).all()


def test_a_file_loaded_by_its_path_ignores_the_srdf(folder):
    assert (ap.load(folder / "claw_data" / "robots" / "claw_long.urdf").start == 0.0).all()


def test_an_invalid_posture_is_an_error_with_its_line(folder):
    path = folder / "claw_data" / "srdf" / "claw.srdf"
    path.write_text(SRDF.replace('value="0.5"', 'value="half"'))
    with pytest.raises(DescriptionError, match=r"(?s)joint 'elbow' contains 'half'.*claw\.srdf, line 2"):
        ap.load("claw")


def test_unknown_robots_are_named_errors(folder):
    with pytest.raises(DescriptionError, match=r"example-robot-data has no robot 'clow'\. .*claw_long"):
        ap.load("example-robot-data:clow")
    with pytest.raises(DescriptionError, match=r"(?s)The zoo has no robot 'clow'.*Load 'claw', a robot of example"):
        ap.load("clow")


def test_the_zoo_has_priority(folder):
    urdf = folder / "one_description" / "urdf"
    (urdf / "puma.urdf").write_text(GRIPPER)
    robot_packages.examples.cache_clear()
    assert ap.load("puma").nq == 6
    assert ap.load("example-robot-data:puma").nq == 3


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    robot_packages.examples.cache_clear()
    for source in ("example-robot-data:talos", "talos"):
        with pytest.raises(DescriptionError, match="pip install example-robot-data"):
            ap.load(source)
    monkeypatch.undo()
    robot_packages.examples.cache_clear()
