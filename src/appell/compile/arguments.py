"""Arguments of calls: order by name, shapes, batch axes, and errors that name the argument that is wrong.

`Caller` is the slow path into a compiled function. NumPy's messages about a call ("mismatch in core dimension 0 of
operand 1") name neither the arguments nor the function, so a call that the ufunc rejects is examined here. Functions in
JAX and PyTorch and scans over many steps use the same checks.

Arguments are passed by position or by name; arrays for results only as `out=`, although NumPy accepts them by position
too: `gravity(q, v)` would overwrite v. Arrays with labels (a pandas object, whose columns may have another order)
and masked entries are rejected, because every number of an argument counts. Dask and xarray apply functions to their
own arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any
from weakref import WeakMethod

import numpy as np

from appell.compile.native.parallel import NUMBER_NS, is_small, spread
from appell.compile.native.threads import THREAD_COUNT, threads
from appell.compile.results import results_type
from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import is_traced
from appell.errors import ArgumentError

_PLAIN_TYPES = frozenset({np.ndarray, list, tuple, float, int, np.float64, np.float32})
NODE_NS = 0.03  # time of one node per sample of a batch, on one core
_OPTIONS = ("threads", "out", "where", "axes", "axis", "keepdims", "order", "dtype", "subok", "signature", "casting")
_APPLIED_BY = {  # by package: how to apply a function to its arrays
    "dask": "dask.array.apply_gufunc(function, signature, ..., output_dtypes=float)",
    "xarray": "xarray.apply_ufunc(function, ..., input_core_dims=..., output_core_dims=...)",
}


class Caller:
    """Calls a ufunc, and raises an error that names the wrong argument if the ufunc rejects the call."""

    def __init__(self, ufunc: np.ufunc, formula: Formula, owner: str, compose: Callable[..., Any]):
        self.ufunc, self.formula, self._max_arguments = ufunc, formula, len(formula.inputs)
        # called with arguments that hold traced scalars, which the ufunc rejects; it belongs to the function, which
        # holds this object
        self._compose = WeakMethod(compose)
        self.title, self._results = title(formula.name, owner), results_type(formula.name, formula.outputs)

    def __call__(self, *arguments, **options):
        if len(arguments) > self._max_arguments:
            raise ArgumentError(
                f"{self.title} got {len(arguments)} arguments.",
                expected=", ".join(map(str, self.formula.inputs)),
                hint="Pass arrays for the results by name: `out=`.",
            )
        if not _PLAIN_TYPES.issuperset(map(type, arguments)):
            named = zip(arguments, self.formula.inputs, strict=False)
            arguments = tuple(plain(value, array.name, self.title) for value, array in named)
        try:
            if not options and ((THREAD_COUNT.count or threads()) == 1 or is_small(arguments, self._cost)):
                results = self.ufunc(*arguments)
            else:
                results = self._run(arguments, **options)
            return results if self._results is None else tuple.__new__(self._results, results)
        except ArgumentError:
            raise
        except (TypeError, ValueError) as error:
            return self._explain(error, arguments, options)

    def _run(self, arguments: tuple, threads=None, **options):
        if isinstance(options.get("out"), tuple):
            options["out"] = tuple(options["out"])  # NumPy does not accept a named tuple
        if threads is None and THREAD_COUNT.count == 1:
            return self.ufunc(*arguments, **options)
        return spread(self.ufunc, arguments, options, threads, self._cost)

    @cached_property
    def _cost(self) -> float:
        return sample_cost(self.formula)

    def _explain(self, error: Exception, arguments: tuple, options: dict[str, Any]):
        """Call again with named arguments in order, or raise an error that names the wrong argument."""
        if (compose := self._compose()) is not None and any(map(is_traced, (*arguments, *options.values()))):
            return compose(arguments, options)
        inputs = self.formula.inputs
        names = [array.name for array in inputs]
        named = {key: options.pop(key) for key in [*options] if key in names or key not in _OPTIONS}
        given = in_order(self.title, inputs, arguments, named, options="; out, dtype, casting or threads")
        for array, value in zip(inputs, given, strict=True):
            check_shape(self.title, array, np.shape(numbers(self.title, array, value)))
        if named:
            return self(*given, **options)
        raise rejection(self.title, error, "`out` and `dtype` for float64 or float32") from error


def in_order(
    title: str,
    inputs: Sequence[Array],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    expected: str = "",
    options: str = "",
) -> list[Any]:
    """Return all arguments of a call in the order of the inputs.

    Parameters
    ----------
    title : name of the function in messages
    inputs : arrays that the function takes
    arguments, named : arguments given by position and by name
    expected : description of the inputs in messages; their names and shapes by default
    options : text about further keywords, added to the message about an unknown name
    """
    names = [array.name for array in inputs]
    expected = expected or ", ".join(map(str, inputs))
    if len(arguments) > len(names):
        raise ArgumentError(f"{title} got {len(arguments)} arguments.", expected=expected) from None
    given = dict(zip(names, arguments, strict=False))
    if unknown := [key for key in named if key not in names]:
        raise ArgumentError(f"{title} has no argument '{unknown[0]}'.", expected=f"{expected}{options}") from None
    if repeated := [key for key in named if key in given]:
        raise ArgumentError(f"{title} got argument {repeated[0]} twice, by position and by name.") from None
    given |= named
    if missing := [name for name in names if name not in given]:
        problem = f"{title}: missing argument{'s' * (len(missing) > 1)} {', '.join(missing)}."
        raise ArgumentError(problem, expected=expected) from None
    return [given[name] for name in names]


def numbers(title: str, array: Array, value: Any) -> np.ndarray:
    """Return an argument as an array of real numbers."""
    try:
        converted = np.asarray(value)
    except ValueError:
        raise ArgumentError(f"{title}: argument {array.name} is nested unevenly.") from None
    if converted.dtype.kind not in "fiub":
        raise ArgumentError(
            f"{title}: argument {array.name} holds {converted.dtype} values.", expected="real numbers"
        ) from None
    return converted


def check_shape(title: str, array: Array, shape: tuple[int, ...]) -> None:
    """Raise an error unless the last axes of an argument are those of its array."""
    if array.shape and shape[-len(array.shape) :] != array.shape:
        raise ArgumentError(
            f"{title}: argument {array.name} has shape {shape}.",
            expected=f"a last {axes_text(array.shape)}, after any batch axes",
        ) from None


def common_batch(title: str, inputs: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch shape to which arguments of these shapes broadcast."""
    batches = []
    for array, shape in zip(inputs, shapes, strict=True):
        check_shape(title, array, shape)
        batches.append(shape[: len(shape) - len(array.shape)])
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"{array.name} {batch}" for array, batch in zip(inputs, batches, strict=True))
        raise ArgumentError(f"{title}: the batch axes do not broadcast: {listed}.") from None


