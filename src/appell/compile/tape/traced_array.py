"""Arrays of traced scalars: what the functions that users write receive and compute with.

A `TracedArray` is a NumPy array whose elements are traced scalars and floats. Indexing, slicing, `@`, `.T`, sums,
broadcasting, `np.concatenate`, `np.stack` and `reshape` are those of NumPy. NumPy's functions of numbers, such as
`np.sin`, apply the function of `appell.algebra.scalar` to each element, and so do `ap.sin` and its siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra import scalar
from appell.errors import TraceError

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {  # by NumPy's name: number of operands, and the function
    "sin": (1, scalar.sin),
    "cos": (1, scalar.cos),
    "sqrt": (1, scalar.sqrt),
    "arctan2": (2, scalar.atan2),
    "rint": (1, scalar.nearest),
    "floor": (1, scalar.floor),
    "absolute": (1, scalar.magnitude),
    "maximum": (2, scalar.larger),
    "minimum": (2, lambda x, y: -scalar.larger(-x, -y)),
    "clip": (3, scalar.clamp),
}
_ELEMENTWISE = {name: np.frompyfunc(function, size, 1, identity=None) for name, (size, function) in FUNCTIONS.items()}
_SELECT = np.frompyfunc(scalar.select, 3, 1)


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a function of NumPy to arrays that hold traced scalars, element by element.

    Parameters
    ----------
    ufunc, method, inputs, options : as in NumPy's `__array_ufunc__`
    """
    arrays = [_objects(x) if k < ufunc.nin else x for k, x in enumerate(inputs)]
    if "out" in options:
        options = options | {"out": tuple(_written(each) for each in options["out"])}
    function = _ELEMENTWISE.get(ufunc.__name__, ufunc)
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

    # ---- functions of `appell.algebra.scalar`, by the names of the methods of a traced scalar

    def sin(self):
        return np.sin(self)

    def cos(self):
        return np.cos(self)

    def sqrt(self):
        return np.sqrt(self)

    def rint(self):
        return np.rint(self)

    def atan2(self, x):
        return np.arctan2(self, x)

    def atan2_of(self, y):
        return np.arctan2(y, self)

    def select(self, if_positive, otherwise):
        return select_each(self, if_positive, otherwise)


def select_each(condition: Any, if_positive: Any, otherwise: Any) -> Any:
    """Return `select` of arrays or scalars, element by element."""
    return traced_array(_SELECT(*map(_objects, (condition, if_positive, otherwise))))
