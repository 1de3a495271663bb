"""Collisions of a robot during a motion: the rows, times and pairs of shapes that touch.

All rows are checked by closed-form distances, in which capsules cover meshes and other shapes without a closed form.
Where a pair with such a shape is nearer than the margin, coal compares the shapes themselves, if it is installed:
meshes by their triangles. Without coal, or with `exact=False`, the result is conservative, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from appell.describe.covers import COVERED, mesh_of
from appell.dynamics.distances import PairDistances, checked_pairs, robot_of, solid_pairs
from appell.dynamics.dynamics import Dynamics
from appell.dynamics.margins import margin_of
from appell.errors import ArgumentError, SimulationError, check_number, needed_package, unknown_name
from appell.model.collision import Collision, Pair, shapes_named
from appell.model.frame import Frame
from appell.model.system import System
from appell.motion.measurement import matched
from appell.motion.path import Path
from appell.motion.record import Record
from appell.motion.titles import record_names

PATH_SAMPLES = 2001
MAX_LISTED = 10


@dataclass(frozen=True)
class CollisionInterval:
    """Consecutive rows in which two shapes touch."""

    pair: Pair
    first: int  # row
    last: int  # row
    start: float  # time, s
    end: float  # time, s


@dataclass(frozen=True, eq=False)
class Collisions:
    """Collisions of a motion."""

    t: np.ndarray  # times of all rows, s
    pairs: tuple[Pair, ...]  # that were checked
    touching: np.ndarray  # (rows, pairs), bool
    distance: np.ndarray  # (rows, pairs), m, of the shapes or of the capsules around them; NaN in rows with a NaN
    covered: tuple[Pair, ...]  # pairs whose shapes were replaced by capsules around them: conservative

    @property
    def rows(self) -> np.ndarray:
        """Rows in which any pair touches."""
        return np.flatnonzero(self.touching.any(axis=1))

    @property
    def not_finite(self) -> np.ndarray:
        """Rows in which a distance is not a finite number, because a coordinate is not; they count as not touching."""
        return np.flatnonzero(~np.isfinite(self.distance).all(axis=1))

    @property
    def times(self) -> np.ndarray:
        """Times of `rows`, s."""
        return self.t[self.rows]

    @property
    def intervals(self) -> tuple[CollisionInterval, ...]:
        """Intervals of consecutive rows per pair, ordered by start."""
        intervals = []
        for pair, touching in zip(self.pairs, self.touching.T, strict=True):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], touching, [False]]).astype(int)))
            for first, last in zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True):
                intervals.append(CollisionInterval(pair, first, last, float(self.t[first]), float(self.t[last])))
        return tuple(sorted(intervals, key=lambda interval: (interval.first, interval.pair)))

    def __str__(self) -> str:
        lines = [f"no collisions in {len(self.t)} rows of {len(self.pairs)} pairs"]
        if len(self.rows):
            lines = [f"collisions in {len(self.rows)} of {len(self.t)} rows:"]
        for k, interval in enumerate(self.intervals):
            if k == MAX_LISTED:
                lines.append(f"  and {len(self.intervals) - MAX_LISTED} more intervals")
                break
            one, other = interval.pair
            lines.append(f"  {one} and {other} from {interval.start:.6g} s to {interval.end:.6g} s")
        if len(self.not_finite):
            first = self.not_finite[0]
            lines.append(f"  {len(self.not_finite)} rows are not finite and were not checked, the first at row {first}")
        if self.covered and len(self.rows):
            lines.append(f"  {len(self.covered)} pairs were checked with capsules around their shapes: conservative")
        return "\n".join(lines)


def collisions(
    robot: System | Dynamics,
    motion: Record | Path | Any,
    *,
    pairs: Iterable[Pair] | None = None,
    margin: float | Sequence[float] | np.ndarray = 0.0,
    exact: bool | None = None,
) -> Collisions:
    """Find the rows of a motion in which collision shapes touch, or are nearer than a margin.

    Parameters
    ----------
    robot : robot with collision shapes
    motion : Record, Path or array_like (rows, nq)
        Motion. A path is sampled at 2,001 times; the rows of an array are numbered instead of timed.
    pairs : iterable of (str, str), optional
        Names of shapes or links; by default those of `robot.collision_pairs`.
    margin : float or sequence of float
        Distance in m up to which shapes count as touching: one number, or one per pair.
    exact : bool, optional
        Whether coal compares meshes and other shapes without a closed form; otherwise the capsules around them are
        compared, which is conservative. By default coal is used if it is installed.

    Returns
    -------
    Collisions
        `rows`, `times`, and `intervals` with the pair of each collision; `not_finite`, the rows that cannot be checked.

    Raises
    ------
    ArgumentError
        If the robot has no collision shapes, a pair does not exist, or the motion has no rows or other coordinates.

    Examples
    --------
    >>> import appell as ap
    >>> ball = ap.Collision("lower", "sphere", (0.1,), name="ball")
    >>> post = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])
    >>> robot = ap.load("planar-2r").with_collisions(ball, post)
    >>> len(ap.collisions(robot, [[0.0, 0.0], [0.5, 0.0], [1.2, 0.0]]).rows)
    1
    """
    dyn = robot if isinstance(robot, Dynamics) else Dynamics(robot)
    tree = robot_of(dyn)
    chosen = checked_pairs(tree, pairs)
    for each in margin if isinstance(margin, Sequence | np.ndarray) else [margin]:
        check_number("margin", each)
    margins = np.asarray(margin, float)
    if margins.shape not in ((), (len(chosen),)):
        raise ArgumentError(
            f"margin has shape {margins.shape}.", expected=f"one number, or one for {len(chosen)} pairs"
        )
    margins = np.broadcast_to(margins, (len(chosen),))
    t, q = _rows(dyn.system, motion)
    if not len(q):
        raise ArgumentError("the motion has no rows.", expected="at least one configuration")
    with np.errstate(invalid="ignore"):  # rows that are not finite
        distance = PairDistances(dyn, chosen)(q)
    touching = distance <= margins
    solids = solid_pairs(tree, chosen, 0.0)
    covered = [
        k
        for k, (pair, sides) in enumerate(zip(chosen, solids, strict=True))
        if any(_is_covered(shapes_named(tree, name), side.solids) for name, side in zip(pair, sides, strict=True))
    ]
    comparable = [
        k for k in covered if not any(s.shape == "arc" for name in chosen[k] for s in shapes_named(tree, name))
    ]
    if exact or (exact is None and find_spec("coal") is not None):
        _compare(dyn, tree, q, [k for k in comparable if touching[:, k].any()], chosen, touching, margins)
        covered = [k for k in covered if k not in comparable]
    return Collisions(t, chosen, touching, distance, tuple(chosen[k] for k in covered))


def check_margin(
    robot: System | Dynamics, motion: Record | Path | Any, margin: float | None, pairs: Iterable[Pair] | None = None
) -> None:
    """Raise an error with time and pair if collision shapes come nearer than a margin during a motion.

    Pairs that are always close, nearer than twice the margin in 95 % of random configurations, must only not touch.
    Those of them that overlap in half of the configurations are checked if coal is installed, which compares meshes.

    Parameters
    ----------
    robot : System or Dynamics
        Robot with collision shapes.
    motion : Record, Path or array_like (rows, nq)
        Motion, as in `collisions`.
    margin : float, optional
        Distance in m; None: nothing is checked.
    pairs : iterable of (str, str), optional
        Names of shapes or links; by default those of `robot.collision_pairs`.

    Raises
    ------
    SimulationError
        If a pair is nearer than its margin.
    ArgumentError
        As in `collisions`; also for rows that are not finite.

    Examples
    --------
    >>> import appell as ap
    >>> ball = ap.Collision("lower", "sphere", (0.1,), name="ball")
    >>> post = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])
    >>> robot = ap.load("planar-2r").with_collisions(ball, post)
    >>> ap.motion.check_margin(robot, [[0.0, 0.0], [-0.5, 0.0]], margin=0.05)
    """
    if margin is None:
        return
    kept = margin_of(robot, margin, pairs)
    chosen, least = kept.pairs, kept.least
    if find_spec("coal") is not None:
        chosen = (*chosen, *((each.one, each.other) for each in kept.ignored))
        least = np.concatenate([least, np.zeros(len(kept.ignored))])
    result = collisions(kept.dyn, motion, pairs=chosen, margin=least)
    if len(result.not_finite):
        raise ArgumentError(f"row {result.not_finite[0]} of the motion is not finite.", expected="finite coordinates")
    if not result.intervals:
        return
    first = result.intervals[0]
    one, other = first.pair
    more = f", and in {len(result.intervals) - 1} other intervals" if len(result.intervals) > 1 else ""
    raise SimulationError(
        f"collision shapes '{one}' and '{other}' of {kept.dyn.system.owner} are too near each other from "
        f"{first.start:.6g} s to {first.end:.6g} s of the motion{more}.",
        expected=f"a distance of more than {least[result.pairs.index(first.pair)]:.3g} m",
        hint="Use another path, ignore the pair, or pass a smaller margin or margin=None.",
    )


def _is_covered(shapes: list[Collision], solids: tuple) -> bool:
    """Return whether solids are the covers of shapes: a shape that can be covered has its own core otherwise."""
    coverable = [shape for shape in shapes if shape.shape in COVERED]
    return bool(coverable) and all(solid.core in ("point", "segment", "box", "plane") for solid in solids)


def _rows(system: System, motion: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return times and coordinates (rows, nq) of a motion."""
    if isinstance(motion, Path):
        motion = motion.record(PATH_SAMPLES)
    if not isinstance(motion, Record):
        q = np.atleast_2d(system.sized("q", motion, system.nq))
        return np.arange(len(q), dtype=float), q
    motion = matched(motion, record_names(system), None)
    names = motion.names("q")
    if missing := [name for name in system.coordinate_names if name not in names]:
        raise ArgumentError(unknown_name("coordinate", missing[0], names, "The motion"))
    return motion.t, motion["q"][:, [names.index(name) for name in system.coordinate_names]]


