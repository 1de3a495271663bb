"""Accuracy of the distances of convex hulls on random pairs: python -m appell_lab.campaigns.hulls.

Hulls of random points, flat and straight ones among them, against hulls, boxes, capsules and spheres. A fifth of the
poses each are generic, nearly touching, deep, parallel up to a small angle, and degenerate (equal centres and axes).
Distances are proved from both sides: the closest points lie in the bodies, so that the distance is at most theirs, and
the bodies are separated along the normal by at least the lower bound. The depth of bodies that overlap is that of the
Minkowski difference, whose faces Qhull computes. Directional derivatives are compared with central differences where
the one-sided differences agree. The errors of coal, with tolerances of 1e-6 and 1e-12, are counted for comparison.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

import appell as ap
from appell.algebra.mesh import Mesh
from appell.dynamics.distances import solid
from appell.formulate.closed_form import pose_of
from appell.formulate.distance.closest import Solid, with_radii
from appell.formulate.distance.hulls import hull_distances, polytope_of
from appell_lab.campaigns.distances import MAX_GRADIENT_ERROR, STEP_M, SWITCH, TAGS

KINDS = ("hull", "box", "capsule", "sphere")  # of the second shape
NEAR_M = 1e-5  # below, the direction of the closest points has few digits: Qhull judges as well
SHAPES, POSES, JUDGED_BY_COAL = 25, 4_000, 40  # pairs of shapes per kind, poses per pair, of them by coal


def random_shape(kind: str, rng: np.random.Generator, number: int) -> Solid:
    """Return a random shape; every fifth hull is flat, every tenth straight, some are thin."""
    if kind != "hull":
        sizes = {"sphere": 1, "capsule": 2, "box": 3}[kind]
        return solid(ap.Collision("a", kind, tuple(rng.uniform(0.05, 0.5, sizes))))
    points = rng.normal(size=(rng.integers(4, 14), 3)) * rng.uniform(0.05, 0.3, 3)
    if number % 5 == 1:
        points[:, 2] = 0.0
    if number % 10 == 3:
        points[:, 1:] = 0.0
    if number % 5 == 4:
        points[:, 2] *= 10.0 ** -rng.uniform(2.0, 6.0)
    return solid(ap.Collision("a", "hull", (float(rng.choice([0.0, 0.01])),), triangles=Mesh(points, np.empty((0, 3)))))


def pair_function(one: Solid, other: Solid) -> ap.Function:
    """Return the distance of two solids as a function of their poses (3, 4)."""

    def body(pose1: Any, pose2: Any, loops: Any) -> dict[str, Any]:
        first, second = (
            Solid(each.core, each.size, each.radius, pose_of(pose), each.polytope)
            for each, pose in ((one, pose1), (other, pose2))
        )
        (cores,) = hull_distances([(first, second)], loops)
        result = with_radii(cores, first, second)
        return {key: list(getattr(result, key)) for key in ("point1", "point2", "normal")} | {
            "distance": result.distance
        }

    return ap.Function.of("hulls", {"pose1": (3, 4), "pose2": (3, 4)}, body, loops=True)


def random_poses(function: ap.Function, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return poses of both shapes and the number of the tag of each."""
    tag = np.arange(count) % len(TAGS)
    pose1, pose2 = np.zeros((2, count, 3, 4))
    pose1[..., :3], pose2[..., :3] = (Rotation.random(count, random_state=rng).as_matrix() for _ in range(2))
    pose1[..., 3], pose2[..., 3] = 0.3 * rng.normal(size=(2, count, 3))
    deep, parallel, degenerate, touching = (
        tag == TAGS.index(x) for x in ("deep", "parallel", "degenerate", "touching")
    )
    pose1[deep, :, 3] = pose2[deep, :, 3] + 0.02 * rng.normal(size=(deep.sum(), 3))
    tilt = Rotation.from_rotvec(rng.normal(size=(count, 3)) * 10.0 ** -rng.uniform(0.0, 17.0, (count, 1))).as_matrix()
    pose1[parallel, :, :3] = (pose2[..., :3] @ tilt)[parallel]
    pose1[degenerate, :, :3] = pose2[degenerate, :, :3] = np.eye(3)
    shift = np.where(rng.random((count, 3)) < 0.5, 0.0, 0.2 * rng.normal(size=(count, 3)))
    pose1[degenerate, :, 3] = (pose2[..., 3] + shift)[degenerate]
    for _ in range(3):
        _, _, normal, distance = function(pose1, pose2)
        gap = rng.choice([0.0, 1e-12, -1e-9, 1e-6, -1e-4], count)
        pose1[touching, :, 3] -= ((distance - gap)[:, None] * normal)[touching]
    return pose1, pose2, tag


def corners(each: Solid, pose: np.ndarray) -> np.ndarray:
    """Return the vertices (..., vertices, 3) of a core in the world."""
    return np.array(polytope_of(each).vertices) @ np.swapaxes(pose[..., :3], -1, -2) + pose[..., None, :, 3]


