"""Batches on several threads give the same bits, errors and warnings as on one, and never deadlock."""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import appell as ap
from appell.compile.native import parallel
from appell.compile.native.build_lock import BUILD_LOCK
from appell.compile.native.parallel import spread
from compile.llvm.tapes import random_tape

PUMA = ap.Dynamics(ap.load("puma"))
RATIO = ap.Function.of("ratio", {"x": (), "y": ()}, lambda x, y: {"ratio": x / y}, owner="robot 'r'")
PAIR = ap.Function.of("pair", {"x": 2, "y": ()}, lambda x, y: {"sum": [x[0] + y, x[1] + y], "product": x[0] * x[1]})


@pytest.fixture
def always_divided(monkeypatch) -> list[int]:
    """Divide every batch, however small; the list holds the thread of every block."""
    monkeypatch.setattr(parallel, "WORTHWHILE_NS", 0.0)
    monkeypatch.setattr(parallel, "BLOCK_NS", 1e-9)
    taken: list[int] = []
    real = parallel._Work._next

    def taking(work):
        block = real(work)
        taken.extend([threading.get_ident()] * (block is not None))
        return block

    monkeypatch.setattr(parallel._Work, "_next", taking)
    return taken


def assert_same(results, want) -> None:
    results, want = (x if isinstance(x, tuple) else (x,) for x in (results, want))
    assert len(results) == len(want)
    for one, other in zip(results, want, strict=True):
        assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


def drawn(*shape: int, kind=np.float64) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-2, 2, shape).astype(kind)


SHAPES = [
    ((1000, 6), (1000, 6), (1000, 6)),
    ((997, 6), (6,), (6,)),
    ((6,), (1, 6), (53, 6)),
    ((31, 1, 6), (1, 7, 6), (6,)),
    ((3, 5, 7, 6), (7, 6), (5, 1, 6)),
    ((2, 2, 2, 2, 2, 6), (6,), (2, 6)),
    ((1, 1, 6), (6,), (6,)),
    ((0, 6), (6,), (6,)),
    ((6,), (6,), (6,)),
]


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_bits_do_not_depend_on_threads_or_broadcasting(always_divided, shapes, threads):
    given = [drawn(*shape) for shape in shapes]
    assert_same(PUMA.forward_dynamics(*given, threads=threads), PUMA.forward_dynamics(*given))
    samples = PUMA.forward_dynamics(*given).size // 6
    assert bool(always_divided) == (samples > 1)


@pytest.mark.parametrize("name", ["energy", "inverse_dynamics", "mass_matrix", "state_rate"])
def test_bits_of_other_functions_do_not_depend_on_threads(always_divided, name):
    function = getattr(PUMA, name)
    given = [drawn(501, *array.shape) for array in function.inputs]
    assert_same(function(*given, threads=4), function(*given))
    assert len(always_divided) == 16


def test_element_types_are_those_that_numpy_chooses(always_divided):
    x, y = drawn(101, 2), drawn(101)
    for one in (x, x.astype(np.float32), x.astype(np.float16), np.ones((101, 2), int), x.tolist()):
        for other in (y, y.astype(np.float32), 3, 3.0, True, np.float32(3.0), np.float64(3.0)):
            assert_same(PAIR(one, other, threads=3), PAIR(one, other))
    assert_same(
        PAIR(x, y, dtype=np.float32, casting="same_kind", threads=3), PAIR(x, y, dtype=np.float32, casting="same_kind")
    )
    assert len(always_divided) == 12 * 36


def test_results_are_written_to_out(always_divided):
    x, y = drawn(101, 2), drawn(101)
    want = PAIR(x, y)
    new = np.empty((101, 2)), np.empty(101)
    results = PAIR(x, y, out=new, threads=3)
    assert results[0] is new[0]
    assert results[1] is new[1]
    assert_same(results, want)
    transposed = np.empty((2, 101)).T[::-1]
    assert PAIR(x, y, out=(transposed, None), threads=3)[0] is transposed
    np.testing.assert_array_equal(transposed, want[0])
    narrow = np.empty((101, 2), np.float32)
    assert_same(PAIR(x, y, out=(narrow, None), threads=3)[0], want[0].astype(np.float32))
    assert len(always_divided) == 3 * 12


def test_a_result_may_overwrite_its_argument(always_divided):
    given = [drawn(997, 6) for _ in range(3)]
    want = PUMA.forward_dynamics(*given)
    tau = given[2].copy()
    assert PUMA.forward_dynamics(given[0], given[1], tau, out=tau, threads=4) is tau
    assert_same(tau, want)
    assert len(always_divided) == 16


