"""Accuracy of the closed-form distances on random pairs of shapes: python -m appell_lab.campaigns.distances.

Every kind of pair is compared with an enumeration of features in extended precision, and, where coal has the shapes,
with coal. A fifth of the pairs each are generic, nearly touching, deep, parallel up to a small angle, and degenerate
(coincident centres, very short or thin shapes). Directional derivatives are compared with central differences where the
one-sided differences agree, that is, away from switches.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.formulate.distance.closest import Solid, closest
from appell_lab.references.exact_distances import KINDS, extended

TAGS = ("generic", "touching", "deep", "parallel", "degenerate")
PAIRS = 100_000
COAL_PAIRS = 5_000
SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "arc": 3, "plane": 1}  # numbers per shape; one unused
STEP_M = 1e-6  # of differences, also rad
SWITCH = 1e-5  # difference of one-sided derivatives above which a pair is at a switch
MAX_ERROR_M, MAX_GRADIENT_ERROR = 1e-9, 1e-7


def solid(kind: str, center: Any, axes: Any, size: Any) -> Solid:
    """Return a shape of traced scalars; the sizes are half lengths, and the radius of a capsule comes first."""
    pose = Pose(Mat3.of(axes), Vec3.of(center))
    if kind == "sphere":
        return Solid("point", (0.0,), size[0], pose)
    if kind == "capsule":
        return Solid("segment", (size[1],), size[0], pose)
    if kind == "arc":
        return Solid("arc", (size[0], size[1]), size[2], pose)
    return Solid(kind, () if kind == "plane" else tuple(size), 0.0, pose)


def pair_function(kind: str) -> ap.Function:
    """Return the compiled distance of one kind of pair, as a function of poses and sizes."""
    one, other = kind.split("_")
    inputs = []
    for number, name in enumerate((one, other), start=1):
        inputs += [
            ap.Array(f"x{number}", (3,)),
            ap.Array(f"R{number}", (3, 3)),
            ap.Array(f"size{number}", (SIZES[name],)),
        ]

    def formula(x1, R1, size1, x2, R2, size2):
        result = closest(solid(one, x1, R1, size1), solid(other, x2, R2, size2))
        points = {key: list(getattr(result, key)) for key in ("point1", "point2", "normal")}
        return {"distance": result.distance, **points}

    return ap.Function(ap.trace(kind, inputs, formula))


def random_pairs(
    kind: str, function: ap.Function, count: int, rng: np.random.Generator
) -> tuple[list[Any], np.ndarray]:
    """Return the arguments of random pairs, and the number of the tag of each."""
    one, other = kind.split("_")
    tag = np.arange(count) % len(TAGS)
    x1, x2 = rng.normal(size=(2, count, 3)) * 0.5
    R1, R2 = (Rotation.random(count, random_state=rng).as_matrix() for _ in range(2))
    size1, size2 = (rng.uniform(0.03, 0.5, (count, SIZES[name])) for name in (one, other))
    for name, size in ((one, size1), (other, size2)):
        if name == "arc":
            size[:, 0], size[:, 1], size[:, 2] = rng.uniform(0.2, 1.0, count), rng.uniform(0.1, 3.0, count), 0.05
    deep, parallel, degenerate = (tag == TAGS.index(name) for name in ("deep", "parallel", "degenerate"))
    x1[deep] = x2[deep] + 0.1 * rng.normal(size=(deep.sum(), 3)) * size1[deep].min(axis=1)[:, None]
    tilt = Rotation.from_rotvec(rng.normal(size=(count, 3)) * 10.0 ** -rng.uniform(0.0, 17.0, (count, 1))).as_matrix()
    R1[parallel] = (R2 @ tilt)[parallel]
    thin = degenerate & (rng.random(count) < 0.5)
    for name, size in ((one, size1), (other, size2)):
        columns = {"capsule": [1], "box": [0, 1, 2], "cylinder": [1]}.get(name, [])
        for column in columns:
            chosen = thin & (rng.random(count) < 0.5)
            size[chosen, column] = 10.0 ** -rng.uniform(2.0, 9.0, chosen.sum())
    same = degenerate & ~thin
    x1[same] = x2[same] + np.where(rng.random((same.sum(), 3)) < 0.5, 0.0, 0.2 * rng.normal(size=(same.sum(), 3)))
    R1[same & (rng.random(count) < 0.5)] = np.eye(3)
    R2[same] = np.eye(3)
    arguments = [x1, R1, size1, x2, R2, size2]
    touching = tag == TAGS.index("touching")
    for _ in range(3):  # move the first body along the normal until the distance is nearly 0
        distance, _, _, normal = function(*arguments)
        gap = rng.choice([0.0, 1e-12, -1e-9, 1e-6, -1e-4], count)
        x1[touching] -= ((distance - gap)[:, None] * normal)[touching]
    return arguments, tag


def directional_derivatives(function: ap.Function, arguments: list[Any], rng: np.random.Generator) -> np.ndarray:
    """Return errors of n·(v + ω × (p - x)) for random motions of the first body; NaN at switches."""
    x1, R1 = arguments[0], arguments[1]
    linear, angular = rng.normal(size=(2, len(x1), 3))

    def moved(step: float) -> np.ndarray:
        turned = Rotation.from_rotvec(step * angular).as_matrix() @ R1
        return function(x1 + step * linear, turned, *arguments[2:])[0]

    distance, point1, _, normal = function(*arguments)
    plus, minus = moved(STEP_M), moved(-STEP_M)
    expected = (plus - minus) / (2.0 * STEP_M)
    smooth = np.abs((plus - distance) - (distance - minus)) < SWITCH * STEP_M
    rate = (normal * (linear + np.cross(angular, point1 - x1))).sum(axis=1)
    return np.where(smooth, np.abs(rate - expected), np.nan)


def examine(kind: str, count: int, seed: int, coal_pairs: int) -> dict[str, Any]:
    """Compare one kind of pair; return errors in m and counts."""
    rng, function = np.random.default_rng(seed), pair_function(kind)
    arguments, tag = random_pairs(kind, function, count, rng)
    distance, point1, point2, normal = function(*arguments)
    values = extended(*arguments)
    exact = KINDS[kind](tuple(values[:3]), tuple(values[3:]))  # type: ignore[arg-type]
    error = np.abs(distance - exact).astype(float)
    consistent = np.abs(point1 - point2 - distance[:, None] * normal).max()
    gradient = directional_derivatives(function, arguments, rng)
    regular = np.isin(tag, [TAGS.index("generic"), TAGS.index("deep")]) & ~np.isnan(gradient)
    result = {
        "pairs": count,
        "largest error, m": float(error.max()),
        "largest error by tag, m": {name: float(error[tag == k].max()) for k, name in enumerate(TAGS)},
        "largest |p1 - p2 - d n|, m": float(consistent),
        "largest ||n| - 1|": float(np.abs(np.linalg.norm(normal, axis=1) - 1.0).max()),
        "derivatives": int(regular.sum()),
        "derivatives with an error above 1e-7": int((gradient[regular] > MAX_GRADIENT_ERROR).sum()),
        "largest error of the 99.9 % best derivatives": float(np.quantile(gradient[regular], 0.999)),
    }
    if coal_pairs and "arc" not in kind:
        difference = np.array([coal_distance(kind, [x[k] for x in arguments]) for k in range(coal_pairs)])
        difference = np.abs(difference - exact[:coal_pairs].astype(float))
        result["coal"] = {
            "pairs": coal_pairs,
            "largest error of coal, m": float(difference.max()),
            "errors of coal above 1e-9 m": int((difference > 1e-9).sum()),
        }
    return result


def coal_distance(kind: str, arguments: list[Any]) -> float:
    """Return the distance that coal computes, with tolerances of 1e-12."""
    import coal

    def geometry(name: str, size: np.ndarray) -> Any:
        if name == "plane":
            return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
        lengths = 2.0 * size if name == "box" else np.array([size[0], *(2.0 * size[1:])])
        return getattr(coal, name.capitalize())(*map(float, lengths))

    one, other = kind.split("_")
    x1, R1, size1, x2, R2, size2 = arguments
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    sides = (geometry(one, size1), coal.Transform3s(R1, x1), geometry(other, size2), coal.Transform3s(R2, x2))
    return float(coal.distance(*sides, request, result))


def main(count: int = PAIRS, coal_pairs: int = COAL_PAIRS) -> None:
    result = {}
    for seed, kind in enumerate(KINDS):
        result[kind] = examine(kind, count, seed, coal_pairs)
        print(kind, json.dumps(result[kind]), flush=True)
    path = Path(__file__).parents[3] / "benchmarks" / "results" / "distances-accuracy.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
