"""Where mesh files are looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

import appell as ap
from appell.describe.visuals import MeshFiles
from appell.errors import DescriptionError

URDF = """<robot name="r"><link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
</joint><link name="arm"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""


@pytest.fixture
def home(tmp_path):
    """An empty folder as a home, out of the reach of parents that hold meshes."""
    return tmp_path


def put(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return str(path)


def found(name: str, folder: Path, *packages: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return MeshFiles(folder, packages).find(name)


def test_beside_the_robot_and_up_its_parents(home):
    beside, above = put(home / "pkg/urdf/a.stl"), put(home / "pkg/meshes/b.stl")
    assert found("a.stl", home / "pkg/urdf") == beside
    assert found("meshes/b.stl", home / "pkg/urdf") == above
    assert Path(found("../meshes/b.stl", home / "pkg/urdf")).resolve() == Path(above).resolve()
    assert found(above, home) == above
    assert found(f"file://{above}", home) == above


def test_packages_are_parents_or_beside_parents(home):
    own, other = put(home / "ws/pkg/meshes/a.stl"), put(home / "ws/other/meshes/a.stl")
    assert found("package://pkg/meshes/a.stl", home / "ws/pkg/urdf/deep") == own
    assert found("package://other/meshes/a.stl", home / "ws/pkg/urdf/deep") == other
    assert found("model://other/meshes/a.stl", home / "ws/pkg/urdf/deep") == other
    renamed = found("package://old_name/meshes/a.stl", home / "ws/pkg/urdf")
    assert renamed == own  # a folder that was renamed still holds its meshes


@pytest.mark.warns("massless")
def test_folders_that_are_given_come_first(home):
    own, given = put(home / "ws/pkg/a.stl"), put(home / "given/pkg/a.stl")
    assert found("package://pkg/a.stl", home / "ws/pkg/urdf") == own
    assert found("package://pkg/a.stl", home / "ws/pkg/urdf", home / "given") == given
    assert found("package://pkg/a.stl", home / "ws/pkg/urdf", home / "given/pkg") == given
    robot = ap.load(URDF.format("package://pkg/a.stl"), package_dirs=[home / "given"], physical=False)
    assert robot.visuals[0].file == given
    robot = ap.load(URDF.format("package://pkg/a.stl"), package_dirs=str(home / "given"), physical=False)
    assert robot.visuals[0].file == given


def test_where_ros_and_gazebo_look(home, monkeypatch):
    ros, ament, gazebo = put(home / "ros/p/a.stl"), put(home / "opt/share/q/a.stl"), put(home / "models/m/a.dae")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{home / 'ros'}")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(home / "opt"))
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(home / "models"))
    away = home / "away"
    assert found("package://p/a.stl", away) == ros
    assert found("package://q/a.stl", away) == ament
    assert found("model://m/a.dae", away) == gazebo


@pytest.mark.parametrize(
    "name",
    [
        "package://nowhere/a.stl",
        "a.stl",
        "file:///nowhere/a.stl",
        "https://x.org/a.stl",
        "package://",
        "",
        "a\0b.stl",
        ".",
    ],
)
def test_what_is_not_there_is_kept_as_it_was_written(home, name):
    assert found(name, home) == name


@pytest.mark.warns("massless")
def test_a_robot_in_a_file_finds_its_meshes_beside_it(home):
    mesh = put(home / "meshes/a.stl")
    (home / "r.urdf").write_text(URDF.format("meshes/a.stl"))
    assert ap.load(home / "r.urdf", physical=False).visuals[0].file == mesh


@pytest.mark.warns("massless")
def test_robots_are_found_in_packages_too(home, monkeypatch):
    put(home / "ws/pkg/a.stl")
    (home / "ws/pkg/r.urdf").write_text(URDF.format("package://pkg/a.stl"))
    monkeypatch.chdir(home)
    robot = ap.load("package://pkg/r.urdf", package_dirs=[home / "ws"], physical=False)
    assert robot.visuals[0].file == str(home / "ws/pkg/a.stl")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(home / "ws"))
    assert ap.load("package://pkg/r.urdf", physical=False) == robot
    with pytest.raises(DescriptionError, match=r"(?s)'package://pkg/no.urdf' is in no package.*package_dirs"):
        ap.load("package://pkg/no.urdf")
    panda = ap.load("package://example-robot-data/robots/panda_description/urdf/panda.urdf")
    assert len(panda.visuals) == 11


@pytest.mark.parametrize("wrong", [5, [5], None])
def test_folders_that_are_none_are_told(wrong):
    with pytest.raises(DescriptionError, match="package_dirs is"):
        ap.load("puma", package_dirs=wrong)
