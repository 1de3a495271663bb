"""Optimal control against crocoddyl, fatrop and HPIPM: python benchmarks/optimal.py [PART ...] [--output FILE].

Parts: reaching, bounded, constrained, sweep, walking, references, cold, ablation; without any, all of them. One thread,
one core, processor time; peers answer in turns with appell, and their dynamics are compared before anything is timed.

reaching      an iteration of PUMA and Panda, 100 knots, one problem and 256, against crocoddyl's FDDP
bounded       256 starts with torque limits to convergence, against BoxFDDP
constrained   UR5 with limits of torque, speed and position, and the bounded PUMA, against fatrop with compiled C
sweep         one Riccati sweep against HPIPM
walking       crocoddyl's problem of a walking ANYmal, an iteration
references    costs, iterations, and residuals by Pinocchio's derivatives
cold          processes with an empty cache
ablation      the bounded problems without one ingredient of the solver each

crocoddyl gets an environment of its own with Pinocchio 4.0 (`peers/crocoddyl.py`), fatrop the functions of one knot as
C, mapped over the knots (`peers/fatrop_c.py`), HPIPM installations for this processor if APPELL_HPIPM names them
(`peers/hpipm.py`). The first run makes the environment and builds for two minutes; both are cached.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.algebra.loops import Rows
from appell.compile.scan import Scan
from appell.optimal import iteration as iteration_module
from appell.optimal import optimizer as optimizer_module
from appell.optimal.iteration import Iteration
from appell.optimal.optimizer import Optimizer
from appell.optimal.sweep import Step, Value, sparse_dot, stage
from appell.optimal.tiled_sweep import SweepTables, TiledSweep
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.peers.builds import BuildFolder, package_version
from appell_lab.bench.peers.crocoddyl import Crocoddyl
from appell_lab.bench.peers.fatrop_c import FatropC
from appell_lab.bench.peers.hpipm import Sweep, libraries
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.references.optimality import optimality
from appell_lab.references.reaching import PROBLEMS, Reaching
from appell_lab.references.walking import walking_problem

BATCH, SPREAD, WALKERS = 256, 0.05, 16
TIMED_RUNS = 5
HELD_BARRIER = 1e-6  # of timed iterations, which then never end
CROCODDYL_PARTS = ("calc", "calcDiff", "backwardPass", "forwardPass")
SWEEPS = ((12, 6), (14, 7), (36, 12))
MORE_SWEEPS = 5  # of a step, whose time less that of one sweep is without copies


def main() -> None:
    arguments = sys.argv[1:]
    output = Path(__file__).parent / "results" / "optimal.json"
    if "--output" in arguments:
        index = arguments.index("--output")
        output = Path(arguments[index + 1])
        del arguments[index : index + 2]
    chosen = arguments or list(PARTS)
    result: dict[str, Any] = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    result |= {"machine": machine(), "versions": versions() | {"casadi": package_version("casadi")}}
    builds = BuildFolder(say=print)
    with one_core(), Crocoddyl(builds) as crocoddyl:
        result["versions"]["crocoddyl environment"] = crocoddyl.ask("versions")
        for name in chosen:
            print(name, flush=True)
            try:
                result[name] = PARTS[name](builds, crocoddyl)
            except PeerUnavailableError as error:
                result[name] = {"unavailable": str(error)}
            print(json.dumps(result[name], indent=1), flush=True)
            output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def rounded(x: float) -> float:
    return float(f"{x:.4g}")


def micro(seconds: float) -> float:
    return rounded(seconds * 1e6)


def best(function: Callable[[], Any], runs: int = TIMED_RUNS) -> float:
    """Return the least processor time of a call, s."""
    times = []
    for _ in range(runs):
        before = time.process_time()
        function()
        times.append(time.process_time() - before)
    return min(times)


def iteration_seconds(plan: Optimizer, q0: Any, members: int, **data: Any) -> float:
    """Return the processor time of one iteration of one problem, s: many iterations less few, with the barrier held."""
    it, inner = Iteration(plan.problem, barrier=HELD_BARRIER), plan.problem
    starts = np.tile(q0, (members, 1))
    first = inner.guess(starts, None, None, None)
    held, driven = (_repeated(x, members) for x in inner.data_values(q0=starts, **data))
    state = plan.first_iterate(first, held, driven)
    given = [*(state[name] for name in it.carried), np.hstack([starts, np.zeros((members, inner.nv))])]
    given += [np.full(members, inner.dt), *[held] * bool(it.n_held), *[driven] * bool(it.n_driven)]
    if members == 1:
        given = [x[0] for x in given]
    seconds = {}
    for count in (20, 120) if members == 1 else (3, 13):
        ticks = np.zeros(count) if members == 1 else np.zeros((1, count))
        run = partial(it.scan, *given, ticks, every=count, threads=1)
        run()
        seconds[count] = best(run, 2 * TIMED_RUNS)
    (few, short), (many, long) = seconds.items()
    return (long - short) / (many - few) / members


def _repeated(x: np.ndarray, members: int) -> np.ndarray:
    return np.repeat(x, members, axis=0) if len(x) == 1 else x


def peer_seconds(turns: list[dict[str, float]]) -> float:
    """Return the least time of an iteration of crocoddyl, as one call or as the sum of its parts, s."""
    return min([sum(turn[part] for part in CROCODDYL_PARTS) for turn in turns] + [turn["iteration"] for turn in turns])


def solve_seconds(problem: Reaching, plan: Any, starts: Any) -> tuple[float, Any]:
    """Return the processor time to convergence per problem, s, and the solutions."""
    records = plan(starts)
    members = len(starts) if np.ndim(starts) == 2 else 1
    return best(lambda: plan(starts)) / members, records


def reaching(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in ("puma-reach", "panda-reach"):
        problem = PROBLEMS[name]
        difference, statement, q0 = crocoddyl.compare(problem), problem.statement(), np.array(problem.q0)
        plan = Optimizer(problem.dyn, **problem.options)
        theirs: list[dict[str, float]] = []
        ours: dict[int, list[float]] = {1: [], BATCH: []}
        for _ in range(2):
            theirs.append(crocoddyl.ask("iteration", problem=statement))
            for members, seconds in ours.items():
                seconds.append(iteration_seconds(plan, q0, members))
        peer = peer_seconds(theirs)
        alone, batch = (min(seconds) for seconds in ours.values())
        seconds, record = solve_seconds(problem, plan, q0)
        solved = crocoddyl.ask("solve", problem=statement)
        rows[name] = {
            "difference of the dynamics": float(f"{difference:.1g}"),
            "crocoddyl, µs": micro(peer),
            "its parts, µs": {part: micro(min(turn[part] for turn in theirs)) for part in theirs[0]},
            "appell, one problem, µs": micro(alone),
            f"appell, {BATCH} problems, µs per problem": micro(batch),
            "times faster, one problem": rounded(peer / alone),
            f"times faster, {BATCH} problems": rounded(peer / batch),
            "to convergence": {
                "crocoddyl": {
                    "µs": micro(solved["seconds"]),
                    "iterations": solved["iterations"],
                    "cost": solved["cost"],
                },
                "appell": {"µs": micro(seconds), "iterations": int(record.iterations), "cost": float(record.cost)},
            },
        }
    return rows


def bounded(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    problem = PROBLEMS["puma-reach-bounded"]
    crocoddyl.compare(problem)
    near = [problem.near(seed, SPREAD) for seed in range(BATCH)]
    plan = Optimizer(problem.dyn, **problem.options)
    seconds, records = solve_seconds(problem, plan, np.array([each.q0 for each in near]))
    sample = range(0, BATCH, 8)
    answers = [crocoddyl.ask("solve", problem=near[k].statement(), budget=0.0) for k in sample]
    differences = [abs(records.cost[k] / answer["cost"] - 1.0) for k, answer in zip(sample, answers, strict=True)]
    peer = float(np.mean([answer["seconds"] for answer in answers]))
    return {
        "problems": BATCH,
        "of them solved": int(np.sum(records.solved)),
        "BoxFDDP, µs per problem": micro(peer),
        "BoxFDDP, iterations, mean": rounded(np.mean([answer["iterations"] for answer in answers])),
        "sample of BoxFDDP": len(answers),
        "appell, µs per problem": micro(seconds),
        "appell, iterations, mean and largest": [rounded(np.mean(records.iterations)), int(np.max(records.iterations))],
        "times faster": rounded(peer / seconds),
        "largest relative difference of costs": float(f"{max(differences):.1g}"),
        "residual by Pinocchio, largest of 8": float(f"{max(_worst(near[k], records, k) for k in range(8)):.1g}"),
    }


def _worst(problem: Reaching, records: Any, k: int) -> float:
    return optimality(problem, records.q[k], records.v[k], records.tau[k][: problem.steps]).worst


def constrained(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in ("ur5-limits", "puma-reach-bounded"):
        problem = PROBLEMS[name]
        fatrop = FatropC(problem, builds)
        plan, q0 = Optimizer(problem.dyn, **problem.options), np.array(problem.q0)
        answer = fatrop.solve()
        theirs = min(fatrop.solve()["seconds"] for _ in range(TIMED_RUNS))
        seconds, record = solve_seconds(problem, plan, q0)
        alone = iteration_seconds(plan, q0, 1)
        n = problem.system.nv
        judged = {
            "fatrop": optimality(problem, answer["x"][:, :n], answer["x"][:, n:], answer["u"]),
            "appell": optimality(problem, record.q, record.v, record.tau[: problem.steps]),
        }
        rows[name] = {
            "fatrop": {
                "µs to convergence": micro(theirs),
                "iterations": answer["iterations"],
                "µs per iteration": micro(theirs / answer["iterations"]),
                "share in functions": rounded(answer["seconds in functions"] / answer["seconds"]),
            },
            "appell": {
                "µs to convergence": micro(seconds),
                "iterations": int(record.iterations),
                "µs per iteration": micro(alone),
            },
            "cost and residual by Pinocchio": {
                each: [result.cost, float(f"{result.worst:.1g}")] for each, result in judged.items()
            },
            "times faster, an iteration": rounded(theirs / answer["iterations"] / alone),
            "times faster, to convergence": rounded(theirs / seconds),
        }
    return rows


def sweep(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    drivers = libraries(builds)
    for nx, nu in SWEEPS:
        matrices = lq_matrices(100, nx, nu)
        ours, copying, solution = appell_sweep(matrices)
        theirs: dict[str, float] = {}
        theirs_copying: dict[str, float] = {}
        for title, path in drivers.items():
            solver = Sweep(path, matrices)
            _, u = solver.solution()
            difference = float(np.abs(u - solution).max() / np.abs(u).max())
            if difference > 1e-8:
                raise PeerUnavailableError(f"HPIPM, {title}: the solution differs by {difference:.1g}.")
            theirs[title] = min(solver.seconds() for _ in range(20))
            theirs_copying[title] = min(solver.seconds(copies=True) for _ in range(20))
        rows[f"{nx} states, {nu} inputs"] = {
            "HPIPM, µs": {title: micro(x) for title, x in theirs.items()},
            "appell, µs": {f"{members} problems, per problem": micro(x) for members, x in ours.items()},
            "with copies of the matrices, µs": {
                **{f"HPIPM, {title}": micro(x) for title, x in theirs_copying.items()},
                **{f"appell, {members} problems, per problem": micro(x) for members, x in copying.items()},
            },
            "times faster than the best HPIPM, one problem": rounded(min(theirs.values()) / ours[1]),
            "times faster, 16 problems": rounded(min(theirs.values()) / ours[16]),
            "times faster with copies, one problem": rounded(min(theirs_copying.values()) / copying[1]),
            "times faster with copies, 16 problems": rounded(min(theirs_copying.values()) / copying[16]),
            "difference of the solutions": float(f"{difference:.1g}"),
        }
    return rows


def appell_sweep(matrices: dict[str, np.ndarray]) -> tuple[dict[int, float], dict[int, float], np.ndarray]:
    """Return the seconds of one sweep per problem, for one problem and sixteen, and the inputs of the solution.

    The steps of the iteration (`sweep.stage`, or `TiledSweep` for many states) are repeated on tables with the numbers
    of an iteration, without their derivatives. A step of the scan copies the matrices into its tables, sweeps once or
    several times, and stores the solution. The first result is the time of further sweeps in a step, without copies;
    the second that of a step.
    """
    N, nx, nu = matrices["B"].shape
    n, size, h, lower = nx // 2, nx + nu, 0.01, np.tril_indices(nx + nu)
    S = np.concatenate([matrices["A"], matrices["B"]], axis=2)[:, n:].reshape(N, -1)
    H = np.block([[matrices["Q"][:-1], matrices["S"].transpose(0, 2, 1)], [matrices["S"], matrices["R"]]])
    H = H[:, lower[0], lower[1]]
    linear = np.hstack([matrices["q"][:-1], matrices["r"]])
    end = np.r_[matrices["Q"][-1][np.tril_indices(nx)], matrices["q"][-1]]
    unit, half = [[float(i == j) for j in range(nx)] for i in range(nx)], nx * (nx + 1) // 2
    transform = [[unit[i][j] + (h if j == i + n else 0.0) for j in range(nx)] for i in range(nx)]

    def square(entries, count):
        return [[entries[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(count)] for i in range(count)]

    def rows_of(entries, width):
        return [list(entries[k : k + width]) for k in range(0, len(entries), width)]

    def unpacked(value, constant, S, H, linear, b):
        given = Step(transform, rows_of(S, size), n, [[x] for x in b])
        cost = Value(square(H, size), [[x] for x in linear], [[0.0]])
        return Value(square(value[:half], nx), [[x] for x in value[half:]], [list(constant[:1])]), given, cost

    def backward(value, S, H, linear, b):
        new, gains, _ = stage(*unpacked(value, [0.0], S, H, linear, b), 0.0, nu)
        packed = [new.hessian[i][j] for i in range(nx) for j in range(i + 1)]
        return [[*packed, *(w[0] for w in new.linear)], [x for row in gains.feedback for x in row],
                [x[0] for x in gains.feedforward]]  # fmt: skip

    def forward(x, K, k, S, b):
        u = [sparse_dot(row, x) + f for row, f in zip(rows_of(K, nx), k, strict=True)]
        y = [sparse_dot(row, [*x, *u]) for row in rows_of(S, size)]
        moved = [*(a + h * c for a, c in zip(x[:n], y, strict=True)), *y]
        return [[a + c for a, c in zip(moved, b, strict=True)], u]

    def body(start, S, H, linear, b, end, tick, loops, sweeps=1):
        S, H, linear, b = (loops.given([list(row) for row in table]) for table in (S, H, linear, b))
        V, K, k = loops.table(N + 1, half + nx), loops.table(N, nu * nx), loops.table(N, nu)
        X, U = loops.table(N + 1, nx), loops.table(N, nu)
        loops.each([lambda row: [row]], [0], [Rows(loops.given([list(end)]), [0])], [Rows(V, [N])])
        loops.each([lambda row: [row]], [0], [Rows(loops.given([list(start)]), [0])], [Rows(X, [0])])
        back, knots = list(range(N - 1, -1, -1)), list(range(N))
        before = [Rows(V, [i + 1 for i in back]), *(Rows(table, back) for table in (S, H, linear, b))]
        given = [Rows(table, knots) for table in (X, K, k, S, b)]
        zero = loops.given([[0.0, 0.0]])
        tables = SweepTables(V, zero, zero, K, k, lambda i: [(table, i) for table in (S, H, linear, b)])
        tiled = TiledSweep(nx, n, nu, 1, 0, lambda *rows: (*unpacked(*rows), [], []))
        for _ in range(sweeps):
            if nx > iteration_module.MAX_STRAIGHT_STATES:
                tiled.run(loops, tables, N, None)
            else:
                loops.each([backward], [0] * N, before, [Rows(t, back) for t in (V, K, k)])
            loops.each([forward], [0] * N, given, [Rows(X, [i + 1 for i in knots]), Rows(U, knots)])
        return {"start": [x * 1.0 for x in start], "u": loops.values(U)}

    shapes = {"S": S.shape, "H": H.shape, "linear": linear.shape, "b": matrices["b"].shape, "end": end.shape}
    start = np.zeros(nx)
    arrays = (start, S, H, linear, matrices["b"], end)

    def step_seconds(sweeps: int, members: int) -> tuple[float, np.ndarray]:
        steps = partial(body, sweeps=sweeps)
        scan = Scan.of(f"sweep_{sweeps}", {"start": (nx,)}, shapes, {"tick": ()}, steps, loops=True)
        given = arrays if members == 1 else [np.tile(x, (members, *[1] * x.ndim)) for x in arrays]
        times = {}
        for count in (10, 40) if members == 1 else (3, 9):
            ticks = np.zeros(count) if members == 1 else np.zeros((1, count))
            run = partial(scan, *given, ticks, every=count, threads=1)
            result = run()
            times[count] = best(run, 2 * TIMED_RUNS)
        (few, short), (many, long) = times.items()
        return (long - short) / (many - few) / members, np.asarray(result.u).reshape(-1, N, nu)[-1]

    alone, copying = {}, {}
    for members in (1, 16):
        copying[members], solution = step_seconds(1, members)
        alone[members] = (step_seconds(MORE_SWEEPS, members)[0] - copying[members]) / (MORE_SWEEPS - 1)
    return alone, copying, solution


def lq_matrices(N: int, nx: int, nu: int) -> dict[str, np.ndarray]:
    """Return a linear-quadratic problem whose steps are semi-implicit: x' = T (q, S z)."""
    rng, n, h = np.random.default_rng(0), nx // 2, 0.01
    S = 0.1 * rng.normal(size=(N, n, nx + nu))
    S[:, :, n:nx] += np.eye(n)
    full = np.concatenate([h * S, S], axis=1)
    full[:, :n, :n] += np.eye(n)
    H = rng.normal(size=(N + 1, nx + nu, nx + nu))
    H = 0.004 * H @ H.transpose(0, 2, 1) + np.eye(nx + nu)
    return {
        "A": full[:, :, :nx],
        "B": full[:, :, nx:],
        "b": 0.01 * rng.normal(size=(N, nx)),
        "Q": H[:, :nx, :nx],
        "S": H[:-1, nx:, :nx],
        "R": H[:-1, nx:, nx:],
        "q": rng.normal(size=(N + 1, nx)),
        "r": rng.normal(size=(N, nu)),
    }


