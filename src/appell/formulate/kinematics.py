"""Where the links and frames of a robot are, and how they move with v.

A Jacobian has six rows, linear first. Its columns are the partials carried to the frame, expressed in one of three
ways: LOCAL, the frame's own axes; LOCAL_WORLD_ALIGNED, the frame's origin in world axes; WORLD, the point of the
frame's link that passes the world's origin, in world axes.

A point r of a link at pose (R, x), with V, ω and s̈, W the link's velocity and acceleration in its own coordinates:

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
from appell.formulate.recursion import Steps, accelerations, carried_partials, steps, velocities
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD, Frame
from appell.model.joints import Partial

NEAR = 12  # joints on the way to a frame, up to which every partial is carried over every link
Change = Callable[[Pose, Partial], Partial]
Wrenches = Mapping[Frame, Vector]  # frame -> six numbers (force, moment)

# how a partial in the frame's own axes is expressed, given the frame's pose in the world
REFERENCES: dict[str, Change] = {
    "LOCAL": lambda pose, p: p,
    "LOCAL_WORLD_ALIGNED": lambda pose, p: Partial(pose.rotation @ p.angular, pose.rotation @ p.linear),
    "WORLD": lambda pose, p: Partial(
        pose.rotation @ p.angular, pose.rotation @ p.linear + pose.translation.cross(pose.rotation @ p.angular)
    ),
}


def world_poses(tree: Tree, step: Steps) -> dict[str | None, Pose]:
    """The pose of every link in the world."""
    found: dict[str | None, Pose] = {WORLD: Pose()}
    for link in tree.links:
        parent, R, s = found[link.parent], step[link.name].R, step[link.name].s
        rotation = parent.rotation
        for factor in R.factors:
            rotation = rotation @ factor
        found[link.name] = Pose(rotation, parent.apply(s))
    return found


def frame_pose(tree: Tree, frame: Frame, q: Vector) -> Pose:
    """Where a frame stands in the world."""
    return world_poses(tree, steps(tree, q))[frame.body] @ frame.pose


def frame_jacobian(tree: Tree, frame: Frame, reference: str, q: Vector) -> list[list[Scalar]]:
    """J with (linear, angular) velocity of the frame = J v."""
    step = steps(tree, q)
    path = list(tree.path(frame.body))
    if len(path) > NEAR:
        partials, world = _partials_from_afar(path, step, frame)
    else:
        world = world_poses(tree, step)[frame.body] @ frame.pose
        carried = carried_partials(tree, step)[frame.body]
        partials = {name: [_seen_at(frame.pose, p) for p in inboard] for name, inboard in carried.items()}
    change = REFERENCES[reference]
    columns = {name: [_column(change(world, p)) for p in inboard] for name, inboard in partials.items()}
    return tree.gather_columns(columns, rows=6)


def _partials_from_afar(path: Sequence[TreeLink], step: Steps, frame: Frame) -> tuple[dict[str, list[Partial]], Pose]:
    """The partials of all links on the way to a frame, at the frame, and the frame's pose: O(n).

    Carrying every partial over every link on the way is O(n²), and cheaper for few. Here the pose of the frame is
    carried inward, from link to link, and every partial is seen from the frame once.
    """
    found, pose = {}, frame.pose
    for link in path:
        found[link.name] = [_seen_at(pose, p) for p in link.partials]
        R, s = step[link.name].R, step[link.name].s
        pose = Pose(R @ pose.rotation, R @ pose.translation + s)
    return found, pose


def frame_velocity(tree: Tree, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
    """(linear, angular) velocity of the frame: J v in O(n), without J."""
    if frame.body is WORLD:
        return [0.0] * 6
    step = steps(tree, q)
    link = velocities(tree, step, v)[frame.body]
    at_frame = _seen_at(frame.pose, Partial(link.omega, link.linear))
    if reference == "LOCAL":
        return _column(at_frame)
    return _column(REFERENCES[reference](world_poses(tree, step)[frame.body] @ frame.pose, at_frame))


def frame_wrench(tree: Tree, frame: Frame, reference: str, q: Vector, wrench: Vector) -> tuple[Vec3, Vec3]:
    """Force and moment about the link's origin, in link coordinates, of a wrench on a frame, (force, moment)."""
    force, moment = Vec3.of(wrench[:3]), Vec3.of(wrench[3:])
    if reference != "LOCAL":
        world = world_poses(tree, steps(tree, q))[frame.body] @ frame.pose
        if reference == "WORLD":
            moment = moment - world.translation.cross(force)
        force, moment = world.rotation.T @ force, world.rotation.T @ moment
    on_link = frame.pose.rotation @ force
    return on_link, frame.pose.rotation @ moment + frame.pose.translation.cross(on_link)


def _seen_at(pose: Pose, partial: Partial) -> Partial:
    """A partial at the origin and in the axes of a pose."""
    b, u = partial.angular, partial.linear
    back = pose.rotation.T
    return Partial(back @ b, back @ (u + b.cross(pose.translation)))


def _column(partial: Partial) -> list[Scalar]:
    return [*partial.linear, *partial.angular]


def positions(tree: Tree, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
    """Where the frames' origins are (1)."""
    pose = world_poses(tree, steps(tree, q))
    return [pose[frame.body].apply(frame.pose.translation) for frame in frames]


@dataclass(frozen=True)
class PointMotion:
    """A point of the robot, in world coordinates."""

    position: Vec3
    velocity: Vec3
    drift: Vec3
    J: list[list[Scalar]]  # three rows


def point_motions(tree: Tree, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
    """(1) to (3) for the origins of frames."""
    still = tree.with_gravity(ZERO)
    step = steps(still, q)
    pose, velocity, partials = world_poses(still, step), velocities(still, step, v), carried_partials(still, step)
    acceleration = accelerations(still, step, v, [0.0] * tree.robot.nv)
    found = []
    for frame in frames:
        R, r = pose[frame.body].rotation, frame.pose.translation
        motion, drag = velocity[frame.body], acceleration[frame.body]
        columns = {
            name: [list(R @ (p.linear + p.angular.cross(r))) for p in inboard]
            for name, inboard in partials[frame.body].items()
        }
        found.append(
            PointMotion(
                position=pose[frame.body].apply(r),
                velocity=R @ (motion.linear + motion.omega.cross(r)),
                drift=R @ (drag.acc + drag.W @ r),
                J=still.gather_columns(columns, rows=3),
            )
        )
    return found


@dataclass(frozen=True)
class WallMotion:
    """A point seen from a wall."""

    gap: Scalar
    slope: Scalar  # |g|
    normal: Vec3
    bend: Scalar  # ṗᵀHṗ/|g|, the last term of (5)

    @property
    def frame(self) -> tuple[Vec3, Vec3, Vec3]:
        """Normal and two tangents, right-handed; the first tangent lies in the x-y plane where the normal does."""
        n = self.normal
        level = 0.81 - n.z * n.z
        helper = Vec3(0.0, select(level, 0.0, 1.0), select(level, 1.0, 0.0))
        first = helper.cross(n)
        first = (1.0 / sqrt(first.dot(first))) * first
        return n, first, n.cross(first)


def wall_motion(gap: Scalar, gradient: Vec3, hessian: Sequence[Vec3], velocity: Vec3) -> WallMotion:
    slope = sqrt(gradient.dot(gradient))
    turned = Vec3.of(row.dot(velocity) for row in hessian)
    return WallMotion(gap, slope, (1.0 / slope) * gradient, velocity.dot(turned) / slope)
