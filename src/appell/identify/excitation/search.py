"""Exciting motions: the Fourier series along which the parameters show best.

SciPy's SLSQP solves the problem of `problem` under the limits of `bounds`, first for the volume of what noise leaves
uncertain, whose landscape is smoother, then for what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from appell.errors import ArgumentError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.one_thread import calm
from appell.identify.excitation.bounds import MotionBounds
from appell.identify.excitation.problem import Problem
from appell.identify.sought import Sought, seek
from appell.model.system import System
from appell.motion.path import Path

CRITERIA = ("condition", "logdet")


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion and what it is worth."""

    path: Path
    condition: float  # of the base regressor along it
    load: dict[str, np.ndarray]  # the largest share of every limit that each coordinate, actuator or leg uses


@calm
def excite(
    system: System | Sought,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "condition",
    bounds: MotionBounds | None = None,
    samples: int = 160,
    iterations: int = 150,
    starts: int = 2,
    seed: int = 0,
    progress: Callable[[int, int, float], None] | None = None,
    **options,
) -> Excitation:
    """The best of a few optimised motions: excite(load("five-bar")).path.record(period=1e-3).write("motion.csv").

    Options are those of `seek`, and the limits of `MotionBounds.of`: lower=, upper=, velocity=, acceleration=, speed=,
    torque=, workspace=, clearance=. Torques count the friction and rotors that the robot was described with, whether
    they are sought or not. `progress(step, steps, condition)` is told of every iteration.
    """
    limits = {key: options.pop(key) for key in tuple(options) if key in MotionBounds.__dataclass_fields__}
    sought = seek(system, **options)
    if criterion not in CRITERIA:
        raise ArgumentError(f"'{criterion}' is no criterion.", expected=" or ".join(CRITERIA))
    if harmonics < 3:
        raise ArgumentError(f"{harmonics} harmonics cannot start and end at rest.", expected="3 or more")
    if not 0.0 < duration < np.inf:
        raise ArgumentError(f"the duration is {duration:g} s.", expected="a positive number of seconds")
    for name, count, least in (
        ("samples", samples, 2 * harmonics),
        ("iterations", iterations, 1),
        ("starts", starts, 1),
    ):
        if int(count) != count or count < least:
            raise ArgumentError(f"{name} is {count}.", expected=f"a whole number from {least}")
    if int(seed) != seed or seed < 0:
        raise ArgumentError(f"the seed is {seed}.", expected="a whole number from 0")
    bounds = MotionBounds.of(sought.system, **limits) if bounds is None else bounds
    problem = Problem(sought.base, bounds, duration, harmonics, samples)
    rng, ends, steps = np.random.default_rng(seed), [], 2 * iterations * starts
    count = 0

    def tell(x: np.ndarray) -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, steps, problem.condition(x))

    for _ in range(starts):
        x = problem.feasible(rng.normal(size=problem.size))
        for stage in ("logdet", criterion):
            found = minimize(
                problem.objective, x, args=(stage,), jac=True, method="SLSQP", callback=tell,
                constraints={"type": "ineq", "fun": problem.slack, "jac": problem.slack_gradient},
                options={"maxiter": iterations, "ftol": 1e-6},
            )  # fmt: skip
            x = problem.feasible(found.x)
        ends.append(x)
    return _result(problem, min(ends, key=lambda x: problem.objective(x, criterion)[0]))


def _result(problem: Problem, x: np.ndarray) -> Excitation:
    path = problem.path(x)
    loads: dict[str, np.ndarray] = {}
    for what, load, _ in problem.loads(path(path.times(1000))):
        loads[what] = np.maximum(loads.get(what, -np.inf), load.max(axis=0))
    return Excitation(path, quality(problem.base, path), loads)


def quality(base: BaseParameters, path: Path, samples: int = 400) -> float:
    """The condition number of the base regressor along a motion."""
    Y = np.asarray(base.regressor(*path(path.times(samples))))
    s = np.linalg.svd(np.linalg.qr(Y.reshape(-1, base.count), mode="r"), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else np.inf
