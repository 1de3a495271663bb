"""Shapes that can touch, and which pairs of them are checked. The equations of motion do not depend on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

from appell.algebra.mesh import Mesh
from appell.algebra.rotation import Pose, as_pose
from appell.errors import ArgumentError, is_finite, unknown_name, value_text
from appell.model.frame import IDENTITY_POSE
from appell.model.visual import SIZES

# Meaning of a shape's `size`, in metres, as for visuals. A mesh stands for its convex hull.
COLLISION_SIZES: dict[str, tuple[str, ...]] = {
    **SIZES,
    "plane": (),  # the half-space z <= 0
    "hull": ("radius",),  # around the convex hull of `triangles`; 0 is allowed
    "arc": ("radius", "angle", "thickness"),  # a capsule bent about z; half its angle on either side of x, in rad
}
Pair = tuple[str, str]  # names of shapes or links
MARGIN_M = 0.02  # between collision shapes, of functions that plan the shape of a motion


@dataclass(frozen=True)
class Collision:
    """A shape fixed to a body, or to the world (`body=None`), that can touch other shapes.

    Parameters
    ----------
    body : str or None
        Body of the robot; None for the world.
    shape : str
        "sphere", "capsule", "cylinder", "box", "plane" (the half-space z ≤ 0), "arc", "ellipsoid", "mesh" or "hull"
        (see `ap.hull`).
    size : tuple of float
        Dimensions in m: radius of a sphere, radius and length (along z, between the centres of the round ends) of a
        capsule, radius and length of a cylinder, sides of a box, half axes of an ellipsoid, scale factors of a mesh;
        radius of the axis, angle (rad) and thickness (radius of the section) of an arc; radius around a hull. A plane
        has no size.
    pose : Pose or array
        Pose of the shape in the axes of the body.
    name : str
        Name in pairs, unique in a robot; that of the link by default.
    link : str
        Link of the description that carries the shape; the body by default.
    file, triangles : str, Mesh
        File of a mesh, or the mesh itself.
    excess : float
        Volume beyond that of the shape which this one covers, relative to it; 0 for a shape of the description.

    Raises
    ------
    ArgumentError
        If a size is missing, not finite or not positive, or a mesh has neither a file nor triangles.
    """

    body: str | None
    shape: str
    size: tuple[float, ...] = ()
    pose: Pose = IDENTITY_POSE
    name: str = ""
    link: str = ""
    file: str = ""
    triangles: Mesh | None = None
    excess: float = 0.0

    def __post_init__(self) -> None:
        link = self.link or self.body or "world"
        size: Any = self.size
        if self.shape == "mesh" and not size:
            size = (1.0, 1.0, 1.0)
        values = {"link": link, "name": self.name or link, "size": tuple(size) if isinstance(size, Iterable) else size}
        for key, value in values.items():
            object.__setattr__(self, key, value)
        owner = f"collision shape '{self.name}'"
        object.__setattr__(self, "pose", as_pose(self.pose, f"the pose of {owner}"))
        if self.shape not in COLLISION_SIZES:
            raise ArgumentError(unknown_name("shape", str(self.shape), COLLISION_SIZES, owner))
        fields = COLLISION_SIZES[self.shape]
        is_list = isinstance(self.size, tuple) and len(self.size) == len(fields)
        if not is_list or not all(map(is_finite, self.size)):
            problem = f"the size of {owner}, a {self.shape}, is {value_text(self.size)}."
            raise ArgumentError(problem, expected=f"({', '.join(fields)})")
        invalid = [x for x in self.size if (x == 0.0 and self.shape != "hull") or (x < 0.0 and self.shape != "mesh")]
        if invalid:
            problem = f"the size of {owner}, a {self.shape}, is {self.size!r}."
            raise ArgumentError(problem, expected="positive numbers", hint="Remove shapes without volume.")
        if self.shape == "arc" and self.size[1] >= 2.0 * math.pi:
            raise ArgumentError(f"the angle of {owner} is {self.size[1]:g} rad.", expected="less than 2 pi")
        if self.shape == "mesh" and not self.file and self.triangles is None:
            raise ArgumentError(f"{owner} is a mesh with neither a file nor triangles.", expected='file="..."')
        if self.shape == "hull" and self.triangles is None:
            raise ArgumentError(f"{owner} is a hull without triangles.", expected="the result of ap.hull(shape)")


class IgnoredPair(NamedTuple):
    """Two links or shapes whose distance is not checked, and the reason."""

    one: str
    other: str
    reason: str = ""


class CollisionPairs(NamedTuple):
    """Pairs of shapes to check, and those that are left out, with the reason."""

    pairs: tuple[Pair, ...]
    ignored: tuple[IgnoredPair, ...]


def uniquely_named(shapes: Iterable[Collision]) -> tuple[Collision, ...]:
    """Number equal names, and all shapes with the name of a link that has several: arm 1, arm 2.

    The name of a link then stands for all of its shapes.
    """
    shapes = tuple(shapes)
    counts = Counter(shape.link for shape in shapes)
    named: dict[str, Collision] = {}
    for shape in shapes:
        name, number = shape.name, 1
        numbered = name == shape.link and counts[name] > 1
        while numbered or name in named:
            name, number, numbered = f"{shape.name} {number}", number + 1, False
        named[name] = shape if name == shape.name else replace(shape, name=name)
    return tuple(named.values())


def shapes_named(robot: Any, name: str) -> list[Collision]:
    """Return the shape with this name, or all shapes of the link with this name."""
    shapes: Sequence[Collision] = robot.collisions
    selected = [shape for shape in shapes if shape.name == name] or [shape for shape in shapes if shape.link == name]
    if not selected:
        known = dict.fromkeys(name for shape in shapes for name in (shape.name, shape.link))
        if not known:
            raise ArgumentError(
                f"{robot.owner} has no collision shapes.",
                expected="shapes from <collision> tags, [[link.collision]] tables or robot.with_collisions(...)",
            )
        raise ArgumentError(unknown_name("collision shape or link", str(name), known, robot.owner))
    return selected


def collision_pairs(robot: Any) -> CollisionPairs:
    """Return all pairs of shapes on different bodies, without neighbours in the tree and `robot.ignored_pairs`.

    Bodies are neighbours if a joint connects them; a floating joint does not count.
    """
    joined = {frozenset((link.name, link.parent)): link.joint.name for link in robot.links if link.joint.motion.nv < 6}
    reasons = {frozenset(pair[:2]): pair.reason for pair in robot.ignored_pairs}
    pairs, ignored = [], []
    for one, other in combinations(robot.collisions, 2):
        if one.body == other.body:
            ignored.append(IgnoredPair(one.name, other.name, "fixed to each other"))
        elif (joint := joined.get(frozenset((one.body, other.body)))) is not None:
            ignored.append(IgnoredPair(one.name, other.name, f"neighbours, connected by joint '{joint}'"))
        elif one.shape == other.shape == "plane":
            ignored.append(IgnoredPair(one.name, other.name, "half-spaces have no distance"))
        else:
            names = [frozenset(pair) for pair in ((one.name, other.name), (one.link, other.link))]
            names += [frozenset((one.name, other.link)), frozenset((one.link, other.name))]
            reason = next((reasons[pair] for pair in names if pair in reasons), None)
            if reason is None:
                pairs.append((one.name, other.name))
            else:
                ignored.append(IgnoredPair(one.name, other.name, reason or "ignored in the description"))
    return CollisionPairs(tuple(pairs), tuple(ignored))
