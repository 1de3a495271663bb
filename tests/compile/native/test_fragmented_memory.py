"""Machine code is loaded in a process with fragmented memory: small gaps at high addresses, large ones far below."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes
import appell as ap
from appell.algebra.loops import Rows
from appell.compile.native.kernels import load_kernel

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def take(size):
    return libc.mmap(None, size, 0, 0x22 | 0x4000, -1, 0)  # reserves address space without pages


rows = 40_000  # of a table that fits into no gap


def running_sums(x, loops):
    table = loops.table(rows, 1)
    loops.each([lambda: [[0.0]]], [0], [], [Rows(table, [0])])
    rest = [0] * (rows - 1)
    reads = [Rows(table, range(rows - 1)), Rows(loops.given([[x[0]]]), rest)]
    loops.each([lambda before, x: [[before[0] + x[0]]]], rest, reads, [Rows(table, range(1, rows))])
    return {"end": loops.values(table)[-1]}


sums = ap.Function.of("sums", {"x": 1}, running_sums, loops=True).fused
codes = [load_kernel(sums, float, "loop")]
blocks = [take(1 << 16) for _ in range(400)]
take(6 << 30)
for block in blocks[::2]:
    libc.munmap(block, 1 << 16)
codes += [load_kernel(sums, float, "loop") for _ in range(40)]
print(len({code.address for code in codes}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes address space as Linux does")
def test_code_and_constants_are_allocated_close_together():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.strip() == "41", done.stderr[-500:]