def test_calls_with_other_overlaps_are_not_divided(always_divided):
    memory = drawn(998, 6)
    want = PUMA.forward_dynamics(memory[1:], memory[1:], memory[1:])
    assert_same(PUMA.forward_dynamics(memory[1:], memory[1:], memory[1:], out=memory[:-1], threads=4).copy(), want)
    once = np.broadcast_to(np.empty(6), (997, 6))
    once.flags.writeable = True
    PUMA.forward_dynamics(*drawn(3, 997, 6), out=once, threads=4)
    x, same = drawn(101, 2), np.empty(101)
    ratio_twice = ap.Function.of("twice", {"x": ()}, lambda x: {"one": x + 1.0, "two": x + 2.0})
    ratio_twice(drawn(101), out=(same, same), threads=4)
    PAIR(x, drawn(101), axes=[(1,), (), (1,), ()], threads=4)
    assert always_divided == []


def test_calls_with_array_subclasses_are_not_divided(always_divided):
    class Mine(np.ndarray):
        pass

    x = drawn(101, 2).view(Mine)
    assert type(PAIR(x, 1.0, threads=3)[0]) is Mine
    assert always_divided == []


def test_any_generalised_ufunc_can_be_divided(always_divided):
    x, y = drawn(37, 3, 4), drawn(5, 1, 4, 6)
    assert_same(spread(np.matmul, (x, y), {}, 3), np.matmul(x, y))
    assert_same(spread(np.add, (x[:5], y[..., 0]), {}, 3), np.add(x[:5], y[..., 0]))
    assert_same(spread(np.linalg._umath_linalg.det, (drawn(99, 3, 3),), {}, 2), np.linalg.det(drawn(99, 3, 3)))
    assert always_divided
    divided = len(always_divided)
    assert_same(spread(np.matmul, (x[0], x[0].T), {}, 3), x[0] @ x[0].T)
    assert len(always_divided) <= divided + 1


@pytest.mark.parametrize("threads", [1, 4])
def test_errors_about_a_call_do_not_depend_on_threads(always_divided, threads):
    x = drawn(101, 2)
    for given, options, problem in [
        ((x[:, :1], 1.0), {}, "argument x has shape"),
        ((x, drawn(100)), {}, "could not be broadcast"),
        ((x,), {}, "missing argument y"),
        ((x, 1.0), {"out": np.empty((3, 2))}, "pair"),
        ((x, 1.0), {"dtype": np.int32}, "pair"),
        ((x, 1.0), {"nonsense": 1}, "no argument 'nonsense'"),
        ((x.astype(complex), 1.0), {}, "complex"),
    ]:
        with pytest.raises(ap.ArgumentError, match=problem):
            PAIR(*given, threads=threads, **options)
    assert_same(PAIR(y=1.0, x=x, threads=threads), PAIR(x, 1.0))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True, "2"])
def test_an_invalid_number_of_threads_is_named(wrong):
    with pytest.raises(ap.ArgumentError, match=r"threads is .*\n  expected  a positive integer, or 'all'"):
        PAIR(drawn(3, 2), 1.0, threads=wrong)
    with pytest.raises(ap.ArgumentError, match="the number of threads is"):
        ap.set_threads(wrong)


# ---- floating-point errors

X, Y = np.r_[1.0, 0.0, 1e300, np.ones(500)], np.r_[0.0, 0.0, 1e-300, np.ones(500)]


def warned(threads: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RATIO(X, Y, threads=threads)
    return [f"{each.category.__name__} {each.message} {os.path.basename(each.filename)}" for each in caught]


def test_warnings_do_not_depend_on_threads(always_divided):
    assert len(warned(1)) == 3
    assert warned(4) == warned(1)
    assert always_divided


@pytest.mark.parametrize("kind", ["divide", "over", "invalid"])
def test_floating_point_errors_are_raised_on_request(always_divided, kind):
    messages = []
    for threads in (1, 4):
        with np.errstate(all="ignore"), np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError) as raised:
            RATIO(X, Y, threads=threads)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("mode", ["call", "log", "print", "ignore"])
def test_floating_point_errors_are_reported_as_errstate_requires(always_divided, mode, capfd):
    class Log(list):
        def write(self, text):
            self.append(text)

        def __call__(self, *messages):
            self.append(messages)

    reports = []
    for threads in (1, 4):
        log = Log()
        with np.errstate(all=mode, call=log):
            RATIO(X, Y, threads=threads)
        sys.stdout.flush()
        printed = capfd.readouterr()
        reports.append((list(log), printed.out + printed.err))
    assert reports[0] == reports[1]
    assert any(reports[0]) == (mode != "ignore")


