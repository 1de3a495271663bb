"""How a frame moves, seen from a link of the loop that it closes: the base of a robot drops out exactly.

From a link P that is held still, the way to a frame leads over joints, inward to the last common ancestor and outward
from there. All vectors are in axes of P. With Ω, σ the joint's own angular velocity and slide, seen from P, Δ the way
from one origin to the next, W r = α × r + ω × (ω × r), at a = 0:

    outward     ω⁺ = ω + Ω      α⁺ = α + ω × Ω      u⁺ = u + ω × Δ + σ       u̇⁺ = u̇ + W Δ + (ω + ω⁺) × σ        (1)
    inward      ω⁺ = ω - Ω      α⁺ = α - ω × Ω      u⁺ = u - σ               u̇⁺ = u̇ - (ω + ω⁺) × σ              (2)

(2) is (1) solved for the parent, at the origin of the link: a point of the parent that needs no Δ. A unit of a joint's
velocity moves a point x of everything beyond the joint by ±(σ + Ω × (x - o)), o being the origin of its link: a column
of K.

A joint of one axis turns about a coordinate axis of its link, or its link is given other axes A with J(q) A = A J_z(q).
Constant turns and shifts between joints are composed once, and what misses 0 or ±1 by rounding becomes it: the plane of
a loop then is a coordinate plane, wherever it lies on the robot, and rows out of it are literal zeros.

From where a closure is seen: this decides what its rows cost, and which of them are literal zeros.

Any link of a loop will do, and any constant axes in it: positions, forces and which motions a closure allows are the
same. The last common ancestor of both sides, in the axes in which a first joint of one axis is placed on it, makes rows
of a planar loop literal zeros. Where one side is the ancestor itself and the other leaves it by a joint of several
axes, as a foot on the ground does, the first link beyond is the better place: the velocities of such a joint are given
in axes of its link, so that its columns are units and its orientation stays out of all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.looped.aligned import upright
from appell.formulate.recursion import combine
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import IN_PLACE, Frame
from appell.model.joints import Motion, OneAxis, Partial, Revolute

ROUNDING = 16.0 * 2.0**-52  # of products of a few rotations; no joint is tilted by so little on purpose


@dataclass(frozen=True)
class Viewpoint:
    """From where a loop is seen: a link (None is the world) and a constant pose in it."""

    link: str | None
    pose: Pose = IN_PLACE


@dataclass(frozen=True)
class Column:
    """What a unit of each velocity of a joint does to all beyond it, at the origin of the joint's link."""

    link: str
    partials: Sequence[Partial]
    origin: Vec3

    def velocities(self, point: Vec3) -> list[Vec3]:
        """Of a point beyond the joint."""
        return [p.linear + p.angular.cross(point - self.origin) for p in self.partials]


@dataclass(frozen=True)
class FrameMotion:
    """A frame and the body that it is fixed to, in axes of the view."""

    R: Mat3 = IDENTITY
    x: Vec3 = ZERO
    omega: Vec3 = ZERO
    alpha: Vec3 = ZERO
    pivot: Vec3 = ZERO  # the point of the body whose velocity and acceleration are known
    u: Vec3 = ZERO
    acc: Vec3 = ZERO
    columns: tuple[Column, ...] = ()

    @property
    def axes(self) -> tuple[Vec3, Vec3, Vec3]:
        return self.R.T.rows

    def velocity(self, point: Vec3) -> Vec3:
        """Of the point of the body that is there."""
        return self.u + self.omega.cross(point - self.pivot)

    def acceleration(self, point: Vec3) -> Vec3:
        """Of the same, at a = 0."""
        r = point - self.pivot
        return self.acc + self.alpha.cross(r) + self.omega.cross(self.omega.cross(r))

    def velocity_rate(self, place: Vec3, rate: Vec3) -> Vec3:
        """How the velocity of whatever point of the body is at a place changes while the place moves, at a = 0."""
        return self.acc + self.alpha.cross(place - self.pivot) + self.omega.cross(rate - self.u)

    def rate(self, fixed: Vec3) -> Vec3:
        """Of a vector that is fixed to the body."""
        return self.omega.cross(fixed)

    def second_rate(self, fixed: Vec3) -> Vec3:
        return self.alpha.cross(fixed) + self.omega.cross(self.omega.cross(fixed))

    def shifted(self, step: Pose, back: Vec3 = ZERO) -> FrameMotion:
        """At another pose of the same body; `back` is a shift of this one that was still to be made."""
        return replace(self, R=self.R @ step.rotation, x=self.x + self.R @ (step.translation + back))

    def outward(self, link: TreeLink, motion: Motion, q: Vector, v: Vector) -> FrameMotion:
        """Beyond the joint of a link, from its placement (1)."""
        pose = motion.pose(q)
        R, x = self.R @ pose.rotation, self.x + self.R @ pose.translation
        partials = _turned(R, motion, 1.0)
        spin, slide = _own(partials, v)
        omega, alpha = self.omega + spin, self.alpha + self.omega.cross(spin)
        u, acc = self.velocity(x) + slide, self.acceleration(x) + (self.omega + omega).cross(slide)
        return FrameMotion(R, x, omega, alpha, x, u, acc, (*self.columns, Column(link.name, partials, x)))

    def inward(self, link: TreeLink, motion: Motion, q: Vector, v: Vector) -> tuple[FrameMotion, Vec3]:
        """On the parent of a link, in the axes of the joint's placement; and the shift to it, still to be made (2)."""
        pose = motion.pose(q)
        spin, slide = _own(_turned(self.R, motion, 1.0), v)
        omega = self.omega - spin
        u, acc = self.velocity(self.x) - slide, self.acceleration(self.x) - (self.omega + omega).cross(slide)
        columns = (*self.columns, Column(link.name, _turned(self.R, motion, -1.0), self.x))
        R, alpha = self.R @ pose.rotation.T, self.alpha - self.omega.cross(spin)
        return FrameMotion(R, self.x, omega, alpha, self.x, u, acc, columns), -pose.translation