def _compare(
    dyn: Dynamics, tree: Any, q: np.ndarray, numbers: list[int], pairs: tuple[Pair, ...], touching: Any, margins: Any
) -> None:
    """Replace the entries of `touching` of some pairs by the result of coal."""
    if not numbers:
        return
    coal = needed_package("coal", "an exact comparison of meshes", "coal")
    sides = {k: [shapes_named(tree, name) for name in pairs[k]] for k in numbers}
    shapes = {shape.name: shape for both in sides.values() for side in both for shape in side}

    def formula(equations: Any, q: Any) -> dict[str, Any]:
        return {
            "poses": [equations.pose(Frame(shape.name, shape.body, shape.pose), q).matrix for shape in shapes.values()]
        }

    rows = np.flatnonzero(touching[:, numbers].any(axis=1))
    poses = dict(
        zip(shapes, np.moveaxis(dyn.function("shape_poses", formula, inertial=False)(q[rows]), 1, 0), strict=True)
    )
    geometry = {name: _geometry(coal, shape) for name, shape in shapes.items()}
    request = coal.CollisionRequest()
    for k in numbers:
        request.security_margin = float(margins[k])
        for index, row in enumerate(rows):
            if touching[row, k]:
                touching[row, k] = any(
                    coal.collide(
                        *(geometry[one.name], _transform(coal, poses[one.name][index])),
                        *(geometry[other.name], _transform(coal, poses[other.name][index])),
                        request,
                        coal.CollisionResult(),
                    )
                    for one in sides[k][0]
                    for other in sides[k][1]
                )


def _transform(coal: Any, pose: np.ndarray) -> Any:
    return coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))


def _geometry(coal: Any, shape: Collision) -> Any:
    """Return a shape as a geometry of coal."""
    if shape.shape == "plane":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if shape.shape != "mesh":
        return getattr(coal, shape.shape.capitalize())(*map(float, shape.size))
    mesh, model = mesh_of(shape), coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    model.addVertices(np.ascontiguousarray(mesh.vertices, float))
    model.addTriangles(np.ascontiguousarray(mesh.faces, np.int64))
    model.endModel()
    return model
