"""Contacts of collision shapes: all pairs of features of all pairs of shapes, with one kernel per kind of features.

A scene has many features (240 for two boxes), of which few touch. One kernel of the robot computes the motion of all
shapes; the gaps and the motion at features follow from it by one batched kernel per kind, for those features that are
needed. A feature is identified by its index, so that rest, stick and impulses survive a change of the manifold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from appell.algebra.rotation import Pose
from appell.compile.function import Function
from appell.compile.native.machine import Code
from appell.dynamics import Dynamics
from appell.dynamics.distances import CORES, solid
from appell.errors import ArgumentError, Hint, PythonCode
from appell.formulate.distance.closest import Solid, closest, has_closed_form
from appell.formulate.distance.features import (
    KINDS,
    BodyMotion,
    FeaturePair,
    feature_pairs,
    has_features,
    touch,
    touch_motion,
)
from appell.model.collision import Collision
from appell.model.frame import Frame
from appell.simulation.contact.surface import Circle, Cylinder, Plane, Sphere, Surface, as_solid

MAX_CONDITIONS = max(kind.conditions for kind in KINDS.values())
SAME_POINT_M = 1e-5  # features of one pair that touch at points closer than this, with equal normals, are one contact
SAME_NORMAL = 1e-6  # sine of the angle between equal normals
NEAR_M = 1e-2  # features of shapes whose bounding spheres are farther apart are not evaluated


@dataclass(frozen=True)
class ContactShape:
    """A solid on a body of the robot or in the world (None), and its name."""

    name: str
    body: str | None
    solid: Solid

    @property
    def reach(self) -> float:
        """Radius of a sphere around the origin of the solid that contains it."""
        size, core = self.solid.size, self.solid.core
        if core in ("plane", "hollow sphere", "hollow cylinder"):
            return np.inf
        return float(self.solid.radius + (size[0] if core == "arc" else np.linalg.norm(size)))


def shape_of(given: Collision | Surface) -> ContactShape:
    """Return a collision shape or a wall as a shape; raise `ArgumentError` if it has no features."""
    if isinstance(given, Collision):
        if given.shape not in CORES:
            raise ArgumentError(
                f"collision shape '{given.name}' is of kind '{given.shape}', for which simulate has no contacts.",
                expected="sphere, capsule, box, cylinder, arc or plane",
                hint=Hint("Replace meshes and ellipsoids by capsules: {cover}.", cover=PythonCode("ap.cover(robot)")),
            )
        return ContactShape(given.name, given.body, solid(given))
    if not isinstance(given, Plane | Sphere | Circle | Cylinder):
        raise ArgumentError(
            f"{getattr(given, 'title', repr(given))} cannot touch shapes.",
            expected="Plane, Sphere, Circle or Cylinder",
            hint="Use ap.Contact(points, surface) for points.",
        )
    return ContactShape(type(given).__name__.lower(), None, as_solid(given))


class FeatureMotion(NamedTuple):
    """Motion at features: axes (K, 3, 3), Jacobian rows (K, 3, nv), speeds and drifts (K, 3) along the axes."""

    gap: np.ndarray
    axes: np.ndarray
    point: np.ndarray
    rows: np.ndarray
    speed: np.ndarray
    drift: np.ndarray


class _Group(NamedTuple):
    """Features of one kind: their indices, data, and the indices of the shapes of body 1 and body 2."""

    first: int
    data: np.ndarray
    one: np.ndarray
    two: np.ndarray


class ShapePairs:
    """The features of pairs of shapes, and their gaps and motion.

    Arrays have one entry per feature: `pair` (index into `pairs`), `names` and `swapped` (whether the forces of the
    feature act on the second shape of the pair). Features of one kind are adjacent.
    """

    def __init__(self, dyn: Dynamics, pairs: Sequence[tuple[ContactShape, ContactShape]]):
        self.dyn, self.pairs = dyn, list(pairs)
        self.shapes = list(dict.fromkeys(shape for pair in self.pairs for shape in pair))
        index = {shape: k for k, shape in enumerate(self.shapes)}
        features: dict[str, list[tuple[int, FeaturePair]]] = {kind: [] for kind in KINDS}
        for k, (one, other) in enumerate(self.pairs):
            if not has_features(one.solid.core, other.solid.core):
                raise ArgumentError(
                    f"'{one.name}' and '{other.name}' cannot touch in simulate: a {one.solid.core} and a "
                    f"{other.solid.core} have no pairs of features.",
                    expected="spheres, capsules and boxes against each other; cylinders and arcs against spheres and "
                    "planes; walls around spheres, capsules, boxes and arcs",
                    hint="Leave the pair out, or replace a shape by the capsules of ap.cover(shape).",
                )
            for feature in feature_pairs(one.solid, other.solid):
                features[feature.kind].append((k, feature))
        self.groups: dict[str, _Group] = {}
        self.names: list[str] = []
        pair_of: list[int] = []
        swapped: list[bool] = []
        for kind, members in features.items():
            if members:
                sides = [[index[shape] for shape in self.pairs[k]][:: -1 if f.swapped else 1] for k, f in members]
                one, two = np.array(sides).T
                self.groups[kind] = _Group(len(self.names), np.array([f.data for _, f in members]), one, two)
                for k, feature in members:
                    a, b = (f"{s.name} {name}" for s, name in zip(self.pairs[k], feature.names, strict=True))
                    self.names.append(f"{a} - {b}")
                    pair_of.append(k)
                    swapped.append(feature.swapped)
        self.pair, self.swapped = np.array(pair_of, int), np.array(swapped, bool)
        self.sides = np.array([[index[shape] for shape in pair] for pair in self.pairs], int).reshape(-1, 2)
        self.reach = np.array([shape.reach for shape in self.shapes])

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _frames(self) -> list[Frame]:
        return [Frame(f"shape {k}", shape.body, shape.solid.pose) for k, shape in enumerate(self.shapes)]

    @cached_property
    def poses(self) -> Function:
        """Function of q: rotation by rows and position of all shapes, (shapes, 12)."""

        def body(q):
            poses = [self.dyn.equations.pose(frame, q) if frame.body else frame.pose for frame in self._frames]
            return {"pose": [[*(x for row in p.rotation.rows for x in row), *p.translation] for p in poses]}

        return Function.of("shape_poses", {"q": self.dyn.system.nq}, body, "Poses of shapes.", self.dyn.system.owner)

    @cached_property
    def bodies(self) -> Function:
        """Function of (q, v): the motion of all shapes, (shapes, 24) as in `BodyMotion.of`, and their Jacobians."""

        def body(q, v):
            motions = self.dyn.equations.frame_motions(self._frames, q, v)
            states = [
                [*(x for row in m.pose.rotation.rows for x in row), *m.pose.translation,
                 *m.velocity, *m.omega, *m.drift, *m.alpha]
                for m in motions
            ]  # fmt: skip
            return {"state": states, "J": [m.J for m in motions]}

        inputs = {"q": self.dyn.system.nq, "v": self.dyn.system.nv}
        return Function.of("shape_motions", inputs, body, "Motion of shapes.", self.dyn.system.owner)

    # ---- gaps

    def near(self, q: np.ndarray, margin: float = NEAR_M) -> np.ndarray:
        """Return the indices of the features of pairs that come close on a path of configurations (n, nq)."""
        x = self.poses(q)[..., 9:]
        one, two = self.sides.T
        apart = np.linalg.norm(x[:, one] - x[:, two], axis=-1) - self.reach[one] - self.reach[two]
        with np.errstate(invalid="ignore"):  # planes and hollow walls are everywhere
            steps = np.nan_to_num(np.abs(np.diff(apart, axis=0)).max(axis=0, initial=0.0))
        close = ~(apart.min(axis=0) > margin + steps)
        return np.flatnonzero(close[self.pair])

    @np.errstate(all="ignore")  # trial states of a step may be extreme
    def gaps(self, q: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gaps (n, K) of features at configurations (n, nq), and their conditions (n, K, C)."""
        pose = self.poses(q)
        gap = np.empty((len(q), len(ids)))
        conditions = np.ones((len(q), len(ids), MAX_CONDITIONS))
        for kind, here, local in self._by_kind(ids):
            group = self.groups[kind]
            gap[:, here], conditions[:, here, : KINDS[kind].conditions] = gap_kernel(kind)(
                pose[:, group.one[local]], pose[:, group.two[local]], group.data[local]
            )
        return gap, conditions

    def _by_kind(self, ids: np.ndarray):
        """Yield each kind with the positions in `ids` of its features and their indices within the kind."""
        for kind, group in self.groups.items():
            local = ids - group.first
            here = np.flatnonzero((local >= 0) & (local < len(group.data)))
            if len(here):
                yield kind, here, local[here]

    def distance(self, q: np.ndarray) -> np.ndarray:
        """Return the gap of every feature at one configuration; infinite if it is far away or cannot touch."""
        distance, ids = np.full(len(self), np.inf), self.near(q[None])
        if len(ids):
            gap, conditions = self.gaps(q[None], ids)
            distance[ids] = np.where((conditions[0] > 0.0).all(axis=-1), gap[0], np.inf)
        return distance

    def depths(self, q: np.ndarray) -> np.ndarray:
        """Return how deep the shapes of every pair overlap, at least 0, m."""
        poses = self.poses(q)
        solids = [replace(s.solid, pose=_pose(p)) for s, p in zip(self.shapes, poses.tolist(), strict=True)]
        distances = self.distance(q)
        depth = np.zeros(len(self.pairs))
        for k in np.unique(self.pair[self.near(q[None])]):
            one, two = (solids[i] for i in self.sides[k])
            if has_closed_form(one.core, two.core):
                depth[k] = max(0.0, -float(closest(one, two).distance))
            else:
                depth[k] = max(0.0, -float(distances[self.pair == k].min()))
        return depth

    # ---- motion

    @np.errstate(all="ignore")
    def motion(self, state: np.ndarray, J: np.ndarray, ids: np.ndarray) -> FeatureMotion:
        """Return the motion at features from that of the shapes, the results of `bodies`."""
        K = len(ids)
        gap, axes, point = np.empty(K), np.empty((K, 3, 3)), np.empty((K, 3))
        speed, drift, rows = np.empty((K, 3)), np.empty((K, 3)), np.empty((K, 3, J.shape[-1]))
        for kind, here, local in self._by_kind(ids):
            group = self.groups[kind]
            one, two = group.one[local], group.two[local]
            kernel = motion_kernel(kind)
            gap[here], axes[here], point[here], speed[here], drift[here], wrench1, wrench2 = kernel(
                state[one], state[two], group.data[local]
            )
            rows[here] = wrench1 @ J[one] - wrench2 @ J[two]
        return FeatureMotion(gap, axes, point, rows, speed, drift)

    def calls(
        self, feature: int, state: np.ndarray, J: np.ndarray, results: list[np.ndarray], rows: np.ndarray
    ) -> list[tuple[Code, list[np.ndarray]]]:
        """Return the kernels of the motion at one feature: `results` are gap, axes, speed and drift."""
        ((kind, _, local),) = self._by_kind(np.array([feature]))
        group, wrenches = self.groups[kind], [np.zeros((3, 6)), np.zeros((3, 6))]
        one, two = int(group.one[local[0]]), int(group.two[local[0]])
        gap, axes, speed, drift = results
        motion = [state[one], state[two], group.data[local[0]], gap, axes, np.zeros(3), speed, drift, *wrenches]
        return [
            (motion_kernel(kind).kernel(), motion),
            (rows_kernel(J.shape[-1]).kernel(), [*wrenches, J[one], J[two], rows]),
        ]

    def distinct(self, ids: np.ndarray, motion: FeatureMotion) -> np.ndarray:
        """Return which features differ from all earlier ones of the same pair in their points or normals."""
        keep = np.ones(len(ids), bool)
        for k in range(1, len(ids)):
            same = keep[:k] & (self.pair[ids[:k]] == self.pair[ids[k]])
            same &= np.linalg.norm(motion.point[:k] - motion.point[k], axis=1) < SAME_POINT_M
            across = np.linalg.norm(np.cross(motion.axes[:k, 0], motion.axes[k, 0]), axis=1)
            keep[k] = not (same & (across < SAME_NORMAL)).any()
        return keep


