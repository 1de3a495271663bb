"""Array-likes in arguments of public constructors and functions: the result of the plain form, or a named error.

A call has one argument, a table of numbers of a given shape. The same numbers are passed as lists, tuples, NumPy arrays
of several element types and layouts, nested vectors, scipy Rotations, and more; a form that is accepted must give the
same result. Values that are not such tables (texts, None, ragged lists, integers beyond float range, NaN, objects) must
be rejected with an error of appell.
"""

from __future__ import annotations

import array
import decimal
import fractions
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import appell as ap
from appell.compile.cache.content_hash import content_hash
from appell.errors import AppellError
from appell.model.constraint import check_constraints
from appell_lab.fuzz.target import Case, Target, Verdict


def _arm() -> Any:
    return ap.load("planar-2r")


@cache
def _dynamics() -> ap.Dynamics:
    return ap.Dynamics(_arm())


def _framed(pose: Any) -> Any:
    return _arm().with_frames([ap.Frame("f", "lower", pose)])


def _checked(constraint: Any) -> Any:
    check_constraints(_arm(), [constraint])
    return constraint


def _limited(upper: Any) -> Any:
    first, *others = _arm().links
    return replace(_arm(), links=(replace(first, joint=replace(first.joint, limits=ap.Limits(-1.0, upper))), *others))


# a call by name: the shape of its argument, whether its numbers form a rotation, and the call
CALLS: dict[str, tuple[tuple[int, ...], str, Callable[[Any], Any]]] = {
    "Plane(normal)": ((3,), "", lambda x: ap.Plane(x)),
    "Plane(offset)": ((), "", lambda x: ap.Plane(offset=x)),
    "Sphere(radius)": ((), "positive", lambda x: ap.Sphere(x)),
    "Sphere(center)": ((3,), "", lambda x: ap.Sphere(1.0, x)),
    "Cylinder(axis)": ((3,), "", lambda x: ap.Cylinder(1.0, axis=x)),
    "with_gravity": ((3,), "", lambda x: _arm().with_gravity(x)),
    "with_payload": ((), "positive", lambda x: _arm().with_payload(x, "tool")),
    "with_payload(com)": ((3,), "", lambda x: _arm().with_payload(1.0, "tool", com=x)),
    "Pose(rotation)": ((3, 3), "rotation", lambda x: _framed(ap.Pose(x))),
    "Pose(translation)": ((3,), "", lambda x: _framed(ap.Pose(translation=x))),
    "Pose.from_rpy": ((3,), "", lambda x: _framed(ap.Pose.from_rpy(x))),
    "Pose.from_matrix": ((4, 4), "pose", lambda x: _framed(ap.Pose.from_matrix(x))),
    "Weld(b)": ((4, 4), "pose", lambda x: _checked(ap.Weld("tool", ap.Pose.from_matrix(x)))),
    "Revolute(axis)": ((3,), "", lambda x: ap.Joint("j", ap.Revolute(x))),
    "Distance(length)": ((), "positive", lambda x: _checked(ap.Distance("tool", None, x))),
    "Gear(offset)": ((), "", lambda x: _checked(ap.Gear({"elbow": 1.0}, x))),
    "DH(com)": ((3,), "", lambda x: ap.from_dh([ap.DH(mass=1.0, com=x, inertia=(1.0, 1.0, 1.0))])),
    "Contact(friction)": ((), "positive", lambda x: ap.Contact("tool", ap.Plane(), friction=x)),
    "Limits(upper)": ((), "positive", lambda x: _limited(x)),
    "integrate(q)": ((2,), "", lambda x: _arm().integrate(x, [0.1, 0.2])),
    "rate(q)": ((2,), "", lambda x: _dynamics().gravity(x)),
    "simulate(q0)": ((2,), "", lambda x: ap.simulate(_dynamics(), x, [0.0, 0.0], until=1e-3).q[-1]),
    "simulate(until)": ((), "short", lambda x: ap.simulate(_dynamics(), [0.1, 0.2], until=x).q[-1]),
    "Record.of(t)": ((4,), "sorted", lambda x: ap.Record.of(x, {"q": np.ones((4, 2))}, ["a", "b"]).data),
    "Record.of(q)": ((4, 2), "", lambda x: ap.Record.of(np.arange(4.0), {"q": x}, ["a", "b"]).data),
}
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: _nested(x, tuple),
    "rows as arrays": lambda x: [*x] if x.ndim else x[()],
    "array": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "long double": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "integers": lambda x: x.astype(int),
    "int8": lambda x: x.astype(np.int8),
    "unsigned": lambda x: x.astype(np.uint64),
    "booleans": lambda x: x.astype(bool),
    "objects": lambda x: x.astype(object),
    "Fortran order": np.asfortranarray,
    "read-only": lambda x: _read_only(x),
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "matrix": lambda x: np.asmatrix(x) if x.ndim == 2 else x,
    "masked": np.ma.array,
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)) if x.ndim else x,  # type: ignore[arg-type]
    "array module": lambda x: array.array("d", x.tolist()) if x.ndim == 1 else x,
    "generator": lambda x: (y for y in x.tolist()) if x.ndim else x,
    "fractions": lambda x: _mapped(x, fractions.Fraction),
    "decimals": lambda x: _mapped(x, lambda y: decimal.Decimal(repr(y))),
    "texts": lambda x: _mapped(x, str),
    "numpy scalars": lambda x: _mapped(x, np.float64),
    "0-d arrays": lambda x: _mapped(x, np.asarray),
    "Vec3": lambda x: ap.Vec3(*x.tolist()) if x.shape == (3,) else x,
    "Rotation": lambda x: _rotation(x),
    "series": lambda x: _pandas(x),
    "torch": lambda x: _torch(x),
}
BAD: dict[str, Callable[[np.ndarray], Any]] = {
    "text": lambda x: "abc",
    "text of numbers": lambda x: " ".join(map(str, x.ravel())),
    "bytes": lambda x: b"\x00" * 8 * x.size,
    "None": lambda x: _mapped(x, lambda _: None) if x.ndim else None,
    "ragged": lambda x: [[1.0], [2.0, 3.0], 4.0],
    "huge integer": lambda x: _mapped(x, lambda _: 10**400),
    "NaN": lambda x: x * np.nan,
    "infinite": lambda x: x + np.inf,
    "complex": lambda x: x + 1j,
    "dict": lambda x: {"x": 1.0},
    "set": lambda x: {1.0, 2.0, 3.0, 4.0},
    "object": lambda x: object(),
    "class": lambda x: float,
    "function": lambda x: _mapped,
    "too long": lambda x: np.zeros((*x.shape[:-1], 7)) if x.ndim else [1.0, 2.0],
    "empty": lambda x: [],
    "one more axis": lambda x: x[None].repeat(2, 0) if x.ndim else np.zeros((2, 2)),
    "datetime": lambda x: x.astype("M8[s]"),
    "structured": lambda x: np.zeros(x.shape, "f8,f8"),
}
BATCHED = ("integrate(q)", "rate(q)")  # leading axes are samples, and NaN is a result


