"""Derivatives of a rollout: the gradient of its cost backwards, and the change of its end along directions forwards.

The gradient by all inputs is computed by a kernel of its own, which takes the steps backwards (reverse mode):

    x⁺ = s(x, u)          J = Σ dt c(x, u) + c_N(x_N)                                                            (1)
    λ = ∂(λ⁺·s + dt c)/∂x          ∂J/∂u = ∂(λ⁺·s + dt c)/∂u          λ_N = ∂c_N/∂x_N                            (2)

All states are kept on the way there; on the way back (2) is a step again, the pullback of s, which carries λ and is
driven by states and inputs in reverse order. It costs a few steps per step, however many inputs there are. Quaternions
are differentiated as four numbers inside, and ∂J/∂q₀ is along velocities, as all derivatives here are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.function import Function
from appell.compile.scan import Scan
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.simulation.rollouts.task import common, over_time, per_member

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout
    from appell.simulation.rollouts.task import RolloutTask


@dataclass(frozen=True)
class CostGradient:
    """The cost of every member, (members,), and its derivatives by its inputs, an axis of members first.

    `torque` is (members, steps, nu) whatever the torques were; `q0` is along velocities.
    """

    cost: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    torque: np.ndarray
    parameters: np.ndarray | None


def adjoint_march(plan: Rollout) -> Scan:
    """(2), from the last step to the first."""
    step, formula = plan.march.step, plan.formula
    state = {name: size for name, size in formula.carried.items() if name != "cost"}
    adjoints = {f"by_{name}": size for name, size in state.items()}
    free = {"parameters": formula.held["parameters"]} if "parameters" in formula.held else {}
    driven = state | formula.driven
    inputs = {array.name: array.shape for array in step.inputs if array.name != "cost"}

    def total(*scalars):
        known = dict(zip([*inputs, *adjoints], scalars, strict=True)) | {"cost": 0.0}
        results = inline(step.tape, *(known[array.name] for array in step.inputs))
        found = dict(zip((array.name for array in step.outputs), results, strict=True))
        weighted = (x * y for name in state for x, y in zip(known[f"by_{name}"], found[name], strict=True))
        return {"J": sum(weighted, start=found.get("cost", 0.0))}

    wrt = [*state, "torque", *free]
    pulled = Function.of("rollout_adjoint", inputs | adjoints, total, owner=step.owner).jacobian(*wrt).tape
    carried = adjoints | {f"by_{name}": size for name, size in free.items()}
    names = [*carried, *formula.held, *driven]

    def body(*scalars):
        known = dict(zip(names, scalars, strict=True))
        slopes = inline(pulled, *(known[array.name] for array in pulled.inputs))
        found = {f"by_{name}": slope for name, slope in zip(wrt, slopes, strict=True)}
        for name in free:
            grown = zip(known[f"by_{name}"], found[f"by_{name}"], strict=True)
            found[f"by_{name}"] = [so_far + share for so_far, share in grown]
        return found

    doc = "A step of a rollout, backwards."
    return Scan.of("rollout_adjoint", carried, formula.held, driven, body, owner=step.owner, doc=doc)


def gradient_of(plan: Rollout, task: RolloutTask, threads: int | None) -> CostGradient:
    """(2) over a task."""
    if not plan.costs:
        raise ArgumentError("the rollout has no cost, and so no gradient.", expected="cost=, final_cost=, or both")
    step = plan.march.step
    with np.errstate(all="ignore"):
        results = plan.march(
            *task.carried.values(), *task.held.values(), *task.driven.values(), every=1, threads=threads
        )
    after = {array.name: result for array, result in zip(step.outputs, results, strict=True)}
    end_q, end_v = after["q"][:, -1], after["v"][:, -1]
    cost = after["cost"][:, -1] if "cost" in after else np.zeros(len(end_q))
    adjoints = {array.name: np.zeros((1, *array.shape)) for array in plan.adjoint.horizon.carried}
    if plan.final_cost is not None:
        cost = cost + plan.last_cost(end_q, end_v)
        adjoints["by_q"], adjoints["by_v"] = plan.last_cost.jacobian("q", "v")(end_q, end_v)
    states = {}
    for name in plan.formula.carried:
        if name != "cost":
            begun = np.broadcast_to(task.carried[name][:, None], after[name][:, :1].shape)
            states[name] = np.concatenate([begun, after[name][:, :-1]], axis=1)
    driven = [array[:, ::-1] for array in (states | task.driven).values()]
    with np.errstate(all="ignore"):
        found = plan.adjoint(*adjoints.values(), *task.held.values(), *driven, every=1, threads=threads)
    slopes = {array.name: result for array, result in zip(plan.adjoint.outputs, found, strict=True)}
    first = {name: slope[:, -1] for name, slope in slopes.items() if name != "by_torque"}
    q0 = np.einsum("...ij,...i->...j", tangent(plan.dyn, task.carried["q"]), first["by_q"])
    return CostGradient(cost, q0, first["by_v"], slopes["by_torque"][:, ::-1], first.get("by_parameters"))


@dataclass(frozen=True)
class Change:
    """Of every member: the last state and the cost, and how they change. dq is the change of the coordinates."""

    q: np.ndarray
    v: np.ndarray
    cost: np.ndarray | None
    dq: np.ndarray
    dv: np.ndarray
    dcost: np.ndarray | None


def dual_march(plan: Rollout) -> Scan:
    """The kernel of a step and of its change along directions of all inputs (forward mode).

        x⁺ = s(x, u)          δx⁺ = ∂s/∂x δx + ∂s/∂u δu                                                              (1)

    x is all that a step carries, the cost included, and u what it is given. Values and changes are carried side by
    side, so a thousand steps cost as much as a thousand steps of both, and nothing is stored. A direction is one of all
    inputs at once; many directions are many members. For the gradient by many inputs see `adjoint_march`.
    """
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

    return Scan.of("rollout_change", *parts, body, owner=step.owner, doc="A step of a rollout and its change.")


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
