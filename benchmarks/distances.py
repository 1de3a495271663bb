"""Distances of capsules against Pinocchio with coal: python benchmarks/distances.py.

The collision shapes of Panda, UR10 and Talos of example-robot-data, covered by one capsule each, and the pairs of the
tree without neighbours and without those that the SRDF disables or that touch in all or in none of 1,000 random
configurations. Both sides have the same capsules and pairs; distances must agree before they are timed. Random
configurations within the limits. One process on one core, both sides in turns, processor time, best of several turns.
appell computes a batch in one call with `out=`; Pinocchio runs `computeDistances(model, data, ...)` with kinematics
in a loop over the configurations, and its results contain distances, witnesses and normals, but no gradients. A UR5 is
measured with convex hulls as well.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.dynamics.distances import cached_cover
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.references.oracle import pinocchio

ROBOTS = {"panda": "panda", "ur10": "ur10_robot", "talos": "talos_reduced"}
HULLED, HULL_VERTICES = "ur5_robot", (16, 32, 64)
AIMS = {"gradients": 10, "witnesses": 7}  # ratios to Pinocchio with coal
AGREEMENT_M = 1e-6  # the default tolerance of coal
BATCH_SIZE, TIMED_TURNS, SAMPLES = 256, 7, 1000
LOOP = "for i in range(N): f(model, data, geometry, results, q[i])"


def robot_of(name: str) -> ap.Robot:
    """Return a robot whose collision shapes are one capsule each."""
    path = examples()[ROBOTS[name]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ap.load(path, mimic=False)  # in Pinocchio, mimic joints have coordinates of their own
    srdf = srdf_of(path)
    if srdf is not None and not robot.ignored_pairs:
        robot = ap.with_srdf(robot, srdf)
    shapes = (cached_cover(shape) if shape.shape != "plane" else (shape,) for shape in robot.collisions)
    return replace(robot, collisions=tuple(shape for pieces in shapes for shape in pieces))


def peer(robot: ap.Robot, pairs: tuple) -> tuple[Any, Any]:
    """Return Pinocchio's model of a robot and its geometry with the same capsules and pairs."""
    import coal

    pin = pinocchio()
    model = pin.buildModelFromXML(ap.to_urdf(replace(robot, visuals=(), collisions=())))
    geometry, numbers = pin.GeometryModel(), {}
    for shape in robot.collisions:
        frame = model.frames[model.getFrameId(shape.body)] if shape.body else None
        pose = shape.pose.matrix
        placement = pin.SE3(np.array([[*map(float, row)] for row in pose]))
        solid = convex(shape) if shape.shape == "hull" else getattr(coal, shape.shape.capitalize())(*shape.size)
        joint = frame.parentJoint if frame is not None else 0
        at = frame.placement * placement if frame is not None else placement
        numbers[shape.name] = geometry.addGeometryObject(pin.GeometryObject(shape.name, joint, at, solid))
    for one, other in pairs:
        geometry.addCollisionPair(pin.CollisionPair(numbers[one], numbers[other]))
    return model, geometry


def convex(shape: ap.Collision) -> Any:
    """Return a hull without the radius around it as a geometry of coal."""
    import coal

    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(shape.triangles.vertices))
    faces.extend([coal.Triangle(*map(int, face)) for face in shape.triangles.faces])
    return coal.Convex(points, faces)


