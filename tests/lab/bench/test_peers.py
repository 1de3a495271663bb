"""Peers: reasons for missing ones, agreement before timing, and tables generated from the JSON.

Builds are tested if a compiler is installed; otherwise the message about the missing compiler is tested.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
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
from appell_lab.bench.multiplication_count import multiplications, multiplications_per_angle
from appell_lab.bench.peers import builds as build_tools
from appell_lab.bench.peers.builds import TARGET, BuildFolder
from appell_lab.bench.peers.casadi_c import CasadiC, CasadiPackets
from appell_lab.bench.peers.comparison import Comparison, compare, largest_difference
from appell_lab.bench.peers.machine_speed import anchor, peak
from appell_lab.bench.peers.mujoco_c import MujocoC
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError, Prepared
from appell_lab.bench.peers.peer_report import PeerReport
from appell_lab.bench.peers.pinocchio_cpp import PinocchioCpp
from appell_lab.bench.peers.pinocchio_python import PinocchioPython
from appell_lab.bench.peers.pinocchio_text import model_text
from appell_lab.bench.peers.quantities import ARGUMENTS, OURS, ROWS, PeerRow
from appell_lab.bench.peers.run_peers import chosen_rows, peers_of, run_peers
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
    """A free base with a joint about an oblique axis and a prismatic joint."""
    path = tmp_path_factory.mktemp("robot") / "swimmer.urdf"
    path.write_text(f"<robot name='swimmer'>{LINKS}{JOINTS}</robot>")
    return Subject("swimmer", str(path), base="floating")


@pytest.fixture(scope="module")
def rope(tmp_path_factory) -> Subject:
    """More joints than the limit for a factored mass matrix."""
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


class Available(Peer):
    """A peer that is always available: the equations evaluated in Python, with an optional error."""

    name = "Available"

    def __init__(self, error: float = 0.0):
        self.error = error

    def version(self) -> str:
        return "1"

    def flags(self) -> str:
        return "none"

    def prepare(self, subject, quantity, states) -> Prepared:
        given = [states[name] for name in ARGUMENTS[quantity]]
        forces = subject.dynamics.equations.forces
        results = np.array([forces(*map(np.ndarray.tolist, sample), {}) for sample in zip(*given, strict=True)])
        return Prepared(lambda: None, lambda: (results * (1.0 + self.error),))


class Absent(Available):
    name = "Absent"

    def prepare(self, subject, quantity, states) -> Prepared:
        raise PeerUnavailableError("it is not installed.")


def do_nothing() -> None:
    return None


def measured(row: PeerRow = QUICK, **changes) -> Comparison:
    comparison = Comparison(
        row, TIMING, {"Available": Timing(2e-8, 3e-8)}, (), {}, {"Available": 0.0}, TIMING, Timing(1e-10, 1e-10), 40, 4
    )
    return replace(comparison, **changes)


def report(*comparisons: Comparison, doubles: int = 4) -> PeerReport:
    machine = {"cpu": "abacus", "kind": "wood", "system": "none", "python": "3", "doubles": doubles}
    peers = {"Available": {"version": "1", "flags": "none"}}
    return PeerReport(comparisons, machine, {"numpy": "2", "llvmlite": "1"}, peers, "2000-01-01")


# ---- comparisons


def test_a_peer_with_different_results_is_an_error_and_a_missing_peer_gives_a_reason():
    comparison = compare(QUICK, PUMA, [Available(), Absent()], 1, do_nothing)
    assert comparison.refusals == {"Absent": "it is not installed."}
    assert list(comparison.peers) == ["Available"]
    assert comparison.errors["Available"] < 1e-12
    with pytest.raises(
        AppellError, match=r"Available differs from appell by 1\.0e-06 in inverse dynamics of robot 'puma'"
    ):
        compare(QUICK, PUMA, [Available(error=1e-6)], 1, do_nothing)


def test_a_peer_that_is_not_counted_is_never_the_best():
    peers = {"slow": Timing(4e-9, 4e-9), "packets": TIMING}
    comparison = measured(peers=peers, shown=("packets",))
    assert (comparison.best, comparison.ratio) == ("slow", 4.0)
    assert measured(peers={"packets": TIMING}, shown=("packets",)).ratio is None


def test_differences_are_relative_to_the_largest_entry_of_each_sample():
    ours = np.array([[1.0, 100.0], [1e-6, 0.0]])
    for change, error in (([[1e-3, 0.0], [0.0, 0.0]], 1e-5), ([[0.0, 0.0], [0.0, 1e-7]], 0.1)):
        assert largest_difference([ours], [ours + np.array(change)]) == pytest.approx(error)


def test_rows_are_selected_by_robot_and_unknown_robots_are_errors():
    assert {row.robot for row in chosen_rows([])} == {"puma", "talos"}
    assert all(row.robot == "talos" for row in chosen_rows(["talos"]))
    with pytest.raises(ArgumentError, match="Did you mean 'puma'"):
        chosen_rows(["pumma"])


# ---- the machine


def test_the_reference_loop_is_slower_per_operation_than_the_peak_loop():
    loops = {"anchor": anchor(), "peak": peak(4)}
    timed = time_in_turns({name: TimedStatement("f()", {"f": loop.run}) for name, loop in loops.items()}, 3)
    step = {name: timed[name].best / loop.steps for name, loop in loops.items()}
    assert step["peak"] < step["anchor"]  # a register takes less time than the latency of one operation


def test_multiplications_of_sines_are_counted():
    f = Function.of("f", {"x": 3}, lambda x: {"y": [x[0] * x[1] + x[2], x[0] * x[2], x[1] / x[2], x[0] + x[1]]})
    assert multiplications(f.fused) == 2
    from appell.algebra.scalar import cos, sin

    g = Function.of("g", {"x": 2}, lambda x: {"y": [sin(x[0]), cos(x[0]), sin(x[1])]})
    assert multiplications(g.fused) == 2 * multiplications_per_angle()


# ---- builds


def test_a_build_is_made_once_and_cached_by_content(tmp_path):
    messages: list[str] = []
    source = tmp_path / "source"
    source.write_text("one")
    folder = BuildFolder(tmp_path / "builds", say=messages.append)
    command = [sys.executable, "-c", "import shutil, sys; shutil.copy(*sys.argv[1:])", str(source), TARGET]
    first = folder.make("copy.txt", command, [source], "a copy")
    assert first.read_text() == "one"
    assert folder.make("copy.txt", command, [source], "a copy") == first
    assert len(messages) == 2  # building and built, once
    source.write_text("two")
    assert folder.make("copy.txt", command, [source], "a copy").read_text() == "two"


@pytest.mark.parametrize(
    ("program", "limit", "reason"),
    [
        ("import time; time.sleep(60)", 0.2, "was stopped after 0 s."),
        ("import sys; print('x'); sys.exit('error: no such thing')", 60.0, "failed: error: no such thing"),
    ],
)
def test_failures_of_builds_are_cached(tmp_path, program, limit, reason):
    folder, name = BuildFolder(tmp_path, limit=limit), Path(sys.executable).name
    for _ in range(2):
        with pytest.raises(PeerUnavailableError, match=re.escape(f"a thing: {name} {reason}")):
            folder.make("thing.txt", [sys.executable, "-c", program], [], "a thing")
        folder = BuildFolder(tmp_path)  # the failure is cached


@pytest.mark.skipif(os.name == "nt", reason="groups of processes are POSIX")
def test_child_processes_of_a_build_end_with_it(tmp_path):
    marker = tmp_path / "late"
    command = ["sh", "-c", f"(exec >/dev/null 2>&1; sleep 1; touch {marker}) & wait"]
    with pytest.raises(PeerUnavailableError, match="was stopped after"):
        BuildFolder(tmp_path / "builds", limit=0.2).make("thing.txt", command, [], "a thing")
    time.sleep(1.5)
    assert not marker.exists()


def test_missing_programs_are_named_errors(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    build_tools.compiler.cache_clear()
    with pytest.raises(PeerUnavailableError, match=r"g\+\+ is not installed"):
        PinocchioCpp(BuildFolder(tmp_path)).prepare(PUMA, "inverse_dynamics", random_states(PUMA, 2))
    build_tools.compiler.cache_clear()
    with pytest.raises(PeerUnavailableError, match="no-such-package is not installed"):
        build_tools.package_version("no-such-package")
    with pytest.raises(PeerUnavailableError, match="no-such-package is not installed"):
        build_tools.package_folder("no-such-package")
    with pytest.raises(PeerUnavailableError, match=r"no/such\.hpp was not found"):
        build_tools.headers("no-such-package", "no/such.hpp")


@pytest.mark.parametrize(
    ("robot", "quantity"),
    [*(("swimmer", quantity) for quantity in OURS), ("puma", "inverse_dynamics"), ("rope", "forward_dynamics")],
)
@pytest.mark.parametrize("make", [CasadiC, CasadiPackets, MujocoC], ids=lambda kind: kind.name)
def test_compiled_peers_agree_with_appell_or_are_unavailable(make, robot, quantity, floating, rope, builds, program):
    subject = {"swimmer": floating, "puma": PUMA, "rope": rope}[robot]
    peer, states = make(builds), random_states(subject, 5)  # not a multiple of any register width
    program("gcc"), program("g++")
    if make is MujocoC and quantity not in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        with pytest.raises(PeerUnavailableError, match="MuJoCo has no exact"):
            peer.prepare(subject, quantity, states)
        return
    prepared = peer.prepare(subject, quantity, states)
    prepared.run()
    assert largest_difference(expected(subject, quantity, states), prepared.results()) < 1e-10


@pytest.mark.parametrize("quantity", OURS)
def test_the_python_loop_of_pinocchio_replaces_a_missing_build(quantity, floating):
    states = random_states(floating, 3)
    prepared = PinocchioPython(Absent()).prepare(floating, quantity, states)
    prepared.run()
    assert largest_difference(expected(floating, quantity, states), prepared.results()) < 1e-10
    with pytest.raises(PeerUnavailableError, match="Available is available"):
        PinocchioPython(Available()).prepare(floating, "inverse_dynamics", states)


def expected(subject, quantity, states):
    function = subject.dynamics.regressor if quantity == "regressor" else OURS[quantity](subject.dynamics)
    results = function(*(states[name] for name in ARGUMENTS[quantity]))
    return results if isinstance(results, tuple) else (results,)


@pytest.fixture(scope="module")
def builds(tmp_path_factory) -> BuildFolder:
    return BuildFolder(tmp_path_factory.mktemp("peers"))


def test_unsupported_joints_are_named_errors():
    planar = Subject("planar", "puma", base="planar")
    with pytest.raises(PeerUnavailableError, match="Pinocchio's JointModelPlanar"):
        model_text(planar.twin)
    with pytest.raises(PeerUnavailableError, match="is planar, which the MuJoCo driver does not support"):
        mjcf(planar.robot)


# ---- the table


def test_results_survive_a_round_trip_and_the_aim_depends_on_the_registers(tmp_path):
    row = PeerRow("talos", "forward_dynamics", 256, 8, 5)
    saved = report(measured(), measured(row, refusals={"Absent": "it is not installed."}))
    saved.save(tmp_path / "peers.json")
    assert PeerReport.read(tmp_path / "peers.json") == saved
    assert [saved.aim(comparison) for comparison in saved.comparisons] == [10, 5]
    assert report(measured(row), doubles=8).aim(measured(row)) == 8
    content = json.loads((tmp_path / "peers.json").read_text())
    assert content["contests"][0]["ratio"] == pytest.approx(20.0)
    with pytest.raises(DescriptionError, match="does not contain results of appell bench --peers"):
        PeerReport.read(tmp_path / "nothing.json")


def test_times_are_scaled_to_the_fastest_reference_loop():
    slow = measured(anchor=Timing(2e-9, 2e-9), row=replace(QUICK, quantity="mass_matrix"))
    both = report(measured(), slow)
    assert both.seconds(both.comparisons[0], both.comparisons[0].ours) == pytest.approx(1e-9)
    assert both.seconds(slow, slow.ours) == pytest.approx(0.5e-9)
    assert measured().fraction == pytest.approx(40 / 4 * 1e-10 / 1e-9)
    assert measured(replace(QUICK, one_call=True)).fraction is None


def test_the_verdict_lists_missed_aims_and_unavailable_peers():
    missed = measured(
        peers={"Available": Timing(5e-9, 5e-9)}, refusals={"Absent": "it is not installed."}, multiplications=20
    )
    peer_report = report(missed)
    assert (
        peer_report.verdict() == "0 of 2 aims met. Missed: puma/inverse_dynamics, puma/inverse_dynamics (of the peak)."
    )
    assert peer_report.refusals() == ["Absent: it is not installed. (puma/inverse_dynamics)"]
    assert report(measured()).verdict() == "2 of 2 aims met."
    assert "| puma inverse dynamics | 20 ns | 1 ns | 20x | ≥ 10x | 100% ≥ 60% |" in report(measured()).markdown()
    assert report(measured(peers={})).verdict() == "No peer could be built, so there is nothing to compare with."


def test_a_report_contains_machine_and_versions():
    result = run_peers([QUICK], [Available(), Absent()], 1, lambda title: do_nothing, quick=True)
    assert result.peers["Available"] == {"version": "1", "flags": "none"}
    assert result.machine["doubles"] in (2, 4, 8)
    assert "registers of" in result.circumstances
    assert len(peers_of(BuildFolder(Path("unused")))) == 5


def test_options_that_do_not_apply_to_peers_are_errors():
    result = CliRunner().invoke(app, ["bench", "--peers", "--batch", "3"], env={"COLUMNS": "160"})
    assert result.exit_code != 0
    assert "--batch has no effect with --peers" in result.output


def test_every_row_has_a_function_of_appell():
    assert {row.quantity for row in ROWS} == set(OURS) == set(ARGUMENTS)
    assert isinstance(ap.Dynamics(ap.load("puma")).base_regressor, Function)
