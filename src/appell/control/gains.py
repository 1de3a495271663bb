"""Controller gains, and their computation from the desired poles of the error.

Inverse dynamics turns every joint into a double integrator, ë = u. Sampled with period T and held between samples, with
the integral I of the error,

    e⁺ = e + T ė + ½T² u        ė⁺ = ė + T u        I⁺ = I + T e        u = -Kp e - Kd ė - Ki I              (1)

The gains that give (1) the eigenvalues z = exp(p T), for desired poles p, follow from Ackermann's formula; T = 0 stands
for continuous control. The sampled loop then has exactly the desired poles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.control.axes import PerAxis, per_axis
from appell.errors import ArgumentError
from appell.model.system import System


@dataclass(frozen=True)
class Gains:
    """Gains kp, kd and ki: one number for all joints, or one per joint.

    The units are 1/s², 1/s and 1/s³ for laws that command accelerations, and N m/rad, N m s/rad and N m/(rad s) (or N/m
    and so on) for laws that command torques.
    """

    kp: PerAxis
    kd: PerAxis
    ki: PerAxis = 0.0

    def of(self, system: System) -> Gains:
        """Return the gains with one number per coordinate of a system, or raise an ArgumentError."""
        named = {name: getattr(self, name) for name in ("kp", "kd", "ki")}
        return Gains(**{k: per_axis(system, "coordinate", f"gain {k}", x, least=0.0) for k, x in named.items()})


def critical(frequency: float, period: float = 0.0, integral: bool = False) -> Gains:
    """Return the gains with all poles at -frequency, for the fastest approach without overshoot.

    Parameters
    ----------
    frequency : float
        In 1/s.
    period : float
        Sampling period in s; 0 for continuous control.
    integral : bool
        Whether to include integral action.

    Examples
    --------
    >>> from appell.control import critical
    >>> critical(10.0)
    Gains(kp=100.0, kd=20.0, ki=0.0)
    """
    return placed([-frequency] * (3 if integral else 2), period)


def placed(poles: Sequence[complex], period: float = 0.0) -> Gains:
    """Return the gains that give the error these two poles, or three with integral action (1/s), at a period (s)."""
    p = _checked(poles, period)
    n = len(p)
    if period == 0.0:
        A = np.zeros((n, n))
        A[0, 1] = 1.0
        B = np.array([0.0, 1.0, 0.0])[:n]
        roots = p
    else:
        A = np.eye(n)
        A[0, 1] = period
        B = np.array([0.5 * period**2, period, 0.0])[:n]
        roots = np.exp(p * period)
    if n == 3:
        A[2, 0] = period or 1.0
    polynomial = np.real(np.poly(roots))
    value = sum(c * np.linalg.matrix_power(A, n - k) for k, c in enumerate(polynomial))
    controllability = np.column_stack([np.linalg.matrix_power(A, k) @ B for k in range(n)])
    # Ackermann: last row of the inverse controllability matrix, times the desired polynomial of A
    K = np.linalg.solve(controllability.T, np.eye(n)[-1]) @ value
    kp, kd, ki = (*(float(x) for x in K), 0.0)[:3]
    return Gains(kp, kd, ki)


def _checked(poles: Sequence[complex], period: float) -> np.ndarray:
    p = np.asarray(poles, complex)
    if p.shape not in ((2,), (3,)):
        raise ArgumentError(f"{p.size} poles are given.", expected="2, or 3 with integral action")
    if not (np.isfinite(p).all() and (p.real < 0.0).all()):
        raise ArgumentError(f"the poles {list(poles)} are not all stable.", expected="negative real parts, in 1/s")
    if not np.allclose(np.sort_complex(p), np.sort_complex(p.conj())):
        raise ArgumentError(f"the poles {list(poles)} are not conjugate pairs.")
    if not (np.isfinite(period) and period >= 0.0):
        raise ArgumentError(f"the period is {period:g} s.", expected="a positive number, or 0 for continuous control")
    if period and np.abs(p).max() * period > 0.5:
        raise ArgumentError(
            f"a pole at {np.abs(p).max():g}/s is too fast for a period of {period:g} s.",
            expected="|pole| × period ≤ 0.5",
        )
    return p
