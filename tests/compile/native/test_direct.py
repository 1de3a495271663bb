"""Direct calls of one plain sample give the bits of the ufunc; all other calls are passed to the ufunc."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from dataclasses import replace
from types import BuiltinFunctionType

import numpy as np
import pytest

from appell.algebra.loops import Rows
from appell.compile.function import Function
from appell.compile.native import direct, gufunc, kernels
from appell.compile.native.machine import host
from appell.errors import ArgumentError, CompileError


@pytest.fixture(params=[False, True], ids=["tape", "program"])
def function(request):
    return lambda outputs=1: made(outputs, request.param)


def made(outputs: int, looped: bool) -> Function:
    def body(q, m, *loops):
        if loops:
            table = loops[0].given([[x] for x in q])
            each = [Rows(table, range(3))]
            loops[0].each([lambda row: [[row[0] * 1.0]]], [0, 0, 0], each, each)
            q = [row[0] for row in loops[0].values(table)]
        first = [q[0] * m[0][1] + q[1], q[2].sin(), m[1][0] - q[2]]
        return {"r": first} if outputs == 1 else {"r": first, "s": [[q[0], m[1][1]]]}

    function = Function.of("toy", {"q": 3, "m": (2, 2)}, body, loops=looped)
    function.compile()
    return function


Q, M = np.array([0.3, -1.2, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])


def test_one_sample_has_the_bits_of_the_ufunc(function):
    f = function()
    assert type(f) is Function
    assert isinstance(f.__call__, BuiltinFunctionType)
    np.testing.assert_array_equal(f(Q, M), f.ufunc(Q, M))
    assert f(Q, M).flags.owndata
    assert f(Q, M) is not f(Q, M)


def test_several_results_are_returned_as_a_tuple(function):
    f = function(outputs=2)
    r, s = f(Q, M)
    expected = f.ufunc(Q, M)
    assert isinstance(f(Q, M), tuple)
    np.testing.assert_array_equal(r, expected[0])
    np.testing.assert_array_equal(s, expected[1])


class Labelled(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("q", "m"),
    [
        (Q.tolist(), M),
        (Q, M.T),
        (np.repeat(Q, 2)[::2], M),
        (Q[::-1][::-1], np.asfortranarray(M)),
        (Q.astype(np.float32), M.astype(np.float32)),
        (Q.astype(">f8"), M),
        (np.ones(3, int), M),
        (np.stack([Q, Q]), M),
        (np.zeros((0, 3)), M),
        (Q.view(Labelled), M),
        (np.frombuffer(b"x" + Q.tobytes(), offset=1), M),
    ],
)
def test_all_other_calls_are_passed_to_the_ufunc(q, m, function):
    f = function()
    expected = f.ufunc(q, m)
    given = f(q, m)
    assert given.dtype == expected.dtype
    assert type(given) is type(expected)
    np.testing.assert_array_equal(given, expected)


def test_out_and_named_arguments_are_accepted(function):
    f, out = function(), np.empty(3)
    assert f(Q, M, out=out) is out
    np.testing.assert_array_equal(f(m=M, q=Q), out)


@pytest.mark.parametrize("arguments", [(Q,), (Q[:2].copy(), M), (M, Q), (Q, M[0].copy()), (Q, None)])
def test_errors_about_arguments_name_the_function(arguments, function):
    with pytest.raises(ArgumentError, match=r"toy"):
        function()(*arguments)


def test_a_sample_that_is_not_finite_gives_nan(function):
    assert np.isnan(function()(np.array([np.inf, 0.0, 0.0]), M)).all()


def test_a_scalar_result_stays_a_numpy_scalar():
    f = Function.of("sum", {"q": 3}, lambda q: {"s": q[0] + q[1] + q[2]})
    assert isinstance(f(Q), np.float64)
    assert isinstance(f(Q), np.float64)


def test_functions_with_scalar_results_are_called_directly_and_leak_nothing():
    f = Function.of("toy", {"q": 3}, lambda q: {"twice": [2.0 * x for x in q], "first": q[0], "last": q[2]})
    f(Q)
    assert isinstance(f.__call__, BuiltinFunctionType)
    twice, first, last = f(Q)
    assert isinstance(first, np.float64)
    assert (first, last) == (Q[0], Q[2])
    np.testing.assert_array_equal(twice, 2.0 * Q)
    before, blocks = sys.getrefcount(np.dtype(np.float64)), sys.getallocatedblocks()
    for _ in range(5000):
        f(Q)
    assert abs(sys.getrefcount(np.dtype(np.float64)) - before) <= 2
    assert sys.getallocatedblocks() - blocks < 200


def test_calls_leak_neither_arrays_nor_references(function):
    f = function(outputs=2)
    f(Q, M)
    before = sys.getrefcount(np.dtype(np.float64)), sys.getrefcount(Q), sys.getrefcount(M)
    blocks = sys.getallocatedblocks()
    for _ in range(5000):
        f(Q, M)
    after = sys.getrefcount(np.dtype(np.float64)), sys.getrefcount(Q), sys.getrefcount(M)
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) <= 2
    assert sys.getallocatedblocks() - blocks < 200


def test_deleting_a_function_frees_its_code_and_no_other(monkeypatch, function):
    """Without the garbage collector: a compiled function is not part of a reference cycle."""
    alive, real = [], gufunc.load_kernel

    def remember(*given):
        code = real(*given)
        alive.append(weakref.ref(code))
        return code

    monkeypatch.setattr(gufunc, "load_kernel", remember)
    kept, dropped = function(), [function() for _ in range(5)]
    expected = kept(Q, M)
    for each in dropped:
        np.testing.assert_array_equal(each(Q.astype("f"), M.astype("f")), each.ufunc(Q.astype("f"), M.astype("f")))
    references = [weakref.ref(each) for each in dropped] + [weakref.ref(each.formula) for each in dropped]
    gc.disable()
    try:
        del dropped, each
        assert [reference() for reference in references] == [None] * 10
    finally:
        gc.enable()
    gc.collect()  # the loops of a ufunc hold a callback
    assert [code() is not None for code in alive] == [True] + [False] * 10
    np.testing.assert_array_equal(kept(Q, M), expected)


def test_threads_may_share_a_function(function):
    f, wrong = function(), []
    expected = f.ufunc(Q, M)

    def work():
        for _ in range(2000):
            if not np.array_equal(f(Q, M), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_with_wide_registers_a_direct_call_compiles_code_for_one_sample_with_the_same_bits(function, monkeypatch):
    want = function()(Q, M)
    wide = replace(host(), register=64)
    monkeypatch.setattr(kernels, "host", lambda: wide)
    monkeypatch.setattr(direct, "host", lambda: wide)
    made, real = [], direct.load_kernel
    monkeypatch.setattr(direct, "load_kernel", lambda *given: made.append(given[2]) or real(*given))
    of = function()
    batch = of(np.stack([Q] * 9), np.stack([M] * 9))
    assert made == []
    for _ in range(3):
        np.testing.assert_array_equal(of(Q, M), want)
    assert made == ["single"]
    np.testing.assert_array_equal(batch, np.stack([want] * 9))


def test_the_wide_loop_runs_if_code_for_one_sample_cannot_be_compiled(function, monkeypatch):
    want = function()(Q, M)
    wide = replace(host(), register=64)
    monkeypatch.setattr(kernels, "host", lambda: wide)
    monkeypatch.setattr(direct, "host", lambda: wide)

    def fail(*given):
        raise CompileError("not today")

    monkeypatch.setattr(direct, "load_kernel", fail)
    np.testing.assert_array_equal(function()(Q, M), want)


def test_one_sample_compiles_no_loop_until_a_batch_follows(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path))
    f = Function.of("toy", {"q": 3, "m": (2, 2)}, lambda q, m: {"r": [q[0] * m[0, 1] + q[1], q[2].sin()]})
    sample, batch = (Q, M), (np.stack([Q, 2 * Q]), np.stack([M, M]))

    def compiled() -> list[str]:
        return [record.message.split()[1] for record in caplog.records if getattr(record, "made", False)]

    with caplog.at_level("INFO", logger="appell"):
        single = f(*sample)
        first_call = f.__call__
        assert compiled() == (["single"] if direct.has_sample_kernel(f.fused) else ["loop"])
        several = f(*batch)
        assert sorted(compiled()) == (["loop", "single"] if direct.has_sample_kernel(f.fused) else ["loop"])
    np.testing.assert_array_equal(several[0], single)
    np.testing.assert_array_equal(f(*sample), single)
    f.__call__ = first_call  # as if another thread had set it
    np.testing.assert_array_equal(f(*batch), several)
    del f
    np.testing.assert_array_equal(first_call(*batch), several)
