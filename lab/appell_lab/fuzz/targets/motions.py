"""Motions of random robots before random walls, judged by what no motion does.

energy           of a passive system never grows; a constant force on joints of one axis counts as a weight
penetration      no point is deeper in a wall than the tolerance, at the rows and, but for crowds, between them
complementarity  at an impact every push is outward, friction is within its cone, and who is pushed touches
the end          every run ends, says how, and its record is finite and in the order of time
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.errors import ArgumentError
from appell.motion.event import Event
from appell.motion.record import Record
from appell.simulation import Contact, Sampled, Solver, Status, simulate
from appell_lab.fuzz.arenas import ARENAS, Arena, arena
from appell_lab.fuzz.target import Case, Hunt, Verdict
from appell_lab.judges.peer_tree import pinocchio

GAINED = 1e-6  # of energy that a run may gain, relative to what it has, or J
BETWEEN = 60  # times between the rows at which depth is looked at


class Motions(Hunt):
    """Random motions with walls, friction, torques and stops."""

    name = "motions"
    about = "simulations with random walls, friction, torques and stops, judged by energy, depth and impulses"
    seconds = 60.0
    megabytes = 2000
    share = 2.0

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 4])
        place = arena(int(rng.integers(ARENAS)))
        q0, nv = place.start(rng), place.robot.nv
        torque = str(rng.choice(["none", "none", "constant", "law", "sampled"]))
        return {
            "arena": place.number,
            "q0": None if q0 is None else q0.tolist(),
            "v0": (rng.normal(size=nv) * float(rng.choice([0.0, 1.0, 1.0, 5.0]))).tolist(),
            "restitution": float((0.0, 0.5, 1.0, rng.uniform(0, 1))[rng.integers(4)]),
            "friction": float((0.0, 0.0, rng.uniform(0, 0.8), rng.uniform(0.8, 3.0))[rng.integers(4)]),
            "torque": torque,
            "push": (rng.normal(size=nv) * 3.0).tolist(),
            "stops": float(rng.uniform(0, 1)) if place.has_stops and rng.random() < 0.4 else None,
            "during": None if rng.random() < 0.9 else [0.0, 0.15],
            "tolerance": float(rng.choice([1e-7, 1e-7, 1e-7, 1e-9, 1e-5])),
            "method": "DOP853" if rng.random() < 0.9 else str(rng.choice(["RK45", "RK23", "Radau"])),
            "until": 0.3,
        }

    def check(self, case: Case) -> Verdict:
        if case["q0"] is None:
            return Verdict(counts={"no room before the wall": 1})
        place = arena(case["arena"])
        contact = Contact(place.points, place.surface, case["restitution"], case["friction"], case["during"])
        settings = {name: case[name] for name in ("until", "stops")}
        solver = Solver(case["method"], tolerance=case["tolerance"])
        q0, v0 = np.array(case["q0"]), np.array(case["v0"])
        try:
            record = simulate(place.dynamics, q0, v0, torque=_torque(case), contacts=contact, solver=solver, **settings)
        except ArgumentError as error:
            if "meets no wall" in str(error):
                return Verdict(counts={"nothing to meet": 1})
            raise
        return judge(place, case, record)

    def smaller(self, case: Case) -> Iterator[Case]:
        zeros = [0.0] * len(case["v0"])
        for change in (
            {"v0": zeros},
            {"torque": "none"},
            {"stops": None},
            {"during": None},
            {"friction": 0.0},
            {"restitution": 0.0},
            {"method": "DOP853"},
            {"tolerance": 1e-7},
            {"until": max(case["until"] / 2, 0.01)},
            {"v0": np.round(case["v0"], 2).tolist()},
            {"q0": np.round(case["q0"], 2).tolist()},
        ):
            if not change.items() <= case.items():
                yield case | change


def _torque(case: Case):
    push = np.array(case["push"])
    laws = {"none": None, "constant": push, "law": lambda t, q, v: push * np.sin(20.0 * t) - 0.1 * v}
    if case["torque"] == "sampled":
        return Sampled(lambda t, q, v: push - 0.5 * v, period=7e-3)
    return laws[case["torque"]]


def judge(place: Arena, case: Case, record: Record) -> Verdict:
    """What held and what did not, with the figures."""
    counts = {f"ended {record.status}": 1, "impacts": len(record.impacts), f"before a {place.wall['kind']}": 1}
    counts["by time stepping"] = int(any(event.kind == "time stepping" for event in record.events))
    if record.status not in Status.__members__:
        return Verdict(f"a run ended with status {record.status!r}", "status")
    if not np.isfinite(record.data).all():
        return Verdict("a record holds numbers that are not finite", "not finite")
    if (np.diff(record.t) < 0.0).any():
        return Verdict("a record goes back in time", "order of time")
    figures = {"penetration over the tolerance": _depth(place, case, record) / case["tolerance"]}
    passive = case["torque"] == "none" or (case["torque"] == "constant" and place.is_flat)
    if passive:
        figures["energy gained over the bound"] = _gain(case, record) / GAINED
    for name, value in figures.items():
        if not value <= 1.0 + 1e-6:
            return Verdict(f"{name}: {value:.6g}", name.split()[0], figures, counts)
    for event in record.impacts:
        if problem := _impact_problem(place, case, record, event):
            return Verdict(f"{problem} at t = {event.time:.9g} s", problem, figures, counts)
    return Verdict(figures=figures, counts=counts)


def _gain(case: Case, record: Record) -> float:
    energy = record.energy
    size = max(1.0, float(np.abs(energy).max()))
    if case["torque"] == "constant":
        work = record.q @ np.array(case["push"])
        energy, size = energy - work, max(size, float(np.abs(work).max()))
    latest = np.maximum.accumulate(energy[::-1])[::-1]
    return float((latest - energy).max()) / size


def _depth(place: Arena, case: Case, record: Record) -> float:
    """The deepest that a point was in the wall while it was there; between rows where they are no straight lines."""
    t, q = record.t, record.q
    if record.between is not None and len(record.between) and t[-1] > t[0]:
        more = np.linspace(t[0], t[-1], BETWEEN)
        more = more[~_is_stepped(record, more)]
        t, q = np.concatenate([t, more]), np.concatenate([q, record(more)[0]])
    if case["during"] is not None:
        there = (t > case["during"][0]) & (t < case["during"][1])
        q = q[there]
    return max((-min(place.distances(x)[name] for name in place.points) for x in q), default=0.0)


def _is_stepped(record: Record, t: np.ndarray) -> np.ndarray:
    """Which times lie where events crowd, and rows are joined by straight lines that keep no distance from walls."""
    changes = [event for event in record.events if event.kind in ("time stepping", "event driven")]
    last = np.searchsorted([event.time for event in changes], t, side="right") - 1
    return np.array([k >= 0 and changes[k].kind == "time stepping" for k in last], bool)


def _impact_problem(place: Arena, case: Case, record: Record, event: Event) -> str:
    if (event.impulses < -1e-9 * max(1.0, np.abs(event.impulses).max(initial=0.0))).any():
        return "an impact pulls"
    walls = np.array(event.surfaces) >= 0
    for impulse, sideways in zip(event.impulses[walls[: len(event.impulses)]], event.frictions, strict=False):
        if np.linalg.norm(sideways) > case["friction"] * abs(impulse) * (1 + 1e-6) + 1e-12:
            return "friction leaves its cone"
    if record.between is None or not len(record.between):
        return ""
    q = record(min(max(event.time, record.between.span[0]), record.between.span[1]))[0]
    distances = place.distances(q)
    for name, wall in zip(event.points, event.surfaces, strict=False):
        if wall >= 0 and abs(distances[name]) > 2.0 * case["tolerance"]:
            return "a point is pushed that does not touch"
    return ""