# ---- no deadlocks, and no more threads than requested


def test_small_batches_are_not_divided(monkeypatch):
    monkeypatch.setattr(parallel, "_run", None)  # would fail if it were called
    with ap.set_threads(2):
        for samples in (1, 10, 1000):
            given = drawn(3, samples, 6)
            assert_same(PUMA.forward_dynamics(*given), PUMA.forward_dynamics(*given, threads=1))


def test_large_batches_are_divided_among_all_threads():
    given = drawn(3, 200_000, 6)
    want = PUMA.forward_dynamics(*given)
    before = threading.active_count()
    with ap.set_threads(3):
        assert_same(PUMA.forward_dynamics(*given), want)
    helpers = [each for each in threading.enumerate() if each.name == "appell helper"]
    assert len(helpers) >= 2 or threading.active_count() > before
    assert all(each.daemon for each in helpers)


def test_calls_from_many_threads_give_correct_results(always_divided):
    given = drawn(3, 400, 6)
    want = PUMA.forward_dynamics(*given)
    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(lambda _: PUMA.forward_dynamics(*given, threads=4), range(60)):
            assert_same(results, want)


def test_helpers_stay_idle_while_enough_callers_work():
    helpers, go, ready = parallel._Helpers(), threading.Event(), threading.Semaphore(0)

    def wait(block):
        ready.release()
        assert go.wait(30.0)

    others = [threading.Thread(target=helpers.finish, args=(parallel._Work(wait, iter([()])), 4)) for _ in range(3)]
    for other in others:
        other.start()
    for _ in others:
        assert ready.acquire(timeout=30.0)
    taken = []
    work = parallel._Work(lambda block: (time.sleep(0.001), taken.append(threading.get_ident())), iter([()] * 20))
    helpers.finish(work, 4)
    assert taken == [threading.get_ident()] * 20
    go.set()
    for other in others:
        other.join()
    meeting = threading.Barrier(4)  # each of four blocks waits until four threads have one
    helpers.finish(parallel._Work(lambda block: meeting.wait(30.0), iter([()] * 4)), 4)


def test_a_call_under_the_build_lock_is_not_divided(always_divided):
    fresh = ap.Function(random_tape(11, 200))
    given = [drawn(50, *array.shape, kind=np.float32) for array in fresh.inputs]
    with BUILD_LOCK, np.errstate(all="ignore"):
        fresh(*given, threads=4)
    assert always_divided == []


def test_a_first_call_on_several_threads_compiles_correctly(always_divided):
    fresh = ap.Function(random_tape(12, 200))
    given = [drawn(50, *array.shape, kind=np.float32) for array in fresh.inputs]
    with np.errstate(all="ignore"):
        assert_same(fresh(*given, threads=4), ap.Function(random_tape(12, 200))(*given))


def test_an_interrupt_stops_the_call_and_leaves_the_helpers_usable(always_divided, monkeypatch):
    given = drawn(3, 400, 6)
    want = PUMA.forward_dynamics(*given)
    real, times = parallel._Work._next, []

    def interrupted(work):
        times.append(0)
        if threading.current_thread() is threading.main_thread() and len(times) > 3:
            raise KeyboardInterrupt
        return real(work)

    with monkeypatch.context() as patched:
        patched.setattr(parallel._Work, "_next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            [PUMA.forward_dynamics(*given, threads=2) for _ in range(50)]
    assert_same(PUMA.forward_dynamics(*given, threads=2), want)


def test_the_errstate_of_the_calling_context_applies(always_divided):
    def strict():
        with np.errstate(all="raise"):
            RATIO(X, Y, threads=3)

    with pytest.raises(FloatingPointError):
        contextvars.copy_context().run(strict)
    with np.errstate(all="ignore"):
        RATIO(X, Y, threads=3)


FORKED = """
import os, sys, numpy as np, appell as ap
x = np.random.default_rng(0).uniform(-2, 2, (3, 100_000, 6))
f = ap.Dynamics(ap.load("puma")).forward_dynamics
ap.set_threads(2)
want = f(*x)
for _ in range(3):
    child = os.fork()
    if child == 0:
        alone = ap.threads()
        ap.set_threads(2)
        os._exit(10 + alone if f(*x).tobytes() == want.tobytes() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 11
    assert f(*x).tobytes() == want.tobytes()
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_starts_its_own_helpers_and_exits_cleanly():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("same\n", "", 0)
