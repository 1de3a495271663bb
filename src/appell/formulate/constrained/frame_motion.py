"""Motion of a frame relative to a link of the loop that it closes, so that the base of the robot drops out exactly.

From a link P that is considered at rest, the path to a frame crosses joints inward to the last common ancestor and
outward from there. All vectors are in axes of P. With Ω, σ the joint's own angular and linear velocity, Δ the vector
from one origin to the next, W r = α × r + ω × (ω × r), at a = 0:

    outward     ω⁺ = ω + Ω      α⁺ = α + ω × Ω      u⁺ = u + ω × Δ + σ       u̇⁺ = u̇ + W Δ + (ω + ω⁺) × σ        (1)
    inward      ω⁺ = ω - Ω      α⁺ = α - ω × Ω      u⁺ = u - σ               u̇⁺ = u̇ - (ω + ω⁺) × σ              (2)

(2) is (1) solved for the parent, at the origin of the link, so that Δ is not needed. A unit velocity of a joint moves a
point x beyond the joint by ±(σ + Ω × (x - o)), with o the origin of its link: a column of K.

A node of a flexible link is crossed in the same way. With its own motion (ω_e, ε_e, ρ̇, ρ̈) at δ̈ = 0 relative to the
link (`flexible.kinematics`) and Δ from the link's origin to the node:

    outward     ω⁺ = ω + ω_e    α⁺ = α + ω × ω_e + ε_e      u⁺ = u + ω × Δ + ρ̇    u̇⁺ = u̇ + W Δ + 2 ω × ρ̇ + ρ̈    (3)
    inward      ω⁺ = ω - ω_e    α⁺ = α - ω⁺ × ω_e - ε_e     u⁺ = u - ρ̇             u̇⁺ = u̇ - 2 ω⁺ × ρ̇ - ρ̈         (4)

(4) is at the node, as (2) is at the origin of the link.

The axis of a one-axis joint is a coordinate axis of its link; otherwise the link is given other axes A with
J(q) A = A J_z(q). Constant rotations and translations between joints are composed once, and entries that differ from 0
or ±1 by rounding are snapped: the plane of a planar loop is then a coordinate plane, wherever it is on the robot, and
rows out of this plane are literal zeros.

**Choice of the view.** The link and axes from which a closure is formulated determine the cost of its rows and which of
them are literal zeros. Any link of a loop and any constant axes in it are valid: positions, forces and the allowed
motions are the same. With the last common ancestor of both sides, in the axes in which the first one-axis joint is
placed on it, rows of a planar loop are literal zeros. If one side is the ancestor itself and the other is attached to
it by a joint of several axes, like a foot of a floating robot on the ground, the first link beyond this joint is
better: the velocities of such a joint are given in axes of its link, so that its columns are unit vectors and its
orientation does not enter the other columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.flexible.kinematics import NodeMotion, node_motion
from appell.formulate.looped.aligned import rotation_to_axis
from appell.formulate.recursion import Acceleration, combine, joint_twist
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.joints import Motion, OneAxis, Partial, Revolute

ROUNDING = 16.0 * 2.0**-52  # error of products of a few rotations; smaller tilts of a joint are not intentional


Crossing = tuple[TreeLink, str | None]  # a node of a link, or the joint of the link


@dataclass(frozen=True)
class Viewpoint:
    """A link (None: the world) or one of its nodes, and a constant pose in it: the axes of a constraint."""

    link: str | None
    pose: Pose = IDENTITY_POSE
    at: str | None = None  # node of a flexible link

    @property
    def frame(self) -> Frame:
        return Frame("view", self.link, self.pose, at=self.at)


@dataclass(frozen=True)
class Column:
    """Velocity of everything beyond a joint or node per unit of each of its velocities, at the joint's link or node."""

    link: str
    partials: Sequence[Partial]
    origin: Vec3
    start: int = 0  # index of the first of these velocities among those of the link

    def velocities(self, point: Vec3) -> list[Vec3]:
        """Velocities of a point beyond the joint."""
        return [p.linear + p.angular.cross(point - self.origin) for p in self.partials]


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame and of the body to which it is fixed, in axes of the view."""

    R: Mat3 = IDENTITY
    x: Vec3 = ZERO
    omega: Vec3 = ZERO
    alpha: Vec3 = ZERO
    pivot: Vec3 = ZERO  # point of the body with velocity u and acceleration acc
    u: Vec3 = ZERO
    acc: Vec3 = ZERO
    columns: tuple[Column, ...] = ()

    @property
    def axes(self) -> tuple[Vec3, Vec3, Vec3]:
        return self.R.T.rows

    def velocity(self, point: Vec3) -> Vec3:
        """Velocity of the body at a point."""
        return self.u + self.omega.cross(point - self.pivot)

    def acceleration(self, point: Vec3) -> Vec3:
        """Acceleration of the body at a point, at a = 0."""
        r = point - self.pivot
        return self.acc + self.alpha.cross(r) + self.omega.cross(self.omega.cross(r))

    def velocity_rate(self, point: Vec3, rate: Vec3) -> Vec3:
        """Rate of the velocity of the body at a point that moves with `rate`, at a = 0."""
        return self.acc + self.alpha.cross(point - self.pivot) + self.omega.cross(rate - self.u)

    def rate(self, fixed: Vec3) -> Vec3:
        """Rate of a vector that is fixed to the body."""
        return self.omega.cross(fixed)

    def second_rate(self, fixed: Vec3) -> Vec3:
        """Second rate of a vector that is fixed to the body, at a = 0."""
        return self.alpha.cross(fixed) + self.omega.cross(self.omega.cross(fixed))

    def shifted(self, pose: Pose, pending: Vec3 = ZERO) -> FrameMotion:
        """Motion at another pose of the same body; `pending` is a translation that was not yet applied."""
        return replace(self, R=self.R @ pose.rotation, x=self.x + self.R @ (pose.translation + pending))

    def outward(self, link: TreeLink, motion: Motion, q: Vector, v: Vector) -> FrameMotion:
        """Motion of a link from that of its joint's placement, by (1)."""
        pose = motion.pose(q)
        R, x = self.R @ pose.rotation, self.x + self.R @ pose.translation
        partials = _rotated(R, motion, 1.0)
        joint = joint_twist(partials, v)
        spin, slide = joint.angular, joint.linear
        omega, alpha = self.omega + spin, self.alpha + self.omega.cross(spin)
        u, acc = self.velocity(x) + slide, self.acceleration(x) + (self.omega + omega).cross(slide)
        return FrameMotion(R, x, omega, alpha, x, u, acc, (*self.columns, Column(link.name, partials, x)))

    def inward(self, link: TreeLink, motion: Motion, q: Vector, v: Vector) -> tuple[FrameMotion, Vec3]:
        """Motion of the parent of a link in the axes of the joint's placement, by (2); and the pending translation."""
        pose = motion.pose(q)
        joint = joint_twist(_rotated(self.R, motion, 1.0), v)
        spin, slide = joint.angular, joint.linear
        omega = self.omega - spin
        u, acc = self.velocity(self.x) - slide, self.acceleration(self.x) - (self.omega + omega).cross(slide)
        columns = (*self.columns, Column(link.name, _rotated(self.R, motion, -1.0), self.x))
        R, alpha = self.R @ pose.rotation.T, self.alpha - self.omega.cross(spin)
        return FrameMotion(R, self.x, omega, alpha, self.x, u, acc, columns), -pose.translation

    def past_node(self, link: TreeLink, node: NodeMotion, rates: Vector, *, outward: bool) -> FrameMotion:
        """Motion of a node from that of its link, by (3), or of the link from that of its node, by (4)."""
        link_R = self.R if outward else self.R @ node.R.T
        delta, relative = (
            link_R @ node.rho,
            node.acceleration(Acceleration(ZERO, ZERO, ZERO), rates, [0.0] * len(rates)),
        )
        spin, turn, second = link_R @ relative.omega, link_R @ relative.alpha, link_R @ relative.acc
        rho_rate = link_R @ combine((p.linear for p in node.partials), rates)
        sign = 1.0 if outward else -1.0
        at = self.x + delta if outward else self.x  # the node
        partials = [Partial(link_R @ (sign * p.angular), link_R @ (sign * p.linear)) for p in node.partials]
        columns = (*self.columns, Column(link.name, partials, at, len(link.partials)))
        carried_u, carried_acc = self.velocity(at), self.acceleration(at)
        if outward:
            omega, alpha = self.omega + spin, self.alpha + self.omega.cross(spin) + turn
            u, acc = carried_u + rho_rate, carried_acc + 2.0 * self.omega.cross(rho_rate) + second
            return FrameMotion(self.R @ node.R, at, omega, alpha, at, u, acc, columns)
        omega = self.omega - spin
        alpha = self.alpha - omega.cross(spin) - turn
        u, acc = carried_u - rho_rate, carried_acc - 2.0 * omega.cross(rho_rate) - second
        return FrameMotion(link_R, self.x - delta, omega, alpha, at, u, acc, columns)


