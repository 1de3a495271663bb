"""Random drops of shapes on a floor and on each other: python -m appell_lab.campaigns.body_drops [FIRST [COUNT]].

A scene is one to three free bodies (spheres, capsules, boxes; one body also a cylinder) with random sizes, restitution
and friction. Each is dropped from 50 random states. Every run must reach its end; its energy must not rise, and no
pair may overlap by more than the contact tolerance. Scenes FIRST to FIRST + COUNT - 1 are added to the results, each
with the commit that was run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import appell as ap

SEED = 34
SCENES, STARTS = 40, 50
UNTIL_S = 0.8
SAMPLES = 400  # times at which overlaps are measured, in addition to the rows
TOLERANCE_M = 1e-7  # of contacts, the default of `Solver`
MAX_RISE = 1e-8  # of the energy between two rows, relative to the energy of the start: rtol of the integrator
SHAPES = ("sphere", "capsule", "box", "cylinder")
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "body-drops.json"


def scene(index: int) -> tuple[ap.Robot, ap.BodyContact, list[str]]:
    """Return the robot of a scene, its contacts and the kinds of its shapes."""
    rng = np.random.default_rng([SEED, index])
    build = ap.Builder(f"scene {index}", root=None)
    count = 1 + index % 3
    kinds = [SHAPES[rng.integers(4 if count == 1 else 3)] for _ in range(count)]
    for k, kind in enumerate(kinds):
        s = rng.uniform(0.08, 0.25, 3)
        sizes = {"sphere": [s[0] / 2], "capsule": [s[0] / 3, s[1]], "box": list(s), "cylinder": [s[0] / 2, s[1]]}
        mass, moments = float(rng.uniform(0.5, 2.0)), rng.uniform(0.8, 1.2, 3) * np.mean(s**2) / 6
        build.link(f"body{k}", ap.Floating(), mass=mass, inertia=tuple(mass * moments))
        build.collision(f"body{k}", kind, tuple(map(float, sizes[kind])))
    robot = build.build().with_collisions(ap.Collision(None, "plane", name="floor"))
    e, mu = (float(rng.choice([0.0, rng.uniform(0.0, high)])) for high in (0.8, 1.0))
    return robot, ap.BodyContact(restitution=e, friction=mu), kinds


def start(robot: ap.Robot, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a random state above the floor in which no bodies overlap."""
    q, v = [], []
    for k in range(len(robot.links)):
        turn = Rotation.random(random_state=rng).as_quat()
        q += [*rng.uniform(-0.1, 0.1, 2), 0.3 + 0.45 * k + 0.05 * rng.random(), *turn]
        v += [*rng.normal(size=3) * 0.5, *rng.normal(size=3) * 3.0]
    return np.array(q), np.array(v)


def stepping_spans(record: ap.Record) -> list[tuple[float, float]]:
    """Return the time spans of time stepping."""
    starts = [event.time for event in record.events if event.kind == "time stepping"]
    ends = [event.time for event in record.events if event.kind == "event driven"]
    return list(zip(starts, [*ends, float(record.t[-1])], strict=False))


def drop(robot: ap.Robot, contacts: ap.BodyContact, distances: ap.Function, rng: np.random.Generator) -> dict[str, Any]:
    """Return what one drop shows: status, largest overlap (m), relative rise of the energy, and processor time (s)."""
    q, v = start(robot, rng)
    begun = time.process_time()
    record = ap.simulate(robot, q, v, until=UNTIL_S, contacts=contacts)
    spent = time.process_time() - begun
    times = np.linspace(0.0, record.t[-1], SAMPLES)
    for span in stepping_spans(record):  # rows of time stepping are joined by straight lines, which cut corners
        times = times[(times < span[0]) | (times > span[1])]
    lowest = float(np.asarray(distances(np.concatenate([record(times)[0], record.q]))).min())
    kinds = [event.kind for event in record.events]
    return {
        "status": record.status,
        "overlap": max(0.0, -lowest),
        "rise": max(0.0, float(np.diff(record.energy).max())) / abs(float(record.energy[0])),
        "time": spent,
        "impacts": kinds.count("impact"),
        "stepping": kinds.count("time stepping"),
    }


@cache
def commit() -> str:
    """Return the commit of the code that is run, with "-dirty" if files have changed since."""
    git = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--abbrev=12", "--dirty"]
    return subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()


def run_scene(index: int, starts: int = STARTS) -> dict[str, Any]:
    """Return the summary of all drops of a scene."""
    robot, contacts, kinds = scene(index)
    distances = ap.Dynamics(robot).distances(witnesses=False, gradient=False)
    rng = np.random.default_rng([SEED, index, 1])
    drops = [drop(robot, contacts, distances, rng) for _ in range(starts)]
    return {
        "shapes": kinds,
        "restitution": contacts.restitution,
        "friction": contacts.friction,
        "drops": len(drops),
        "finished": sum(each["status"] == "FINISHED" for each in drops),
        "overlap_max_m": max(each["overlap"] for each in drops),
        "overlapping": sum(each["overlap"] > TOLERANCE_M for each in drops),
        "rise_max": max(each["rise"] for each in drops),
        "rising": sum(each["rise"] > MAX_RISE for each in drops),
        "violations": [k for k, x in enumerate(drops) if x["overlap"] > TOLERANCE_M or x["rise"] > MAX_RISE],
        "impacts": sum(each["impacts"] for each in drops),
        "with_time_stepping": sum(each["stepping"] > 0 for each in drops),
        "time_mean_s": float(np.mean([each["time"] for each in drops])),
        "time_max_s": max(each["time"] for each in drops),
    }


def main() -> None:
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else SCENES - first
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"scenes": {}}
    for index in range(first, first + count):
        results["scenes"][str(index)] = {"commit": commit()} | run_scene(index)
        scenes = list(results["scenes"].values())
        totals = {key: sum(each[key] for each in scenes) for key in ("drops", "finished", "overlapping", "rising")}
        totals |= {key: max(each[key] for each in scenes) for key in ("overlap_max_m", "rise_max", "time_max_s")}
        limits = {"until_s": UNTIL_S, "tolerance_m": TOLERANCE_M, "max_rise": MAX_RISE}
        results = {"seed": SEED, **limits, **totals, "scenes": results["scenes"]}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(index, results["scenes"][str(index)], flush=True)


if __name__ == "__main__":
    main()
