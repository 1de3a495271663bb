"""What can be wrong with a path of joints: it is singular, or a joint passes its limit. Errors say when and where."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.compile.function import Function
from appell.errors import SimulationError
from appell.model.robot import Robot

SINGULAR = 1e-6  # smallest to largest singular value of the Jacobian


def check_rank(robot: Robot, frame: str, follow: Callable, t: np.ndarray, jacobian: Function) -> None:
    """Raise if the Jacobian loses rank on the path: at a knot, or at a minimum between knots."""
    from scipy.optimize import minimize_scalar  # slow to import, and seldom wanted

    def rank(t):
        values = np.linalg.svd(jacobian(follow(np.atleast_1d(t))), compute_uv=False)
        return values[..., -1] / values[..., 0]

    along = rank(t)
    inner = np.flatnonzero((along[1:-1] <= along[:-2]) & (along[1:-1] <= along[2:])) + 1
    for k in (0, *inner, len(t) - 1):
        where, value = t[k], along[k]
        if 0 < k < len(t) - 1 and value < 0.05:
            found = minimize_scalar(
                lambda x: float(rank(x)[0]),
                bounds=(t[k - 1], t[k + 1]),
                method="bounded",
                options={"xatol": 1e-12 * t[-1]},
            )
            where, value = (found.x, found.fun) if found.fun < value else (where, value)
        if value < SINGULAR:
            idle = np.linalg.svd(jacobian(follow(np.array([where])))[0])[2][-1]
            joint = robot.joint_names[int(np.argmax(np.abs(idle)))]
            raise SimulationError(
                f"the path of frame '{frame}' of robot '{robot.name}' is singular at t = {where:.6g} s: there joint "
                f"'{joint}' moves without moving the frame, and the velocities have no bound.",
                hint="another configuration, or a path beside this one",
            )


def check_limits(robot: Robot, t: np.ndarray, q: np.ndarray, turning: bool = True) -> np.ndarray:
    """The path, with joints turned by whole turns if that brings them inside their limits; an error if nothing does."""
    q, limits = q.copy(), robot.limits
    for link in robot.moving:
        k = robot.span(link.joint)[0].start
        lower, upper = limits.lower[k], limits.upper[k]
        period = 2.0 * np.pi if link.joint.motion.name != "prismatic" else 0.0
        for turns in (0, 1, -1) if turning else (0,):
            moved = q[:, k] + turns * period
            if (moved >= lower).all() and (moved <= upper).all():
                q[:, k] = moved
                break
        else:
            outside = (q[:, k] < lower) | (q[:, k] > upper)
            first = int(np.argmax(outside))
            raise SimulationError(
                f"joint '{link.joint.name}' of robot '{robot.name}' leaves its limits at t = {t[first]:.6g} s, "
                f"with q = {q[first, k]:.6g}.",
                expected=f"{lower:g} ≤ q ≤ {upper:g}",
                hint="another configuration, or another path",
            )
    return q


def first_failure(works: Callable[[float], bool], t: np.ndarray, failed: np.ndarray) -> float:
    """The earliest time at which `works` fails, by halving between the last knot that works and the next."""
    k = int(np.argmax(failed))
    if k == 0:
        return float(t[0])
    good, bad = float(t[k - 1]), float(t[k])
    for _ in range(50):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return bad
