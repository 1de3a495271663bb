"""The commands robots, info and reproduce, with valid and invalid arguments."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import appell
from appell.cli.main import app
from appell.describe.load import load, zoo_names
from appell_lab.papers import PAPERS, SECTIONS

BROKEN = '<robot name="r"><link name="a"/><link name="b"/><link name="c"/></robot>'
HOLLOW = """<robot name="hollow"><link name="base"/><link name="arm"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
IMPOSSIBLE = """<robot name="disc"><link name="base"/>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


def test_the_help_lists_all_commands():
    result = run("--help")
    assert all(command in result.output for command in ("robots", "info", "bench", "reproduce"))


@pytest.mark.parametrize("command", ["robots", "info", "bench", "reproduce"])
def test_the_help_of_a_command_has_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"appell {command}" in result.output


def test_the_version_is_printed():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == f"appell {appell.__version__}"


def test_python_dash_m_is_the_same_command():
    command = [sys.executable, "-m", "appell", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"appell {appell.__version__}"


def test_robots_lists_the_zoo():
    result = run("robots")
    assert result.exit_code == 0
    assert all(name in result.output for name in zoo_names())


def test_robots_in_json_includes_the_sources():
    rows = json.loads(run("robots", "--json").output)
    assert [row["name"] for row in rows] == list(zoo_names())
    assert all(row["source"] for row in rows)
    assert {row["name"]: row["dof"] for row in rows}["puma"] == 6


def test_info_shows_joints_bodies_frames_and_counts():
    result = run("info", "puma")
    assert result.exit_code == 0
    for text in ("joint6", "revolute z", "15.78", "tool on link6", "inverse dynamics", "(0, 0, -9.81)"):
        assert text in result.output


def test_info_shows_actuators_only_if_they_are_described():
    drives = run("info", "puma", "--no-counts").output
    for text in ("Actuators", "62.61", "3.3e-05", "25.98", "|τ| ≤", "186.4", "N m/A"):
        assert text in drives
    assert "|v| ≤" not in drives
    assert "2.175" in run("info", "panda", "--no-counts").output
    assert "Actuators" not in run("info", "pendulum", "--no-counts").output


def test_info_in_json_agrees_with_the_robot():
    sheet, robot = json.loads(run("info", "panda", "--json").output), load("panda")
    assert [link["joint"] for link in sheet["links"]] == list(robot.joint_names)
    assert sheet["mass"] == pytest.approx(sum(link.body.mass for link in robot.links))
    assert sheet["operations"]["inverse_dynamics"]["mul"] > 0
    assert sheet["links"][3]["limits"]["upper"] == robot.joint("joint4").limits.upper
    assert sheet["actuators"][3]["torque"] == robot.joint("joint4").actuator.torque


def test_info_supports_other_bases():
    sheet = json.loads(run("info", "puma", "--base", "floating", "--no-counts", "--json").output)
    assert (sheet["nq"], sheet["nv"]) == (13, 12)
    assert sheet["links"][0]["type"] == "floating"
    assert sheet["operations"] == {}


def test_info_on_an_unknown_robot_lists_the_known_ones():
    result = run("info", "pumma")
    assert result.exit_code == 1
    assert "Did you mean 'puma'?" in result.stderr
    assert "two-body" in result.stderr
    assert "Traceback" not in result.output


def test_info_on_a_missing_file_names_it(tmp_path):
    result = run("info", str(tmp_path / "nowhere.urdf"))
    assert result.exit_code == 1
    assert "nowhere.urdf" in result.stderr.replace("\n", "")


def test_info_on_an_invalid_file_states_the_error(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text(BROKEN)
    result = run("info", str(path))
    assert result.exit_code == 1
    assert "DescriptionError" in result.stderr or "ModelError" in result.stderr


def test_info_on_a_robot_without_inertia_warns_and_shows_the_rest(tmp_path):
    path = tmp_path / "hollow.urdf"
    path.write_text(HOLLOW)
    result = run("info", str(path))
    assert result.exit_code == 0
    assert "moving links without inertia: arm" in result.output
    assert "hinge" in result.output


def test_info_on_an_impossible_body_fails_or_warns_on_request(tmp_path):
    path = tmp_path / "disc.urdf"
    path.write_text(IMPOSSIBLE)
    refused, accepted = run("info", str(path)), run("info", str(path), "--no-physical")
    assert refused.exit_code == 1
    assert "link 'arm'" in refused.stderr
    assert accepted.exit_code == 0
    assert "warning" in accepted.output


def test_an_unknown_base_is_named():
    result = run("info", "puma", "--base", "flying")
    assert result.exit_code == 1
    assert "flying" in result.stderr


def test_brackets_in_names_are_not_markup(tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(HOLLOW.replace("arm", "arm[bold]"))
    result = run("info", str(path))
    assert result.exit_code == 0
    assert "arm[bold]" in result.output


def test_reproduce_shows_printed_values_cites_the_papers_and_saves_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    result = CliRunner().invoke(app, ["reproduce", "dynamics"], env={"COLUMNS": None})
    assert result.exit_code == 0
    assert "18.66" in result.output
    assert "agrees" in result.output
    assert all(len(line.rstrip()) <= 100 for line in result.output.splitlines())
    words = " ".join(result.output.split())
    for paper in SECTIONS["dynamics"].papers:
        assert PAPERS[paper] in words
    assert "1 of 1 printed numbers agree to their last digit. 2 figures in out/." in words
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    live = ["out/live/mata-2002.html", "out/live/shafei-2018.html"]
    assert files == ["out/index.html", *live, "out/sections/dynamics.json", "out/tree10.png", "out/two-body.png"]


def test_reproduce_of_an_unknown_section_lists_the_known_ones():
    result = run("reproduce", "dynamic")
    assert result.exit_code == 1
    assert "Did you mean 'dynamics'?" in result.stderr
