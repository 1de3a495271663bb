"""The option `--json`: every command that prints a table has it, with the same content."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.cli.output import as_data, table
from terminals import all_commands

NO_TABLE = {  # their output is a sentence, a page or a file
    "convert": "one line: the file and its robot",
    "view": "a page in the browser",
    "control cabinet": "serves until it is stopped",
    "control serve": "serves until it is stopped",
    "control replay": "one line: whether all bits are identical",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def answer(*arguments: str, code: int = 0):
    """Return all of stdout, parsed strictly: NaN and Infinity are not valid JSON."""

    def reject(name: str):
        pytest.fail(f"{name} is not valid JSON")

    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=reject)


def commands(group, prefix: str = ""):
    for name, command in group.items():
        if hasattr(command, "commands"):
            yield from commands(command.commands, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def test_every_command_has_the_option_or_prints_no_table():
    listed = dict(commands(all_commands()))
    assert len(listed) > 20
    for name, command in listed.items():
        flag = next((p for p in command.params if "--json" in p.opts), None)
        assert (flag is None) == (name in NO_TABLE), name
        assert flag is None or (flag.is_flag and flag.name == "json"), (
            name
        )  # the same meaning everywhere, never a file name


def test_numbers_have_full_precision_and_non_finite_ones_are_null():
    data = as_data(
        {"a": np.float64(1 / 3), "b": [np.nan, np.inf, -1.0], "c": np.arange(2), "d": np.bool_(True), 3: None}
    )
    assert data == {"a": 1 / 3, "b": [None, None, -1.0], "c": [0, 1], "d": True, "3": None}
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_a_table_is_made_from_rows():
    result = table([{"name": "[b]", "mass": 1 / 3}, {"name": "x"}], {"name": "body", "mass": ("mass, kg", ".3g")})
    assert [list(column.cells) for column in result.columns] == [["\\[b]", "x"], ["0.333", ""]]


def test_a_table_and_json_have_the_same_numbers():
    shown, result = run("count", "planar-2r").stdout, answer("count", "planar-2r")
    for row in result["counts"]:
        line = next(line for line in shown.splitlines() if line.split()[:1] == [row["formulation"]])
        assert [int(word) for word in line.split()[1:]] == [x for key, x in row.items() if key != "formulation"]


def test_torques_agree_with_the_record():
    run("trajectory", "ramp", "panda", "--to", "0.5,-0.5,0,-2,0,1.5,0.8", "--output", "ramp.csv")
    result = answer("torques", "panda", "ramp.csv", "--output", "tau.npz")
    tau = ap.Record.read("tau.npz").tau
    assert [row["highest"] for row in result["actuators"]] == tau.max(axis=0).tolist()
    assert [row["limit"] for row in result["actuators"]] == [87.0] * 4 + [12.0] * 3
    assert result["actuators"][0]["unit"] == "N m"
    assert result["units"]["highest_power"] == "W"


def test_messages_go_to_stderr():
    done = run("trajectory", "ramp", "pendulum", "--to", "1", "--output", "a.csv", "--json")
    assert json.loads(done.stdout)["joints"][0]["end"] == 1.0
    assert "wrote a.csv" in done.stderr


def test_simulate_lists_all_events():
    result = answer(
        "simulate", "tree10", "--wall", "circle:2.5", "--restitution", "1", "--friction", "0", "--until", "0.6"
    )
    wall = ap.simulation.Contact("all", ap.simulation.Circle(2.5), restitution=1.0, friction=0.0)
    again = ap.simulate(ap.load("tree10"), until=0.6, contacts=[wall], solver=ap.Solver(rtol=1e-8, atol=1e-10))
    assert [event["time"] for event in result["events"]] == [event.time for event in again.events]
    assert result["events"][0]["impulses"] == np.atleast_1d(again.events[0].impulses).tolist()
    assert result["units"]["impulses"] == "N s"


def test_a_missing_limit_is_null():
    assert answer("info", "pendulum", "--no-counts")["coordinates"][0]["upper"] is None


def test_export_and_workspace_name_their_files():
    assert [each["file"] for each in answer("export", "puma", "gravity")["written"]] == [
        "puma_gravity.c",
        "puma_gravity.h",
    ]
    assert run("export", "puma", "gravity", "-o", "-", "--json", code=1).stdout == ""
    assert answer("workspace", "five-bar", "--points", "9")["map"] == "five-bar-workspace.png"


def test_control_reports_its_errors_in_si_units():
    result = answer("control", "run", "pendulum", "--no-calibrate")
    assert answer("control", "show", "out/control.log") == result
    text = run("control", "show", "out/control.log").stdout
    assert f"{1e3 * result['coordinates'][0]['largest_error']:.3f}" in text
    assert result["units"]["errors"] == "rad or m"


def test_identify_reports_its_parameters_and_fails_with_its_exit_code():
    motion = (
        "--range",
        "1",
        "--velocity",
        "2",
        "--duration",
        "2",
        "--iterations",
        "3",
        "--starts",
        "1",
        "--rate",
        "200",
    )
    shares = answer("excite", "planar-2r", *motion, "--output", "m.csv")["shares"]["coordinates"]
    assert [row["name"] for row in shares] == ["shoulder", "elbow"]
    run("torques", "planar-2r", "m.csv", "--samples", "401", "--output", "log.csv")
    result = answer("identify", "log.csv", "--robot", "planar-2r")
    assert result["passed"]
    assert {row["joint"] for row in result["joints"]} == {"shoulder", "elbow"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in result["parameters"])
    assert not answer("identify", "log.csv", "--robot", "planar-2r", "--units", "tau=mNm", code=3)["passed"]


@pytest.mark.slow
def test_measurements_report_their_results():
    lateness = answer("latency", "--ticks", "20")
    assert sum(row["ticks"] for row in lateness["histogram"]) <= 20
    assert lateness["units"] == {"period, later_than, lateness, control_step": "s"}
    assert answer("campaign", "--schedules", "1")["schedules"] == 1
    assert {target["target"] for target in answer("fuzz", "--list")} >= {"files", "robots"}
    assert answer("fuzz", "--only", "files", "--case", "3")["problem"] == ""
    assert answer("fuzz", "--only", "files", "--cases", "1", "--minutes", "0.01")["targets"][0]["cases"] == 1


def test_reproduce_reports_its_counts():
    assert answer("reproduce", "dynamics")["sections"]["dynamics"]["agreed"] == 1


def test_formulations_are_listed_with_their_requirements():
    known = answer("formulations")
    assert known["formulations"][0]["name"] == "gibbs-appell"
    assert any(row["only_for"] for row in known["inertia_matrix"])
