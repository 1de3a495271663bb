"""Direct calls of plain batches give the bits of the ufunc; all other calls are passed to the ufunc."""

from __future__ import annotations

import sys
import threading
from time import perf_counter

import numpy as np
import pytest

import appell as ap
from appell.compile.function import Function
from appell.compile.native.direct import direct_call
from appell.compile.native.machine import host
from appell.compile.native.threads import THREAD_COUNT

pytestmark = pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="flags are read on x86 only")


class Spied:
    """A function that counts the calls passed to the ufunc."""

    def __init__(self, outputs: int):
        def body(q, m):
            first = [q[0] * m[0][1] + q[1], q[2].sin(), m[1][0] / q[2]]
            return {"r": first} if outputs == 1 else {"r": first, "s": [[q[0], m[1][1]]]}

        made = Function.of("toy", {"q": 3, "m": (2, 2)}, body)
        self.ufunc, self.passed_on = made.ufunc, 0
        self.call = direct_call(made.fused, self.ufunc, self._otherwise)

    def _otherwise(self, *arguments, **options):
        self.passed_on += 1
        return self.ufunc(*arguments, **options)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(THREAD_COUNT, "count", 1)


@pytest.fixture(params=[1, 2])
def spied(request):
    return Spied(request.param)


def batch(count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(count)
    return draw.uniform(1, 2, (count, 3)), draw.uniform(1, 2, (count, 2, 2))


def allocated(spied: Spied, count: int) -> tuple[np.ndarray, ...]:
    return tuple(np.full(each.shape, 7.0) for each in results(spied, *batch(count)))


def results(spied: Spied, *arguments) -> tuple[np.ndarray, ...]:
    result = spied.ufunc(*arguments)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 15, 16, 17, 100])
