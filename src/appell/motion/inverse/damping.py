"""One step of damped least squares, compiled: where the frame is, what it misses, and how the joints make it good.

    e = ( Rᵀ(p* - p),  w log(RᵀR*) )         the error in the frame's own axes; w weighs rad against m      (1)
    λ = ½ |e|² damping + floor               Levenberg-Marquardt damping that fades as the error does       (2)
    Δ = z + F Jᵀ (J F Jᵀ + λ)⁻¹ (e - J z)    the step; z pulls towards a preferred posture                  (3)

F is diagonal, 1 for joints that are free and 0 for those that stand at a limit and are pushed against it; z moves only
the free ones. With λ → 0 the bracket removes of z what would move the frame: z acts in the null space. Near the goal λ
is of second order, so that convergence is quadratic wherever J has full rank.  Sugihara 2011 (damping by the error).
"""

from __future__ import annotations

import numpy as np

from appell.algebra.matrix import Mat3, axial
from appell.algebra.scalar import Scalar, atan2, select, sqrt
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.formulate.kinematics import frame_jacobian, frame_pose
from appell.formulate.tree import Tree
from appell.model.robot import Robot

FLOOR = 1e-14  # keeps the system regular at a singular goal
TINY = 1e-30  # of sin²: below it the rotation vector is the sine's own


def damped_step(robot: Robot, frame: str, weight: float, lower: np.ndarray, upper: np.ndarray) -> Function:
    """(q, target, damping, pull) -> step of v, and the errors of position (m) and orientation (rad) at q."""
    place = robot.frame(frame)
    limited = [(float(lo), float(hi)) for lo, hi in zip(lower, upper, strict=True)]

    def body(q, target, damping, pull):
        tree = Tree.of(robot)
        pose, J = frame_pose(tree, place, q).matrix, frame_jacobian(tree, place, "LOCAL", q)
        linear, angular, angle = frame_error(pose, target)
        e = [*linear, *(weight * angular)]
        J = [row if k < 3 else [weight * x for x in row] for k, row in enumerate(J)]
        push = [_sum(J[k][i] * e[k] for k in range(6)) + pull[i] for i in range(robot.nv)]
        free = [_free(q, robot, i, push[i], limited[i]) for i in range(robot.nv)]
        z = [f * x for f, x in zip(free, pull, strict=True)]
        JF = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
        lam = 0.5 * damping * _sum(x * x for x in e) + FLOOR  # (2)
        H = [[_sum(JF[i][k] * J[j][k] for k in range(robot.nv)) for j in range(6)] for i in range(6)]
        H = [[x + lam if i == j else x for j, x in enumerate(row)] for i, row in enumerate(H)]
        y = LDL.of(H).solve([e[i] - _sum(J[i][k] * z[k] for k in range(robot.nv)) for i in range(6)])
        step = [z[k] + _sum(JF[i][k] * y[i] for i in range(6)) for k in range(robot.nv)]  # (3)
        return {"step": step, "position": sqrt(linear.dot(linear)), "rotation": angle}

    inputs = {"q": robot.nq, "target": (4, 4), "damping": (), "pull": robot.nv}
    return Function.of(f"damped_step_{frame}", inputs, body, __doc__ or "", f"robot '{robot.name}'")


def frame_error(pose, target) -> tuple[Vec3, Vec3, Scalar]:
    """Position error and rotation vector from pose to target, in the axes of the pose, and the angle between them."""
    back = Mat3.of(row[:3] for row in pose[:3]).T
    linear = back @ Vec3.of(target[k][3] - pose[k][3] for k in range(3))
    turn = back @ Mat3.of(row[:3] for row in target[:3])
    sine = 0.5 * axial(turn)  # sin(angle) times the axis
    square = sine.dot(sine)
    size = sqrt(square)
    angle = atan2(size, 0.5 * (turn.trace - 1.0))
    return linear, select(square - TINY, angle / select(size, size, 1.0), 1.0) * sine, angle


def _free(q, robot: Robot, i: int, push: Scalar, limits: tuple[float, float]) -> Scalar:
    """1, or 0 for a one-axis joint that stands at a limit and is pushed on."""
    if robot.nq != robot.nv or not np.isfinite(limits).any():
        return 1.0
    lower, upper = limits
    above = select(q[i] - lower, 1.0, select(push, 1.0, 0.0)) if np.isfinite(lower) else 1.0
    below = select(upper - q[i], 1.0, select(-push, 1.0, 0.0)) if np.isfinite(upper) else 1.0
    return above * below


def _sum(terms) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total