class ArrayLikes(Target):
    """Array-likes in arguments of public constructors and functions."""

    name = "array-likes"
    about = "lists, arrays of all kinds, Rotations, texts, None, ragged and huge numbers in public constructors"
    seconds = 20.0
    share = 0.3

    def prepare(self) -> None:
        for shape, kind, call in CALLS.values():
            call(_numbers(shape, kind, 0).tolist())

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 40])
        form = str(rng.choice([*FORMS, *BAD]))
        return {"call": str(rng.choice(list(CALLS))), "form": form, "numbers": int(rng.integers(10**6))}

    def check(self, case: Case) -> Verdict:
        shape, kind, call = CALLS[case["call"]]
        numbers = _numbers(shape, kind, case["numbers"])
        bad = case["form"] in BAD
        if case["form"] in ("integers", "int8", "unsigned", "booleans"):
            numbers = np.abs(np.round(numbers)) if kind in ("", "positive") else numbers
            numbers = np.minimum(numbers, 1.0) + (numbers == 0) * (kind == "positive")
            if not numbers.any():
                numbers = np.ones(shape)
            if kind not in ("", "positive"):
                return Verdict(counts={"not integers": 1})
        if case["form"] in ("float32", "float16"):
            numbers = numbers.astype(np.float16).astype(float) if kind in ("", "positive", "sorted") else numbers
            if kind not in ("", "positive", "sorted"):
                return Verdict(counts={"not exact": 1})
        value = (BAD if bad else FORMS)[case["form"]](numbers)
        where = f"{case['call']} of {case['form']}"
        try:
            result = call(value)
        except AppellError:
            return Verdict(counts={"rejected": 1} | ({} if bad else {f"{case['form']} rejected": 1}))
        except Exception as error:
            return Verdict(f"{where}: {type(error).__name__}: {error}"[:400], f"raw {where}")
        if bad:
            accepted = case["call"] in BATCHED or (case["form"] in ("None", "infinite") and not shape)
            accepted |= case["call"] == "Record.of(q)" and case["form"] in ("NaN", "infinite")
            problem = "" if accepted else f"{where} was accepted: {result!r}"[:300]
            return Verdict(problem, f"accepted {where}" if problem else "", counts={"accepted": 1})
        plain = value.as_matrix() if hasattr(value, "as_matrix") else numbers  # a Rotation is normalised
        expected = call(plain.tolist())
        if not _same(result, expected):
            return Verdict(f"{where} gives {result!r} instead of {expected!r}"[:600], f"differs {where}")
        return Verdict(counts={"compared": 1})

    def smaller(self, case: Case) -> Iterator[Case]:
        yield from ()


def _numbers(shape: tuple[int, ...], kind: str, seed: int) -> np.ndarray:
    """Return the plain numbers of an argument."""
    rng = np.random.default_rng(seed)
    if kind in ("rotation", "pose"):
        rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        rotation *= np.linalg.det(rotation)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, rng.normal(size=3)
        return pose[: shape[0], : shape[1]]
    if kind == "short":
        return np.array(rng.uniform(1e-4, 1e-3))
    values = np.asarray(rng.normal(size=shape))
    return np.abs(values) + 0.25 if kind == "positive" else np.sort(values) if kind == "sorted" else values


def _nested(x: np.ndarray, kind: Callable) -> Any:
    return kind(_nested(y, kind) for y in x) if x.ndim else x.item()


def _mapped(x: np.ndarray, function: Callable[[float], Any]) -> Any:
    return [_mapped(y, function) for y in x] if x.ndim else function(x.item())


def _read_only(x: np.ndarray) -> np.ndarray:
    copy = np.array(x)
    copy.setflags(write=False)
    return copy


def _rotation(x: np.ndarray) -> Any:
    if x.shape != (3, 3):
        return x
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(x)


def _pandas(x: np.ndarray) -> Any:
    import pandas

    return pandas.Series(x) if x.ndim == 1 else x


def _torch(x: np.ndarray) -> Any:
    import torch

    return torch.as_tensor(np.array(x))


def _same(result: Any, expected: Any) -> bool:
    if isinstance(expected, np.ndarray):
        bound = 1e-5 if getattr(result, "dtype", None) == np.float32 else 1e-12
        return bool(np.allclose(np.asarray(result), expected, rtol=bound, atol=bound))
    one, other = content_hash(result), content_hash(expected)
    return bool(result == expected) or (one is not None and one == other)