def _pose(values: Sequence[float]) -> Pose:
    return BodyMotion.of([*values, *[0.0] * 12]).pose


@cache
def gap_kernel(kind: str) -> Function:
    """Return the function of two poses and the data of a pair of features: gap and conditions."""

    def body(one, two, data):
        at = touch(kind, data, *(BodyMotion.of([*x, *[0.0] * 12]).pose for x in (one, two)))
        return {"gap": at.gap, "conditions": at.conditions}

    return Function.of(f"gap_{kind.replace('-', '_')}", {"one": 12, "two": 12, "data": KINDS[kind].size}, body)


@cache
def rows_kernel(nv: int) -> Function:
    """Return the function of unit wrenches on two bodies and of their Jacobians: the Jacobian rows of a contact."""

    def body(wrench1, wrench2, J1, J2):
        def product(wrench, J):
            return [sum(x * row[k] for x, row in zip(wrench, J, strict=True)) for k in range(nv)]

        pairs = zip(wrench1, wrench2, strict=True)
        return {"rows": [[x - y for x, y in zip(product(a, J1), product(b, J2), strict=True)] for a, b in pairs]}

    return Function.of("touch_rows", {"wrench1": (3, 6), "wrench2": (3, 6), "J1": (6, nv), "J2": (6, nv)}, body)


@cache
def motion_kernel(kind: str) -> Function:
    """Return the function of the motion of two bodies and the data of a pair of features: the motion at the contact."""

    def body(one, two, data):
        first, second = BodyMotion.of(one), BodyMotion.of(two)
        motion = touch_motion(kind, data, first, second)
        at = motion.touch

        def wrenches(arm):
            return [[*axis, *arm.cross(axis)] for axis in motion.axes]

        return {
            "gap": at.gap,
            "axes": [list(axis) for axis in motion.axes],
            "point": list(at.point2),
            "speed": motion.speed,
            "drift": motion.drift,
            "wrench1": wrenches(at.point1 - first.pose.translation),  # unit forces along the axes, at both origins
            "wrench2": wrenches(at.point2 - second.pose.translation),
        }

    return Function.of(f"touch_{kind.replace('-', '_')}", {"one": 24, "two": 24, "data": KINDS[kind].size}, body)
