"""The folders in which mesh files are searched, and their order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import appell as ap
from appell.describe.visuals import MeshFiles
from appell.errors import DescriptionError

URDF = """<robot name="r"><link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
</joint><link name="arm"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""


@pytest.fixture
def home(tmp_path):
    """An empty folder whose parents contain no meshes."""
    return tmp_path


def create(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return str(path)


def find(name: str, folder: Path, *packages: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return MeshFiles(folder, packages).find(name)


def test_in_the_folder_of_the_robot_and_its_parents(home):
    in_folder, in_parent = create(home / "pkg/urdf/a.stl"), create(home / "pkg/meshes/b.stl")
    assert find("a.stl", home / "pkg/urdf") == in_folder
    assert find("meshes/b.stl", home / "pkg/urdf") == in_parent
    assert Path(find("../meshes/b.stl", home / "pkg/urdf")).resolve() == Path(in_parent).resolve()
    assert find(in_parent, home) == in_parent
    assert find(f"file://{in_parent}", home) == in_parent


def test_a_file_address_has_escaped_characters(home):
    mesh = create(home / "Zoë Müller/a b.stl")
    address = Path(mesh).as_uri()
    assert "%20" in address
    assert Path(find(address, home)) == Path(mesh)


def test_packages_are_parents_or_siblings_of_parents(home):
    in_package, other = create(home / "ws/pkg/meshes/a.stl"), create(home / "ws/other/meshes/a.stl")
    assert find("package://pkg/meshes/a.stl", home / "ws/pkg/urdf/deep") == in_package
    assert find("package://other/meshes/a.stl", home / "ws/pkg/urdf/deep") == other
    assert find("model://other/meshes/a.stl", home / "ws/pkg/urdf/deep") == other
    renamed = find("package://old_name/meshes/a.stl", home / "ws/pkg/urdf")
    assert renamed == in_package  # the folder of a package may have been renamed


@pytest.mark.warns("massless")
def test_given_folders_are_searched_first(home):
    in_package, given = create(home / "ws/pkg/a.stl"), create(home / "given/pkg/a.stl")
    assert find("package://pkg/a.stl", home / "ws/pkg/urdf") == in_package
    assert find("package://pkg/a.stl", home / "ws/pkg/urdf", home / "given") == given
    assert find("package://pkg/a.stl", home / "ws/pkg/urdf", home / "given/pkg") == given
    robot = ap.load(URDF.format("package://pkg/a.stl"), package_dirs=[home / "given"], physical=False)
    assert robot.visuals[0].file == given
    robot = ap.load(URDF.format("package://pkg/a.stl"), package_dirs=str(home / "given"), physical=False)
    assert robot.visuals[0].file == given


def test_in_the_folders_of_ros_and_gazebo(home, monkeypatch):
    ros, ament, gazebo = (
        create(home / "ros/p/a.stl"),
        create(home / "opt/share/q/a.stl"),
        create(home / "models/m/a.dae"),
    )
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join(["/nowhere", str(home / "ros")]))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(home / "opt"))
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(home / "models"))
    elsewhere = home / "elsewhere"
    assert find("package://p/a.stl", elsewhere) == ros
    assert find("package://q/a.stl", elsewhere) == ament
    assert find("model://m/a.dae", elsewhere) == gazebo


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
def test_a_missing_file_keeps_its_name(home, name):
    assert find(name, home) == name


@pytest.mark.warns("massless")
def test_meshes_are_found_relative_to_the_robot_file(home):
    mesh = create(home / "meshes/a.stl")
    (home / "r.urdf").write_text(URDF.format("meshes/a.stl"))
    assert ap.load(home / "r.urdf", physical=False).visuals[0].file == mesh


@pytest.mark.warns("massless")
def test_robots_are_found_in_packages(home, monkeypatch):
    create(home / "ws/pkg/a.stl")
    (home / "ws/pkg/r.urdf").write_text(URDF.format("package://pkg/a.stl"))
    monkeypatch.chdir(home)
    robot = ap.load("package://pkg/r.urdf", package_dirs=[home / "ws"], physical=False)
    assert robot.visuals[0].file == str(home / "ws/pkg/a.stl")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(home / "ws"))
    assert ap.load("package://pkg/r.urdf", physical=False) == robot
    with pytest.raises(
        DescriptionError, match=r"(?s)'package://pkg/no.urdf' was not found in any package.*package_dirs"
    ):
        ap.load("package://pkg/no.urdf")
    panda = ap.load("package://example-robot-data/robots/panda_description/urdf/panda.urdf")
    assert len(panda.visuals) == 11


@pytest.mark.parametrize("wrong", [5, [5], None])
def test_invalid_package_dirs_are_named_errors(wrong):
    with pytest.raises(DescriptionError, match="package_dirs is"):
        ap.load("puma", package_dirs=wrong)
