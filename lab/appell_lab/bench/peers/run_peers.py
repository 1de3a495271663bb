"""Measure all requested rows against all peers, on one core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from appell.compile.native.machine import host
from appell.errors import ArgumentError, unknown_name
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.peers.builds import BuildFolder
from appell_lab.bench.peers.casadi_c import CasadiC, CasadiPackets
from appell_lab.bench.peers.comparison import compare
from appell_lab.bench.peers.mujoco_c import MujocoC
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError
from appell_lab.bench.peers.peer_report import PeerReport
from appell_lab.bench.peers.pinocchio_cpp import PinocchioCpp
from appell_lab.bench.peers.pinocchio_python import PinocchioPython
from appell_lab.bench.peers.quantities import ROWS, PeerRow
from appell_lab.bench.subject import Subject, find, random_states


def peers_of(builds: BuildFolder) -> list[Peer]:
    """Return all peers."""
    pinocchio = PinocchioCpp(builds)
    return [CasadiC(builds), pinocchio, PinocchioPython(pinocchio), MujocoC(builds), CasadiPackets(builds)]


def chosen_rows(robots: Sequence[str]) -> list[PeerRow]:
    """Return the rows of the given robots; all rows if none is given."""
    known = list(dict.fromkeys(row.robot for row in ROWS))
    for robot in robots:
        if robot not in known:
            raise ArgumentError(unknown_name("robot", robot, known, "the table of peers"))
    return [row for row in ROWS if not robots or row.robot in robots]


def build(rows: Sequence[PeerRow], peers: Sequence[Peer]) -> None:
    """Build everything that is timed, before the process is pinned to one core and before the first measurement."""
    subjects = {row.robot: find(row.robot) for row in rows}
    for robot, quantity in dict.fromkeys((row.robot, row.quantity) for row in rows):
        for peer in peers:
            with suppress(PeerUnavailableError):
                peer.prepare(subjects[robot], quantity, random_states(subjects[robot], 1))


def run_peers(
    rows: Sequence[PeerRow],
    peers: Sequence[Peer],
    turns: int,
    watch: Callable[[str], Callable[[], object]],
    quick: bool,
) -> PeerReport:
    """Measure every row.

    Parameters
    ----------
    rows : rows of the table
    peers : programs to compare with
    turns : number of timed repetitions; the best counts
    watch : called with the title of a row; returns the function that is called after every repetition
    quick : whether this is a quick run, which is not to be published
    """
    subjects: dict[str, Subject] = {row.robot: find(row.robot) for row in rows}
    comparisons = []
    with one_core() as core:
        for row in rows:
            comparisons.append(compare(row, subjects[row.robot], peers, turns, watch(f"{row.robot}, {row.title}")))
    machine_data = machine() | {"core": core, "doubles": host().register // 8}
    described = {peer.name: _version_and_flags(peer) for peer in peers}
    return PeerReport(
        tuple(comparisons), machine_data, versions(), described, datetime.now(UTC).date().isoformat(), quick
    )


def _version_and_flags(peer: Peer) -> dict[str, str]:
    try:
        return {"version": peer.version(), "flags": peer.flags()}
    except PeerUnavailableError as reason:
        return {"unable": str(reason)}
