"""`--json`: every command that prints a table has it, and says there what the table says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.cli.output import as_data, table
from terminals import all_commands

NO_TABLE = {  # what these say is a sentence, a page or a file
    "convert": "one line: the file and what is in it",
    "view": "a page in the browser",
    "control cabinet": "serves until it is stopped",
    "control replay": "one line: whether every bit is the same",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def answer(*arguments: str, code: int = 0):
    """What is on stdout, all of it, read strictly: NaN and Infinity are no JSON."""

    def refuse(name: str):
        pytest.fail(f"{name} is no JSON")

    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def commands(group, prefix: str = ""):
    for name, command in group.items():
        if hasattr(command, "commands"):
            yield from commands(command.commands, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def test_every_command_has_the_flag_or_prints_no_table():
    found = dict(commands(all_commands()))
    assert len(found) > 20
    for name, command in found.items():
        flag = next((p for p in command.params if "--json" in p.opts), None)
        assert (flag is None) == (name in NO_TABLE), name
        assert flag is None or (flag.is_flag and flag.name == "json"), name  # one meaning everywhere: no file name


def test_numbers_are_whole_and_what_is_not_finite_is_null():
    data = as_data(
        {"a": np.float64(1 / 3), "b": [np.nan, np.inf, -1.0], "c": np.arange(2), "d": np.bool_(True), 3: None}
    )
    assert data == {"a": 1 / 3, "b": [None, None, -1.0], "c": [0, 1], "d": True, "3": None}
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_a_table_is_made_from_rows():
    made = table([{"name": "[b]", "mass": 1 / 3}, {"name": "x"}], {"name": "body", "mass": ("mass, kg", ".3g")})
    assert [list(column.cells) for column in made.columns] == [["\\[b]", "x"], ["0.333", ""]]


def test_a_table_and_json_tell_the_same():
    shown, found = run("count", "planar-2r").stdout, answer("count", "planar-2r")
    for row in found["counts"]:
        line = next(line for line in shown.splitlines() if line.split()[:1] == [row["formulation"]])
        assert [int(word) for word in line.split()[1:]] == [x for key, x in row.items() if key != "formulation"]


def test_torques_are_those_of_the_record():
    run("trajectory", "ramp", "panda", "--to", "0.5,-0.5,0,-2,0,1.5,0.8", "--output", "ramp.csv")
    found = answer("torques", "panda", "ramp.csv", "--output", "tau.npz")
    tau = ap.Record.read("tau.npz").tau
    assert [row["highest"] for row in found["actuators"]] == tau.max(axis=0).tolist()
    assert [row["limit"] for row in found["actuators"]] == [87.0] * 4 + [12.0] * 3
    assert found["actuators"][0]["unit"] == "N m"
    assert found["units"]["highest_power"] == "W"


def test_remarks_go_to_stderr():
    result = run("trajectory", "ramp", "pendulum", "--to", "1", "--output", "a.csv", "--json")
    assert json.loads(result.stdout)["joints"][0]["end"] == 1.0
    assert "written a.csv" in result.stderr


def test_simulate_tells_all_events_in_full():
    found = answer("simulate", "tree10", "--wall", "circle:2.5", "--until", "0.6")
    wall = ap.simulation.Contact("all", ap.simulation.Circle(2.5))
    again = ap.simulate(ap.load("tree10"), until=0.6, contacts=[wall], solver=ap.Solver(rtol=1e-8, atol=1e-10))
    assert [event["time"] for event in found["events"]] == [event.time for event in again.events]
    assert found["events"][0]["impulses"] == np.atleast_1d(again.events[0].impulses).tolist()
    assert found["units"]["impulses"] == "N s"


def test_what_has_no_limit_is_null():
    assert answer("info", "pendulum", "--no-counts")["coordinates"][0]["upper"] is None


def test_exports_and_maps_name_their_files():
    assert [each["file"] for each in answer("export", "puma", "gravity")["written"]] == [
        "puma_gravity.c",
        "puma_gravity.h",
    ]
    assert run("export", "puma", "gravity", "-o", "-", "--json", code=1).stdout == ""
    assert answer("workspace", "five-bar", "--points", "9")["map"] == "five-bar-workspace.png"


def test_a_loop_tells_its_errors_in_si():
    found = answer("control", "run", "pendulum", "--no-calibrate")
    assert answer("control", "show", "out/control.log") == found
    text = run("control", "show", "out/control.log").stdout
    assert f"{1e3 * found['coordinates'][0]['largest_error']:.3f}" in text
    assert found["units"]["errors"] == "rad or m"


def test_identification_tells_its_parameters_and_fails_with_its_code():
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
    found = answer("identify", "log.csv", "--robot", "planar-2r")
    assert found["passed"]
    assert {row["joint"] for row in found["joints"]} == {"shoulder", "elbow"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in found["parameters"])
    assert not answer("identify", "log.csv", "--robot", "planar-2r", "--units", "tau=mNm", code=3)["passed"]


@pytest.mark.slow
def test_measurements_tell_theirs():
    lateness = answer("latency", "--ticks", "20")
    assert sum(row["ticks"] for row in lateness["histogram"]) <= 20
    assert lateness["units"] == {"period, later_than, lateness, control_step": "s"}
    assert answer("campaign", "--schedules", "1")["schedules"] == 1
    assert {target["target"] for target in answer("fuzz", "--list")} >= {"files", "robots"}
    assert answer("fuzz", "--only", "files", "--case", "3")["problem"] == ""
    assert answer("fuzz", "--only", "files", "--cases", "1", "--minutes", "0.01")["targets"][0]["cases"] == 1


def test_reproduce_tells_its_tally_and_keeps_the_page_off_stdout():
    assert answer("reproduce", "dynamics")["sections"]["dynamics"]["agreed"] == 1


def test_formulations_are_listed_with_what_they_need():
    known = answer("formulations")
    assert known["formulations"][0]["name"] == "gibbs-appell"
    assert any(row["only_for"] for row in known["inertia_matrix"])
