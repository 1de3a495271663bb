"""The whole match: all rows that are asked for, against all peers, on one core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from appell.compile.native.machine import host
from appell.errors import ArgumentError, unknown_name
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.peers.casadi_c import CasadiC, CasadiPackets
from appell_lab.bench.peers.comparison import contest
from appell_lab.bench.peers.mujoco_c import MujocoC
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError
from appell_lab.bench.peers.pinocchio_cpp import PinocchioCpp
from appell_lab.bench.peers.pinocchio_python import PinocchioPython
from appell_lab.bench.peers.quantities import ROWS, PeerRow
from appell_lab.bench.peers.peer_report import PeerReport
from appell_lab.bench.peers.builds import BuildFolder
from appell_lab.bench.subject import Subject, find, random_states


def peers_of(workshop: BuildFolder) -> list[Peer]:
    """All there are."""
    pinocchio = PinocchioCpp(workshop)
    return [CasadiC(workshop), pinocchio, PinocchioPython(pinocchio), MujocoC(workshop), CasadiPackets(workshop)]


def chosen_rows(robots: Sequence[str]) -> list[PeerRow]:
    """The rows of these robots, of all if none is named."""
    known = list(dict.fromkeys(row.robot for row in ROWS))
    for robot in robots:
        if robot not in known:
            raise ArgumentError(unknown_name("robot", robot, known, "the table of peers"))
    return [row for row in ROWS if not robots or row.robot in robots]


def build(rows: Sequence[PeerRow], peers: Sequence[Peer]) -> None:
    """Build all that is timed, before the process is tied to one core and before the first figure."""
    subjects = {row.robot: find(row.robot) for row in rows}
    for robot, quantity in dict.fromkeys((row.robot, row.quantity) for row in rows):
        for peer in peers:
            with suppress(PeerUnavailableError):
                peer.prepare(subjects[robot], quantity, random_states(subjects[robot], 1))


def play(
    rows: Sequence[PeerRow],
    peers: Sequence[Peer],
    turns: int,
    watch: Callable[[str], Callable[[], object]],
    quick: bool,
) -> PeerReport:
    """Measure every row; `watch(title)` gives what is to be called after every turn."""
    subjects: dict[str, Subject] = {row.robot: find(row.robot) for row in rows}
    contests = []
    with one_core() as core:
        for row in rows:
            contests.append(contest(row, subjects[row.robot], peers, turns, watch(f"{row.robot}, {row.title}")))
    told = machine() | {"core": core, "doubles": host().register // 8}
    described = {peer.name: _described(peer) for peer in peers}
    return PeerReport(tuple(contests), told, versions(), described, datetime.now(UTC).date().isoformat(), quick)


def _described(peer: Peer) -> dict[str, str]:
    try:
        return {"version": peer.version(), "flags": peer.flags()}
    except PeerUnavailableError as reason:
        return {"unable": str(reason)}