def walking(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    theirs = [crocoddyl.ask("walking")]
    dyn, q0, options, signals = walking_problem(theirs[0])
    before = time.process_time()
    plan = Optimizer(dyn, **options)
    solved = plan(q0, signals=signals)
    first = time.process_time() - before
    ours: dict[int, list[float]] = {1: [], WALKERS: []}
    for _ in range(2):
        for members, seconds in ours.items():
            seconds.append(iteration_seconds(plan, q0, members, signals=signals))
        theirs.append(crocoddyl.ask("walking"))
    peer = peer_seconds(theirs)
    alone, batch = (min(seconds) for seconds in ours.values())
    return {
        "knots, tangent states, inputs": [theirs[0]["knots"], theirs[0]["ndx"], theirs[0]["nu"]],
        "impulses": sum(knot["impulse"] for knot in theirs[0]["course"]),
        "crocoddyl, µs": micro(peer),
        "its parts, µs": {part: micro(min(turn[part] for turn in theirs)) for part in ("iteration", *CROCODDYL_PARTS)},
        "crocoddyl, cost and iterations": [theirs[0]["cost"], theirs[0]["iterations"]],
        "appell, one problem, µs": micro(alone),
        f"appell, {WALKERS} problems, µs per problem": micro(batch),
        "appell, reason": solved.reason,
        "appell, cost": float(solved.cost),
        "appell, s to the first solution, with the cache that is there": rounded(first),
        "times faster, one problem": rounded(peer / alone),
        f"times faster, {WALKERS} problems": rounded(peer / batch),
    }


def references(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    expected = json.loads(
        (Path(__file__).parents[1] / "tests" / "optimal" / "data" / "references.json").read_text(encoding="utf-8")
    )
    rows: dict[str, Any] = {}
    for name, problem in PROBLEMS.items():
        record = ap.optimize(problem.dyn, problem.q0, **problem.options)
        judged = optimality(problem, record.q, record.v, record.tau[: problem.steps])
        known = expected.get(name, {})
        minima = known.get("cost", [])
        rows[name] = {
            "solved": bool(record.solved),
            "cost": float(record.cost),
            "relative difference": float(f"{min((abs(record.cost / x - 1) for x in minima), default=np.nan):.1g}"),
            "residual by Pinocchio": float(f"{judged.worst / judged.scale:.1g}"),
            "iterations": int(record.iterations),
            "iterations of the best peer": known.get("best_iterations"),
        }
    return rows


def ablation(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    """Time to convergence of the bounded problems without one ingredient each, measured in turns."""
    problem = PROBLEMS["puma-reach-bounded"]
    starts = np.array([problem.near(seed, SPREAD).q0 for seed in range(BATCH)])

    def plan_of(structured: bool = True) -> Optimizer:
        plan = Optimizer(problem.dyn, **problem.options)
        plan.problem.structured = structured
        return plan

    def one_by_one() -> Any:
        return [complete(q0) for q0 in starts[:: BATCH // 16]]

    def without(name: str, value: Any, run: Callable[[], Any]) -> Callable[[], Any]:
        def changed() -> Any:
            before = getattr(optimizer_module, name)
            setattr(optimizer_module, name, value)
            try:
                return run()
            finally:
                setattr(optimizer_module, name, before)

        return changed

    def one_length() -> Optimizer:
        before, iteration_module.TRIALS = iteration_module.TRIALS, (1.0,)
        plan = plan_of()
        _ = plan.iteration.scan
        iteration_module.TRIALS = before
        return plan

    complete, dense, full_steps = plan_of(), plan_of(structured=False), one_length()
    runs: dict[str, tuple[Callable[[], Any], int]] = {
        "all ingredients": (lambda: complete(starts), BATCH),
        "dense sweep": (lambda: dense(starts), BATCH),
        "one problem at a time": (one_by_one, 16),
        "problems that are done stay in the batch": (without("CALL_ITERATIONS", 304, lambda: complete(starts)), BATCH),
        "one step length per iteration": (lambda: full_steps(starts), BATCH),
    }
    solutions = {name: run() for name, (run, _) in runs.items()}
    seconds = dict.fromkeys(runs, np.inf)
    for _ in range(3):
        for name, (run, count) in runs.items():
            seconds[name] = min(seconds[name], best(run, 1) / count)
    rows = {}
    for name, each in solutions.items():
        records = each if isinstance(each, list) else [each]
        iterations = np.concatenate([np.atleast_1d(record.iterations) for record in records])
        rows[name] = {
            "µs per problem": micro(seconds[name]),
            "times the time of all": rounded(seconds[name] / seconds["all ingredients"]),
            "iterations, mean and largest": [rounded(float(iterations.mean())), int(iterations.max())],
            "solved": int(sum(np.sum(record.solved) for record in records)),
        }
    return rows


COLD = """
import time
import appell as ap
from appell_lab.references.reaching import PROBLEMS
problem = PROBLEMS["{name}"]
before = time.process_time()
dyn = ap.Dynamics(ap.load("{robot}"))
record = ap.optimize(dyn, problem.q0, **problem.options)
print(time.process_time() - before, record.solved)
"""


def cold(builds: BuildFolder, crocoddyl: Crocoddyl) -> dict[str, Any]:
    """Processor time from the robot to the first solution, with an empty cache and with a filled one."""
    rows: dict[str, Any] = {}
    for name in ("puma-reach-bounded", "panda-tool-bounded"):
        script = COLD.format(name=name, robot=PROBLEMS[name].robot)
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"APPELL_CACHE": folder}
            seconds = []
            for _ in range(2):
                command = [sys.executable, "-c", script]
                run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                seconds.append(rounded(float(run.stdout.split()[0])))
        rows[name] = {"s, empty cache": seconds[0], "s, filled cache": seconds[1]}
    return rows


PARTS: dict[str, Callable[[BuildFolder, Crocoddyl], dict[str, Any]]] = {
    "reaching": reaching,
    "bounded": bounded,
    "constrained": constrained,
    "sweep": sweep,
    "walking": walking,
    "references": references,
    "cold": cold,
    "ablation": ablation,
}

if __name__ == "__main__":
    main()
