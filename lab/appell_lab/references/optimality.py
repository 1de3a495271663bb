"""Whether a motion is a solution of a reaching problem, by Pinocchio's dynamics and derivatives.

Only q, v and τ of a solution are used, neither its multipliers nor a formula of appell. With S_k = ∂x_k/∂τ of the steps
linearised at the motion, g the gradient of the cost with respect to all torques, rows c(x, τ) ≤ 0 with slacks s = -c,
and rows e(x_N) = 0:

    g = Σ_k S_kᵀ ∂l/∂x_k + ∂l/∂τ                                                                                  (1)
    min  |g + Jᵀ z + Eᵀ y|² + |s z|²     over z ≥ 0 and y                                                         (2)

is zero at a point that satisfies the conditions of Karush, Kuhn and Tucker, because stationarity and complementarity
are the two parts of the sum. An interior-point method that stops at the barrier μ leaves √m μ for m rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from appell_lab.references.oracle import Oracle
from appell_lab.references.reaching import Reaching

NEAR_BOUND = 0.1  # rows with a larger slack (rad, rad/s, N m) are inactive: their multipliers are below 10 μ


@dataclass(frozen=True)
class Optimality:
    """Residuals of a motion; all are zero at an exact solution."""

    cost: float
    dynamics: float  # largest defect of a step, in q and v
    violation: float  # largest violation of a limit or a final equality
    stationarity: float  # largest component of (2)
    scale: float  # largest component of the gradient of the cost with respect to the states, at least 1
    amplification: float  # largest change of a component of g if every gradient of a knot changes by 1

    @property
    def relative(self) -> float:
        """Stationarity as an error of the gradients of single knots, relative to the largest of them."""
        return self.stationarity / (self.scale * self.amplification)

    @property
    def worst(self) -> float:
        return max(self.dynamics, self.violation, self.stationarity)


def optimality(problem: Reaching, q, v, tau) -> Optimality:
    """Return the residuals of a motion.

    Parameters
    ----------
    problem : the problem, of a robot with revolute and prismatic joints
    q, v : states (N + 1, nv)
    tau : torques (N, nv)
    """
    q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
    oracle, (N, n), h = Oracle(problem.system), tau.shape, problem.dt
    gap, S = 0.0, np.zeros((N + 1, 2 * n, N * n))  # (1)
    for k in range(N):
        state = q[k], v[k], tau[k]
        a, (a_q, a_v, a_u) = oracle.forward_dynamics(*state), oracle.forward_dynamics_derivatives(*state)
        v_next = v[k] + h * a
        gap = max(gap, np.abs(v[k + 1] - v_next).max(), np.abs(q[k + 1] - q[k] - h * v_next).max())
        dv = h * a_q @ S[k, :n] + S[k, n:] + h * a_v @ S[k, n:]
        dv[:, k * n : (k + 1) * n] += h * a_u
        S[k + 1] = np.vstack([S[k, :n] + h * dv, dv])
    cost, slope, final_slope = _cost(problem, oracle, q, v, tau)
    gradient = np.einsum("ki,kij->j", slope, S[:-1]) + final_slope @ S[-1] + (h * problem.running[2] * tau).ravel()
    slacks, rows = _bounds(problem, q, v, tau, S)
    violation, active = max(0.0, -slacks.min(initial=0.0)), slacks < NEAR_BOUND
    J, s = rows(active), np.maximum(slacks[active], 0.0)
    equalities = np.zeros((0, N * n))
    if problem.exact:
        equalities, miss = S[-1], np.r_[q[-1] - problem.goal, v[-1]]
        violation = max(violation, np.abs(miss).max())
    residual = _least(gradient, J, s, equalities)
    scale = max(1.0, np.abs(slope).max(), np.abs(final_slope).max())
    amplification = 1.0 + np.abs(S).sum(axis=(0, 1)).max()
    return Optimality(float(cost), float(gap), float(violation), residual, float(scale), float(amplification))


def _least(gradient: np.ndarray, J: np.ndarray, s: np.ndarray, E: np.ndarray) -> float:
    """Return the largest component of the least squares (2)."""
    if not len(J) and not len(E):
        return float(np.abs(gradient).max())
    columns = np.vstack([J, E, -E])
    weights = np.zeros((len(J), len(columns)))
    weights[:, : len(J)] = np.diag(s)
    system, right = np.vstack([columns.T, weights]), np.r_[-gradient, np.zeros(len(J))]
    size = np.maximum(np.linalg.norm(system, axis=0), 1e-300)
    z, _ = nnls(system / size, right, maxiter=50 * system.shape[1])
    return float(np.abs(system @ (z / size) - right).max())


def _cost(problem: Reaching, oracle: Oracle, q, v, tau):
    """Return the cost, its gradients with respect to the states (N, 2n), and that of the final state (2n)."""
    (wq, wv, wu), (Wq, Wv), h, goal = problem.running, problem.final, problem.dt, np.array(problem.goal)
    away = q - goal
    running = 0.5 * h * (wq * (away[:-1] ** 2).sum() + wv * (v[:-1] ** 2).sum() + wu * (tau**2).sum())
    final = 0.5 * (Wq * away[-1] @ away[-1] + Wv * v[-1] @ v[-1])
    slope, last = h * np.hstack([wq * away[:-1], wv * v[:-1]]), np.r_[Wq * away[-1], Wv * v[-1]]
    if problem.tool:
        miss = oracle.pose(problem.tool, q[-1])[:3, 3] - problem.target
        linear = oracle.jacobian(problem.tool, q[-1], "LOCAL_WORLD_ALIGNED")[:3]
        final += 0.5 * problem.tool_weight * miss @ miss
        last[: len(goal)] += problem.tool_weight * linear.T @ miss
    return running + final, slope, last


def _bounds(problem: Reaching, q, v, tau, S):
    """Return the slacks of all rows (states after the first, then torques), and a function of chosen rows of J."""
    (N, n), free = tau.shape, np.full(tau.shape[1], np.inf)
    speed, torque = (np.array(x) if x else free for x in (problem.speed, problem.torque))
    high, low = np.r_[problem.upper or free, speed], np.r_[problem.lower or -free, -speed]
    x = np.hstack([q, v])[1:]
    slacks, entries = [], []
    for bound, sign, values, kind in (
        (high, 1.0, x, 0),
        (low, -1.0, x, 0),
        (torque, 1.0, tau, 1),
        (-torque, -1.0, tau, 1),
    ):
        for i in np.flatnonzero(np.isfinite(bound)):
            slacks.append(sign * (bound[i] - values[:, i]))
            entries += [(sign, kind, k, i) for k in range(N)]

    def rows(chosen: np.ndarray) -> np.ndarray:
        J = np.zeros((int(chosen.sum()), N * n))
        for row, (sign, kind, k, i) in zip(J, (entries[j] for j in np.flatnonzero(chosen)), strict=True):
            if kind:
                row[k * n + i] = sign
            else:
                row[:] = sign * S[k + 1, i]
        return J

    return np.concatenate(slacks) if slacks else np.zeros(0), rows
