"""The measurement procedure: turns, agreement checks, and files of results. No measured value is tested here."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from time import process_time

import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.errors import AppellError, ArgumentError, DescriptionError
from appell_lab.bench import batch
from appell_lab.bench.aims import AIMS
from appell_lab.bench.clock import MIN_TURN_S, TimedStatement, one_core, time_in_turns
from appell_lab.bench.figure import Figure, seconds_text
from appell_lab.bench.loop_robots import LOOP_ROBOTS
from appell_lab.bench.report import Report
from appell_lab.bench.run import PARTS, Plan, tasks
from appell_lab.bench.start import starts
from appell_lab.bench.subject import find, random_states


def run(*arguments: str):
    return CliRunner().invoke(app, ["bench", *arguments], env={"COLUMNS": "160"})


def report(*figures: Figure) -> Report:
    versions = {"numpy": "2", "llvmlite": "1", "pin": "4"}
    machine = {"cpu": "abacus", "kind": "wood", "system": "none", "python": "3"}
    return Report(figures, machine, versions, "2000-01-01", 10_000)


def test_statements_are_timed_in_turns():
    calls: list[str] = []
    statements = {name: TimedStatement("note(); work()", _recording(calls, name)) for name in ("one", "other")}
    timings = time_in_turns(statements, turns=3)
    assert calls[4:] == ["one", "one", "other", "other"] * 3  # after two calls each; the first of a turn is not timed
    assert all(0 < timing.best <= timing.median for timing in timings.values())


def _recording(calls: list[str], name: str):
    def busy():
        start = process_time()
        while process_time() - start < 2 * MIN_TURN_S:  # so that a turn is one call
            pass

    return {"note": lambda: calls.append(name), "work": busy}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not support CPU affinity")
def test_the_cpu_affinity_is_restored():
    before = os.sched_getaffinity(0)
    with one_core() as core:
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("value", "unit", "aim", "met"),
    [
        (60.0, "x", 50.0, True),
        (40.0, "x", 50.0, False),
        (0.2, "s", 0.3, True),
        (0.4, "s", 0.3, False),
        (1, "x", None, None),
    ],
)
def test_an_aim_is_a_minimum_speedup_or_a_maximum_time(value, unit, aim, met):
    assert Figure("batch", "puma", "f", "f", value, unit, aim).met is met


def test_times_are_formatted_with_a_suitable_unit():
    assert [seconds_text(x) for x in (2.0, 0.0305, 1.5e-6, 1.96e-8)] == ["2 s", "30.5 ms", "1.5 µs", "19.6 ns"]


def test_results_survive_a_round_trip_to_a_file(tmp_path):
    figure = Figure(
        "batch", "puma", "inverse_dynamics", "inverse dynamics", 70.0, "x", 50.0, 2e-8, 1.4e-6, {"x": [1.0]}
    )
    path = tmp_path / "deep" / "results.json"
    report(figure).save(path)
    assert Report.read(path) == report(figure)
    assert json.loads(path.read_text())["figures"][0]["met"] is True


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 1}'])
def test_a_file_without_results_is_an_error(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(DescriptionError, match=r"results\.json"):
        Report.read(path)


def test_the_tables_contain_every_figure():
    met = Figure("batch", "puma", "inverse_dynamics", "inverse dynamics", 70.0, "x", 50.0, 2e-8, 1.4e-6)
    missed = replace(met, name="mass_matrix", title="inertia matrix", value=30.0)
    both = report(met, missed)
    assert "| puma | inverse dynamics | 20 ns | 1.4 µs | 70x |  |" in both.markdown()
    assert "**missed**" in both.markdown_with_aims()
    assert both.verdict() == "1 of 2 aims met. Missed: puma/batch/mass_matrix."


def test_every_aim_belongs_to_a_measured_figure():
    subjects = [find("puma"), find("talos")]
    quantities = [(subject, quantity) for subject in subjects for quantity in batch.quantities(subject)]
    measured = {f"{subject.name}/batch/{quantity.name}" for subject, quantity in quantities}
    measured |= {f"{subject.name}/batch/float32" for subject in subjects}
    measured |= {f"{subject.name}/call/{name}" for subject in subjects for name in ("ufunc", "bound")}
    measured |= {f"{start.robot}/start/{start.name}" for start in starts(subjects)}
    measured |= {f"{subject.name}/counts/inverse_dynamics_{kind}" for subject in subjects for kind in ("mul", "add")}
    measured |= {f"{name}/loops/forward_dynamics" for name in LOOP_ROBOTS}
    assert {key for key in AIMS if key.split("/")[1] in ("batch", "call", "start", "counts", "loops")} <= measured
    assert {key.split("/")[1] for key in AIMS} <= set(PARTS)


@pytest.mark.parametrize("name", ["puma", "stanford", "tree10"])
def test_agreement_with_pinocchio_is_checked_before_timing(name):
    subject = find(name)
    for quantity in batch.quantities(subject):
        states = random_states(subject, 8)
        ours = [states[argument] for argument in quantity.arguments]
        theirs = [subject.twin.layout(argument, states[argument]) for argument in quantity.arguments]
        function = quantity.ours(subject.dynamics)
        batch._check_agreement(subject, quantity, function, ours, theirs)
        with pytest.raises(AppellError, match="is not timed"):
            batch._check_agreement(subject, quantity, function, [x + 0.1 for x in ours], theirs)


def test_bench_measures_prints_and_saves(tmp_path):
    pytest.importorskip("pinocchio")
    path = tmp_path / "results.json"
    parts = ["--part", "batch", "--part", "call", "--part", "counts"]
    result = run("--robot", "pendulum", "--quick", "--batch", "64", *parts, "--output", str(path))
    assert result.exit_code == 0
    assert "pendulum inverse dynamics" in result.output
    saved = Report.read(path)
    assert saved.quick
    assert saved.batch == 64
    assert {figure.part for figure in saved.figures} == {"batch", "call", "counts"}
    assert all(figure.value > 0 for figure in saved.figures if figure.part != "counts")
    assert saved.versions["pin"] != "not installed"


def test_time_to_the_first_result_is_measured_in_fresh_processes(tmp_path):
    pytest.importorskip("pinocchio")
    path = tmp_path / "results.json"
    result = run("--robot", "pendulum", "--quick", "--part", "start", "--output", str(path))
    assert result.exit_code == 0
    values = {figure.key: figure.value for figure in Report.read(path).figures}
    assert values["appell/start/import"] > 0
    assert values["pendulum/start/inverse_dynamics"] > 0
    assert values["pendulum/start/inverse_dynamics_cached"] > 0


def test_bench_without_pinocchio_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    result = run("--robot", "pendulum")
    assert result.exit_code == 1
    assert "pip install pin" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--part", "batches"), "Did you mean 'batch'?"),
        (("--batch", "0"), "at least 1"),
    ],
)
def test_unknown_options_of_bench_are_named_errors(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_unknown_robot_of_bench_is_a_named_error():
    pytest.importorskip("pinocchio")  # robots are read when they are measured
    result = run("--robot", "pumma")
    assert result.exit_code == 1
    assert "Did you mean 'puma'?" in result.stderr


def test_a_plan_contains_every_part_once():
    plan = Plan([find("pendulum")])
    assert plan.parts == PARTS
    assert len({task.title for task in tasks(plan)}) == len(tasks(plan))
    with pytest.raises(ArgumentError, match="no part 'speed'"):
        replace(plan, parts=("speed",))
