"""Peers: what cannot be built says why, what is timed agrees, and the table is what the JSON says.

Building is tested where there is a compiler, and that its absence is said where there is none; neither is skipped.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.compile.function import Function
from appell.errors import AppellError, ArgumentError, DescriptionError
from appell_lab.bench.clock import TimedStatement, Timing, time_in_turns
from appell_lab.bench.multiplication_count import multiplications, of_an_angle
from appell_lab.bench.peers import builds as build_tools
from appell_lab.bench.peers.casadi_c import CasadiC, CasadiPackets
from appell_lab.bench.peers.comparison import Comparison, contest, disagreement
from appell_lab.bench.peers.machine_speed import anchor, peak
from appell_lab.bench.peers.run_peers import chosen_rows, peers_of, play
from appell_lab.bench.peers.mujoco_c import MujocoC
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import Peer, Prepared, PeerUnavailableError
from appell_lab.bench.peers.pinocchio_cpp import PinocchioCpp
from appell_lab.bench.peers.pinocchio_python import PinocchioPython
from appell_lab.bench.peers.pinocchio_text import model_text
from appell_lab.bench.peers.quantities import ARGUMENTS, OURS, ROWS, PeerRow
from appell_lab.bench.peers.peer_report import PeerReport
from appell_lab.bench.peers.builds import TARGET, BuildFolder
from appell_lab.bench.subject import Subject, find, random_states

PUMA = find("puma")
QUICK = PeerRow("puma", "inverse_dynamics", 16, 10, 10, peak=0.6)
TIMING = Timing(1e-9, 2e-9)
INERTIAL = """<inertial><origin xyz="0.1 -0.05 0.2"/><mass value="{}"/>
    <inertia ixx="0.3" ixy="0.02" iyy="0.4" ixz="-0.01" iyz="0.03" izz="0.35"/></inertial>"""
MASSES = {"hull": 3, "arm": 2, "bar": 1}
LINKS = "".join(f"<link name='{name}'>{INERTIAL.format(mass)}</link>" for name, mass in MASSES.items())
JOINTS = """
<joint name="swing" type="revolute"><parent link="hull"/><child link="arm"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0 0.2"/>
    <axis xyz="0.6 0 0.8"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="slide" type="prismatic"><parent link="hull"/><child link="bar"/><origin xyz="0 0 -0.3"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>"""


@pytest.fixture(scope="module")
def floating(tmp_path_factory) -> Subject:
    """A free base with a joint about no axis of its frame and one that slides."""
    path = tmp_path_factory.mktemp("robot") / "swimmer.urdf"
    path.write_text(f"<robot name='swimmer'>{LINKS}{JOINTS}</robot>")
    return Subject("swimmer", str(path), base="floating")


@pytest.fixture(scope="module")
def rope(tmp_path_factory) -> Subject:
    """More joints than a factored inertia matrix is taken for."""
    path = tmp_path_factory.mktemp("robot") / "rope.urdf"
    links = "".join(f"<link name='link{k}'>{INERTIAL.format(1 + k % 3)}</link>" for k in range(14))
    joints = "".join(
        f"<joint name='joint{k}' type='revolute'><parent link='link{k}'/><child link='link{k + 1}'/>"
        f"<origin xyz='0.1 0 0.2' rpy='0.3 0 0'/><axis xyz='{k % 2} {1 - k % 2} 0'/>"
        "<limit lower='-3' upper='3' effort='9' velocity='9'/></joint>"
        for k in range(13)
    )
    path.write_text(f"<robot name='rope'>{links}{joints}</robot>")
    return Subject("rope", str(path))


class Here(Peer):
    """A peer that always can: Python's own evaluation of the equations, or something else on purpose."""

    name = "Here"

    def __init__(self, wrong: float = 0.0):
        self.wrong = wrong

    def version(self) -> str:
        return "1"

    def flags(self) -> str:
        return "none"

    def prepare(self, subject, quantity, states) -> Prepared:
        given = [states[name] for name in ARGUMENTS[quantity]]
        forces = subject.dynamics.equations.forces
        found = np.array([forces(*map(np.ndarray.tolist, sample), {}) for sample in zip(*given, strict=True)])
        return Prepared(lambda: None, lambda: (found * (1.0 + self.wrong),))


