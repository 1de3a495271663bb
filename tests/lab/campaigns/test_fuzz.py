"""The campaign: it survives whatever a case does, makes findings small, and finds nothing in what stands here."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.errors import AppellError, ArgumentError
from appell.motion.event import Event
from appell.simulation import simulate
from appell_lab.fuzz.arenas import Arena, arena
from appell_lab.fuzz.campaign import Bounds, run
from appell_lab.fuzz.minimise import shorter
from appell_lab.fuzz.targets import HUNTS, chosen, robots
from appell_lab.fuzz.targets.arrays import Arrays
from appell_lab.fuzz.targets.constraints import Constraints
from appell_lab.fuzz.targets.files import Files
from appell_lab.fuzz.targets.kills import motion_file
from appell_lab.fuzz.targets.motions import Motions, judge
from appell_lab.fuzz.targets.robots import FUNCTIONS, Robots
from appell_lab.judges.peer_tree import our_robot
from broken_hunts import Breaking, Unprepared

SECONDS = 32.0  # of the bounded campaign, all targets together
SEED = 190_000

posix = pytest.mark.skipif(os.name != "posix", reason="limits of processes are POSIX")


@posix
@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("raises", "ZeroDivisionError at broken_hunts.py"),
        ("crashes", "crash -11"),
        ("exits", "crash 7"),
        ("sleeps", "hang"),
        ("lingers", "slow"),
        ("eats", "MemoryError at broken_hunts.py"),
        ("leaves_a_file_open", "ResourceWarning"),
    ],
)
def test_a_case_may_do_anything_and_the_campaign_goes_on(way, kind):
    bounds = Bounds(seconds=600.0, cases=9, seed=0, minimising=60.0 if way == "raises" else 0.0)
    (bag,) = run([Breaking(way)], bounds)
    assert bag.cases == 9
    assert bag.counts == {"sound": 7}
    (broken,) = bag.broken
    assert broken.kind.startswith(kind)
    assert (broken.seed, broken.times) == (3, 2)
    assert broken.command == "appell fuzz --only breaking --case 3"
    if bounds.minimising:
        assert broken.case["letters"] == "!"


@posix
def test_a_case_that_spins_is_stopped_by_its_processor_time():
    (bag,) = run([Breaking("spins")], Bounds(seconds=600.0, cases=4, minimising=0.0))
    assert [broken.kind for broken in bag.broken] == ["hang"]
    assert "hung: stopped after 4 s of processor time" in bag.broken[0].problem


def test_figures_are_kept_at_their_largest_with_the_seed_and_saved(tmp_path):
    (bag,) = run([Breaking("raises")], Bounds(cases=3, seed=10), path=tmp_path / "found.json")
    assert bag.figures == {"size": (12.0, 12)}
    saved = json.loads((tmp_path / "found.json").read_text())
    assert saved["hunts"][0]["figures"] == {"size": [12.0, 12]}
    assert saved["versions"]["numpy"] == np.__version__


def test_a_hunt_that_cannot_be_prepared_says_why():
    with pytest.raises(ArgumentError, match="there is no judge"):
        run([Unprepared("named")], Bounds(cases=1))
    with pytest.raises(AppellError, match="hunt 'breaking' cannot be prepared: KeyError"):
        run([Unprepared("raw")], Bounds(cases=1))


def test_shorter_texts_leave_out_ever_smaller_stretches():
    assert list(shorter("abcd")) == ["cd", "ab", "bcd", "acd", "abd", "abc"]


@pytest.mark.parametrize("name", HUNTS)
def test_a_seed_is_a_case_and_json_can_hold_it(name):
    (hunt,) = chosen(name)
    cases = [hunt.case(seed) for seed in (SEED, SEED, SEED + 1)]
    assert json.loads(json.dumps(cases[0])) == cases[0] == cases[1]
    assert cases[0] != cases[2]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_robots_are_judged_by_somebody_who_can_disagree(monkeypatch, function):
    """A robot whose masses are wrong by a thousandth of a millionth is found out."""
    hunt, wanted = Robots(), {"function": function, "dtype": "d", "formulation": "gibbs-appell"}
    cases = (case for seed in range(500) if wanted.items() <= (case := hunt.case(seed)).items())
    case = next(case for case in cases if len(case["links"]) > 1)
    assert not hunt.check(case).problem
    wrong = [link | {"mass": link["mass"] * (1 + 1e-9)} for link in case["links"]]
    monkeypatch.setattr(robots, "our_robot", lambda _, gravity: our_robot(wrong, gravity))
    assert f"{function}, float64: error" in hunt.check(case).problem


def test_constraints_are_judged_by_somebody_who_can_disagree(monkeypatch):
    """A closure that is told a millionth of a metre elsewhere is found out, and so is a mass."""
    from appell_lab.fuzz.targets import constraints
    from appell_lab.judges.peer_tree import our_robot
    from appell_lab.judges.plain_closures import framed

    def shifted(robot, closures):
        moved = [x | {"a": x["a"] | {"xyz": [y + 1e-6 for y in x["a"]["xyz"]]}} for x in closures]
        return framed(robot, moved)

    def heavier(links, gravity):
        return our_robot([link | {"mass": link["mass"] * (1 + 1e-6)} for link in links], gravity)

    hunt = Constraints()
    cases = (case for seed in range(100) if (case := hunt.case(seed))["function"] == "motion")
    case = next(case for case in cases if [closure["type"] for closure in case["closures"]] == ["point"])
    assert not hunt.check(case).problem
    with monkeypatch.context() as patch:
        patch.setattr(constraints, "framed", shifted)
        assert hunt.check(case).problem
    monkeypatch.setattr(constraints, "our_robot", heavier)
    assert "forces of the motion: error" in hunt.check(case).problem


def test_files_that_raise_what_nobody_promised_are_findings(monkeypatch):
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
    made = arrays.made
    monkeypatch.setattr(arrays, "made", lambda form, core: made(form, core)[::-1])
    assert Arrays().check(case).kind == "differs"


def test_motions_that_gain_energy_or_enter_a_wall_are_findings():
    hunt = Motions()
    usual = {"torque": "none", "stops": None, "during": None}
    cases = (case for seed in range(200) if usual.items() <= (case := hunt.case(seed)).items())
    case = next(case for case in cases if case["q0"] and arena(case["arena"]).wall["kind"] == "plane")
    place = arena(case["arena"])
    record = simulate(place.dynamics, case["q0"], case["v0"], until=1e-3)  # as if there were no wall
    assert not judge(place, case, record).problem
    hot = record.data.copy()
    hot[:, record.columns.index("energy")] += np.linspace(0.0, 1.0, len(hot)) ** 8
    assert judge(place, case, replace(record, data=hot)).kind == "energy"
    nearer = Arena(case["arena"])
    nearer.__dict__["wall"] = place.wall | {"R": place.wall["R"] - min(place.distances(record.q[0]).values()) - 1e-3}
    assert judge(nearer, case, record).kind == "penetration"


def test_only_where_events_crowd_a_motion_is_not_judged_between_its_rows():
    """A line between two places outside a ball goes through it; that is promised for steps in crowds alone."""
    place = arena(next(k for k in range(48) if arena(k).wall["kind"] == "ball"))
    case = Motions().case(0) | {"during": None, "torque": "none", "tolerance": 1e-7}
    q0 = place.start(np.random.default_rng(0))
    record = simulate(place.dynamics, q0, np.zeros(place.robot.nv), until=1e-3)
    nearer = Arena(place.number)
    nearer.__dict__["distances"] = lambda q: dict.fromkeys(
        place.points, 0.0 if (record.q == q).all(axis=1).any() else -1.0
    )
    assert judge(nearer, case, record).kind == "penetration"
    stepped = replace(record, events=(Event(0.0, "time stepping"), *record.events))
    assert not judge(nearer, case, stepped).problem
    again = replace(record, events=(Event(0.0, "time stepping"), Event(5e-4, "event driven"), *record.events))
    assert judge(nearer, case, again).kind == "penetration"


def test_the_command_lists_hunts_repeats_a_case_and_refuses_nonsense():
    runner = CliRunner()
    listed = runner.invoke(app, ["fuzz", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in HUNTS)
    again = runner.invoke(app, ["fuzz", "--only", "files", "--case", "5"])
    assert again.exit_code == 0
    assert "all held" in again.output
    for wrong in (["--only", "fils"], ["--minutes", "0"], ["--case", "3"], ["--seed", "-1"]):
        assert runner.invoke(app, ["fuzz", *wrong]).exit_code == 1


def test_a_report_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    """Found by thinking of what a kill would do: the old report was gone before the new one was whole."""
    old = tmp_path / "r.md"
    old.write_text("the old report")
    arguments = ["identify", str(motion_file()), "--robot", "planar-2r", "--report", str(old), "--force"]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("appell.describe.files.os.replace", full)
    monkeypatch.setenv("APPELL_CACHE", "off")  # which would find its disk full too
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 1
    assert "No space left" in told.output
    assert old.read_text() == "the old report"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.slow
@posix
@pytest.mark.parametrize("name", HUNTS)
def test_a_bounded_campaign_finds_nothing(name):
    """Fixed seeds, half a minute in all; a finding is printed with what repeats it."""
    (bag,) = run(chosen(name), Bounds(seconds=SECONDS / len(HUNTS), seed=SEED))
    assert bag.cases > 0
    assert [(broken.problem, broken.command, broken.case) for broken in bag.broken] == []
