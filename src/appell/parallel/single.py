"""Questions about one pose, answered with a number or with an error that says what is wrong with the pose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError, ModelError

if TYPE_CHECKING:
    from appell.parallel.mechanism import Mechanism

ORTHONORMAL = 1e-9  # largest entry of RᵀR - 1 at home


def condition(mechanism: Mechanism, q) -> np.ndarray:
    """The condition number of the actuator Jacobian, infinite where a leg does not reach; q may be a batch."""
    with np.errstate(invalid="ignore"):
        J = mechanism.actuator_jacobian(q)
    finite = np.isfinite(J).all(axis=(-2, -1))
    numbers = np.linalg.cond(np.where(finite[..., None, None], J, 0.0))
    return np.where(finite & np.isfinite(numbers), numbers, np.inf)


def check(mechanism: Mechanism, q, limit: float) -> float:
    """The condition number at one pose; an error if a leg does not reach or it is above the limit."""
    robot, q = mechanism.robot, np.asarray(q, float)
    if q.shape != (robot.nq,):
        listed = ", ".join(robot.coordinates)
        raise ArgumentError(f"{robot.owner}: one pose has shape {q.shape}.", expected=f"({robot.nq},): {listed}")
    where = f"{robot.owner} at q = ({', '.join(f'{x:g}' for x in q)})"
    if robot.reaches:
        for reach, *sizes in zip(robot.reaches, *mechanism.reach(q), strict=True):
            if sentence := reach.sentence(*map(float, sizes)):
                raise ArgumentError(f"{where}: {sentence}.", hint="a pose nearer to home")
    number = float(condition(mechanism, q))
    if not number <= limit:
        raise ArgumentError(
            f"{where} is singular: its actuator Jacobian has condition number {number:.3g}.",
            expected=f"at most {limit:.3g}",
            hint="another pose, or a Mechanism with a larger condition_limit; torques grow with it",
        )
    return number


def check_home(mechanism: Mechanism) -> None:
    """The poses at home must be in reach and proper rotations, or every result would be wrong without notice."""
    robot = mechanism.robot
    home = robot.start
    check(mechanism, home, np.inf)
    places = np.array(mechanism.terms.places.value(home))
    for body, place in zip(robot.bodies, places, strict=True):
        R = place[:, :3]
        error = np.abs(R.T @ R - np.eye(3)).max()
        if not (error <= ORTHONORMAL and np.linalg.det(R) > 0.0):
            raise ModelError(
                f"the pose of body '{body.name}' of {robot.owner} is no rotation at home (off by {error:.1e}).",
                expected="a 3x3 rotation matrix with determinant +1",
            )
