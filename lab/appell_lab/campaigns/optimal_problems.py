"""Random problems of optimal control: every one must converge, name a violated row, or end at a stated limit.

    python -m appell_lab.campaigns.optimal_problems RESULT.json [PROBLEMS] [SEED]

A family is a robot with a step, limits and final conditions; its problems have random starts, goals and weights. They
are solved in one batch, some of them with NaN in their goal. Of every converged problem, limits and the steps of
`rollout` are checked; its optimality by Pinocchio's derivatives (`optimality`) if the robot has a fixed base and
semi-implicit steps, else by the gradient of a rollout if torques alone are limited. IPOPT must not solve problems that
are reported as infeasible, of which some per family are checked. Of every family, problems that are solved without
their NaN neighbours must have the same bits.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.optimal.optimizer import Optimizer
from appell.simulation import Rollout
from appell_lab.campaigns.control_robots import robot_files
from appell_lab.references.ipopt import Ipopt
from appell_lab.references.optimality import optimality
from appell_lab.references.reaching import Reaching

FIXED = (
    *("pendulum", "planar-2r", "two-body", "puma", "panda", "stanford"),
    *("ur3_robot", "ur5_robot", "ur10_joint_limited_robot", "kinova", "z1", "xarm7", "so100"),
    *("double_pendulum", "TwoDofs", "talos_left_arm"),
)
OTHER = ("box", "tree10", "five-bar", "four-bar", "delta", "agile-wrist", "three-rrr", "solo12")
SMALL_ROBOTS = ("pendulum", "planar-2r", "two-body", "double_pendulum", "TwoDofs", "five-bar", "four-bar", "box")
LIMITS = ("none", "torque", "torque and speed", "all")
OUTCOMES = {
    "Infeasible": "infeasible, with the row",
    "Not finite": "not finite",
    "The limit of": "limit of iterations",
    "No step was accepted": "no step accepted",
}
NAN_SHARE = 0.03
INFEASIBLE_CHECKS, IPOPT_SECONDS = 2, 10.0  # problems per family that are reported as infeasible, and time for each
STEP_DEFECT = 1e-6  # largest difference of a step from that of `rollout`, in units of q and v
LIMIT_VIOLATION = 1e-6
STATIONARITY = 1e-6  # relative to the largest gradient; the solver's tolerance of 1e-8 is scaled by multipliers
SMALL_CHANGE = 1e-7  # rad/s or m/s, of the first velocity
MAX_ROLLOUT_DIFFERENCE = (
    1e-6  # a rolled-out motion that differs more from the solution is too unstable for its gradient
)


@dataclass(frozen=True)
class Family:
    """Problems that share one compiled iteration."""

    robot: str
    members: int
    seed: int
    steps: int = 20
    dt: float = 0.02
    method: str = "euler"
    hessian: str = "auto"
    limits: str = "none"
    tight: float = 1.0  # factor of the limits of torque and speed
    exact: bool = False  # whether the motion must end at the goal at rest


@dataclass
class Finding:
    """What happened to the problems of a family."""

    family: Family
    outcomes: Counter = field(default_factory=Counter)
    rows: Counter = field(default_factory=Counter)  # reasons of problems that did not converge
    problems: list[str] = field(default_factory=list)  # what is wrong
    judged: Counter = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    iterations: float = 0.0  # median of converged problems
    seconds: float = 0.0


def families(count: int, seed: int = 0, size: int = 100) -> Iterator[Family]:
    """Yield random families with `count` problems together."""
    rng = np.random.default_rng(seed)
    for first in range(0, count, size):
        other = rng.random() < 0.25
        limits = str(rng.choice(LIMITS[:2] if other else LIMITS))
        robot = str(rng.choice(OTHER if other else FIXED))
        share = 0.4 if robot in SMALL_ROBOTS else 0.0  # of other methods: their second derivatives compile for a minute
        yield Family(
            robot,
            min(size, count - first),
            int(rng.integers(2**31)),
            steps=int(rng.integers(5, 50)),
            dt=float(rng.choice([0.01, 0.02, 0.05])),
            method=str(rng.choice(["euler", "rk4", "midpoint"], p=[1.0 - share, share / 2, share / 2])),
            hessian=str(rng.choice(["auto", "exact"], p=[0.8, 0.2])),
            limits=limits,
            tight=float(rng.uniform(0.3, 1.0)),
            exact=bool(rng.random() < 0.2 and not other),
        )


class Problems:
    """The problems of a family: data of all members, and the solver."""

    def __init__(self, family: Family):
        self.family, rng = family, np.random.default_rng(family.seed)
        path = family.robot if family.robot in ap.zoo_names() else robot_files([family.robot])[0]
        system = ap.load(path, base="floating") if family.robot == "solo12" else ap.load(path)
        self.dyn = ap.Dynamics(system, friction=False)
        self.system = system
        self.fixed = system.is_tree and system.nq == system.nv
        self.limits = self._limits(rng)
        self.q0, self.v0, self.goal = self._states(rng)
        count = family.members
        self.weights = np.exp(rng.uniform(np.log(1e-2), np.log(10.0), (count, 5))) * [1.0, 0.1, 1e-2, 100.0, 1.0]
        self.lost = rng.random(count) < NAN_SHARE
        self.goal[self.lost, rng.integers(self.goal.shape[1])] = np.nan
        self.plan = Optimizer(self.dyn, **self._options())

    def _limits(self, rng) -> dict[str, Any]:
        family, described = self.family, self.system.limits
        if family.limits == "none":
            return {}
        q = self.system.start
        size = np.abs(np.asarray(self.dyn.gravity(q), float)).max() + 1.0
        usable = np.isfinite(described.torque) & (described.torque > 0.0)  # some files state limits of zero
        torque = np.where(usable, described.torque * family.tight, 4.0 * size)
        chosen: dict[str, Any] = {"torque": torque}
        if family.limits != "torque":
            usable = np.isfinite(described.speed) & (described.speed > 0.0)
            chosen["speed"] = np.where(usable, described.speed * family.tight, 2.0)
        if family.limits == "all":
            chosen["position"] = True
        return chosen

    def _states(self, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        system, count = self.system, self.family.members
        if not self.fixed:
            start = np.tile(system.start, (count, 1))
            v0 = 0.05 * rng.normal(size=(count, system.nv))
            return start, v0, np.tile(system.start, (count, 1)) + 0.05 * rng.normal(size=(count, system.nq))
        low, high = system.limits.lower, system.limits.upper
        middle = np.where(np.isfinite(low + high), 0.5 * (low + high), 0.0)
        half = np.where(np.isfinite(high - low), 0.4 * (high - low), 1.0)
        q0 = middle + half * rng.uniform(-1.0, 1.0, (count, system.nq))
        goal = q0 + np.minimum(half, 0.5) * rng.uniform(-1.0, 1.0, q0.shape)
        if self.family.limits == "all":
            goal = np.clip(goal, middle - 1.2 * half, middle + 1.2 * half)
        speed = 0.9 * np.asarray(self.limits.get("speed", np.inf))
        return q0, np.clip(0.1 * rng.normal(size=q0.shape), -speed, speed), goal

    def _options(self) -> dict[str, Any]:
        family = self.family

        quaternion = range(3, 7) if self.system.is_tree and self.system.nq > self.system.nv else range(0)

        def away(q, goal):
            plain = [a - b for k, (a, b) in enumerate(zip(q, goal, strict=True)) if k not in quaternion]
            return [*plain, *(ap.turn(list(q)[3:7], [0.0, 0.0, 0.0, 1.0]) if quaternion else ())]

        def cost(t, q, v, tau, *, goal, weights):
            squares = ap.square(away(q, goal)), ap.square(v), ap.square(tau)
            return 0.5 * sum(weights[k] * square for k, square in enumerate(squares))

        def final_cost(q, v, *, goal, weights):
            return 0.5 * (weights[3] * ap.square(away(q, goal)) + weights[4] * ap.square(v))

        def meet(q, v, *, goal):
            return {"goal": away(q, goal), "rest": list(v)}

        options: dict[str, Any] = {"cost": cost, "final_cost": final_cost, "limits": self.limits or False}
        options |= {"steps": family.steps, "dt": family.dt, "method": family.method, "hessian": family.hessian}
        if quaternion and len(self.system.actuators) > 6:
            options["actuators"] = self.system.actuator_names[6:]
        options |= {"arguments": {"goal": self.system.nq, "weights": 5}}
        return options | ({"meet": meet} if family.exact else {})

    def solve(self, members: np.ndarray) -> Any:
        """Solve some of the problems in one batch."""
        chosen = {"goal": self.goal[members], "weights": self.weights[members]}
        return self.plan(self.q0[members], self.v0[members], arguments=chosen)

    def reaching(self, k: int) -> Reaching:
        """Return one problem for the independent check."""
        family, weights, limits = self.family, [float(x) for x in self.weights[k]], self.system.limits
        bounds: dict[str, Any] = {}
        if family.limits == "all":
            bounds = {"lower": tuple(limits.lower), "upper": tuple(limits.upper)}
        for name in ("torque", "speed"):
            if name in self.limits:
                bounds[name] = tuple(self.limits[name])
        problem = Reaching(
            f"{family.robot} {k}",
            family.robot,
            q0=tuple(self.q0[k]),
            goal=tuple(self.goal[k]),
            running=tuple(weights[:3]),  # type: ignore[arg-type]
            final=tuple(weights[3:]),  # type: ignore[arg-type]
            steps=family.steps,
            dt=family.dt,
            exact=family.exact,
            **bounds,
        )
        problem.__dict__["system"] = self.system
        return problem


def run_family(family: Family) -> Finding:
    """Solve the problems of a family and check all results."""
    finding, begin = Finding(family), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _examine(Problems(family), finding)
    except ap.AppellError as error:
        finding.problems.append(f"refused: {error}")
    except Exception:
        finding.problems.append(traceback.format_exc(limit=-3))
    finding.seconds = round(time.process_time() - begin, 2)
    return finding


def _examine(problems: Problems, finding: Finding) -> None:
    family, everyone = problems.family, np.arange(problems.family.members)
    records = problems.solve(everyone)
    solved = np.asarray(records.solved)
    for k in everyone:
        finding.outcomes[_outcome(records, k)] += 1
        if not solved[k]:
            finding.rows[str(records.reason[k])[:100]] += 1
            if not str(records.reason[k]).strip():
                finding.problems.append(f"problem {k} ends without a reason")
    for k in np.flatnonzero(solved & problems.lost):
        finding.problems.append(f"problem {k} has a NaN goal and is reported as solved")
    for k in np.flatnonzero(solved):
        if not all(np.isfinite(x[k]).all() for x in (records.q, records.v, records.tau)):
            finding.problems.append(f"problem {k} is reported as solved with numbers that are not finite")
            solved[k] = False
    if solved.any():
        finding.iterations = float(np.median(np.asarray(records.iterations)[solved]))
    _check_steps(problems, records, np.flatnonzero(solved), finding)
    _check_limits(problems, records, np.flatnonzero(solved), finding)
    if problems.fixed and family.method == "euler":
        _judge_by_pinocchio(problems, records, np.flatnonzero(solved), finding)
    elif family.limits in LIMITS[:2] and not family.exact:
        _judge_by_rollout(problems, records, np.flatnonzero(solved), finding)
    if not problems.system.quaternions:
        claimed = [k for k in everyone if str(records.reason[k]).startswith("Infeasible")]
        _judge_infeasible(problems, claimed[:INFEASIBLE_CHECKS], finding)
    if problems.lost.any():
        alone = np.flatnonzero(~problems.lost)
        again = problems.solve(alone)
        for name in ("q", "v", "tau"):
            if not np.array_equal(getattr(again, name), getattr(records, name)[alone], equal_nan=True):
                finding.problems.append(f"{name} of problems changes if their NaN neighbours are left out")


def _outcome(records: Any, k: Any) -> str:
    if records.solved[k]:
        return "converged"
    reason = str(records.reason[k])
    for text, name in OUTCOMES.items():
        if text in reason:
            return name
    return f"unknown: {reason}"


def _limit(finding: Finding, name: str, value: float, bar: float, where: str) -> None:
    finding.worst[name] = max(finding.worst.get(name, 0.0), float(value))
    if not value <= bar:
        finding.problems.append(f"{where}: {name} is {value:.2g}")


def _check_steps(problems: Problems, records: Any, members: np.ndarray, finding: Finding) -> None:
    """Every step must be that of `rollout`."""
    if not len(members):
        return
    family, system = problems.family, problems.system
    q, v = (np.asarray(x)[members, :-1].reshape(-1, x.shape[-1]) for x in (records.q, records.v))
    tau = np.asarray(records.tau)[members][:, : family.steps].reshape(-1, 1, len(system.actuators))
    after = Rollout(problems.dyn, method=family.method)(q, v, tau, steps=1, dt=family.dt)
    for name in ("q", "v"):
        theirs = np.asarray(getattr(after, name))[:, -1].reshape(len(members), family.steps, -1)
        ours = np.asarray(getattr(records, name))[members, 1:]
        for span in system.quaternions if name == "q" else ():  # q and -q are the same orientation
            theirs[..., span] *= np.where((theirs[..., span] * ours[..., span]).sum(axis=-1, keepdims=True) < 0, -1, 1)
        defects = np.abs(theirs - ours).max(axis=(1, 2)) / np.maximum(1.0, np.abs(ours).max(axis=(1, 2)))
        for k, defect in zip(members, defects, strict=True):
            _limit(finding, f"defect of {name}", defect, STEP_DEFECT, f"problem {k}")


def _check_limits(problems: Problems, records: Any, members: np.ndarray, finding: Finding) -> None:
    limits = problems.limits
    for name, values in (("torque", records.tau), ("speed", records.v)):
        if name in limits and (name == "torque" or problems.fixed):
            excess = np.abs(np.asarray(values)[members]) / limits[name] - 1.0
            for k, x in zip(members, np.nanmax(excess, axis=(1, 2), initial=0.0), strict=True):
                _limit(finding, f"excess of {name}", x, LIMIT_VIOLATION, f"problem {k}")


def _judge_by_pinocchio(problems: Problems, records: Any, members: np.ndarray, finding: Finding) -> None:
    steps = problems.family.steps
    for k in members:
        result = optimality(problems.reaching(k), records.q[k], records.v[k], records.tau[k][:steps])
        _limit(finding, "violation", result.violation, LIMIT_VIOLATION, f"problem {k}")
        _limit(finding, "stationarity", result.relative, STATIONARITY, f"problem {k}")
        finding.judged["Pinocchio"] += 1


def _judge_infeasible(problems: Problems, members: list[Any], finding: Finding) -> None:
    """IPOPT must not solve a problem that is reported as infeasible."""
    if not members:
        return
    solver = Ipopt(problems.plan, seconds=IPOPT_SECONDS)
    for k in members:
        arguments = {"goal": problems.goal[k], "weights": problems.weights[k]}
        answer = solver(problems.q0[k], problems.v0[k], arguments)
        finding.judged[f"infeasible, IPOPT: {answer.status}"] += 1
        if answer.status == "Solve_Succeeded":
            finding.problems.append(
                f"problem {k} is reported as infeasible, and IPOPT finds the cost {answer.cost:.6g}"
            )


def _judge_by_rollout(problems: Problems, records: Any, members: np.ndarray, finding: Finding) -> None:
    """The gradient of the cost of a rollout must vanish, except where a torque is at its limit.

    An error of the gradient of one knot is amplified by the motion, as is a change of the first velocity.
    """
    if not len(members):
        return
    family, options = problems.family, problems._options()
    chosen = {name: options[name] for name in ("cost", "final_cost", "arguments")}
    rollout = Rollout(problems.dyn, method=family.method, **chosen)
    tau = np.asarray(records.tau)[members][:, : family.steps]
    given = (problems.q0[members], problems.v0[members], tau)
    data = {"goal": problems.goal[members], "weights": problems.weights[members]}
    motion = rollout(*given, steps=family.steps, dt=family.dt, arguments=data)
    gradient = np.asarray(rollout.gradient(*given, steps=family.steps, dt=family.dt, arguments=data).torque)
    inputs = problems.plan.problem.actuators
    gradient = gradient[..., inputs]
    away = np.abs(np.asarray(motion.q) - np.asarray(records.q)[members]).max(axis=(1, 2))
    moved = rollout(given[0], given[1] + SMALL_CHANGE, tau, steps=family.steps, dt=family.dt, arguments=data)
    growth = np.abs(np.asarray(moved.q) - np.asarray(motion.q)).max(axis=(1, 2)) / SMALL_CHANGE
    tau = tau[..., inputs]
    limit = np.broadcast_to(problems.limits.get("torque", np.inf), len(problems.system.actuators))[inputs]
    for j, k in enumerate(members):
        if not (away[j] < MAX_ROLLOUT_DIFFERENCE and np.isfinite(growth[j])):
            finding.judged["too unstable for a rollout"] += 1
            continue
        slack = np.where(gradient[j] > 0.0, limit + tau[j], limit - tau[j])  # towards the bound that would hold it
        residual = np.minimum(np.abs(gradient[j]), np.abs(gradient[j] * np.minimum(slack, 1e300)))
        residual = residual.max() / max(1.0, np.abs(gradient[j]).max()) / (1.0 + family.steps * growth[j])
        _limit(finding, "stationarity", residual, STATIONARITY, f"problem {k}")
        finding.judged["rollout"] += 1


def summary(findings: list[Finding]) -> dict[str, Any]:
    """Return totals of all families."""
    outcomes, judged, rows, worst = Counter[str](), Counter[str](), Counter[str](), dict[str, float]()
    for finding in findings:
        outcomes += finding.outcomes
        judged += finding.judged
        rows += finding.rows
        for name, value in finding.worst.items():
            worst[name] = max(worst.get(name, 0.0), value)
    return {
        "problems": sum(outcomes.values()),
        "families": len(findings),
        "outcomes": dict(outcomes),
        "judged": dict(judged),
        "worst": {name: float(f"{value:.2g}") for name, value in worst.items()},
        "reasons": dict(rows.most_common(40)),
        "wrong": [f"{f.family}: {text}" for f in findings for text in f.problems],
    }


def main() -> None:
    """Run the campaign and write its result to the file that is given."""
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    findings = []
    for family in families(count, int(sys.argv[3]) if len(sys.argv) > 3 else 0):
        finding = run_family(family)
        findings.append(finding)
        print(family, dict(finding.outcomes), dict(finding.worst), finding.problems[:3], finding.seconds, flush=True)
        if len(sys.argv) > 1:
            content = summary(findings) | {"runs": [vars(f) | {"family": asdict(f.family)} for f in findings]}
            Path(sys.argv[1]).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
