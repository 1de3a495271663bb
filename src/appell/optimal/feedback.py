"""Feedback about an optimal motion: its torques and the gains of the last sweep as a control law.

    τ = u_k + K_k (x ⊖ x̄(t)),    x̄(t) between x_k and x_{k+1}                                                     (1)

After the end of the motion the last state is the reference, at rest, with the last gain and the torques that hold it.
The rows of the motion are constants of the compiled function: a loop selects the row of the time t, so that the number
of operations is fixed and the function in C stores them in constant tables.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, clamp, floor, select
from appell.algebra.scalar import abs as magnitude
from appell.compile.function import Function
from appell.control.traced_law import TracedLaw
from appell.errors import ArgumentError, check_number
from appell.optimal.guesses import holding_torques
from appell.simulation.inputs import Sampled
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.compile.c.source import CSource
    from appell.optimal.problem import Problem

LATE = 1e-6  # part of a step by which a time may be early and still belong to the next knot


class MotionFeedback:
    """The law (1) of a solution, which `record.feedback()` returns: a function of (t, q, v).

    Use it in `ap.simulate(..., torque=law)`, `ap.rollout(..., law=law)` and `ap.control.Design(robot, law=law.traced,
    period=law.period)`; `law.to_c(name)` exports it.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    q, v : array, shape (steps + 1, n)
        States at the knots.
    u : array, shape (steps, inputs)
        Inputs.
    gain : array, shape (steps, inputs, directions)
        K.
    dt : float
        Step, in s.
    period : float, optional
        Time between two evaluations, in s; by default dt.
    """

    def __init__(self, problem: Problem, q, v, u, gain, dt: float, period: float | None = None):
        self.problem, self.dt, self.period = problem, float(dt), float(dt if period is None else period)
        check_number("period", self.period, least=0.0, above=True)
        rest = np.zeros_like(v[-1:])
        self.q, self.v = np.concatenate([q, q[-1:]]), np.concatenate([v[:-1], rest, rest])
        self.u = np.concatenate([u, holding_torques(problem, q[-1:])[:, problem.actuators]])
        self.gain = np.concatenate([gain, gain[-1:]])

    def __repr__(self) -> str:
        steps = len(self.u) - 1
        return f"<MotionFeedback of {self.problem.system.owner}: {steps} steps of {self.dt:g} s>"

    @cached_property
    def _table(self) -> np.ndarray:
        """One row per knot: its number, x̄, the change to the next x̄, u, K."""
        problem, steps = self.problem, len(self.u)

        def change(q, after):
            return {"change": problem.difference(list(q), list(after))}

        difference = Function.of("difference", {"q": problem.nq, "after": problem.nq}, change)
        parts = [
            np.arange(steps)[:, None],
            self.q[:-1],
            self.v[:-1],
            np.asarray(difference(self.q[:-1], self.q[1:])),
            self.v[1:] - self.v[:-1],
            self.u,
            self.gain.reshape(steps, -1),
        ]
        return np.concatenate(parts, axis=1)

    def _torques(self, row: Vector, part: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        """Return (1) for a row of the table without its number."""
        problem = self.problem
        nq, nx, nu = problem.nq, problem.nx, problem.nu
        nd, n = nx - problem.nv, nq + problem.nv
        change, u, K = row[n : n + nx], row[n + nx : n + nx + nu], row[n + nx + nu :]
        at = problem.integrate(list(row[:nq]), [part * x for x in change[:nd]])
        speed = [a + part * b for a, b in zip(row[nq:n], change[nd:], strict=True)]
        dx = [*problem.difference(at, list(q)), *(a - b for a, b in zip(v, speed, strict=True))]
        gains = [K[i * nx : (i + 1) * nx] for i in range(nu)]
        tau = [
            a + sum((k * x for k, x in zip(row_i, dx, strict=True)), start=0.0)
            for a, row_i in zip(u, gains, strict=True)
        ]
        low, high = (bound["torque"][problem.actuators] for bound in (problem.limits.lower, problem.limits.upper))
        limited = [
            clamp(x, float(a), float(b)) if np.isfinite([a, b]).all() else x
            for x, a, b in zip(tau, low, high, strict=True)
        ]
        return problem.torques(limited)

    def traced_torques(self, loops: Loops, time: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        """Return (1) over abstract scalars; a loop selects the row."""
        table = self._table
        rows, width = table.shape
        at = clamp((1.0 / self.dt) * time + LATE, 0.0, float(rows - 1))
        number = floor(at)
        KEY, ROW = loops.given([[number]]), loops.given([[0.0] * (width - 1)])

        def pick(key, row, numbers):
            other = magnitude(key[0] - numbers[0]) - 0.5
            return [[select(other, old, new) for old, new in zip(row, numbers[1:], strict=True)]]

        once = [0] * rows
        loops.each([pick], once, [Rows(KEY, once), Rows(ROW, once)], [Rows(ROW, once)], table.tolist())
        return self._torques(loops.values(ROW)[0], at - number, list(q), list(v))

    @cached_property
    def function(self) -> Function:
        """The law as a compiled function (time, q, v) -> tau."""
        problem = self.problem

        def body(time, q, v, loops):
            return {"tau": self.traced_torques(loops, time, list(q), list(v))}

        doc = f"Feedback about a motion of {len(self.u) - 1} steps of {self.dt:g} s."
        inputs = {"time": (), "q": problem.nq, "v": problem.nv}
        return Function.of("motion_feedback", inputs, body, doc, problem.system.owner, loops=True)

    def __call__(self, t, q, v) -> np.ndarray:
        """Return the torques (nu) at a time t in s since the start of the motion, in N m or N."""
        return self.function(t, q, v)

    @property
    def sampled(self) -> Sampled:
        """The law for `ap.simulate(..., torque=law)`: evaluated once per period."""
        return Sampled(self, self.period)

    def kernel_law(self, reference: Any = None) -> KernelLaw:
        """Return the law for `ap.rollout(..., law=law)`."""
        if reference is not None:
            raise ArgumentError(
                "a reference is given to the feedback of a motion, which has its own.",
                expected="law= without reference=",
            )
        table, dt = self._table, self.dt

        def signal(t: np.ndarray) -> np.ndarray:
            at = np.clip(t / dt + LATE, 0.0, len(table) - 1.0)
            rows = table[np.floor(at).astype(int)].copy()
            rows[:, 0] = at - np.floor(at)
            return rows

        def torque(t, q, v, memory, signal):
            return self._torques(signal[1:], signal[0], q, v), memory

        return KernelLaw("feedback", torque, np.zeros(0), table.shape[1], signal, self.period)

    @property
    def traced(self) -> TracedLaw:
        """The law for `ap.control.Design(robot, law=law.traced, period=law.period)`: control loops and devices."""

        def feedback(dyn, state):
            return self.traced_torques(state.loops, state.t, list(state.q), list(state.v))

        return TracedLaw("feedback", feedback, tracks=False, looped=True)

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """Return the law (time, q, v) -> tau as C99 with the motion in constant tables; bit-identical to a call."""
        return self.function.to_c(name, dtype=dtype)
