"""Exciting motions: Fourier series along which the parameters are best determined.

SciPy's SLSQP solves the problem of `problem` under the limits of `bounds`: first for the criterion "logdet", which is
smoother, then for the requested criterion. A stage ends early if `STALL_ITERATIONS` iterations improve its objective by
less than `MIN_IMPROVEMENT`. At the end, the amplitudes are reduced until the limits hold at many more instants.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from appell.errors import ArgumentError, LimitWarning, value_text
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.excitation.bounds import MotionBounds
from appell.identify.excitation.problem import ExcitationProblem
from appell.identify.parameter_set import ParameterSet, select_parameters
from appell.model.collision import IgnoredPair
from appell.model.system import System
from appell.motion.collision_check import collisions
from appell.motion.path import Path

CRITERIA = ("condition", "logdet")
NEARLY_FEASIBLE = 0.05  # of a limit, by which an iterate may exceed it to be kept
STALL_ITERATIONS = 25
MIN_IMPROVEMENT = 0.005  # of the objective, the logarithm of a condition number or volume


class _StageEndError(Exception):
    """Raised inside the optimiser to end a stage."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion, its condition number and its use of the limits."""

    path: Path
    condition: float  # condition number of the base regressor along the path
    load: dict[str, np.ndarray]  # limit -> largest fraction of it that each coordinate, actuator or leg reaches
    unchecked: tuple[IgnoredPair, ...] = ()  # pairs of collision shapes that do not keep the margin, with the reason
    interrupted: bool = False  # whether Ctrl-C or `time_limit` ended the search; the motion is the best one until then


@limit_blas_threads
def excite(
    system: System | ParameterSet,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "condition",
    bounds: MotionBounds | None = None,
    samples: int = 160,
    checked_samples: int = 2001,
    iterations: int = 150,
    starts: int = 2,
    seed: int = 0,
    time_limit: float = np.inf,
    early_stop: bool = True,
    progress: Callable[[int, int, float], None] | None = None,
    **options,
) -> Excitation:
    """Optimise a motion that excites the parameters of a system.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
        The system, or the parameters to excite.
    duration : duration of the motion, in seconds
    harmonics : number of sine and cosine terms per coordinate, at least 3
    criterion : {"condition", "logdet"}
        Quantity to minimise: the condition number of the base regressor, or the log volume of the confidence ellipsoid.
    bounds : limits of the motion; by default `MotionBounds.of(system, **limits)`
    samples : number of instants at which objective and limits are evaluated
    checked_samples : int
        Number of instants at which the limits of the robot, as it is simulated, are checked at the end, at least
        `samples`. With as many as `samples`, the motion is not changed.
    iterations : largest number of iterations of each of the two stages
    starts : number of random starts; the best result is kept
    seed : seed of the random starts
    time_limit : float
        Time in seconds after which the best motion so far is returned; it is satisfied to one iteration. Ctrl-C has the
        same effect at any time after the first iteration.
    early_stop : whether a stage ends if 25 iterations improve its objective by less than 0.5 %
    progress : called as `progress(iteration, total, condition)` after every iteration
    **options
        `friction`, `rotor` and `width`, as in `select_parameters`, and the limits of `MotionBounds.of`: `lower`,
        `upper`, `velocity`, `acceleration`, `speed`, `torque`, `workspace`, `clearance`, and `margin`, 0.02 m by
        default, with `pairs`. Torques include the described friction and rotors, whether or not these are estimated.

    Returns
    -------
    Excitation
        `path`, the motion; `condition`, its condition number; `load`, the fraction of every limit that it uses;
        `unchecked`, pairs of collision shapes that touch, because capsules around them overlap in most configurations;
        `interrupted`, whether the search was ended by `time_limit` or Ctrl-C.

    Raises
    ------
    ArgumentError
        If an option is out of range, or if the limits exclude even a robot at rest.

    Examples
    --------
    >>> import appell as ap
    >>> plan = ap.identify.excite(ap.load("planar-2r"), starts=1, iterations=20, velocity=3.0, acceleration=12.0)
    >>> plan.path.duration, plan.path.names
    (10.0, ('shoulder', 'elbow'))
    >>> bool(plan.condition < 30.0), bool(plan.load["velocity"].max() <= 1.0)
    (True, True)
    """
    limits = {key: options.pop(key) for key in tuple(options) if key in (*MotionBounds.__dataclass_fields__, "pairs")}
    parameter_set = select_parameters(system, **options)
    if criterion not in CRITERIA:
        raise ArgumentError(f"'{criterion}' is not a criterion.", expected=" or ".join(CRITERIA))
    if harmonics < 3:
        raise ArgumentError(f"a series of {harmonics} harmonics cannot start and end at rest.", expected="3 or more")
    if not 0.0 < duration < np.inf:
        raise ArgumentError(f"the duration is {duration:g} s.", expected="a positive number of seconds")
    counts = {"samples": (samples, 2 * harmonics), "checked_samples": (checked_samples, samples), "seed": (seed, 0)}
    for name, (count, least) in (counts | {"iterations": (iterations, 1), "starts": (starts, 1)}).items():
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < least:
            the = "the " if name == "seed" else ""
            raise ArgumentError(f"{the}{name} is {value_text(count)}.", expected=f"an integer, at least {least}")
    if not time_limit > 0.0:
        raise ArgumentError(f"time_limit is {time_limit} s.", expected="a positive number of seconds")
    bounds = MotionBounds.of(parameter_set.system, **limits) if bounds is None else bounds
    problem = ExcitationProblem(parameter_set.base, bounds, duration, harmonics, samples)
    rng, total, end = np.random.default_rng(seed), 2 * iterations * starts, time.monotonic() + time_limit
    candidates: list[np.ndarray] = []
    count, interrupted = 0, False

    def improved(x: np.ndarray, stage: str) -> np.ndarray:
        """Return the result of a stage, and report every iteration."""
        values: list[float] = []
        latest, nearly = x, (math.inf, x)  # the best iterate that nearly keeps the limits, with its objective
        limits = x, np.full(1, -np.inf)  # the last point at which they were evaluated, and their slack

        def slack(x: np.ndarray) -> np.ndarray:
            nonlocal limits
            limits = x.copy(), problem.slack(x)
            return limits[1]

        def report(x: np.ndarray) -> None:
            nonlocal count, latest, nearly
            count, latest = count + 1, x.copy()
            values.append(problem.objective(x, stage)[0])
            if np.array_equal(limits[0], x) and limits[1].min() > -NEARLY_FEASIBLE and values[-1] < nearly[0]:
                nearly = values[-1], latest
            if progress is not None:
                progress(count, total, problem.condition(x))
            stalled = len(values) > STALL_ITERATIONS and values[-1 - STALL_ITERATIONS] - min(values) < MIN_IMPROVEMENT
            if (early_stop and stalled) or time.monotonic() > end:
                raise _StageEndError

        try:
            latest = minimize(
                problem.objective, x, args=(stage,), jac=True, method="SLSQP", callback=report,
                constraints={"type": "ineq", "fun": slack, "jac": problem.slack_gradient},
                options={"maxiter": iterations, "ftol": 1e-6},
            ).x  # fmt: skip
        except _StageEndError:
            pass
        except KeyboardInterrupt:
            if not count:
                raise
            candidates.append(problem.feasible(latest))
            raise
        result = problem.feasible(latest)
        if bounds.margin is None or nearly[1] is latest:
            return result
        other = problem.feasible(nearly[1])  # near obstacles, SLSQP may end far outside of the limits
        return min(result, other, key=lambda x: problem.objective(x, stage)[0])

    try:
        for _ in range(starts):
            x = problem.feasible(rng.normal(size=problem.size))
            for stage in ("logdet", criterion):
                x = improved(x, stage)
                if interrupted := time.monotonic() > end:
                    break
            candidates.append(x)
            if interrupted:
                break
    except KeyboardInterrupt:
        if not candidates:
            raise
        interrupted = True
    best = min(candidates, key=lambda x: problem.objective(x, criterion)[0])
    if checked_samples > samples:
        problem = ExcitationProblem(parameter_set.base, bounds, duration, harmonics, checked_samples, simulated=True)
    return _result(problem, problem.feasible(best), interrupted)


