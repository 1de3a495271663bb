"""Exponential, logarithm, power and other functions compared with multiple-precision arithmetic.

`benchmarks/operations_accuracy.py` does the same on a million points.
"""

from functools import cache

import numpy as np
import pytest

import appell as ap
from appell.algebra.loops import Rows
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.native import kernels
from appell.compile.native.machine import Target, host
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from appell_lab.campaigns.operations import OPERATIONS, CLibrary, Errors, kernel, points
from compile.llvm.tapes import random_tape
from compile.ufuncs import make_ufunc
from programs import find_program

COUNT = 1200  # points of an operation and format
FORMATS = (np.float64, np.float32)
CASES = [(name, dtype) for name in OPERATIONS for dtype in FORMATS]
IDS = [f"{name}-{np.dtype(dtype).name}" for name, dtype in CASES]


@cache
def errors(name, dtype) -> Errors:
    return Errors(name, points(name, dtype, COUNT, seed=7))


def results(name, dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        return kernel(name, 32)(*errors(name, dtype).arguments)


def bits(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0, x.view(f"i{x.itemsize}"))


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=IDS)
def test_results_are_accurate_and_do_not_depend_on_the_width_of_registers(name, dtype):
    of, result = errors(name, dtype), results(name, dtype)
    assert result.dtype == dtype
    worst, at = of.worst(result)
    assert worst <= OPERATIONS[name].bound, at
    with np.errstate(all="ignore"):
        wide = kernel(name, 64)(*of.arguments)
    np.testing.assert_array_equal(bits(wide), bits(result))


@pytest.mark.parametrize("dtype", FORMATS)
def test_results_without_fused_instructions_are_as_accurate(dtype, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(kernels, "host", lambda: Target(host().triple, host().cpu, host().features, has_fma=False))
    for name, of in OPERATIONS.items():
        worst, at = errors(name, dtype).worst(results(name, dtype))
        assert worst <= of.bound, (name, at)


@pytest.mark.skipif(not host().has_fma, reason="exported C code uses fused multiply-adds")
@pytest.mark.parametrize("dtype", FORMATS)
def test_exported_c_code_gives_the_same_bits(dtype, tmp_path):
    find_program("gcc")
    library = CLibrary(tmp_path, dtype)
    for name in OPERATIONS:
        np.testing.assert_array_equal(bits(library(name, errors(name, dtype).arguments)), bits(results(name, dtype)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_nan_and_ordinary_numbers_raise_no_flag(name):
    function, operands = kernel(name, 32), OPERATIONS[name].operands
    x = np.concatenate([np.linspace(0.01, 0.99, 40), [1.0, np.nan, 1e-3, 1e-9]])
    function(*[x] * operands)
    with np.errstate(all="raise"):
        assert np.isnan(function(*[x] * operands)).sum() == 1


EDGE_VALUES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -3.0, 2.5, 1e300, -1e300, 1e-310, 2.0**53]


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_that_become_infinite_or_nan_within_a_formula_follow_numpy(name):
    of = OPERATIONS[name]
    grids = [grid.ravel() for grid in np.meshgrid(*[EDGE_VALUES] * of.operands)]
    fractions = {"inf": (1.0, 0.0), "-inf": (-1.0, 0.0), "nan": (0.0, 0.0)}
    pairs = np.array([[fractions.get(str(float(x)), (x, 1.0)) for x in grid] for grid in grids])
    inputs = dict.fromkeys("xy"[: of.operands], 2)
    divided = Function.of(name, inputs, lambda *x: {"z": of.function(*(a / b for a, b in x))})
    expected = np.array([of.function(*x) for x in zip(*(grid.tolist() for grid in grids), strict=True)])
    with np.errstate(all="ignore"):
        result = divided(*pairs)
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[number]), np.signbit(expected[number]))


def test_chunks_of_a_long_tape_call_the_same_functions():
    bounded = (Op.TANH, Op.ERF, Op.ABS, Op.MINIMUM, Op.SIN, Op.FMA, Op.SUB)
    of = random_tape(4, length=1500, ops=bounded)
    arguments = [np.random.default_rng(1).uniform(-1.0, 1.0, (5, *array.shape)) for array in of.inputs]
    results = make_ufunc(of, form=Form(chunk=100))(*arguments)
    for k, row in enumerate(zip(*arguments, strict=True)):
        for result, expected in zip(results, evaluate(of, *row), strict=True):
            np.testing.assert_allclose(result[k], expected, rtol=1e-9, atol=1e-9)


def test_functions_in_loops_give_the_same_bits_for_batches_and_single_samples():
    def body(x, loops):
        rows, table = loops.given([[each] for each in x]), loops.table(32, 1)
        step = [lambda row: [[ap.exp(row[0]) * ap.power(2.0 + row[0] * row[0], 0.3) + ap.maximum(row[0], 0.1)]]]
        loops.each(step, [0] * 32, [Rows(rows, range(32))], [Rows(table, range(32))])
        return {"y": [row[0] for row in loops.values(table)]}

    function, x = Function.of("looped", {"x": 32}, body, loops=True), np.random.default_rng(2).normal(size=(9, 32))
    y, single = function(x), function.bind()
    np.testing.assert_allclose(y, np.exp(x) * (2.0 + x * x) ** 0.3 + np.maximum(x, 0.1), rtol=4e-15)
    single.x[:] = x[3]
    single()
    np.testing.assert_array_equal(single.y, y[3])
    np.testing.assert_array_equal(function(x[3]), y[3])
