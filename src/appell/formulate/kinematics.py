"""Poses, Jacobians and velocities of frames, and the motion of points towards walls.

A Jacobian has six rows, linear first. Its columns are the partials carried to the frame, expressed in one of three
references: LOCAL, the frame's own axes; LOCAL_WORLD_ALIGNED, the frame's origin in world axes; WORLD, the point of the
frame's link at the world's origin, in world axes.

For a point r of a link at pose (R, x), with V, ω and s̈, W the link's velocity and acceleration in its own coordinates:

    position      p = x + R r                                                                                (1)
    velocity      ṗ = R (V + ω × r) = J v          J: the partials carried to r, in world axes               (2)
    drift         p̈ at a = 0, = J̇ v = R (s̈ + W r)  without gravity                                           (3)

With the gap φ(p) of a wall, its gradient g, unit normal n = g/|g| and Hessian H, the normal motion of the point is

    n·ṗ = (nᵀJ) v                                                                                            (4)
    d²φ/dt² / |g| = (nᵀJ) a + n·(J̇ v) + ṗᵀHṗ/|g|                                                            (5)

Impulses f along the normals of several points change the velocity by M (v⁺ - v⁻) = Jᵀn f; Shafei 2018, eqs. 44-49.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, select, sqrt
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import (
    LinkTransform,
    LinkTransforms,
    accelerations,
    carried_partials,
    link_transforms,
    velocities,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD, Frame
from appell.model.joints import Partial

MAX_CARRIED_JOINTS = 12  # largest number of joints to a frame for which carrying partials link by link is cheaper
Change = Callable[[Pose, Partial], Partial]
Wrenches = Mapping[Frame, Vector]  # frame -> six numbers (force, moment)

# expression of a partial in a reference, given the frame's pose in the world and the partial in the frame's own axes
REFERENCES: dict[str, Change] = {
    "LOCAL": lambda pose, p: p,
    "LOCAL_WORLD_ALIGNED": lambda pose, p: Partial(pose.rotation @ p.angular, pose.rotation @ p.linear),
    "WORLD": lambda pose, p: Partial(
        pose.rotation @ p.angular, pose.rotation @ p.linear + pose.translation.cross(pose.rotation @ p.angular)
    ),
}


def world_poses(tree: Tree, transforms: LinkTransforms | Mapping[str, LinkTransform]) -> dict[str | None, Pose]:
    """Pose of every link in the world."""
    poses: dict[str | None, Pose] = {WORLD: Pose()}
    for link in tree.links:
        parent, R, s = poses[link.parent], transforms[link.name].R, transforms[link.name].s
        rotation = parent.rotation
        for factor in R.factors:
            rotation = rotation @ factor
        poses[link.name] = Pose(rotation, parent.apply(s))
    return poses


def frame_pose(tree: Tree, frame: Frame, q: Vector) -> Pose:
    """Pose of a frame in the world."""
    return world_poses(tree, link_transforms(tree, q))[frame.body] @ frame.pose


def frame_jacobian(tree: Tree, frame: Frame, reference: str, q: Vector) -> list[list[Scalar]]:
    """Jacobian J (6, nv) of a frame: (linear, angular) velocity = J v."""
    transforms = link_transforms(tree, q)
    path = list(tree.path(frame.body))
    if len(path) > MAX_CARRIED_JOINTS:
        partials, world = partials_at_frame(path, transforms, frame)
    else:
        world = world_poses(tree, transforms)[frame.body] @ frame.pose
        carried = carried_partials(tree, transforms)[frame.body]
        partials = {name: [at_pose(frame.pose, p) for p in inboard] for name, inboard in carried.items()}
    change = REFERENCES[reference]
    columns = {name: [_column(change(world, p)) for p in inboard] for name, inboard in partials.items()}
    return tree.gather_columns(columns, rows=6)


def partials_at_frame(
    path: Sequence[TreeLink], transforms: LinkTransforms, frame: Frame
) -> tuple[dict[str, list[Partial]], Pose]:
    """Partials of all links on the path to a frame, at the frame, and the frame's pose in the world, in O(n).

    Carrying every partial over every link on the path is O(n²), and cheaper for short paths. Here the pose of the frame
    is carried inward, from link to link, and every partial is transformed to the frame once.
    """
    partials, pose = {}, frame.pose
    for link in path:
        partials[link.name] = [at_pose(pose, p) for p in link.partials]
        R, s = transforms[link.name].R, transforms[link.name].s
        pose = Pose(R @ pose.rotation, R @ pose.translation + s)
    return partials, pose


def frame_velocity(tree: Tree, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
    """(linear, angular) velocity of a frame: J v in O(n), without J."""
    if frame.body is WORLD:
        return [0.0] * 6
    transforms = link_transforms(tree, q)
    link = velocities(tree, transforms, v)[frame.body]
    at_frame = at_pose(frame.pose, link)
    if reference == "LOCAL":
        return _column(at_frame)
    return _column(REFERENCES[reference](world_poses(tree, transforms)[frame.body] @ frame.pose, at_frame))


def frame_wrench(tree: Tree, frame: Frame, reference: str, q: Vector, wrench: Vector) -> tuple[Vec3, Vec3]:
    """Transform a wrench (force, moment) on a frame to the origin and the coordinates of its link."""
    force, moment = Vec3.of(wrench[:3]), Vec3.of(wrench[3:])
    if reference != "LOCAL":
        world = world_poses(tree, link_transforms(tree, q))[frame.body] @ frame.pose
        if reference == "WORLD":
            moment = moment - world.translation.cross(force)
        force, moment = world.rotation.T @ force, world.rotation.T @ moment
    on_link = frame.pose.rotation @ force
    return on_link, frame.pose.rotation @ moment + frame.pose.translation.cross(on_link)


def at_pose(pose: Pose, partial: Partial) -> Partial:
    """Transform a partial to the origin and the axes of a pose."""
    return partial.to_inner(pose.rotation, pose.translation)


def _column(partial: Partial) -> list[Scalar]:
    return [*partial.linear, *partial.angular]


def positions(tree: Tree, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
    """Positions of the origins of frames in the world, by (1)."""
    pose = world_poses(tree, link_transforms(tree, q))
    return [pose[frame.body].apply(frame.pose.translation) for frame in frames]


@dataclass(frozen=True)
class PointMotion:
    """Motion of a point of the robot, in world coordinates."""

    position: Vec3
    velocity: Vec3
    drift: Vec3
    J: list[list[Scalar]]  # three rows


@dataclass(frozen=True)
class FrameKinematics:
    """Motion of a frame of the robot in world axes: velocities, their rates at a = 0, and six rows J, linear first."""

    pose: Pose
    velocity: Vec3
    omega: Vec3
    drift: Vec3
    alpha: Vec3
    J: list[list[Scalar]]


def frame_motions(tree: Tree, frames: Sequence[Frame], q: Vector, v: Vector) -> list[FrameKinematics]:
    """Motion of frames, by (1) to (3)."""
    weightless = tree.with_gravity(ZERO)
    transforms = link_transforms(weightless, q)
    pose, velocity = world_poses(weightless, transforms), velocities(weightless, transforms, v)
    partials = carried_partials(weightless, transforms)
    acceleration = accelerations(weightless, transforms, v, [0.0] * tree.robot.nv)
    motions = []
    for frame in frames:
        if frame.body is WORLD:
            nothing = [[0.0] * tree.robot.nv for _ in range(6)]
            motions.append(FrameKinematics(frame.pose, ZERO, ZERO, ZERO, ZERO, nothing))
            continue
        R, r = pose[frame.body].rotation, frame.pose.translation
        link_velocity, link_acceleration = velocity[frame.body], acceleration[frame.body]
        columns = {
            name: [[*(R @ (p.linear + p.angular.cross(r))), *(R @ p.angular)] for p in inboard]
            for name, inboard in partials[frame.body].items()
        }
        motions.append(
            FrameKinematics(
                pose=pose[frame.body] @ frame.pose,
                velocity=R @ (link_velocity.linear + link_velocity.angular.cross(r)),
                omega=R @ link_velocity.angular,
                drift=R @ (link_acceleration.acc + link_acceleration.W @ r),
                alpha=R @ link_acceleration.alpha,
                J=weightless.gather_columns(columns, rows=6),
            )
        )
    return motions


def point_motions(tree: Tree, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
    """Motion of the origins of frames."""
    motions = frame_motions(tree, frames, q, v)
    return [PointMotion(m.pose.translation, m.velocity, m.drift, m.J[:3]) for m in motions]


def contact_axes(normal: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """Normal and two tangents, right-handed; the first tangent is in the x-y plane unless the normal is near z."""
    level = 0.81 - normal.z * normal.z
    helper = Vec3(0.0, select(level, 0.0, 1.0), select(level, 1.0, 0.0))
    first = helper.cross(normal)
    first = (1.0 / sqrt(first.dot(first))) * first
    return normal, first, normal.cross(first)


@dataclass(frozen=True)
class WallMotion:
    """Motion of a point relative to a wall."""

    gap: Scalar
    slope: Scalar  # |g|
    normal: Vec3
    bend: Scalar  # ṗᵀHṗ/|g|, the last term of (5)

    @property
    def frame(self) -> tuple[Vec3, Vec3, Vec3]:
        return contact_axes(self.normal)


def wall_motion(gap: Scalar, gradient: Vec3, hessian: Sequence[Vec3], velocity: Vec3) -> WallMotion:
    """Normal motion of a point with a velocity, from the gap of a wall and its derivatives at the point."""
    slope = sqrt(gradient.dot(gradient))
    gradient_rate = Vec3.of(row.dot(velocity) for row in hessian)
    return WallMotion(gap, slope, (1.0 / slope) * gradient, velocity.dot(gradient_rate) / slope)