def _result(problem: ExcitationProblem, x: np.ndarray, interrupted: bool) -> Excitation:
    path = problem.path(x)
    loads: dict[str, np.ndarray] = {}
    for what, load, _ in problem.loads(path(path.times(1000))):
        loads[what] = np.maximum(loads.get(what, -np.inf), load.max(axis=0))
    return Excitation(path, condition_number(problem.base, path), loads, _unchecked(problem, path), interrupted)


def _unchecked(problem: ExcitationProblem, path: Path) -> tuple[IgnoredPair, ...]:
    """Return the pairs that keep no margin; those whose meshes do not touch along the path are left out."""
    margin = problem.bounds.margin
    if margin is None or not margin.ignored:
        return ()
    result = collisions(margin.dyn, path, pairs=[(x.one, x.other) for x in margin.ignored])
    touching = tuple(pair for pair, rows in zip(margin.ignored, result.touching.T, strict=True) if rows.any())
    if touching:
        names = ", ".join(f"'{x.one}' and '{x.other}'" for x in touching)
        text = f"collision shapes {names} of {problem.system.owner} touch in the motion, or the capsules around them."
        warnings.warn(f"{text} Check them, and ignore pairs that do not matter.", LimitWarning, stacklevel=4)
    return touching


def condition_number(base: BaseParameters, path: Path, samples: int = 400) -> float:
    """Return the condition number of the base regressor at equally spaced samples of a motion."""
    Y = np.asarray(base.regressor(*path(path.times(samples))))
    s = np.linalg.svd(np.linalg.qr(Y.reshape(-1, base.count), mode="r"), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else np.inf
