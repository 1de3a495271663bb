"""The call of a function as an instruction of JAX, with its rules.

    call(x₁, …, xₙ; of)      all xₖ have batch axes of one length or 1, then their core axes

    batches      one more axis in front, of length 1 where an argument has none: nothing is repeated
    forward      call of `of.along(...)`: the change of the results, linear in the directions
    backward     a call that is linear in some arguments, turned round: call of `of.transposed(...)`
    lowered      to the compiled kernel on the processor, to JAX's own operations anywhere else

The rules close over themselves, so that derivatives of any order, in any mix of forward and backward, are calls. The
kernel of a call is made when XLA compiles it, for the type of its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from appell.compile.export.derivable import Derivable
from appell.compile.export.xla.batches import Shape, batched, folded, place_to_cut, summed
from appell.compile.export.xla.plain import replayed
from appell.compile.export.xla.target import target

call_p = Primitive("appell_call")
call_p.multiple_results = True


def call(of: Derivable, native: bool, *arguments: Any) -> list[Any]:
    """The results of a function on arrays of one type, whose batch axes are of one length or 1."""
    return call_p.bind(*arguments, of=of, native=native)


def _batches(of: Derivable, shapes: Sequence[Shape]) -> list[Shape]:
    return [shape[: len(shape) - len(array.shape)] for shape, array in zip(shapes, of.inputs, strict=True)]


@partial(jax.jit, static_argnames=("of", "native"))
def _evaluated(*arguments: Any, of: Derivable, native: bool) -> list[Any]:
    return call_p.bind(*arguments, of=of, native=native)


@call_p.def_abstract_eval
def _shaped(*arguments: Any, of: Derivable, native: bool) -> list[Any]:
    batch = np.broadcast_shapes(*_batches(of, [x.shape for x in arguments]))
    return [jax.core.ShapedArray((*batch, *array.shape), arguments[0].dtype) for array in of.outputs]


def _batched(arguments: Sequence[Any], axes: Sequence[Any], *, of: Derivable, native: bool) -> tuple[Any, Any]:
    return call(of, native, *batched(arguments, axes)), [0] * len(of.outputs)


def _moved(primals: Sequence[Any], tangents: Sequence[Any], *, of: Derivable, native: bool) -> tuple[Any, Any]:
    results = call(of, native, *primals)
    moved = [k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    return results, call(of.along(moved), native, *primals, *(tangents[k] for k in moved))


def _turned_round(weights: Sequence[Any], *arguments: Any, of: Derivable, native: bool) -> list[Any]:
    taken = [k for k, x in enumerate(arguments) if ad.is_undefined_primal(x)]
    stay = [x for x in arguments if not ad.is_undefined_primal(x)]
    given = [ad.instantiate_zeros(weight) for weight in weights]
    found = call(of.transposed(taken), native, *stay, *given)
    results: list[Any] = [None] * len(arguments)
    for k, gradient in zip(taken, found, strict=True):
        results[k] = summed(gradient, arguments[k].aval.shape)
    return results


# ---- lowering


def _by_operations(*arguments: Any, of: Derivable, native: bool) -> list[Any]:
    return replayed(of.function.tape, *arguments)


def _by_kernel(*arguments: Any, of: Derivable, native: bool) -> list[Any]:
    if not native:
        return _by_operations(*arguments, of=of, native=native)
    batches = _batches(of, [x.shape for x in arguments])
    batch = np.broadcast_shapes(*batches)
    cut = place_to_cut(batch, batches)
    taken = [folded(x, array.shape, batch, cut) for x, array in zip(arguments, of.inputs, strict=True)]
    outer, inner = math.prod(batch[:cut]), math.prod(batch[cut:])
    kind = arguments[0].dtype
    shapes = [jax.ShapeDtypeStruct((outer, inner, *array.shape), kind) for array in of.outputs]
    results = jax.ffi.ffi_call(target(of.function, kind), shapes)(*taken)
    return [x.reshape(*batch, *array.shape) for x, array in zip(results, of.outputs, strict=True)]


call_p.def_impl(lambda *arguments, of, native: _evaluated(*arguments, of=of, native=native))
batching.primitive_batchers[call_p] = _batched
ad.primitive_jvps[call_p] = _moved
ad.primitive_transposes[call_p] = _turned_round
mlir.register_lowering(call_p, mlir.lower_fun(_by_operations, multiple_results=True))
mlir.register_lowering(call_p, mlir.lower_fun(_by_kernel, multiple_results=True), platform="cpu")
