"""How the end of a rollout changes along directions of its inputs: forward mode, in one kernel.

    x⁺ = s(x, u)          δx⁺ = ∂s/∂x δx + ∂s/∂u δu                                                              (1)

x is all that a step carries, the cost included, and u what it is given. Values and changes are carried side by side, so
a thousand steps cost as much as a thousand steps of both, and nothing is stored. A direction is one of all inputs at
once; many directions are many members. For the gradient by many inputs see `gradients`, which goes backwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.function import Function
from appell.compile.marching.march import March
from appell.compile.splice import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.simulation.rollouts.arguments import common, over_time, per_member

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout
    from appell.simulation.rollouts.task import RolloutTask


@dataclass(frozen=True)
class Change:
    """Of every member: the last state and the cost, and how they change. dq is the change of the coordinates."""

    q: np.ndarray
    v: np.ndarray
    cost: np.ndarray | None
    dq: np.ndarray
    dv: np.ndarray
    dcost: np.ndarray | None


def dual_march(plan: Rollout) -> March:
    """(1) beside the step itself."""
    step, formula = plan.march.step, plan.formula
    carried, held, driven = formula.carried, formula.held, formula.driven
    moved = [*carried, *(name for name in ("parameters", "torque") if name in {**held, **driven})]
    change = step.directional(*moved).tape
    ways = [{f"d{name}": size for name, size in part.items() if name in moved} for part in (carried, held, driven)]
    parts = carried | ways[0], held | ways[1], driven | ways[2]
    names = [name for part in parts for name in part]

    def body(*inputs):
        known = dict(zip(names, inputs, strict=True))
        given = [known[array.name] for array in step.inputs]
        values = zip(step.outputs, inline(step.tape, *given), strict=True)
        changes = zip(change.outputs, inline(change, *given, *(known[f"d{name}"] for name in moved)), strict=True)
        found = {array.name: value for array, value in (*values, *changes)}
        return {name: found[name] for name in parts[0]}

    return March.of("rollout_change", *parts, body, owner=step.owner, doc="A step of a rollout and its change.")


def change_of(plan: Rollout, task: RolloutTask, along: Mapping[str, Any], threads: int | None) -> Change:
    """The end of a task, and its change along these directions."""
    system, formula, owner = plan.dyn.system, plan.formula, plan.dyn.system.owner
    known = ("q0", "v0", "torque", *(("parameters",) if "parameters" in formula.held else ()))
    for name in along:
        if name not in known:
            raise ArgumentError(unknown_name("direction", str(name), known, "a change of a rollout"))
    N = tangent(plan.dyn, task.carried["q"])
    directions = {
        "q": per_member("the direction of q0", along.get("q0", np.zeros(N.shape[-1])), N.shape[-1], owner),
        "v": per_member("the direction of v0", along.get("v0", np.zeros(system.nv)), system.nv, owner),
        "torque": over_time("the direction of torque", along.get("torque"), system.actuator_names, task.steps, owner),
    }
    directions["q"] = np.einsum("...ij,...j->...i", N, directions["q"])
    if "parameters" in formula.held:
        size = formula.held["parameters"]
        directions["parameters"] = per_member(
            "the direction of parameters", along.get("parameters", np.zeros(size)), size, owner
        )
    members = common(task.arrays | {f"the direction of {name}": array for name, array in directions.items()})
    directions["torque"] = np.broadcast_to(directions["torque"], (len(directions["torque"]), task.steps, system.nu))
    still = {name: np.zeros_like(array) for name, array in task.carried.items()}
    carried = task.carried | {f"d{name}": directions.get(name, array) for name, array in still.items()}
    held = task.held | {f"d{name}": directions[name] for name in task.held if name in directions}
    driven = task.driven | {f"d{name}": directions[name] for name in task.driven if name in directions}
    with np.errstate(all="ignore"):
        results = plan.dual(*carried.values(), *held.values(), *driven.values(), every=task.steps, threads=threads)
    end = {array.name: result[:, 0] for array, result in zip(plan.dual.outputs, results, strict=True)}
    end = {name: np.broadcast_to(array, (members, *array.shape[1:])) for name, array in end.items()}
    cost, dcost = (end.get(name, np.zeros(members)) for name in ("cost", "dcost"))
    if plan.final_cost is not None:
        state = end["q"], end["v"]
        cost = cost + plan.last_cost(*state)
        dcost = dcost + plan.last_cost.directional("q", "v")(*state, end["dq"], end["dv"])
    sums = (cost, dcost) if plan.costs else (None, None)
    return Change(end["q"], end["v"], sums[0], end["dq"], end["dv"], sums[1])


def tangent(dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """dq of unit velocities at configurations, (members, nq, directions)."""
    if dyn.system.is_flat:
        return np.broadcast_to(np.eye(dyn.system.nq), (len(q), dyn.system.nq, dyn.system.nq))
    return Function(dyn.tangents["q"], owner=dyn.system.owner)(q)