class Absent(Here):
    name = "Absent"

    def prepare(self, subject, quantity, states) -> Prepared:
        raise PeerUnavailableError("it is not there.")


def none() -> None:
    return None


def won(row: PeerRow = QUICK, **changes) -> Comparison:
    known = Comparison(
        row, TIMING, {"Here": Timing(2e-8, 3e-8)}, (), {}, {"Here": 0.0}, TIMING, Timing(1e-10, 1e-10), 40, 4
    )
    return replace(known, **changes)


def standing(*contests: Comparison, doubles: int = 4) -> PeerReport:
    machine = {"cpu": "abacus", "kind": "wood", "system": "none", "python": "3", "doubles": doubles}
    peers = {"Here": {"version": "1", "flags": "none"}}
    return PeerReport(contests, machine, {"numpy": "2", "llvmlite": "1"}, peers, "2000-01-01")


# ---- contests


def test_a_peer_that_computes_something_else_is_an_error_and_one_that_cannot_says_why():
    found = contest(QUICK, PUMA, [Here(), Absent()], 1, none)
    assert found.refusals == {"Absent": "it is not there."}
    assert list(found.peers) == ["Here"]
    assert found.errors["Here"] < 1e-12
    with pytest.raises(AppellError, match=r"Here is 1\.0e-06 from appell in inverse dynamics of robot 'puma'"):
        contest(QUICK, PUMA, [Here(wrong=1e-6)], 1, none)


def test_what_is_not_counted_is_never_the_best():
    peers = {"slow": Timing(4e-9, 4e-9), "packets": TIMING}
    found = won(peers=peers, shown=("packets",))
    assert (found.best, found.ratio) == ("slow", 4.0)
    assert won(peers={"packets": TIMING}, shown=("packets",)).ratio is None


def test_disagreement_is_relative_to_the_largest_entry_of_each_sample():
    mine = np.array([[1.0, 100.0], [1e-6, 0.0]])
    for change, error in (([[1e-3, 0.0], [0.0, 0.0]], 1e-5), ([[0.0, 0.0], [0.0, 1e-7]], 0.1)):
        assert disagreement([mine], [mine + np.array(change)]) == pytest.approx(error)


def test_the_rows_are_those_of_the_table_and_other_robots_are_refused():
    assert {row.robot for row in chosen_rows([])} == {"puma", "talos"}
    assert all(row.robot == "talos" for row in chosen_rows(["talos"]))
    with pytest.raises(ArgumentError, match="Did you mean 'puma'"):
        chosen_rows(["pumma"])


# ---- the machine


def test_the_anchor_waits_and_the_peak_does_not():
    loops = {"anchor": anchor(), "peak": peak(4)}
    timed = time_in_turns({name: TimedStatement("f()", {"f": loop.run}) for name, loop in loops.items()}, 3)
    step = {name: timed[name].best / loop.steps for name, loop in loops.items()}
    assert step["peak"] < step["anchor"]  # a register in less time than the latency of one number


def test_multiplications_are_counted_with_those_of_sines():
    f = Function.of("f", {"x": 3}, lambda x: {"y": [x[0] * x[1] + x[2], x[0] * x[2], x[1] / x[2], x[0] + x[1]]})
    assert multiplications(f.fused) == 2
    from appell.algebra.scalar import cos, sin

    g = Function.of("g", {"x": 2}, lambda x: {"y": [sin(x[0]), cos(x[0]), sin(x[1])]})
    assert multiplications(g.fused) == 2 * of_an_angle()


# ---- builds


