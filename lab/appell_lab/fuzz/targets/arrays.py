"""Forms of arrays: results do not depend, in any bit, on the container of the arguments or on the output array.

The first reference is the same function called with contiguous arrays, one sample at a time; the second is the
interpreter of its tape. Arguments that are not real numbers, or hide some of them, must be rejected with their name. A
sample with a non-finite number gives NaN, and no other sample does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell_lab.fuzz.forms import argument, is_invalid, laid_out, plain, random_form
from appell_lab.fuzz.target import Case, Target, Verdict

NAMES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "mixed")
BATCHES: tuple[list[int], ...] = ([], [], [1], [3], [5], [17], [0], [2, 3], [1, 4], [3, 0], [2, 1, 2])
OUTPUTS = ("none", "none", "none", "fresh", "every second", "backwards", "an input", "shifted", "read-only", "unfit")


@cache
def function(name: str) -> Function:
    """Return a function of a planar arm, or `mixed`, with arguments and results of every kind."""
    if name == "mixed":  # a scalar, a vector and a matrix
        return Function.of("mixed", {"s": (), "x": 2, "M": (2, 2)}, _mixed)
    return getattr(Dynamics(load("planar-2r")), name)


def _mixed(s, x, M) -> dict[str, Any]:
    product = [row[0] * x[0] + row[1] * x[1] for row in M]
    return {"total": s * x[0] + x[1], "y": product, "N": [[s + m for m in row] for row in M]}


class Arrays(Target):
    """Forms of arrays."""

    name = "arrays"
    about = "element types, strides, byte orders, empty batches, containers and output arrays"
    seconds = 5.0
    share = 0.5

    def prepare(self) -> None:
        for name in NAMES:
            function(name).compile().compile(np.float32)

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 5])
        name = str(rng.choice(NAMES))
        batch = BATCHES[int(rng.integers(len(BATCHES)))]
        forms = [random_form(rng, batch) for _ in function(name).inputs]
        return {"function": name, "forms": forms, "out": str(rng.choice(OUTPUTS)), "named": bool(rng.random() < 0.2)}

    def check(self, case: Case) -> Verdict:
        f, forms = function(case["function"]), case["forms"]
        batch = np.broadcast_shapes(*(tuple(form["batch"]) for form in forms))
        single = all(form["dtype"] in ("f4", ">f4") and not _loses_dtype(form) for form in forms)
        dtype = "f4" if single else "f8"
        invalid = any(map(is_invalid, forms))
        arguments = [argument(form, array.shape) for form, array in zip(forms, f.inputs, strict=True)]
        out = None if invalid else _output_arrays(case["out"], f, arguments, batch, dtype)
        invalid = invalid or (out is not None and case["out"] in ("read-only", "unfit"))
        options: dict[str, Any] = {} if out is None else {"out": out if len(out) > 1 else out[0]}
        count = {"refused" if invalid else "compared": 1, f"out: {case['out']}": 1}
        expected = None if invalid else _expected(f, forms, batch, dtype)  # before `out` overwrites an input
        try:
            with np.errstate(all="ignore"):
                if case["named"]:
                    returned = f(**dict(zip((array.name for array in f.inputs), arguments, strict=True)), **options)
                else:
                    returned = f(*arguments, **options)
        except ArgumentError as error:
            return Verdict(counts=count) if invalid else Verdict(f"rejected: {error.problem}", "rejected", counts=count)
        if invalid:
            return Verdict("accepted, although the argument is not valid", "accepted", counts=count)
        results = returned if isinstance(returned, tuple) else (returned,)
        assert expected is not None
        for array, ours, (samples, slow) in zip(f.outputs, results, zip(*expected, strict=True), strict=True):
            if np.shape(ours) != (*batch, *array.shape) or (out is None and np.asarray(ours).dtype != np.dtype(dtype)):
                return Verdict(
                    f"{array.name} has shape {np.shape(ours)} and dtype {np.asarray(ours).dtype}", "shape or dtype"
                )
            if not np.array_equal(np.asarray(ours, dtype), samples, equal_nan=True):
                return Verdict(f"{array.name} differs from plain samples", "differs")
            difference = np.abs(samples - slow).max(initial=0.0, where=np.isfinite(slow))
            bound = (1e-12 if dtype == "f8" else 1e-4) * max(
                1.0, np.abs(slow).max(initial=0.0, where=np.isfinite(slow))
            )
            if not difference <= bound or (np.isnan(slow) != np.isnan(samples)).any():
                return Verdict(f"{array.name} differs from the interpreter by {difference:.3g}", "interpreter")
        return Verdict(counts=count)

    def smaller(self, case: Case) -> Iterator[Case]:
        for change in ({"out": "none"}, {"named": False}):
            if not change.items() <= case.items():
                yield case | change
        plain_form = {"dtype": "f8", "layout": "C", "holder": "array", "odd": ""}
        for k, form in enumerate(case["forms"]):
            for name, value in (*plain_form.items(), ("batch", form["batch"][1:])):
                if form[name] != value:
                    forms = [other | ({name: value} if i == k else {}) for i, other in enumerate(case["forms"])]
                    yield case | {"forms": forms}


def _loses_dtype(form: dict[str, Any]) -> bool:
    """Return whether the container, a list or tuple, does not keep single precision."""
    return form["holder"] in ("list", "tuple") and 0 not in form["batch"]


def _output_arrays(
    kind: str, f: Function, arguments: list, batch: tuple[int, ...], dtype: str
) -> tuple[np.ndarray, ...] | None:
    """Return arrays for the results, or None; some kinds are an input itself, or an array that overlaps it."""
    shapes = [(*batch, *array.shape) for array in f.outputs]
    if kind == "none":
        return None
    if kind in ("an input", "shifted"):
        if len(shapes) > 1:
            return None
        for k, x in enumerate(arguments):
            usable = type(x) is np.ndarray and x.shape == shapes[0] and x.dtype == np.dtype(dtype) and x.flags.writeable
            if usable and x.ndim and x.size:
                if kind == "an input":
                    return (x,)
                buffer = np.zeros(x.size + 1, x.dtype)
                arguments[k] = buffer[:-1].reshape(x.shape)
                arguments[k][...] = x
                return (buffer[1:].reshape(x.shape),)
        return None
    if kind == "unfit":  # a scalar result broadcasts to any array
        unfit = all(array.shape for array in f.outputs)
        return tuple(np.zeros((*shape[:-1], shape[-1] + 3), dtype) for shape in shapes) if unfit else None
    outputs = tuple(laid_out(np.zeros(shape, dtype), kind if kind != "read-only" else "C") for shape in shapes)
    if kind == "read-only":
        for output in outputs:
            output.setflags(write=False)
    return outputs


def _expected(f: Function, forms, batch: tuple[int, ...], dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the results of plain samples, computed by the function itself and by the interpreter."""
    arguments = [plain(form, array.shape, batch, dtype) for form, array in zip(forms, f.inputs, strict=True)]
    ours = [np.zeros((*batch, *array.shape), dtype) for array in f.outputs]
    slow = [np.zeros((*batch, *array.shape)) for array in f.outputs]
    for index in np.ndindex(batch):
        sample = [x[index] for x in arguments]
        with np.errstate(all="ignore"):
            single = f(*sample)
        finite = all(np.isfinite(x).all() for x in sample)
        interpreted = evaluate(f.tape, *sample) if finite else [np.full(array.shape, np.nan) for array in f.outputs]
        for k, value in enumerate(single if isinstance(single, tuple) else (single,)):
            ours[k][index], slow[k][index] = value, interpreted[k]
    return ours, slow
