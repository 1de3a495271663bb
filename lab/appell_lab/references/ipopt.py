"""The problem of an `Optimizer` for IPOPT: an independent judgement of costs and of feasibility.

The unknowns are all states and inputs; steps, costs and rows of a knot are exported to CasADi and mapped over the
knots, with CasADi's exact derivatives. Only robots whose states have no quaternions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.optimal.optimizer import Optimizer


class IpoptSolution(NamedTuple):
    """`status` is IPOPT's; `violation` is the largest violation of a step or a row."""

    status: str
    cost: float
    violation: float
    iterations: int
    states: np.ndarray
    inputs: np.ndarray


class Ipopt:
    """The solver of all problems of a plan.

    Parameters
    ----------
    plan : Optimizer
        The plan, with one kind of knot and without free parameters.
    iterations : int
        Largest number of iterations.
    seconds : float
        Largest processor time of a problem, in s.
    """

    def __init__(self, plan: Optimizer, iterations: int = 1000, seconds: float = 60.0):
        import casadi as ca

        self.plan, problem, it = plan, plan.problem, plan.iteration
        if it.np or len(it.kinds) > 1 or problem.nq != problem.nv:
            raise ValueError("Only problems without free parameters, contact phases and quaternions are exported.")
        [knot], last = plan._row_functions
        N, nx, nu = it.N, it.nx, it.nu
        X, U = ca.MX.sym("X", nx, N + 1), ca.MX.sym("U", nu, N)
        size = it.n_held + it.n_driven
        data, clock = ca.MX.sym("data", size), ca.DM(np.stack([np.arange(N + 1.0), np.full(N + 1, problem.dt)]))
        rest = [ca.repmat(data, 1, N)] if size else []
        rows = knot.to_casadi().map(N)(X[:, :N], X[:, 1:], U, clock[:, :N], *rest)
        end = last.to_casadi()(X[:, N], clock[:, N], *([data[: it.n_held]] if it.n_held else []))
        m, me, m_end, me_end = it.m, it.me, it.m_end, it.me_end
        cost = ca.sum2(rows[-1, :]) + end[m_end + me_end]
        g = ca.vertcat(ca.vec(rows[:-1, :]), *([end[: m_end + me_end]] if m_end + me_end else []))
        nlp = {"x": ca.vertcat(ca.vec(X), ca.vec(U)), "p": data, "f": cost, "g": g}
        limits: dict[str, Any] = {
            "print_level": 0,
            "max_iter": iterations,
            "max_cpu_time": seconds,
            "tol": 1e-8,
            "sb": "yes",
        }
        self._solver = ca.nlpsol(
            "ipopt", "ipopt", nlp, {"ipopt": limits, "print_time": False, "show_eval_warnings": False}
        )
        masks = np.array([it.mask(k) for k in range(N)]).reshape(N, m + me)
        low = np.tile(np.r_[np.full(m, -np.inf), np.zeros(me + nx)], (N, 1))
        high = np.zeros((N, m + me + nx))
        high[:, : m + me][masks == 0.0], low[:, : m + me][masks == 0.0] = np.inf, -np.inf
        self._lower = np.r_[low.ravel(), np.full(m_end, -np.inf), np.zeros(me_end)]
        self._upper = np.r_[high.ravel(), np.zeros(m_end + me_end)]

    def __call__(
        self, q0: Any, v0: Any, arguments: Any, guess: tuple[np.ndarray, np.ndarray] | None = None
    ) -> IpoptSolution:
        """Solve one problem from the first guess of the plan, or from states (N + 1, nx) and inputs (N, nu)."""
        problem, it = self.plan.problem, self.plan.iteration
        first = problem.guess(q0, v0, None, None)
        held, driven = problem.data_values(arguments, None, None)
        start = np.concatenate([first.q[0], first.v[0]], axis=1)
        states, inputs = (start, first.u[0]) if guess is None else guess
        n = it.nx
        free = np.full(n * it.N + it.nu * it.N, np.inf)
        answer = self._solver(
            x0=np.r_[states.ravel(), inputs.ravel()],
            p=np.r_[held[0], driven[0, 0]],
            lbx=np.r_[start[0], -free],
            ubx=np.r_[start[0], free],
            lbg=self._lower,
            ubg=self._upper,
        )
        stats, z, g = self._solver.stats(), np.array(answer["x"]).ravel(), np.array(answer["g"]).ravel()
        violation = np.maximum(self._lower - g, g - self._upper).max(initial=0.0)
        split = n * (it.N + 1)
        return IpoptSolution(
            stats["return_status"], float(answer["f"]), float(violation), int(stats["iter_count"]),
            z[:split].reshape(it.N + 1, n), z[split:].reshape(it.N, it.nu),
        )  # fmt: skip
