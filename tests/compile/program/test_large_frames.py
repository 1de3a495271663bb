"""A frame of megabytes is allocated by each call, so that it does not have to fit on the stack of a thread."""

import ctypes
import threading

import numpy as np
import pytest

from appell.algebra.loops import Rows
from appell.compile.function import Function
from appell.compile.native import machine

ROWS = 40_000  # 1.3 MB of doubles


def running_sums(x, loops):
    table = loops.table(ROWS, 1)
    loops.each([lambda: [[0.0]]], [0], [], [Rows(table, [0])])
    rows, start = range(1, ROWS), [0] * (ROWS - 1)
    reads = [Rows(table, range(ROWS - 1)), Rows(loops.given([[x[0]]]), start)]
    loops.each([lambda before, x: [[before[0] + x[0]]]], start, reads, [Rows(table, rows)])
    values = loops.values(table)
    return {"ends": [values[ROWS // 2][0], values[-1][0]]}


@pytest.fixture(scope="module")
def sums():
    return Function.of("sums", {"x": 1}, running_sums, loops=True)


WANTED = [ROWS // 2, ROWS - 1]


def test_large_frames_compute(sums):
    np.testing.assert_array_equal(sums([[1.0], [2.0], [0.5]]), np.outer([1.0, 2.0, 0.5], WANTED))
    bound = sums.bind()
    bound.x[:] = 3.0
    bound()
    np.testing.assert_array_equal(bound.ends, 3.0 * np.array(WANTED))


def test_threads_with_small_stacks_compute_at_once(sums):
    sums.compile()
    results, before = [], threading.stack_size(256 << 10)
    try:
        threads = [
            threading.Thread(
                target=lambda k=k: results.extend((k, *sums(np.full((50, 1), float(k)))) for _ in range(5))
            )
            for k in range(4)
        ]
    finally:
        for thread in threads:
            thread.start()
        threading.stack_size(before)
    for thread in threads:
        thread.join()
    assert len(results) == 20
    for k, *rows in results:
        np.testing.assert_array_equal(rows, np.outer(np.full(50, float(k)), WANTED))


def test_the_stack_is_used_if_allocation_fails(monkeypatch):
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: None)
    freed = []
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(freed.append)
    monkeypatch.setattr(machine, "allocators", lambda: (nothing, free))
    sums = Function.of("sums", {"x": 1}, running_sums, loops=True)
    bound = sums.bind()
    bound.x[:] = 2.0
    bound()
    np.testing.assert_array_equal(bound.ends, 2.0 * np.array(WANTED))
    assert freed == [None]
