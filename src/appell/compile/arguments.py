"""The slow way into a compiled function: arguments by name, and errors that name the culprit.

NumPy's complaints about a call ("mismatch in core dimension 0 of operand 1") do not know what the arguments are called
and whose function it is. A call that the ufunc refuses comes here.

A function goes by position. What has labels of its own (a pandas object, whose columns may stand in another order) is
refused, and so are masked entries: all numbers of an argument count, so none can be missing. Dask and xarray bring
functions to their arrays themselves.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from appell.compile.formula import Formula, length
from appell.compile.native.cores import A_NUMBER, is_small, spread
from appell.compile.native.setting import SETTING, threads
from appell.compile.tape import Array
from appell.errors import ArgumentError

_PLAIN = frozenset({np.ndarray, list, tuple, float, int, np.float64, np.float32})
A_NODE = 0.03  # ns in a batch, on one core
_OPTIONS = ("threads", "out", "where", "axes", "axis", "keepdims", "order", "dtype", "subok", "signature", "casting")


_BROUGHT = {  # by package: how its arrays get to a function
    "dask": "dask.array.apply_gufunc(function, signature, ..., output_dtypes=float)",
    "xarray": "xarray.apply_ufunc(function, ..., input_core_dims=..., output_core_dims=...)",
}


class Caller:
    """Calls a ufunc, and says what is wrong if it will not be called."""

    def __init__(self, ufunc: np.ufunc, tape: Formula, owner: str):
        self.ufunc, self.tape = ufunc, tape
        self.title = title(tape.name, owner)

    def __call__(self, *arguments, **options):
        if not _PLAIN.issuperset(map(type, arguments)):
            named = zip(arguments, self._names(len(arguments)), strict=True)
            arguments = tuple(plain(value, name, self.title) for value, name in named)
        try:
            if not options and ((SETTING.count or threads()) == 1 or is_small(arguments, self._cost)):
                return self.ufunc(*arguments)
            if "threads" not in options and SETTING.count == 1:
                return self.ufunc(*arguments, **options)
            return self._spread(arguments, **options)
        except ArgumentError:
            raise
        except (TypeError, ValueError) as error:
            return self._explain(error, arguments, options)

    def _spread(self, arguments: tuple, threads=None, **options):
        return spread(self.ufunc, arguments, options, threads, self._cost)

    @cached_property
    def _cost(self) -> float:
        return sample_cost(self.tape)

    def _names(self, count: int) -> list[str]:
        """The names of so many arguments; those beyond the inputs are for results."""
        return ([array.name for array in (*self.tape.inputs, *self.tape.outputs)] + ["?"] * count)[:count]

    def _explain(self, error: Exception, arguments: tuple, options: dict[str, Any]):
        """Call again with named arguments put in order, or say which argument is wrong and how."""
        inputs, outputs = self.tape.inputs, self.tape.outputs
        names = [array.name for array in inputs]
        given = dict(zip(names, arguments, strict=False))
        named = {key: options.pop(key) for key in names if key in options}
        if repeated := [key for key in named if key in given]:
            raise ArgumentError(f"{self.title} is given {repeated[0]} twice.") from None
        given |= named
        expected = ", ".join(map(str, inputs))
        if missing := [name for name in names if name not in given]:
            raise ArgumentError(f"{self.title} lacks {', '.join(missing)}.", expected=expected) from None
        if len(arguments) > len(inputs) + len(outputs):
            raise ArgumentError(f"{self.title} is given {len(arguments)} arguments.", expected=expected) from None
        if unknown := [key for key in options if key not in _OPTIONS]:
            raise ArgumentError(
                f"{self.title} has no argument '{unknown[0]}'.", expected=f"{expected}; out, dtype, casting or threads"
            ) from None
        for array in inputs:
            self._check(array, given[array.name])
        if named:
            return self(*(given[name] for name in names), **options)
        raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> ArgumentError:
        """What NumPy said of `out`, `dtype` and the like, in its own words but under our name."""
        return ArgumentError(
            f"{self.title}: {str(error).rstrip('.')}.",
            expected="batch axes that broadcast, numbers of at most 64 bits, `out` and `dtype` for float64 or float32",
        )

    def _check(self, array: Array, value) -> None:
        try:
            kind, shape = np.asarray(value).dtype.kind, np.shape(value)
        except ValueError:
            raise ArgumentError(f"{self.title}: argument {array.name} is nested unevenly.") from None
        if kind not in "fiub":
            raise ArgumentError(
                f"{self.title}: argument {array.name} holds {np.asarray(value).dtype} values.", expected="real numbers"
            )
        if array.shape and shape[-len(array.shape) :] != array.shape:
            raise ArgumentError(
                f"{self.title}: argument {array.name} has shape {shape}.",
                expected=f"a last {axes_text(array.shape)}, after any batch axes",
            )


def sample_cost(formula: Formula) -> float:
    """ns of a sample in a batch, about."""
    moved = sum(array.size for array in (*formula.inputs, *formula.outputs))
    return A_NODE * length(formula) + A_NUMBER * moved


def title(name: str, owner: str) -> str:
    """What a function is called in messages."""
    return f"{name} of {owner}" if owner else name


def plain(value: Any, name: str, of: str) -> Any:
    """An argument by its name, without labels of its own; what has some that matter is refused."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            raise ArgumentError(f"{of}: argument {name} has masked entries.", expected="all its numbers")
        return value.data
    package = type(value).__module__.partition(".")[0]
    if package in _BROUGHT:
        raise ArgumentError(
            f"{of}: argument {name} is a {package} {type(value).__name__}.",
            expected="an array of numbers",
            hint=f"{_BROUGHT[package]}; see docs/many-motions.md",
        )
    if package == "pandas":
        raise ArgumentError(
            f"{of}: argument {name} is a pandas {type(value).__name__}, whose labels nobody looks at.",
            expected="an array in the order of the system's names",
            hint=f"{name}[names].to_numpy(), with names such as robot.coordinate_names",
        )
    return value


def axes_text(shape: tuple[int, ...]) -> str:
    """The core axes of an argument, in words."""
    return f"axis of {shape[0]}" if len(shape) == 1 else f"{len(shape)} axes of {' x '.join(map(str, shape))}"
