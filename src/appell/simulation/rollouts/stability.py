"""Check of the step length: explicit integration is unstable if damping is too strong for the step.

    δv̇ = A δv        A = ∂v̇/∂v of everything that acts, laws, friction and contacts included                      (1)
    h |λ| < 2.785 (rk4), 2 (euler, moreau; midpoint: convergence of the iterations) for every real λ < 0 of A      (2)

Viscous friction of joints is implicit in moreau (`contacts.joint_damping`), and left out of (1) there.

A law that is held for a period must satisfy (2) with the limit 2 and its period in place of h. A is computed with the
kernel itself by finite differences: one very short step of a member, and of one neighbour per velocity. Only the
initial state of one member is checked: gains that are too high for the step are detected, conditions that a motion
meets later are not.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np

from appell.dynamics.elastic import SpringMode
from appell.errors import ArgumentError, StepWarning
from appell.simulation.rollouts.tracing import PACKAGE_FOLDER

STABILITY_LIMIT = {"rk4": 2.785, "euler": 2.0, "midpoint": 2.0, "moreau": 2.0}  # of h |λ|
HELD_LIMIT = 2.0  # of period |λ| for a law that is held
MAX_MODE_SHARE = 0.3  # of the sampling rate: largest frequency of elastic joints
MAX_LAST_CHANGE = 1e-8  # relative to velocities: by the last iteration of the midpoint rule
PROBE_STEP = 1e-4  # relative to the step
PROBE_CHANGE = 1e-4  # of velocities, relative (at least 1)


def check_damping(
    velocity: Callable[[np.ndarray, float], np.ndarray],
    v: np.ndarray,
    method: str,
    dt: float,
    period: float | None,
    names: Sequence[str],
    implicit: np.ndarray | None = None,
) -> bool:
    """Warn if (2) is violated; return whether it is satisfied.

    Parameters
    ----------
    velocity
        Function of velocities (n + 1, n) and a step length that returns the velocities after the step.
    v
        Velocities of a member, (n,).
    method
        Name of the scheme.
    dt
        Length of the step, s.
    period
        Period of the law, s; None if it is not held.
    names
        Names of the velocities.
    implicit
        -∂v̇/∂v of what is implicit in the step, (n, n), 1/s.
    """
    n = len(v)
    if n == 0:
        return True
    h = PROBE_STEP * dt
    width = PROBE_CHANGE * np.maximum(1.0, np.abs(v))
    starts = np.vstack([v, v + np.diag(width)])
    with np.errstate(all="ignore"):
        rates = (velocity(starts, h) - starts) / h
    A = ((rates[1:] - rates[0]) / width[:, None]).T + (0.0 if implicit is None else implicit)
    span, limit = (period, HELD_LIMIT) if period is not None and period > dt else (dt, STABILITY_LIMIT[method])
    bound = float(np.abs(A).sum(axis=1).max())  # of all |λ|
    if not isfinite(bound):
        return False
    if bound * span <= limit:
        return True
    values, vectors = np.linalg.eig(A)
    k = int(np.argmin(values.real))
    if -values[k].real * span <= limit:
        return True
    joint = names[int(np.argmax(np.abs(vectors[:, k])))]
    _warn(
        f"damping is too strong for the step: velocities decay with {-values[k].real:.4g}/s, mostly that of '{joint}', "
        f"but {'a law that is held for' if span != dt else method + ' with a step of'} {span:g} s is stable only up to "
        f"{limit / span:.4g}/s. Results will diverge. Use a shorter step, less damping, or for friction of joints "
        "method='moreau'."
    )
    return False


def check_springs(frequency: float, method: str, dt: float) -> None:
    """Warn if contacts oscillate too fast for the step; `frequency` is in rad/s."""
    if frequency * dt > STABILITY_LIMIT[method]:
        _warn(
            f"contacts oscillate with {frequency:.4g} rad/s, but {method} with a step of {dt:g} s is stable only up to "
            f"{STABILITY_LIMIT[method] / dt:.4g} rad/s. Use a shorter step, a larger depth, or method='moreau'."
        )


def check_modes(mode: SpringMode, dt: float, owner: str) -> None:
    """Raise `ArgumentError` if the springs of elastic joints vibrate too fast for the step to represent it."""
    if mode.frequency * dt > 2.0 * np.pi * MAX_MODE_SHARE:
        longest = 2.0 * np.pi * MAX_MODE_SHARE / mode.frequency
        raise ArgumentError(
            f"{owner} vibrates at {mode.frequency / (2.0 * np.pi):.4g} Hz on its springs, mostly that of joint "
            f"'{mode.joint}', too fast for steps of {dt:g} s.",
            expected=f"dt of at most {longest:.2g} s",
            hint="Use shorter steps, or pass check=False.",
        )


def check_convergence(residual: np.ndarray, v: np.ndarray) -> None:
    """Warn if the iterations of the midpoint rule did not converge: residuals (members, rows), v (members, rows, n)."""
    with np.errstate(invalid="ignore"):
        share = residual / np.maximum(1.0, np.abs(v).max(axis=-1, initial=0.0))
    worst = float(np.nanmax(share, initial=0.0))
    if worst > MAX_LAST_CHANGE:
        members = int((share > MAX_LAST_CHANGE).any(axis=1).sum())
        _warn(
            f"the iterations of the midpoint rule did not converge: the last one changed velocities by {worst:.2g} of "
            f"their size in {members} of {len(share)} members. Use a shorter step; records['residual'] shows when."
        )


def _warn(text: str) -> None:
    """Issue a `StepWarning` that points to the calling line outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, StepWarning, stacklevel=level)
