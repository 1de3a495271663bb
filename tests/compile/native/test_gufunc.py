"""Ufuncs give the same bits for any layout and any batch."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from appell.compile.llvm.operands import formula_axes
from appell.compile.native import gufunc, kernels
from appell.compile.program.roll import roll
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape, arrays
from appell.errors import CompileError
from compile.llvm.tapes import ARITHMETIC, arm_like, arm_looped, random_tape, tape
from compile.ufuncs import make_ufunc
from looped_functions import SHAPES as LOOPED
from looped_functions import chain

SHAPES = [(1,), (2,), (3,), (5,), (6,), (7,), (8,), (13,), (2, 3), (7, 7)]
kinds = pytest.mark.parametrize("kind", ["d", "f"])


formulas = pytest.mark.parametrize("like", [arm_like, arm_looped])


@pytest.fixture(scope="module", params=[arm_like, arm_looped])
def arm(request):
    return make_ufunc(request.param())


def draw(shape, kind="d", seed=0):
    return np.random.default_rng(seed).uniform(-3, 3, shape).astype(kind)


def one_by_one(ufunc, *arguments):
    """Return the results of the samples of a batch, one by one."""
    return np.array([ufunc(*sample) for sample in zip(*arguments, strict=True)])


def layouts(x):
    """Yield the same numbers in every memory layout of NumPy; the first axis is the batch."""
    yield "rows", x
    yield "columns", np.asfortranarray(x)
    yield "backwards", np.ascontiguousarray(x[::-1])[::-1]
    yield "elements backwards", np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    spread = np.repeat(np.repeat(x, 2, axis=0), 3, axis=-1)
    yield "every second", spread[::2, ..., ::3]
    yield "every second row", np.repeat(x, 2, axis=0)[::2]
    yield "transposed", np.ascontiguousarray(np.moveaxis(x, 0, -1)).transpose(x.ndim - 1, *range(x.ndim - 1))
    raw = np.empty(x.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    yield "unaligned", unaligned
    yield "other byte order", x.astype(x.dtype.newbyteorder())


@kinds
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31])
def test_a_batch_has_the_bits_of_its_samples(arm, kind, count):
    arguments = [draw((count, 6), kind, seed) for seed in range(3)]
    np.testing.assert_array_equal(arm(*arguments), one_by_one(arm, *arguments))


@kinds
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_layout_of_arguments_and_results_gives_the_same_bits(kind, shape):
    size = int(np.prod(shape))
    inputs, outputs = {"x": shape, "y": ()}, {"z": shape, "s": ()}
    ufunc = make_ufunc(random_tape(1, 4 * size + 20, inputs, outputs, ops=(*ARITHMETIC, Op.SIN)))
    x, y = draw((11, *shape), kind), draw(11, kind, seed=1)
    plain, scalar = ufunc(x, y)
    assert plain.dtype == kind
    np.testing.assert_array_equal(plain, [ufunc(*sample)[0] for sample in zip(x, y, strict=True)])
    for _, given in layouts(x):
        for name, out in layouts(np.full_like(plain, np.nan)):
            if not out.flags.aligned or not out.dtype.isnative:
                continue
            space = np.full(22, np.nan, kind)[::2]
            ufunc(given, y, out=(out, space))
            np.testing.assert_array_equal(out, plain, err_msg=name)
            np.testing.assert_array_equal(space, scalar)


@kinds
@pytest.mark.parametrize("size", [8, 16, 18, 19, 45])
def test_long_rows_have_the_same_bits_at_any_alignment(kind, size):
    ufunc = make_ufunc(random_tape(2, 4 * size, {"x": (3,)}, {"y": (size,)}, ops=ARITHMETIC))
    x = draw((11, 3), kind)
    want = np.array([ufunc(sample) for sample in x])
    for first in range(9):
        space = np.full((13, size + 9), 7.0, kind)
        np.testing.assert_array_equal(ufunc(x, out=space[1:-1, first : first + size]), want)
        space[1:-1, first : first + size] = 7.0
        assert (space == 7.0).all()


def test_nothing_is_written_beyond_the_last_sample(arm):
    space = np.full((10, 6), 7.0)
    for columns in (space, np.asfortranarray(space)):
        arm(*(draw((5, 6), seed=k) for k in range(3)), out=columns[:5])
        assert (columns[5:] == 7.0).all()


def test_arguments_broadcast(arm):
    q, v, a = draw((4, 1, 6)), draw((5, 6), seed=1), draw(6, seed=2)
    full = arm(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(q, v, a)))
    np.testing.assert_array_equal(arm(q, v, a), full)


def test_a_result_may_overwrite_an_argument(arm):
    q, v, a = (draw((9, 6), seed=k) for k in range(3))
    want = arm(q, v, a)
    shifted = np.zeros((10, 6))
    shifted[:9] = q
    np.testing.assert_array_equal(arm(shifted[:9], v, a, out=shifted[1:]), want)
    np.testing.assert_array_equal(arm(q, v, a, out=q), want)


def test_an_empty_batch_is_an_empty_batch(arm):
    assert arm(*np.zeros((3, 0, 6))).shape == (0, 6)
    assert arm(*np.zeros((3, 4, 0, 6), "f")).shape == (4, 0, 6)


def test_integers_and_lists_are_converted_to_float64(arm):
    np.testing.assert_array_equal(arm([1] * 6, np.ones(6, int), (1.0,) * 6), arm(*np.ones((3, 6))))


def test_a_wrong_size_is_rejected(arm):
    with pytest.raises(ValueError, match="core dimension"):
        arm(np.ones(5), np.ones(6), np.ones(6))


def test_the_ufunc_has_a_signature_with_fixed_sizes(arm):
    assert isinstance(arm, np.ufunc)
    assert arm.signature == "(6),(6),(6)->(6)"
    assert arm.types == ["ddd->d", "fff->f"]
    assert arm.__name__ == "arm0"
    assert "torques" in make_ufunc(arm_like(), "The torques.").__doc__
    assert formula_axes(random_tape(0)).signature == "(3),(3),(2,2)->(3),(3,3),()"


@kinds
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_affects_only_its_own_sample(kind, bad):
    """Even if no result depends on the argument, or a result is constant."""
    nodes = [(Op.INPUT, 0), (Op.CONST, 2.0), (Op.MUL, 0, 1), (Op.INPUT, 3), (Op.SIN, 3)]
    ufunc = make_ufunc(tape({"x": (3,), "y": ()}, {"z": (3,), "c": ()}, nodes, [2, 4, 1, 1]))
    x, y = draw((13, 3), kind), draw(13, kind, seed=1)
    plain = ufunc(x, y)
    for sample in (0, 3, 4, 12):
        for element in range(4):
            changed = x.copy(), y.copy()
            (changed[0][:, element] if element < 3 else changed[1])[sample] = bad
            for arguments in (changed, (np.asfortranarray(changed[0]), changed[1])):
                with np.errstate(invalid="raise" if np.isnan(bad) else "ignore"):
                    results = ufunc(*arguments)
                for got, want in zip(results, plain, strict=True):
                    assert np.isnan(got[sample]).all()
                    np.testing.assert_array_equal(np.delete(got, sample, 0), np.delete(want, sample, 0))


@kinds
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_layouts_and_samples_that_are_not_finite_in_a_program(kind, bad):
    """A program tests its inputs and stores its results in another way than a tape."""
    ufunc = make_ufunc(roll("chain", arrays(LOOPED), chain))
    q, v = draw((11, 7), kind), draw((11, 7), kind, seed=1)
    plain = ufunc(q, v)
    np.testing.assert_array_equal(plain[1], [ufunc(*sample)[1] for sample in zip(q, v, strict=True)])
    for name, given in layouts(q):
        space = [
            out for out in layouts(np.full_like(plain[1], np.nan)) if out[1].flags.aligned and out[1].dtype.isnative
        ]
        for _, out in space:
            ufunc(given, v, out=(None, out, None))
            np.testing.assert_array_equal(out, plain[1], err_msg=name)
    for sample in (0, 3, 4, 10):
        for argument in range(2):
            changed = q.copy(), v.copy()
            changed[argument][sample, 5] = bad
            with np.errstate(invalid="ignore"):
                results = ufunc(*changed)
            for got, want in zip(results, plain, strict=True):
                assert np.isnan(got[sample]).all()
                np.testing.assert_array_equal(np.delete(got, sample, 0), np.delete(want, sample, 0))


@kinds
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e5, 1e30])
def test_finite_numbers_raise_only_flags_of_the_equations(kind, size):
    nodes = [(Op.INPUT, k) for k in range(3)] + [(Op.SIN, 0), (Op.COS, 1), (Op.SIN, 2), (Op.ADD, 3, 4)]
    ufunc = make_ufunc(tape({"x": (3,)}, {"y": (2,)}, nodes, [5, 6]))
    with np.errstate(all="raise"):
        for count in (1, 3, 4, 9):
            ufunc((draw((count, 3)) * size).astype(kind))


def test_division_by_zero_is_reported():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.DIV, 0, 1)]
    ufunc = make_ufunc(tape({"x": (2,)}, {"y": ()}, nodes, [2]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        ufunc([1.0, 0.0])
    with np.errstate(divide="ignore"):
        assert ufunc([1.0, 0.0]) == np.inf


@formulas
def test_the_float32_loop_is_compiled_on_first_use_and_then_called_directly(monkeypatch, like):
    made = []
    real = gufunc.load_kernel
    monkeypatch.setattr(gufunc, "load_kernel", lambda *given: made.append(given[1].char) or real(*given))
    ufunc = make_ufunc(like(1))
    assert made == ["d"]
    x = draw((3, 5, 6), "f")
    first = ufunc(*x)
    assert made == ["d", "f"]
    monkeypatch.setattr(gufunc.UfuncLoops, "load", None)
    np.testing.assert_array_equal(ufunc(*x), first)
    np.testing.assert_allclose(first, ufunc(*x.astype("d")), rtol=1e-3, atol=1e-3)
    assert made == ["d", "f"]


def test_a_float32_loop_that_cannot_be_compiled_gives_nan_and_a_report(monkeypatch):
    nodes = [(Op.INPUT, 0), (Op.NEG, 0)]
    ufunc = make_ufunc(tape({"x": (2,)}, {"y": (2,), "z": (2, 2)}, nodes, [1, 1, 0, 1, 0, 1]))

    def fail(*given):
        raise CompileError("no floats today")

    reported = []
    monkeypatch.setattr(gufunc, "load_kernel", fail)
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: reported.append(str(problem.exc_value)))
    y, z = ufunc(np.ones((3, 2), "f"))
    assert np.isnan(y).all()
    assert np.isnan(z).all()
    assert reported == ["no floats today"]
    monkeypatch.undo()
    assert (ufunc(np.ones((3, 2), "f"))[0] == -1).all()


@formulas
def test_code_is_freed_with_its_ufunc(monkeypatch, like):
    alive = []
    real = gufunc.load_kernel

    def remember(*given):
        code = real(*given)
        alive.append(weakref.ref(code))
        return code

    monkeypatch.setattr(gufunc, "load_kernel", remember)
    x = draw((3, 9, 6))
    kept = make_ufunc(like(2))
    want = kept(*x)
    for seed in range(3, 6):
        make_ufunc(like(seed))(*x.astype("f"))
    gc.collect()
    assert [code() is not None for code in alive] == [True] + [False] * 6
    np.testing.assert_array_equal(kept(*x), want)
    del kept
    gc.collect()
    assert alive[0]() is None


@formulas
def test_threads_share_a_kernel_and_its_first_float_call(like):
    ufunc = make_ufunc(like(6))
    x = draw((3, 2000, 6), "f")
    barrier = threading.Barrier(4)

    def work(_):
        barrier.wait()
        return ufunc(*x)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_kernel_works_in_a_forked_process(arm):
    x = draw((3, 100, 6))
    want = arm(*x)
    ours, theirs = multiprocessing.Pipe()
    if (child := os.fork()) == 0:
        try:
            theirs.send((arm(*x) == want).all() and make_ufunc(arm_like(7))(*x).shape == want.shape)
        finally:
            os._exit(0)
    try:
        assert ours.poll(60)
        assert ours.recv()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_tape_that_cannot_be_a_ufunc_is_rejected_by_name():
    x, y = Array("x", (2,)), Array("y", ())
    node = ((Op.INPUT, 0),)
    with pytest.raises(CompileError, match="'f' has no arguments"):
        make_ufunc(Tape("f", (), (y,), ((Op.CONST, 1.0),), (0,)))
    with pytest.raises(CompileError, match="'f' has no results"):
        make_ufunc(Tape("f", (x,), (), node, ()))
    with pytest.raises(CompileError, match=r"'f': e\[0\] is empty"):
        make_ufunc(Tape("f", (x, Array("e", (0,))), (y,), node, (0,)))
    with pytest.raises(CompileError, match="'f' has 41 arguments"):
        make_ufunc(Tape("f", (x,), (y,) * 40, node, (0,) * 40))


def test_code_that_llvm_rejects_names_the_function(monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(kernels, "KERNELS", {"loop": lambda *given: "nonsense"})
    with pytest.raises(CompileError, match="LLVM rejected the code of 'arm0'"):
        make_ufunc(arm_like())
