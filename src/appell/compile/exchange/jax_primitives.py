"""Calls of functions and scans as primitives of JAX, with their rules.

    call(x₁, …, xₙ; of)                    all xₖ have batch axes of one length or 1, then their core axes
    scan(x₀, …, p, …, u, …; of)            driven arrays have an axis of steps after the batch axes, and so have results

    batches      one more axis in front, of length 1 where an argument has none: nothing is copied
    forward      `of.along(...)`: the change of the results, linear in the directions
    backward     `of.transposed(...)`: a call that is linear in some arguments, transposed
    lowering     to the compiled kernel on the CPU, to JAX's own operations on any other device

The rules are closed: derivatives of any order, in any mix of forward and backward mode, are calls again. The forward
derivative of a scan uses the states of the original scan; the backward derivative is the transposed linear scan, from
the last step to the first, whose kernel reads its rows from the end, so nothing is reversed in memory. The kernel of a
call is compiled when XLA compiles the call, for its number format.

In JAX's own operations, every scalar of the tape is an array of samples. As in a kernel, an argument that is not finite
makes all results of its sample NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from appell.compile.exchange.differentiable import DifferentiableFunction, DifferentiableScan
from appell.compile.exchange.replay import Table, functions, replay
from appell.compile.exchange.xla import function_target, scan_target
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

Shape = tuple[int, ...]
Shapes = tuple[list[Shape], list[Shape]]  # core shapes of the arguments and of the results


def _primitive(
    name: str,
    shapes: Callable[[Any, Sequence[Any]], Shapes],
    jvp: Callable[..., Any],
    transposed: Callable[..., Any],
    by_operations: Callable[..., list[Any]],
    target: Callable[[Any, Any, Sequence[Any]], str],
) -> Primitive:
    """Return a primitive with parameters `of` and `native` whose arguments have batch axes of one length or 1.

    Parameters
    ----------
    name : name of the primitive
    shapes : core shapes of arguments and results
    jvp : forward derivative
    transposed : backward derivative
    by_operations : evaluation with JAX's own operations
    target : name of the kernel in XLA
    """
    primitive = Primitive(name)
    primitive.multiple_results = True

    def split(of: Any, arguments: Sequence[Any]) -> tuple[list[Shape], list[Shape], list[Shape], Shape]:
        """Return core shapes of arguments and results, the batch of each argument, and the common batch."""
        cores, results = shapes(of, arguments)
        batches = [x.shape[: len(x.shape) - len(core)] for x, core in zip(arguments, cores, strict=True)]
        return cores, results, batches, np.broadcast_shapes(*batches)

    @partial(jax.jit, static_argnames=("of", "native"))
    def evaluated(*arguments: Any, of: Any, native: bool) -> list[Any]:
        return primitive.bind(*arguments, of=of, native=native)

    def shaped(*arguments: Any, of: Any, native: bool) -> list[Any]:
        _, results, _, batch = split(of, arguments)
        return [jax.core.ShapedArray((*batch, *shape), arguments[0].dtype) for shape in results]

    def batched(arguments: Sequence[Any], axes: Sequence[Any], *, of: Any, native: bool) -> tuple[Any, Any]:
        widened = [
            jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
            for x, axis in zip(arguments, axes, strict=True)
        ]
        return primitive.bind(*widened, of=of, native=native), [0] * len(of.outputs)

    def by_kernel(*arguments: Any, of: Any, native: bool) -> list[Any]:
        if not native:
            return by_operations(*arguments, of=of, native=native)
        cores, results, batches, batch = split(of, arguments)
        cut, kind = best_cut(batch, batches), arguments[0].dtype
        buffers = [folded(x, core, batch, cut) for x, core in zip(arguments, cores, strict=True)]
        outer, inner = math.prod(batch[:cut]), math.prod(batch[cut:])
        shapes_out = [jax.ShapeDtypeStruct((outer, inner, *shape), kind) for shape in results]
        returned = jax.ffi.ffi_call(target(of, kind, arguments), shapes_out)(*buffers)
        return [x.reshape(*batch, *shape) for x, shape in zip(returned, results, strict=True)]

    primitive.def_impl(evaluated)
    primitive.def_abstract_eval(shaped)
    batching.primitive_batchers[primitive] = batched
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transposed
    mlir.register_lowering(primitive, mlir.lower_fun(by_operations, multiple_results=True))
    mlir.register_lowering(primitive, mlir.lower_fun(by_kernel, multiple_results=True), platform="cpu")
    return primitive


# ---- functions


def call(of: DifferentiableFunction, native: bool, *arguments: Any) -> list[Any]:
    """Return the results of a function on arrays of one type, whose batch axes are of one length or 1."""
    return _CALL.bind(*arguments, of=of, native=native)


def _call_shapes(of: DifferentiableFunction, arguments: Sequence[Any]) -> Shapes:
    return [array.shape for array in of.inputs], [array.shape for array in of.outputs]


def _call_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, of: DifferentiableFunction, native: bool) -> Any:
    results = call(of, native, *primals)
    wrt = [k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    return results, call(of.along(wrt), native, *primals, *(tangents[k] for k in wrt))


def _call_transposed(weights: Sequence[Any], *arguments: Any, of: DifferentiableFunction, native: bool) -> list[Any]:
    removed = [k for k, x in enumerate(arguments) if ad.is_undefined_primal(x)]
    stay = [x for x in arguments if not ad.is_undefined_primal(x)]
    given = [ad.instantiate_zeros(weight) for weight in weights]
    results: list[Any] = [None] * len(arguments)
    for k, gradient in zip(removed, call(of.transposed(removed), native, *stay, *given), strict=True):
        results[k] = summed(gradient, arguments[k].aval.shape)
    return results


def _call_by_operations(*arguments: Any, of: DifferentiableFunction, native: bool) -> list[Any]:
    return replayed(of.function.tape, *arguments)


_CALL = _primitive(
    "appell_call",
    _call_shapes,
    _call_jvp,
    _call_transposed,
    _call_by_operations,
    lambda of, kind, arguments: function_target(of.function, kind),
)


# ---- scans


def scan(of: DifferentiableScan, native: bool, *arguments: Any) -> list[Any]:
    """Return the results of a scan on arrays of one type, whose batch axes are of one length or 1."""
    return _SCAN.bind(*arguments, of=of, native=native)


def _steps(of: DifferentiableScan, arguments: Sequence[Any]) -> int:
    last = arguments[-1].shape
    return last[len(last) - len(of.inputs[-1].shape) - 1]


def _scan_shapes(of: DifferentiableScan, arguments: Sequence[Any]) -> Shapes:
    steps = _steps(of, arguments)
    cores = [(steps, *array.shape) if of.is_driven(k) else array.shape for k, array in enumerate(of.inputs)]
    return cores, [(steps, *array.shape) for array in of.outputs]


def _scan_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, of: DifferentiableScan, native: bool) -> Any:
    results = scan(of, native, *primals)
    wrt = [k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    held = range(of.carried, of.carried + of.held)
    driven = range(of.carried + of.held, len(primals))
    states = [_before(of, primals[k], results[k], len(of.inputs[k].shape)) for k in range(of.carried)]
    arguments = [ad.instantiate_zeros(tangents[k]) for k in range(of.carried)]
    arguments += [primals[k] for k in held] + [tangents[k] for k in held if k in wrt]
    arguments += [*states, *(primals[k] for k in driven), *(tangents[k] for k in driven if k in wrt)]
    return results, scan(of.along(wrt), native, *arguments)


def _before(of: DifferentiableScan, first: Any, after: Any, rank: int) -> Any:
    """Return the states before all steps, from the initial one and those after the steps."""
    axis = after.ndim - rank - 1
    initial = jnp.broadcast_to(jnp.expand_dims(first, axis), (*after.shape[:axis], 1, *after.shape[axis + 1 :]))
    count = after.shape[axis]
    if of.backward:
        return jnp.concatenate([jax.lax.slice_in_dim(after, 1, count, axis=axis), initial], axis)
    return jnp.concatenate([initial, jax.lax.slice_in_dim(after, 0, count - 1, axis=axis)], axis)


def _scan_transposed(weights: Sequence[Any], *arguments: Any, of: DifferentiableScan, native: bool) -> list[Any]:
    back, given = of.transposed(), [ad.instantiate_zeros(weight) for weight in weights]
    axis = given[0].ndim - len(of.outputs[0].shape) - 1
    zeros = [jnp.zeros((1,) * axis + array.shape, given[0].dtype) for array in back.scan.arguments.carried]
    known = [x for k, x in enumerate(arguments) if k not in of.linear]
    results: list[Any] = [None] * len(arguments)
    end = -1 if of.backward else 0  # index of the last step of the transposed scan
    for k, gradient in zip(of.linear, scan(back, native, *zeros, *known, *given), strict=True):
        if ad.is_undefined_primal(arguments[k]):
            last = gradient if of.is_driven(k) else jnp.take(gradient, end, axis)
            results[k] = summed(last, arguments[k].aval.shape)
    return results


def _scan_by_operations(*arguments: Any, of: DifferentiableScan, native: bool) -> list[Any]:
    cores, _ = _scan_shapes(of, arguments)
    batches = [x.shape[: len(x.shape) - len(core)] for x, core in zip(arguments, cores, strict=True)]
    batch = np.broadcast_shapes(*batches)
    full = [jnp.broadcast_to(x, (*batch, *core)) for x, core in zip(arguments, cores, strict=True)]
    fixed, tape = of.carried + of.held, of.scan.step.tape

    def step(state: tuple[Any, ...], driven: Sequence[Any]) -> tuple[Any, Any]:
        results = replayed(tape, *state, *full[of.carried : fixed], *driven)
        return tuple(results[: of.carried]), results

    rows = [jnp.moveaxis(x, len(batch), 0) for x in full[fixed:]]
    _, results = jax.lax.scan(step, tuple(full[: of.carried]), rows, reverse=of.backward)
    return [jnp.moveaxis(x, 0, len(batch)) for x in results]


_SCAN = _primitive(
    "appell_scan",
    _scan_shapes,
    _scan_jvp,
    _scan_transposed,
    _scan_by_operations,
    lambda of, kind, arguments: scan_target(of.scan, kind, _steps(of, arguments), of.backward),
)


# ---- batch axes


def summed(gradient: Any, shape: Shape) -> Any:
    """Return the gradient of an argument shared by all samples along some axes: the sum along these axes."""
    shared = tuple(k for k, (n, m) in enumerate(zip(gradient.shape, shape, strict=True)) if n != m)
    return jnp.sum(gradient, shared, keepdims=True) if shared else gradient


def best_cut(batch: Shape, batches: Sequence[Shape]) -> int:
    """Return the axis at which to divide the batch into outer and inner axes so that the fewest arguments are copied.

    If several are equally good, the one with the longest inner loop is returned.
    """

    def copied(cut: int) -> int:
        parts = [(shape[:cut], batch[:cut], shape[cut:], batch[cut:]) for shape in batches]
        return sum(not (_is_foldable(a, b) and _is_foldable(c, d)) for a, b, c, d in parts)

    return min(range(len(batch) + 1), key=lambda cut: (copied(cut), cut))


def folded(x: Any, core: Shape, batch: Shape, cut: int) -> Any:
    """Return an argument with two batch axes, each of length 1 if all samples along it share the argument.

    Parameters
    ----------
    x : argument with all batch axes
    core : its core shape
    batch : common batch shape
    cut : axis at which the batch is divided
    """
    shape, axes = x.shape[: len(batch)], []
    for part, full in ((shape[:cut], batch[:cut]), (shape[cut:], batch[cut:])):
        axes.append(part if _is_foldable(part, full) else full)
    x = jnp.broadcast_to(x, (*axes[0], *axes[1], *core))
    return x.reshape(math.prod(axes[0]), math.prod(axes[1]), *core)


def _is_foldable(shape: Shape, batch: Shape) -> bool:
    """Return whether axes can be treated as one axis: all equal to those of the batch, or all of length 1."""
    return shape == batch or math.prod(shape) == 1


# ---- tapes in JAX's own operations


def _level(x: Any) -> Any:
    """Keep the bits of the exponent above its lowest three and set the third of these: see `algebra.scalar.level`."""
    fraction, bits = jnp.finfo(x.dtype).nmant, jnp.finfo(x.dtype).bits
    kind = np.dtype(f"int{bits}").type
    masked = jax.lax.bitcast_convert_type(x, kind) & kind((1 << (bits - 1)) - (1 << (fraction + 3)))
    return jax.lax.bitcast_convert_type(masked | kind(4 << fraction), x.dtype)


OPERATIONS: Table = functions(jnp, {Op.ATAN2: "arctan2"}) | {
    Op.SELECT: lambda x, y, z: jnp.where(x > 0, y, z),
    Op.ROUND: jnp.round,
    Op.LEVEL: _level,
    Op.ERF: jax.lax.erf,
}


def replayed(tape: Tape, *arguments: Any) -> list[Any]:
    """Return the results of a tape on arrays whose leading axes are the batch, of the same lengths or 1."""
    kind = arguments[0].dtype
    batches = [x.shape[: x.ndim - len(array.shape)] for x, array in zip(arguments, tape.inputs, strict=True)]
    batch = np.broadcast_shapes(*batches)
    flat = [x.reshape(*shape, -1) for x, shape in zip(arguments, batches, strict=True)]
    scalars = [x[..., k] for x in flat for k in range(x.shape[-1])]
    nonfinite = ~jnp.isfinite(reduce(jnp.add, [(0 * x).sum(-1) for x in flat]))
    table = {**OPERATIONS, Op.CONST: lambda number: jnp.asarray(number, kind)}
    values = [jnp.where(nonfinite, math.nan, jnp.broadcast_to(x, batch)) for x in replay(tape, table, scalars)]
    results, start = [], 0
    for array in tape.outputs:
        results.append(jnp.stack(values[start : start + array.size], -1).reshape(*batch, *array.shape))
        start += array.size
    return results
