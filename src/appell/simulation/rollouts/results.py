"""The results of a rollout as they are filled, row by row, and the records that are made of them.

Row 0 is the start. What a step notes besides its state, such as torques, is known of steps only: in row 0 that of the
first step, for which one step is taken apart.

A call of a kernel cannot be stopped. So that long work can be watched and interrupted, a rollout is cut along its steps
into calls of about a tenth of a second, each begun where the one before ended; what is carried passes from call to call
as it would from step to step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.scan import Scan
from appell.dynamics.moving import made_by
from appell.errors import ArgumentError
from appell.motion.records import Records
from appell.motion.titles import record_names, record_units
from appell.progress import Bar
from appell.simulation.rollouts.contacts.impulses import Impulses
from appell.simulation.rollouts.task import RolloutTask

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout

CALL = 0.1  # s: how long a call is to take
FIRST = 100_000  # steps of members in the first call, which tells how long they take


@dataclass
class Results:
    """Of one call; `rows` say how far they are filled."""

    plan: Rollout
    task: RolloutTask
    energy: bool
    rows: int = 0

    def __post_init__(self):
        task, march, kind = self.task, self.plan.march, self.task.kind
        shape = (task.members, task.steps // task.every + 1)
        try:
            self.found = {array.name: np.empty((*shape, *array.shape), kind) for array in march.outputs}
        except MemoryError:
            size = sum(array.size for array in march.outputs) * shape[0] * shape[1] * kind.itemsize
            raise ArgumentError(
                f"the results of {shape[0]} members and {shape[1]} rows take {size / 1e9:.3g} GB, more than there is.",
                hint="Output(every=..., dtype='float32'), or fewer members at a time",
            ) from None
        for name, array in task.carried.items():
            self.found[name][:, 0] = array

    def march(self, threads: int | None, bar: Bar) -> None:
        task, march = self.task, self.plan.march
        carried = [np.broadcast_to(array, self.found[name][:, 0].shape) for name, array in task.carried.items()]
        noted = [array.name for array in march.outputs if array.name not in task.carried]
        first = {name: array[:, :1] for name, array in task.driven.items()}
        with np.errstate(all="ignore"):
            results = march(*carried, *task.held.values(), *first.values(), threads=threads)
        for array, result in zip(march.outputs, results, strict=True):
            if array.name in noted:
                self.found[array.name][:, :1] = result

        def told(rows: int) -> None:
            self.rows = rows + 1
            bar(rows * task.every * task.dt)

        out = [self.found[array.name][:, 1:] for array in march.outputs]
        march_on(march, carried, list(task.held.values()), task.driven, out, task.every, threads, told)

    def records(self) -> Records:
        plan, task, system = self.plan, self.task, self.plan.dyn.system
        blocks = {name: array[:, : self.rows] for name, array in self.found.items() if name != "held"}
        q, v = blocks["q"], blocks["v"]
        if self.energy:
            given = [array[:, None] for name, array in task.held.items() if name == "parameters"]
            blocks["energy"] = np.add(*plan.dyn.energy(q, v, *given))
        cost = None
        if plan.costs and self.rows:
            cost = blocks["cost"][:, -1].astype(float) if "cost" in blocks else np.zeros(task.members)
            if plan.final_cost is not None:
                cost = cost + plan.last_cost(q[:, -1], v[:, -1])
        names: dict[str, tuple[str, ...]] = dict(record_names(system))
        if plan.law is not None:
            names["memory"] = tuple(f"{k + 1}" for k in range(plan.law.memory))
        if "impulse" in blocks and isinstance(plan.formula.touching, Impulses):
            names["impulse"] = tuple(plan.formula.touching.walls.names)
        about: dict[str, Any] = made_by(plan.dyn) | {
            "method": plan.method,
            "dt": task.dt,
            "every": task.every,
            "dtype": task.kind.name,
        }
        if plan.law is not None:
            about["law"] = plan.law.name
        t = task.start + task.dt * task.every * np.arange(self.rows)
        return Records(t, blocks, names, record_units(system), about, cost, dynamics=plan.dyn)


def march_on(
    march: Scan,
    carried: Sequence[np.ndarray],
    held: Sequence[np.ndarray],
    driven: Mapping[str, np.ndarray],
    out: Sequence[np.ndarray],
    every: int,
    threads: int | None = None,
    told: Callable[[int], None] = lambda rows: None,
) -> None:
    """Fill `out`, (members, rows, ...) each in the order of the march's results; `told` is called with rows done.

    Carried and held arrays have an axis of members, driven ones one of members and one of steps.
    """
    members, rows = out[0].shape[:2]
    done, size = 0, max(1, FIRST // (max(1, members) * every))
    state = list(carried)
    while done < rows:
        upto = min(rows, done + size)
        steps = slice(done * every, upto * every)
        begun = time.perf_counter()
        with np.errstate(all="ignore"):  # members that blow up are told of in the records
            march(
                *state,
                *held,
                *(array[:, steps] for array in driven.values()),
                every=every,
                threads=threads,
                out=tuple(array[:, done:upto] for array in out),
            )
        taken = max(time.perf_counter() - begun, 1e-6)
        state = [array[:, upto - 1] for array, _ in zip(out, carried, strict=False)]
        size = max(1, min(8 * (upto - done), int((upto - done) * CALL / taken)))
        done = upto
        told(done)
