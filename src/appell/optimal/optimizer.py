"""Optimal control: the motion with the least cost from a start, for one problem or thousands at once.

    plan = Optimizer(dyn, steps=100, dt=0.01, cost=cost, final_cost=last)
    record = plan(q0)                       one start: a `OptimalMotion`
    records = plan(starts)                  (members, nq): `OptimalMotions`

All problems run the same kernel (`iteration`), several in the lanes of a register. The driver calls it for a few
iterations at a time; problems that are done leave, and problems that wait take their places. The numbers of a problem
do not depend on the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.dynamics.moving import made_by
from appell.errors import ArgumentError, ModelWarning, check_number
from appell.model.system import System
from appell.motion.titles import record_names, record_units
from appell.optimal.guesses import Guess
from appell.optimal.iteration import INFO, NOT_FINITE, RUNNING, SOLVED, STALLED, Iteration
from appell.optimal.optimal_motion import OptimalMotion, OptimalMotions
from appell.optimal.problem import Problem
from appell.progress import Bar
from appell.simulation.options import checked_steps

if TYPE_CHECKING:
    from appell.optimal.mpc import PredictiveLaw

NO_ARGUMENTS: Mapping[str, Any] = {}
GAUSS_NEWTON_ITERATIONS = 40  # before exact Hessians replace those of Gauss and Newton
CALL_ITERATIONS = 8  # iterations per call of the kernel
MAX_ACTIVE = 512  # problems per call
FIRST_BARRIER = 0.1  # μ of the first iteration
FIRST_SLACK = 1e-2  # smallest first slack, relative to the value of its row if that is larger than 1
FEASIBLE = 1e-6  # violation below which an iterate that is not optimal counts as feasible
VIOLATION_WEIGHTS = (1.0, 1e2, 1e4)  # W of problems with relaxed rows, one after the other
RELAXED_BARRIER, RELAXED_TOLERANCE = 10.0, 1e-6  # first μ, and KKT residual of these problems
LEAST_SHARE = 0.5  # of the violation that a problem keeps with the larger W if it is infeasible
INFEASIBLE = 4.0  # value of the entry `status` that the driver adds to those of the iteration


class KnotRows(NamedTuple):
    """Rows and gaps of all knots, (members, steps, n); rows of the last, (members, n); costs (members, steps + 1)."""

    g: np.ndarray
    e: np.ndarray
    gaps: np.ndarray
    g_end: np.ndarray
    e_end: np.ndarray
    cost: np.ndarray


class Optimizer:
    """A problem and the kernel that solves it; see `optimize` for the parameters.

    Parameters
    ----------
    tolerance : float
        KKT residual, scaled as by IPOPT, and relative duality gap of a solution.
    iterations : int
        Largest number of iterations of each attempt; see `optimize`.

    Examples
    --------
    >>> import appell as ap
    >>> plan = ap.Optimizer(
    ...     ap.load("pendulum"), steps=50, dt=0.02, limits=False, cost=lambda t, q, v, tau: ap.square(tau),
    ...     final_cost=lambda q, v: 100.0 * ap.square([q[0] - 1.0]) + ap.square(v),
    ... )
    >>> plan([0.0]).solved
    True
    """

    def __init__(
        self,
        dyn: Dynamics | System,
        steps: int,
        dt: float | None = None,
        *,
        tolerance: float = 1e-8,
        iterations: int = 300,
        **options: Any,
    ):
        self.problem = Problem(dyn, steps, dt, **options)
        check_number("tolerance", tolerance, least=0.0, above=True)
        self.max_iterations = checked_steps("iterations", iterations)
        self.continues = self.problem.hessian == "auto" and self.problem.phases is None
        limit = min(self.max_iterations, GAUSS_NEWTON_ITERATIONS) if self.continues else self.max_iterations
        self.iteration = Iteration(self.problem, tolerance, limit)
        self._given = (dyn, steps, dt, options)

    def __repr__(self) -> str:
        return f"<Optimizer of {self.problem!r}>"

    def __call__(
        self,
        q0: Any = None,
        v0: Any = None,
        *,
        guess: Any = None,
        free: Any = None,
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        **data: Any,
    ) -> OptimalMotion | OptimalMotions:
        """Solve the problem for one start or many; see `optimize` for the parameters."""
        problem, it = self.problem, self.iteration
        first = problem.guess(q0, v0, guess, free)
        held, driven = problem.data_values(arguments, parameters, wrenches, q0=first.q[:, 0], **data)
        members = max(len(first.q), len(held), len(driven))
        first = Guess(*(_members(x, members) for x in first))
        held, driven = _members(held, members), _members(driven, members)
        start = np.concatenate([first.q[:, 0], first.v[:, 0]], axis=1)
        given = {"start": start, "dt": np.full(members, problem.dt or 1.0)}
        given |= {"data": held} if it.n_held else {}
        given |= {"course": driven} if it.n_driven else {}
        state = self.first_iterate(first, held, driven)
        with Bar("optimize", members, "problems", enabled=progress) as bar:
            self._solve(state, given, threads, bar)
        self._relax(first, state, given, (held, driven), threads, progress)
        solutions = self._solutions(state | given, held, driven)
        single = all(x is None or np.ndim(x) <= 1 for x in (q0, v0)) and members == 1
        return solutions._member(0) if single else solutions

    def mpc(
        self,
        period: float | None = None,
        iterations: int = 1,
        *,
        q0: Any = None,
        v0: Any = None,
        guess: Any = None,
        barrier: float | None = None,
        **data: Any,
    ) -> PredictiveLaw:
        """Return model predictive control with this problem: a control law with memory.

        Every period the horizon starts at the measured state, and one iteration improves the motion of the last period.

        Parameters
        ----------
        period : float, optional
            Time between two calls, in s; at most the step of the problem, which is the default.
        iterations : int
            Iterations per call.
        q0, v0, guess : optional
            State at which the law starts, (nq,) and (nv,), and a guess of its motion, as in a call. The problem is
            solved once from there.
        barrier : float, optional
            Value at which the barrier parameter is held; by default the duality gap is 0.1 % of the cost.
        **data
            `arguments`, `parameters`, `wrenches` and further data of the problem, as in a call. Arguments are
            parameters of the law that may change between two calls.

        Returns
        -------
        PredictiveLaw
            For `ap.simulate(..., torque=law)`, `ap.rollout(..., law=law)`, devices (`law.traced`) and C (`law.to_c()`).

        Raises
        ------
        ArgumentError
            If the problem has free parameters, exact Hessians or several contact phases, or a period is not valid.

        Examples
        --------
        >>> import appell as ap
        >>> plan = ap.Optimizer(
        ...     ap.load("pendulum"), steps=30, dt=0.02, limits={"torque": 4.0},
        ...     cost=lambda t, q, v, tau: 10.0 * ap.square([q[0] - 0.5]) + 0.1 * ap.square(v) + 0.01 * ap.square(tau),
        ... )
        >>> record = ap.simulate(ap.load("pendulum"), [0.0], until=2.0, torque=plan.mpc())
        >>> bool(abs(record.tau).max() < 4.0)
        True
        """
        from appell.optimal.mpc import PredictiveLaw, check_predictive

        step = float(self.problem.dt or 0.0) if period is None else period
        check_predictive(self.problem, step, iterations)
        solution = self(q0, v0, guess=guess, **data)
        if not isinstance(solution, OptimalMotion):
            raise ArgumentError(f"q0 has {len(solution)} members.", expected="one start, (nq,)")
        first = solution.q, solution.v, solution.tau[:-1][:, self.problem.actuators]
        held, driven = self.problem.data_values(**data)
        return PredictiveLaw(
            self.problem, step, first, iterations=iterations, barrier=barrier, held=held[0], driven=driven[0]
        )

    # ---- solving

    @cached_property
    def exact_iteration(self) -> Iteration:
        """The iteration with exact Hessians, for problems that do not converge with those of Gauss and Newton."""
        dyn, steps, dt, options = self._given
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # given for the first problem
            problem = Problem(dyn, steps, dt, **options | {"hessian": "exact"})
        return Iteration(problem, self.iteration.tolerance, self.max_iterations)

    def first_iterate(
        self, first: Guess, held: np.ndarray, driven: np.ndarray, barrier: float = FIRST_BARRIER
    ) -> dict[str, np.ndarray]:
        """Return the carried arrays of the solver for a guess, members first; `barrier` is the first μ."""
        it, members = self.iteration, len(first.q)
        state = {name: np.zeros((members, *shape)) for name, shape in it.carried.items()}
        state["x"][:] = np.concatenate([first.q, first.v], axis=2)
        state["w"][..., : it.nu] = first.u
        state["end"][:, : it.np] = first.p
        g, _, _, g_end, _, _ = self._rows(state["x"], first.u, first.p, held, driven)
        masks = self._masks[:, : it.m]
        slack = np.where(masks > 0.0, _first_slack(g), 1.0)
        state["w"][..., it.nu : it.nu + it.m] = slack
        state["w"][..., it.nu + it.m : it.nu + 2 * it.m] = np.where(masks > 0.0, barrier / slack, 0.0)
        slack = _first_slack(g_end)
        state["end"][:, it.np : it.np + it.m_end] = slack
        state["end"][:, it.np + it.m_end : it.np + 2 * it.m_end] = barrier / slack
        for name, number in {"mu": barrier, "reach": 1.0}.items():
            state["end"][:, INFO.index(name) - len(INFO)] = number
        return state

    def _solve(self, state: dict[str, np.ndarray], given: dict[str, np.ndarray], threads: int | None, bar: Bar) -> None:
        """Iterate until every problem is done, in place."""
        column = {name: k - len(INFO) for k, name in enumerate(INFO)}
        end = state["end"]
        self._repeat(self.iteration, range(len(end)), state, given, threads, bar)
        unfinished = (end[:, column["status"]] == RUNNING) | (end[:, column["status"]] == STALLED)
        left = np.flatnonzero(unfinished & (end[:, column["iterations"]] < self.max_iterations))
        if self.continues and len(left):
            for name, number in {"status": RUNNING, "rho": 0.0, "wait": 0.0, "reach": 1.0}.items():
                end[left, column[name]] = number
            self._repeat(self.exact_iteration, left, state, given, threads, bar)

    @cached_property
    def relaxed_iteration(self) -> Iteration:
        """The iteration that may violate rows, at a cost."""
        problem = self.exact_iteration.problem if self.continues else self.problem
        return Iteration(problem, RELAXED_TOLERANCE, self.max_iterations, relaxed=True)

    def _relax(self, first: Guess, state, given, data, threads: int | None, progress: bool | None) -> None:
        """Solve problems that are not solved with relaxed rows, and again from that motion, in place.

        A problem that is not solved then either is infeasible if the largest weight of the violations does not halve
        them: its iterate is the motion with the least violations.
        """
        it, end = self.iteration, state["end"]
        status, count = (INFO.index(name) - len(INFO) for name in ("status", "iterations"))
        failed = np.flatnonzero((end[:, status] == RUNNING) | (end[:, status] == STALLED))
        parts = [self.relaxed_iteration.soft, self.relaxed_iteration.soft_end] if len(failed) else []
        if not any(any((*part.g, *part.e)) for part in parts):
            return
        held, driven = (x[failed] for x in data)
        given = {name: array[failed] for name, array in given.items()}
        motion, total = Guess(*(x[failed] for x in first)), end[failed, count]
        least = np.full(len(failed), np.nan)
        with Bar("relax", len(failed), "problems", enabled=progress) as bar:
            for weight in VIOLATION_WEIGHTS:
                relaxed = self.first_iterate(motion, held, driven, RELAXED_BARRIER)
                weights = {name: given[name] for name in ("start", "dt")} | {"weight": np.full(len(failed), weight)}
                self._repeat(self.relaxed_iteration, range(len(failed)), relaxed, weights | given, threads, bar)
                x, u, p = relaxed["x"], relaxed["w"][..., : it.nu], relaxed["end"][:, : it.np]
                minimal = relaxed["end"][:, status] == SOLVED
                rows = np.concatenate(self._violations(self._rows(x, u, p, held, driven)), axis=1)
                violation = rows.max(axis=1, initial=0.0)
                infeasible = minimal & (violation > np.maximum(LEAST_SHARE * least, FEASIBLE))
                least[minimal] = violation[minimal]
                for before, after in zip(motion, (x[..., : it.nq], x[..., it.nq :], u, p), strict=True):
                    before[minimal] = after[minimal]
                total = total + relaxed["end"][:, count]
            nearest = self.first_iterate(motion, held, driven)
            again = {name: array.copy() for name, array in nearest.items()}
            self._solve(again, given, threads, bar)
        solved = again["end"][:, status] == SOLVED
        nearest["end"][:, status] = INFEASIBLE
        for arrays, chosen in ((again, solved), (nearest, infeasible & ~solved)):
            for name in state:
                state[name][failed[chosen]] = arrays[name][chosen]
        end[failed, count] = total + again["end"][:, count]

    def _repeat(self, it: Iteration, members: Iterable[int], state, given, threads, bar: Bar) -> None:
        """Iterate with one kernel; problems that are done leave, and problems that wait take their places."""
        scan, end = it.scan, state["end"]
        status, count = (INFO.index(name) - len(INFO) for name in ("status", "iterations"))
        waiting = list(members)
        active: list[int] = []
        done = len(end) - len(waiting)
        ticks = np.zeros((1, CALL_ITERATIONS))
        while waiting or active:
            free = MAX_ACTIVE - len(active)
            active, waiting = active + waiting[:free], waiting[free:]
            carried = [state[name][active] for name in it.carried]
            held = [array[active] for array in given.values()]
            with np.errstate(all="ignore"):
                results = scan(*carried, *held, ticks, every=CALL_ITERATIONS, threads=threads)
            for name, result in zip(it.carried, results, strict=False):
                state[name][active] = result[:, 0]
            still = [k for k in active if end[k, status] == RUNNING and end[k, count] < it.limit]
            done += len(active) - len(still)
            active = still
            bar(done)

    def gains(self, iterate: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the feedback gains of solved problems, (members, steps, inputs, directions of x)."""
        arrays = [np.array(iterate[name]) for name in (*self.iteration.carried, *self.iteration.held)]
        for name, number in {"status": RUNNING, "iterations": 1.0}.items():  # a problem that is done computes nothing
            arrays[3][:, INFO.index(name) - len(INFO)] = number
        return np.asarray(self.iteration.gains(*arrays))

    # ---- results

    @property
    def _direction_names(self) -> tuple[str, ...]:
        """Names of the directions of a state."""
        problem, v = self.problem, self.problem.system.velocity_names
        q = v if problem.nd == len(v) else tuple(f"{k + 1}" for k in range(problem.nd))
        return (*(f"position of {name}" for name in q), *(f"velocity of {name}" for name in v))

    @cached_property
    def _row_functions(self) -> tuple[list[Function], Function]:
        """Rows g, e, gaps and cost of every kind of knot, and rows and cost of the last knot."""
        it, problem, nq = self.iteration, self.problem, self.problem.nq
        size = nq + problem.nv

        def knot(kind: int) -> Function:
            def body(x, x_next, u, clock, *rest):
                parts = iter(rest)
                p = list(next(parts)) if it.np else []
                data = list(next(parts)) if it.n_held + it.n_driven else []
                t, h = problem.clock(clock[0], p, clock[1])
                values = problem.values(kind, t, h, list(x[:nq]), list(x[nq:]), list(u), p, data)
                gap = problem.between(list(x_next), [*values.q, *values.v])
                return {"rows": [*values.g, *values.e, *gap, values.cost]}

            sizes = {"x": size, "next": size, "u": it.nu, "clock": 2, "p": it.np, "data": it.n_held + it.n_driven}
            return Function.of("rows", {name: n for name, n in sizes.items() if n}, body, owner=problem.system.owner)

        def last(x, clock, *rest):
            parts = iter(rest)
            p = list(next(parts)) if it.np else []
            data = list(next(parts)) if it.n_held else []
            t, h = problem.clock(clock[0], p, clock[1])
            values = problem.final_values(t, h, list(x[:nq]), list(x[nq:]), p, data)
            return {"rows": [*values.g, *problem.parameter_values(p), *values.e, values.cost]}

        sizes = {"x": size, "clock": 2, "p": it.np, "data": it.n_held}
        end = Function.of("final_rows", {name: n for name, n in sizes.items() if n}, last, owner=problem.system.owner)
        return [knot(kind) for kind in it.kinds], end

    def _rows(self, x, u, p, held, driven) -> KnotRows:
        """Return rows, gaps and costs of all knots."""
        it, problem = self.iteration, self.problem
        members = len(x)
        knots, end = self._row_functions
        clock = np.stack([np.arange(it.N + 1.0), np.full(it.N + 1, problem.dt or 1.0)], axis=1)
        data = np.concatenate([np.repeat(held[:, None], it.N, axis=1), driven], axis=2)
        rest = [np.repeat(p[:, None], it.N, axis=1)] if it.np else []
        rest += [data] if data.shape[2] else []
        g, e = np.full((members, it.N, it.m), -1.0), np.zeros((members, it.N, it.me))
        gaps, cost = np.zeros((members, it.N, it.nx)), np.zeros((members, it.N + 1))
        kinds = np.array(it.order)
        with np.errstate(all="ignore"):
            for k, function in enumerate(knots):
                rows = np.flatnonzero(kinds == k)
                values = function(x[:, rows], x[:, rows + 1], u[:, rows], clock[rows], *(a[:, rows] for a in rest))
                m, me = len(problem.rows[it.kinds[k]]), len(problem.equalities[it.kinds[k]])
                g[:, rows, :m], e[:, rows, :me] = values[..., :m], values[..., m : m + me]
                gaps[:, rows], cost[:, rows] = values[..., m + me : -1], values[..., -1]
            last = np.asarray(end(x[:, -1], clock[-1], *([p] if it.np else []), *([held] if it.n_held else [])))
        cost[:, -1] = last[:, -1]
        return KnotRows(g, e, gaps, last[:, : it.m_end], last[:, it.m_end : -1], cost)

    def _solutions(self, iterate: dict[str, np.ndarray], held: np.ndarray, driven: np.ndarray) -> OptimalMotions:
        problem, it, system = self.problem, self.iteration, self.problem.system
        x, w, end = iterate["x"], iterate["w"], iterate["end"]
        members, N = len(x), it.N
        u = w[..., : it.nu]
        tau = np.zeros((members, N + 1, system.nu))
        tau[:, :N, problem.actuators] = u
        tau[:, N] = tau[:, N - 1]
        names: dict[str, tuple[str, ...]] = dict(record_names(system))
        q = _continuous(x[..., : it.nq], system.quaternions)
        blocks = {"q": q, "v": x[..., it.nq :], "tau": tau, "costate": iterate["costate"]}
        names["costate"] = self._direction_names
        last_names = [row.name for row in (*problem.final_rows, *problem.parameter_rows, *problem.final_equalities)]
        at_end = dict(zip(last_names, np.moveaxis(end[:, it.np + it.m_end : -len(INFO)], 1, 0), strict=True))
        if it.m + it.me:
            titles = tuple(row.name for row in (*problem.rows[0], *problem.equalities[0]))  # of all kinds of knots
            last = [at_end.get(name, np.zeros(members)) for name in titles]
            last_knot = np.stack(last, axis=1)[:, None]
            blocks["multiplier"] = np.concatenate([w[..., it.nu + it.m :], last_knot], axis=1)
            names["multiplier"] = titles
        info = dict(zip(INFO, np.moveaxis(end[:, -len(INFO) :], 1, 0), strict=True))
        lost = np.isnan(info["status"])  # kernels return NaN for everything if a carried array is not finite
        info["status"] = np.where(lost, NOT_FINITE, info["status"])
        info["iterations"] = np.where(lost, 0, info["iterations"])
        for name in ("cost", "error", "dual", "primal", "gap"):
            info[name] = np.where(info["status"] == NOT_FINITE, np.nan, info[name])
        p = end[:, : it.np]
        rows = self._rows(x, u, p, held, driven)
        infeasible = info["status"] == INFEASIBLE  # the motion with the least violations, without multipliers
        violations = self._violations(rows)
        info["cost"] = np.where(infeasible, rows.cost.sum(axis=1), info["cost"])
        largest = np.concatenate(violations, axis=1).max(axis=1, initial=0.0)
        info["primal"] = np.where(infeasible, largest, info["primal"])
        for name in ("error", "dual", "gap"):
            info[name] = np.where(infeasible, np.nan, info[name])
        reports = []
        for k in range(members):
            solved = bool(info["status"][k] == SOLVED)
            numbers = {name: float(array[k]) for name, array in info.items()}
            if numbers["status"] == NOT_FINITE:
                cause = self._not_finite(iterate["start"][k], held[k], driven[k], KnotRows(*(x[k] for x in rows)))
                reason = f"Not finite after {numbers['iterations']:.0f} iterations of problem {k}: {cause}."
            else:
                reason = self._reason(numbers, rows.gaps[k], *(part[k] for part in violations))
            reports.append(
                {
                    "solved": solved,
                    "reason": reason,
                    "iterations": int(info["iterations"][k]),
                    "cost": float(info["cost"][k]),
                    "residuals": {name: float(info[name][k]) for name in ("error", "dual", "primal", "gap")},
                    "parameters": {
                        name: float(value) for name, value in zip(problem.parameter_names, p[k], strict=True)
                    },
                    "final_multipliers": {name: float(values[k]) for name, values in at_end.items()},
                }
            )
        t = np.arange(N + 1) * (1.0 / N if problem.dt is None else problem.dt)
        about = made_by(problem.dyn) | {"method": problem.method, "dt": problem.dt, "tolerance": it.tolerance}
        return OptimalMotions(
            t, blocks, names, record_units(system), about, np.array(info["cost"]), dynamics=problem.dyn,
            reports=tuple(reports), optimizer=self, iterate=iterate,
        )  # fmt: skip

    def _not_finite(self, start: np.ndarray, held: np.ndarray, driven: np.ndarray, rows: KnotRows) -> str:
        """Return which number of a problem is infinite or NaN: of its data, or of its first knot that has one."""
        problem, it, system = self.problem, self.iteration, self.problem.system
        names = [*system.coordinate_names, *(f"velocity of {name}" for name in system.velocity_names)]
        given = [(f"the start, {name},", x) for name, x in zip(names, start, strict=True)]
        labels = [f"argument '{name}', entry {j}," for name, size in problem.held.items() for j in range(size)]
        given += zip(labels, held, strict=True)
        labels = [f"'{name}', entry {j}," for name, size in problem.driven.items() for j in range(size)]
        given += [
            (f"{name} at knot {k}", x) for k, row in enumerate(driven) for name, x in zip(labels, row, strict=True)
        ]
        for knot in range(it.N):
            kind = problem.kinds[knot]
            both = (problem.rows[kind], rows.g[knot]), (problem.equalities[kind], rows.e[knot])
            given += [(f"'{row.name}' at knot {knot}", x) for part in both for row, x in zip(*part, strict=False)]
            given += [
                (f"the {name} after knot {knot}", x)
                for name, x in zip(self._direction_names, rows.gaps[knot], strict=True)
            ]
            given.append((f"the cost of knot {knot}", rows.cost[knot]))
        last = (*problem.final_rows, *problem.parameter_rows, *problem.final_equalities)
        values = np.concatenate([rows.g_end, rows.e_end])
        given += [(f"'{row.name}' at the last knot", x) for row, x in zip(last, values, strict=True)]
        given.append(("the cost of the last knot", rows.cost[-1]))
        return next((f"{name} is {x}" for name, x in given if not np.isfinite(x)), "derivatives are infinite or NaN")

    @cached_property
    def _masks(self) -> np.ndarray:
        """Which rows of the knots count, (steps, inequalities and equalities)."""
        it = self.iteration
        return np.array([it.mask(k) for k in range(it.N)]).reshape(it.N, it.m + it.me)

    def _violations(self, rows: KnotRows) -> tuple[np.ndarray, np.ndarray]:
        """Return the violations of the rows of all knots, (members, steps * n), and of the last, (members, n)."""
        at_knots = np.concatenate([rows.g, np.abs(rows.e)], axis=2) * self._masks
        at_end = np.concatenate([rows.g_end, np.abs(rows.e_end)], axis=1)
        return np.nan_to_num(at_knots.reshape(len(at_knots), -1)), np.nan_to_num(at_end)

    def _reason(self, info: dict[str, float], gaps: np.ndarray, at_knots: np.ndarray, at_end: np.ndarray) -> str:
        """Return how the solver ended, with the row that is violated most if it did not converge."""
        problem, it, residual = self.problem, self.iteration, f"KKT residual {info['error']:.2g}"
        if info["status"] == SOLVED:
            return f"Solved in {info['iterations']:.0f} iterations: {residual}."
        count = f"{info['iterations']:.0f} iterations"
        ended = f"No step was accepted after {count}"
        if info["status"] == RUNNING:
            ended = f"The limit of {self.max_iterations} iterations was reached"
        worst = max(at_knots.max(initial=0.0), at_end.max(initial=0.0))
        if worst > FEASIBLE:
            if at_end.max(initial=0.0) == worst:
                names, knot = (*problem.final_rows, *problem.parameter_rows, *problem.final_equalities), it.N
                row = names[int(np.argmax(at_end))].name
            else:
                knot, column = divmod(int(np.argmax(at_knots)), it.m + it.me)
                kind = problem.kinds[knot]
                row = (problem.rows[kind][column] if column < it.m else problem.equalities[kind][column - it.m]).name
            violated = f"{row} at knot {knot} is violated by {worst:.3g}"
            if info["status"] == INFEASIBLE:
                return f"Infeasible: {violated} where the sum of squared violations has a minimum, after {count}."
            return f"{ended}: {violated}."
        if (gap := np.abs(np.nan_to_num(gaps))).max() > FEASIBLE:
            knot, column = map(int, np.unravel_index(int(np.argmax(gap)), gap.shape))
            name = self._direction_names[column]
            return f"{ended}: the motion has a gap of {gap.max():.3g} in the {name} after knot {knot}, {residual}."
        return f"{ended}: {residual}."


