"""The loop that a direct call runs: one sample gains nothing by wide registers.

On most machines it is the loop of the ufunc. Where registers are wide, a loop of narrow ones takes its place with the
first direct call: until then the plan of the call holds a callback, which makes the loop, puts it there and runs it. If
it cannot be made, the ufunc's own loop stays, which gives the same bits.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np

from appell.compile.emit.form import Form
from appell.compile.emit.lanes import NARROW
from appell.compile.formula import Formula
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import MAKING
from appell.compile.native.numpy_api import Loop
from appell.compile.native.target import host
from appell.errors import CompileError


class NarrowLoop:
    """Holds the place of the narrow loop in a plan, and then the loop itself."""

    def __init__(self, tape: Formula, wide: int):
        self._tape, self._wide = tape, wide
        self._code: Code | None = None
        self._first_call = Loop(self._make)
        self._plan: np.ndarray | None = None
        self._entry = 0

    @property
    def address(self) -> int:
        """What to call now."""
        return self._wide if host().register == NARROW else ctypes.cast(self._first_call, ctypes.c_void_p).value or 0

    def settle(self, plan: np.ndarray, entry: int) -> None:
        """The plan of which one entry is the address of the loop."""
        self._plan, self._entry = plan, entry

    def _make(self, args, dims, steps, data) -> None:
        with MAKING:
            address = self._wide
            if self._code is None:
                with contextlib.suppress(CompileError):
                    self._code = load_kernel(self._tape, np.float64, "loop", Form(NARROW))
            if self._code is not None:
                address = self._code.address
            if self._plan is not None:
                self._plan[self._entry] = address
        Loop(address)(args, dims, steps, data)
