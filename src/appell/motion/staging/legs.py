"""Bodies of a mechanism in closed form, drawn along the outlines that they were given, a colour a leg.

A closed, flat and convex outline is a plate; any other is a tube. A corner that meets one of another body, or of what
stands still, is a joint. Two bodies of a leg that end in the open slide in each other, and a rod joins their ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.display import solids
from appell.display.poses import turned_to
from appell.display.scene import WORLD, Color, Mesh, ScenePart, Strut
from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import Polyline
from appell.motion.pictures.shape import SHORT, Shape
from appell.motion.staging.blocks import boxes
from appell.motion.staging.paint import GROUND, METAL, numbered, paint
from appell.motion.staging.proportions import Proportions

FLAT = 1e-6  # how far from its plane the corners of a plate are, in its size
MEET = 1e-6  # how near to each other corners meet, in the size of the mechanism
CORNERS = 8  # of an outline that may be joints
PLATE = 1.2  # its thickness in radii of the rods
BALL, DRUM, WIDTH, SLIDE = 1.4, 1.4, 2.8, 0.6  # joints and slides in radii of the rods


@dataclass(frozen=True, eq=False)
class Corner:
    """An end of an outline, or a corner of a closed one: on which body, where there, and where at home."""

    body: str | None
    point: np.ndarray
    place: np.ndarray


class Linkage:
    """The parts and struts of a mechanism."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        assert isinstance(shape.system, Mechanism)
        self.shape, self.proportions, self.color, self.system = shape, proportions, color, shape.system
        self.index = {name: k for k, name in enumerate(shape.names)}
        self.leg = _legs(self.system)
        corners = _corners(shape)
        others = [[c.place for c in corners if c.body != own.body] for own in corners]
        pairs = zip(corners, others, strict=True)
        near = [min((np.linalg.norm(x - own.place) for x in far), default=np.inf) for own, far in pairs]
        meets = [distance <= MEET * proportions.size for distance in near]
        self.joints = [corner for corner, met in zip(corners, meets, strict=True) if met and corner.body is not None]
        self.ends = [corner for corner, met in zip(corners, meets, strict=True) if not met and corner.body is not None]

    def parts(self) -> list[ScenePart]:
        """Tubes and plates, joints, and boxes of bodies without an outline."""
        ground = [mesh for line in self.system.outlines for mesh in _drawn(line, self.proportions.radius)]
        found = [ScenePart(mesh, WORLD, color=paint(GROUND), name="world") for mesh in ground]
        for part in self.system.parts:
            color = self.color or numbered(self.leg[part.name])
            meshes = _drawn(part.outline, self.proportions.radius)
            found += [ScenePart(mesh, self.index[part.name], color=color, name=part.name) for mesh in meshes]
        found += [self._joint(corner) for corner in self.joints]
        bare = [solid for solid in self.shape.ellipsoids if solid.bare]
        return found + boxes(bare, self.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Between the open ends of two bodies of one leg."""
        found = []
        for leg in dict.fromkeys(self.leg.values()):
            open_ = [corner for corner in self.ends if self.leg[corner.body or ""] == leg]
            if len(open_) == 2 and open_[0].body != open_[1].body:
                bodies = (self.index[open_[0].body or ""], self.index[open_[1].body or ""])
                ends, radius = np.array([corner.point for corner in open_]), SLIDE * self.proportions.radius
                found.append(Strut(bodies, ends, radius, paint(METAL), name=f"slide of {open_[1].body}"))
        return found

    def _joint(self, corner: Corner) -> ScenePart:
        body, radius = self.index[corner.body or ""], self.proportions.radius
        at = (*corner.point.tolist(), 0.0, 0.0, 0.0, 1.0)
        knob, pose = solids.sphere(BALL * radius), at
        if self.proportions.normal is not None:  # of a planar mechanism all joints turn about one axis
            knob, pose = solids.cylinder(DRUM * radius, WIDTH * radius), turned_to(self.proportions.normal, at)
        return ScenePart(knob, body, pose, paint(METAL), name=corner.body or "")


def _corners(shape: Shape) -> list[Corner]:
    """The ends of all outlines, and all corners of closed ones, with their places at home."""
    R, x = shape.places(shape.system.start)
    system = shape.system
    assert isinstance(system, Mechanism)
    found = [Corner(None, point, point) for line in system.outlines for point in _turns(line)]
    for part in system.parts:
        k = shape.names.index(part.name)
        found += [Corner(part.name, point, R[k] @ point + x[k]) for point in _turns(part.outline)]
    return found


def _turns(line: Polyline) -> np.ndarray:
    """The ends of a line, and its corners if they are few and not those of an arc."""
    points = np.array(line, float).reshape(-1, 3)
    few = points if len(points) <= CORNERS else points[[0, -1]]
    return few[:-1] if len(few) > 2 and np.abs(few[0] - few[-1]).max() <= SHORT else few


def _drawn(line: Polyline, radius: float) -> list[Mesh]:
    points = np.array(line, float).reshape(-1, 3)
    if len(points) < 2 or np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= SHORT:
        return []
    return [solids.prism(points[:-1], PLATE * radius)] if _is_plate(points) else [solids.tube(points, radius)]


def _is_plate(points: np.ndarray) -> bool:
    """Whether a line is the rim of a flat convex plate."""
    size = float(np.ptp(points, axis=0).max())
    if len(points) < 4 or np.abs(points[0] - points[-1]).max() > FLAT * size:
        return False
    corners = points[:-1] - points[:-1].mean(axis=0)
    edges = np.roll(corners, -1, axis=0) - corners
    turns = np.cross(edges, np.roll(edges, -1, axis=0))
    normal = turns.sum(axis=0)
    normal = normal / (np.linalg.norm(normal) or 1.0)
    return bool((turns @ normal > 0.0).all() and np.abs(corners @ normal).max() <= FLAT * size)


def _legs(system: Mechanism) -> dict[str, int]:
    """The leg of every body, by number: bodies whose names end alike, arm_1 and forearm_1, are of one."""
    ends = [part.name.rpartition("_")[2] for part in system.parts]
    order = list(dict.fromkeys(ends))
    return {part.name: order.index(end) for part, end in zip(system.parts, ends, strict=True)}