def call_signature(inputs: Sequence[Array]) -> Signature:
    """Return the signature that `help` and `inspect` show."""
    named = all(array.name.isidentifier() and not iskeyword(array.name) for array in inputs)
    kind = Parameter.POSITIONAL_OR_KEYWORD if named else Parameter.POSITIONAL_ONLY
    return Signature([Parameter(array.name if named else f"x{k}", kind) for k, array in enumerate(inputs)])


def rejection(title: str, error: Exception, options: str) -> ArgumentError:
    """Return NumPy's error about a call with the name of the function; `options` lists what a call accepts."""
    return ArgumentError(
        f"{title}: {str(error).rstrip('.')}.",
        expected=f"batch axes that broadcast, numbers of at most 64 bits, {options}",
    )


def sample_cost(formula: Formula) -> float:
    """Return the approximate time of one sample of a batch, in ns."""
    transferred = sum(array.size for array in (*formula.inputs, *formula.outputs))
    return NODE_NS * len(formula) + NUMBER_NS * transferred


def title(name: str, owner: str) -> str:
    """Return the name of a function in messages: "inverse_dynamics of robot 'puma'"."""
    return f"{name} of {owner}" if owner else name


def plain(value: Any, name: str, title: str) -> Any:
    """Return an argument without its mask; raise an error if it has masked entries or labels.

    Parameters
    ----------
    value : the argument
    name : its name
    title : name of the function in messages
    """
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            raise ArgumentError(f"{title}: argument {name} has masked entries.", expected="an array without a mask")
        return value.data
    package = type(value).__module__.partition(".")[0]
    if package in _APPLIED_BY:
        raise ArgumentError(
            f"{title}: argument {name} is a {package} {type(value).__name__}.",
            expected="an array of numbers",
            hint=f"Call {_APPLIED_BY[package]}; see docs/batches.md.",
        )
    if package == "pandas":
        raise ArgumentError(
            f"{title}: argument {name} is a pandas {type(value).__name__}; its labels would be ignored.",
            expected="an array in the order of the system's names",
            hint=f"Pass {name}[names].to_numpy(), with names such as robot.coordinate_names.",
        )
    return value


def axes_text(shape: tuple[int, ...]) -> str:
    """Return the core axes of an argument in words."""
    return f"axis of {shape[0]}" if len(shape) == 1 else f"{len(shape)} axes of {' x '.join(map(str, shape))}"
