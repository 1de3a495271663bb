"""Batches on several threads: the same bits, errors and warnings as on one, and nobody waits for ever."""

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
def everything_is_cut(monkeypatch) -> list[int]:
    """However small; the thread of every block."""
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


def assert_same(found, want) -> None:
    found, want = (x if isinstance(x, tuple) else (x,) for x in (found, want))
    assert len(found) == len(want)
    for one, other in zip(found, want, strict=True):
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
def test_bits_do_not_depend_on_threads_and_broadcasting(everything_is_cut, shapes, threads):
    given = [drawn(*shape) for shape in shapes]
    assert_same(PUMA.forward_dynamics(*given, threads=threads), PUMA.forward_dynamics(*given))
    samples = PUMA.forward_dynamics(*given).size // 6
    assert bool(everything_is_cut) == (samples > 1)


@pytest.mark.parametrize("name", ["energy", "inverse_dynamics", "mass_matrix", "state_rate"])
def test_bits_of_other_functions_are_the_same_too(everything_is_cut, name):
    function = getattr(PUMA, name)
    given = [drawn(501, *array.shape) for array in function.inputs]
    assert_same(function(*given, threads=4), function(*given))
    assert len(everything_is_cut) == 16


def test_element_types_are_chosen_as_by_numpy(everything_is_cut):
    x, y = drawn(101, 2), drawn(101)
    for one in (x, x.astype(np.float32), x.astype(np.float16), np.ones((101, 2), int), x.tolist()):
        for other in (y, y.astype(np.float32), 3, 3.0, True, np.float32(3.0), np.float64(3.0)):
            assert_same(PAIR(one, other, threads=3), PAIR(one, other))
    assert_same(
        PAIR(x, y, dtype=np.float32, casting="same_kind", threads=3), PAIR(x, y, dtype=np.float32, casting="same_kind")
    )
    assert len(everything_is_cut) == 12 * 36


def test_results_go_where_they_are_asked_for(everything_is_cut):
    x, y = drawn(101, 2), drawn(101)
    want = PAIR(x, y)
    new = np.empty((101, 2)), np.empty(101)
    found = PAIR(x, y, out=new, threads=3)
    assert found[0] is new[0]
    assert found[1] is new[1]
    assert_same(found, want)
    turned = np.empty((2, 101)).T[::-1]
    assert PAIR(x, y, out=(turned, None), threads=3)[0] is turned
    np.testing.assert_array_equal(turned, want[0])
    narrow = np.empty((101, 2), np.float32)
    assert_same(PAIR(x, y, out=(narrow, None), threads=3)[0], want[0].astype(np.float32))
    assert len(everything_is_cut) == 3 * 12


def test_a_result_may_take_the_place_of_its_argument(everything_is_cut):
    given = [drawn(997, 6) for _ in range(3)]
    want = PUMA.forward_dynamics(*given)
    tau = given[2].copy()
    assert PUMA.forward_dynamics(given[0], given[1], tau, out=tau, threads=4) is tau
    assert_same(tau, want)
    assert len(everything_is_cut) == 16


def test_what_overlaps_otherwise_is_left_whole(everything_is_cut):
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
    assert everything_is_cut == []


def test_arrays_of_other_libraries_decide_for_themselves(everything_is_cut):
    class Mine(np.ndarray):
        pass

    x = drawn(101, 2).view(Mine)
    assert type(PAIR(x, 1.0, threads=3)[0]) is Mine
    assert everything_is_cut == []


def test_any_generalised_ufunc_can_be_spread(everything_is_cut):
    x, y = drawn(37, 3, 4), drawn(5, 1, 4, 6)
    assert_same(spread(np.matmul, (x, y), {}, 3), np.matmul(x, y))
    assert_same(spread(np.add, (x[:5], y[..., 0]), {}, 3), np.add(x[:5], y[..., 0]))
    assert_same(spread(np.linalg._umath_linalg.det, (drawn(99, 3, 3),), {}, 2), np.linalg.det(drawn(99, 3, 3)))
    assert everything_is_cut
    cut = len(everything_is_cut)
    assert_same(spread(np.matmul, (x[0], x[0].T), {}, 3), x[0] @ x[0].T)
    assert len(everything_is_cut) <= cut + 1


@pytest.mark.parametrize("threads", [1, 4])
def test_what_is_wrong_with_a_call_is_said_as_on_one_thread(everything_is_cut, threads):
    x = drawn(101, 2)
    for given, options, problem in [
        ((x[:, :1], 1.0), {}, "argument x has shape"),
        ((x, drawn(100)), {}, "could not be broadcast"),
        ((x,), {}, "lacks y"),
        ((x, 1.0), {"out": np.empty((3, 2))}, "pair"),
        ((x, 1.0), {"dtype": np.int32}, "pair"),
        ((x, 1.0), {"nonsense": 1}, "no argument 'nonsense'"),
        ((x.astype(complex), 1.0), {}, "complex"),
    ]:
        with pytest.raises(ap.ArgumentError, match=problem):
            PAIR(*given, threads=threads, **options)
    assert_same(PAIR(y=1.0, x=x, threads=threads), PAIR(x, 1.0))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True, "2"])