def measure_hulls(name: str, vertices: int, count: int, turns: int) -> dict[str, Any]:
    """Return times per configuration in µs with hulls of some vertices instead of capsules, and ratios."""
    pin = pinocchio()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ap.hull(ap.load(examples()[name], mimic=False), vertices)
    dyn, pairs, rng = ap.Dynamics(robot), robot.collision_pairs.pairs, np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    model, geometry = peer(robot, pairs)
    data, results = model.createData(), geometry.createData()
    radii = {shape.name: shape.size[0] if shape.shape == "hull" else 0.0 for shape in robot.collisions}
    rounding = np.array([radii[one] + radii[other] for one, other in pairs])
    theirs = []
    for row in q:
        pin.computeDistances(model, data, geometry, results, row)
        theirs.append([result.min_distance for result in results.distanceResults])
    functions = {
        "distances": dyn.distances(pairs, witnesses=False, gradient=False),
        "both": dyn.distances(pairs),
    }
    ours = functions["distances"](q) + rounding
    names = {"model": model, "data": data, "geometry": geometry, "results": results, "q": q, "N": count}
    timed = {"theirs": TimedStatement(LOOP, names | {"f": pin.computeDistances})}
    for title, function in functions.items():
        value = function(q)
        out = tuple(map(np.array, value)) if isinstance(value, tuple) else np.array(value)
        timed[title] = TimedStatement("f(q, out=out)", {"f": function, "q": q, "out": out})
    best = {title: timing.best * 1e6 / count for title, timing in time_in_turns(timed, turns).items()}
    return {
        "pairs": len(pairs),
        "overlapping": float((ours < 0.0).mean()),
        "largest difference, m": float(np.abs(ours - np.array(theirs)).max()),
        "µs per configuration": best,
        "ratio to Pinocchio": {title: best["theirs"] / best[title] for title in functions},
    }


def measure(name: str, count: int, turns: int) -> dict[str, Any]:
    """Return numbers of pairs, times per configuration in µs, and ratios for one robot."""
    pin, robot = pinocchio(), robot_of(name)
    dyn = ap.Dynamics(robot)
    pairs = dyn.collision_pairs(SAMPLES).pairs
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    functions = {
        "distances": dyn.distances(pairs, witnesses=False, gradient=False),
        "gradients": dyn.distances(pairs, witnesses=False),
        "witnesses": dyn.distances(pairs, gradient=False),
        "both": dyn.distances(pairs),
    }
    model, geometry = peer(robot, pairs)
    if model.nq != robot.nq:
        raise SystemExit(f"{name}: {model.nq} coordinates instead of {robot.nq}")
    their_q = np.empty_like(q)
    for joint in robot.joint_names:
        their_q[:, model.joints[model.getJointId(joint)].idx_q] = q[:, robot.span(robot.joint(joint))[0].start]
    data, results = model.createData(), geometry.createData()
    ours = functions["distances"](q[:200])
    theirs = []
    for row in their_q[:200]:
        pin.computeDistances(model, data, geometry, results, row)
        theirs.append([result.min_distance for result in results.distanceResults])
    error = np.abs(ours - np.array(theirs))
    if error.max() > AGREEMENT_M:
        raise SystemExit(f"{name}: distances differ by {error.max():.3g} m")
    names = {"model": model, "data": data, "geometry": geometry, "results": results, "q": their_q, "N": count}
    timed = {"theirs": TimedStatement(LOOP, names | {"f": pin.computeDistances})}
    for title, function in functions.items():
        value = function(q)
        out = tuple(map(np.array, value)) if isinstance(value, tuple) else np.array(value)
        timed[title] = TimedStatement("f(q, out=out)", {"f": function, "q": q, "out": out})
    best = {title: timing.best * 1e6 for title, timing in time_in_turns(timed, turns).items()}
    best = {title: time / (names["N"] if title == "theirs" else count) for title, time in best.items()}
    return {
        "pairs": len(pairs),
        "shapes": len(robot.collisions),
        "largest difference, m": float(error.max()),
        "µs per configuration": best,
        "ratio to Pinocchio": {title: best["theirs"] / best[title] for title in functions},
        "operations": {title: function.count().total for title, function in functions.items()},
    }


def main(count: int = BATCH_SIZE, turns: int = TIMED_TURNS) -> None:
    result: dict[str, Any] = {"machine": machine(), "versions": versions(), "aims": AIMS}
    with one_core():
        for name in ROBOTS:
            result[name] = measure(name, count, turns)
            print(name, json.dumps(result[name], indent=1, ensure_ascii=False), flush=True)
        for vertices in HULL_VERTICES:
            title = f"{HULLED}, hulls of {vertices} vertices"
            result[title] = measure_hulls(HULLED, vertices, count, turns)
            print(title, json.dumps(result[title], indent=1, ensure_ascii=False), flush=True)
    path = Path(__file__).parent / "results" / "distances.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
