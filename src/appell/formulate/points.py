"""Points of a robot and how they move: what contact and impact need to know.

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

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, Vector, select, sqrt
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.kinematics import world_poses
from appell.formulate.link_motion import accelerations, carried_partials, steps, velocities
from appell.formulate.tree import Tree
from appell.model.frame import Frame


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
