"""The commands `appell control …`, `appell campaign` and `appell latency`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell.cli.main import app

runner = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str):
        return runner.invoke(app, list(arguments))

    return invoke


def test_a_run_writes_a_log_and_a_plot_and_can_be_shown_and_replayed(run, tmp_path):
    result = run("control", "run", "puma", "--reference", "ramp", "--payload", "1")
    assert result.exit_code == 0, result.output
    assert "largest error" in result.output
    assert "errors in mrad or mm" in result.output
    assert "no fault" in result.output
    assert (tmp_path / "out/control.png").stat().st_size > 10_000
    shown = run("control", "show", "out/control.log", "--csv", "run.csv")
    assert shown.exit_code == 0
    assert (tmp_path / "run.csv").read_text().startswith("t,tick,woke,")
    replayed = run("control", "replay", "out/control.log")
    assert replayed.exit_code == 0
    assert "all bits identical" in replayed.output


def test_a_fault_on_the_command_line_stops_the_task_and_is_named(run):
    result = run("control", "run", "puma", "--fault", "over-temperature@1.0:2", "--log", "a.log")
    assert result.exit_code == 2
    assert "the motor is too hot (joint 'joint2'): let it cool down" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fault", "meteorite@1"), "has no fault 'meteorite'"),
        (("--fault", "power-loss"), "--fault is 'power-loss'"),
        (("--fault", "power-loss@1:9"), "with an unknown actuator"),
        (("--fault", "killed-loop@1"), "killed-loop is not possible"),
        (("--reference", "circle"), "no reference 'circle'"),
        (("--reference", "target"), "reference 'target' cannot be used with law"),
        (("--law", "guess"), "no control law 'guess'"),
        (("--period", "0"), "the period is 0.0 s"),
        (("--attach", "nothing-there"), "no cabinet for 6 actuators"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(run, arguments, words):
    result = run("control", "run", "puma", *arguments)
    assert result.exit_code == 1
    assert words in result.output.replace("\n", " ")


@pytest.mark.parametrize("robot", ["panda", "planar-2r"])
def test_any_arm_can_be_run_on_a_generic_cabinet(run, robot):
    result = run("control", "run", robot, "--law", "pd-gravity", "--reference", "ramp")
    assert result.exit_code == 0, result.output


def test_a_small_campaign_reports_its_bounds(run):
    result = run("campaign", "--schedules", "5")
    assert result.exit_code == 0, result.output
    assert "every property held in every schedule" in result.output


def test_latency_shows_a_histogram(run):
    result = run("latency", "--ticks", "50")
    assert result.exit_code == 0, result.output
    assert "later than" in result.output
    assert "deadlines missed" in result.output
