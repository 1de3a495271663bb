"""Motions of random robots in front of random walls, checked by physical laws.

energy           of a passive system never increases; a constant force on one-axis joints has a potential
penetration      no point is deeper in a wall than the tolerance, at the rows and, except during time stepping, between
complementarity  at an impact, impulses push outward, friction is within its cone, and their points are in contact
the end          every run ends with a status, and its record is finite and ordered by time
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.errors import ArgumentError
from appell.motion.event import Event
from appell.motion.record import Record
from appell.simulation import Contact, Sampled, Solver, Status, simulate
from appell.simulation.options import IMPACT_LAWS
from appell_lab.fuzz.contact_scenes import SCENES, ContactScene, contact_scene
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.references.peer_tree import pinocchio

ENERGY_TOLERANCE = 1e-6  # energy that a run may gain, relative to its largest energy, or J if that is less than 1 J
SAMPLES_BETWEEN_ROWS = 60  # additional times at which the penetration is computed


class Motions(Target):
    """Random motions with walls, friction, torques and stops."""

    name = "motions"
    about = "simulations with random walls, friction, torques and stops, checked by energy, penetration and impulses"
    seconds = 60.0
    megabytes = 2000
    share = 2.0

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 4])
        scene = contact_scene(int(rng.integers(SCENES)))
        q0, nv = scene.start(rng), scene.robot.nv
        torque = str(rng.choice(["none", "none", "constant", "law", "sampled"]))
        return {
            "scene": scene.number,
            "q0": None if q0 is None else q0.tolist(),
            "v0": (rng.normal(size=nv) * float(rng.choice([0.0, 1.0, 1.0, 5.0]))).tolist(),
            "restitution": float((0.0, 0.5, 1.0, rng.uniform(0, 1))[rng.integers(4)]),
            "friction": float((0.0, 0.0, rng.uniform(0, 0.8), rng.uniform(0.8, 3.0))[rng.integers(4)]),
            "torque": torque,
            "push": (rng.normal(size=nv) * 3.0).tolist(),
            "stops": float(rng.uniform(0, 1)) if scene.has_stops and rng.random() < 0.4 else None,
            "during": None if rng.random() < 0.9 else [0.0, 0.15],
            "tolerance": float(rng.choice([1e-7, 1e-7, 1e-7, 1e-9, 1e-5])),
            "method": "DOP853" if rng.random() < 0.9 else str(rng.choice(["RK45", "RK23", "Radau"])),
            "until": 0.3,
            "impact_law": str(rng.choice(IMPACT_LAWS)),
        }

    def check(self, case: Case) -> Verdict:
        if case["q0"] is None:
            return Verdict(counts={"no start outside the wall": 1})
        scene = contact_scene(case["scene"])
        contact = Contact(scene.points, scene.surface, case["restitution"], case["friction"], case["during"])
        settings = {name: case[name] for name in ("until", "stops", "impact_law")}
        solver = Solver(case["method"], tolerance=case["tolerance"])
        q0, v0 = np.array(case["q0"]), np.array(case["v0"])
        try:
            record = simulate(scene.dynamics, q0, v0, torque=_torque(case), contacts=contact, solver=solver, **settings)
        except ArgumentError as error:
            if "fixed to the world" in str(error):
                return Verdict(counts={"wall cannot be reached": 1})
            raise
        return verdict_on(scene, case, record)

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


def verdict_on(scene: ContactScene, case: Case, record: Record) -> Verdict:
    """Check a record of a motion."""
    counts = {f"ended {record.status}": 1, "impacts": len(record.impacts), f"before a {scene.wall['kind']}": 1}
    counts["by time stepping"] = int(any(event.kind == "time stepping" for event in record.events))
    if record.status not in Status.__members__:
        return Verdict(f"a run ended with status {record.status!r}", "status")
    if not np.isfinite(record.data).all():
        return Verdict("a record contains numbers that are not finite", "not finite")
    if (np.diff(record.t) < 0.0).any():
        return Verdict("the times of a record decrease", "order of time")
    figures = {"penetration over the tolerance": _penetration(scene, case, record) / case["tolerance"]}
    passive = case["torque"] == "none" or (case["torque"] == "constant" and scene.is_flat)
    if passive:
        figures["energy gained over the bound"] = _energy_gain(case, record) / ENERGY_TOLERANCE
    for name, value in figures.items():
        if not value <= 1.0 + 1e-6:
            return Verdict(f"{name}: {value:.6g}", name.split()[0], figures, counts)
    for event in record.impacts:
        if problem := _impact_problem(scene, case, record, event):
            return Verdict(f"{problem} at t = {event.time:.9g} s", problem, figures, counts)
    return Verdict(figures=figures, counts=counts)


def _energy_gain(case: Case, record: Record) -> float:
    energy = record.energy
    size = max(1.0, float(np.abs(energy).max()))
    if case["torque"] == "constant":
        work = record.q @ np.array(case["push"])
        energy, size = energy - work, max(size, float(np.abs(work).max()))
    latest = np.maximum.accumulate(energy[::-1])[::-1]
    return float((latest - energy).max()) / size


def _penetration(scene: ContactScene, case: Case, record: Record) -> float:
    """Return the largest penetration while the wall was active, in m; also between rows except in time stepping."""
    t, q = record.t, record.q
    if record.between is not None and len(record.between) and t[-1] > t[0]:
        between = np.linspace(t[0], t[-1], SAMPLES_BETWEEN_ROWS)
        between = between[~_is_time_stepping(record, between)]
        t, q = np.concatenate([t, between]), np.concatenate([q, record(between)[0]])
    if case["during"] is not None:
        active = (t > case["during"][0]) & (t < case["during"][1])
        q = q[active]
    return max((-min(scene.distances(x)[name] for name in scene.points) for x in q), default=0.0)


def _is_time_stepping(record: Record, t: np.ndarray) -> np.ndarray:
    """Return which times lie in phases of time stepping, where rows are joined by lines that may cut walls."""
    changes = [event for event in record.events if event.kind in ("time stepping", "event driven")]
    last = np.searchsorted([event.time for event in changes], t, side="right") - 1
    return np.array([k >= 0 and changes[k].kind == "time stepping" for k in last], bool)


def _impact_problem(scene: ContactScene, case: Case, record: Record, event: Event) -> str:
    if (event.impulses < -1e-9 * max(1.0, np.abs(event.impulses).max(initial=0.0))).any():
        return "a negative impulse"
    walls = np.array(event.surfaces) >= 0
    for impulse, tangential in zip(event.impulses[walls[: len(event.impulses)]], event.frictions, strict=False):
        if np.linalg.norm(tangential) > case["friction"] * abs(impulse) * (1 + 1e-6) + 1e-12:
            return "friction outside its cone"
    if record.between is None or not len(record.between):
        return ""
    q = record(min(max(event.time, record.between.span[0]), record.between.span[1]))[0]
    distances = scene.distances(q)
    for name, wall in zip(event.points, event.surfaces, strict=False):
        if wall >= 0 and abs(distances[name]) > 2.0 * case["tolerance"]:
            return "an impulse on a point without contact"
    return ""
