"""The arguments of a march: what is carried, held and driven, as arrays that share one number of steps.

    carried   (..., *shape)            the state before the first step
    held      (..., *shape)            the same in all steps
    driven    (..., steps, *shape)     one value a step; seen as (..., rows, every, *shape)

A result is written after every `every`-th step: it has the shape (..., rows, *shape) with rows = steps / every.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.compile.arguments import axes_text, plain
from appell.compile.tape import Array
from appell.errors import ArgumentError


@dataclass(frozen=True)
class Horizon:
    """The arrays of a march: by what happens to them in a step, and whose they are, for messages."""

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
        expected = ", ".join([*map(str, self.carried + self.held), *map(self._over_time, self.driven)])
        if len(given) > len(names):
            raise ArgumentError(f"{self.title} is given {len(given)} arguments.", expected=expected)
        found = dict(zip(names, given, strict=False))
        for name, value in named.items():
            if name not in names:
                raise ArgumentError(
                    f"{self.title} has no argument '{name}'.", expected=f"{expected}; every, threads or out"
                )
            if name in found:
                raise ArgumentError(f"{self.title} is given {name} twice.")
            found[name] = value
        if missing := [name for name in names if name not in found]:
            raise ArgumentError(f"{self.title} lacks {', '.join(missing)}.", expected=expected)
        return [plain(found[name], name, self.title) for name in names]

    def seen(self, arguments: Sequence[Any], every: int) -> list[np.ndarray]:
        """The arguments as arrays of real numbers of the right shapes, with the steps of what is driven in rows."""
        if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
            raise ArgumentError(f"{self.title}: every is {every!r}.", expected="a whole number from 1")
        arrays = [self._array(array, x) for array, x in zip(self.inputs, arguments, strict=True)]
        still = len(self.carried) + len(self.held)
        for array, x in zip(self.inputs[:still], arrays, strict=False):
            self._check(array, x, array.shape, f"a last {axes_text(array.shape)}, after any batch axes")
        steps: int | None = None
        for array, x in zip(self.driven, arrays[still:], strict=True):
            axis, inner = x.ndim - 1 - len(array.shape), axes_text(array.shape)
            wanted = f"an axis of steps{f', then a last {inner}' if array.shape else ''}, after any batch axes"
            self._check(array, x, array.shape, wanted, steps=True)
            if steps is None:
                steps, first = x.shape[axis], array.name
            elif x.shape[axis] != steps:
                raise ArgumentError(
                    f"{self.title}: argument {array.name} has {x.shape[axis]} steps, and {first} has {steps}.",
                    expected="equally many",
                )
        if steps is None or steps % every:
            raise ArgumentError(
                f"{self.title}: {steps} steps cannot be told every {every} steps.",
                expected="a number of steps that `every` divides",
            )
        return arrays[:still] + [
            x.reshape(*x.shape[: x.ndim - 1 - len(array.shape)], steps // every, every, *array.shape)
            for array, x in zip(self.driven, arrays[still:], strict=True)
        ]

    def _array(self, array: Array, value: Any) -> np.ndarray:
        try:
            found = np.asarray(value)
        except ValueError:
            raise ArgumentError(f"{self.title}: argument {array.name} is nested unevenly.") from None
        if found.dtype.kind not in "fiub":
            raise ArgumentError(
                f"{self.title}: argument {array.name} holds {found.dtype} values.", expected="real numbers"
            )
        return found

    def _check(self, array: Array, x: np.ndarray, shape: tuple[int, ...], expected: str, steps: bool = False) -> None:
        if x.ndim < len(shape) + steps or x.shape[x.ndim - len(shape) :] != shape:
            raise ArgumentError(f"{self.title}: argument {array.name} has shape {x.shape}.", expected=expected)

    @staticmethod
    def _over_time(array: Array) -> str:
        return f"{array.name}[{', '.join(['steps', *map(str, array.shape)])}]"
