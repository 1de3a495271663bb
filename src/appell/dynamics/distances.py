"""Distances of the collision shapes of a robot as Functions of q.

Spheres, capsules, boxes, half-spaces, cylinders and arcs have closed forms in the pairs of
`formulate.distance.closest`. In other pairs, capsules around meshes, cylinders, ellipsoids and arcs replace them
(`describe.covers`), so that the distance is never too large; `cover(shape)[k].excess` states the additional volume.

`distance_function` has its own code for each pair, with gradients, and takes about 10 ms per pair to compile.
`PairDistances` evaluates the same closed forms with one kernel per kind of pair, such as capsule and box, which serves
all robots: only the poses of the shapes are compiled for a robot.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.hull import convex_hull
from appell.algebra.loops import UNROLLED, Loops
from appell.compile.cache.content_hash import content_hash
from appell.compile.cache.object_cache import fetch
from appell.compile.function import Function
from appell.describe import covers
from appell.describe.hulls import HULLED, hull
from appell.errors import ArgumentError, ModelWarning, check_number, value_text
from appell.formulate.closed_form import pose_of
from appell.formulate.distance.closest import PAIRS, Solid, closest, has_closed_form, is_hull_pair
from appell.formulate.distance.distances import Side, SolidPair, distances
from appell.formulate.distance.hulls import Polytope, edge_numbers
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import link_transforms
from appell.model.collision import Collision, CollisionPairs, IgnoredPair, Pair, collision_pairs, shapes_named
from appell.model.robot import refuse_flexible

if TYPE_CHECKING:
    from appell.dynamics.dynamics import Dynamics

MANY_PAIRS = 1000  # from which on the time to compile is worth a warning
COMPILE_TIME_PER_PAIR_S = 0.01
Cover = Callable[[Collision], tuple[Collision, ...]]
MAX_EVALUATED = 100_000  # pairs of solids per call of a kernel, which reads about 250 bytes for each


def distance_function(
    dyn: Dynamics,
    pairs: Sequence[Pair],
    name: str,
    *,
    witnesses: bool,
    gradient: bool,
    smooth: float,
    single: bool = False,
) -> Function:
    """Return the Function of q for some pairs of shapes or links; see `Dynamics.distances`.

    Parameters
    ----------
    dyn : functions of the robot
    pairs : pairs of names
    name : name of the Function
    witnesses, gradient, smooth : as in `Dynamics.distances`
    single : whether the results are those of one pair, without the axis of pairs
    """
    check_number("smooth", smooth)
    if not 0.0 <= smooth <= 1.0:
        raise ArgumentError(
            f"smooth is {smooth!r}.", expected="0 for exact distances, or a number up to 1, such as 0.05"
        )
    sides = solid_pairs(robot_of(dyn), pairs, smooth)
    if len(sides) > MANY_PAIRS:
        warnings.warn(
            f"{len(sides)} pairs of collision shapes compile in about {COMPILE_TIME_PER_PAIR_S * len(sides):.0f} s, "
            "because each pair has its own code. Leave out pairs that never touch: "
            "dyn.distances(dyn.collision_pairs(samples=1000).pairs).",
            ModelWarning,
            stacklevel=4,
        )

    def formula(equations: Any, q: Any, *, loops: Loops = UNROLLED) -> dict[str, Any]:
        closest, rows = distances(equations.bodies.tree, sides, q, smooth=smooth, gradients=gradient, loops=loops)
        results: dict[str, Any] = {"distance": [each.distance for each in closest]}
        if witnesses:
            for key in ("point1", "point2", "normal"):
                results[key] = [list(getattr(each, key)) for each in closest]
        if gradient:
            results["J"] = equations.map.pull_back(q, rows)
        return {key: values[0] for key, values in results.items()} if single else results

    doc = "Signed distances of collision shapes (m), closest points and normals in the world, and gradients."
    subject = content_hash(dyn.system, dyn.choice, name, sides, smooth, witnesses, gradient, single)
    has_hulls = any(is_hull_pair(a.core, b.core) for one, other in sides for a, b in product(one.solids, other.solids))
    return dyn.function(name, formula, doc, inertial=False, subject=subject, loops=has_hulls)


class PairDistances:
    """Distances (rows, pairs), in m, of pairs of shapes at configurations q (rows, nq).

    They are those of `distance_function` up to rounding, and `smooth` has the same meaning.
    """

    def __init__(self, dyn: Dynamics, pairs: Sequence[Pair], smooth: float = 0.0):
        self.pairs = tuple(pairs)
        numbers: dict[tuple[str | None, Solid], int] = {}
        kinds: dict[tuple[str, str], list[tuple[int, int, int]]] = {}  # numbers of the pair and of both solids
        self._with_hulls: list[int] = []
        for k, (one, other) in enumerate(solid_pairs(robot_of(dyn), pairs, smooth)):
            if any(each.polytope is not None for each in (*one.solids, *other.solids)):
                self._with_hulls.append(k)
                continue
            for first, second in product(one.solids, other.solids):
                sides = [(one.body, first), (other.body, second)]
                if (first.core, second.core) not in PAIRS:
                    sides.reverse()
                first_index, second_index = (numbers.setdefault(side, len(numbers)) for side in sides)
                kinds.setdefault((sides[0][1].core, sides[1][1].core), []).append((k, first_index, second_index))
        if self._with_hulls:
            chosen = [self.pairs[k] for k in self._with_hulls]
            self._hulls = dyn.distances(chosen, witnesses=False, gradient=False)
        self._poses = _solid_poses(dyn, list(numbers)) if numbers else None
        self._rows = max(1, MAX_EVALUATED // max(map(len, kinds.values()), default=1))
        sizes = [np.array([*solid.size, solid.radius]) for _, solid in numbers]
        self._kinds = []
        for kind, combinations in kinds.items():
            k, *solids = np.array(combinations).T
            parts = [(index, np.array([sizes[i] for i in index])) for index in solids]
            self._kinds.append((_kernel(*kind, smooth), k, *parts))

    def __call__(self, q: np.ndarray) -> np.ndarray:
        result = np.full((len(q), len(self.pairs)), np.inf)
        if self._with_hulls:
            result[:, self._with_hulls] = self._hulls(q)
        if self._poses is None:
            return result
        for start in range(0, len(q), self._rows):
            pose = np.asarray(self._poses(q[start : start + self._rows]))
            part = result[start : start + self._rows]
            for kernel, k, (one, one_size), (other, other_size) in self._kinds:
                values = kernel(pose[:, one], one_size, pose[:, other], other_size)
                starts = np.flatnonzero(np.diff(k, prepend=-1))  # of the solids of each pair
                nearest = np.minimum.reduceat(values, starts, axis=1)
                part[:, k[starts]] = np.minimum(part[:, k[starts]], nearest)
        return result


def _solid_poses(dyn: Dynamics, solids: Sequence[tuple[str | None, Solid]]) -> Function:
    """Return the Function of q for the poses (solids, 3, 4) of solids in the world."""

    def formula(equations: Any, q: Any) -> dict[str, Any]:
        tree = equations.bodies.tree
        bodies = world_poses(tree, link_transforms(tree, q))
        return {"poses": [(bodies[body] @ solid.pose).rows for body, solid in solids]}

    subject = content_hash(dyn.system, dyn.choice, "solid_poses", solids)
    return dyn.function("solid_poses", formula, "Poses of solids.", inertial=False, subject=subject)


@cache
def _kernel(one: str, other: str, smooth: float) -> Function:
    """Return the Function for the distance of two solids, from poses (3, 4) and sizes that end with the radius."""

    def body(pose1: Any, size1: Any, pose2: Any, size2: Any) -> Any:
        first, second = (
            Solid(core, tuple(size[:-1]), size[-1], pose_of(pose))
            for core, size, pose in ((one, size1, pose1), (other, size2, pose2))
        )
        return {"distance": closest(first, second, smooth).distance}

    inputs = {"pose1": (3, 4), "size1": SIZES[one] + 1, "pose2": (3, 4), "size2": SIZES[other] + 1}
    return Function.of(f"distance_{one}_{other}", inputs, body, "Distance of two solids in m.")


def robot_of(dyn: Dynamics) -> Any:
    """Return the tree of a system, or raise an error if it has none."""
    if dyn.system.tree is None:
        raise ArgumentError(
            f"{dyn.system.owner} is a mechanism in closed form and has no collision shapes.",
            expected="a robot: a tree of links, with or without loops",
        )
    refuse_flexible(dyn.system, "distances")
    return dyn.system.tree


def checked_pairs(robot: Any, pairs: Iterable[Any] | None) -> tuple[Pair, ...]:
    """Return pairs of names; by default those of `robot.collision_pairs`."""
    if not robot.collisions:
        shapes_named(robot, "")  # raises
    chosen = collision_pairs(robot).pairs if pairs is None else tuple(pairs)
    for pair in chosen:
        names = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else ()
        if len(names) != 2 or not all(isinstance(name, str) for name in names):
            raise ArgumentError(
                f"a pair of collision shapes is {value_text(pair)}.", expected='two names, such as ("hand", "table")'
            )
    if not chosen:
        raise ArgumentError(
            f"{robot.owner} has no pair of collision shapes to check: its {len(robot.collisions)} shapes are fixed to "
            "each other, neighbours, or ignored.",
            expected='pairs by name, such as pairs=[("hand", "table")]',
        )
    return tuple((str(one), str(other)) for one, other in chosen)


def solid_pairs(robot: Any, pairs: Iterable[Pair], smooth: float) -> tuple[SolidPair, ...]:
    """Return the solids of both sides of each pair."""
    capsules: dict[int, tuple[Collision, ...]] = {}  # around shapes, by their identity
    hulls: dict[int, Collision] = {}
    solids: dict[int, Solid] = {}  # of hulls

    def capsules_around(shape: Collision) -> tuple[Collision, ...]:
        if id(shape) not in capsules:
            capsules[id(shape)] = cached_cover(shape)
        return capsules[id(shape)]

    def hull_of(shape: Collision) -> Collision:
        if id(shape) not in hulls:
            hulls[id(shape)] = hull(shape)
        return hulls[id(shape)]

    def solid_of(shape: Collision) -> Solid:
        if shape.shape != "hull":
            return solid(shape)
        if id(shape) not in solids:
            solids[id(shape)] = solid(shape)
        return solids[id(shape)]

    return tuple(
        _sides(shapes_named(robot, one), shapes_named(robot, other), smooth, capsules_around, hull_of, solid_of)
        for one, other in pairs
    )


def _sides(
    ones: Sequence[Collision],
    others: Sequence[Collision],
    smooth: float,
    capsules_around: Cover,
    hull_of: Callable[[Collision], Collision],
    solid_of: Callable[[Collision], Solid],
) -> SolidPair:
    if ones[0].body == others[0].body:
        raise ArgumentError(
            f"collision shapes '{ones[0].name}' and '{others[0].name}' are fixed to each other"
            f"{f' on link {ones[0].body!r}' if ones[0].body else ' in the world'}.",
            expected="shapes on different bodies",
        )
    kinds = [[shape.shape for shape in side] for side in (ones, others)]
    if "plane" in kinds[0] and "plane" in kinds[1]:
        raise ArgumentError(f"'{ones[0].name}' and '{others[0].name}' are half-spaces, which have no distance.")
    if not smooth and "hull" in (*kinds[0], *kinds[1]) and "arc" not in (*kinds[0], *kinds[1]):
        ones, others = ([hull_of(x) if x.shape in HULLED else x for x in side] for side in (ones, others))
    cores = [[HULL_CORES.get(shape.shape, "") for shape in side] for side in (ones, others)]
    exact = not smooth and all(has_closed_form(*both) or is_hull_pair(*both) for both in product(*cores))
    covered = () if exact else (*covers.COVERED, "box") if smooth else covers.COVERED

    def side(shapes: Sequence[Collision]) -> Side:
        simple = [each for shape in shapes for each in (capsules_around(shape) if shape.shape in covered else (shape,))]
        return Side(shapes[0].body, tuple(map(solid_of, simple)))

    return side(ones), side(others)


SIZES = {"point": 1, "segment": 1, "box": 3, "cylinder": 2, "plane": 0, "arc": 2}  # numbers in `Solid.size`
CORES = {"sphere": "point", "capsule": "segment", "box": "box", "cylinder": "cylinder", "plane": "plane", "arc": "arc"}
HULL_CORES = {**CORES, "hull": "hull"}


def solid(shape: Collision) -> Solid:
    """Return the core and the radius of a shape, on its body."""
    core, size = HULL_CORES[shape.shape], tuple(float(x) for x in shape.size)
    if core == "hull":
        return Solid(core, (), size[0], shape.pose, _polytope(covers.mesh_of(shape).vertices))
    if core == "point":
        return Solid(core, (0.0,), size[0], shape.pose)
    if core == "segment":
        return Solid(core, (0.5 * size[1],), size[0], shape.pose)
    if core == "arc":
        return Solid(core, (size[0], 0.5 * size[1]), size[2], shape.pose)
    halves = {"box": tuple(0.5 * x for x in size), "cylinder": (size[0], 0.5 * size[-1]) if size else ()}
    return Solid(core, halves.get(core, ()), 0.0, shape.pose)


def _polytope(points: np.ndarray) -> Polytope:
    """Return the convex hull of points as a polytope."""
    hulled = convex_hull(points)
    vertices, normals = hulled.vertices.tolist(), hulled.normals.tolist()
    faces = tuple((*normal, height) for normal, height in zip(normals, hulled.heights.tolist(), strict=True))
    edges = tuple(edge_numbers(vertices[k], normals[i], normals[j]) for k, i, j in hulled.edges.tolist())
    return Polytope(tuple(map(tuple, vertices)), faces, edges)


def cached_cover(shape: Collision, parts: int = 1) -> tuple[Collision, ...]:
    """Return `describe.covers.cover(shape, parts)`, with the capsules of meshes and boxes stored on disk."""
    if shape.shape not in ("mesh", "box"):
        return covers.cover(shape, parts)
    if shape.shape == "box":
        content: list[object] = ["box"]
    elif shape.triangles is not None:
        content = [hashlib.sha256(np.ascontiguousarray(shape.triangles.vertices).tobytes()).hexdigest()]
    else:
        state = os.stat(shape.file) if os.path.isfile(shape.file) else None
        content = [os.path.abspath(shape.file), state and [state.st_mtime_ns, state.st_size]]
    key = content_hash(covers.FORMAT, content, shape.size, shape.pose, parts) or ""
    try:
        return covers.unpacked(fetch(key, lambda: covers.packed(covers.cover(shape, parts))), shape)
    except (ValueError, EOFError):  # the stored data are invalid
        return covers.cover(shape, parts)


def sampled_pairs(dyn: Dynamics, samples: int, seed: int) -> CollisionPairs:
    """Return the pairs of a robot without those that touch in all, or in none, of some random configurations."""
    robot = robot_of(dyn)
    if not robot.collisions:
        shapes_named(robot, "")  # raises
    pairs, ignored = collision_pairs(robot)
    if not pairs or samples <= 0:
        return CollisionPairs(pairs, ignored)
    rng = np.random.default_rng(seed)
    q = np.array([dyn.system.start, *(dyn.system.random_configuration(rng) for _ in range(samples))])
    values = PairDistances(dyn, pairs)(q)
    kept, more = [], list(ignored)
    for pair, low, high in zip(pairs, values.min(axis=0), values.max(axis=0), strict=True):
        if high <= 0.0:
            more.append(IgnoredPair(*pair, f"touch in all of {len(q)} configurations, by at least {-high:.3g} m"))
        elif low > 0.0:
            more.append(
                IgnoredPair(*pair, f"never touch in {len(q)} configurations; the smallest distance is {low:.3g} m")
            )
        else:
            kept.append(pair)
    return CollisionPairs(tuple(kept), tuple(more))
