"""Dense quadratic programs of some ten to a hundred variables, solved by the active-set method of the package daqp.

    min ½ xᵀHx + gᵀx        with lower ≤ C x ≤ upper                                                              (1)

Rows with equal bounds are equations. H is positive definite. docs/decisions/0070 compares solvers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.errors import needed_package

FEASIBILITY = 1e-9  # largest violation of a row whose entries are of size 1
SLACK_WEIGHT = 1e6  # of violations against x, when the least violations are computed
EQUATION, INEQUALITY = 5, 0  # kinds of rows of daqp


class QpSolution(NamedTuple):
    """Solution of a quadratic program."""

    x: np.ndarray
    duals: np.ndarray  # multipliers of the rows of C: H x + g + Cᵀ duals = 0


class InfeasibleError(Exception):
    """A program without a feasible point; `violations` are rows and amounts, largest first."""

    def __init__(self, violations: list[tuple[int, float]]):
        super().__init__("the constraints contradict each other")
        self.violations = violations


def solve_qp(H: np.ndarray, g: np.ndarray, C: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> QpSolution:
    """Solve (1).

    Parameters
    ----------
    H, g : positive definite matrix (n, n) and vector (n,)
    C, lower, upper : rows (m, n) and their bounds (m,), which may be infinite

    Raises
    ------
    ArgumentError
        If the package daqp is not installed.
    InfeasibleError
        If no x satisfies all rows, with the rows that the closest x violates.
    """
    daqp = needed_package("daqp", "a quadratic program", "appell[qp]")
    sense = np.where(lower == upper, EQUATION, INEQUALITY).astype(np.int32)
    x, _, flag, info = daqp.solve(H, g, C, upper, lower, sense, primal_tol=FEASIBILITY)
    if flag <= 0:
        raise InfeasibleError(_violations(daqp, C, lower, upper))
    return QpSolution(np.asarray(x), np.asarray(info["lam"]))


def _violations(daqp, C: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> list[tuple[int, float]]:
    """Return the rows that the x of least squared violations does not satisfy."""
    m, n = C.shape
    H = np.diag(np.r_[np.full(n, 1.0 / SLACK_WEIGHT), np.ones(m)])
    rows = np.hstack([C, np.eye(m)])
    x = np.asarray(daqp.solve(H, np.zeros(n + m), rows, upper, lower, np.zeros(m, np.int32))[0])
    slack = np.abs(x[n:])
    order = np.argsort(-slack, kind="stable")
    return [(int(k), float(slack[k])) for k in order if slack[k] > 1e-6 * slack.max()]
