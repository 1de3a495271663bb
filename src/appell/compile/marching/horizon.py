"""The arguments of a march: what is carried, held and driven, as arrays that share one number of steps.

    carried   (..., *shape)            the state before the first step
    held      (..., *shape)            the same in all steps
    driven    (..., steps, *shape)     one value a step; seen as (..., rows, every, *shape)

A result is told after every `every`-th step: it has the shape (..., rows, *shape) with rows = steps / every.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from appell.compile.arguments import axes_text, plain
from appell.compile.tape import Array
from appell.errors import ArgumentError


@dataclass(frozen=True)
class Horizon:
    """The arrays of a march, by what happens to them in a step, and what it is called in messages."""

    title: str
    carried: tuple[Array, ...]
    held: tuple[Array, ...]
    driven: tuple[Array, ...]

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.carried + self.held + self.driven

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """All arguments in their order, those by name put in place; no labels, no masked numbers."""
        names = [array.name for array in self.inputs]
        over_time = (f"{array.name}[{', '.join(['steps', *map(str, array.shape)])}]" for array in self.driven)
        expected = ", ".join([*map(str, self.carried + self.held), *over_time])
        if len(given) > len(names):
            raise ArgumentError(f"{self.title} is given {len(given)} arguments.", expected=expected)
        found = dict(zip(names, given, strict=False))
        if unknown := [name for name in named if name not in names]:
            raise ArgumentError(
                f"{self.title} has no argument '{unknown[0]}'.", expected=f"{expected}; every, threads or out"
            )
        if repeated := [name for name in named if name in found]:
            raise ArgumentError(f"{self.title} is given {repeated[0]} twice.")
        found |= named
        if missing := [name for name in names if name not in found]:
            raise ArgumentError(f"{self.title} lacks {', '.join(missing)}.", expected=expected)
        return [plain(found[name], name, self.title) for name in names]

    def seen(self, arguments: Sequence[Any], every: int) -> list[np.ndarray]:
        """The arguments as arrays of real numbers of the right shapes, with the steps of what is driven in rows."""
        if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
            raise ArgumentError(f"{self.title}: every is {every!r}.", expected="a whole number from 1")
        arrays = [self._numbers(array, x) for array, x in zip(self.inputs, arguments, strict=True)]
        batch, still = [len(each) for each in self.batches(arrays)], len(self.carried) + len(self.held)
        rows = self._rows([x.shape[axes] for x, axes in zip(arrays[still:], batch[still:], strict=True)], every)
        for number in range(still, len(arrays)):
            shape, axes = arrays[number].shape, batch[number]
            arrays[number] = arrays[number].reshape(*shape[:axes], rows, every, *shape[axes + 1 :])
        return arrays

    def batches(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """The batch of each array; all of them fit together, and all that is driven has one number of steps."""
        axes = [self._batch_axes(array, x) for array, x in zip(self.inputs, arrays, strict=True)]
        found = [x.shape[:count] for x, count in zip(arrays, axes, strict=True)]
        self._check_batches(found)
        still = len(self.carried) + len(self.held)
        self._rows([x.shape[count] for x, count in zip(arrays[still:], axes[still:], strict=True)], 1)
        return found

    def steps(self, seen: Sequence[np.ndarray]) -> int:
        """The number of steps of arguments that have been seen."""
        axis = seen[-1].ndim - len(self.driven[-1].shape) - 2
        return prod(seen[-1].shape[axis : axis + 2])

    def _batch_axes(self, array: Array, x: Any) -> int:
        """How many axes of an argument come before its own."""
        driven = array in self.driven
        found = x.ndim - len(array.shape) - driven
        if found < 0 or x.shape[found + driven :] != array.shape:
            own = f"a last {axes_text(array.shape)}" if array.shape else ""
            parts = [part for part in ("an axis of steps" * driven, own, "after any batch axes") if part]
            raise ArgumentError(f"{self.title}: argument {array.name} has shape {x.shape}.", expected=", ".join(parts))
        return found

    def _check_batches(self, shapes: Sequence[tuple[int, ...]]) -> None:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            told = [f"{array.name} {shape}" for array, shape in zip(self.inputs, shapes, strict=True) if shape]
            raise ArgumentError(
                f"{self.title}: the batch axes of the arguments do not fit together: {', '.join(told)}.",
                expected="axes that broadcast, before all others",
            ) from None

    def _rows(self, counts: Sequence[int], every: int) -> int:
        """How often results are told; all driven arrays have the same number of steps."""
        if len(set(counts)) > 1:
            told = [f"{array.name} {count}" for array, count in zip(self.driven, counts, strict=True)]
            raise ArgumentError(
                f"{self.title}: the driven arguments have different numbers of steps: {', '.join(told)}.",
                expected="one value a step each",
            )
        if counts[0] % every:
            raise ArgumentError(
                f"{self.title}: {counts[0]} steps cannot be told every {every} steps.",
                expected="a number of steps that `every` divides",
            )
        return counts[0] // every

    def _numbers(self, array: Array, value: Any) -> np.ndarray:
        try:
            found = np.asarray(value)
        except ValueError:
            raise ArgumentError(f"{self.title}: argument {array.name} is nested unevenly.") from None
        if found.dtype.kind not in "fiub":
            raise ArgumentError(
                f"{self.title}: argument {array.name} holds {found.dtype} values.", expected="real numbers"
            )
        return found