def frame_motion(tree: Tree, view: Viewpoint, frame: Frame, q: Vector, v: Vector) -> FrameMotion:
    """The motion of a frame as it is seen from a view."""
    inward, outward = route(tree, view.link, frame.body)
    moved, here, back = FrameMotion(), view.pose, ZERO
    for link in inward:
        axes, motion = canonical(link.joint.motion)
        aligned = moved.shifted(step(here, axes), back)
        moved, back = aligned.inward(link, motion, tree.position(link, q), tree.velocity(link, v))
        here = link.placement @ axes
    for link in outward:
        axes, motion = canonical(link.joint.motion)
        placed = moved.shifted(step(here, link.placement @ axes), back)
        moved, back = placed.outward(link, motion, tree.position(link, q), tree.velocity(link, v)), ZERO
        here = axes
    return moved.shifted(step(here, frame.pose), back)


def route(tree: Tree, start: str | None, end: str | None) -> tuple[list[TreeLink], list[TreeLink]]:
    """The links whose joints lie between two links: those to be crossed inward, then those outward, in this order."""
    up, down = list(tree.path(start)), list(tree.path(end))
    while up and down and up[-1].name == down[-1].name:
        up, down = up[:-1], down[:-1]
    return up, down[::-1]


def canonical(motion: Motion) -> tuple[Pose, Motion]:
    """Axes of a link in which its joint turns about, or slides along, one of them; and the motion there."""
    if not isinstance(motion, OneAxis) or sum(x != 0.0 for x in motion.axis) == 1:
        return IN_PLACE, motion
    return Pose(upright(motion.axis)), replace(motion, axis=UNITS[2])


def step(here: Pose, there: Pose) -> Pose:
    """One constant pose seen from another, without what is only rounding."""
    back = here.rotation.T
    size = ROUNDING * (math.hypot(*here.translation) + math.hypot(*there.translation))
    rotation = Mat3.of([snap(x, ROUNDING) for x in row] for row in (back @ there.rotation).rows)
    shift = back @ (there.translation - here.translation)
    return Pose(rotation, Vec3.of(0.0 if abs(x) <= size else x for x in shift))


def _turned(R: Mat3, motion: Motion, sign: float) -> list[Partial]:
    return [Partial(R @ (sign * p.angular), R @ (sign * p.linear)) for p in motion.partials]


def _own(partials: Sequence[Partial], v: Vector) -> tuple[Vec3, Vec3]:
    """The angular velocity and the slide of a joint."""
    return combine((p.angular for p in partials), v), combine((p.linear for p in partials), v)


def dot_columns(columns: Sequence[Column], force: Vec3, moment: Vec3, point: Vec3) -> dict[str, list[Scalar]]:
    """The power of a force at a point and a moment, for a unit of every velocity, by link."""
    return {
        column.link: [
            force.dot(velocity) + moment.dot(p.angular)
            for velocity, p in zip(column.velocities(point), column.partials, strict=True)
        ]
        for column in columns
    }


def view_of_closure(tree: Tree, a: Frame, b: Frame) -> Viewpoint:
    back, sideways = route(tree, a.body, b.body)
    firsts = [side[0] for side in (back[::-1], sideways) if side]
    if len(firsts) == 1 and firsts[0].joint.motion.nv > 1:
        return Viewpoint(firsts[0].name)
    first = next((link for link in firsts if link.joint.motion.nv == 1), firsts[0])
    return Viewpoint(first.parent, placed(first))


def placed(link: TreeLink) -> Pose:
    """Where the joint of a link stands on the parent, in the axes that suit it."""
    return link.placement @ canonical(link.joint.motion)[0]


def view_of_wheel(tree: Tree, wheel: Frame, plane: Frame) -> Viewpoint:
    """The link on which a wheel turns, where its axis stands still; else the wheel itself.

    There the lateral rows of two wheels on one axle are one expression, and on a base that moves in a plane the normal
    rows literal zeros.
    """
    inward, _ = route(tree, wheel.body, plane.body)
    if inward and isinstance(inward[0].joint.motion, Revolute):
        return Viewpoint(inward[0].parent, placed(inward[0]))
    return Viewpoint(wheel.body, wheel.pose)


def view_from(frame: Frame) -> Viewpoint:
    """The frame itself: a surface, on which normals stand still, or a blade."""
    return Viewpoint(frame.body, frame.pose)