def frame_motion(tree: Tree, view: Viewpoint, frame: Frame, q: Vector, v: Vector) -> FrameMotion:
    """Motion of a frame in the axes of a view."""
    inward, outward = route(tree, view.frame, frame)
    moved, here, pending = FrameMotion(), view.pose, ZERO

    def at_node(link: TreeLink, name: str, *, outward: bool) -> FrameMotion:
        rates = v[tree.robot.modal_span(tree.robot.link(link.name))[1]]
        aligned = moved.shifted(relative_pose(here, IDENTITY_POSE), pending)
        return aligned.past_node(link, node_motion(tree, link.name, name, q), list(rates), outward=outward)

    for link, node in inward:
        if node is not None:
            moved, here, pending = at_node(link, node, outward=False), IDENTITY_POSE, ZERO
            continue
        axes, motion = canonical(link.joint.motion)
        aligned = moved.shifted(relative_pose(here, axes), pending)
        moved, pending = aligned.inward(link, motion, tree.position(link, q), tree.velocity(link, v))
        here = link.placement @ axes
    for link, node in outward:
        if node is not None:
            moved, here, pending = at_node(link, node, outward=True), IDENTITY_POSE, ZERO
            continue
        axes, motion = canonical(link.joint.motion)
        placed = moved.shifted(relative_pose(here, link.placement @ axes), pending)
        moved, pending = placed.outward(link, motion, tree.position(link, q), tree.velocity(link, v)), ZERO
        here = axes
    return moved.shifted(relative_pose(here, frame.pose), pending)