def test_no_number_of_threads_is_named(wrong):
    with pytest.raises(ap.ArgumentError, match=r"threads is .*\n  expected  a positive integer, or 'all'"):
        PAIR(drawn(3, 2), 1.0, threads=wrong)
    with pytest.raises(ap.ArgumentError, match="the number of threads is"):
        ap.set_threads(wrong)


# ---- errors of arithmetic

X, Y = np.r_[1.0, 0.0, 1e300, np.ones(500)], np.r_[0.0, 0.0, 1e-300, np.ones(500)]


def warned(threads: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RATIO(X, Y, threads=threads)
    return [f"{each.category.__name__} {each.message} {os.path.basename(each.filename)}" for each in caught]


def test_warnings_are_those_of_one_thread(everything_is_cut):
    assert len(warned(1)) == 3
    assert warned(4) == warned(1)
    assert everything_is_cut


@pytest.mark.parametrize("kind", ["divide", "over", "invalid"])
def test_errors_of_arithmetic_are_raised_on_request(everything_is_cut, kind):
    said = []
    for threads in (1, 4):
        with np.errstate(all="ignore"), np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError) as raised:
            RATIO(X, Y, threads=threads)
        said.append(str(raised.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("mode", ["call", "log", "print", "ignore"])
def test_errors_of_arithmetic_go_where_they_are_sent(everything_is_cut, mode, capfd):
    class Log(list):
        def write(self, text):
            self.append(text)

        def __call__(self, *said):
            self.append(said)

    heard = []
    for threads in (1, 4):
        log = Log()
        with np.errstate(all=mode, call=log):
            RATIO(X, Y, threads=threads)
        sys.stdout.flush()
        printed = capfd.readouterr()
        heard.append((list(log), printed.out + printed.err))
    assert heard[0] == heard[1]
    assert any(heard[0]) == (mode != "ignore")


# ---- nobody waits for ever, and no more threads work than were asked for


def test_small_batches_are_never_cut(monkeypatch):
    monkeypatch.setattr(parallel, "_run", None)  # would fail if it were called
    with ap.set_threads(2):
        for samples in (1, 10, 1000):
            given = drawn(3, samples, 6)
            assert_same(PUMA.forward_dynamics(*given), PUMA.forward_dynamics(*given, threads=1))


def test_large_batches_are_cut_and_all_threads_work_on_them():
    given = drawn(3, 200_000, 6)
    want = PUMA.forward_dynamics(*given)
    before = threading.active_count()
    with ap.set_threads(3):
        assert_same(PUMA.forward_dynamics(*given), want)
    helpers = [each for each in threading.enumerate() if each.name == "appell helper"]
    assert len(helpers) >= 2 or threading.active_count() > before
    assert all(each.daemon for each in helpers)


def test_calls_from_many_threads_are_all_right(everything_is_cut):
    given = drawn(3, 400, 6)
    want = PUMA.forward_dynamics(*given)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: PUMA.forward_dynamics(*given, threads=4), range(60)):
            assert_same(found, want)


def test_helpers_stay_away_while_there_are_callers_enough():
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
    meeting = threading.Barrier(4)  # four blocks that nobody leaves before four threads have come
    helpers.finish(parallel._Work(lambda block: meeting.wait(30.0), iter([()] * 4)), 4)


def test_a_call_by_whoever_makes_something_waits_for_nobody(everything_is_cut):
    fresh = ap.Function(random_tape(11, 200))
    given = [drawn(50, *array.shape, kind=np.float32) for array in fresh.inputs]
    with BUILD_LOCK, np.errstate(all="ignore"):
        fresh(*given, threads=4)
    assert everything_is_cut == []


def test_a_first_call_on_several_threads_compiles_and_is_right(everything_is_cut):
    fresh = ap.Function(random_tape(12, 200))
    given = [drawn(50, *array.shape, kind=np.float32) for array in fresh.inputs]
    with np.errstate(all="ignore"):
        assert_same(fresh(*given, threads=4), ap.Function(random_tape(12, 200))(*given))


def test_an_interrupt_stops_all_and_leaves_the_helpers_ready(everything_is_cut, monkeypatch):
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


def test_the_context_of_the_caller_decides(everything_is_cut):
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
def test_a_forked_child_starts_helpers_of_its_own_and_a_process_ends_cleanly():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("same\n", "", 0)
