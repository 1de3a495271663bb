"""Fuzz campaigns survive failing cases, reduce findings, and have no findings in this version."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.dynamics import Dynamics
from appell.errors import AppellError, ArgumentError
from appell.motion.event import Event
from appell.simulation import simulate
from appell_lab.fuzz.campaign import Bounds, run
from appell_lab.fuzz.contact_scenes import ContactScene, contact_scene
from appell_lab.fuzz.minimise import shorter
from appell_lab.fuzz.targets import TARGETS, chosen, robots
from appell_lab.fuzz.targets.arrays import Arrays
from appell_lab.fuzz.targets.constraints import Constraints
from appell_lab.fuzz.targets.files import Files
from appell_lab.fuzz.targets.kills import motion_file
from appell_lab.fuzz.targets.motions import Motions, verdict_on
from appell_lab.fuzz.targets.robots import FUNCTIONS, Robots
from appell_lab.references.peer_tree import our_robot
from broken_targets import Breaking, Unprepared

CASES = 2  # of every target in the short campaign
SEED = 190_000

posix = pytest.mark.skipif(os.name != "posix", reason="limits of processes are POSIX")


@posix
@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("raises", "ZeroDivisionError at broken_targets.py"),
        ("crashes", "crash -11"),
        ("exits", "crash 7"),
        ("sleeps", "hang"),
        ("lingers", "slow"),
        ("eats", "MemoryError at broken_targets.py"),
        ("leaves_a_file_open", "ResourceWarning"),
    ],
)
def test_a_campaign_survives_every_kind_of_failure(way, kind):
    bounds = Bounds(seconds=600.0, cases=9, seed=0, minimising=60.0 if way == "raises" else 0.0)
    (findings,) = run([Breaking(way)], bounds)
    assert findings.cases == 9
    assert findings.counts == {"sound": 7}
    (finding,) = findings.broken
    assert finding.kind.startswith(kind)
    assert (finding.seed, finding.times) == (3, 2)
    assert finding.command == "appell fuzz --only breaking --case 3"
    if bounds.minimising:
        assert finding.case["letters"] == "!"


@posix
def test_a_busy_loop_is_stopped_by_its_processor_time():
    (findings,) = run([Breaking("spins")], Bounds(seconds=600.0, cases=4, minimising=0.0))
    assert [finding.kind for finding in findings.broken] == ["hang"]
    assert "hung: stopped after 3 s of processor time" in findings.broken[0].problem


def test_the_largest_figures_are_saved_with_their_seeds(tmp_path):
    (findings,) = run([Breaking("raises")], Bounds(cases=3, seed=10), path=tmp_path / "found.json")
    assert findings.figures == {"size": (12.0, 12)}
    saved = json.loads((tmp_path / "found.json").read_text())
    assert saved["targets"][0]["figures"] == {"size": [12.0, 12]}
    assert saved["versions"]["numpy"] == np.__version__


def test_the_error_of_a_target_that_cannot_be_prepared_names_the_cause():
    with pytest.raises(ArgumentError, match="the reference is not installed"):
        run([Unprepared("named")], Bounds(cases=1))
    with pytest.raises(AppellError, match="target 'breaking' cannot be prepared: KeyError"):
        run([Unprepared("raw")], Bounds(cases=1))


def test_shorter_texts_leave_out_smaller_and_smaller_parts():
    assert list(shorter("abcd")) == ["cd", "ab", "bcd", "acd", "abd", "abc"]


@pytest.mark.parametrize("name", TARGETS)
def test_a_seed_determines_a_case_that_is_json(name):
    (target,) = chosen(name)
    cases = [target.case(seed) for seed in (SEED, SEED, SEED + 1)]
    assert json.loads(json.dumps(cases[0])) == cases[0] == cases[1]
    assert cases[0] != cases[2]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_target_robots_detects_wrong_masses(monkeypatch, function):
    """Masses that are wrong by 1e-9 are detected."""
    target, choice = Robots(), {"function": function, "dtype": "d", "formulation": "gibbs-appell"}
    cases = (case for seed in range(500) if choice.items() <= (case := target.case(seed)).items())
    case = next(case for case in cases if len(case["links"]) > 1)
    assert not target.check(case).problem
    wrong = [link | {"mass": link["mass"] * (1 + 1e-9)} for link in case["links"]]
    monkeypatch.setattr(robots, "our_robot", lambda _, gravity: our_robot(wrong, gravity))
    assert f"{function}, float64: error" in target.check(case).problem


def test_the_target_constraints_detects_wrong_closures_and_masses(monkeypatch):
    """A closure that is shifted by 1e-6 m, and masses that are wrong by 1e-6, are detected."""
    from appell_lab.fuzz.targets import constraints
    from appell_lab.references.plain_closures import framed

    def shifted(robot, closures):
        wrong = [x | {"a": x["a"] | {"xyz": [y + 1e-6 for y in x["a"]["xyz"]]}} for x in closures]
        return framed(robot, wrong)

    target = Constraints()
    cases = (case for seed in range(100) if (case := target.case(seed))["function"] == "motion")
    case = next(case for case in cases if [closure["type"] for closure in case["closures"]] == ["point"])
    assert not target.check(case).problem
    with monkeypatch.context() as patch:
        patch.setattr(constraints, "framed", shifted)
        assert target.check(case).problem
    monkeypatch.setattr(constraints, "our_robot", heavier)
    assert "forces of the motion: error" in target.check(case).problem


def heavier(links, gravity):
    return our_robot([link | {"mass": link["mass"] * (1 + 1e-6)} for link in links], gravity)


def test_the_target_prescribed_detects_wrong_masses_and_rates(monkeypatch):
    from appell_lab.fuzz.targets import prescribed

    target = prescribed.Prescribed()
    by_function = {}
    for case in map(target.case, range(60)):
        if case["function"] in ("motion", "jacobian rate") and case["function"] not in by_function:
            verdict = target.check(case)
            assert not verdict.problem
            if "compared" in verdict.counts:
                by_function[case["function"]] = case
    monkeypatch.setattr(Dynamics, "jacobian_rate", Dynamics.jacobian)
    assert target.check(by_function["jacobian rate"]).kind == "jacobian rate, difference"
    monkeypatch.setattr(prescribed, "our_robot", heavier)
    assert target.check(by_function["motion"]).kind == "forces of the motion"


def test_the_target_wrenches_detects_wrong_masses(monkeypatch):
    from appell_lab.fuzz.targets import wrenches

    target = wrenches.Wrenches()
    case = next(case for seed in range(50) if len((case := target.case(seed))["frames"]) > 1 and not case["compiled"])
    assert not target.check(case).problem
    monkeypatch.setattr(wrenches, "our_robot", heavier)
    assert target.check(case).kind == "forces"


def test_the_target_round_trips_detects_a_changed_model(monkeypatch):
    from appell_lab.fuzz.targets import round_trips

    target, case = round_trips.RoundTrips(), round_trips.RoundTrips().case(SEED + 3)
    assert not target.check(case).problem
    changed = ("toml", lambda robot: round_trips.to_toml(robot.with_gravity([0.0, 0.0, -9.0])))
    monkeypatch.setattr(round_trips, "CHAIN", (changed,))
    assert "forces differ" in target.check(case).problem


def test_the_target_mjcf_detects_a_changed_model(monkeypatch):
    from appell_lab.fuzz.targets import mjcf

    target, case, load = mjcf.Mjcf(), mjcf.Mjcf().case(SEED), mjcf.load
    assert not target.check(case).problem
    monkeypatch.setattr(mjcf, "load", lambda path: load(path).with_gravity([0.0, 0.0, -9.0]))
    assert target.check(case).kind in ("bias", "inverse dynamics")


def test_the_target_names_detects_code_that_runs_and_wrong_numbers(monkeypatch):
    from appell_lab.fuzz.targets import names

    target = names.Names()
    case = {"language": "numpy", "names": [["own", "a", "b"], ["pose", "c", "d"]], "numbers": 1}
    assert not target.check(case).problem
    text = names.python_text
    with monkeypatch.context() as patch:
        patch.setattr(names, "python_text", lambda *given: text(*given) + "open('canary', 'w').close()\n")
        assert target.check(case).problem
    monkeypatch.setattr(names, "python_text", lambda *given: text(*given).replace(" + ", " - "))
    assert target.check(case).kind == "differs, numpy"


def test_the_target_studies_detects_changes_that_are_not_noticed(monkeypatch):
    from appell_lab.fuzz.targets.studies import Studies

    case = {"way": "object", "depth": 2, "style": "import", "numbers": [2.0, 3.0], "edit": ""}
    assert not Studies().check(case).problem
    monkeypatch.setattr("appell.sweeps.identity.study_hashes", lambda study: {"study": study.__name__})
    assert Studies().check(case).kind == "missed object"


def test_the_target_array_likes_detects_raw_errors_and_misread_arrays(monkeypatch):
    from appell_lab.fuzz.targets import array_likes

    target, case = array_likes.ArrayLikes(), {"call": "x", "form": "Fortran order", "numbers": 1}
    for call, kind in ((lambda x: np.asarray(x) + isinstance(x, np.ndarray), "differs"), (lambda x: x["a"], "raw")):
        monkeypatch.setitem(array_likes.CALLS, "x", ((3,), "", call))
        assert target.check(case).kind == f"{kind} x of Fortran order"
    monkeypatch.setitem(array_likes.CALLS, "x", ((3,), "", lambda x: x))
    assert target.check(case | {"form": "text"}).kind == "accepted x of text"


def test_files_that_raise_other_errors_are_findings(monkeypatch):
    from appell_lab.fuzz.targets import files

    def raw(*_, **__):
        raise KeyError("raw")

    monkeypatch.setattr(files, "load", raw)
    with pytest.raises(KeyError):
        Files().check({"kind": "urdf", "content": "<robot/>", "base": "fixed", "physical": True})


def test_an_array_that_is_misread_is_a_finding(monkeypatch):
    from appell_lab.fuzz.targets import arrays

    form = {"batch": [3], "dtype": "f8", "layout": "C", "holder": "array", "odd": "", "seed": 1}
    case = {"function": "energy", "forms": [form, form | {"seed": 2}], "out": "none", "named": False}
    assert not Arrays().check(case).problem
    argument = arrays.argument
    monkeypatch.setattr(arrays, "argument", lambda form, core: argument(form, core)[::-1])
    assert Arrays().check(case).kind == "differs"


def test_motions_that_gain_energy_or_enter_a_wall_are_findings():
    target = Motions()
    choice = {"torque": "none", "stops": None, "during": None}
    cases = (case for seed in range(200) if choice.items() <= (case := target.case(seed)).items())
    case = next(case for case in cases if case["q0"] and contact_scene(case["scene"]).wall["kind"] == "plane")
    scene = contact_scene(case["scene"])
    record = simulate(scene.dynamics, case["q0"], case["v0"], until=1e-3)  # without the wall
    assert not verdict_on(scene, case, record).problem
    hot = record.data.copy()
    hot[:, record.columns.index("energy")] += np.linspace(0.0, 1.0, len(hot)) ** 8
    assert verdict_on(scene, case, replace(record, data=hot)).kind == "energy"
    nearer = ContactScene(case["scene"])
    nearer.__dict__["wall"] = scene.wall | {"R": scene.wall["R"] - min(scene.distances(record.q[0]).values()) - 1e-3}
    assert verdict_on(nearer, case, record).kind == "penetration"


def test_a_motion_is_checked_between_its_rows_except_in_time_stepping():
    """A line between two points outside a ball may cut it; this is acceptable in time stepping only."""
    scene = contact_scene(next(k for k in range(48) if contact_scene(k).wall["kind"] == "ball"))
    case = Motions().case(0) | {"during": None, "torque": "none", "tolerance": 1e-7}
    q0 = scene.start(np.random.default_rng(0))
    record = simulate(scene.dynamics, q0, np.zeros(scene.robot.nv), until=1e-3)
    nearer = ContactScene(scene.number)
    nearer.__dict__["distances"] = lambda q: dict.fromkeys(
        scene.points, 0.0 if (record.q == q).all(axis=1).any() else -1.0
    )
    assert verdict_on(nearer, case, record).kind == "penetration"
    stepped = replace(record, events=(Event(0.0, "time stepping"), *record.events))
    assert not verdict_on(nearer, case, stepped).problem
    again = replace(record, events=(Event(0.0, "time stepping"), Event(5e-4, "event driven"), *record.events))
    assert verdict_on(nearer, case, again).kind == "penetration"


def test_the_command_lists_targets_repeats_a_case_and_rejects_invalid_options():
    runner = CliRunner()
    listed = runner.invoke(app, ["fuzz", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in TARGETS)
    again = runner.invoke(app, ["fuzz", "--only", "files", "--case", "5"])
    assert again.exit_code == 0
    assert "no problem" in again.output
    for wrong in (["--only", "fils"], ["--minutes", "0"], ["--case", "3"], ["--seed", "-1"]):
        assert runner.invoke(app, ["fuzz", *wrong]).exit_code == 1


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    """The old report was once removed before the new one was complete."""
    old = tmp_path / "r.md"
    old.write_text("the old report")
    arguments = ["identify", str(motion_file()), "--robot", "planar-2r", "--report", str(old), "--force"]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("appell.describe.files.os.replace", full)
    monkeypatch.setenv("APPELL_CACHE", "off")  # the cache would fail too
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "No space left" in result.output
    assert old.read_text() == "the old report"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.slow
@posix
@pytest.mark.parametrize("name", sorted(set(TARGETS) - {"kills"}))
def test_a_short_campaign_has_no_findings(name):
    """A few cases with fixed seeds; a finding is printed with the command that repeats it.

    A case of "kills" takes half a minute; tests/sweeps and tests/control kill processes in the same way.
    """
    (findings,) = run(chosen(name), Bounds(cases=CASES, seed=SEED))
    assert findings.cases == CASES
    assert [(finding.problem, finding.command, finding.case) for finding in findings.broken] == []
