"""Compiled tapes against the reference interpreter."""

import numpy as np
import pytest

from appell.compile.llvm import kernel
from appell.compile.llvm.arithmetic import EMIT
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Form
from appell.compile.native import kernels
from appell.compile.native.machine import Target, assemble, host
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from compile.llvm.tapes import ARITHMETIC, EVERYTHING, FUNCTIONS, random_tape, tape
from compile.object_file import undefined_symbols
from compile.ufuncs import make_ufunc


def samples(of, count=9, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.uniform(-2, 2, (count, *array.shape)) for array in of.inputs]


def reference(of, arguments):
    rows = [evaluate(of, *row) for row in zip(*arguments, strict=True)]
    return [np.array(column) for column in zip(*rows, strict=True)]


def test_every_instruction_is_emitted():
    assert set(EMIT) | {Op.CONST, Op.INPUT, Op.SIN, Op.COS} == set(Op)


EXACT = (Op.DIV, Op.SELECT, Op.ROUND, Op.LEVEL, Op.ABS, Op.SIGN, Op.MINIMUM, Op.MAXIMUM)


@pytest.mark.parametrize("seed", range(6))
def test_exactly_rounded_instructions_have_the_bits_of_the_reference(seed):
    of = random_tape(seed, ops=(*ARITHMETIC, *EXACT))
    arguments = samples(of)
    for got, want in zip(make_ufunc(of)(*arguments), reference(of, arguments), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(6))
def test_all_instructions_agree_with_the_reference(seed):
    of = random_tape(seed, length=60, ops=EVERYTHING)
    arguments = samples(of)
    with np.errstate(all="ignore"):
        results = make_ufunc(of)(*arguments)
    for got, want in zip(results, reference(of, arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_select_returns_the_first_value_only_above_zero():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.INPUT, 2), (Op.SELECT, 0, 1, 2)]
    of = make_ufunc(tape({"x": (), "y": (), "z": ()}, {"w": ()}, nodes, [3]))
    np.testing.assert_array_equal(of([1.0, 5e-324, 0.0, -0.0, -1.0], 10.0, 20.0), [10, 10, 20, 20, 20])


def test_select_on_nan_returns_the_second_value():
    nodes = [(Op.INPUT, 0), (Op.SUB, 0, 0), (Op.DIV, 1, 1), (Op.CONST, 3.0), (Op.SELECT, 2, 0, 3)]
    of = make_ufunc(tape({"x": ()}, {"y": ()}, nodes, [4]))
    with np.errstate(invalid="ignore"):
        assert of(1.0) == 3.0


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_level_is_a_power_of_two_of_the_magnitude_of_a_number(kind):
    of = make_ufunc(tape({"x": ()}, {"y": ()}, [(Op.INPUT, 0), (Op.LEVEL, 0)], [1]))
    limits = np.finfo(kind)
    x = np.ldexp(kind(1.7), np.arange(limits.minexp - limits.nmant + 1, limits.maxexp)).astype(kind)
    for levels in (of(x), of(-x)):
        assert levels.dtype == kind
        np.testing.assert_array_equal(np.frexp(levels)[0], 0.5)
        assert (x / levels < 16).all()
        assert (x / levels >= 1 / 16)[10 + limits.nmant :].all()
        assert np.isfinite([4 * levels.max(), 1 / levels.max(), 1 / levels.min()]).all()
    np.testing.assert_array_equal(of(kind([0.0, 1.0, limits.tiny])), [levels.min(), 0.125, levels.min()])


def test_results_may_be_constants_inputs_or_the_same_value_twice():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.CONST, 7.0), (Op.MUL, 0, 1)]
    of = make_ufunc(tape({"x": (2,)}, {"y": (2, 3), "z": ()}, nodes, [3, 2, 0, 1, 3, 2, 3]))
    y, z = of([[2.0, 5.0], [3.0, 4.0]])
    np.testing.assert_array_equal(y, [[[10, 7, 2], [5, 10, 7]], [[12, 7, 3], [4, 12, 7]]])
    np.testing.assert_array_equal(z, [10, 12])


def test_without_fused_multiply_adds_results_agree_to_rounding(monkeypatch):
    """Its results differ from the fused ones in the last places only, sines of all sizes included."""
    of = random_tape(5, length=60)
    arguments = samples(of)
    arguments[0] *= 10.0 ** np.arange(-3, 15, 2)[:, None]
    with np.errstate(all="ignore"):
        fused = make_ufunc(of)(*arguments)
        monkeypatch.setenv("APPELL_CACHE", "off")
        monkeypatch.setattr(kernels, "host", lambda: Target(host().triple, host().cpu, host().features, has_fma=False))
        unfused = make_ufunc(of)(*arguments)
    for got, want in zip(unfused, fused, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("format", [DOUBLE, FLOAT], ids=["doubles", "floats"])
@pytest.mark.parametrize("register", [32, 64])
@pytest.mark.parametrize("cpu", ["host", "x86-64", "x86-64-v3", "x86-64-v4"])
def test_an_object_refers_to_nothing_outside_itself(format, register, cpu):
    """On a processor without fused and rounding instructions too, where LLVM would call a library for them."""
    if cpu != "host" and not host().triple.startswith("x86_64"):
        pytest.skip("another family of processors")
    target = host() if cpu == "host" else Target(host().triple, cpu, "", has_fma=cpu != "x86-64")
    of = random_tape(2, length=200, ops=(*EVERYTHING, Op.ROUND, *FUNCTIONS))
    assert {node[0] for node in of.nodes} >= set(FUNCTIONS)
    image = assemble(kernel.loop_kernel(of, Form(register, format=format, fused=target.has_fma)), target, "all")
    undefined = [symbol for symbol in undefined_symbols(image) if symbol != "_GLOBAL_OFFSET_TABLE_"]
    assert undefined == []


def test_a_tape_of_ten_thousand_nodes_compiles():
    of = random_tape(1, length=10_000, ops=(*ARITHMETIC, Op.SIN, Op.COS))
    assert all(np.isfinite(result).all() for result in make_ufunc(of)(*samples(of)))
