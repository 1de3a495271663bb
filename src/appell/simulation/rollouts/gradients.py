"""The gradient of a rollout's cost by all of its inputs: reverse mode, steps taken backwards by a kernel of their own.

    x⁺ = s(x, u)          J = Σ dt c(x, u) + c_N(x_N)                                                            (1)
    λ = ∂(λ⁺·s + dt c)/∂x          ∂J/∂u = ∂(λ⁺·s + dt c)/∂u          λ_N = ∂c_N/∂x_N                            (2)

All states are kept on the way there; on the way back (2) is a step again, the pullback of s, which carries λ and is
driven by states and inputs in reverse order. It costs a few steps a step, however many inputs there are. Quaternions
are differentiated as four numbers inside, and ∂J/∂q₀ is along velocities, as all derivatives of this house are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.compile.function import Function
from appell.compile.marching.march import March
from appell.compile.splice import inline
from appell.errors import ArgumentError
from appell.simulation.rollouts.changes import tangent

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


def adjoint_march(plan: Rollout) -> March:
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
    return March.of("rollout_adjoint", carried, formula.held, driven, body, owner=step.owner, doc=doc)


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
