"""Run all measurements, in order, on one core; only the measurement of threads uses all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from appell.errors import ArgumentError, unknown_name
from appell_lab.bench import (
    batch,
    call,
    closed_loops,
    constrained,
    control,
    inverse_kinematics,
    operations,
    runge_kutta,
    start,
)
from appell_lab.bench.clock import one_core
from appell_lab.bench.figure import Figure
from appell_lab.bench.loop_robots import LOOP_ROBOTS
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.report import Report
from appell_lab.bench.subject import Subject, pinocchio

PARTS = ("batch", "call", "start", "counts", "parallel", "loops", "kinematics", "control", "rollouts")
BATCH_SIZE = 10_000


@dataclass(frozen=True)
class Plan:
    """What is measured, and the number of repetitions."""

    subjects: Sequence[Subject]
    parts: Sequence[str] = PARTS
    batch: int = BATCH_SIZE
    turns: int = 25
    processes: int = 5
    quick: bool = False

    def __post_init__(self):
        for part in self.parts:
            if part not in PARTS:
                raise ArgumentError(unknown_name("part", part, PARTS, "appell bench"))
        if self.batch < 1:
            raise ArgumentError(f"batch is {self.batch}.", expected="at least 1")


@dataclass(frozen=True)
class Task:
    """One measurement: its title, its number of progress ticks, and the function that measures."""

    title: str
    ticks: int
    measure: Callable[[Callable[[], object]], list[Figure]]
    on_one_core: bool = True


def tasks(plan: Plan) -> list[Task]:
    """Return all measurements of a plan."""
    result = []
    for subject in plan.subjects:
        name = subject.name
        if "batch" in plan.parts:
            for quantity in batch.quantities(subject):
                measure = partial(batch.measure, subject, quantity, plan.batch, plan.turns)
                result.append(Task(f"{name}, {quantity.title}", plan.turns, measure))
            measure = partial(batch.measure_float32, subject, plan.batch, plan.turns)
            result.append(Task(f"{name}, float32", plan.turns, measure))
        if "call" in plan.parts:
            result.append(Task(f"{name}, one call", plan.turns, partial(call.measure, subject, plan.turns)))
    if "start" in plan.parts:
        for first in start.starts(plan.subjects):
            measure = partial(start.measure, first, plan.processes)
            result.append(Task(f"{first.robot}, {first.title}", plan.processes, measure))
    if "counts" in plan.parts:
        for subject in plan.subjects:
            result.append(Task(f"{subject.name}, operations", 1, partial(operations.measure, subject)))
    if "parallel" in plan.parts:
        measure = partial(closed_loops.measure, plan.batch, plan.turns)
        result.append(Task("agile-wrist, torques", plan.turns, measure))
    if "loops" in plan.parts:
        for name in LOOP_ROBOTS:
            measure = partial(constrained.measure, name, plan.batch, plan.turns)
            result.append(Task(f"{name}, forward dynamics with loops", plan.turns, measure))
    if "kinematics" in plan.parts:
        ticks = 3 * len(inverse_kinematics.arms())
        measure = partial(inverse_kinematics.measure, plan.batch, plan.turns)
        result.append(Task("inverse kinematics", ticks, measure))
    if "control" in plan.parts:
        result.append(Task("puma, control step", plan.turns, partial(control.measure, plan.turns)))
    if "rollouts" in plan.parts:
        measure = partial(runge_kutta.measure, plan.batch, plan.turns)
        result.append(Task("puma, Runge-Kutta steps", plan.turns, measure))
        turns = runge_kutta.THREAD_TURNS * plan.turns
        measure = partial(runge_kutta.measure_threads, plan.batch, turns)
        result.append(Task("puma, two threads", turns, measure, on_one_core=False))
    return result


def run(plan: Plan, watch: Callable[[str], Callable[[], object]]) -> Report:
    """Measure everything; `watch(title)` returns the function that is called after each tick of a task."""
    if {"batch", "call", "parallel", "loops", "kinematics", "rollouts"} & set(plan.parts):
        pinocchio()
    figures: list[Figure] = []
    core = None
    for task in tasks(plan):
        with one_core() if task.on_one_core else nullcontext(core) as core:
            figures += task.measure(watch(task.title))
    return Report(
        tuple(figures),
        machine() | {"core": core},
        versions(),
        datetime.now(UTC).date().isoformat(),
        plan.batch,
        plan.quick,
    )