def outside(each: Solid, pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return how far points are outside of a core along the normals of its faces, in m."""
    local = np.einsum("nji,nj->ni", pose[..., :3], point - pose[..., 3])
    if each.core == "point":
        return np.linalg.norm(local, axis=1)
    faces = np.array(polytope_of(each).faces)
    excess = (local @ faces[:, :3].T - faces[:, 3]).max(axis=1)
    return np.maximum(excess, np.abs(local[:, 2]) - each.size[0]) if each.core == "segment" else excess


def depth(difference: np.ndarray) -> float:
    """Return the signed distance of the origin to the boundary of the hull of points that contains it."""
    try:
        return float(ConvexHull(difference).equations[:, 3].max())
    except QhullError:
        return 0.0  # flat


def examine(kind: str, seed: int, shapes: int, poses: int) -> dict[str, Any]:
    """Compare one kind of pair; return errors in m and counts."""
    rng = np.random.default_rng(seed)
    errors, inside, gradients = [], 0, []
    coal: dict[float, list[np.ndarray]] = {1e-6: [], 1e-12: []}
    for number in range(shapes):
        one, other = random_shape("hull", rng, number), random_shape(kind, rng, number // 2)
        function = pair_function(one, other)
        pose1, pose2, tag = random_poses(function, poses, rng)
        point1, point2, normal, distance = function(pose1, pose2)
        radii = one.radius + other.radius
        cores = distance + radii
        a, b = point1 + one.radius * normal, point2 - other.radius * normal
        difference = corners(one, pose1)[:, :, None] - corners(other, pose2)[:, None]
        lower = np.einsum("nijk,nk->nij", difference, normal).min(axis=(1, 2))
        error = np.maximum(np.abs(lower - cores), np.abs(np.linalg.norm(a - b, axis=1) - np.abs(cores)))
        apart = cores > 0.0
        error = np.maximum(error, np.where(apart, np.maximum(outside(one, pose1, a), outside(other, pose2, b)), 0.0))
        for k in np.flatnonzero(cores < NEAR_M):
            by_qhull = abs(depth(difference[k].reshape(-1, 3)) - cores[k])
            error[k] = min(error[k], by_qhull) if apart[k] else max(error[k], by_qhull)
        errors.append(np.array([error[tag == k].max() for k in range(len(TAGS))]))
        inside += int((~apart).sum())
        gradients.append(derivative_errors(function, pose1, pose2, rng)[np.isin(tag, [0, 2])])
        for tolerance, theirs in coal.items():
            values = [coal_distance(one, other, pose1[k], pose2[k], tolerance) for k in range(JUDGED_BY_COAL)]
            theirs.append(np.abs(np.array(values) - distance[:JUDGED_BY_COAL]))
    gradient = np.concatenate(gradients)
    gradient = gradient[~np.isnan(gradient)]
    return {
        "pairs": shapes * poses,
        "overlapping": inside,
        "largest error by tag, m": dict(zip(TAGS, np.max(errors, axis=0).tolist(), strict=True)),
        "derivatives": len(gradient),
        "derivatives with an error above 1e-7": int((gradient > MAX_GRADIENT_ERROR).sum()),
        "largest error of a derivative": float(gradient.max()),
        "coal": {
            f"tolerance {key:g}": {
                "pairs": sum(map(len, values)),
                "largest error, m": float(np.max(np.nan_to_num(np.concatenate(values), nan=0.0))),
                "errors above 1e-5 m": int((np.concatenate(values) > 1e-5).sum()),
            }
            for key, values in coal.items()
        },
    }


def derivative_errors(function: ap.Function, pose1: np.ndarray, pose2: np.ndarray, rng: Any) -> np.ndarray:
    """Return errors of n·(v + ω × (p - x)) for random motions of the first body; NaN at switches."""
    linear, angular = rng.normal(size=(2, len(pose1), 3))

    def moved(step: float) -> np.ndarray:
        pose = pose1.copy()
        pose[..., :3] = Rotation.from_rotvec(step * angular).as_matrix() @ pose1[..., :3]
        pose[..., 3] += step * linear
        return np.asarray(function(pose, pose2)[3])

    point1, _, normal, distance = function(pose1, pose2)
    plus, minus = moved(STEP_M), moved(-STEP_M)
    smooth = np.abs((plus - distance) - (distance - minus)) < SWITCH * STEP_M
    rate = (normal * (linear + np.cross(angular, point1 - pose1[..., 3]))).sum(axis=1)
    return np.where(smooth, np.abs(rate - (plus - minus) / (2.0 * STEP_M)), np.nan)


def coal_distance(one: Solid, other: Solid, pose1: np.ndarray, pose2: np.ndarray, tolerance: float) -> float:
    """Return the distance that coal computes; NaN for flat hulls, which it does not read."""
    import coal

    sides: list[Any] = []
    for each, pose in ((one, pose1), (other, pose2)):
        if each.core == "hull":
            try:
                hull = ConvexHull(np.array(each.polytope.vertices))
            except QhullError:
                return np.nan
            points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            points.extend(list(hull.points))
            a, b, c = (hull.points[hull.simplices[:, k]] for k in range(3))
            inward = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0.0
            ordered = np.where(inward[:, None], hull.simplices[:, [0, 2, 1]], hull.simplices)
            faces.extend([coal.Triangle(*map(int, face)) for face in ordered])
            geometry = coal.Convex(points, faces)
        elif each.core == "box":
            geometry = coal.Box(*(2.0 * x for x in each.size))
        else:
            geometry = (
                coal.Sphere(each.radius) if each.core == "point" else coal.Capsule(each.radius, 2.0 * each.size[0])
            )
        sides += [geometry, coal.Transform3s(pose[:, :3].copy(), pose[:, 3].copy())]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = tolerance
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    return float(coal.distance(*sides, request, result)) - sum(x.radius for x in (one, other) if x.core == "hull")


def main(shapes: int = SHAPES, poses: int = POSES) -> None:
    result = {}
    for seed, kind in enumerate(KINDS):
        result[f"hull_{kind}"] = examine(kind, seed, shapes, poses)
        print(kind, json.dumps(result[f"hull_{kind}"], indent=1), flush=True)
    if shapes != SHAPES:
        return
    path = Path(__file__).parents[3] / "benchmarks" / "results" / "hulls-accuracy.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
