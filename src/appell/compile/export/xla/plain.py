"""A tape in JAX's own operations: the way to devices that have no compiled kernel, such as a GPU.

Every scalar of the tape is an array of samples. As in a kernel, an argument that is not finite makes all results of its
sample NaN, whether they need it or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from appell.compile.export.replay import ARITHMETIC, Table, replay
from appell.compile.ops import Op
from appell.compile.tape import Tape


def _level(x: Any) -> Any:
    """The bits of the exponent above its lowest three, and the third of these set: see `algebra.scalar.level`."""
    fraction, bits = jnp.finfo(x.dtype).nmant, jnp.finfo(x.dtype).bits
    kind = np.dtype(f"int{bits}").type
    kept = jax.lax.bitcast_convert_type(x, kind) & kind((1 << (bits - 1)) - (1 << (fraction + 3)))
    return jax.lax.bitcast_convert_type(kept | kind(4 << fraction), x.dtype)


OPERATIONS: Table = {
    **ARITHMETIC,
    Op.SQRT: jnp.sqrt,
    Op.SIN: jnp.sin,
    Op.COS: jnp.cos,
    Op.ATAN2: jnp.arctan2,
    Op.SELECT: lambda x, y, z: jnp.where(x > 0, y, z),
    Op.ROUND: jnp.round,
    Op.LEVEL: _level,
}


def replayed(tape: Tape, *arguments: Any) -> list[Any]:
    """The results of a tape on arrays whose leading axes, the same for all or 1, are samples."""
    kind = arguments[0].dtype
    batches = [x.shape[: x.ndim - len(array.shape)] for x, array in zip(arguments, tape.inputs, strict=True)]
    batch = np.broadcast_shapes(*batches)
    flat = [x.reshape(*own, -1) for x, own in zip(arguments, batches, strict=True)]
    scalars = [x[..., k] for x in flat for k in range(x.shape[-1])]
    spoilt = ~jnp.isfinite(reduce(jnp.add, [(0 * x).sum(-1) for x in flat]))
    table = {**OPERATIONS, Op.CONST: lambda number: jnp.asarray(number, kind)}
    values = replay(tape, table, scalars)
    return _gathered(tape, [jnp.where(spoilt, math.nan, jnp.broadcast_to(x, batch)) for x in values], batch)


def _gathered(tape: Tape, scalars: Sequence[Any], batch: tuple[int, ...]) -> list[Any]:
    results, start = [], 0
    for array in tape.outputs:
        results.append(jnp.stack(scalars[start : start + array.size], -1).reshape(*batch, *array.shape))
        start += array.size
    return results
