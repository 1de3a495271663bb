"""Functions in JAX and PyTorch compared with their ufunc, in one run on one core: python benchmarks/exports.py [turns].

Before anything is timed, results must agree with the ufunc to 1e-13, and forward and backward derivatives with the
compiled Jacobians to 1e-11, relative to the largest entry. A batch is 10,000 samples. JAX and PyTorch use their own
arrays and allocate new results; the ufunc is timed with `out=` and with new results. The C library keeps freed memory
(`mallopt`); otherwise the figures would include the allocation of pages by the system and vary between runs. Times are
processor time per sample of the fastest call. The rollouts are 100 steps of the PUMA by the semi-implicit Euler method;
the gradient is that of a cost with respect to all torques.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import jax
import numpy as np
import torch

import appell as ap
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.subject import find

BATCH, STEPS, DT = 10_000, 100, 1e-3  # samples, steps of a rollout, s
VALUE_TOLERANCE, DERIVATIVE_TOLERANCE = 1e-13, 1e-11  # relative
ROBOTS = ("puma", "panda", "agile-wrist", "talos")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def relative(computed, expected) -> float:
    computed, expected = np.asarray(computed), np.asarray(expected)
    assert computed.shape == expected.shape
    return float(abs(computed - expected).max() / abs(expected).max())


def states(dyn: ap.Dynamics, function: Function, count: int, rng) -> list[np.ndarray]:
    arguments = [rng.uniform(-0.7, 0.7, (count, *array.shape)) for array in function.inputs]
    if not dyn.system.is_flat:
        few = np.array([dyn.system.random_configuration(rng) for _ in range(100)])
        arguments[0] = np.resize(few, (count, few.shape[1]))
    return arguments


def derivative_errors(function: Function, point: list[np.ndarray], rng) -> dict[str, float]:
    """Return the errors of JAX (forward and backward) and PyTorch (backward) relative to compiled Jacobians."""
    names = [array.name for array in function.inputs]
    jacobians = function.jacobian(*names)(*point)
    jacobians = jacobians if isinstance(jacobians, tuple) else (jacobians,)
    tangents = [np.eye(x.size) for x in point]
    for name, tape in function.tangents.items():
        if name in names:
            [tangents[names.index(name)]] = evaluate(tape, point[names.index(name)])
    steps = [rng.normal(size=matrix.shape[1]) for matrix in tangents]
    weights = rng.normal(size=function.outputs[0].shape)
    ahead = sum(jacobian @ d for jacobian, d in zip(jacobians, steps, strict=True))
    back = [np.tensordot(weights, jacobian, weights.ndim) for jacobian in jacobians]

    exported, directions = function.to_jax(), [matrix @ d for matrix, d in zip(tangents, steps, strict=True)]
    by_jax = jax.vjp(exported, *point)[1](weights)
    tensors = [torch.from_numpy(x.copy()).requires_grad_() for x in point]
    by_torch = torch.autograd.grad(function.to_torch()(*tensors), tensors, torch.from_numpy(weights))
    return {
        "jax_forward": relative(jax.jvp(exported, point, directions)[1], ahead),
        "jax_backward": max(relative(x @ m, y) for x, m, y in zip(by_jax, tangents, back, strict=True)),
        "torch_backward": max(relative(x.numpy() @ m, y) for x, m, y in zip(by_torch, tangents, back, strict=True)),
    }


def minima(calls: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Return the processor time in s of the fastest call of each; calls alternate in groups of six."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(turns):
        for name, call in calls.items():
            for _ in range(6):
                start = process_time()
                call()
                best[name] = min(best[name], process_time() - start)
    return best


def times(function: Function, arguments: list[np.ndarray], turns: int) -> dict[str, float]:
    """Return the time per sample in ns: ufunc with `out=` and with new results, JAX and PyTorch."""
    out, in_jax, in_torch = function(*arguments), function.to_jax(), function.to_torch()
    arrays, tensors = [jax.numpy.asarray(x) for x in arguments], [torch.from_numpy(x) for x in arguments]
    calls = {
        "ufunc": lambda: function(*arguments, out=out),
        "ufunc_new": lambda: function(*arguments),
        "jax": lambda: jax.block_until_ready(in_jax(*arrays)),
        "torch": lambda: in_torch(*tensors),
    }
    return {name: seconds / len(arguments[0]) * 1e9 for name, seconds in minima(calls, turns).items()}


def case(robot: str, name: str, dyn: ap.Dynamics, function: Function, turns: int, derive: bool) -> dict[str, object]:
    rng = np.random.default_rng(1)
    arguments = states(dyn, function, BATCH, rng)
    few = [x[:50] for x in arguments]
    expected = function(*few)
    expected = expected if isinstance(expected, tuple) else (expected,)
    row: dict[str, object] = {"robot": robot, "function": name}
    errors = {}
    for language, given in (("jax", few), ("torch", [torch.from_numpy(x) for x in few])):
        results = getattr(function, f"to_{language}")()(*given)
        results = results if isinstance(results, tuple) else (results,)
        errors[f"{language}_values"] = max(map(relative, results, expected))
    assert max(errors.values()) <= VALUE_TOLERANCE, errors
    if derive:
        errors |= (derived := derivative_errors(function, [x[0] for x in arguments], rng))
        assert max(derived.values()) <= DERIVATIVE_TOLERANCE, derived
    taken = times(function, arguments, turns)
    row |= {"errors": errors, "nanoseconds": taken}
    row |= {"jax_to_ufunc": taken["jax"] / taken["ufunc"], "torch_to_ufunc": taken["torch"] / taken["ufunc"]}
    fresh, worst = taken["ufunc_new"] / taken["ufunc"], max(errors.values())
    print(
        f"{robot:12} {name:18} ufunc {taken['ufunc']:8.1f} ns   new results x{fresh:.2f}"
        f"   JAX x{row['jax_to_ufunc']:.2f}   PyTorch x{row['torch_to_ufunc']:.2f}   errors {worst:.0e}",
        flush=True,
    )
    return row


def rollouts() -> dict[str, float]:
    """Return the time per step and robot in ns of 10,000 rollouts: costs, and gradients with respect to all torques."""
    dyn, rng = ap.Dynamics(ap.load("puma")), np.random.default_rng(2)
    q, v = rng.normal(scale=0.2, size=(2, BATCH, 6))
    u = rng.normal(scale=5.0, size=(BATCH, STEPS, 6))
    forward_jax, forward_torch = dyn.forward_dynamics.to_jax(), dyn.forward_dynamics.to_torch()

    def cost(u, q, v):
        def step(state, u):
            q, v = state
            v = v + DT * forward_jax(q, v, u)
            return (q + DT * v, v), None

        (q, v), _ = jax.lax.scan(step, (q, v), u)
        return (q**2).sum() + (v**2).sum()

    tq, tv, tu = (torch.from_numpy(x) for x in (q, v, u))

    def by_torch(backward: bool):
        torques = tu.clone().requires_grad_(backward)
        q, v = tq, tv
        for torque in torques.unbind(1):
            v = v + DT * forward_torch(q, v, torque)
            q = q + DT * v
        costs = (q**2).sum(-1) + (v**2).sum(-1)
        if backward:
            costs.sum().backward()
        return costs.detach(), torques.grad

    costs, gradients = (jax.jit(jax.vmap(f)) for f in (cost, jax.value_and_grad(cost)))
    ready = jax.block_until_ready
    values, jax_gradients = ready(gradients(u, q, v))
    torch_values, torch_gradients = by_torch(True)
    assert relative(torch_values, values) <= VALUE_TOLERANCE
    assert relative(torch_gradients, jax_gradients) <= DERIVATIVE_TOLERANCE
    start = perf_counter()
    ready(jax.jit(jax.grad(lambda u: cost(u, q[0], v[0])))(u[0]))
    first = perf_counter() - start
    x = [jax.numpy.asarray(x) for x in (u, q, v)]
    calls = {
        "jax_costs": lambda: ready(costs(*x)),
        "jax_gradients": lambda: ready(gradients(*x)),
        "torch_costs": lambda: by_torch(False),
        "torch_gradients": lambda: by_torch(True),
    }
    figures = {name: seconds / BATCH / STEPS * 1e9 for name, seconds in minima(calls, 1).items()}
    for name, figure in figures.items():
        print(f"rollouts     {name:18} {figure:8.1f} ns per step and robot")
    return {**figures, "jax_first_gradient_seconds": first}


def keep_memory() -> None:
    """Make the allocator of the C library keep freed memory, if it supports that."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-4, 0)  # M_MMAP_MAX
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def main() -> None:
    keep_memory()
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    cases = []
    with one_core():
        for robot in ROBOTS:
            dyn = ap.Dynamics(find("talos").robot if robot == "talos" else ap.load(robot))
            for name in FUNCTIONS:
                cases.append(case(robot, name, dyn, getattr(dyn, name), turns, True))
            derivatives = dyn.inverse_dynamics.jacobian("q", "v")
            cases.append(case(robot, "inverse_dynamics_dq_dv", dyn, derivatives, turns, False))
        rolled = rollouts()
    known = versions() | {"jax": jax.__version__, "torch": torch.__version__}
    result = {"machine": machine(), "versions": known, "batch": BATCH, "cases": cases, "rollouts": rolled}
    path = Path(__file__).parent / "results" / "exports.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
