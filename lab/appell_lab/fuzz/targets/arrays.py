"""Forms of arrays: whatever holds the numbers and wherever results go, they are those of plain samples, to the bit.

The first judge is the same function on contiguous arrays of its own, one sample at a time; the second the interpreter
of its tape. What is not real numbers, or hides some of them, must be refused by name. A sample that holds something not
finite gives NaN, and no other sample does.
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
from appell_lab.fuzz.forms import is_refused, laid_out, made, plain, random_form
from appell_lab.fuzz.target import Case, Hunt, Verdict

NAMES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "mixed")
BATCHES: tuple[list[int], ...] = ([], [], [1], [3], [5], [17], [0], [2, 3], [1, 4], [3, 0], [2, 1, 2])
PLACES = ("none", "none", "none", "fresh", "every second", "backwards", "an input", "shifted", "read-only", "unfit")


@cache
def function(name: str) -> Function:
    if name == "mixed":  # a scalar, a vector and a matrix, one result of each kind
        return Function.of("mixed", {"s": (), "x": 2, "M": (2, 2)}, _mixed)
    return getattr(Dynamics(load("planar-2r")), name)


def _mixed(s, x, M) -> dict[str, Any]:
    product = [row[0] * x[0] + row[1] * x[1] for row in M]
    return {"total": s * x[0] + x[1], "y": product, "N": [[s + m for m in row] for row in M]}


class Arrays(Hunt):
    """Forms of arrays."""

    name = "arrays"
    about = "element types, strides, byte orders, empty batches, containers and places for results"
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
        return {"function": name, "forms": forms, "out": str(rng.choice(PLACES)), "named": bool(rng.random() < 0.2)}

    def check(self, case: Case) -> Verdict:
        f, forms = function(case["function"]), case["forms"]
        batch = np.broadcast_shapes(*(tuple(form["batch"]) for form in forms))
        single = all(form["dtype"] in ("f4", ">f4") and not _forgets(form) for form in forms)
        dtype = "f4" if single else "f8"
        refused = any(map(is_refused, forms))
        given = [made(form, array.shape) for form, array in zip(forms, f.inputs, strict=True)]
        out = None if refused else _room(case["out"], f, given, batch, dtype)
        refused = refused or (out is not None and case["out"] in ("read-only", "unfit"))
        options: dict[str, Any] = {} if out is None else {"out": out if len(out) > 1 else out[0]}
        count = {"refused" if refused else "compared": 1, f"out: {case['out']}": 1}
        wanted = None if refused else _wanted(f, forms, batch, dtype)  # before `out` writes over an input
        try:
            with np.errstate(all="ignore"):
                if case["named"]:
                    found = f(**dict(zip((array.name for array in f.inputs), given, strict=True)), **options)
                else:
                    found = f(*given, **options)
        except ArgumentError as error:
            return Verdict(counts=count) if refused else Verdict(f"refused: {error.problem}", "refused", counts=count)
        if refused:
            return Verdict("taken, though it should have been refused", "taken", counts=count)
        results = found if isinstance(found, tuple) else (found,)
        assert wanted is not None
        for array, ours, (samples, slow) in zip(f.outputs, results, zip(*wanted, strict=True), strict=True):
            if np.shape(ours) != (*batch, *array.shape) or (out is None and np.asarray(ours).dtype != np.dtype(dtype)):
                return Verdict(f"{array.name} has shape {np.shape(ours)}, {np.asarray(ours).dtype}", "shape or type")
            if not np.array_equal(np.asarray(ours, dtype), samples, equal_nan=True):
                return Verdict(f"{array.name} differs from plain samples", "differs")
            off = np.abs(samples - slow).max(initial=0.0, where=np.isfinite(slow))
            bound = (1e-12 if dtype == "f8" else 1e-4) * max(
                1.0, np.abs(slow).max(initial=0.0, where=np.isfinite(slow))
            )
            if not off <= bound or (np.isnan(slow) != np.isnan(samples)).any():
                return Verdict(f"{array.name} differs from the interpreter by {off:.3g}", "interpreter")
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


def _forgets(form: dict[str, Any]) -> bool:
    """Lists do not know that their numbers were of single precision."""
    return form["holder"] in ("list", "tuple") and 0 not in form["batch"]


def _room(place: str, f: Function, given: list, batch: tuple[int, ...], dtype: str) -> tuple[np.ndarray, ...] | None:
    """Arrays for the results, or None; an input itself, or one that overlaps it, where there is one of that shape."""
    shapes = [(*batch, *array.shape) for array in f.outputs]
    if place == "none":
        return None
    if place in ("an input", "shifted"):
        if len(shapes) > 1:
            return None
        for k, x in enumerate(given):
            usable = type(x) is np.ndarray and x.shape == shapes[0] and x.dtype == np.dtype(dtype) and x.flags.writeable
            if usable and x.ndim and x.size:
                if place == "an input":
                    return (x,)
                room = np.zeros(x.size + 1, x.dtype)
                given[k] = room[:-1].reshape(x.shape)
                given[k][...] = x
                return (room[1:].reshape(x.shape),)
        return None
    if place == "unfit":  # a number alone may be written to any place
        unfit = all(array.shape for array in f.outputs)
        return tuple(np.zeros((*shape[:-1], shape[-1] + 3), dtype) for shape in shapes) if unfit else None
    rooms = tuple(laid_out(np.zeros(shape, dtype), place if place != "read-only" else "C") for shape in shapes)
    if place == "read-only":
        for room in rooms:
            room.setflags(write=False)
    return rooms


def _wanted(f: Function, forms, batch: tuple[int, ...], dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Results of plain samples: of the function itself, and of the interpreter."""
    arguments = [plain(form, array.shape, batch, dtype) for form, array in zip(forms, f.inputs, strict=True)]
    ours = [np.zeros((*batch, *array.shape), dtype) for array in f.outputs]
    slow = [np.zeros((*batch, *array.shape)) for array in f.outputs]
    for place in np.ndindex(batch):
        sample = [x[place] for x in arguments]
        with np.errstate(all="ignore"):
            alone = f(*sample)
        finite = all(np.isfinite(x).all() for x in sample)
        judged = evaluate(f.tape, *sample) if finite else [np.full(array.shape, np.nan) for array in f.outputs]
        for k, value in enumerate(alone if isinstance(alone, tuple) else (alone,)):
            ours[k][place], slow[k][place] = value, judged[k]
    return ours, slow
