"""Devices on the command line: the documented class of a user, and robots served by protocols."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.motion import Record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "devices.md"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner(env={"COLUMNS": "120"}).invoke(app, list(arguments))


def test_the_class_of_the_page_runs_as_a_device_on_the_command_line(run, tmp_path):
    blocks = re.findall(r"^```\S+[^\n]*\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if "class Device:" in block]
    assert block.strip().count("\n") < 45
    (tmp_path / "my_robot.py").write_text(block)
    try:
        result = run(
            "control",
            "run",
            "planar-2r",
            "--device",
            "my_robot:Device",
            "--option",
            "heartbeat=0.1",
            "--reference",
            "ramp",
        )
        assert result.exit_code == 0, result.output
        assert "no fault" in result.output
    finally:
        sys.modules.pop("my_robot", None)


def test_a_robot_is_served_and_its_log_is_written(run, tmp_path):
    result = run(
        "control",
        "serve",
        "planar-2r",
        "--protocol",
        "moteus",
        "--plant",
        "mujoco",
        "--seconds",
        "0.05",
        "--log",
        "robot.log",
    )
    assert result.exit_code == 0, result.output
    assert "serving planar-2r at 127.0.0.1:" in result.output
    assert len(Record.read(tmp_path / "robot.log")) >= 20


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--protocol", "ethercat"), "has no protocol 'ethercat'"),
        (("--protocol", "rtde", "--port", "0"), "has 2 actuators and cannot be served by RTDE"),
        (("--plant", "gazebo", "--protocol", "moteus"), "has no device 'gazebo'"),
    ],
)
def test_what_cannot_be_served_is_named(run, arguments, text):
    result = run("control", "serve", "planar-2r", "--seconds", "0.1", *arguments)
    assert result.exit_code != 0
    assert text in str(result.exception) + result.output, result