def test_a_plain_batch_has_the_bits_of_the_ufunc(spied, count):
    given, want = batch(count), results(spied, *batch(count))
    result = spied.call(*given)
    assert isinstance(result, tuple if len(want) > 1 else np.ndarray)
    for mine, theirs in zip(result if len(want) > 1 else (result,), want, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.flags.owndata
        assert mine.flags.c_contiguous
    assert spied.passed_on == 0


def test_results_of_a_batch_are_written_to_out(spied):
    given, out = batch(20), allocated(spied, 20)
    result = spied.call(*given, out=out)
    assert all(x is y for x, y in zip(result if len(out) > 1 else (result,), out, strict=True))
    for mine, theirs in zip(out, results(spied, *given), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    if len(out) == 1:
        assert spied.call(*given, out=out[0]) is out[0]
    assert spied.passed_on == 0


def test_one_sample_is_written_to_out(spied):
    given, out = [each[3] for each in batch(20)], [each[3] for each in allocated(spied, 20)]
    spied.call(*given)  # compiles the code for one sample
    result = spied.call(*given, out=tuple(out))
    assert all(x is y for x, y in zip(result if len(out) > 1 else (result,), out, strict=True))
    for mine, theirs in zip(out, results(spied, *given), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert spied.passed_on == 0


def test_one_sample_with_another_out_is_passed_to_the_ufunc():
    spied = Spied(1)
    q, m = (each[3] for each in batch(20))
    want = spied.ufunc(q, m)
    np.testing.assert_array_equal(spied.call(q, m, out=np.empty((1, 3))), [want])
    np.testing.assert_array_equal(spied.call(q, m, out=np.empty(3, np.float32)), want.astype(np.float32))
    np.testing.assert_array_equal(spied.call(q, m, out=q), want)  # the argument is overwritten after it was read
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        spied.call(np.zeros(3), m, out=np.empty(3))
    assert spied.passed_on == 4


def other_calls():
    q, m = batch(20)
    yield "no samples", (q[:0], m[:0]), {}
    yield "two axes of samples", (q.reshape(4, 5, 3), m.reshape(4, 5, 2, 2)), {}
    yield "one sample for all", (q, m[:1]), {}
    yield "one sample without an axis", (q, m[0]), {}
    yield "every second row", (q[::2], m[::2]), {}
    yield "columns", (np.asfortranarray(q), m), {}
    yield "single precision", (q.astype(np.float32), m.astype(np.float32)), {}
    yield "a list", (q.tolist(), m), {}
    yield "a keyword", (q, m), {"casting": "no"}
    yield "two keywords", (q, m), {"order": "C", "casting": "no"}


@pytest.mark.parametrize(("arguments", "options"), [pytest.param(*rest, id=name) for name, *rest in other_calls()])
def test_all_other_calls_are_passed_to_the_ufunc(spied, arguments, options):
    result = spied.call(*arguments, **options)
    for mine, theirs in zip(
        result if isinstance(result, tuple) else (result,), results(spied, *arguments), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    assert spied.passed_on == 1


def test_an_out_that_is_not_a_plain_array_is_passed_to_the_ufunc():
    spied = Spied(1)
    q, m = batch(20)
    want = spied.ufunc(q, m)
    wide, read_only = np.empty((20, 6)), np.empty((20, 3))
    for out in (wide[:, ::2], np.empty((20, 3), order="F"), np.empty((20, 3), np.float32)):
        np.testing.assert_allclose(spied.call(q, m, out=out, casting="same_kind"), want, rtol=1e-6)
    np.testing.assert_array_equal(spied.call(q, m, out=wide[:, ::2]), want)
    read_only.flags.writeable = False
    for out in (read_only, np.empty((19, 3)), (np.empty((20, 3)),) * 2, [np.empty((20, 3))]):
        with pytest.raises((TypeError, ValueError)):
            spied.call(q, m, out=out)
    assert spied.passed_on == 8


def test_results_may_overwrite_arguments():
    """NumPy then works on a copy; the loop would read results that it has written."""
    spied = Spied(1)
    memory = np.random.default_rng(1).uniform(1, 2, 3 * 25)
    q, out, m = memory[:60].reshape(20, 3), memory[15:].reshape(20, 3), batch(20)[1]
    want = spied.ufunc(q.copy(), m)
    np.testing.assert_array_equal(spied.call(q, m, out=out), want)
    assert spied.passed_on == 1


def test_results_that_share_memory_are_passed_to_the_ufunc():
    spied, shared = Spied(2), np.empty(20 * 3)
    given = batch(20)
    spied.call(*given, out=(shared.reshape(20, 3), shared[:40].reshape(20, 1, 2)))
    assert spied.passed_on == 1


def test_floating_point_errors_are_reported_by_numpy():
    spied = Spied(1)
    q, m = batch(20)
    q[11, 2] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        spied.call(q, m)
    with np.errstate(divide="ignore"):
        assert np.isinf(spied.call(q, m)[11, 2])
    assert spied.passed_on == 2
    with np.errstate(all="raise"):  # no flag is left set, and flags set before are ignored
        spied.call(*batch(20))
    assert spied.passed_on == 2


def test_calls_on_several_threads_are_passed_to_the_ufunc(spied):
    with ap.set_threads(2):
        spied.call(*batch(20))
    assert spied.passed_on == 1
    spied.call(*batch(20))
    assert spied.passed_on == 1


def test_batches_leak_neither_arrays_nor_references(spied):
    given, out = batch(20), allocated(spied, 20)
    spied.call(*given)
    counted = (np.dtype(np.float64), *given, *out, out)
    before, blocks = [sys.getrefcount(each) for each in counted], sys.getallocatedblocks()
    for _ in range(3000):
        spied.call(*given)
        spied.call(*given, out=out)
    after = [sys.getrefcount(each) for each in counted]
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) <= 2
    assert sys.getallocatedblocks() - blocks < 200


def test_a_long_batch_releases_the_gil():
    spied, ticks, done = Spied(1), [], threading.Event()
    given, out = batch(1_000_000), np.empty((1_000_000, 3))

    def tick():
        while not done.wait(1e-4):
            ticks.append(perf_counter())

    def ticked_during_a_call():
        begin = perf_counter()
        spied.call(*given, out=out)
        end = perf_counter()
        within = (end - begin) / 10  # far from both ends, where Python code runs
        return any(begin + within < time < end - within for time in ticks)

    other = threading.Thread(target=tick)
    other.start()
    try:  # a busy machine may not schedule the other thread during one call; without release it never runs
        assert any(ticked_during_a_call() for _ in range(100))
    finally:
        done.set()
        other.join()
    assert spied.passed_on == 0


def toy() -> Function:
    def body(q, m):
        return {"r": [q[0] * m[0][1], q[2].sin()], "s": q[1] / m[1][1]}

    return Function.of("toy", {"q": 3, "m": (2, 2)}, body)


def singles(count: int) -> tuple[np.ndarray, ...]:
    return tuple(each.astype(np.float32) for each in batch(count))


@pytest.mark.parametrize("first", [np.float32, np.float64])
def test_float32_is_called_directly_whatever_type_comes_first(first, monkeypatch):
    made, want = toy(), toy().ufunc
    made(*(each.astype(first) for each in batch(20)))
    made(*singles(20))  # from now on directly
    monkeypatch.setattr(type(made._caller), "__call__", lambda *arguments: pytest.fail("passed to the ufunc"))
    for count in (1, 7, 16, 33):
        out = tuple(np.empty((count, *shape), np.float32) for shape in ((2,), ()))
        for results in (made(*singles(count)), made(*singles(count), out=out)):
            for mine, theirs in zip(results, want(*singles(count)), strict=True):
                assert mine.dtype == np.float32
                np.testing.assert_array_equal(mine, theirs)
    sample = made(*(each[3] for each in singles(20)))
    assert sample.s.dtype == np.float32
    for mine, theirs in zip(sample, want(*(each[3] for each in singles(20))), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_other_types_are_promoted_after_float32():
    made, want = toy(), toy().ufunc
    made(*singles(20))
    q, m = batch(20)
    for given in ((q, m), (q.astype(np.float32), m), (q[0], m), (q[0].astype(np.float32), m.astype(np.float32))):
        for mine, theirs in zip(made(*given), want(*given), strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
    made(*singles(5))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        made(singles(5)[0], np.zeros((5, 2, 2), np.float32))
    with pytest.raises(ap.ArgumentError, match="q"):
        made(np.zeros((5, 4), np.float32), singles(5)[1])