def test_a_build_is_made_once_and_kept_by_its_content(tmp_path):
    said: list[str] = []
    source = tmp_path / "source"
    source.write_text("one")
    workshop = BuildFolder(tmp_path / "builds", say=said.append)
    command = ["cp", str(source), TARGET]
    first = workshop.make("copy.txt", command, [source], "a copy")
    assert first.read_text() == "one"
    assert workshop.make("copy.txt", command, [source], "a copy") == first
    assert len(said) == 2  # building and built, once
    source.write_text("two")
    assert workshop.make("copy.txt", command, [source], "a copy").read_text() == "two"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["sleep", "60"], "a thing: sleep was stopped after 0 s."),
        (["sh", "-c", "echo x; echo 'error: no such thing' >&2; exit 3"], "a thing: sh failed: error: no such thing"),
    ],
)
def test_a_build_that_fails_or_takes_too_long_says_so_also_the_next_time(tmp_path, command, reason):
    workshop = BuildFolder(tmp_path, limit=0.2)
    for _ in range(2):
        with pytest.raises(PeerUnavailableError, match=reason):
            workshop.make("thing.txt", command, [], "a thing")
        workshop = BuildFolder(tmp_path)  # a second try is not made


def test_what_a_build_has_started_ends_with_it(tmp_path):
    late = tmp_path / "late"
    command = ["sh", "-c", f"(exec >/dev/null 2>&1; sleep 1; touch {late}) & wait"]
    with pytest.raises(PeerUnavailableError, match="was stopped after"):
        BuildFolder(tmp_path / "builds", limit=0.2).make("thing.txt", command, [], "a thing")
    time.sleep(1.5)
    assert not late.exists()


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    build_tools.compiler.cache_clear()
    with pytest.raises(PeerUnavailableError, match=r"g\+\+ is not installed"):
        PinocchioCpp(BuildFolder(tmp_path)).prepare(PUMA, "inverse_dynamics", random_states(PUMA, 2))
    build_tools.compiler.cache_clear()
    with pytest.raises(PeerUnavailableError, match="no-such-package is not installed"):
        build_tools.package_version("no-such-package")
    with pytest.raises(PeerUnavailableError, match="no-such-package is not installed"):
        build_tools.package_folder("no-such-package")
    with pytest.raises(PeerUnavailableError, match=r"no/such\.hpp is nowhere"):
        build_tools.headers("no-such-package", "no/such.hpp")


@pytest.mark.parametrize(
    ("robot", "quantity"),
    [*(("swimmer", quantity) for quantity in OURS), ("puma", "inverse_dynamics"), ("rope", "forward_dynamics")],
)
@pytest.mark.parametrize("make", [CasadiC, CasadiPackets, MujocoC], ids=lambda kind: kind.name)
def test_compiled_peers_agree_with_appell_or_refuse_by_name(make, robot, quantity, floating, rope, builds, program):
    subject = {"swimmer": floating, "puma": PUMA, "rope": rope}[robot]
    peer, states = make(builds), random_states(subject, 5)  # not a multiple of any register
    program("gcc"), program("g++")
    if make is MujocoC and quantity not in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        with pytest.raises(PeerUnavailableError, match="MuJoCo has no exact"):
            peer.prepare(subject, quantity, states)
        return
    prepared = peer.prepare(subject, quantity, states)
    prepared.run()
    assert disagreement(expected(subject, quantity, states), prepared.results()) < 1e-10


@pytest.mark.parametrize("quantity", OURS)
def test_pinocchio_from_python_takes_the_place_of_what_is_not_built(quantity, floating):
    states = random_states(floating, 3)
    prepared = PinocchioPython(Absent()).prepare(floating, quantity, states)
    prepared.run()
    assert disagreement(expected(floating, quantity, states), prepared.results()) < 1e-10
    with pytest.raises(PeerUnavailableError, match="Here is there"):
        PinocchioPython(Here()).prepare(floating, "inverse_dynamics", states)


