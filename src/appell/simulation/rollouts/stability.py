"""Is the step short enough? Damping that a step takes explicitly makes it unstable if it is too strong for it.

    δv̇ = A δv        A = ∂v̇/∂v of all that acts, laws, friction and contacts included                             (1)
    h |λ| < 2.785 (rk4), 2 (euler, moreau; midpoint, whose turns would not converge) for every real λ < 0 of A     (2)

A law that is held for a period has to keep to 2 with its period for h. A is read off the kernel itself: one very short
step of a member, and of as many neighbours as it has velocities. It is a check at the start, and of one member: it sees
gains that are too high for the step, and not what a motion meets later.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from appell.errors import StepWarning
from appell.simulation.rollouts.tracing import HOUSE

REACH = {"rk4": 2.785, "euler": 2.0, "midpoint": 2.0, "moreau": 2.0}
HELD = 2.0
UNSOLVED = 1e-8  # of velocities: what a last turn of the midpoint rule may change
SHORT = 1e-4  # of the step
CHANGE = 1e-4  # of the velocities, or of 1


def check_damping(
    velocity: Callable[[np.ndarray, float], np.ndarray],
    v: np.ndarray,
    method: str,
    dt: float,
    period: float | None,
    names: Sequence[str],
) -> None:
    """Warn where (2) is broken; `velocity` gives velocities (n + 1, n) after a step of a given length."""
    n = len(v)
    if n == 0:
        return
    tiny = SHORT * dt
    width = CHANGE * np.maximum(1.0, np.abs(v))
    starts = np.vstack([v, v + np.diag(width)])
    with np.errstate(all="ignore"):
        rates = (velocity(starts, tiny) - starts) / tiny
    A = ((rates[1:] - rates[0]) / width[:, None]).T
    if not np.isfinite(A).all():
        return
    values, vectors = np.linalg.eig(A)
    k = int(np.argmin(values.real))
    span, most = (period, HELD) if period is not None and period > dt else (dt, REACH[method])
    if -values[k].real * span <= most:
        return
    joint = names[int(np.argmax(np.abs(vectors[:, k])))]
    _warn(
        f"damping is too strong for the step: velocities decay with {-values[k].real:.4g}/s, mostly that of '{joint}', "
        f"and {'a law that is held for' if span != dt else method + ' with'} {span:g} s is stable up to "
        f"{most / span:.4g}/s. Numbers will grow that should shrink: take a shorter step, or less damping."
    )


def check_springs(fastest: float, method: str, dt: float) -> None:
    """Warn where contacts swing too fast for the step."""
    if fastest * dt > REACH[method]:
        _warn(
            f"contacts swing with {fastest:.4g} rad/s, and {method} with a step of {dt:g} s is stable up to "
            f"{REACH[method] / dt:.4g} rad/s. Take a shorter step, a larger depth, or method='moreau'."
        )


def check_turns(residual: np.ndarray, v: np.ndarray) -> None:
    """Warn where the turns of the midpoint rule did not come to rest: (members, rows), and velocities beside them."""
    with np.errstate(invalid="ignore"):
        share = residual / np.maximum(1.0, np.abs(v).max(axis=-1, initial=0.0))
    worst = float(np.nanmax(share, initial=0.0))
    if worst > UNSOLVED:
        members = int((share > UNSOLVED).any(axis=1).sum())
        _warn(
            f"the turns of the midpoint rule still changed velocities by {worst:.2g} of their size, in {members} of "
            f"{len(share)} members. Take a shorter step; records['residual'] tells when."
        )


def _warn(text: str) -> None:
    """A warning that points to the line outside of this house that asked."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HOUSE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, StepWarning, stacklevel=level)
