"""Distances of shapes on the links of a tree, and their gradients with respect to v.

With the closest points p₁, p₂ and the normal n of `closest`, by the envelope theorem,

    ḋ = n·(J₁(p₁) - J₂(p₂)) v                                                                                 (1)

with both points held as points of their links: clamps and selections need no derivatives. Joints that carry both links
contribute nothing, because p₁ - p₂ is parallel to n. A joint with angular and linear velocity a, l at its origin x
moves a point p along n by

    n·(l + a × (p - x)) = a·(p × n) + (l + x × a)·n                                                           (2)

where l + x × a is computed once for all pairs, and p₁ × n = p₂ × n once for both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector, select
from appell.algebra.vector import Vec3
from appell.formulate.distance.closest import Closest, Solid, closest, is_hull_pair, with_radii
from appell.formulate.distance.hulls import hull_distances
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import link_transforms
from appell.formulate.tree import Tree, TreeLink
from appell.model.joints import Partial


@dataclass(frozen=True)
class Side:
    """One side of a pair: solids on a body, whose poses are in axes of the body."""

    body: str | None
    solids: tuple[Solid, ...]


SolidPair = tuple[Side, Side]


class Distances(NamedTuple):
    """The closest points of pairs, and the gradients (pairs, nv) of their distances with respect to v."""

    closest: list[Closest]
    gradients: Matrix


def distances(
    tree: Tree, pairs: Sequence[SolidPair], q: Vector, *, smooth: float, gradients: bool, loops: Loops = UNROLLED
) -> Distances:
    """Distances of pairs at q. Each is the smallest one between the solids of both sides."""
    poses = world_poses(tree, link_transforms(tree, q))
    solids: dict[Side, list[Solid]] = {}
    for side in (side for pair in pairs for side in pair):
        if side not in solids:
            pose = poses[side.body]
            solids[side] = [replace(solid, pose=pose @ solid.pose) for solid in side.solids]
    lines = joint_lines(tree, poses) if gradients else {}
    combinations = [list(product(solids[one], solids[other])) for one, other in pairs]
    hulls = [both for each in combinations for both in each if is_hull_pair(both[0].core, both[1].core)]
    of_hulls = iter(hull_distances(hulls, loops))
    results, rows = [], []
    for (one, other), both in zip(pairs, combinations, strict=True):
        result = _nearest(
            [
                with_radii(next(of_hulls), first, second)
                if is_hull_pair(first.core, second.core)
                else closest(first, second, smooth)
                for first, second in both
            ]
        )
        results.append(result)
        if gradients:
            rows.append(relative_row(tree, lines, (one.body, other.body), result.normal, result.point1))
    return Distances(results, rows)


def _nearest(candidates: Sequence[Closest]) -> Closest:
    first, *rest = candidates
    for candidate in rest:
        nearer = first.distance - candidate.distance
        first = Closest(
            select(nearer, candidate.distance, first.distance),
            *(
                Vec3.of(select(nearer, x, y) for x, y in zip(new, old, strict=True))
                for new, old in zip(candidate[1:], first[1:], strict=True)
            ),
        )
    return first


Lines = dict[str, list[tuple[Vec3, Vec3]]]  # of every link: a and l + x × a of (2) of its partials, in the world


def joint_lines(tree: Tree, poses: Mapping[str | None, Pose]) -> Lines:
    """The vectors of (2) of all links, for `relative_row`."""
    return {link.name: [_line(poses[link.name], p) for p in link.partials] for link in tree.links}


def _line(pose: Pose, partial: Partial) -> tuple[Vec3, Vec3]:
    a = pose.rotation @ partial.angular
    return a, pose.rotation @ partial.linear + pose.translation.cross(a)


def relative_row(
    tree: Tree, lines: Lines, bodies: tuple[str | None, str | None], axis: Vec3, point: Vec3
) -> list[Scalar]:
    """Jacobian row of the velocity of body 1 relative to body 2 at a point, along an axis, by (2)."""
    paths: list[list[TreeLink]] = [list(tree.path(body)) for body in bodies]
    common = {link.name for link in paths[0]} & {link.name for link in paths[1]}
    forces: dict[str, Vector] = {link.name: [0.0] * len(link.partials) for link in tree.links}
    moment = point.cross(axis)
    for path, sign in zip(paths, (1.0, -1.0), strict=True):
        for link in path:
            if link.name not in common:
                forces[link.name] = [sign * (a.dot(moment) + b.dot(axis)) for a, b in lines[link.name]]
    return tree.gather(forces)
