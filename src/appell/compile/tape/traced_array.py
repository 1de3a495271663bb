"""Arrays of traced scalars: what the functions that users write receive and compute with.

A `TracedArray` is a NumPy array whose elements are traced scalars and floats. Indexing, slicing, `@`, `.T`, sums,
broadcasting, `np.concatenate`, `np.stack` and `reshape` are those of NumPy. NumPy's functions of numbers, such as
`np.sin`, apply the function of `appell.algebra.scalar` to each element.

The product of a large matrix of arguments, such as the weights of a policy, and a vector is a loop over the rows of the
matrix. The code is then as long as one row, compiles in a fraction of the time, and runs faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra import scalar
from appell.algebra.loops import Rows
from appell.errors import TraceError

MIN_LOOP_PRODUCTS = 256  # products of a matrix and a vector from which they are a loop over rows

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
    if ufunc is np.matmul and method == "__call__" and not options:
        product = _large_product(*arrays)
        if product is not None:
            return traced_array(product)
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


def _large_product(matrix: np.ndarray, vector: np.ndarray) -> list[Any] | None:
    """Return the product of a large matrix of traced scalars and a vector as a loop, if the trace can have loops."""
    if (matrix.ndim, vector.ndim) == (1, 2):
        matrix, vector = vector.T, matrix
    if (matrix.ndim, vector.ndim) != (2, 1) or matrix.size < MIN_LOOP_PRODUCTS or matrix.shape[1] != len(vector):
        return None
    if any(map(scalar.is_number, matrix.flat)):  # constants are cheaper in straight code
        return None
    graph = matrix.flat[0].graph
    graph.has_large_products = True
    if graph.loops is None:
        return None
    count, loops = len(matrix), graph.loops
    rows, given, products = loops.given(matrix), loops.given([vector]), loops.table(count, 1)
    reads, writes = [Rows(rows, range(count)), Rows(given, [0] * count)], [Rows(products, range(count))]
    loops.each([lambda row, x: [[scalar.dot(row, x)]]], [0] * count, reads, writes)
    return [x for (x,) in loops.values(products)]


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
