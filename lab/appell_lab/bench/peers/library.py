"""A compiled library of a peer: functions over a whole batch, and the arrays they read and write."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from appell_lab.bench.peers.peer import PeerUnavailableError


@cache
def library(path: Path) -> ctypes.CDLL:
    """Loaded once a process."""
    return ctypes.CDLL(str(path))


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Where the numbers of a contiguous array are; the caller keeps the array."""
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


class RobotHandles:
    """The robots that a driver has made of their texts, by name; its function `make` gives NULL for one it refuses."""

    def __init__(self) -> None:
        self._made: dict[str, ctypes.c_void_p] = {}

    def handle(self, driver: ctypes.CDLL, name: str, text: str, who: str) -> ctypes.c_void_p:
        if name not in self._made:
            driver.make.restype, driver.make.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
            made = driver.make(text.encode())
            if not made:
                raise PeerUnavailableError(f"{who} refuses robot '{name}'.")
            self._made[name] = ctypes.c_void_p(made)
        return self._made[name]


def bound(function, handle: ctypes.c_void_p | None, count: int, arrays: Sequence[np.ndarray]) -> Callable[[], object]:
    """function(handle, count, arrays...) with its arguments converted beforehand."""
    function.restype = None
    kept = [np.asarray(array) for array in arrays]
    first = () if handle is None else (handle,)
    arguments = (*first, ctypes.c_long(count), *map(address, kept))

    def run(arrays=kept):  # the arrays live as long as the call
        function(*arguments)

    return run
