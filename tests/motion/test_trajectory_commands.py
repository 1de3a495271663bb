"""`appell trajectory` and `appell torques` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from appell import Dynamics, load
from appell.cli.main import app
from appell.motion import Record, time_optimal

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "puma_straight_lines.json").read_text())
LINE = [
    "trajectory",
    "line",
    "puma",
    "--from",
    "0.6,0.175,0.25",
    "--to",
    "0.244,0.527,0.25",
    "--zyz",
    "45,60,90",
    "--duration",
    "5",
]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def line_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("line") / "line.csv"
    assert run(*LINE, "--output", path).exit_code == 0
    return path


def test_a_line_is_written_as_csv_and_drawn(line_csv, tmp_path):
    rows = REFERENCE["000"]["tool_0"]["rows"]
    q, v, _ = Record.read(line_csv).path()([row["t"] for row in rows])
    np.testing.assert_allclose(q, [row["q"] for row in rows], atol=1e-9)
    np.testing.assert_allclose(v, [row["qd"] for row in rows], atol=1e-9)
    shown = run(*LINE, "--plot", tmp_path / "line.png")
    assert "joint6" in shown.stdout
    assert (tmp_path / "line.png").stat().st_size > 10_000


def test_torques_of_a_csv_are_those_of_the_reference(line_csv, tmp_path):
    shown = run(
        *("torques", "puma", line_csv, "--no-friction", "--no-rotors", "--samples", 11),
        *("--output", tmp_path / "tau.csv", "--plot", tmp_path / "tau.png"),
    )
    assert shown.exit_code == 0, shown.output
    assert "-56.396" in shown.stdout
    record = Record.read(tmp_path / "tau.csv")
    assert record.names("tau") == load("puma").joint_names
    tau = record.tau
    np.testing.assert_allclose(tau, [row["tau"] for row in REFERENCE["000"]["tool_0"]["rows"]], atol=1e-8)
    assert (tmp_path / "tau.png").stat().st_size > 10_000


def test_the_fastest_motion_keeps_its_effort(line_csv, tmp_path):
    torque = np.array([60, 100, 40, 3, 2, 1.0])
    shown = run(
        "trajectory",
        "fastest",
        "puma",
        line_csv,
        "--torque",
        "60,100,40,3,2,1",
        "--output",
        tmp_path / "fast.csv",
        "--samples",
        2001,
    )
    assert shown.exit_code == 0, shown.output
    fast = Record.read(tmp_path / "fast.csv").path()
    assert fast.duration < 1.2
    tau = Dynamics(load("puma"), friction=True, rotors=True).inverse_dynamics(*fast(fast.knots))
    assert (np.abs(tau) - torque).max() < 1e-4  # at the samples; the file rounds nothing


def test_ramps_and_splines_are_made(tmp_path):
    shown = run(
        "trajectory",
        "ramp",
        "panda",
        "--to",
        "0.5,-0.5,0,-2,0,1.5,0.8",
        "--velocity",
        "0.5",
        "--output",
        tmp_path / "ramp.csv",
    )
    assert shown.exit_code == 0, shown.output
    smooth = run("trajectory", "spline", tmp_path / "ramp.csv", "--degree", 5)
    assert smooth.exit_code == 0, smooth.output
    assert "Spline" in smooth.stdout


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_every_format_is_written_and_overwritten_only_with_force(tmp_path, suffix):
    path = tmp_path / f"ramp.{suffix}"
    ramp = ("trajectory", "ramp", "planar-2r", "--to", "1,1", "--output", path)
    assert run(*ramp).exit_code == 0
    before = path.read_bytes()
    refused = run(*ramp, "--samples", 11)
    assert refused.exit_code == 1
    assert "already exists" in " ".join(refused.output.split())
    assert path.read_bytes() == before
    assert run(*ramp, "--samples", 11, "--force").exit_code == 0
    again = Record.read(path)
    assert len(again) == 11
    assert again.names("q") == ("shoulder", "elbow")
    torques = ("torques", "planar-2r", path, "--output", path)
    assert run(*torques).exit_code == 1
    assert run(*torques, "--force").exit_code == 0
    assert "tau" in Record.read(path)


def test_wrong_input_gives_a_message_and_exit_code_1(line_csv):
    for problem, arguments in {
        "--from is '0.6,0.175'": [*LINE[:4], "0.6,0.175", *LINE[5:]],
        "out of reach": [*LINE[:6], "2,0,0", *LINE[7:]],
        "moves 6 coordinates: joint1": ["torques", "panda", line_csv],
        "cannot be read": ["torques", "puma", "nowhere.csv"],
        "excludes the path at its start": ["trajectory", "fastest", "puma", line_csv, "--torque", "1"],
        "has no robot 'pumma'": ["torques", "pumma", line_csv],
    }.items():
        shown = run(*arguments)
        assert shown.exit_code == 1, shown.output
        assert problem in " ".join((shown.output + shown.stderr).split())


def test_the_fastest_motion_with_a_jerk_limit_is_that_of_the_library(line_csv, tmp_path):
    shown = run(
        *("trajectory", "fastest", "puma", line_csv, "--torque", "60,100,40,20,20,20", "--jerk", "50"),
        *("--intervals", 200, "--json", "--output", tmp_path / "smooth.csv", "--samples", 2001),
    )
    assert shown.exit_code == 0, shown.output
    robot = load("puma")
    path = Record.read(line_csv).path(robot.coordinate_names)
    smooth = time_optimal(path, robot, torque=[60, 100, 40, 20, 20, 20], jerk=50.0, intervals=200)
    assert json.loads(shown.stdout[shown.stdout.index("{") :])["duration"] == pytest.approx(smooth.duration)
    record = Record.read(tmp_path / "smooth.csv")
    assert np.abs(np.diff(record.a, axis=0)).max() / record.t[1] <= 50.0 * (1 + 1e-6)
