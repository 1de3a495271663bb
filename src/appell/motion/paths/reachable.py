"""The fastest motion along a path under linear limits, by reachability on a grid (TOPP-RA: Pham and Pham 2018).

On each interval of the grid u is constant, so that x' = 2u: x_next = x + 2 Δ u. With the rows A u + B x ≤ C of the
interval,

    backward   K_i = { x : some u satisfies the rows and leads into K_{i+1} } = [0, top_i]                       (1)
    forward    from x_0 = 0 take the largest u that satisfies the rows and leads into K_{i+1}                    (2)

The greedy choice (2) is optimal up to terms of the order of the step: x is the largest possible at every point, except
for the few at which A of a row changes its sign. u is eliminated from (1): a row with A < 0 bounds it from below, one
with A > 0 from above, and each such pair leaves one row in x alone (Fourier-Motzkin),

    (A_j B_i - A_i B_j) x ≤ A_j C_i - A_i C_j,        A_i < 0 < A_j                                              (3)

Rest is possible everywhere (this is checked before), so that 0 lies in every K.
"""

from __future__ import annotations

import numpy as np

MAX_SQUARED_SPEED = 1e12  # bound on x where no row bounds it: where the path does not move


def tops(A: np.ndarray, B: np.ndarray, C: np.ndarray, step: np.ndarray, interval_top: np.ndarray) -> np.ndarray:
    """Return top_i of (1) for every grid point, with rest at the end.

    Parameters
    ----------
    A, B, C
        Rows of the intervals, (intervals, rows).
    step
        Lengths Δ of the intervals.
    interval_top
        Result of `interval_tops`.
    """
    top = np.empty(len(step) + 1)
    top[-1] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(len(step) - 1, -1, -1):
            a, b, c, d = A[i], B[i], C[i], 2.0 * step[i]
            # (3) with the two rows that lead into K_{i+1}: d u + x ≤ top_{i+1} and -d u - x ≤ 0
            p, r = d * b - a, d * c - np.where(a < 0.0, a, 0.0) * top[i + 1]
            into = np.where(p > 0.0, r / p, np.inf).min(initial=np.inf)
            top[i] = max(min(interval_top[i], into, MAX_SQUARED_SPEED), 0.0)
    return top


def profile(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, step: np.ndarray, top: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return x at every grid point and u on every interval by (2); the parameters are those of `tops`."""
    x, u = np.empty(len(step) + 1), np.empty(len(step))
    x[0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(len(step)):
            highest = np.where(A[i] > 0.0, (C[i] - B[i] * x[i]) / A[i], np.inf).min(initial=np.inf)
            x[i + 1] = max(min(x[i] + 2.0 * step[i] * highest, top[i + 1]), 0.0)  # (2)
            u[i] = (x[i + 1] - x[i]) / (2.0 * step[i])
    return x, u


def interval_tops(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return, for each interval, the largest x for which some u satisfies its rows."""
    bounds = np.empty(len(A))
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (a, b, c) in enumerate(zip(A, B, C, strict=True)):
            low, high, flat = a < 0.0, a > 0.0, a == 0.0
            p = np.outer(b[low], a[high]) - np.outer(a[low], b[high])  # (3)
            r = np.outer(c[low], a[high]) - np.outer(a[low], c[high])
            pairs = np.where(p > 0.0, r / p, np.inf).min(initial=np.inf)
            bounds[i] = min(pairs, np.where(b[flat] > 0.0, c[flat] / b[flat], np.inf).min(initial=np.inf))
    return bounds
