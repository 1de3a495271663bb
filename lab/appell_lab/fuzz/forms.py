"""Forms of arguments: element types, memory layouts and containers in which numbers are passed to a function.

A form is a dictionary: `batch` (leading axes), `dtype`, `layout`, `holder` (container) and a seed for its numbers.
`argument` returns the object to pass; `plain` returns the same numbers as a contiguous array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Form = dict[str, Any]

DTYPES = ("f8", "f8", "f8", "f4", "f4", "i8", "i4", "i2", "u1", "b1", "f2", ">f8", ">f4", ">i4")
INVALID_DTYPES = ("c16", "U3", "O", "M8[s]")  # not real numbers
LAYOUTS = ("C", "C", "F", "every second", "backwards", "unaligned", "repeated", "moved axes")
HOLDERS = ("array", "array", "array", "list", "tuple", "read-only", "masked", "subclass", "memoryview")
INVALID_HOLDERS = ("hidden", "frame")  # masked entries; labels that a function would ignore


class Subclass(np.ndarray):
    """A subclass of ndarray that adds nothing."""


def random_form(rng: np.random.Generator, batch: list[int]) -> Form:
    """Return a form whose batch broadcasts to the given one."""
    axes = batch[int(rng.integers(len(batch) + 1)) :] if rng.random() < 0.4 else batch
    form_batch = [1 if rng.random() < 0.15 else size for size in axes]
    invalid_dtype, invalid_holder = rng.random(2) < 0.03
    dtype = str(rng.choice(INVALID_DTYPES if invalid_dtype else DTYPES))
    holder = str(rng.choice(INVALID_HOLDERS if invalid_holder else HOLDERS))
    odd = str(rng.choice(["nan", "inf", "-inf"])) if rng.random() < 0.1 else ""
    layout = str(rng.choice(LAYOUTS))
    return {
        "batch": form_batch,
        "dtype": dtype,
        "layout": layout,
        "holder": holder,
        "odd": odd,
        "seed": int(rng.integers(10**9)),
    }


def is_invalid(form: Form) -> bool:
    """Return whether a function must reject the form."""
    hides = form["holder"] == "hidden" and 0 not in form["batch"]
    return form["dtype"] in INVALID_DTYPES or form["holder"] == "frame" or hides


def numbers(form: Form, core: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of a form in its own element type, contiguous."""
    rng = np.random.default_rng(form["seed"])
    kind = np.dtype(form["dtype"])
    values = rng.normal(size=(*form["batch"], *core))
    if kind.kind in "iub":
        values = np.round(np.abs(values) * 2)
    if form["odd"] and kind.kind == "f" and values.size:
        values.flat[int(rng.integers(values.size))] = float(form["odd"])
    if kind.kind == "O":
        return np.array([object()] * values.size, object).reshape(values.shape)
    return values.astype("i8").astype(kind) if kind.kind == "M" else values.astype(kind)


def argument(form: Form, core: tuple[int, ...]) -> Any:
    """Return the object that is passed to the function."""
    array = laid_out(numbers(form, core), form["layout"])
    match form["holder"]:
        case "list" if array.size:  # an empty list would lose its axes
            return array.tolist()
        case "tuple" if array.size:
            return tuple(array.tolist()) if array.ndim else array.tolist()
        case "read-only":
            array.setflags(write=False)
        case "masked":
            return np.ma.array(array)
        case "hidden":
            mask = np.zeros(array.shape, bool)
            mask[...] = array.size > 0
            return np.ma.array(array, mask=mask)
        case "subclass":
            return array.view(Subclass)
        case "memoryview" if array.dtype.kind in "fiub" and array.dtype.isnative and array.dtype.char != "e":
            return memoryview(array)  # type: ignore[arg-type]
        case "frame":
            import pandas

            return pandas.DataFrame(np.atleast_2d(numbers(form | {"dtype": "f8", "batch": []}, core)))
    return array


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """Return the same numbers in another memory layout."""
    if not array.ndim or layout == "C":
        return array
    match layout:
        case "F":
            return np.asfortranarray(array)
        case "every second":
            buffer = np.zeros(tuple(2 * size for size in array.shape), array.dtype)
            view = buffer[tuple(slice(None, None, 2) for _ in array.shape)]
            view[...] = array
            return view
        case "backwards":
            reverse = tuple(slice(None, None, -1) for _ in array.shape)
            return array[reverse].copy()[reverse]
        case "unaligned" if array.dtype.kind != "O":
            buffer = np.zeros(array.nbytes + 1, np.uint8)
            view = np.ndarray(array.shape, array.dtype, buffer.data, offset=1) if array.nbytes else array
            view[...] = array
            return view
        case "moved axes":
            return np.ascontiguousarray(np.moveaxis(array, 0, -1)).transpose(-1, *range(array.ndim - 1))
    return array


def plain(form: Form, core: tuple[int, ...], batch: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return the numbers of a form, broadcast to the batch, as a contiguous array."""
    return np.broadcast_to(numbers(form, core).astype(dtype), (*batch, *core)).copy()
