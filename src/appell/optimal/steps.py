"""The step of a rollout and its derivatives in the directions of the state, x = (ξ, v).

    euler      v⁺ = v + h a(q, v, τ)           δv⁺ = P ξ + Q δv + R δu           P = h ∂a/∂q, Q = 1 + h ∂a/∂v       (1)
               q⁺ = q + h N(q) v⁺              ξ⁺ = T_q ξ + T_v δv⁺              1 and h without quaternions        (2)
    rk4        the derivatives of the four slopes follow from one another                                          (3)
    midpoint   x° = x + h/2 f(x°, u), x⁺ = 2x° - x:   (1 - h/2 ∂f/∂x) δx° = δx + h/2 ∂f/∂u δu                        (4)

Derivatives of accelerations are those of forward dynamics, which have a structure of their own. (3) and (4) are for
coordinates with q̇ = v; for other coordinates and these methods the tape of the whole step is differentiated. The result
of a step closes loops by steps of Newton's method, which does not change ξ⁺ if all joints have one axis; otherwise
it is part of (2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.algebra.scalar import Scalar, dot
from appell.algebra.solve import solve
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.dynamics.derivatives import wrench_name
from appell.optimal.manifold import Manifold
from appell.optimal.objective import KnotInputs, Rows, hessian
from appell.simulation.options import SpringContacts
from appell.simulation.rollouts.contacts.penalty import Penalty
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.schemes import STAGES

MAX_CONDITION = 1e12  # of the matrix of (4), above which derivatives are NaN
Given = Mapping[str, Any]
EMPTY: Rows = []  # never changed


class KnotStepResult(NamedTuple):
    """The state after a step, and the contact forces during it."""

    q: list[Scalar]
    v: list[Scalar]
    force: Sequence[Scalar] = ()


class StepSlopes(NamedTuple):
    """Derivatives of a step: (1) and (2) if `structured`, otherwise A and B; `by_p` (nx, np) by free parameters."""

    T_q: Rows = EMPTY
    T_v: Rows = EMPTY
    P: Rows = EMPTY
    Q: Rows = EMPTY
    R: Rows = EMPTY
    dense: tuple[Rows, Rows] | None = None
    by_p: Rows = EMPTY
    of_force: Rows = EMPTY  # ∂λ/∂(x, u) of contact forces, if they are used

    def maps(self, structured: bool) -> tuple[Rows, Rows]:
        """Return T and S of x⁺ = T (ξ, S (x, u)); T is empty and S = [A B] if the structure is not used."""
        if not structured:
            return EMPTY, [[*a, *b] for a, b in zip(self.A, self.B, strict=True)]
        n, nd = len(self.P), len(self.T_q)
        upper = [[*a, *b] for a, b in zip(self.T_q, self.T_v, strict=True)]
        lower = [[0.0] * nd + row for row in identity(n)]
        return upper + lower, [[*a, *b, *c] for a, b, c in zip(self.P, self.Q, self.R, strict=True)]

    @property
    def A(self) -> Rows:
        """∂x⁺/∂x, (nx, nx)."""
        if self.dense is not None:
            return self.dense[0]
        over = [[*p, *q] for p, q in zip(self.P, self.Q, strict=True)]
        zeros = [0.0] * len(over)
        return [*add([[*row, *zeros] for row in self.T_q], product(self.T_v, over)), *over]

    @property
    def B(self) -> Rows:
        """∂x⁺/∂u, (nx, nu)."""
        if self.dense is not None:
            return self.dense[1]
        return [*product(self.T_v, self.R), *self.R]


class KnotStep:
    """The step of a system by a method, and its derivatives; `actuators` are the indices of u in tau."""

    def __init__(
        self,
        dyn: Dynamics,
        method: str,
        actuators: Sequence[int],
        inputs: KnotInputs,
        names: Sequence[str],
        smoothing: SpringContacts | None,
    ):
        self.dyn, self.system, self.method, self.actuators = dyn, dyn.system, method, list(actuators)
        self.inputs, self.manifold = inputs, Manifold(dyn)
        self.names = tuple(names)  # of the free parameters: "time" for the duration comes first
        self.structured = method == "euler"
        contact = None if smoothing is None else Penalty(dyn, model=smoothing)
        self.formula = StepFormula(dyn, method, contact=contact)

    def torques(self, u: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces of all actuators of the system; those of other actuators are zero."""
        tau: list[Scalar] = [0.0] * self.system.nu
        for k, x in zip(self.actuators, u, strict=True):
            tau[k] = x
        return tau

    def __call__(self, given: Given, kind: int = 0) -> KnotStepResult:
        """Return the state after the step, for a knot of this kind."""
        t, h = given["time"]
        state = {"q": list(given["q"]), "v": list(given["v"]), "t": t, "dt": h, "torque": self.torques(given["u"])}
        state |= {name: list(given[name]) for name in ("parameters", "wrenches") if name in given}
        after = self.formula.step(state)
        return KnotStepResult(list(after["q"]), list(after["v"]))

    # ---- first derivatives

    def derivatives(self, given: Given, kind: int = 0) -> tuple[KnotStepResult, StepSlopes]:
        """Return the state after the step on scalars by name, and its derivatives."""
        after = self(given, kind)
        if self.method == "euler":
            return after, self._euler(given, after.q, after.v)
        if not self.manifold.is_flat:
            return after, self._by_tape(given, after.q)
        return after, self._rk4(given) if self.method == "rk4" else self._midpoint(given, after.q, after.v)

    def _euler(self, given: Given, q_next: Sequence[Scalar], v_next: Sequence[Scalar]) -> StepSlopes:
        h = given["time"][1]
        by_q, by_v, by_u, by_p = self._acceleration_slopes(given, given["q"], given["v"])
        P = scaled(h, by_q)
        Q = [[h * x + (1.0 if i == j else 0.0) for j, x in enumerate(row)] for i, row in enumerate(by_v)]
        R, of_v = scaled(h, by_u), scaled(h, by_p)
        T_q, T_v, by_h = self.manifold.advance_slopes(q_next, given["q"], v_next, h)
        of_x = [[0.0] * len(of_v[0]) for _ in range(self.manifold.size)]
        if "time" in self.names:  # both through h: h a, and the change of q over the step
            share = 1.0 / self.inputs.steps
            for row, before, after in zip(of_v, given["v"], v_next, strict=True):
                row[0] = share * ((after - before) / h)
            for row, x in zip(of_x, by_h, strict=True):
                row[0] = share * x
        return StepSlopes(T_q, T_v, P, Q, R, None, [*add(of_x, product(T_v, of_v)), *of_v])

    def _acceleration_slopes(self, given: Given, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Rows, ...]:
        """Return ∂a by the directions of q, by v, by u and by the free parameters (zero by the duration)."""
        values = self._acceleration_inputs(given, q, v)
        acceleration = self._acceleration
        slopes = acceleration.jacobian("q", "v", "tau")(*values)
        by_q, by_v, by_tau = (np.asarray(x, object).tolist() for x in slopes)
        by_u = [[row[k] for k in self.actuators] for row in by_tau]
        by_p: Rows = [[] for _ in by_q]
        for name in self.names:
            columns: Rows = [[0.0] * self.inputs.columns(name) for _ in by_q]
            if name == "parameters":
                columns = np.asarray(acceleration.jacobian("parameters")(*values), object).tolist()
            for row, part in zip(by_p, columns, strict=True):
                row.extend(part)
        return by_q, by_v, by_u, by_p

    def _acceleration_inputs(self, given: Given, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Any]:
        values: dict[str, Any] = {"q": list(q), "v": list(v), "tau": self.torques(given["u"])}
        wrenches = list(given.get("wrenches", ()))
        for k, name in enumerate(self.dyn.wrenches):
            values[wrench_name(self.system.frame(name))] = wrenches[6 * k : 6 * k + 6]
        values["wrenches"], values["parameters"] = wrenches, list(given.get("parameters", ()))
        return [values[array.name] for array in self._acceleration.inputs]

    @property
    def _acceleration(self) -> Function:
        """Accelerations as a function; with smoothed friction those of the formula of the step."""
        if self.formula.contact is None:
            return self.dyn.forward_dynamics
        if not hasattr(self, "_smooth"):
            sizes = {"q": self.system.nq, "v": self.system.nv, "tau": self.system.nu}
            sizes |= {name: self.inputs.sizes[name] for name in ("wrenches", "parameters") if name in self.inputs.sizes}

            def body(q, v, tau, *others):
                inputs = [0.0, 0.0, *tau, *(x for other in others for x in other)]
                return {"a": self.formula.acceleration(inputs, 0.0, list(q), list(v))}

            self._smooth = Function.of(
                "smooth_forward_dynamics", sizes, body, owner=self.system.owner, tangents=self.dyn.tangents
            )
        return self._smooth

    def _rk4(self, given: Given) -> StepSlopes:
        """Return (3): the derivative of slope k is ∂f (1 + c h · derivative of slope k - 1)."""
        n, h = self.system.nv, given["time"][1]
        q, v = list(given["q"]), list(given["v"])
        count = 2 * n + len(self.actuators) + sum(map(self.inputs.columns, self.names))
        seeds = [[1.0 if i == j else 0.0 for j in range(count)] for i in range(2 * n)]
        time = 2 * n + len(self.actuators) if "time" in self.names else None
        share = 1.0 / self.inputs.steps
        at, moved = [*q, *v], seeds
        total, total_slopes = [0.0] * (2 * n), [[0.0] * count for _ in range(2 * n)]
        for _, length, weight in STAGES:
            a = list(self._acceleration(*self._acceleration_inputs(given, at[:n], at[n:])))
            by_q, by_v, by_u, by_p = self._acceleration_slopes(given, at[:n], at[n:])
            direct = [[*[0.0] * (2 * n), *u, *p] for u, p in zip(by_u, by_p, strict=True)]
            both = product([[*x, *y] for x, y in zip(by_q, by_v, strict=True)], moved)
            slope, slopes = [*at[n:], *a], [*moved[n:], *add(both, direct)]
            total = [x + weight * s for x, s in zip(total, slope, strict=True)]
            total_slopes = add(total_slopes, scaled(weight, slopes))
            at = [x + (length * h) * s for x, s in zip([*q, *v], slope, strict=True)]
            moved = add(seeds, scaled(length * h, slopes))
            if time is not None:
                for row, s in zip(moved, slope, strict=True):
                    row[time] = row[time] + (length * share) * s
        rows = add(seeds, scaled(h / 6.0, total_slopes))
        if time is not None:
            for row, s in zip(rows, total, strict=True):
                row[time] = row[time] + (share / 6.0) * s
        return self._dense(rows)

    def _midpoint(self, given: Given, q_next: Sequence[Scalar], v_next: Sequence[Scalar]) -> StepSlopes:
        """Return (4), solved for the change of the velocity in the middle."""
        n, h = self.system.nv, given["time"][1]
        half = 0.5 * h
        q, v = list(given["q"]), list(given["v"])
        middle_q = [0.5 * (x + y) for x, y in zip(q, q_next, strict=True)]
        middle_v = [0.5 * (x + y) for x, y in zip(v, v_next, strict=True)]
        by_q, by_v, by_u, by_p = self._acceleration_slopes(given, middle_q, middle_v)
        left = [
            [(1.0 if i == j else 0.0) - half * (by_v[i][j] + half * by_q[i][j]) for j in range(n)] for i in range(n)
        ]
        unit = identity(n)
        right = [[*_times(half, by_q[i]), *unit[i], *_times(half, by_u[i]), *_times(half, by_p[i])] for i in range(n)]
        time = 2 * n + len(self.actuators) if "time" in self.names else None
        share = 0.5 / self.inputs.steps
        if time is not None:  # h/2 f(x°): q changes by v°, v by a
            for i, row in enumerate(right):
                a = (v_next[i] - v[i]) / h
                row[time] = row[time] + share * (a + half * dot(by_q[i], middle_v))
        dv = solve(left, right, MAX_CONDITION)
        width = len(right[0])
        dq = [[(1.0 if i == j else 0.0) + half * dv[i][j] for j in range(width)] for i in range(n)]
        if time is not None:
            for row, x in zip(dq, middle_v, strict=True):
                row[time] = row[time] + share * x
        start = [[1.0 if i == j else 0.0 for j in range(width)] for i in range(2 * n)]
        return self._dense(
            [[2.0 * m - s for m, s in zip(*pair, strict=True)] for pair in zip([*dq, *dv], start, strict=True)]
        )

    def _dense(self, rows: Rows) -> StepSlopes:
        """Return the derivatives by (x, u, p) as slopes."""
        nx, nu = self.manifold.size + self.system.nv, len(self.actuators)
        A, B = [row[:nx] for row in rows], [row[nx : nx + nu] for row in rows]
        return StepSlopes(dense=(A, B), by_p=[row[nx + nu :] for row in rows])

    # ---- the step as a function, for its tape

    def _function(self, weighted: bool) -> Function:
        """Return the step as a function of the knot and of its own result `end`; weighted: λ·x⁺, one scalar."""

        def body(given: dict[str, Any]) -> dict[str, Any]:
            lists = {name: value if name == "time" else list(value) for name, value in given.items()}
            q, v, _ = self(lists)
            x = [*self.manifold.difference(list(given["end"]), q, nearby=True), *v]
            return {"total": dot(given["costate"], x)} if weighted else {"x": x}

        more = {"end": self.system.nq} | ({"costate": self.manifold.size + self.system.nv} if weighted else {})
        return self.inputs.function("step_curvature" if weighted else "step", self.system.owner, body, **more)

    def _by_tape(self, given: Given, q_next: Sequence[Scalar]) -> StepSlopes:
        if not hasattr(self, "_tape_function"):
            self._tape_function = self._function(weighted=False)
        end = {**given, "end": list(q_next)}
        rows = self.inputs.jacobian(self._tape_function, end, self.manifold.size + self.system.nv)
        return self._dense(rows)

    def curvature(self, given: Given, q_next: Sequence[Scalar], costate: Sequence[Scalar]) -> Rows:
        """Return the Hessian of λ·x⁺ by all unknowns, for the costate λ after the step."""
        if not hasattr(self, "_weighted_function"):
            self._weighted_function = self._function(weighted=True)
        return hessian(self.inputs, self._weighted_function, {**given, "end": list(q_next), "costate": list(costate)})


def identity(n: int) -> Rows:
    """Return the unit matrix."""
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def product(x: Rows, y: Rows) -> Rows:
    """Return the product of two matrices of scalars; literal zeros take no operations."""
    columns = list(zip(*y, strict=True))
    return [[dot(row, column) for column in columns] for row in x]


def add(x: Rows, y: Rows) -> Rows:
    """Return the sum of two matrices."""
    return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(x, y, strict=True)]


def scaled(factor: Scalar, x: Rows) -> Rows:
    """Return a multiple of a matrix."""
    return [_times(factor, row) for row in x]


def _times(factor: Scalar, x: Sequence[Scalar]) -> list[Scalar]:
    return [factor * entry for entry in x]
