"""Derivatives of a rollout: the gradient of its cost (reverse mode), and the change of its end along directions.

A separate kernel computes the gradient with respect to all inputs by taking the steps backwards (reverse mode):

    x⁺ = s(x, u)          J = Σ dt c(x, u) + c_N(x_N)                                                            (1)
    λ = ∂(λ⁺·s + dt c)/∂x          ∂J/∂u = ∂(λ⁺·s + dt c)/∂u          λ_N = ∂c_N/∂x_N                            (2)

All states of the forward pass are stored. The backward pass (2) is again a scan of a step, the pullback of s, which
carries λ and is driven by states and inputs in reverse order. Its cost is that of a few steps per step, independent of
the number of inputs. Internally quaternions are differentiated as four numbers; ∂J/∂q₀ is taken along velocities, like
all derivatives in appell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.function import Function
from appell.compile.program.program import Program
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.scan import Scan
from appell.compile.tape.differentiate import MAX_FORWARD_COLUMNS
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.simulation.rollouts.task import flat_per_member, member_count, over_time, per_member

if TYPE_CHECKING:
    from appell.simulation.rollouts.formula import StepFormula
    from appell.simulation.rollouts.plan import Rollout
    from appell.simulation.rollouts.task import RolloutTask


MAX_STORED_NUMBERS = 4_000_000  # of the adjoints that one call of the kernel stores


@dataclass(frozen=True)
class CostGradient:
    """Costs of a rollout and their derivatives."""

    cost: np.ndarray  # (members,)
    q0: np.ndarray  # (members, nv): derivatives along velocities
    v0: np.ndarray  # (members, nv)
    torque: np.ndarray  # (members, steps, nu), for torques of any shape
    parameters: np.ndarray | None  # (members, 10 per free body)
    arguments: dict[str, np.ndarray]  # of law and costs: (members, *shape)


def adjoint_scan(plan: Rollout) -> Scan:
    """Return the kernel of (2), from the last step to the first."""
    step, formula = plan.scan.step, plan.formula
    state = {name: size for name, size in formula.carried.items() if name != "cost"}
    adjoints = {f"by_{name}": size for name, size in state.items()}
    free = {name: size for name, size in formula.held.items() if name != "dt"}
    driven = state | formula.driven
    inputs = {array.name: array.shape for array in step.inputs if array.name != "cost"}

    carried = adjoints | {f"by_{name}": size for name, size in free.items()}
    if (
        sum(free.values()) > MAX_FORWARD_COLUMNS
        and (looped := _looped_adjoint(step, carried, formula, driven)) is not None
    ):
        return looped

    def total(*scalars):
        values = dict(zip([*inputs, *adjoints], scalars, strict=True)) | {"cost": 0.0}
        outputs = inline(step.tape, *(values[array.name] for array in step.inputs))
        results = dict(zip((array.name for array in step.outputs), outputs, strict=True))
        weighted = (x * y for name in state for x, y in zip(values[f"by_{name}"], results[name], strict=True))
        return {"J": sum(weighted, start=results.get("cost", 0.0))}

    wrt = [*state, "torque", *free]
    pullback = Function.of("rollout_adjoint", inputs | adjoints, total, owner=step.owner).jacobian(*wrt).tape
    names = [*carried, *formula.held, *driven]

    def body(*scalars):
        values = dict(zip(names, scalars, strict=True))
        slopes = inline(pullback, *(values[array.name] for array in pullback.inputs))
        results = {f"by_{name}": slope for name, slope in zip(wrt, slopes, strict=True)}
        for name in free:
            terms = zip(values[f"by_{name}"], results[f"by_{name}"], strict=True)
            results[f"by_{name}"] = [so_far + share for so_far, share in terms]
        return results

    doc = "A step of a rollout, backwards."
    return Scan.of("rollout_adjoint", carried, formula.held, driven, body, owner=step.owner, doc=doc)


def _looped_adjoint(
    step: Function, carried: Mapping[str, Any], formula: StepFormula, driven: Mapping[str, Any]
) -> Scan | None:
    """Return the kernel of (2) with the loops of the step, for thousands of weights; None if it has to be unrolled."""
    if not isinstance(step.formula, Program):
        return None
    names, of_step = [*carried, *formula.held, *driven], {array.name: array for array in step.inputs}
    inputs = [replace(of_step[name.removeprefix("by_")], name=name) for name in names]
    weights = {name: f"by_{name}" for name in formula.carried if name != "cost"} | {"cost": 1.0}
    gradients = [Gradient(name, name[3:], name if name[3:] in formula.held else "") for name in carried]
    gradients.append(Gradient("by_torque", "torque"))
    try:
        program = reverse(step.formula, "rollout_adjoint", inputs, weights, gradients)
    except NotReversibleError:
        return None
    doc = "A step of a rollout, backwards."
    return Scan(Function(program, doc, step.owner), len(carried), len(formula.held))


def gradient_of(plan: Rollout, task: RolloutTask, threads: int | None) -> CostGradient:
    """Return the costs of a task and their gradient by (2)."""
    if not plan.has_cost:
        raise ArgumentError("the rollout has no cost to differentiate.", expected="cost=, final_cost=, or both")
    step = plan.scan.step
    with np.errstate(all="ignore"):
        results = plan.scan(
            *task.carried.values(), *task.held.values(), *task.driven.values(), every=1, threads=threads
        )
    after = {array.name: result for array, result in zip(step.outputs, results, strict=True)}
    end_q, end_v = after["q"][:, -1], after["v"][:, -1]
    cost = after["cost"][:, -1] if "cost" in after else np.zeros(len(end_q))
    adjoints = {array.name: np.zeros((1, *array.shape)) for array in plan.adjoint.arguments.carried}
    if plan.final_cost is not None:
        end, names = (end_q, end_v, *plan.final_arguments(task)), [array.name for array in plan.last_cost.inputs]
        cost = cost + plan.last_cost(*end)
        for name, slope in zip(names, _as_tuple(_entrywise(plan.last_cost).jacobian(*names)(*end)), strict=True):
            adjoints[f"by_{name}"] = slope.reshape(len(slope), -1)
    states = {}
    for name in plan.formula.carried:
        if name != "cost":
            first_state = np.broadcast_to(task.carried[name][:, None], after[name][:, :1].shape)
            states[name] = np.concatenate([first_state, after[name][:, :-1]], axis=1)
    driven = [array[:, ::-1] for array in (states | task.driven).values()]
    first, torque = _run_backwards(plan.adjoint, adjoints, task, driven, threads)
    q0 = np.einsum("...ij,...i->...j", tangent(plan.dyn, task.carried["q"]), first["by_q"])
    arguments = {name: first[f"by_{name}"].reshape(-1, *shape) for name, shape in plan.arguments.items()}
    return CostGradient(cost, q0, first["by_v"], torque[:, ::-1], first.get("by_parameters"), arguments)


def _run_backwards(
    adjoint: Scan, carried: dict[str, np.ndarray], task: RolloutTask, driven: list[np.ndarray], threads: int | None
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the adjoints at the first step, by name, and those of the torques, from the last step to the first.

    A scan stores all adjoints after each step, so that gradients with respect to thousands of weights are computed in
    several calls.
    """
    size = task.members * sum(array.size for array in adjoint.arguments.carried)
    rows, torques = max(1, MAX_STORED_NUMBERS // size), []
    for start in range(0, task.steps, rows):
        parts = [array[:, start : start + rows] for array in driven]
        with np.errstate(all="ignore"):
            results = adjoint(*carried.values(), *task.held.values(), *parts, every=1, threads=threads)
        carried = {name: result[:, -1] for name, result in zip(carried, results, strict=False)}
        torques.append(results[-1])
    return carried, np.concatenate(torques, axis=1)


def _entrywise(function: Function) -> Function:
    """Return a function whose derivatives are taken with respect to the entries of quaternions."""
    return function.memo(("entrywise",), lambda: Function(function.formula, owner=function.owner))


def _as_tuple(results: Any) -> tuple:
    return results if isinstance(results, tuple) else (results,)


@dataclass(frozen=True)
class Change:
    """Final state and cost of every member, and their changes; dq is the change of the coordinates."""

    q: np.ndarray  # (members, nq)
    v: np.ndarray  # (members, nv)
    cost: np.ndarray | None  # (members,)
    dq: np.ndarray  # (members, nq)
    dv: np.ndarray  # (members, nv)
    dcost: np.ndarray | None  # (members,)


def tangent_scan(plan: Rollout) -> Scan:
    """Return the kernel of a step and of its change along directions of all inputs (forward mode).

        x⁺ = s(x, u)          δx⁺ = ∂s/∂x δx + ∂s/∂u δu                                                              (1)

    x is everything that a step carries, the cost included, and u its other inputs. Values and changes are carried side
    by side; nothing is stored. A direction comprises all inputs at once; several directions are several members. For
    the gradient with respect to many inputs see `adjoint_scan`.
    """
    step, formula = plan.scan.step, plan.formula
    carried, held, driven = formula.carried, formula.held, formula.driven
    varied = [*carried, *(name for name in held if name != "dt"), "torque"]
    change = step.directional(*varied).tape
    tangents = [{f"d{name}": size for name, size in part.items() if name in varied} for part in (carried, held, driven)]
    parts = carried | tangents[0], held | tangents[1], driven | tangents[2]
    names = [name for part in parts for name in part]

    def body(*scalars):
        inputs = dict(zip(names, scalars, strict=True))
        given = [inputs[array.name] for array in step.inputs]
        values = zip(step.outputs, inline(step.tape, *given), strict=True)
        changes = zip(change.outputs, inline(change, *given, *(inputs[f"d{name}"] for name in varied)), strict=True)
        results = {array.name: value for array, value in (*values, *changes)}
        return {name: results[name] for name in parts[0]}

    return Scan.of("rollout_change", *parts, body, owner=step.owner, doc="A step of a rollout and its change.")


def change_of(plan: Rollout, task: RolloutTask, along: Mapping[str, Any], threads: int | None) -> Change:
    """Return the end of a task, and its change along these directions."""
    system, formula, owner = plan.dyn.system, plan.formula, plan.dyn.system.owner
    allowed = ("q0", "v0", "torque", *(name for name in formula.held if name != "dt"))
    for name in along:
        if name not in allowed:
            raise ArgumentError(unknown_name("direction", str(name), allowed, "a change of a rollout"))
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
    for name, shape in plan.arguments.items():
        directions[name] = flat_per_member(f"the direction of {name}", along.get(name, np.zeros(shape)), shape)
    members = member_count(task.arrays | {f"the direction of {name}": array for name, array in directions.items()})
    directions["torque"] = np.broadcast_to(directions["torque"], (len(directions["torque"]), task.steps, system.nu))
    zeros = {name: np.zeros_like(array) for name, array in task.carried.items()}
    carried = task.carried | {f"d{name}": directions.get(name, array) for name, array in zeros.items()}
    held = task.held | {f"d{name}": directions[name] for name in task.held if name in directions}
    driven = task.driven | {f"d{name}": directions[name] for name in task.driven if name in directions}
    with np.errstate(all="ignore"):
        results = plan.tangent(*carried.values(), *held.values(), *driven.values(), every=task.steps, threads=threads)
    end = {array.name: result[:, 0] for array, result in zip(plan.tangent.outputs, results, strict=True)}
    end = {name: np.broadcast_to(array, (members, *array.shape[1:])) for name, array in end.items()}
    cost, dcost = (end.get(name, np.zeros(members)) for name in ("cost", "dcost"))
    if plan.final_cost is not None:
        state, names = (end["q"], end["v"], *plan.final_arguments(task)), [each.name for each in plan.last_cost.inputs]
        shapes = {each.name: each.shape for each in plan.last_cost.inputs[2:]}
        changes = [end["dq"], end["dv"], *(directions[name].reshape(-1, *shape) for name, shape in shapes.items())]
        cost = cost + plan.last_cost(*state)
        dcost = dcost + _entrywise(plan.last_cost).directional(*names)(*state, *changes)
    sums = (cost, dcost) if plan.has_cost else (None, None)
    return Change(end["q"], end["v"], sums[0], end["dq"], end["dv"], sums[1])


def tangent(dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """Return dq of unit velocities at configurations, (members, nq, directions)."""
    if dyn.system.is_flat:
        return np.broadcast_to(np.eye(dyn.system.nq), (len(q), dyn.system.nq, dyn.system.nq))
    return Function(dyn.tangents["q"], owner=dyn.system.owner)(q)
