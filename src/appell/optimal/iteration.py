"""One iteration of the solver: a primal-dual interior point method on multiple shooting.

    min Σ l(x_k, u_k, p) + l_N(x_N, p)   with   s(x_k, u_k, p) ⊖ x_{k+1} = 0,   g + w = 0, w ≥ 0,   e = 0         (1)

Newton's method on the conditions of the barrier problem, with multipliers λ, z ≥ 0 and y of the three kinds of rows:

    ∇l + Jᵀ(λ, z, y) = 0        w z = μ        J_e dx + e = δ (y⁺ - y)                                           (2)

Slacks and multipliers of rows are eliminated at every knot: an inequality adds J_gᵀ (z/w) J_g to the Hessian and
J_gᵀ (μ + z (g + w)) / w to the gradient, an equality J_eᵀ J_e / δ and J_eᵀ (y + e/δ). What remains is the Riccati
sweep (`sweep`). The proximal term δ changes the path of the iteration, not its limit, because y is carried.

    carried   x (N+1, nq + nv)    states
              w (N, nu + 2 m + me)    inputs, slacks, multipliers z, multipliers y of each knot
              costate (N+1, nx)
              end    p; slacks, z and y of the last knot and of p; then the numbers of `INFO`

With `relaxed`, rows that depend on the state may be violated, at a cost of ½ W times the squares of the violations:

    g + w = z / W,  e = y / W                                                                                    (3)

in place of the rows in (1). Rows of inputs alone, bounds of p, and the gaps stay. The violations at a solution are
λ/W with the multipliers λ of a feasible problem. If it is infeasible they are larger, and no small change of the motion
satisfies the rows better.

An iteration is branch-free: a problem that is done keeps its numbers, loops that no problem
of a block needs are skipped.
Its stages, one loop each: derivatives and residuals; barrier terms; sweep backwards; forwards; directions;
trial points; update.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Matrix, Scalar, Vector, is_zero, log, maximum, minimum, select, sqrt
from appell.algebra.scalar import abs as magnitude
from appell.compile.function import Function
from appell.compile.scan import Scan
from appell.errors import ModelWarning
from appell.optimal.contact_steps import after_impact
from appell.optimal.layout import TracedPart
from appell.optimal.problem import Problem
from appell.optimal.sweep import Step, Value, lower, product, solve_positive, sparse_dot, stage, symmetric, transposed
from appell.optimal.tiled_sweep import SweepTables, TiledSweep

# numbers of a problem that are carried and reported, in the order of the last entries of `end`
INFO = (
    "status",
    "iterations",
    "mu",
    "rho",
    "funnel",
    "cost",
    "error",
    "dual",
    "primal",
    "gap",
    "alpha",
    "wait",
    "reach",
    "short",
)
RUNNING, SOLVED, STALLED, NOT_FINITE = 0.0, 1.0, 2.0, 3.0  # values of the entry `status`

# δ: rows of equalities are relaxed by it times the change of y; with a smaller one, rounding errors e / δ enter y
PROXIMAL = 1e-5
TRIALS = (1.0, 0.5, 0.25, 0.125, 1.0 / 32.0, 1.0 / 256.0)  # step lengths of one iteration, relative to the longest
SMALLEST_RHO, LARGEST_RHO = 1e-6, 1e8
REACH_FACTOR = 32.0  # by which the longest step length decreases if none was accepted, and increases otherwise
ARMIJO = 1e-4
ROUNDING = 1e-13  # relative increase of the barrier function that counts as rounding
NEAR_SOLUTION = 1e-3  # KKT residual below which full steps are accepted without a decrease of the barrier function
SHORT_STEP = 0.1  # length below which a step is short
SHORT_STEPS = 8.0  # short steps in succession after which a full step inside the funnel is accepted
EXACT_BELOW = 0.1  # KKT residual below which exact Hessians are used
EXACT_AFTER = 19.5  # iterations after which exact Hessians are used at any residual
EXACT_PAUSE = 4.0  # iterations with Gauss-Newton Hessians after one with exact Hessians that fails
SMALLEST_GAP = 0.2  # duality gap of the smallest μ, relative to the tolerance; less loses slacks among rounding errors
BARRIER_ERROR, BARRIER_FACTOR = 30.0, 0.1  # μ decreases at a residual of 30 μ, by a tenth or to μ^1.5
LARGEST_PRODUCT = 1e300
MAX_STRAIGHT_STATES = 16  # above which a stage of the sweep is a loop over tiles
SLOW_NODES, SECONDS_PER_NODE = 100_000, 2.5e-4  # operations of derivatives that compile for long, and their time

FIRST_VALUES = {"sum": 0.0, "max": 0.0, "min": LARGEST_PRODUCT}  # of sums and extremes
RESIDUALS = ("max", "max", "sum", "max", "sum", "min", "sum", "sum", "sum")


class Totals(NamedTuple):
    """Sums and extremes over all knots."""

    dual: Scalar  # largest entry of the gradient of the Lagrangian
    primal: Scalar  # largest violation of a constraint
    violation: Scalar  # sum of all violations
    product: Scalar  # largest product of a slack and its multiplier
    gap: Scalar  # their sum
    smallest: Scalar  # the smallest
    cost: Scalar
    logs: Scalar  # sum of the logarithms of the slacks
    multipliers: Scalar  # sum of the magnitudes of all multipliers


class Ends(NamedTuple):
    """The row `end`, divided."""

    p: list[Scalar]
    slack: list[Scalar]
    z: list[Scalar]
    y: list[Scalar]
    info: dict[str, Scalar]


def total(values: Sequence[Scalar]) -> Scalar:
    """Return the sum."""
    return sum(values, start=0.0)


def largest(values: Sequence[Scalar]) -> Scalar:
    """Return the largest magnitude, 0 without values."""
    result: Scalar = 0.0
    for value in values:
        result = maximum(result, magnitude(value))
    return result


def is_finite(value: Scalar) -> Scalar:
    """Return 1, or 0 if the value is infinite or NaN."""
    return select(LARGEST_PRODUCT - magnitude(value), 1.0, 0.0)


class Softness(NamedTuple):
    """Which rows of a knot may be violated: inequalities, then equalities."""

    g: list[bool]
    e: list[bool]

    def penalty(self, g: Vector, e: Vector, slack: Vector, mask: Vector, weight: Scalar) -> Scalar:
        """Return ½ W times the squares of the violations in (3); W is the weight."""
        counted = mask[len(mask) - len(e) :]
        squares = [mask[k] * (g[k] + slack[k]) * (g[k] + slack[k]) for k in range(len(g)) if self.g[k]]
        squares += [counted[k] * e[k] * e[k] for k in range(len(e)) if self.e[k]]
        return 0.5 * weight * total(squares) if squares else 0.0


def with_barrier(gradient, hessian, rows, slack, z, y, mu, mask, soft=None, weight=None):
    """Return the gradient and the lower half of the Hessian with the terms of rows, eliminated by (2) or (3)."""
    g, e, g_z, e_z = rows
    weights, pulls, jacobian = [], [], []
    for k, row in enumerate(g_z):
        inverse = mask[k] / (slack[k] + z[k] / weight if soft and soft.g[k] else slack[k])
        weights.append(z[k] * inverse)
        pulls.append(inverse * (mu + z[k] * (g[k] + slack[k])))
        jacobian.append(row)
    for k, row in enumerate(e_z):
        counted = mask[len(mask) - len(y) + k]
        weights.append(counted * (weight if soft and soft.e[k] else 1.0 / PROXIMAL))
        pulls.append(counted * (weight * e[k] if soft and soft.e[k] else y[k] + e[k] * (1.0 / PROXIMAL)))
        jacobian.append(row)
    size = len(gradient)
    columns = [[row[i] for row in jacobian] for i in range(size)]
    gradient = [gradient[i] + sparse_dot(columns[i], pulls) for i in range(size)]
    scaled = [[0.0 if is_zero(x) else x * w for x, w in zip(column, weights, strict=True)] for column in columns]
    hessian = [[hessian[i][j] + sparse_dot(scaled[i], columns[j]) for j in range(i + 1)] for i in range(size)]
    return gradient, hessian


class Iteration:
    """The iteration of a problem; `scan` repeats it.

    Parameters
    ----------
    problem : Problem
        The problem.
    tolerance : float
        KKT residual, scaled as IPOPT does, and relative duality gap at which a problem is solved.
    limit : int
        Largest number of iterations; a problem that reached it does not change any more.
    barrier : float, optional
        Value at which μ is held, for model predictive control; a problem is then never done. None: μ decreases.
    relaxed : bool
        Whether rows that depend on the state may be violated (3); W is then an argument of the kernel.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float = 1e-8,
        limit: int = 300,
        barrier: float | None = None,
        relaxed: bool = False,
    ):
        self.problem, self.tolerance, self.limit, self.barrier = problem, tolerance, limit, barrier
        self.N, self.nq, self.nv, self.nx = problem.steps, problem.nq, problem.nv, problem.nx
        self.nu, self.np = problem.nu, problem.np
        self.nz = self.nx + self.nu + self.np
        self.m = max(len(rows) for rows in problem.rows)
        self.me = max(len(rows) for rows in problem.equalities)
        self.m_end = len(problem.final_rows) + len(problem.parameter_rows)
        self.me_end = len(problem.final_equalities)
        self.n_held, self.n_driven = sum(problem.held.values()), sum(problem.driven.values())
        self.nxu, self.has_contacts = self.nx + self.nu, problem.phases is not None
        self.forces = problem.phases.force_size if problem.phases is not None and problem.uses_forces else 0
        self.kinds = sorted(set(problem.kinds))
        self.order = [self.kinds.index(kind) for kind in problem.kinds]
        self.rows = sum(
            not (row.state_only and k == 0) for k, kind in enumerate(problem.kinds) for row in problem.rows[kind]
        )
        self.rows += self.m_end
        self.relaxed = relaxed
        inputs = range(self.nx, self.nx + self.nu)
        self.soft = Softness(
            *([relaxed and row.unknown not in inputs for row in rows[0]] for rows in (problem.rows, problem.equalities))
        )
        bounds = [False] * len(problem.parameter_rows)
        self.soft_end = Softness([relaxed] * len(problem.final_rows) + bounds, [relaxed] * self.me_end)

    # ---- sizes of the carried arrays

    @property
    def carried(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the carried arrays."""
        return {
            "x": (self.N + 1, self.nq + self.nv),
            "w": (self.N, self.nu + 2 * self.m + self.me),
            "costate": (self.N + 1, self.nx),
            "end": (self.np + 2 * self.m_end + self.me_end + len(INFO),),
        }

    @property
    def held(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that are constant in all iterations."""
        shapes: dict[str, tuple[int, ...]] = {"start": (self.nq + self.nv,), "dt": ()}
        if self.relaxed:
            shapes["weight"] = ()
        if self.n_held:
            shapes["data"] = (self.n_held,)
        if self.n_driven:
            shapes["course"] = (self.N, self.n_driven)
        return shapes

    def mask(self, k: int) -> list[float]:
        """Return 1 for every row of a knot, and 0 for rows of the given first state: inequalities, then equalities."""
        problem, kind = self.problem, self.problem.kinds[k]
        return [
            0.0 if k == 0 and j < len(rows) and rows[j].state_only else 1.0
            for rows, count in ((problem.rows[kind], self.m), (problem.equalities[kind], self.me))
            for j in range(count)
        ]

    def ends(self, row: Vector) -> Ends:
        """Return the parts of `end`."""
        a, b = self.np, self.np + self.m_end
        c, d = b + self.m_end, b + self.m_end + self.me_end
        return Ends(
            list(row[:a]), list(row[a:b]), list(row[b:c]), list(row[c:d]), dict(zip(INFO, row[d:], strict=True))
        )

    def knot(self, row: Vector) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
        """Return inputs, slacks, multipliers z and y of a row of `w`."""
        a, b = self.nu, self.nu + self.m
        return list(row[:a]), list(row[a:b]), list(row[b : b + self.m]), list(row[b + self.m :])

    # ---- parts that are traced once

    @cached_property
    def derivatives(self) -> TracedPart:
        """Derivatives of a knot: gradient and Hessian; rows; then step and gap or, with contacts, `force_rows`."""
        problem, nq = self.problem, self.nq

        def body(x, x_next, u, p, costate, z, y, clock, data, force, of_force):
            t, h = problem.clock(clock[0], p, clock[1])
            knot = t, h, x[:nq], x[nq:], u, p, data
            if self.has_contacts:
                d = problem.cost_derivatives(*knot, force, matrix(of_force, self.nx + self.nu))
            else:
                d = problem.derivatives(0, *knot, costate, (z, y) if problem.exact else (None, None))
            hessian = [row[: i + 1] for i, row in enumerate(d.hessian)]
            results = [d.values.cost, d.gradient, hessian], [d.values.g, d.values.e, d.g_z, d.e_z]
            if self.has_contacts:
                return (*results, [row[: self.nxu] for row in d.force_rows])
            step = [*d.slopes.maps(problem.structured), d.slopes.by_p]
            return (*results, step, problem.between(x_next, [*d.values.q, *d.values.v]))

        free, size = not self.has_contacts, nq + self.nv
        sizes = {"x": size, "next": size * free, "u": self.nu, "p": self.np, "costate": self.nx * free}
        sizes |= {"z": self.m * free, "y": self.me * free, "clock": 2, "data": self.n_held + self.n_driven}
        sizes |= {"force": self.forces, "of_force": self.forces * self.nxu}
        return TracedPart("derivatives", sizes, body, dense=(2,) if self.has_contacts else ())

    @cached_property
    def flow(self) -> TracedPart:
        """The step on contacts after an impact: T and by_p of the step; gap; forces; and the rows of S and ∂λ."""
        problem, nq = self.problem, self.nq

        def body(x, v, x_next, u, p, clock, data):
            t, h = problem.clock(clock[0], p, clock[1])
            after, slopes = problem.flow(t, h, x[:nq], v, u, p, data)
            transform, step_map = slopes.maps(problem.structured)
            gap = problem.between(x_next, [*after.q, *after.v])
            return [transform, slopes.by_p], gap, list(after.force)[: self.forces], [*step_map, *slopes.of_force]

        size = nq + self.nv
        sizes = {"x": size, "v": self.nv, "next": size, "u": self.nu, "p": self.np, "clock": 2}
        return TracedPart("flow", {**sizes, "data": self.n_held + self.n_driven}, body, dense=(2, 3))

    @cached_property
    def impact(self) -> TracedPart:
        """The velocity after an impact, and its derivatives by q and v."""

        def body(x, data):
            v, by_q, by_v = self.problem.impact(x[: self.nq], x[self.nq :], data)
            return v, [by_q, by_v]

        sizes = {"x": self.nq + self.nv, "data": self.n_held + self.n_driven}
        return TracedPart("impact", sizes, body, dense=(0, 1))

    def step_of(self, step: Vector, *slopes: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return T, S and the derivatives by p from a row of steps and, with contacts, the rows of S."""
        if not self.has_contacts:
            return self.derivatives.nested(2, step)
        transform, by_p = self.flow.nested(0, step)
        return transform, [list(row) for row in slopes[: self.nv]], by_p

    def gap_of(self, gap: Vector) -> list[Scalar]:
        """Return the gap from its row."""
        return self.flow.nested(1, gap) if self.has_contacts else self.derivatives.nested(3, gap)

    @cached_property
    def final(self) -> TracedPart:
        """Derivatives of the last knot: gradient and Hessian in (x, p); rows."""
        problem, nq, nx = self.problem, self.nq, self.nx

        def body(x, p, z, y, clock, data):
            t, h = problem.clock(clock[0], p, clock[1])
            weights = (z, y) if problem.exact else (None, None)
            d = problem.final_derivatives(t, h, x[:nq], x[nq:], p, data, weights)
            g, g_z = list(d.values.g), list(d.g_z)
            for row, value in zip(problem.parameter_rows, problem.parameter_values(p), strict=True):
                g.append(value)
                g_z.append([row.sign if j - nx == row.unknown else 0.0 for j in range(nx + self.np)])
            hessian = [row[: i + 1] for i, row in enumerate(d.hessian)]
            return [d.values.cost, d.gradient, hessian], [g, d.values.e, g_z, d.e_z]

        sizes = {"x": nq + self.nv, "p": self.np, "z": len(problem.final_rows), "y": self.me_end, "clock": 2}
        return TracedPart("final", {**sizes, "data": self.n_held}, body)

    @cached_property
    def stage(self) -> TracedPart:
        """Gradient and Hessian of a knot with the terms of its rows."""
        part = self.derivatives

        def body(cost, rows, w, mu, number):
            _, gradient, hessian = part.nested(0, cost)
            _, slack, z, y = self.knot(w)
            return with_barrier(gradient, hessian, part.nested(1, rows), slack, z, y, mu[0], number, self.soft, mu[-1])

        sizes = {"cost": part.widths[0], "rows": part.widths[1], "w": self.carried["w"][1]}
        return TracedPart("stage", {**sizes, "mu": 1 + self.relaxed, "mask": self.m + self.me}, body)

    @cached_property
    def last_stage(self) -> TracedPart:
        """Hessian and gradient of the last knot with the terms of its rows."""

        def body(cost, rows, end, mu):
            _, gradient, hessian = self.final.nested(0, cost)
            ends = self.ends(end)
            nested = self.final.nested(1, rows)
            ones = [1.0] * (self.m_end + self.me_end)
            return with_barrier(
                gradient, hessian, nested, ends.slack, ends.z, ends.y, mu[0], ones, self.soft_end, mu[-1]
            )

        sizes = {"cost": self.final.widths[0], "rows": self.final.widths[1], "end": self.carried["end"][0]}
        sizes["mu"] = 1 + self.relaxed
        return TracedPart("last_stage", sizes, body)

    # ---- the iteration

    @cached_property
    def scan(self) -> Scan:
        """The kernel: a step of the scan is an iteration."""

        def body(*given):
            return self._run(given[:-2], given[-1]).results()

        owner, method = self.problem.system.owner, self.problem.method
        parts = [self.derivatives, *([self.flow] if self.has_contacts else [])]
        nodes = sum(len(part.function.tape) for part in parts)
        if nodes > SLOW_NODES:
            kind = "exact" if self.problem.exact else "Gauss-Newton"
            warnings.warn(
                f"derivatives of a step of {owner} by '{method}' have {nodes} operations: the first call compiles for "
                f"about {nodes * SECONDS_PER_NODE:.0f} s. Hessians are {kind}.",
                ModelWarning,
                stacklevel=2,
            )
        return Scan.of("optimize", self.carried, self.held, {"tick": ()}, body, owner=owner, loops=True)

    @cached_property
    def gains(self) -> Function:
        """Feedback gains (N, nu, nx) at an iterate that is not done, as a function of the carried and held arrays."""

        def body(*given):
            run = self._run(given[:-1], given[-1])
            run.residuals()
            run.GLOBAL = run.loops.given([[run.ends.info["mu"], run.ends.info["rho"], *run.weight]])
            run.sweep()
            return {"gain": [matrix(row, self.nx) for row in run.loops.values(run.GAIN)]}

        return Function.of("gains", self.carried | self.held, body, owner=self.problem.system.owner, loops=True)

    def _run(self, given: Sequence[Any], loops: Loops) -> IterationTrace:
        x, w, costate, end, start, dt, *rest = given
        weight = [rest.pop(0)] if self.relaxed else []
        data = list(rest.pop(0)) if self.n_held else []
        course = [list(row) for row in rest.pop(0)] if self.n_driven else []
        return IterationTrace(self, loops, x, w, costate, end, list(start), dt, data, course, weight)


class IterationTrace:
    """The trace of one iteration: tables in the order in which they are computed."""

    STEP: Any
    GAP: Any
    SLOPES: Any  # with contacts: rows of S, then of F, at every knot
    FORCE: Any

    def __init__(self, iteration: Iteration, loops: Loops, x, w, costate, end, start, dt, data, course, weight):
        self.it, self.loops, self.weight = iteration, loops, weight
        it, N = iteration, iteration.N
        self.knots = list(range(N))
        self.X, self.W = loops.given([list(r) for r in x]), loops.given([list(r) for r in w])
        self.L, self.END = loops.given([list(r) for r in costate]), loops.given([list(end)])
        self.DATA = loops.given([[dt, *data, *weight]])
        self.COURSE = loops.given(course) if course else None
        self.start, self.ends = start, it.ends(list(end))
        self.running = select(self.ends.info["status"] - 0.5, 0.0, 1.0)
        if it.barrier is None:
            self.running = select(float(it.limit) - self.ends.info["iterations"], self.running, 0.0)
        self.when = self.flag(self.running)
        self.masks = [it.mask(k) for k in self.knots]

    # ---- helpers

    def flag(self, condition: Scalar) -> tuple[Any, int]:
        """Return a flag, 0 or 1, for loops that are skipped if it is 0 in all problems of a block."""
        return self.loops.given([[condition]]), 0

    def once(self, table) -> Rows:
        """The only row of a table, for every knot."""
        return Rows(table, [0] * self.it.N)

    def at(self, table, shift: int = 0) -> Rows:
        return Rows(table, [k + shift for k in self.knots])

    def block(self, table, height: int, row: int) -> Rows:
        """Row `row` of the matrix of every knot, in a table with `height` rows per knot."""
        return Rows(table, [k * height + row for k in self.knots])

    def course(self) -> list[Rows]:
        return [self.at(self.COURSE)] if self.COURSE is not None else []

    def each(self, body: Callable, reads: list[Rows], writes: list[Rows], numbers=()) -> None:
        """Run a body at every knot."""
        self.loops.each([body], [0] * self.it.N, reads, writes, numbers, when=self.when)

    def step_rows(self, k: int) -> list[tuple[Any, int]]:
        """Return the tables and rows of the step of a knot, as `Iteration.step_of` receives them."""
        slopes = range(self.it.nv if self.it.has_contacts else 0)
        return [(self.STEP, k), *((self.SLOPES, k * self.height + r) for r in slopes)]

    def force_rows(self, k: int) -> list[tuple[Any, int]]:
        """Return the tables and rows of F of a knot, then those of G: the Hessian of the cost lacks Fᵀ G."""
        forces = range(self.it.forces)
        first = [(self.SLOPES, k * self.height + self.it.nv + r) for r in forces]
        return [*first, *((self.PULLED, k * len(forces) + r) for r in forces)]

    def steps(self) -> list[Rows]:
        """Return the rows of the steps of all knots."""
        return self.columns(self.step_rows)

    def columns(self, rows: Callable[[int], list[tuple[Any, int]]]) -> list[Rows]:
        """Return the tables and rows of a knot as rows of all knots."""
        columns = zip(*map(rows, self.knots), strict=True)
        return [Rows(column[0][0], [row for _, row in column]) for column in columns]

    def single(self, body: Callable, reads: list[Any], writes: list[Any]) -> None:
        """Run a body once; `reads` and `writes` are tables or pairs of a table and a row."""

        def rows(tables: list[Any]) -> list[Rows]:
            pairs = [table if isinstance(table, tuple) else (table, 0) for table in tables]
            return [Rows(table, [row]) for table, row in pairs]

        self.loops.each([body], [0], rows(reads), rows(writes), when=self.when)

    def reduced(self, table, rules: Sequence[str], result: Any = None) -> list[Scalar]:
        """Return sums and extremes over the rows 0..N of a table, computed in the table `result` if one is given."""
        first = self.loops.given([[FIRST_VALUES[rule] for rule in rules]])
        if result is None:
            result = first
        else:
            self.single(copied, [first], [result])
        count = self.it.N + 1
        once = Rows(result, [0] * count)
        body = reduction(tuple(rules))
        self.loops.each([body], [0] * count, [once, Rows(table, range(count))], [once], when=self.when)
        return self.loops.values(result)[0]

    # ---- the iteration

    def results(self) -> dict[str, Any]:
        totals, dual_p = self.residuals()
        status, mu, error, scaled_dual = self.progress(totals, dual_p)
        info = self.ends.info
        self.GLOBAL = self.loops.given([[mu, info["rho"], *self.weight]])
        self.when = self.flag(self.running * select(0.5 - status, 1.0, 0.0))
        pivot = self.sweep()
        alpha_s, alpha_z, slope = self.directions()
        if self.it.relaxed:  # a soft row is linear in its slack and its multiplier together
            alpha_s = minimum(alpha_s, alpha_z)
        phi = totals.cost - mu * totals.logs
        good = select(pivot, 1.0, 0.0) * select(0.5 - status, 1.0, 0.0)
        alpha, by_violation, violation = self.search(alpha_s, slope, phi, totals.violation, mu, error, good)
        accepted = select(alpha, 1.0, 0.0)
        after = dict(info)
        running = self.running
        rho, it = info["rho"], self.it
        larger = maximum(10.0 * rho, SMALLEST_RHO)
        smaller = select(0.1 * rho - SMALLEST_RHO, 0.1 * rho, 0.0)
        after["rho"] = select(accepted, select(alpha - 0.4, smaller, rho), select(0.5 - status, larger, rho))
        stalled = select(after["rho"] - LARGEST_RHO, STALLED, status)
        after["status"] = select(running, select(status - 0.5, status, stalled), info["status"])
        after["iterations"] = info["iterations"] + running * select(0.5 - status, 1.0, 0.0)
        after["mu"] = mu
        funnel = select(info["funnel"], info["funnel"], 1e4 * maximum(1.0, totals.violation))
        narrowed = select(by_violation, maximum(0.1 * violation + 0.9 * funnel, 1e-9), funnel)
        after["funnel"] = select(accepted, narrowed, funnel)
        reach = info["reach"]
        shorter = select(good, reach * (1.0 / REACH_FACTOR), reach)  # not if the sweep failed: that is not the length
        after["reach"] = select(accepted, minimum(1.0, REACH_FACTOR * reach), shorter)
        short = select(SHORT_STEP - alpha, info["short"] + 1.0, 0.0)
        after["short"] = select(good, short, info["short"])
        exact = self.exact(info)
        after["wait"] = select(accepted, maximum(info["wait"] - 1.0, 0.0), EXACT_PAUSE * exact)
        if it.problem.exact:
            after["rho"] = select(accepted, after["rho"], select(exact, rho, after["rho"]))
        values = {"cost": totals.cost, "error": error, "dual": scaled_dual, "primal": totals.primal, "gap": totals.gap}
        after |= {**values, "alpha": alpha}
        known = running * select(status - (NOT_FINITE - 0.5), 0.0, 1.0)  # NaN in a carried array would lose the iterate
        for name in INFO:
            if name not in ("status", "iterations"):
                after[name] = select(known, after[name], info[name])
        return self.update(alpha, alpha if it.relaxed else select(accepted, alpha_z, 0.0), after)

    def exact(self, info: dict[str, Scalar]) -> Scalar:
        """Return 1 if the iteration uses the curvature of the dynamics: near a solution, or after many iterations."""
        near = select(EXACT_BELOW - info["error"], select(info["iterations"] - 0.5, 1.0, 0.0), 0.0)
        late = select(info["iterations"] - EXACT_AFTER, 1.0, 0.0)
        return select(info["wait"] - 0.5, 0.0, maximum(near, late))

    def residuals(self) -> tuple[Totals, list[Scalar]]:
        """Compute derivatives, gaps and residuals of all knots."""
        it, loops = self.it, self.loops
        N, nx, nu, np_, held = it.N, it.nx, it.nu, it.np, 1 + it.n_held
        part = it.derivatives
        if it.has_contacts:
            self.contact_steps()
            steps = [*self.steps(), self.at(self.GAP), self.at(self.FORCE)]
            of_force = [self.block(self.SLOPES, self.height, r) for r in range(it.nv, self.height)]
            self.PULLED = loops.table(N * max(1, it.forces), it.nxu)
        else:
            self.STEP, self.GAP = (loops.table(N, max(1, width)) for width in part.widths[2:])
            steps, of_force = [], []
        self.COST, self.ROWS = (loops.table(N, max(1, width)) for width in part.widths[:2])
        self.RES = loops.table(N + 1, len(RESIDUALS) + np_)

        def knot(x, x_next, w, now, after, end, data, *rest):
            numbers, step_rows = rest[-1], rest[: len(steps)]
            force_rows, course = rest[len(steps) : len(steps) + len(of_force)], rest[len(steps) + len(of_force) : -1]
            u, slack, z, y = it.knot(w)
            p = it.ends(end).p
            weights = z[: part.sizes[5]], y[: part.sizes[6]]
            info = it.ends(end).info
            exact = self.exact(info)
            curved = [exact * value for value in after]
            known = [numbers[0], data[0]], [*data[1:held], *(x for row in course for x in row)]
            forces = (step_rows[-1][: it.forces], [x for row in force_rows for x in row]) if steps else ([], [])
            rows = part.rows(x, x_next, u, p, curved, *weights, *known, *forces)
            padded = [pad(row, max(1, len(row))) for row in (rows[:2] if steps else rows)]
            if steps:
                padded += matrix(rows[2], it.nxu)
                step, gap = it.step_of(*step_rows[:-2]), it.gap_of(step_rows[-2])
            else:
                step, gap = it.step_of(rows[2]), it.gap_of(rows[3])
            mapped = transposed_step(it, step, after)
            cost, gradient, _ = part.nested(0, rows[0])
            nested = part.nested(1, rows[1])
            both = [a + b for a, b in zip(gradient, mapped, strict=True)]
            entries = self.residual(both, now, nested, slack, z, y, numbers[1:], it.soft, data[-1])
            cost = cost + it.soft.penalty(nested[0], nested[1], slack, numbers[1:], data[-1])
            dual, primal, violation, prod, gaps, small, logs, mults, p_part = entries
            primal, violation = maximum(primal, largest(gap)), violation + total([magnitude(g) for g in gap])
            mults = mults + total([magnitude(v) for v in now])
            return [*padded, [dual, primal, violation, prod, gaps, small, cost, logs, mults, *p_part]]

        reads = [self.at(self.X), self.at(self.X, 1), self.at(self.W), self.at(self.L), self.at(self.L, 1)]
        reads += [self.once(self.END), self.once(self.DATA), *steps, *of_force, *self.course()]
        writes = [self.at(self.COST), self.at(self.ROWS)]
        if steps:
            writes += [self.block(self.PULLED, it.forces, r) for r in range(it.forces)]
        else:
            writes += [self.at(self.STEP), self.at(self.GAP)]
        numbers = [[float(k), *self.masks[k]] for k in self.knots]
        self.each(knot, reads, [*writes, self.at(self.RES)], numbers)

        final = it.final
        self.COST_END, self.ROWS_END = loops.table(1, max(1, final.widths[0])), loops.table(1, max(1, final.widths[1]))

        def last(x, now, end, data):
            ends = it.ends(end)
            weights = ends.z[: final.sizes[2]], ends.y
            cost_row, rows = final.rows(x, ends.p, *weights, [float(N), data[0]], data[1:held])
            cost, gradient, _ = final.nested(0, cost_row)
            gradient = [*gradient[:nx], *([0.0] * nu), *gradient[nx:]]
            g, e, g_z, e_z = final.nested(1, rows)
            g_z, e_z = ([[*row[:nx], *([0.0] * nu), *row[nx:]] for row in each] for each in (g_z, e_z))
            ones = [1.0] * (len(g) + len(e))
            entries = self.residual(
                gradient, now, (g, e, g_z, e_z), ends.slack, ends.z, ends.y, ones, it.soft_end, data[-1]
            )
            cost = cost + it.soft_end.penalty(g, e, ends.slack, ones, data[-1])
            dual, primal, violation, prod, gaps, small, logs, mults, p_part = entries
            mults = mults + total([magnitude(v) for v in now])
            row = [dual, primal, violation, prod, gaps, small, cost, logs, mults, *p_part]
            return [pad(cost_row, max(1, final.widths[0])), pad(rows, max(1, final.widths[1])), row]

        self.single(
            last, [(self.X, N), (self.L, N), self.END, self.DATA], [self.COST_END, self.ROWS_END, (self.RES, N)]
        )
        sums = self.reduced(self.RES, [*RESIDUALS, *["sum"] * np_])
        return Totals(*sums[: len(RESIDUALS)]), sums[len(RESIDUALS) :]

    def contact_steps(self) -> None:
        """Compute the steps on contacts: the impacts, the steps from the velocities after them, and both together."""
        it, loops, N, nv, held = self.it, self.loops, self.it.N, self.it.nv, 1 + self.it.n_held
        self.height = nv + it.forces
        self.STEP, self.GAP, self.FORCE = (loops.table(N, max(1, width)) for width in it.flow.widths[:3])
        self.SLOPES, START = loops.table(N * self.height, it.nxu), loops.table(N, nv)
        impacts = [k for k in self.knots if it.problem.kinds[k]]
        JUMP = loops.table(max(1, len(impacts)), 2 * nv * nv)

        def unchanged(x, data, *course):
            return [x[it.nq :], []]

        def impact(x, data, *course):
            return it.impact.rows(x, [*data[1:held], *(x for row in course for x in row)])

        jumps = Rows(JUMP, [impacts.index(k) if k in impacts else None for k in self.knots])
        reads = [self.at(self.X), self.once(self.DATA), *self.course()]
        loops.each([unchanged, impact], it.problem.kinds, reads, [self.at(START), jumps], when=self.when)

        def flow(x, v, x_next, w, end, data, *rest):
            *course, numbers = rest
            known = [numbers[0], data[0]], [*data[1:held], *(x for row in course for x in row)]
            *rows, slopes = it.flow.rows(x, v, x_next, it.knot(w)[0], it.ends(end).p, *known)
            return [*(pad(row, max(1, len(row))) for row in rows), *matrix(slopes, it.nxu)]

        reads = [self.at(self.X), self.at(START), self.at(self.X, 1), self.at(self.W), self.once(self.END)]
        slopes = [self.block(self.SLOPES, self.height, r) for r in range(self.height)]
        writes = [self.at(self.STEP), self.at(self.GAP), self.at(self.FORCE), *slopes]
        self.each(flow, [*reads, self.once(self.DATA), *self.course()], writes, [[float(k)] for k in self.knots])

        def chained(row, jump):
            return [after_impact(row, nv, matrix(jump[: nv * nv], nv), matrix(jump[nv * nv :], nv))]

        rows = [k * self.height + r for k in impacts for r in range(self.height)]
        jumps = Rows(JUMP, [k for k in range(len(impacts)) for _ in range(self.height)])
        changed = Rows(self.SLOPES, rows)
        loops.each([chained], [0] * len(rows), [changed, jumps], [changed], when=self.when)

    def residual(self, gradient, costate, rows, slack, z, y, mask, soft, weight) -> tuple:
        """Return the residuals of one knot; `gradient` contains Jᵀλ of the step."""
        nx, nu = self.it.nx, self.it.nu
        g, e, g_z, e_z = rows
        m, me = len(g), len(e)
        size = len(gradient)
        counted = mask[len(mask) - len(y) :]
        weights = [*(mask[k] * z[k] for k in range(m)), *(counted[k] * y[k] for k in range(me))]
        columns = [[row[i] for row in (*g_z, *e_z)] for i in range(size)]
        gradient = [a + sparse_dot(column, weights) for a, column in zip(gradient, columns, strict=True)]
        gradient = [*(a - b for a, b in zip(gradient[:nx], costate, strict=True)), *gradient[nx:]]
        violated = [*(mask[k] * (g[k] + slack[k]) for k in range(m)), *(counted[k] * e[k] for k in range(me))]
        hard = [value for value, is_soft in zip(violated, (*soft.g, *soft.e), strict=True) if not is_soft]
        if any((*soft.g, *soft.e)):  # (3)
            shares = [multiplier / weight for multiplier in weights]
            gaps = zip(violated, shares, (*soft.g, *soft.e), strict=True)
            violated = [value - share if is_soft else value for value, share, is_soft in gaps]
        products = [mask[k] * (slack[k] * z[k]) for k in range(m)]
        small: Scalar = LARGEST_PRODUCT
        for k in range(m):
            small = minimum(small, slack[k] * z[k] + (1.0 - mask[k]) * LARGEST_PRODUCT)
        logs = total([mask[k] * log(slack[k]) for k in range(m)])
        magnitudes = total([magnitude(value) for value in hard])
        multipliers = total([*(z[k] for k in range(m)), *(magnitude(y[k]) for k in range(me))])
        return (
            largest(gradient[: nx + nu]),
            largest(violated),
            magnitudes,
            largest(products),
            total(products),
            small,
            logs,
            multipliers,
            gradient[nx + nu :],
        )

    def progress(self, totals: Totals, dual_p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """Return the status, μ, the scaled KKT residual and its dual part."""
        it = self.it
        dual_max = maximum(totals.dual, largest(dual_p)) if dual_p else totals.dual
        counted = (it.N + 1) * it.nx + it.rows + it.N * it.me + it.me_end
        scale = maximum(100.0, totals.multipliers / float(counted)) * 0.01
        dual = dual_max / scale
        error = maximum(maximum(dual, totals.primal), totals.product / scale if it.rows else 0.0)
        tolerance = it.tolerance
        close = select(tolerance * maximum(1.0, magnitude(totals.cost)) - totals.gap, 1.0, 0.0) if it.rows else 1.0
        solved = select(tolerance - error, 1.0, 0.0) * close
        finite = is_finite(error + totals.cost + totals.gap + totals.violation)
        status = select(finite, select(solved, SOLVED, RUNNING), NOT_FINITE)
        if it.barrier is not None:
            return select(finite, RUNNING, NOT_FINITE), it.barrier, error, dual
        if not it.rows:
            return status, 0.0, error, dual
        mu = self.next_mu(totals, dual, scale)
        return status, mu, error, dual

    def next_mu(self, totals: Totals, dual: Scalar, scale: Scalar) -> Scalar:
        """Return the next μ: smaller once the residual of its barrier problem is a small multiple of it."""
        it, info = self.it, self.ends.info
        mu = info["mu"]
        complementarity = maximum(totals.product - mu, mu - totals.smallest) / scale
        error = maximum(maximum(dual, totals.primal), complementarity)
        smallest = SMALLEST_GAP * it.tolerance / float(it.rows)
        lower = maximum(minimum(BARRIER_FACTOR * mu, mu * sqrt(mu)), smallest)
        return select(BARRIER_ERROR * mu - error, lower, mu)

    def sweep(self) -> Scalar:
        """Solve the linear system: backwards and forwards over the knots; return a number > 0 if it is convex."""
        it, loops = self.it, self.loops
        N, nx, nu, np_ = it.N, it.nx, it.nu, it.np
        sizes = it.derivatives.widths
        GRAD, HESS = (loops.table(N, max(1, width)) for width in it.stage.widths)

        def barrier(cost, rows, w, glob, mask):
            result = it.stage.rows(cost[: sizes[0]], rows[: sizes[1]], w, [glob[0], *glob[2:]], list(mask))
            return [pad(row, max(1, len(row))) for row in result]

        reads = [self.at(self.COST), self.at(self.ROWS), self.at(self.W), self.once(self.GLOBAL)]
        self.each(barrier, reads, [self.at(GRAD), self.at(HESS)], self.masks)

        columns = 1 + np_
        half = nx * (nx + 1) // 2
        self.V = loops.table(N + 1, half + nx * columns)
        CONSTANT = loops.table(1, columns * (columns + 1) // 2 + 1)
        self.GAIN, self.FORWARD = loops.table(N, nu * nx), loops.table(N, nu * columns)

        def last(cost, rows, end, glob):
            gradient, hessian = (
                it.last_stage.nested(k, row)
                for k, row in enumerate(
                    it.last_stage.rows(
                        cost[: it.final.widths[0]], rows[: it.final.widths[1]], end, [glob[0], *glob[2:]]
                    )
                )
            )
            full = mirrored(hessian)
            V = [row[:nx] for row in full[:nx]]
            W = [[gradient[i], *full[i][nx:]] for i in range(nx)]
            Y = symmetric(
                columns, lambda i, j: (full[nx + i - 1][nx + j - 1] if j else gradient[nx + i - 1]) if i else 0.0
            )
            return [[*lower(V), *(a for row in W for a in row)], [*lower(Y), 1.0]]

        self.single(last, [self.COST_END, self.ROWS_END, self.END, self.GLOBAL], [(self.V, N), CONSTANT])

        def unpack(value, constant, gradient, hessian, gap, *rest) -> tuple[Value, Step, Value, Matrix, Matrix]:
            first = len(rest) - it.forces
            step, F, G = rest[: first - it.forces], rest[first - it.forces : first], rest[first:]
            linear, full = it.stage.nested(0, gradient), mirrored(it.stage.nested(1, hessian))
            transform, step_map, step_p = it.step_of(*step)
            gaps = it.gap_of(gap)
            offset = [[d, *f] for d, f in zip(gaps, step_p, strict=True)] if np_ else [[d] for d in gaps]
            n = nx + nu
            H = [row[:n] for row in full[:n]]
            C = [[linear[i], *full[i][n:]] for i in range(n)]
            D = symmetric(columns, lambda i, j: (full[n + i - 1][n + j - 1] if j else linear[n + i - 1]) if i else 0.0)
            after = Value(unpacked(value[:half], nx), matrix(value[half:], columns), unpacked(constant[:-1], columns))
            return after, Step(transform, step_map, nx - len(step_map), offset), Value(H, C, D), list(F), list(G)

        def backward(glob, value, constant, *rest):
            after, step, cost, F, G = unpack(value, constant, *rest)
            if F:
                pairs = zip(cost.hessian, product(transposed(F), G), strict=True)
                cost = cost._replace(hessian=[[a + b for a, b in zip(*rows, strict=True)] for rows in pairs])
            new, gains, pivot = stage(after, step, cost, glob[1], nu)
            return [
                [*lower(new.hessian), *(a for row in new.linear for a in row)],
                [*lower(new.constant), minimum(constant[-1], pivot)],
                [a for row in gains.feedback for a in row],
                [a for row in gains.feedforward for a in row],
            ]

        if nx > MAX_STRAIGHT_STATES:
            unchanged = nx - (it.nv if it.has_contacts else len(it.derivatives.structures[2][1]))

            def knot(k: int) -> list[tuple[Any, int]]:
                return [(GRAD, k), (HESS, k), (self.GAP, k), *self.step_rows(k), *self.force_rows(k)]

            tables = SweepTables(self.V, CONSTANT, self.GLOBAL, self.GAIN, self.FORWARD, knot)
            TiledSweep(nx, unchanged, nu, columns, it.forces, unpack).run(loops, tables, N, self.when)
        else:
            back = list(reversed(self.knots))
            reads = [Rows(self.V, [k + 1 for k in back]), self.once(CONSTANT)]
            reads += [Rows(table, back) for table in (GRAD, HESS, self.GAP)]
            reads += [Rows(table, rows[::-1]) for table, rows in [*self.steps(), *self.columns(self.force_rows)]]
            writes = [Rows(self.V, back), self.once(CONSTANT), Rows(self.GAIN, back), Rows(self.FORWARD, back)]
            self.each(backward, [self.once(self.GLOBAL), *reads], writes)
        # first state and parameters
        first = loops.values(self.X)[0]
        dx0 = it.problem.between(first, self.start)
        constant = loops.values(CONSTANT)[0]
        pivot = constant[-1]
        dp: list[Scalar] = []
        if np_:
            Y = unpacked(constant[:-1], columns)
            W = matrix(loops.values(self.V)[0][half:], columns)
            right = [-(Y[0][1 + j] + sparse_dot([W[i][1 + j] for i in range(nx)], dx0)) for j in range(np_)]
            dp, good = solve_positive([row[1:] for row in Y[1:]], right)
            pivot = minimum(pivot, good)
        self.DX = loops.table(N + 1, nx)
        self.DU = loops.table(N, nu)
        self.DP = loops.given([[1.0, *dp]])
        self.single(copied, [loops.given([dx0])], [(self.DX, 0)])

        def forward(dx, gain, feed, gap, one_p, *step):
            K, k = matrix(gain, nx), matrix(feed, columns)
            du = [sparse_dot(a, dx) + sparse_dot(b, [1.0, *one_p[1:]]) for a, b in zip(K, k, strict=True)]
            transform, step_map, step_p = it.step_of(*step)
            copied = nx - len(step_map)
            y = [*dx[:copied], *(sparse_dot(row, [*dx, *du]) for row in step_map)]
            after = [sparse_dot(row, y) for row in transform] if copied else y
            after = [a + d for a, d in zip(after, it.gap_of(gap), strict=True)]
            if np_:
                after = [a + sparse_dot(f, one_p[1:]) for a, f in zip(after, step_p, strict=True)]
            return [after, du]

        reads = [self.at(table) for table in (self.DX, self.GAIN, self.FORWARD, self.GAP)]
        self.each(forward, [*reads, self.once(self.DP), *self.steps()], [self.at(self.DX, 1), self.at(self.DU)])
        return pivot

    def directions(self) -> tuple[Scalar, Scalar, Scalar]:
        """Compute the directions of all multipliers and slacks; return both step lengths and the slope."""
        it, loops = self.it, self.loops
        N, nx, np_ = it.N, it.nx, it.np
        half, columns = nx * (nx + 1) // 2, 1 + np_
        self.DW, self.DL = loops.table(N, it.carried["w"][1]), loops.table(N + 1, nx)
        self.DEND = loops.table(1, it.carried["end"][0] - len(INFO))
        RED = loops.table(N + 1, 3)

        def costate_change(dx, value, now, one_p):
            V, W = unpacked(value[:half], nx), matrix(value[half:], columns)
            return [sparse_dot(V[i], dx) + sparse_dot(W[i], [1.0, *one_p[1:]]) - now[i] for i in range(nx)]

        def changes(d, rows, slack, z, y, mu, mask, soft, weight):
            g, e, g_z, e_z = rows
            ds = [mask[k] * (-(g[k] + slack[k]) - sparse_dot(g_z[k], d)) for k in range(len(g))]
            for k in [k for k in range(len(g)) if soft.g[k]]:
                after = (mu - z[k] * ds[k]) / (slack[k] + z[k] / weight)  # multiplier after the step
                ds[k] = ds[k] + mask[k] * after / weight
            dz = [mask[k] * ((mu - z[k] * (slack[k] + ds[k])) / slack[k]) for k in range(len(g))]
            counted = mask[len(mask) - len(y) :]
            dy = [
                counted[k] * (weight * (e[k] + sparse_dot(e_z[k], d)) - y[k])
                if soft.e[k]
                else counted[k] * ((e[k] + sparse_dot(e_z[k], d)) * (1.0 / PROXIMAL))
                for k in range(len(e))
            ]
            tau = maximum(0.99, 1.0 - mu)
            alpha_s: Scalar = 1.0
            alpha_z: Scalar = 1.0
            for k in range(len(g)):
                alpha_s = minimum(alpha_s, select(-ds[k], -tau * slack[k] / minimum(ds[k], -1e-300), 1.0))
                alpha_z = minimum(alpha_z, select(-dz[k], -tau * z[k] / minimum(dz[k], -1e-300), 1.0))
            slope = -mu * total([ds[k] / slack[k] for k in range(len(g))])
            for k in [k for k in range(len(g)) if soft.g[k]]:
                change = sparse_dot(g_z[k], d) + ds[k]
                slope = slope + mask[k] * (weight * (g[k] + slack[k]) * change)
            for k in [k for k in range(len(e)) if soft.e[k]]:
                slope = slope + counted[k] * (weight * e[k] * sparse_dot(e_z[k], d))
            return ds, dz, dy, alpha_s, alpha_z, slope

        def knot(dx, du, value, cost, rows, w, now, one_p, glob, mask):
            _, slack, z, y = it.knot(w)
            _, gradient, _ = it.derivatives.nested(0, cost)
            d = [*dx, *du, *one_p[1:]]
            nested = it.derivatives.nested(1, rows)
            ds, dz, dy, alpha_s, alpha_z, slope = changes(d, nested, slack, z, y, glob[0], mask, it.soft, glob[-1])
            row = [*du, *ds, *dz, *dy]
            slope = slope + sparse_dot(gradient, d)
            return [row, costate_change(dx, value, now, one_p), [alpha_s, alpha_z, slope]]

        reads = [self.at(table) for table in (self.DX, self.DU, self.V, self.COST, self.ROWS, self.W, self.L)]
        reads += [self.once(self.DP), self.once(self.GLOBAL)]
        self.each(knot, reads, [self.at(self.DW), self.at(self.DL), self.at(RED)], self.masks)

        def last(dx, value, cost, rows, end, now, one_p, glob):
            ends = it.ends(end)
            _, gradient, _ = it.final.nested(0, cost)
            d = [*dx, *one_p[1:]]
            nested = it.final.nested(1, rows)
            ones = [1.0] * (it.m_end + it.me_end)
            ds, dz, dy, alpha_s, alpha_z, slope = changes(
                d, nested, ends.slack, ends.z, ends.y, glob[0], ones, it.soft_end, glob[-1]
            )
            slope = slope + sparse_dot(gradient, d)
            row = [*one_p[1:], *ds, *dz, *dy]
            return [row, costate_change(dx, value, now, one_p), [alpha_s, alpha_z, slope]]

        self.single(
            last,
            [(self.DX, N), (self.V, N), self.COST_END, self.ROWS_END, self.END, (self.L, N), self.DP, self.GLOBAL],
            [self.DEND, (self.DL, N), (RED, N)],
        )
        alpha_s, alpha_z, slope = self.reduced(RED, ["min", "min", "sum"])
        return alpha_s, alpha_z, slope

    def search(self, alpha, slope, phi, violation, mu, error, good) -> tuple[Scalar, Scalar, Scalar]:
        """Return the accepted step length or 0, whether it was accepted for its violation, and its violation."""
        info = self.ends.info
        funnel = select(info["funnel"], info["funnel"], 1e4 * maximum(1.0, violation))
        pending, result, by_violation, after = good * self.running, 0.0, 0.0, violation
        longest = alpha * info["reach"]
        for trial, length in enumerate(TRIALS):
            alpha = length * longest
            self.when = self.flag(pending)
            cost, theta, logs = self.trial(alpha)
            phi_new = cost - mu * logs
            decrease = -alpha * slope
            armijo = select(phi + ROUNDING * (1.0 + magnitude(phi)) - ARMIJO * decrease - phi_new, 1.0, 0.0)
            switching = select(decrease - violation, 1.0, 0.0)
            better = maximum(
                select((1.0 - 1e-5) * violation - theta, 1.0, 0.0), select(phi - 1e-5 * violation - phi_new, 1.0, 0.0)
            )
            inside = select(funnel - theta, 1.0, 0.0)
            penalty = select(slope, 2.0 * slope / maximum(violation, 1e-300), 0.0)
            predicted = alpha * (penalty * violation - slope)
            merit = phi + penalty * violation + ROUNDING * (1.0 + magnitude(phi)) - ARMIJO * predicted
            descent = select(merit - phi_new - penalty * theta, 1.0, 0.0)
            fine = inside * select(switching, armijo, maximum(better, descent))
            if trial == 0:
                near = select(NEAR_SOLUTION - error, 1.0, 0.0)
                fine = maximum(fine, inside * maximum(near, select(info["short"] - SHORT_STEPS + 0.5, 1.0, 0.0)))
            fine = fine * is_finite(phi_new + theta)
            chosen = pending * fine
            result = select(chosen, alpha, result)
            by_violation = select(chosen, 1.0 - switching, by_violation)
            after = select(chosen, theta, after)
            pending = select(chosen, 0.0, pending)
        return result, by_violation, after

    def trial(self, alpha: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return cost, violation and sum of logarithms at a step length; all trials share tables and code."""
        it, N = self.it, self.it.N
        LENGTH, RES, SUMS = self.trial_tables
        self.single(copied, [self.loops.given([[alpha]])], [LENGTH])
        reads = [self.at(self.X), self.at(self.X, 1), self.at(self.DX), self.at(self.DX, 1), self.at(self.W)]
        reads += [self.at(self.DW), *(self.once(table) for table in (self.END, self.DEND, LENGTH, self.DATA))]
        numbers = [[float(k), *self.masks[k]] for k in self.knots]
        knots, order = self.trial_knots, it.order
        self.loops.each(knots, order, [*reads, *self.course()], [self.at(RES)], numbers, when=self.when)
        end_rows = [(self.X, N), (self.DX, N), self.END, self.DEND, LENGTH, self.DATA]
        self.single(self.trial_end, end_rows, [(RES, N)])
        cost, theta, logs = self.reduced(RES, ("sum", "sum", "sum"), SUMS)
        return cost, theta, logs

    @cached_property
    def trial_tables(self) -> tuple[Any, Any, Any]:
        """Step length, results of all knots, and their sums."""
        return self.loops.table(1, 1), self.loops.table(self.it.N + 1, 3), self.loops.table(1, 3)

    @cached_property
    def trial_knots(self) -> list[Callable]:
        """Results of a trial point at a knot of every kind."""
        it, problem, nq = self.it, self.it.problem, self.it.nq

        def knot(kind: int) -> Callable:
            def body(x, x_next, dx, dx_next, w, dw, end, dend, length, data, *rest):
                numbers, course = rest[-1], rest[0] if len(rest) > 1 else []
                a = length[0]
                x, x_next = self.moved(x, dx, a), self.moved(x_next, dx_next, a)
                w = [b + a * c for b, c in zip(w, dw, strict=True)]
                p = [b + a * c for b, c in zip(end[: it.np], dend[: it.np], strict=True)]
                u, slack, _, _ = it.knot(w)
                t, h = problem.clock(numbers[0], p, data[0])
                after = problem.values(kind, t, h, x[:nq], x[nq:], u, p, [*data[1 : 1 + it.n_held], *course])
                gap = problem.between(x_next, [*after.q, *after.v])
                bad, logs = violation_and_logs(after.g, after.e, slack, numbers[1:], it.me, it.soft)
                cost = after.cost + it.soft.penalty(after.g, after.e, slack, numbers[1:], data[-1])
                return [[cost, bad + total([magnitude(b) for b in gap]), logs]]

            return body

        return [knot(kind) for kind in it.kinds]

    def trial_end(self, x, dx, end, dend, length, data) -> list[Any]:
        """Return the results of a trial point at the last knot."""
        it, problem, nq = self.it, self.it.problem, self.it.nq
        a = length[0]
        x = self.moved(x, dx, a)
        ends = it.ends([*(b + a * c for b, c in zip(end, dend, strict=False)), *([0.0] * len(INFO))])
        t, h = problem.clock(float(it.N), ends.p, data[0])
        values = problem.final_values(t, h, x[:nq], x[nq:], ends.p, data[1 : 1 + it.n_held])
        g = [*values.g, *problem.parameter_values(ends.p)]
        ones = [1.0] * (len(g) + len(values.e))
        bad, logs = violation_and_logs(g, values.e, ends.slack, ones, len(values.e), it.soft_end)
        return [[values.cost + it.soft_end.penalty(g, values.e, ends.slack, ones, data[-1]), bad, logs]]

    def moved(self, x, dx, alpha) -> list[Scalar]:
        """Return the state x ⊕ α dx."""
        return self.it.problem.moved(x, [alpha * d for d in dx])

    def update(self, alpha: Scalar, alpha_z: Scalar, info: dict[str, Scalar]) -> dict[str, Any]:
        """Return the carried arrays after the step; a step of length 0 changes nothing, not even NaN into 0."""
        it, loops = self.it, self.loops
        N, nu, m, me = it.N, it.nu, it.m, it.me
        LENGTH = loops.given([[alpha, alpha_z]])
        X, W, L = loops.table(N + 1, it.nq + it.nv), loops.table(N, nu + 2 * m + me), loops.table(N + 1, it.nx)

        def state(x, dx, now, change, length):
            moved = self.moved(x, dx, length[0])
            return [
                [select(length[0], a, b) for a, b in zip(moved, x, strict=True)],
                [select(length[0], a + length[0] * b, a) for a, b in zip(now, change, strict=True)],
            ]

        every = range(N + 1)
        one = Rows(LENGTH, [0] * (N + 1))
        reads = [Rows(table, every) for table in (self.X, self.DX, self.L, self.DL)]
        loops.each([state], [0] * (N + 1), [*reads, one], [Rows(X, every), Rows(L, every)])

        def knot(w, dw, length):
            lengths = [length[0]] * (nu + m) + [length[1]] * m + [length[0]] * me
            return [[select(length[0], a + b * c, a) for a, b, c in zip(w, lengths, dw, strict=True)]]

        loops.each([knot], [0] * N, [self.at(self.W), self.at(self.DW), self.once(LENGTH)], [self.at(W)])
        old = loops.values(self.END)[0]
        change = loops.values(self.DEND)[0]
        lengths = [alpha] * (it.np + it.m_end) + [alpha_z] * it.m_end + [alpha] * it.me_end
        end = [select(alpha, a + b * c, a) for a, b, c in zip(old, lengths, change, strict=False)]
        return {
            "x": loops.values(X),
            "w": loops.values(W),
            "costate": loops.values(L),
            "end": [*end, *(info[name] for name in INFO)],
        }


def copied(row: Vector) -> list[Vector]:
    """Return the row: the body of a loop that copies."""
    return [row]


@cache
def reduction(rules: tuple[str, ...]) -> Callable:
    """Return the body of a loop that combines rows entry by entry."""
    combine = {"sum": lambda a, b: a + b, "max": maximum, "min": minimum}
    return lambda result, row: [[combine[rule](a, b) for rule, a, b in zip(rules, result, row, strict=True)]]


def violation_and_logs(
    g: Vector, e: Vector, slack: Vector, mask: Vector, me: int, soft: Softness
) -> tuple[Scalar, Scalar]:
    """Return the sum of the violations of the hard rows of a knot and the sum of the logarithms of all slacks."""
    counted = mask[len(mask) - me :]
    bad = [mask[k] * (g[k] + slack[k]) for k in range(len(g)) if not soft.g[k]]
    bad += [counted[k] * e[k] for k in range(len(e)) if not soft.e[k]]
    return total([magnitude(x) for x in bad]), total([mask[k] * log(slack[k]) for k in range(len(g))])


def transposed_step(it: Iteration, step: Sequence, costate: Vector) -> list[Scalar]:
    """Return the gradient of λᵀ(step) in (x, u, p)."""
    transform, step_map, step_p = step
    nx, copied = it.nx, it.nx - len(step_map)
    y = [sparse_dot([row[j] for row in transform], costate) for j in range(nx)] if copied else list(costate)
    result = [sparse_dot([row[j] for row in step_map], y[copied:]) for j in range(nx + it.nu)]
    for j in range(copied):
        result[j] = result[j] + y[j]
    return [*result, *(sparse_dot([row[j] for row in step_p], costate) for j in range(it.np))]


def pad(row: Vector, width: int) -> list[Scalar]:
    """Return the row with zeros up to a width."""
    return [*row, *[0.0] * (width - len(row))]


def mirrored(rows: Sequence[Vector]) -> list[list[Scalar]]:
    """Return a symmetric matrix from the rows of its lower half."""
    return symmetric(len(rows), lambda i, j: rows[i][j])


def unpacked(flat: Vector, size: int) -> list[list[Scalar]]:
    """Return a symmetric matrix from its lower half, row by row."""
    return symmetric(size, lambda i, j: flat[i * (i + 1) // 2 + j])


def matrix(flat: Vector, columns: int) -> list[list[Scalar]]:
    """Return a matrix from its entries, row by row."""
    return [list(flat[k : k + columns]) for k in range(0, len(flat), columns)]
