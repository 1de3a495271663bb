"""Accuracy of the functions of scalars, compared with mpmath: points, exact values, errors in units of the last place.

    arguments = points("tanh", np.float64, 1000, seed=1)
    errors = Errors("tanh", arguments)
    errors.worst(kernel("tanh", register=64)(*arguments))       largest error of finite results, and its argument

Points include zeros, the smallest and the largest numbers, limits between the branches of an algorithm with their
neighbours, numbers of all magnitudes, and numbers near the points where a function has a zero, a pole or an edge. A
result that is zero, infinite or NaN by definition must be equal; every other one is measured in units of the last place
of the exact value, which for subnormal results is the smallest number.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from mpmath import libmp

import appell as ap
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.tape.passes import fuse

EXACT_BITS = 110  # of the reference values
MAX_LOGARITHM = 2000.0  # beyond it, an exponential is 0 or infinite in every format


@dataclass(frozen=True)
class Operation:
    """A function of scalars, and where its points are."""

    function: Callable
    exact: Callable | None = None  # of mpmath's numbers; None if the results are exact
    bound: float = 0.0  # units in the last place
    intervals: tuple[tuple[float, float], ...] = ((-10.0, 10.0),)  # in which points are uniformly distributed
    near: tuple[float, ...] = ()  # points are concentrated near these numbers
    edges: tuple[float, ...] = ()
    operands: int = 1


_LIMITS = (-745.2, -745.14, -708.4, -103.98, -87.34, 88.73, 709.79)  # of the exponents of both formats
_HALVES = tuple(k * math.log(2.0) / 2.0 for k in (-3, -1, 1, 3, 5))
OPERATIONS = {
    "exp": Operation(ap.exp, libmp.mpf_exp, 2.0, ((-1, 1), (-40, 40), (-750, 712)), (0, *_HALVES), _LIMITS),
    "log": Operation(ap.log, libmp.mpf_log, 2.0, ((0, 2), (0.9, 1.1), (0, 1e5)), (1, 2**0.5, 0.5**0.5, 0)),
    "tanh": Operation(ap.tanh, libmp.mpf_tanh, 2.0, ((-1, 1), (0.5, 0.7), (-23, 23)), (0,), (0.6, 9.1, 10, 19.1, 22)),
    "arcsin": Operation(ap.arcsin, libmp.mpf_asin, 2.0, ((-1, 1), (0.45, 0.55)), (-1, 1, 0), (0.5, 1.5)),
    "arccos": Operation(ap.arccos, libmp.mpf_acos, 2.0, ((-1, 1), (0.45, 0.55)), (-1, 1, 0), (0.5, 1.5)),
    "erf": Operation(ap.erf, libmp.mpf_erf, 4.0, ((-1, 1), (0.9, 1.5), (-6, 6)), (0,), (1, 3.92, 4, 5.92, 5.95)),
    "power": Operation(ap.power, libmp.mpf_pow, 4.0, operands=2),
    "abs": Operation(ap.abs),
    "sign": Operation(ap.sign),
    "minimum": Operation(ap.minimum, operands=2),
    "maximum": Operation(ap.maximum, operands=2),
}


@cache
def every_operation() -> Function:
    """Return the function of x and y with one result per operation."""
    return Function.of(
        "operations",
        {"x": (), "y": ()},
        lambda x, y: {name: of.function(*(x, y)[: of.operands]) for name, of in OPERATIONS.items()},
    )


def kernel(name: str, register: int) -> np.ufunc:
    """Return an operation, compiled for registers of this many bytes."""
    of = OPERATIONS[name]
    tape = Function.of(name, dict.fromkeys("xy"[: of.operands], ()), lambda *x: {name: of.function(*x)}).tape
    return UfuncLoops(fuse(tape), form=Form(register)).ufunc()


class CLibrary:
    """The exported C code of all operations, compiled by gcc in a new folder."""

    def __init__(self, folder: Path, dtype: type, flags: Sequence[str] = ("-O2", "-march=native")):
        every_operation().to_c("operations", dtype=np.dtype(dtype)).write(folder, overwrite=True)
        command = ["gcc", "-std=c99", *flags, "-ffp-contract=off", "-fPIC", "-shared", "operations.c"]
        subprocess.run([*command, "-o", "operations.so", "-lm"], cwd=folder, check=True)
        self._library, self._dtype = ctypes.CDLL(str(folder / "operations.so")), dtype

    def __call__(self, name: str, arguments: Sequence[np.ndarray]) -> np.ndarray:
        """Return the results of one operation."""
        count = len(arguments[0])
        arrays = [*arguments, np.zeros(count, self._dtype)][:2] + [np.zeros(count, self._dtype) for _ in OPERATIONS]
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        self._library.operations_batch(ctypes.c_size_t(count), *addresses)
        return arrays[2 + list(OPERATIONS).index(name)]


def points(name: str, dtype: type, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return `count` arguments of an operation.

    Parameters
    ----------
    name : name of the operation
    dtype : np.float64 or np.float32
    count : number of points
    seed : seed of the random numbers
    """
    of, rng = OPERATIONS[name], np.random.default_rng(seed)
    if name == "power":
        return _powers(dtype, count, rng)
    if of.operands == 2:
        x, y = _magnitudes(dtype, count, rng), _magnitudes(dtype, count, rng)
        return x, np.where(rng.random(count) < 0.3, rng.choice([1, -1], count) * x, y).astype(dtype)
    part = count // 10
    centres = np.array([*of.near, *of.edges, 1.0])
    distance = np.exp2(rng.uniform(-np.finfo(dtype).nmant - 3, -1, 3 * part)) * rng.choice([-1, 1], 3 * part)
    parts = [_edges(dtype, of.edges), _magnitudes(dtype, part, rng), rng.choice(centres, 3 * part) * (1 + distance)]
    parts.append(distance[: part // 2])
    low, high = rng.choice(of.intervals, count - sum(map(len, parts))).T
    x = _as_finite(np.concatenate([*parts, rng.uniform(low, high)]), dtype)
    return (np.where(rng.random(count) < 0.99, np.abs(x), x) if name == "log" else x,)


def _edges(dtype: type, centres: Sequence[float]) -> np.ndarray:
    """Return numbers at the limits of the format and at these centres, with their neighbours, of both signs."""
    limits = np.finfo(dtype)
    powers = [2.0**-limits.nmant, 0.5, 1.0, 2.0, 2.0**limits.nmant]
    sizes = [0.0, float(limits.smallest_subnormal), float(limits.tiny), *powers, float(limits.max), *map(abs, centres)]
    x: np.ndarray = np.array(sizes, dtype)
    with np.errstate(over="ignore"):
        x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(np.inf))])
    return np.concatenate([x, -x])


