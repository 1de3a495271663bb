"""Links of a tree drawn from its geometry: tapered rods between joints, drums along joint axes, boxes of free bodies.

Rods become thinner outwards, as those of arms do. A slide is a rod between two bodies, as long as they are apart.
"""

from __future__ import annotations

import numpy as np

from appell.display import solids
from appell.display.poses import turned_to
from appell.display.scene import WORLD, Color, ScenePart, Strut
from appell.model.joints import Prismatic, Revolute
from appell.model.joints.one_axis import OneAxis
from appell.model.robot import Link, Robot
from appell.motion.pictures.shape import Segment, Shape, branches, is_matter
from appell.motion.staging.blocks import boxes, trunk
from appell.motion.staging.paint import GROUND, METAL, numbered, paint
from appell.motion.staging.proportions import Proportions

TAPER = 0.45  # how much of its radius a rod has lost at the end of the longest chain
STEPS = 10  # of the taper, so that many links share their meshes
DRUM, WIDTH = 1.45, 3.1  # radius and length of a joint, in radii of the rod
FOOT = 2.2  # radius of what a robot is bolted to the world by
SLIDE = 0.6  # radius of a slide
KNOB = 0.8  # radius of a named point on what flies
BOB = 1.6  # radius of the ball at the end of a line that only leads to a centre of mass


class Limbs:
    """The parts and struts of a tree of which nobody said how it looks."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        self.shape, self.proportions, self.color = shape, proportions, color
        self.tree: Robot = shape.system.tree
        self.index = {name: k for k, name in enumerate(shape.names)}
        self.branch = branches(self.tree)
        self.depth = _depths(self.tree)
        self.loose = {link.name for link in self.tree.links if link.parent is None and link.joint.motion.nv > 1}
        self.longest = max(1, *self.depth.values()) if self.depth else 1

    def parts(self) -> list[ScenePart]:
        found = [part for segment in self.shape.segments for part in self._rod(segment)]
        found += [self._drum(link) for link in self.tree.links if is_matter(self.tree, link) and _is_jointed(link)]
        found += [self._foot(link) for link in self.tree.links if self._is_bolted(link)]
        loose = [e for e in self.shape.ellipsoids if e.body in self.loose]
        found += [trunk(e, self.tree, self.index, self.proportions, self._color(e.body)) for e in loose]
        bare = [e for e in self.shape.ellipsoids if e.bare and e.body not in self.loose]
        return found + boxes(bare, self.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Slides."""
        return [
            Strut(
                (self._body(segment.bodies[0]), self._body(segment.bodies[1])),
                segment.ends,
                SLIDE * self._radius(segment.bodies[1]),
                paint(METAL),
                name=segment.bodies[1] or "",
            )
            for segment in self.shape.segments
            if segment.bodies[0] != segment.bodies[1] and not segment.thin
        ]

    def _rod(self, segment: Segment) -> list[ScenePart]:
        owner = segment.bodies[0]
        if segment.bodies[1] != owner or segment.rim or (owner is None and not self._is_bracket(segment)):
            return []
        start, end = segment.ends
        at_end = (*end, 0.0, 0.0, 0.0, 1.0)
        color, body, name = self._color(owner), self._body(owner), owner or "world"
        if owner in self.loose and not self._carries(segment):
            return [ScenePart(solids.sphere(KNOB * self.proportions.radius), body, at_end, paint(METAL), name=name)]
        length = float(np.linalg.norm(end - start))
        pose = turned_to(end - start, (*(0.5 * (start + end)), 0.0, 0.0, 0.0, 1.0))
        first, last = self._radius(owner), self._radius(owner, 1)
        if not segment.thin:
            return [ScenePart(solids.rod(first, last, length), body, pose, color, name=name)]
        return [
            ScenePart(solids.rod(0.5 * first, 0.5 * first, length), body, pose, color, name=name),
            ScenePart(solids.sphere(BOB * first), body, at_end, color, name=name),
        ]

    def _drum(self, link: Link) -> ScenePart:
        radius, body, motion = self._radius(link.name), self._body(link.name), link.joint.motion
        color, name = paint(METAL), link.joint.name
        if isinstance(motion, Revolute):
            drum = solids.cylinder(DRUM * radius, WIDTH * radius)
            return ScenePart(drum, body, turned_to([*motion.axis]), color, name=name)
        if isinstance(motion, Prismatic):
            sleeve = solids.box(2.4 * radius, 2.4 * radius, WIDTH * radius)
            return ScenePart(sleeve, body, turned_to([*motion.axis]), color, name=name)
        return ScenePart(solids.sphere(DRUM * radius), body, color=color, name=name)

    def _foot(self, link: Link) -> ScenePart:
        place, radius = link.joint.placement, self._radius(link.name)
        motion = link.joint.motion
        assert isinstance(motion, OneAxis)
        pose = turned_to([*(place.rotation @ motion.axis)], (*place.translation, 0.0, 0.0, 0.0, 1.0))
        return ScenePart(solids.cylinder(FOOT * radius, 0.5 * WIDTH * radius), WORLD, pose, paint(GROUND), name="world")

    def _is_bolted(self, link: Link) -> bool:
        """Whether the world carries it by a joint with an axis, as the anchors of a shape are."""
        return link.parent is None and isinstance(link.joint.motion, OneAxis) and is_matter(self.tree, link)

    def _is_bracket(self, segment: Segment) -> bool:
        """Whether a line of the world holds a joint, or a frame: it does not hold what flies or drives."""
        free = [link for link in self.tree.links if link.parent is None and not self._is_bolted(link)]
        return all(np.any(segment.ends[1] != [*link.joint.placement.translation]) for link in free)

    def _carries(self, segment: Segment) -> bool:
        """Whether a line of a link leads to another link, and not to a frame or a centre of mass only."""
        own = [link for link in self.tree.links if link.parent == segment.bodies[0]]
        return any(np.all(segment.ends[1] == [*link.joint.placement.translation]) for link in own)

    def _radius(self, owner: str | None, further: int = 0) -> float:
        """Of a rod that begins at the joint of a link, or so many joints on."""
        share = min(1.0, (self.depth.get(owner, 0) + further) / self.longest)
        return self.proportions.radius * (1.0 - TAPER * round(STEPS * share) / STEPS)

    def _color(self, owner: str | None) -> Color:
        if owner is None:
            return paint(GROUND)
        return self.color or numbered(self.branch.get(owner, 0))

    def _body(self, owner: str | None) -> int:
        return WORLD if owner is None else self.index[owner]


def _depths(robot: Robot) -> dict[str | None, int]:
    """How many links with matter each stands on."""
    depth: dict[str | None, int] = {None: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + (1 if is_matter(robot, link) else 0)
    return depth


def _is_jointed(link: Link) -> bool:
    """Whether its joint is a place on the robot, which that of a body that flies is not."""
    return link.joint.motion.nv < 6 and not (link.parent is None and link.joint.motion.nv > 1)