def expected(subject, quantity, states):
    function = subject.dynamics.regressor if quantity == "regressor" else OURS[quantity](subject.dynamics)
    found = function(*(states[name] for name in ARGUMENTS[quantity]))
    return found if isinstance(found, tuple) else (found,)


@pytest.fixture(scope="module")
def builds(tmp_path_factory) -> BuildFolder:
    return BuildFolder(tmp_path_factory.mktemp("peers"))


def test_joints_that_a_driver_does_not_make_are_named():
    planar = Subject("planar", "puma", base="planar")
    with pytest.raises(PeerUnavailableError, match="Pinocchio's JointModelPlanar"):
        model_text(planar.twin)
    with pytest.raises(PeerUnavailableError, match="is planar, which the driver of MuJoCo does not make"):
        mjcf(planar.robot)


# ---- the table


def test_results_survive_the_disk_and_the_aim_depends_on_the_registers(tmp_path):
    row = PeerRow("talos", "forward_dynamics", 256, 8, 5)
    kept = standing(won(), won(row, refusals={"Absent": "it is not there."}))
    kept.save(tmp_path / "peers.json")
    assert PeerReport.read(tmp_path / "peers.json") == kept
    assert [kept.aim(contest) for contest in kept.contests] == [10, 5]
    assert standing(won(row), doubles=8).aim(won(row)) == 8
    content = json.loads((tmp_path / "peers.json").read_text())
    assert content["contests"][0]["ratio"] == pytest.approx(20.0)
    with pytest.raises(DescriptionError, match="no results of appell bench --peers"):
        PeerReport.read(tmp_path / "nothing.json")


def test_times_are_scaled_to_the_fastest_anchor_and_fractions_are_of_the_peak():
    slow = won(anchor=Timing(2e-9, 2e-9), row=replace(QUICK, quantity="mass_matrix"))
    both = standing(won(), slow)
    assert both.seconds(both.contests[0], both.contests[0].ours) == pytest.approx(1e-9)
    assert both.seconds(slow, slow.ours) == pytest.approx(0.5e-9)
    assert won().fraction == pytest.approx(40 / 4 * 1e-10 / 1e-9)
    assert won(replace(QUICK, one_call=True)).fraction is None


def test_the_verdict_names_what_was_missed_and_the_table_what_could_not_be_built():
    missed = won(peers={"Here": Timing(5e-9, 5e-9)}, refusals={"Absent": "it is not there."}, multiplications=20)
    told = standing(missed)
    assert told.verdict() == "0 of 2 aims met. Missed: puma/inverse_dynamics, puma/inverse_dynamics (of the peak)."
    assert told.refusals() == ["Absent: it is not there. (puma/inverse_dynamics)"]
    assert standing(won()).verdict() == "2 of 2 aims met."
    assert "| puma inverse dynamics | 20 ns | 1 ns | 20x | ≥ 10x | 100% ≥ 60% |" in standing(won()).markdown()
    assert standing(won(peers={})).verdict() == "No peer could be built, so there is nothing to compare with."


def test_a_match_tells_what_it_was_played_with():
    played = play([QUICK], [Here(), Absent()], 1, lambda title: none, quick=True)
    assert played.peers["Here"] == {"version": "1", "flags": "none"}
    assert played.machine["doubles"] in (2, 4, 8)
    assert "registers of" in played.circumstances
    assert len(peers_of(BuildFolder(Path("unused")))) == 5


def test_the_command_refuses_options_that_say_nothing_about_its_rows():
    result = CliRunner().invoke(app, ["bench", "--peers", "--batch", "3"], env={"COLUMNS": "160"})
    assert result.exit_code != 0
    assert "--batch does not go with --peers" in result.output


def test_rows_have_a_function_of_ours():
    assert {row.quantity for row in ROWS} == set(OURS) == set(ARGUMENTS)
    assert isinstance(ap.Dynamics(ap.load("puma")).base_regressor, Function)
