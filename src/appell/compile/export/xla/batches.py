"""Batch axes of calls in XLA: all arguments have as many, each of one length or, where it is shared, of length 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

Shape = tuple[int, ...]


def batched(arguments: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    """Arguments with one more batch axis in front, of length 1 where an argument has none."""
    return [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(arguments, axes, strict=True)
    ]


def summed(gradient: Any, shape: Shape) -> Any:
    """A gradient by something that all samples along some axes share: the sum along these."""
    shared = tuple(k for k, (n, m) in enumerate(zip(gradient.shape, shape, strict=True)) if n != m)
    return jnp.sum(gradient, shared, keepdims=True) if shared else gradient


def place_to_cut(batch: Shape, batches: Sequence[Shape]) -> int:
    """Where to divide the batch into outer and inner axes, so that least must be repeated; of two such places that
    with the longer inner loop."""

    def repeated(cut: int) -> int:
        parts = [(own[:cut], batch[:cut], own[cut:], batch[cut:]) for own in batches]
        return sum(not (_whole(a, b) and _whole(c, d)) for a, b, c, d in parts)

    return min(range(len(batch) + 1), key=lambda cut: (repeated(cut), cut))


def folded(x: Any, core: Shape, batch: Shape, cut: int) -> Any:
    """An argument with two batch axes, each of length 1 if all samples along it share the argument."""
    own, axes = x.shape[: len(batch)], []
    for part, whole in ((own[:cut], batch[:cut]), (own[cut:], batch[cut:])):
        axes.append(part if _whole(part, whole) else whole)
    x = jnp.broadcast_to(x, (*axes[0], *axes[1], *core))
    return x.reshape(math.prod(axes[0]), math.prod(axes[1]), *core)


def _whole(own: Shape, batch: Shape) -> bool:
    """Whether axes can be seen as one: all of them the batch's, or all of length 1."""
    return own == batch or math.prod(own) == 1