def _magnitudes(dtype: type, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return numbers of all magnitudes, subnormal numbers included."""
    limits = np.finfo(dtype)
    lowest = limits.minexp - limits.nmant
    size = np.exp2(rng.uniform(lowest, limits.maxexp - 1e-9, count)) * rng.choice([-1, 1], count)
    edges = rng.choice(_edges(dtype, ()), count)
    return _as_finite(np.where(rng.random(count) < 0.1, edges, size), dtype)


def _as_finite(x: np.ndarray, dtype: type) -> np.ndarray:
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    return np.where(np.isfinite(x), x, dtype(1)).astype(dtype)


def _powers(dtype: type, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return bases and exponents: results of all magnitudes, bases near 1, small and integer exponents, edges."""
    limits, kind = np.finfo(dtype), rng.integers(0, 20, count)
    near = 1 + np.exp2(rng.uniform(-limits.nmant, -1, count)) * rng.choice([-1, 1], count)
    x = np.select([kind < 6, kind < 12, kind < 18], [rng.uniform(0, 3, count), near, _magnitudes(dtype, count, rng)], 0)
    x = _as_finite(np.where(kind < 16, np.abs(x), x), dtype)
    with np.errstate(all="ignore"):
        logarithm = np.log(np.abs(x.astype(float)))
        filling = rng.uniform(
            1.02 * math.log(float(limits.smallest_subnormal)), 1.02 * math.log(float(limits.max)), count
        )
        y = np.where(rng.random(count) < 0.7, filling / logarithm, rng.uniform(-5, 5, count))
        y = np.where((rng.random(count) < 0.2) | (x < 0), np.rint(y), y)
    y = np.where(kind >= 17, _magnitudes(dtype, count, rng), y)
    special = _edges(dtype, (3.0, 0.5))
    x, y = np.where(kind == 19, rng.choice(special, count), x), np.where(kind == 19, rng.choice(special, count), y)
    return _as_finite(x, dtype), _as_finite(y, dtype)


@dataclass(frozen=True)
class Errors:
    """Exact values of an operation at some arguments."""

    name: str
    arguments: tuple[np.ndarray, ...]

    @cached_property
    def defined(self) -> np.ndarray:
        """Results of Python's functions, which are zero, infinite or NaN where they must be."""
        function = OPERATIONS[self.name].function
        return np.array([function(*x) for x in zip(*(a.tolist() for a in self.arguments), strict=True)])

    @cached_property
    def exact(self) -> list:
        """Exact values as numbers of mpmath; None where the result is compared with `defined`."""
        exact, values = OPERATIONS[self.name].exact, []
        for *x, result in zip(*(a.tolist() for a in self.arguments), self.defined.tolist(), strict=True):
            values.append(self._exact(exact, *x) if exact and self._is_measured(result, *x) else None)
        return values

    def _is_measured(self, result: float, x: float, y: float = 1.0) -> bool:
        if self.name == "power":
            return x != 0.0 and result == result and abs(y * math.log(abs(x))) < MAX_LOGARITHM
        if self.name == "exp":
            return abs(x) < MAX_LOGARITHM
        return math.isfinite(result) and not (self.name == "erf" and abs(x) > 100.0)

    def _exact(self, exact: Callable, x: float, *y: float):
        negative = self.name == "power" and x < 0.0
        numbers = [libmp.from_float(abs(x) if negative else x), *map(libmp.from_float, y)]
        value = exact(*numbers, EXACT_BITS, "n")
        return libmp.mpf_neg(value) if negative and y[0] % 2.0 == 1.0 else value

    def worst(self, results: np.ndarray) -> tuple[float, tuple[float, ...]]:
        """Return the largest error in units of the last place, infinite for a wrong special value, and where it is."""
        limits, (worst, at) = np.finfo(results.dtype), (0.0, 0)
        with np.errstate(over="ignore", under="ignore"):
            special = self.defined.astype(results.dtype)
        rows = enumerate(zip(results.tolist(), self.exact, special.tolist(), strict=True))
        for k, (result, exact, defined) in rows:
            if exact is None:
                same = result == defined and math.copysign(1.0, result) == math.copysign(1.0, defined)
                error = 0.0 if same or (result != result and defined != defined) else math.inf
            else:
                error = _units(result, exact, limits)
            if error > worst:
                worst, at = error, k
        return worst, tuple(float(x[at]) for x in self.arguments)


def _units(result: float, exact, limits: np.finfo) -> float:
    """Return |result - exact| in units of the last place of the exact value; infinity counts as 2^maxexp."""
    if result != result:
        return math.inf
    _, _, exponent, bits = exact
    last = max(exponent + bits - 1, limits.minexp) if bits else limits.minexp
    if math.isinf(result):
        if last < limits.maxexp - 1 or (result < 0.0) != bool(exact[0]):
            return math.inf
        given = libmp.mpf_shift(libmp.from_int(1 if result > 0.0 else -1), limits.maxexp)
        if libmp.mpf_ge(libmp.mpf_abs(exact), libmp.mpf_abs(given)):
            return 0.0
    else:
        given = libmp.from_float(result)
        if last >= limits.maxexp:
            last = limits.maxexp - 1
    difference = libmp.mpf_sub(given, exact, 30, "n")
    return abs(libmp.to_float(libmp.mpf_shift(difference, limits.nmant - last)))
