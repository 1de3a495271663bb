"""What is drawn and what the commands say."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.motion.mechanisms.drawing import draw, outlines


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_robot_can_be_drawn(name, tmp_path):
    axes = draw(Dynamics(MECHANISMS[name]()))
    axes.figure.savefig(tmp_path / "robot.png")
    assert (tmp_path / "robot.png").stat().st_size > 5000


@pytest.mark.parametrize("name", ["five-bar", "three-rrr", "delta", "agile-wrist"])
def test_outlines_of_a_leg_meet(name):
    robot = Dynamics(MECHANISMS[name]())
    q = robot.system.start + 0.05
    lines = list(outlines(robot, robot.system, q).values())
    for first, second in zip(lines[0:-1:2], lines[1::2], strict=False):
        assert np.abs(first[-1] - second[0]).max() < 1e-14  # the elbow


def test_the_workspace_command_draws_a_map(tmp_path):
    path = tmp_path / "map.png"
    result = CliRunner().invoke(app, ["workspace", "five-bar", "--points", "40", "--output", str(path)])
    assert result.exit_code == 0, result.output
    assert "of 1,600 poses in reach" in result.output
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fivebar"], "Did you mean 'five-bar'"),
        (["five-bar", "--over", "x=1"], "is no range"),
        (["five-bar", "--over", "z=0:1", "--over", "x=0:1"], "no coordinate 'z'"),
    ],
)
def test_the_workspace_command_names_what_is_wrong(arguments, words, capfd):
    result = CliRunner().invoke(app, ["workspace", *arguments])
    assert result.exit_code == 1
    assert words in " ".join((result.output + capfd.readouterr().err).split())


def test_the_section_shows_tables_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr("appell.lab.papers.agile_wrist.UNTIL", 0.1)
    result = CliRunner().invoke(app, ["reproduce", "agile-wrist", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "motor torques, N m" in result.output
    assert len(list(tmp_path.glob("agile_wrist_*.png"))) == 3
