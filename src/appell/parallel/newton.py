"""Forward kinematics: the pose that belongs to given actuator positions, by Newton's method from a nearby pose.

    q ← q + J(q)⁻¹ (θ - θ(q))                                                                                   (1)

A platform has several poses for the same actuators; the nearby one is meant. A step that leaves the reach of a leg, or
does not bring θ(q) nearer, is halved. Angles are compared modulo a turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.parallel.mechanism import Mechanism

TOLERANCE = 1e-12  # of θ, in rad or m
STEPS = 40
HALVINGS = 12


def forward_kinematics(
    mechanism: Mechanism, theta, start, tolerance: float = TOLERANCE, steps: int = STEPS
) -> np.ndarray:
    """q with θ(q) = theta; leading axes are batch. One pose raises if there is no way to it, a batch has NaN there."""
    robot = mechanism.robot
    theta, start = np.asarray(theta, float), np.asarray(start, float)
    for name, array, size in (("theta", theta, robot.nu), ("start", start, robot.nq)):
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArgumentError(
                f"forward kinematics of {robot.owner}: {name} has shape {array.shape}.",
                expected=f"a last axis of {size}, after any batch axes",
            )
    shape = np.broadcast_shapes(theta.shape[:-1], start.shape[:-1])
    goal = np.broadcast_to(theta, (*shape, robot.nu)).reshape(-1, robot.nu)
    q = np.broadcast_to(start, (*shape, robot.nq)).reshape(-1, robot.nq).copy()
    if not shape:
        mechanism.check(q[0], np.inf)
    error = _error(mechanism, goal, q)
    for _ in range(steps):
        open_ = np.flatnonzero(_size(error) > tolerance)
        if not open_.size:
            break
        q[open_], error[open_] = _step(mechanism, goal[open_], q[open_], error[open_])
    failed = ~(_size(error) <= tolerance)
    if failed.any() and not shape:
        raise ArgumentError(
            f"forward kinematics of {robot.owner} does not arrive: after {steps} steps the actuators are still "
            f"{_size(error)[0]:.3g} off, at a pose with condition number {mechanism.condition(q[0]):.3g}.",
            hint="start from a pose nearer to the one that is sought; the actuators may also have none",
        )
    q[failed] = np.nan
    return q.reshape(*shape, robot.nq)


def _step(mechanism: Mechanism, goal: np.ndarray, q: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1), halved where it does not help."""
    way = np.einsum("bij,bj->bi", np.linalg.pinv(mechanism.actuator_jacobian(q)), error)
    moved, left = q.copy(), error.copy()
    waiting = np.arange(len(q))
    scale = 1.0
    for _ in range(HALVINGS):
        trial = q[waiting] + scale * way[waiting]
        found = _error(mechanism, goal[waiting], trial)
        better = _size(found) < _size(error[waiting])
        moved[waiting[better]], left[waiting[better]] = trial[better], found[better]
        waiting, scale = waiting[~better], scale / 2
        if not waiting.size:
            break
    return moved, left


def _error(mechanism: Mechanism, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        error = goal - mechanism.inverse_kinematics(q)
    angles = np.array([joint.unit == "rad" for joint in mechanism.robot.actuators])
    return np.where(angles, np.remainder(error + np.pi, 2 * np.pi) - np.pi, error)


def _size(error: np.ndarray) -> np.ndarray:
    return np.abs(error).max(axis=-1)