def _members(array: np.ndarray, members: int) -> np.ndarray:
    """Return an array with this number of members, repeated if it has one."""
    if len(array) not in (1, members):
        raise ArgumentError(f"an argument has {len(array)} members.", expected=f"1 or {members}")
    return np.array(np.broadcast_to(array, (members, *array.shape[1:])))


def _continuous(q: np.ndarray, quaternions: Iterable[slice]) -> np.ndarray:
    """Return configurations (members, knots, nq) in which no quaternion changes its sign from knot to knot."""
    q = q.copy()
    for span in quaternions:
        turned = (q[:, 1:, span] * q[:, :-1, span]).sum(axis=2) < 0.0
        q[:, 1:, span] *= np.cumprod(np.where(turned, -1.0, 1.0), axis=1)[..., None]
    return q


def _first_slack(g: np.ndarray) -> np.ndarray:
    return np.maximum(-g, FIRST_SLACK * np.maximum(1.0, np.abs(g)))


def optimize(
    dyn: Dynamics | System,
    q0: Any = None,
    v0: Any = None,
    *,
    steps: int,
    dt: float | None = None,
    cost: Callable | None = None,
    final_cost: Callable | None = None,
    limits: Any = True,
    keep: Callable | None = None,
    meet: Callable | None = None,
    margin: float | None = None,
    duration: tuple[float, float] | None = None,
    free: Mapping[str, Any] = NO_ARGUMENTS,
    arguments: Mapping[str, Any] = NO_ARGUMENTS,
    actuators: Iterable[str] | None = None,
    guess: Any = None,
    method: str = "euler",
    hessian: str = "auto",
    tolerance: float = 1e-8,
    iterations: int = 300,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> OptimalMotion | OptimalMotions:
    """Return the motion with the least cost from a start.

    Parameters
    ----------
    dyn : Dynamics or system
        The robot.
    q0, v0 : array, optional
        Start, (n,) or (members, n) for many problems. None: the start of the system, at rest.
    steps, dt : int, float
        Number of steps and their length in s.
    cost, final_cost : callable, optional
        cost(t, q, v, tau), integrated over the motion, and final_cost(q, v), with the signature of costs of `rollout`.
        Write squares with `ap.square`: their Hessian is approximated by Gauss and Newton.
    limits : bool, str, list or mapping
        Limits of torques, speeds and positions of the robot to respect; True: all that are finite.
    keep, meet : callable, optional
        keep(t, q, v, tau) and meet(q, v) return rows {name: (lower, value, upper)} for all knots and for the last one.
        Equal bounds make an equality.
    margin : float, optional
        Distance in m that pairs of collision shapes keep at all knots; see `dynamics.margins`. None: not checked.
    duration : pair of float, optional
        Bounds of a free duration in s, instead of dt.
    free : mapping
        Bounds (lower, upper) of arguments of costs that are unknowns, by name.
    arguments : mapping
        Values of the keyword-only parameters of costs, (n,) or (members, n).
    actuators : iterable of str, optional
        Actuators that are inputs; the others have no torque. None: all.
    guess : Record, Path, mapping or array, optional
        First iterate: a motion, {"q", "v", "tau"}, or torques. None: rest at q0.
    method : str
        Step: "euler" (semi-implicit), "rk4" or "midpoint", as in `rollout`.
    hessian : str
        "gauss-newton"; "exact": with second derivatives of the dynamics; or "auto": exact for problems that do not
        converge with Gauss-Newton Hessians in 40 iterations. Then a second kernel is compiled.
    tolerance, iterations : float, int
        KKT residual of a solution, and the largest number of iterations. A problem that does not converge is solved
        again with relaxed rows and from the motion with the least violations, with as many iterations each.
    threads, progress
        As in `rollout`.
    **options
        Further parameters of `Problem`.

    Returns
    -------
    OptimalMotion, or OptimalMotions for many starts
        A `Record` with torques, costates and multipliers; `solved`, `reason`, `iterations`, `residuals`, `gain`.

    Raises
    ------
    ArgumentError, TraceError
        If an argument is not valid, before the first iteration.

    Examples
    --------
    >>> import appell as ap
    >>> goal = [1.0]
    >>> record = ap.optimize(
    ...     ap.load("pendulum"), [0.0], steps=50, dt=0.02, limits={"torque": 4.0},
    ...     cost=lambda t, q, v, tau: 0.01 * ap.square(tau),
    ...     final_cost=lambda q, v: 100.0 * ap.square([q[0] - goal[0]]) + ap.square(v),
    ... )
    >>> record.solved, record.tau.shape
    (True, (51, 1))
    """
    shapes = {name: np.shape(value)[-1:] or 1 for name, value in arguments.items()}
    plan = Optimizer(
        dyn, steps, dt, cost=cost, final_cost=final_cost, limits=limits, keep=keep, meet=meet, margin=margin,
        duration=duration, free=free, arguments=shapes, actuators=actuators, method=method, hessian=hessian,
        tolerance=tolerance, iterations=iterations, **options,
    )  # fmt: skip
    return plan(q0, v0, guess=guess, arguments=arguments, threads=threads, progress=progress)
