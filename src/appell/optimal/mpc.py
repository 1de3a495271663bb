"""Model predictive control: one real-time iteration of the solver per period, as a control law with memory.

The memory is an iterate of the barrier problem with a fixed μ (`iteration`, (1) and (2)), and the gain K₀ of its first
knot. A call with the measured state x has two phases:

    feedback       τ = ū₀ + K₀ (x ⊖ x̄₀)                                                                           (1)
    preparation    shift by one period; x̄₀ is the state that x and τ lead to;                                      (2)
                   derivatives at all knots, sweep backwards: K, k;                                               (3)
                   δx_{k+1} = A δx + B δu + d, δu = k + K δx; x̄ ⊕ δx, ū + δu, slacks and multipliers               (4)

Only (1) needs the measurement before τ is known: `feedback` is a function of its own for computers on which the time
from the measurement to the torque matters. Changes of inputs are clipped to their bounds, knot by knot, so that torques
are never outside their limits. There is no line search, and the number of operations is fixed.

A slack follows its row and shrinks at most by the factor SHRINK in one iteration; multipliers stay within a factor of
μ/slack. If a pivot of the sweep is not positive, the iterate stays and the regularisation grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, clamp, maximum, minimum, select
from appell.compile.c.signature import identifier
from appell.compile.c.source import StepMemory, c_step
from appell.compile.function import Function
from appell.control.traced_law import TracedLaw
from appell.errors import ArgumentError, check_number
from appell.optimal.iteration import PROXIMAL, lower, matrix, mirrored, pad, unpacked, with_barrier
from appell.optimal.layout import TracedPart
from appell.optimal.problem import Problem
from appell.optimal.sweep import Step, Value, sparse_dot, stage
from appell.simulation.inputs import Sampled
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.compile.c.source import CSource

SHRINK = 0.05  # smallest ratio of a slack after an iteration to that before
SPREAD = 10.0  # largest ratio of a multiplier to μ/slack, and of μ/slack to a multiplier
SMALLEST_RHO, LARGEST_RHO = 1e-8, 1e8  # regularisation of the inputs
RELATIVE_GAP = 1e-3  # duality gap relative to the cost of the start, from which μ follows
SETTLED = 1e-10  # relative change of the iterate below which the start has converged
MOST_ITERATIONS = 200  # to converge from the start
INFO = ("rho", "shift", "mu")


class PredictiveStep:
    """One call of the law over abstract scalars; memory and data are lists of scalars by name."""

    def __init__(self, problem: Problem, iterations: int, course: Sequence[float]):
        self.problem, self.iterations, self.course = problem, iterations, list(course)
        self.N, self.nq, self.nx, self.nu = problem.steps, problem.nq, problem.nx, problem.nu
        self.h = float(problem.dt or 0.0)  # s
        self.n = problem.nq + problem.nv
        self.m, self.me = len(problem.rows[0]), len(problem.equalities[0])
        self.m_end, self.me_end = len(problem.final_rows), len(problem.final_equalities)
        self.n_data = sum(problem.held.values())
        self.masks = [
            [float(k > 0 or not row.state_only) for row in (*problem.rows[0], *problem.equalities[0])]
            for k in range(self.N)
        ]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the blocks of the memory."""
        shapes: dict[str, tuple[int, ...]] = {
            "x": (self.N + 1, self.n),
            "w": (self.N, self.nu + 2 * self.m + self.me),  # inputs, slacks, multipliers of g and of e
            "gain": (self.nu * self.nx,),  # of the first knot
            "info": (len(INFO),),
        }
        return shapes | ({"end": (2 * self.m_end + self.me_end,)} if self.m_end + self.me_end else {})

    # ---- parts that are traced once

    @cached_property
    def knot(self) -> TracedPart:
        """Slopes; gap; gradient and Hessian with the terms of the rows; rows."""
        problem, nq, h = self.problem, self.nq, self.h

        def body(x, x_next, w, clock, mask, data):
            u, slack, z, y = self.parts(w)
            d = problem.derivatives(0, clock[0], h, x[:nq], x[nq:], u, [], [*data, *self.course])
            after, slopes = d.values, d.slopes
            gap, step = problem.between(x_next, [*after.q, *after.v]), slopes.maps(problem.structured)
            rows = [d.values.g, d.values.e, d.g_z, d.e_z]
            return step, gap, with_barrier(d.gradient, d.hessian, rows, slack, z, y, clock[1], mask), rows

        sizes = {"x": self.n, "next": self.n, "w": self.nu + 2 * self.m + self.me, "clock": 2}
        return TracedPart("mpc_knot", {**sizes, "mask": self.m + self.me, "data": self.n_data}, body)

    @cached_property
    def last(self) -> TracedPart:
        """Gradient and Hessian of the last knot with the terms of its rows; rows."""
        problem, nq = self.problem, self.nq

        def body(x, end, clock, data):
            slack, z, y = self.end_parts(end)
            d = problem.final_derivatives(clock[0], self.h, x[:nq], x[nq:], [], data)
            rows = [d.values.g, d.values.e, d.g_z, d.e_z]
            ones = [1.0] * (self.m_end + self.me_end)
            return with_barrier(d.gradient, d.hessian, rows, slack, z, y, clock[1], ones), rows

        sizes = {"x": self.n, "end": 2 * self.m_end + self.me_end, "clock": 2, "data": self.n_data}
        return TracedPart("mpc_last", sizes, body)

    def parts(self, w: Vector) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
        """Return inputs, slacks and the multipliers of g and e from a row of `w`."""
        a, b = self.nu, self.nu + self.m
        return list(w[:a]), list(w[a:b]), list(w[b : b + self.m]), list(w[b + self.m :])

    def end_parts(self, end: Vector) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return slacks and multipliers of the last knot."""
        m = self.m_end
        return list(end[:m]), list(end[m : 2 * m]), list(end[2 * m :])

    def linear_step(self, slope: Vector) -> Step:
        """Return the linearised step of a row of `slope`, without its gap."""
        transform, step_map = self.knot.nested(0, slope)
        return Step(transform, step_map, self.nx - len(step_map), [])

    # ---- the step

    def torques(self, q: Vector, v: Vector, memory: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
        """Return the inputs of (1), within their bounds."""
        x, w = list(memory["x"][: self.n]), memory["w"][: self.nu + 2 * self.m + self.me]
        dx = self.problem.between(x, [*q, *v])
        du = self.clipped([sparse_dot(row, dx) for row in matrix(memory["gain"], self.nx)], self.parts(w)[1])
        return [a + b for a, b in zip(w, du, strict=False)]

    def clipped(self, du: list[Scalar], slack: Vector) -> list[Scalar]:
        """Return a change of the inputs of a knot within their bounds, whose slacks are their distances."""
        nx = self.nx
        for k, bound in enumerate(self.problem.rows[0]):
            if bound.unknown is not None and nx <= bound.unknown < nx + self.nu:
                i, most = bound.unknown - nx, (1.0 - SHRINK) * slack[k]
                du[i] = minimum(du[i], most) if bound.sign > 0.0 else maximum(du[i], -most)
        return du

    def __call__(self, loops: Loops, time: Scalar, q, v, data, memory: Mapping[str, Sequence[Scalar]]):
        """Return the torques of all actuators and the new memory, both as lists of scalars."""
        problem, h = self.problem, self.h
        info = dict(zip(INFO, memory["info"], strict=True))
        u = self.torques(q, v, memory)
        after = problem.values(0, time, h, list(q), list(v), u, [], [*data, *self.course])
        change = [info["shift"] * x for x in problem.between([*q, *v], [*after.q, *after.v])]
        tables = {name: loops.given(matrix(memory[name], self.shapes[name][-1])) for name in ("x", "w")}
        if "end" in memory:
            tables["end"] = loops.given([memory["end"]])
        self._shift(loops, tables, problem.moved([*q, *v], change), info["shift"])
        gain: list[Scalar] = []
        for _ in range(self.iterations):
            gain = self._iterate(loops, tables, info, time + info["shift"] * h, data)
        blocks = {name: [x for row in loops.values(table) for x in row] for name, table in tables.items()}
        blocks |= {"gain": gain, "info": [info[name] for name in INFO]}
        return problem.torques(u), {name: blocks[name] for name in self.shapes}

    def _shift(self, loops: Loops, tables: dict[str, Any], first: Vector, shift: Scalar) -> None:
        """Move the iterate by a part of a step: between the knots linearly, at the end with constant velocity."""
        problem, N, nq = self.problem, self.N, self.nq
        nd, width = self.nx - problem.nv, self.nu + 2 * self.m + self.me
        X, W, START = loops.table(N + 1, self.n), loops.table(N, width), loops.given([[shift, *first]])
        loops.each([lambda row: [row[1:]]], [0], [Rows(START, [0])], [Rows(X, [0])])

        def state(x, after, start):
            return [problem.moved(x, [start[0] * each for each in problem.between(x, after)])]

        def end(x, start):
            if nd != problem.nv:
                return [list(x)]
            return [problem.moved(x, [*(start[0] * self.h * rate for rate in x[nq:]), *[0.0] * problem.nv])]

        def inputs(w, after, start):
            return [[a + start[0] * (b - a) for a, b in zip(w, after, strict=True)]]

        inner = range(1, N)
        if N > 1:
            reads = [Rows(tables["x"], inner), Rows(tables["x"], range(2, N + 1)), Rows(START, [0] * (N - 1))]
            loops.each([state], [0] * (N - 1), reads, [Rows(X, inner)])
        loops.each([end], [0], [Rows(tables["x"], [N]), Rows(START, [0])], [Rows(X, [N])])
        following = [min(k + 1, N - 1) for k in range(N)]
        reads = [Rows(tables["w"], range(N)), Rows(tables["w"], following), Rows(START, [0] * N)]
        loops.each([inputs], [0] * N, reads, [Rows(W, range(N))])
        tables["x"], tables["w"] = X, W

    def _iterate(self, loops: Loops, tables: dict[str, Any], info: dict[str, Scalar], time: Scalar, data):
        """Compute (3) and (4): change the tables and the regularisation; return the gain of the first knot."""
        N, nx, nu, h = self.N, self.nx, self.nu, self.h
        knots, once, half = range(N), [0] * N, nx * (nx + 1) // 2
        COMMON = loops.given([[time, info["mu"], *data]])
        widths, last_widths = ([max(1, width) for width in part.widths] for part in (self.knot, self.last))
        SLOPE, GAP, STAGE, ROW = (loops.table(N, width) for width in widths)

        def knot(x, after, w, common, numbers):
            clock = [common[0] + numbers[0], common[1]]
            rows = self.knot.rows(x, after, w, clock, list(numbers[1:]), common[2:])
            return [pad(row, width) for row, width in zip(rows, widths, strict=True)]

        numbers = [[k * h, *mask] for k, mask in enumerate(self.masks)]
        reads = [Rows(tables["x"], knots), Rows(tables["x"], range(1, N + 1)), Rows(tables["w"], knots)]
        writes = [Rows(table, knots) for table in (SLOPE, GAP, STAGE, ROW)]
        loops.each([knot], once, [*reads, Rows(COMMON, once)], writes, numbers)

        V, PIVOT, END_ROW = loops.table(1, half + nx), loops.table(1, 1), loops.table(1, last_widths[1])
        ends = [Rows(tables["end"], [0])] if "end" in tables else []

        def last(x, common, end=()):
            clock = [common[0] + N * h, common[1]]
            stage_row, row = self.last.rows(x, list(end), clock, common[2:])
            gradient, hessian = self.last.nested(0, stage_row)
            value = lower(hessian)
            return [[*value, *gradient], [1.0], pad(row, last_widths[1])]

        writes = [Rows(V, [0]), Rows(PIVOT, [0]), Rows(END_ROW, [0])]
        loops.each([last], [0], [Rows(tables["x"], [N]), Rows(COMMON, [0]), *ends], writes)
        GAIN, FEED, RHO = loops.table(N, nu * nx), loops.table(N, nu), loops.given([[info["rho"]]])

        def backward(value, pivot, slope, gap, row, rho):
            full = unpacked(value, nx)
            step = self.linear_step(slope)._replace(offset=[[x] for x in self.knot.nested(1, gap)])
            gradient, hessian = self.knot.nested(2, row)
            H = mirrored(hessian)
            given = Value(full, [[x] for x in value[half:]], [[0.0]])
            new, gains, smallest = stage(given, step, Value(H, [[x] for x in gradient], [[0.0]]), rho[0], nu)
            rest = lower(new.hessian)
            return [
                [*rest, *(x for each in new.linear for x in each)],
                [minimum(pivot[0], smallest)],
                [x for each in gains.feedback for x in each],
                [x for each in gains.feedforward for x in each],
            ]

        back = list(reversed(knots))
        reads = [Rows(V, once), Rows(PIVOT, once), *(Rows(table, back) for table in (SLOPE, GAP, STAGE))]
        writes = [Rows(V, once), Rows(PIVOT, once), Rows(GAIN, back), Rows(FEED, back)]
        loops.each([backward], once, [*reads, Rows(RHO, once)], writes)

        good = select(loops.values(PIVOT)[0][0], 1.0, 0.0)
        FLAG, DX = loops.given([[good, info["mu"]]]), loops.given([[0.0] * nx])
        X, W = loops.table(N + 1, self.n), loops.table(N, nu + 2 * self.m + self.me)

        def forward(dx, slope, gap, gain, feed, x, w, row, flag, *mask):
            u, slack, z, y = self.parts(w)
            du = self.clipped([a + sparse_dot(b, dx) for a, b in zip(feed, matrix(gain, nx), strict=True)], slack)
            du = [select(flag[0], each, 0.0) for each in du]
            step = self.linear_step(slope)
            moved = [*dx[: step.copied], *(sparse_dot(each, [*dx, *du]) for each in step.map)]
            after = [sparse_dot(each, moved) for each in step.transform] if step.copied else moved
            after = [a + b for a, b in zip(after, self.knot.nested(1, gap), strict=True)]
            rows = self.rows_after(
                [*dx, *du], self.knot.nested(3, row), slack, z, y, flag, list(mask[0]) if mask else []
            )
            inputs = [*(a + b for a, b in zip(u, du, strict=True)), *rows]
            return [[select(flag[0], each, 0.0) for each in after], self.problem.moved(x, dx), inputs]

        reads = [Rows(table, knots) for table in (SLOPE, GAP, GAIN, FEED, tables["x"], tables["w"], ROW)]
        writes = [Rows(DX, once), Rows(X, knots), Rows(W, knots)]
        masks = self.masks if self.m + self.me else ()
        loops.each([forward], once, [Rows(DX, once), *reads, Rows(FLAG, once)], writes, masks)

        def end(dx, x, row, flag, end=()):
            ones = [1.0] * (self.m_end + self.me_end)
            rows = self.rows_after(dx, self.last.nested(1, row), *self.end_parts(end), flag, ones)
            return [self.problem.moved(x, dx), *([rows] if ends else [])]

        END = loops.table(1, 2 * self.m_end + self.me_end)
        reads = [Rows(DX, [0]), Rows(tables["x"], [N]), Rows(END_ROW, [0]), Rows(FLAG, [0]), *ends]
        loops.each([end], [0], reads, [Rows(X, [N]), *([Rows(END, [0])] if ends else [])])
        tables |= {"x": X, "w": W} | ({"end": END} if ends else {})
        rho = info["rho"]
        larger = minimum(maximum(10.0 * rho, SMALLEST_RHO), LARGEST_RHO)
        info["rho"] = select(good, select(0.1 * rho - SMALLEST_RHO, 0.1 * rho, 0.0), larger)
        return [select(good, x, 0.0) for x in loops.values(GAIN)[0]]

    def rows_after(self, d: Vector, rows, slack, z, y, flag, mask) -> list[Scalar]:
        """Return slacks and multipliers of rows after a change d of the unknowns."""
        g, e, g_z, e_z = rows
        good, mu = flag
        slacks, multipliers = [], []
        for k, before in enumerate(slack):
            row = -(g[k] + sparse_dot(g_z[k], d))
            after = maximum(row, SHRINK * before)
            central = mu / after
            multiplier = clamp((mu - z[k] * (row - before)) / before, (1.0 / SPREAD) * central, SPREAD * central)
            counted = good * mask[k]
            slacks.append(select(counted, after, before))
            multipliers.append(select(counted, multiplier, z[k]))
        counted = [good * x for x in mask[len(mask) - len(y) :]]
        changes = [(e[k] + sparse_dot(e_z[k], d)) * (1.0 / PROXIMAL) for k in range(len(y))]
        return [*slacks, *multipliers, *(select(c, a + b, a) for a, b, c in zip(y, changes, counted, strict=True))]


class PredictiveLaw:
    """Model predictive control: `plan.mpc(period)` returns it.

    The law itself is constant. `ap.simulate(..., torque=law)` and `ap.rollout(..., law=law)` start from its initial
    memory, `controller()` returns a function with memory of its own, `traced` is the law for `ap.control.Design`,
    `to_c` exports one step with its state.

    Parameters
    ----------
    problem : Problem
        An optimal control problem with a fixed step.
    period : float
        Time between two calls, in s; at most one step of the problem.
    start : tuple of array
        q (steps + 1, nq), v (steps + 1, nv) and inputs (steps, nu) of a solution, from which the first call starts.
    iterations : int
        Newton iterations per call. The first uses the measured state, further ones the predicted state.
    barrier : float, optional
        μ; by default a duality gap of 0.1 % of the cost of the start.
    held, driven : array, optional
        Data of the problem, (held,) and (steps, driven); arguments of costs are parameters of the law.
    """

    def __init__(
        self,
        problem: Problem,
        period: float,
        start: tuple[np.ndarray, np.ndarray, np.ndarray],
        *,
        iterations: int = 1,
        barrier: float | None = None,
        held: np.ndarray | None = None,
        driven: np.ndarray | None = None,
    ):
        check_predictive(problem, period, iterations)
        self.problem, self.period, self.iterations = problem, float(period), iterations
        course = np.zeros((problem.steps, 0)) if driven is None else np.asarray(driven, float)
        if (course != course[:1]).any():
            raise ArgumentError(
                "wrenches or contacts change within the horizon, which a predictive law does not support.",
                expected="the same data at all knots",
            )
        values = np.zeros(0) if held is None else np.asarray(held, float).ravel()
        self.step = PredictiveStep(problem, iterations, course[0])
        self.parameters: dict[str, np.ndarray] = {}
        first = 0
        for name, size in problem.held.items():
            self.parameters[name] = values[first : first + size].copy()
            first += size
        self.barrier, self.start = self._settled(*start, barrier)

    def __repr__(self) -> str:
        work = f"{self.problem.steps} steps, {self.iterations} iteration{'s' * (self.iterations > 1)}"
        return f"<PredictiveLaw of {self.problem.system.owner}: every {self.period:g} s, {work}>"

    @cached_property
    def function(self) -> Function:
        """One call: (time, q, v, arguments, memory) -> (tau, memory of the next call), with names ending in "_next"."""
        shapes = {name: prod(shape) for name, shape in self.step.shapes.items()}
        sizes = {name: len(values) for name, values in self.parameters.items()}
        inputs = {"time": (), "q": self.problem.nq, "v": self.problem.nv, **sizes, **shapes}

        def body(*values):
            loops, given = values[-1], dict(zip(inputs, values[:-1], strict=True))
            data = [x for name in sizes for x in given[name]]
            memory = {name: list(given[name]) for name in shapes}
            tau, after = self.step(loops, given["time"], list(given["q"]), list(given["v"]), data, memory)
            return {"tau": tau} | {f"{name}_next": block for name, block in after.items()}

        doc = f"One step of model predictive control with {self.problem.steps} knots, every {self.period:g} s."
        return Function.of("mpc_step", inputs, body, doc, self.problem.system.owner, loops=True)

    @cached_property
    def feedback(self) -> Function:
        """The feedback phase alone: (q, v, blocks of the memory) -> tau, the torque of the next call of `function`."""
        names = ("x", "w", "gain")
        inputs = {"q": self.problem.nq, "v": self.problem.nv}
        inputs |= {name: prod(self.step.shapes[name]) for name in names}

        def body(q, v, *blocks):
            memory = {name: list(block) for name, block in zip(names, blocks, strict=True)}
            return {"tau": self.problem.torques(self.step.torques(list(q), list(v), memory))}

        return Function.of("mpc_feedback", inputs, body, "Feedback phase of a step.", self.problem.system.owner)

    def controller(self) -> PredictiveController:
        """Return a function of (t, q, v) with its own memory, which starts at the initial one."""
        return PredictiveController(self)

    @property
    def sampled(self) -> Sampled:
        """The law for `ap.simulate(..., torque=law)`."""
        return Sampled(self.controller(), self.period)

    def kernel_law(self, reference: Any = None) -> KernelLaw:
        """Return the law for `ap.rollout(..., law=law)`."""
        if reference is not None:
            raise ArgumentError(
                "a reference is given to a predictive law, which has its own cost.", expected="law= without reference="
            )
        blocks = {name: prod(shape) for name, shape in self.step.shapes.items()}
        data = [float(x) for values in self.parameters.values() for x in values]

        def torque(t, q, v, memory, signal, loops):
            named, first = {}, 0
            for name, size in blocks.items():
                named[name] = memory[first : first + size]
                first += size
            tau, after = self.step(loops, t, q, v, data, named)
            return tau, [x for name in blocks for x in after[name]]

        start = np.concatenate([self.start[name] for name in blocks])
        return KernelLaw("mpc", torque, start, period=self.period, looped=True)

    @property
    def traced(self) -> TracedLaw:
        """The law for `ap.control.Design(robot, law=law.traced, period=law.period)`: control loops and devices."""
        step, period = self.step, self.period

        def mpc(dyn, state):
            if abs(state.period - period) > 1e-9 * period:
                raise ArgumentError(
                    f"the period of the design is {state.period:g} s, that of the law {period:g} s.",
                    expected="equal periods",
                )
            data = [x for name in self.parameters for x in state.parameters[name]]
            memory = {name: list(state.memory[name]) for name in step.shapes}
            return step(state.loops, state.t, list(state.q), list(state.v), data, memory)

        return TracedLaw("mpc", mpc, self.start, {}, self.parameters, tracks=False, looped=True)

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """Return one call as C99 with its state: NAME_state, NAME_init, NAME_step; bit-identical to `controller()`."""
        name = identifier(f"{self.problem.system.name}_mpc") if name is None else name
        carried = {block: f"{block}_next" for block in self.step.shapes}
        return c_step(self.function, StepMemory(carried, self.start, ("tau",)), name, dtype)

    # ---- the initial memory

    def _settled(self, q, v, u, barrier: float | None) -> tuple[float, dict[str, np.ndarray]]:
        """Return μ and the memory after iterations at the first state, without a shift, until nothing changes."""
        step = self.step
        memory = {name: np.zeros(prod(shape)) for name, shape in step.shapes.items()}
        values, count = self._values(q, v, u)
        mu = max(RELATIVE_GAP * abs(values["cost"]) / max(count, 1), 1e-9) if barrier is None else barrier
        check_number("barrier", mu, least=0.0, above=True)
        slack = np.maximum(-values["g"], np.sqrt(mu) * 1e-2)
        memory["x"][:] = np.concatenate([q, v], axis=1).ravel()
        memory["w"][:] = np.concatenate([u, slack, mu / slack, np.zeros((step.N, step.me))], axis=1).ravel()
        if "end" in memory:
            last = np.maximum(-values["g_end"], np.sqrt(mu) * 1e-2)
            memory["end"][:] = np.concatenate([last, mu / last, np.zeros(step.me_end)])
        memory["info"][INFO.index("mu")] = mu
        controller = PredictiveController(self, memory)
        for _ in range(MOST_ITERATIONS):
            before = np.concatenate([controller.memory[name] for name in ("x", "w")])
            controller(0.0, q[0], v[0])
            after = np.concatenate([controller.memory[name] for name in ("x", "w")])
            change = np.abs(after - before) / (1.0 + np.abs(after))
            if not np.isfinite(after).all():
                raise ArgumentError(
                    "the iterations of the predictive law diverge from its start.",
                    expected="a start near a solution",
                    hint="Pass start=record of a converged optimisation, or a larger barrier=.",
                )
            if controller.memory["info"][0] == 0.0 and change.max() < SETTLED:
                break
        memory = {name: values.copy() for name, values in controller.memory.items()}
        memory["info"][INFO.index("shift")] = self.period / step.h
        return float(mu), memory

    def _values(self, q, v, u) -> tuple[dict[str, Any], int]:
        """Return cost and rows of a motion, and the number of rows that count."""
        step, problem, h = self.step, self.problem, self.step.h
        sizes = {"k": (), "q": problem.nq, "v": problem.nv, "u": problem.nu}
        sizes |= {"data": step.n_data} if step.n_data else {}

        def knot(k, q, v, u, data=()):
            values = problem.values(0, k * h, h, list(q), list(v), list(u), [], [*data, *step.course])
            return {"cost": values.cost, "g": [*values.g, 0.0]}

        def last(k, q, v, u, data=()):
            values = problem.final_values(k * h, h, list(q), list(v), [], list(data))
            return {"cost": values.cost, "g": [*values.g, 0.0]}

        data = [np.concatenate(list(self.parameters.values()))] if step.n_data else []
        stages = Function.of("knot_values", sizes, knot)(np.arange(step.N), q[:-1], v[:-1], u, *data)
        final = Function.of("final_values", sizes, last)(float(step.N), q[-1], v[-1], u[-1], *data)
        count = int(np.sum([mask[: step.m] for mask in step.masks])) + step.m_end
        cost = float(np.sum(stages[0]) + final[0])
        return {"cost": cost, "g": stages[1][:, : step.m], "g_end": final[1][: step.m_end]}, count


class PredictiveController:
    """A predictive law with its memory: a function of (t, q, v) that is called once per period."""

    def __init__(self, law: PredictiveLaw, memory: Mapping[str, np.ndarray] | None = None):
        self.law = law
        self._bound: Any = law.function.bind()
        self._blocks = [(getattr(self._bound, name), getattr(self._bound, f"{name}_next")) for name in law.step.shapes]
        self.parameters = {name: getattr(self._bound, name) for name in law.parameters}  # may change between calls
        self.reset(memory)

    def reset(self, memory: Mapping[str, np.ndarray] | None = None) -> None:
        """Restore the initial memory and parameters."""
        for name, values in self.law.parameters.items():
            self.parameters[name][:] = values
        start = self.law.start if memory is None else memory
        for (_, after), name in zip(self._blocks, self.law.step.shapes, strict=True):
            after[:] = start[name]

    @property
    def memory(self) -> dict[str, np.ndarray]:
        """The memory after the last call, by name."""
        return {name: after for name, (_, after) in zip(self.law.step.shapes, self._blocks, strict=True)}

    @property
    def plan(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicted q (steps + 1, nq), v (steps + 1, nv) and inputs (steps, nu) for the next call."""
        step = self.law.step
        x = self.memory["x"].reshape(step.N + 1, step.n)
        return x[:, : step.nq], x[:, step.nq :], self.memory["w"].reshape(step.N, -1)[:, : step.nu]

    def __call__(self, t: float, q, v) -> np.ndarray:
        """Return the torques (nu) for the next period, in N m or N; the next call overwrites this array."""
        bound = self._bound
        bound.time[...], bound.q[:], bound.v[:] = t, q, v
        for before, after in self._blocks:
            before[:] = after
        bound()
        return bound.tau


def check_predictive(problem: Problem, period: Any, iterations: Any) -> None:
    """Raise an error if a problem cannot be solved once per period."""
    if problem.np:
        raise ArgumentError(
            f"the problem has the unknowns {', '.join(problem.parameter_names)}.",
            expected="a fixed step dt and no free parameters for a predictive law",
        )
    if problem.exact:
        raise ArgumentError("the problem has exact Hessians.", expected="hessian='gauss-newton' for a predictive law")
    if len(set(problem.kinds)) > 1:
        raise ArgumentError("the problem has several contact phases.", expected="one phase for a predictive law")
    check_number("period", period, least=0.0, above=True)
    step = float(problem.dt or 0.0)
    if period > step * (1.0 + 1e-9):
        raise ArgumentError(
            f"the period is {period:g} s and a step of the problem {step:g} s.",
            expected="a period of at most one step",
        )
    if isinstance(iterations, bool) or not isinstance(iterations, int) or not 1 <= iterations <= 20:
        raise ArgumentError(f"iterations is {iterations!r}.", expected="an integer from 1 to 20")
