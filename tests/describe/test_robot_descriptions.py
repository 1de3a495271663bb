"""Robots of the package robot_descriptions by name, with a substitute for that package."""

from __future__ import annotations

import importlib
import sys

import pytest

import appell as ap
from appell.errors import DescriptionError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a URDF, a xacro, an MJCF, a module without files and one whose download fails."""
    urdf, mjcf = tmp_path / "arm.urdf", tmp_path / "arm.xml"
    urdf.write_text(ap.to_urdf(ap.load("planar-2r")))
    mjcf.write_text(ap.to_mjcf(ap.load("planar-2r")))
    (folder := tmp_path / "robot_descriptions").mkdir()
    modules = {
        "__init__": "",
        "_git": "",
        "arm_description": f"URDF_PATH = {str(urdf)!r}",
        "arm_mj_description": f"MJCF_PATH = {str(mjcf)!r}",
        "empty_description": "",
        "far_description": "raise RuntimeError('no network')",
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["arm_description", "arm_mj_description"])
def test_a_robot_is_read_from_the_path_in_its_module(name, package):
    assert ap.load(f"robot_descriptions:{name}").joint_names == ap.load("planar-2r").joint_names


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("armm_description", "robot_descriptions has no robot 'armm_description'. Did you mean 'arm_description'?"),
        ("empty_description", "'empty_description' of robot_descriptions has no robot file"),
        ("far_description", "could not download 'far_description': no network"),
    ],
)
def test_unknown_and_unavailable_robots_are_named_errors(name, problem, package):
    with pytest.raises(DescriptionError, match=problem.replace("?", r"\?")):
        ap.load(f"robot_descriptions:{name}")


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(DescriptionError, match=r"(?s)is not installed.*pip install robot_descriptions"):
        ap.load("robot_descriptions:panda_description")
