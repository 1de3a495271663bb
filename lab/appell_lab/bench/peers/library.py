"""The compiled library of a peer: functions over a batch, and the arrays they read and write."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from appell_lab.bench.peers.peer import PeerUnavailableError


@cache
def library(path: Path) -> ctypes.CDLL:
    """Load a library, once per process."""
    return ctypes.CDLL(str(path))


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Return the address of a contiguous array; the caller must keep the array alive."""
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


class RobotHandles:
    """The robots that a driver has created from texts, by name; `make` returns NULL for an unsupported robot."""

    def __init__(self) -> None:
        self._handles: dict[str, ctypes.c_void_p] = {}

    def handle(self, driver: ctypes.CDLL, name: str, text: str, program: str) -> ctypes.c_void_p:
        """Return the driver's handle of a robot; `program` names the driver in messages."""
        if name not in self._handles:
            driver.make.restype, driver.make.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
            handle = driver.make(text.encode())
            if not handle:
                raise PeerUnavailableError(f"{program} does not accept robot '{name}'.")
            self._handles[name] = ctypes.c_void_p(handle)
        return self._handles[name]


def bound(function, handle: ctypes.c_void_p | None, count: int, arrays: Sequence[np.ndarray]) -> Callable[[], object]:
    """Return a function that calls function(handle, count, arrays...) with arguments converted in advance."""
    function.restype = None
    kept = [np.asarray(array) for array in arrays]
    leading = () if handle is None else (handle,)
    arguments = (*leading, ctypes.c_long(count), *map(address, kept))

    def run(arrays=kept):  # keeps the arrays alive
        function(*arguments)

    return run
