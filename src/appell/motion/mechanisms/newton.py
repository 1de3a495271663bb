"""Forward kinematics: the pose that belongs to given actuator positions, by Newton's method from a nearby pose.

    q ← q + J(q)⁻¹ (θ - θ(q))                                                                                   (1)

A platform has several poses for the same actuators; the nearby one is meant. A step that leaves the reach of a leg, or
does not bring θ(q) nearer, is halved. Angles are compared modulo a turn.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.motion.mechanisms.pose_check import check_pose, condition

TOLERANCE = 1e-12  # of θ, in rad or m
STEPS = 40
HALVINGS = 12


def forward_kinematics(
    dyn: Dynamics, theta, start=None, tolerance: float = TOLERANCE, steps: int = STEPS
) -> np.ndarray:
    """q with θ(q) = theta, from a pose nearby, home if None; leading axes are batch.

    One pose raises if there is no way to it, a batch has NaN there.
    """
    system = dyn.system
    theta, start = np.asarray(theta, float), np.asarray(system.start if start is None else start, float)
    for name, array, size in (("theta", theta, system.nu), ("start", start, system.nq)):
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArgumentError(
                f"forward kinematics of {system.owner}: {name} has shape {array.shape}.",
                expected=f"a last axis of {size}, after any batch axes",
            )
    shape = np.broadcast_shapes(theta.shape[:-1], start.shape[:-1])
    goal = np.broadcast_to(theta, (*shape, system.nu)).reshape(-1, system.nu)
    q = np.broadcast_to(start, (*shape, system.nq)).reshape(-1, system.nq).copy()
    if not shape:
        check_pose(dyn, q[0], np.inf)
    error = position_error(dyn, goal, q)
    for _ in range(steps):
        open_ = np.flatnonzero(_size(error) > tolerance)
        if not open_.size:
            break
        q[open_], error[open_] = _step(dyn, goal[open_], q[open_], error[open_])
    failed = ~(_size(error) <= tolerance)
    if failed.any() and not shape:
        raise ArgumentError(
            f"forward kinematics of {system.owner} does not arrive: after {steps} steps the actuators are still "
            f"{_size(error)[0]:.3g} off, at a pose with condition number {condition(dyn, q[0]):.3g}.",
            hint="start from a pose nearer to the one that is sought; the actuators may also have none",
        )
    q[failed] = np.nan
    return q.reshape(*shape, system.nq)


def _step(dyn: Dynamics, goal: np.ndarray, q: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1), halved where it does not help."""
    way = np.einsum("bij,bj->bi", np.linalg.pinv(dyn.actuator_jacobian(q)), error)
    moved, left = q.copy(), error.copy()
    waiting = np.arange(len(q))
    scale = 1.0
    for _ in range(HALVINGS):
        trial = q[waiting] + scale * way[waiting]
        found = position_error(dyn, goal[waiting], trial)
        better = _size(found) < _size(error[waiting])
        moved[waiting[better]], left[waiting[better]] = trial[better], found[better]
        waiting, scale = waiting[~better], scale / 2
        if not waiting.size:
            break
    return moved, left


def position_error(dyn: Dynamics, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
    """θ - θ(q), angles modulo a turn."""
    with np.errstate(invalid="ignore"):
        error = goal - dyn.actuator_positions(q)
    angles = np.array(dyn.system.actuator_units) == "rad"
    return np.where(angles, np.remainder(error + np.pi, 2 * np.pi) - np.pi, error)


def _size(error: np.ndarray) -> np.ndarray:
    return np.abs(error).max(axis=-1)
