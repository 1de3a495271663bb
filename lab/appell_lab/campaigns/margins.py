"""Margins of planned motions, judged by Pinocchio and coal on the meshes: python -m appell_lab.campaigns.margins.

Every robot of example-robot-data is planned with the margin 0.02 m by excitation, inverse kinematics, time-optimal
motions and Cartesian lines. Pinocchio reads the collision meshes from the URDF, and coal computes their distances.
Targets and paths are random; of time-optimal motions and lines, those that are refused are counted, and those that are
accepted are judged. The pairs are those that keep a margin and those that must only not touch.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.dynamics.margins import margin_of
from appell.errors import AppellError
from appell_lab.references.oracle import pinocchio

ROBOTS = {  # not used when the rules of margins were chosen, and the frame that moves
    "z1": "gripperStator",
    "so100": "gripper",
    "talos_left_arm": "gripper_left_base_link",
    "tiago_no_hand": "arm_7_link",
    "so101": "gripper_frame_link",
}
MARGIN_M = 0.02
TOLERANCE_M = 1e-6  # of coal
TARGETS, PATHS, ROWS = 200, 20, 201


@dataclass
class Judge:
    """Distances of the collision meshes of a URDF along motions."""

    robot: Any
    path: Path
    folder: Path
    model: Any = field(init=False)
    geometry: Any = field(init=False)
    bodies: dict[str, list[int]] = field(init=False)  # geometry objects by link

    def __post_init__(self) -> None:
        pin = pinocchio()
        self.model = pin.buildModelFromUrdf(str(self.path))
        kind = pin.GeometryType.COLLISION
        self.geometry = pin.buildGeomFromUrdf(self.model, str(self.path), kind, package_dirs=[str(self.folder)])
        self.bodies = {}
        for number, each in enumerate(self.geometry.geometryObjects):
            self.bodies.setdefault(self.model.frames[each.parentFrame].name, []).append(number)

    def short(self, q: np.ndarray, pairs: list[tuple[str, str]], least: np.ndarray) -> float:
        """Return by how much the pairs of links fall short of their least distances along q (rows, nq), in m."""
        pin = pinocchio()
        geometry = self.geometry.copy()
        required: dict[tuple[int, int], float] = {}
        for (one, other), distance in zip(pairs, least, strict=True):
            for pair in product(self.bodies[one], self.bodies[other]):
                required[pair] = min(distance, required.get(pair, np.inf))
        for pair in required:
            geometry.addCollisionPair(pin.CollisionPair(*pair))
        data, results = self.model.createData(), geometry.createData()
        worst = -np.inf
        for row in q:
            theirs = pin.neutral(self.model)
            for joint in self.robot.joint_names:
                k = self.model.joints[self.model.getJointId(joint)]
                angle = row[self.robot.span(self.robot.joint(joint))[0].start]
                theirs[k.idx_q : k.idx_q + k.nq] = [np.cos(angle), np.sin(angle)] if k.nq == 2 else angle
            pin.computeDistances(self.model, data, geometry, results, theirs)
            distances = np.array([each.min_distance for each in results.distanceResults])
            worst = max(worst, float((np.array(list(required.values())) - distances).max()))
        return worst


def planned(name: str) -> dict[str, Any]:
    """Return what was planned for one robot, and by how much the meshes fall short of the margin, in m."""
    path = examples()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot: Any = ap.load(path, mimic=False, physical=False)
    if (srdf := srdf_of(path)) is not None and not robot.ignored_pairs:
        robot = ap.with_srdf(robot, srdf)
    judge = Judge(robot, path, path.parents[4])
    dyn = ap.Dynamics(robot)
    kept = margin_of(dyn, MARGIN_M)
    links = {shape.name: shape.link for shape in robot.collisions}
    pairs = [(links[one], links[other]) for one, other in kept.pairs]
    loose = [(links[each.one], links[each.other]) for each in kept.ignored]
    result: dict[str, Any] = {"pairs": len(pairs), "must not touch": int((kept.least == 0.0).sum()), "left out": loose}

    def judged(q: np.ndarray) -> float:
        return judge.short(q, pairs, kept.least)

    rng = np.random.default_rng(0)
    times = {}
    for margin in (None, MARGIN_M, None, MARGIN_M):  # the second run of each needs no compiler
        start = time.process_time()
        plan = ap.identify.excite(robot, margin=margin, duration=5.0, starts=1, iterations=20, early_stop=False)
        times[margin] = time.process_time() - start
    q = plan.path(np.linspace(0.0, plan.path.duration, ROWS))[0]
    result["excitation"] = {"short, m": judged(q), "s": times[MARGIN_M], "s without margin": times[None]}
    result["excitation"]["touching"] = plan.unchecked
    frame = ROBOTS[name]
    solver = ap.kinematics.inverse.numerical(robot, frame)
    q = np.array([robot.random_configuration(rng) for _ in range(TARGETS)])
    solution = solver(dyn.pose(frame, q), margin=MARGIN_M)
    reached = np.asarray(solution.reached)
    result["inverse kinematics"] = {
        "frame": frame,
        "reached": int(reached.sum()),
        "targets": TARGETS,
        "reachable with margin": int((kept.slack(q).min(axis=1) >= 0.0).sum()),
        "short, m": judged(np.asarray(solution.q)[reached]) if reached.any() else None,
    }
    print(name, result, flush=True)
    result["time-optimal"], result["lines"] = ({"accepted": 0, "refused": 0, "in collision, m": []} for _ in range(2))
    options: dict[str, Any] = {"margin": MARGIN_M, "intervals": 100}
    for _ in range(PATHS):
        points = [robot.random_configuration(rng) for _ in range(3)]
        points = [points[0], *(points[0] + 0.3 * (x - points[0]) for x in points[1:])]
        spline = ap.motion.Spline([0.0, 1.0, 2.0], points, names=robot.coordinate_names)
        count(result["time-optimal"], judge, pairs, kept, partial(ap.motion.time_optimal, spline, robot, **options))
    for _ in range(PATHS):
        first = robot.random_configuration(rng)
        second = first + 0.15 * (robot.random_configuration(rng) - first)
        start, end = dyn.pose(frame, np.array([first, second]))
        line = start[:3, 3], end[:3, 3], [start[:3, :3], end[:3, :3]], 2.0, first
        of_line = partial(ap.motion.CartesianLine, robot, frame, *line, margin=MARGIN_M)
        count(result["lines"], judge, pairs, kept, of_line)
    return result


def count(result: dict[str, Any], judge: Judge, pairs: list, kept: Any, plan: Any) -> None:
    """Count a plan as accepted or refused, and judge an accepted one."""
    try:
        path = plan()
    except AppellError as error:
        result["refused"] += 1
        is_margin = any(words in str(error) for words in ("too near", "apart", "overlap"))
        reason = "margin" if is_margin else str(error).split("\n")[0][:90]
        reasons = result.setdefault("reasons", {})
        reasons[reason] = reasons.get(reason, 0) + 1
        return
    result["accepted"] += 1
    q = path(np.linspace(0.0, path.duration, ROWS))[0]
    short = judge.short(q, pairs, kept.least)
    if short > TOLERANCE_M:
        result["in collision, m"].append(short)


def main() -> None:
    results = {}
    for name in sys.argv[1:] or ROBOTS:
        start = time.time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                results[name] = planned(name)
            except AppellError as error:
                results[name] = {"error": str(error)}
        results[name]["warnings"] = sorted({str(x.message)[:150] for x in caught})
        results[name]["wall, s"] = time.time() - start
        print(name, json.dumps(results[name], indent=1), flush=True)


if __name__ == "__main__":
    main()
