"""A whole march as one instruction of JAX: all steps in one kernel, forward and backward.

    march(x₀, …, p, …, u, …; of)      batch axes of one length or 1; what is driven has an axis of steps after them

The results are told after every step. The rules are those of `primitive`: forward, the march along directions on the
states that were met; backward, the linear march turned round, from the last step to the first. Nothing is reversed in
memory for that: the kernel goes along its rows from their end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from appell.compile.export.derivable_march import DerivableMarch
from appell.compile.export.xla.batches import Shape, batched, folded, place_to_cut, summed
from appell.compile.export.xla.plain import replayed
from appell.compile.export.xla.target import march_target

march_p = Primitive("appell_march")
march_p.multiple_results = True


def marched(of: DerivableMarch, native: bool, *arguments: Any) -> list[Any]:
    """The results of a march on arrays of one type, whose batch axes are of one length or 1."""
    return march_p.bind(*arguments, of=of, native=native)


def _cores(of: DerivableMarch, steps: int) -> list[Shape]:
    return [(steps, *array.shape) if of.is_driven(k) else array.shape for k, array in enumerate(of.inputs)]


def _split(of: DerivableMarch, arguments: Sequence[Any]) -> tuple[int, list[Shape], Shape]:
    """The number of steps, the batch of each argument, and the batch of all."""
    last = len(of.inputs[-1].shape)
    steps = arguments[-1].shape[arguments[-1].ndim - last - 1]
    shapes = zip(arguments, _cores(of, steps), strict=True)
    batches = [x.shape[: len(x.shape) - len(core)] for x, core in shapes]
    return steps, batches, np.broadcast_shapes(*batches)


@partial(jax.jit, static_argnames=("of", "native"))
def _evaluated(*arguments: Any, of: DerivableMarch, native: bool) -> list[Any]:
    return march_p.bind(*arguments, of=of, native=native)


@march_p.def_abstract_eval
def _shaped(*arguments: Any, of: DerivableMarch, native: bool) -> list[Any]:
    steps, _, batch = _split(of, arguments)
    return [jax.core.ShapedArray((*batch, steps, *array.shape), arguments[0].dtype) for array in of.outputs]


def _batched(arguments: Sequence[Any], axes: Sequence[Any], *, of: DerivableMarch, native: bool) -> tuple[Any, Any]:
    return marched(of, native, *batched(arguments, axes)), [0] * len(of.outputs)


def _moved(primals: Sequence[Any], tangents: Sequence[Any], *, of: DerivableMarch, native: bool) -> tuple[Any, Any]:
    results = marched(of, native, *primals)
    moved = [k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    held = range(of.carried, of.carried + of.held)
    driven = range(of.carried + of.held, len(primals))
    states = [_before(of, primals[k], results[k], len(of.inputs[k].shape)) for k in range(of.carried)]
    arguments = [ad.instantiate_zeros(tangents[k]) for k in range(of.carried)]
    arguments += [primals[k] for k in held] + [tangents[k] for k in held if k in moved]
    arguments += [*states, *(primals[k] for k in driven), *(tangents[k] for k in driven if k in moved)]
    return results, marched(of.along(moved), native, *arguments)


def _before(of: DerivableMarch, first: Any, after: Any, rank: int) -> Any:
    """The states before all steps, from the first one and those after them."""
    axis = after.ndim - rank - 1
    begun = jnp.broadcast_to(jnp.expand_dims(first, axis), (*after.shape[:axis], 1, *after.shape[axis + 1 :]))
    count = after.shape[axis]
    if of.backward:
        return jnp.concatenate([jax.lax.slice_in_dim(after, 1, count, axis=axis), begun], axis)
    return jnp.concatenate([begun, jax.lax.slice_in_dim(after, 0, count - 1, axis=axis)], axis)


def _turned_round(weights: Sequence[Any], *arguments: Any, of: DerivableMarch, native: bool) -> list[Any]:
    back, given = of.transposed(), [ad.instantiate_zeros(weight) for weight in weights]
    axis = given[0].ndim - len(of.outputs[0].shape) - 1
    zeros = [jnp.zeros((1,) * axis + array.shape, given[0].dtype) for array in back.march.horizon.carried]
    known = [x for k, x in enumerate(arguments) if k not in of.linear]
    found = marched(back, native, *zeros, *known, *given)
    results: list[Any] = [None] * len(arguments)
    end = -1 if of.backward else 0  # where the march that is turned round has its last step
    for k, gradient in zip(of.linear, found, strict=True):
        if ad.is_undefined_primal(arguments[k]):
            whole = gradient if of.is_driven(k) else jnp.take(gradient, end, axis)
            results[k] = summed(whole, arguments[k].aval.shape)
    return results


# ---- lowering


def _by_operations(*arguments: Any, of: DerivableMarch, native: bool) -> list[Any]:
    steps, _, batch = _split(of, arguments)
    full = [jnp.broadcast_to(x, (*batch, *core)) for x, core in zip(arguments, _cores(of, steps), strict=True)]
    still, tape = of.carried + of.held, of.march.step.tape

    def step(state: tuple[Any, ...], driven: Sequence[Any]) -> tuple[Any, Any]:
        found = replayed(tape, *state, *full[of.carried : still], *driven)
        return tuple(found[: of.carried]), found

    rows = [jnp.moveaxis(x, len(batch), 0) for x in full[still:]]
    _, results = jax.lax.scan(step, tuple(full[: of.carried]), rows, reverse=of.backward)
    return [jnp.moveaxis(x, 0, len(batch)) for x in results]


def _by_kernel(*arguments: Any, of: DerivableMarch, native: bool) -> list[Any]:
    if not native:
        return _by_operations(*arguments, of=of, native=native)
    steps, batches, batch = _split(of, arguments)
    cut = place_to_cut(batch, batches)
    taken = [folded(x, core, batch, cut) for x, core in zip(arguments, _cores(of, steps), strict=True)]
    outer, inner, kind = math.prod(batch[:cut]), math.prod(batch[cut:]), arguments[0].dtype
    shapes = [jax.ShapeDtypeStruct((outer, inner, steps, *array.shape), kind) for array in of.outputs]
    results = jax.ffi.ffi_call(march_target(of.march, kind, steps, of.backward), shapes)(*taken)
    return [x.reshape(*batch, steps, *array.shape) for x, array in zip(results, of.outputs, strict=True)]


march_p.def_impl(lambda *arguments, of, native: _evaluated(*arguments, of=of, native=native))
batching.primitive_batchers[march_p] = _batched
ad.primitive_jvps[march_p] = _moved
ad.primitive_transposes[march_p] = _turned_round
mlir.register_lowering(march_p, mlir.lower_fun(_by_operations, multiple_results=True))
mlir.register_lowering(march_p, mlir.lower_fun(_by_kernel, multiple_results=True), platform="cpu")