def route(tree: Tree, start: Frame, end: Frame) -> tuple[list[Crossing], list[Crossing]]:
    """Joints and nodes between two frames: those crossed inward and those crossed outward, in this order."""
    up, down = _to_world(tree, start), _to_world(tree, end)
    while up and down and up[-1] == down[-1]:
        up, down = up[:-1], down[:-1]
    return up, down[::-1]


def _to_world(tree: Tree, frame: Frame) -> list[Crossing]:
    """Crossings from a frame to the world."""
    crossings: list[Crossing] = []
    node = frame.at
    for link in tree.path(frame.body):
        crossings += [(link, node)] if node is not None else []
        crossings.append((link, None))
        node = tree.robot.link(link.name).at
    return crossings


def canonical(motion: Motion) -> tuple[Pose, Motion]:
    """Axes of a link in which its joint moves about or along one of them, and the motion in these axes."""
    if not isinstance(motion, OneAxis) or sum(x != 0.0 for x in motion.axis) == 1:
        return IDENTITY_POSE, motion
    return Pose(rotation_to_axis(motion.axis)), replace(motion, axis=UNITS[2])


def relative_pose(here: Pose, there: Pose) -> Pose:
    """One constant pose relative to another, with rounding errors removed."""
    inverse = here.rotation.T
    size = ROUNDING * (math.hypot(*here.translation) + math.hypot(*there.translation))
    rotation = Mat3.of([snap(x, ROUNDING) for x in row] for row in (inverse @ there.rotation).rows)
    translation = inverse @ (there.translation - here.translation)
    return Pose(rotation, Vec3.of(0.0 if abs(x) <= size else x for x in translation))


def _rotated(R: Mat3, motion: Motion, sign: float) -> list[Partial]:
    return [Partial(R @ (sign * p.angular), R @ (sign * p.linear)) for p in motion.partials]


def dot_columns(
    columns: Sequence[Column], force: Vec3, moment: Vec3, point: Vec3, entries: dict[str, list[Scalar]]
) -> None:
    """Add the power of a force at a point and a moment per unit of every velocity to entries, by link."""
    for column in columns:
        row = entries.setdefault(column.link, [])
        row += [0.0] * (column.start + len(column.partials) - len(row))
        for k, (velocity, p) in enumerate(zip(column.velocities(point), column.partials, strict=True), column.start):
            row[k] = row[k] + (force.dot(velocity) + moment.dot(p.angular))


def view_of_closure(tree: Tree, a: Frame, b: Frame) -> Viewpoint:
    """View for a closure of two frames; see the module docstring."""
    inward, outward = route(tree, a, b)
    joints = [[link for link, node in side if node is None] for side in (inward[::-1], outward)]
    firsts = [side[0] for side in joints if side]
    if not firsts:  # two nodes of one link
        return Viewpoint(a.body)
    if len(firsts) == 1 and firsts[0].joint.motion.nv > 1:
        return Viewpoint(firsts[0].name)
    return _carrier(tree, next((link for link in firsts if link.joint.motion.nv == 1), firsts[0]))


def _carrier(tree: Tree, link: TreeLink) -> Viewpoint:
    """View of the link or node that carries a joint, in the axes in which the joint is placed on it."""
    return Viewpoint(link.parent, placed(link), tree.robot.link(link.name).at)


def placed(link: TreeLink) -> Pose:
    """Placement of the joint of a link on the parent, in the axes of `canonical`."""
    return link.placement @ canonical(link.joint.motion)[0]


def view_of_wheel(tree: Tree, wheel: Frame, plane: Frame) -> Viewpoint:
    """View for a wheel: the link that carries it, in which its axis is at rest; otherwise the wheel itself.

    In this view the lateral rows of two wheels on one axle are the same expression, and the normal rows of a base that
    moves in a plane are literal zeros.
    """
    inward, _ = route(tree, wheel, plane)
    if inward and inward[0][1] is None and isinstance(inward[0][0].joint.motion, Revolute):
        return _carrier(tree, inward[0][0])
    return view_from(wheel)


def view_from(frame: Frame) -> Viewpoint:
    """View of the frame itself: a surface, in which its normals are at rest, or a blade."""
    return Viewpoint(frame.body, frame.pose, frame.at)
