"""The commands `appell view` and `appell simulate --view`, with valid and invalid arguments."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.describe import robot_packages
from appell.show.server.viewer import Viewer
from programs import NEEDS_CTRL_C

HOLLOW = """<robot name="look"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="missing/arm.stl"/></geometry></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def shown(monkeypatch):
    """Return the scenes of all viewers that commands open; viewers do not wait, and there is no browser."""
    scenes = []
    monkeypatch.setattr(Viewer, "wait", lambda viewer: scenes.append(viewer._live.scene))
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return scenes


@pytest.fixture
def bare(monkeypatch):
    """Hide the package example-robot-data."""
    monkeypatch.setattr(robot_packages.sys, "path", [])
    monkeypatch.setattr(robot_packages.sys, "prefix", os.devnull)
    robot_packages.examples.cache_clear()
    yield
    monkeypatch.undo()
    robot_packages.examples.cache_clear()


@pytest.fixture
def swing(tmp_path):
    """Return the file of a record of the planar arm, which names its robot."""
    path = tmp_path / "swing.csv"
    ap.simulate(ap.Dynamics(ap.load("planar-2r")), until=0.1).write(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["view", *map(str, arguments)], env={"COLUMNS": "200"})


def rejected(*arguments):
    """Return the error message for invalid arguments."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    return result.output


def test_a_robot_is_shown_and_its_address_printed(shown):
    result = run("agile-wrist", "--q", "0.1,0.2,0.3")
    assert result.exit_code == 0
    assert re.search(r"serving at http://127\.0\.0\.1:\d+/[\w-]{16,}/\n", result.output)
    (scene,) = shown
    assert [slider.value for slider in scene.actors[0].sliders] == [0.1, 0.2, 0.3]
    assert "no browser could be opened" in result.output  # and the page is served anyway


def test_no_browser_opens_no_browser(shown, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a browser was opened"))
    assert run("pendulum", "--no-browser").exit_code == 0


def test_panda_has_the_meshes_of_example_robot_data_if_installed(shown):
    pytest.importorskip("pinocchio")  # installs them
    result = run("panda", "--no-browser")
    assert "panda: using the description and meshes of example-robot-data" in result.output
    names = {part.name for part in shown[0].actors[0].parts if part.layer == "links"}
    assert "panda_link3" in names
    assert sum(len(part.mesh.faces) for part in shown[0].actors[0].parts if part.layer == "links") > 10_000
    assert shown[0].notes == ()


def test_panda_is_drawn_from_its_joint_geometry_otherwise(shown, bare):
    result = run("panda", "--no-browser")
    assert result.exit_code == 0
    assert "panda: drawn from its joint geometry" in result.output
    assert "pip install example-robot-data" in result.output
    assert len(shown[0].actors[0].sliders) == 7


def test_several_records_are_played_together_with_walls(shown, swing):
    result = run(swing, swing, "--wall", "circle:3", "--no-browser")
    assert result.exit_code == 0
    (scene,) = shown
    assert [actor.name for actor in scene.actors] == ["planar-2r 1", "planar-2r 2"]
    assert scene.span == pytest.approx((0.0, 0.1))
    assert [part.layer for part in scene.parts] == ["walls"]


def test_simulate_shows_its_motion_with_walls_and_impacts(shown):
    command = ["simulate", "tree10", "--wall", "circle:2.5", "--until", "0.5", "--view", "--no-browser"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    (scene,) = shown
    assert [mark.kind for mark in scene.actors[0].motion.marks] == ["impact"]
    assert scene.parts
    assert "serving at http://127.0.0.1:" in result.output


def test_a_dropped_box_comes_to_rest_on_the_ground(shown):
    drop = ["--wall", "plane:0,0,1", "--restitution", "0.5", "--friction", "0.4", "--until", "2"]
    command = ["simulate", "box", *drop, "--view", "--no-browser"]
    assert CliRunner().invoke(app, command).exit_code == 0
    poses = shown[0].actors[0].motion.poses
    assert poses[0, 0, 2] == pytest.approx(1.0)
    assert poses[-1, 0, 2] == pytest.approx(0.1, abs=1e-6)  # it lies on its largest face


def test_a_page_is_written_instead(shown, swing, tmp_path):
    assert run("puma", "--html", tmp_path / "puma.html").exit_code == 0
    assert run(swing, "--html", tmp_path / "swing.html").exit_code == 0
    assert shown == []
    assert all("<html" in (tmp_path / name).read_text("utf-8") for name in ("puma.html", "swing.html"))
    assert "already exists" in rejected("puma", "--html", tmp_path / "puma.html")
    assert run("puma", "--html", tmp_path / "puma.html", "--force").exit_code == 0


def test_a_movie_is_written_instead(shown, swing, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(ap.Record, "movie", lambda record, path, **given: calls.append((record, path, given)))
    assert run(swing, "--movie", tmp_path / "swing.gif").exit_code == 0
    ((record, path, given),) = calls
    assert (record.source, path) == (str(swing), tmp_path / "swing.gif")
    assert given["robot"].name == "planar-2r"
    assert shown == []
    assert "a robot without a motion cannot be written as a movie" in rejected("puma", "--movie", tmp_path / "puma.gif")
    assert "2 records cannot be written as a movie" in rejected(swing, swing, "--movie", tmp_path / "both.gif")


def test_missing_meshes_are_named_in_a_note_and_drawn_as_boxes(shown, tmp_path):
    (tmp_path / "look.urdf").write_text(HOLLOW)
    assert run(tmp_path / "look.urdf", "--no-browser").exit_code == 0
    (scene,) = shown
    assert any("missing/arm.stl" in note.replace("\\", "/") for note in scene.notes)
    assert any(part.layer == "links" for part in scene.actors[0].parts)


# ---- invalid arguments


def test_a_port_in_use_is_reported_with_a_hint(shown):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        output = rejected("pendulum", "--port", port)
    assert f"port {port} is in use" in output
    assert "--port 0" in output


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_an_invalid_port_is_a_usage_error(port):
    assert run("pendulum", "--port", port).exit_code == 2


def test_an_unknown_robot_gets_a_suggestion():
    output = rejected("pumma")
    assert "The zoo has no robot 'pumma'. Did you mean 'puma'?" in output
    assert "Load 'talos', a robot of example-robot-data" in rejected("tallos")


def test_an_unknown_robot_gets_the_pip_command_if_the_package_is_missing(bare):
    assert "pip install example-robot-data" in rejected("talos")
    assert "pip install example-robot-data" in rejected("example-robot-data:talos")


def test_a_record_of_another_robot_is_reported_with_both_lists_of_names(swing):
    output = rejected(swing, "--robot", "puma")
    assert "the coordinates of the record are shoulder, elbow" in output
    assert "the 6 coordinates of robot 'puma': joint1, joint2" in output


def test_a_record_without_a_robot_is_reported_with_a_hint(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,q_shoulder,q_elbow\n0,0,0\n1,1,1\n")
    output = rejected(path)
    assert "does not name its robot" in output
    assert "--robot" in output


@pytest.mark.parametrize("name", ["my-arm", "arm.urdf", "robot_descriptions:go2_description", "<robot/>"])
def test_a_record_opens_only_robots_that_are_included_in_appell(name, swing):
    """The robot that a record names is neither opened as a file nor downloaded."""
    swing.write_text(swing.read_text().replace("planar-2r", name))
    output = rejected(swing)
    assert f"is a record of robot '{name}', which is not included in appell" in output
    assert "Pass --robot with the file that describes it" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("puma", "panda"), "one robot, or records"),
        (("puma", "--robot", "panda"), "one robot, or records"),
        (("puma", "--q", "1,2"), "--q is '1,2'"),
        (("puma", "--q", "a"), "6 numbers"),
        (("five-bar", "--q", "0,9"), "cannot reach"),
        (("puma", "--wall", "cube:1"), "has no wall 'cube'"),
        (("puma", "--html", "a.png"), "a name that ends in .html"),
        (("puma", "--html", "a.html", "--live", "--bending", "3"), "--bending cannot be used with --live"),
        (("puma", "--html", "a.html", "--bending", "3"), "bending is 3, but robot 'puma' has no flexible link"),
        (("missing.urdf",), "the file does not exist"),
        (("missing.csv",), "the record cannot be read"),
        (("missing.csv", "--q", "1"), "--q cannot be used with records"),
        ((".",), "the path is a directory"),
    ],
)
def test_invalid_arguments_are_reported(arguments, message, shown):
    assert message in rejected(*arguments)
    assert shown == []


def test_a_robot_among_records_is_rejected(swing):
    assert "'puma' is not a record" in rejected(swing, "puma")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a display")
def test_without_a_display_the_ssh_command_is_printed(shown, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    result = run("pendulum")
    assert result.exit_code == 0
    assert re.search(r"ssh -L (\d+):127\.0\.0\.1:\1 ", result.output)


@NEEDS_CTRL_C
def test_ctrl_c_ends_the_command_without_a_traceback():
    """The command serves in a process of its own, and ends with exit code 0."""
    command = [sys.executable, "-m", "appell", "view", "pendulum", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    lines = iter(process.stdout.readline, "")
    address = next(line for line in lines if "serving at" in line).split()[-1]
    with urllib.request.urlopen(f"{address}scene", timeout=30) as answer:
        scene = json.loads(answer.read())
    assert scene["actors"][0]["sliders"][0]["name"] == "hinge"
    assert np.isclose(scene["actors"][0]["sliders"][0]["value"], np.pi / 4)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in error
