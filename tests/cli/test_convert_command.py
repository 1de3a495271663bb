"""The command `appell convert`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app


def run(*words: object):
    return CliRunner().invoke(app, ["convert", *map(str, words)])


def test_a_robot_is_converted_and_summarised(tmp_path):
    result = run("planar-2r", tmp_path / "a.xml")
    assert result.exit_code == 0, result.output
    assert "planar-2r (2 links, nq=2, nv=2)" in result.output
    assert run(tmp_path / "a.xml", tmp_path / "b.urdf").exit_code == 0
    assert ap.load(tmp_path / "b.urdf").nv == 2


def test_an_existing_file_is_overwritten_only_with_force(tmp_path):
    (path := tmp_path / "a.toml").write_text("mine")
    result = run("planar-2r", path)
    assert result.exit_code == 1
    assert "--force" in result.output
    assert path.read_text() == "mine"
    assert run("planar-2r", path, "--force").exit_code == 0


@pytest.mark.parametrize(("source", "target"), [("no-robot", "a.toml"), ("planar-2r", "a.json"), ("delta", "a.xml")])
def test_a_failed_conversion_leaves_no_file(source, target, tmp_path):
    result = run(source, tmp_path / target)
    assert result.exit_code == 1
    assert "Error" in result.output
    assert not list(tmp_path.iterdir())


def test_unsupported_elements_can_be_omitted(tmp_path):
    (path := tmp_path / "a.xml").write_text(
        '<mujoco><option density="1"/><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    assert "--without" in run(path, tmp_path / "b.toml").output
    assert run(path, tmp_path / "b.toml", "--without", "fluid").exit_code == 0
