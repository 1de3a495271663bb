"""Arrays of traced scalars: what the functions that users write receive and compute with.

A `TracedArray` is a NumPy array whose elements are traced scalars and floats. Indexing, slicing, `@`, `.T`, sums,
broadcasting, `np.concatenate`, `np.stack` and `reshape` are those of NumPy. NumPy's functions of numbers, such as
`np.sin`, apply the function of `appell.algebra.scalar` to each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra import scalar
from appell.errors import TraceError

FUNCTIONS: dict[str, np.ufunc] = {  # by NumPy's name; the other functions of NumPy use the operators of the elements
    name: np.frompyfunc(function, operands, 1, identity=None)
    for name, operands, function in (
        ("sin", 1, scalar.sin),
        ("cos", 1, scalar.cos),
        ("sqrt", 1, scalar.sqrt),
        ("exp", 1, scalar.exp),
        ("log", 1, scalar.log),
        ("tanh", 1, scalar.tanh),
        ("arcsin", 1, scalar.arcsin),
        ("arccos", 1, scalar.arccos),
        ("arctan2", 2, scalar.atan2),
        ("absolute", 1, scalar.abs),
        ("sign", 1, scalar.sign),
        ("maximum", 2, scalar.maximum),
        ("minimum", 2, scalar.minimum),
        ("clip", 3, scalar.clamp),
        ("rint", 1, scalar.nearest),
        ("floor", 1, scalar.floor),
    )
}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a function of NumPy to arrays that hold traced scalars, element by element.

    Parameters
    ----------
    ufunc, method, inputs, options : as in NumPy's `__array_ufunc__`
    """
    arrays = [_objects(x) if k < ufunc.nin else x for k, x in enumerate(inputs)]
    if "out" in options:
        options = options | {"out": tuple(_written(each) for each in options["out"])}
    function = FUNCTIONS.get(ufunc.__name__, ufunc)
    return _applied(ufunc, lambda: getattr(function, method)(*arrays, **options))


def _applied(function: Any, call: Callable[[], Any]) -> Any:
    """Return the result of a call of NumPy; raise `TraceError` if NumPy cannot apply the function."""
    try:
        result = call()
    except TraceError:
        raise
    except TypeError as error:
        raise TraceError(
            f"numpy.{function.__name__} cannot be applied to traced scalars.",
            expected=f"arithmetic, @, sums, functions that rearrange arrays, or one of {', '.join(FUNCTIONS)}",
        ) from error
    return traced_array(result) if isinstance(result, np.ndarray) and result.dtype == object else result


def _objects(x: Any) -> np.ndarray:
    return np.asarray(scalar.plain(x), dtype=object).view(np.ndarray)


def _written(array: Any) -> Any:
    if array is not None and array.dtype != object:
        raise TraceError(
            f"traced scalars are written to an array of {array.dtype} numbers.",
            expected="an array of traced scalars",
            hint="Make the array with np.array([...]), np.stack or np.concatenate instead of filling it.",
        )
    return None if array is None else array.view(np.ndarray)


def traced_array(values: Any, origin: str = "") -> Any:
    """Return nested scalars as a `TracedArray`; a single one as itself.

    `origin` describes where the array comes from, for messages: "argument q of 'f'".
    """
    array = _objects(values)
    if not array.ndim:
        return array[()]
    traced = array.view(TracedArray)
    traced.origin = origin
    return traced


class TracedArray(np.ndarray):
    """A NumPy array of traced scalars and floats."""

    origin = ""  # of the whole array, for messages

    def __repr__(self) -> str:
        return f"<array of traced scalars, shape {self.shape}>"

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function, types, arguments, options):
        return _applied(
            function, lambda: super(TracedArray, self).__array_function__(function, types, arguments, options)
        )
