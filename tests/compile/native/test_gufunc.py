"""The ufunc: any layout, any batch, the same bits."""

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
    """What the samples of a batch give alone."""
    return np.array([ufunc(*sample) for sample in zip(*arguments, strict=True)])


def layouts(x):
    """The same numbers in every way NumPy can lay them out; the first axis is the batch."""
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
            room = np.full(22, np.nan, kind)[::2]
            ufunc(given, y, out=(out, room))
            np.testing.assert_array_equal(out, plain, err_msg=name)
            np.testing.assert_array_equal(room, scalar)


@kinds
@pytest.mark.parametrize("size", [8, 16, 18, 19, 45])
def test_long_rows_have_the_same_bits_wherever_they_begin(kind, size):
    ufunc = make_ufunc(random_tape(2, 4 * size, {"x": (3,)}, {"y": (size,)}, ops=ARITHMETIC))
    x = draw((11, 3), kind)
    want = np.array([ufunc(sample) for sample in x])
    for first in range(9):
        room = np.full((13, size + 9), 7.0, kind)
        np.testing.assert_array_equal(ufunc(x, out=room[1:-1, first : first + size]), want)
        room[1:-1, first : first + size] = 7.0
        assert (room == 7.0).all()


def test_nothing_is_written_beyond_the_last_sample(arm):
    room = np.full((10, 6), 7.0)
    for columns in (room, np.asfortranarray(room)):
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


def test_integers_and_lists_are_taken_as_doubles(arm):
    np.testing.assert_array_equal(arm([1] * 6, np.ones(6, int), (1.0,) * 6), arm(*np.ones((3, 6))))


def test_a_wrong_size_is_refused(arm):
    with pytest.raises(ValueError, match="core dimension"):
        arm(np.ones(5), np.ones(6), np.ones(6))


def test_it_is_a_ufunc_with_a_frozen_signature(arm):
    assert isinstance(arm, np.ufunc)
    assert arm.signature == "(6),(6),(6)->(6)"
    assert arm.types == ["ddd->d", "fff->f"]
    assert arm.__name__ == "arm0"
    assert "torques" in make_ufunc(arm_like(), "The torques.").__doc__
    assert formula_axes(random_tape(0)).signature == "(3),(3),(2,2)->(3),(3,3),()"


@kinds
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_spoils_its_own_sample_and_no_other(kind, bad):
    """Also where it is an argument that no result depends on, and where a result is a constant."""
    nodes = [(Op.INPUT, 0), (Op.CONST, 2.0), (Op.MUL, 0, 1), (Op.INPUT, 3), (Op.SIN, 3)]
    ufunc = make_ufunc(tape({"x": (3,), "y": ()}, {"z": (3,), "c": ()}, nodes, [2, 4, 1, 1]))
    x, y = draw((13, 3), kind), draw(13, kind, seed=1)
    plain = ufunc(x, y)
    for sample in (0, 3, 4, 12):
        for element in range(4):
            spoilt = x.copy(), y.copy()
            (spoilt[0][:, element] if element < 3 else spoilt[1])[sample] = bad
            for arguments in (spoilt, (np.asfortranarray(spoilt[0]), spoilt[1])):
                with np.errstate(invalid="raise" if np.isnan(bad) else "ignore"):
                    results = ufunc(*arguments)
                for got, want in zip(results, plain, strict=True):
                    assert np.isnan(got[sample]).all()
                    np.testing.assert_array_equal(np.delete(got, sample, 0), np.delete(want, sample, 0))


@kinds
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_every_layout_and_every_spoilt_sample_of_a_program(kind, bad):
    """A program has ways of its own to test its inputs, and to leave its results in their slots."""
    ufunc = make_ufunc(roll("chain", arrays(LOOPED), chain))
    q, v = draw((11, 7), kind), draw((11, 7), kind, seed=1)
    plain = ufunc(q, v)
    np.testing.assert_array_equal(plain[1], [ufunc(*sample)[1] for sample in zip(q, v, strict=True)])
    for name, given in layouts(q):
        room = [
            out for out in layouts(np.full_like(plain[1], np.nan)) if out[1].flags.aligned and out[1].dtype.isnative
        ]
        for _, out in room:
            ufunc(given, v, out=(None, out, None))
            np.testing.assert_array_equal(out, plain[1], err_msg=name)
    for sample in (0, 3, 4, 10):
        for argument in range(2):
            spoilt = q.copy(), v.copy()
            spoilt[argument][sample, 5] = bad
            with np.errstate(invalid="ignore"):
                results = ufunc(*spoilt)
            for got, want in zip(results, plain, strict=True):
                assert np.isnan(got[sample]).all()
                np.testing.assert_array_equal(np.delete(got, sample, 0), np.delete(want, sample, 0))


@kinds
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e5, 1e30])
def test_finite_numbers_raise_no_flag_that_the_equations_do_not_raise(kind, size):
    nodes = [(Op.INPUT, k) for k in range(3)] + [(Op.SIN, 0), (Op.COS, 1), (Op.SIN, 2), (Op.ADD, 3, 4)]
    ufunc = make_ufunc(tape({"x": (3,)}, {"y": (2,)}, nodes, [5, 6]))
    with np.errstate(all="raise"):
        for count in (1, 3, 4, 9):
            ufunc((draw((count, 3)) * size).astype(kind))


def test_division_by_zero_is_reported_like_any_other():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.DIV, 0, 1)]
    ufunc = make_ufunc(tape({"x": (2,)}, {"y": ()}, nodes, [2]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        ufunc([1.0, 0.0])
    with np.errstate(divide="ignore"):
        assert ufunc([1.0, 0.0]) == np.inf


@formulas
def test_the_loop_for_floats_is_made_on_first_use_and_then_called_directly(monkeypatch, like):
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


def test_floats_that_cannot_be_compiled_become_nan_and_are_reported(monkeypatch):
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
def test_code_lives_exactly_as_long_as_its_ufunc(monkeypatch, like):
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


def test_a_tape_that_no_ufunc_can_be_is_refused_by_name():
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


def test_code_that_llvm_refuses_names_the_function(monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(kernels, "KERNELS", {"loop": lambda *given: "nonsense"})
    with pytest.raises(CompileError, match="LLVM refused the code of 'arm0'"):
        make_ufunc(arm_like())
