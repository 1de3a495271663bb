"""The code that a direct call runs: one sample gains nothing by wide registers of samples.

A function for one sample takes the addresses of its arguments and results, as the loop of a ufunc does; what a loop is
told besides, it does not look at. Where registers are wide, and for programs, whose turns may go abreast in them, it
takes the place of the loop with the first direct call. Until then the plan of the call holds a callback, which makes
it, puts it there and runs it. If it cannot be made, the ufunc's own loop stays, which gives the same bits.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np

from appell.compile.emit.lanes import NARROW
from appell.compile.formula import Formula
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import MAKING
from appell.compile.native.numpy_api import Loop
from appell.compile.native.target import host
from appell.compile.tape import Tape
from appell.errors import CompileError


class NarrowLoop:
    """Holds the place of the narrow code in a plan, and then the code itself."""

    def __init__(self, tape: Formula, wide: int):
        self._tape, self._wide = tape, wide
        self._code: Code | None = None
        self._first_call = Loop(self._make)
        self._plan: np.ndarray | None = None
        self._entry = 0

    @property
    def address(self) -> int:
        """What to call now."""
        if host().register == NARROW and isinstance(self._tape, Tape):
            return self._wide
        return ctypes.cast(self._first_call, ctypes.c_void_p).value or 0

    def settle(self, plan: np.ndarray, entry: int) -> None:
        """The plan of which one entry is the address of the loop."""
        self._plan, self._entry = plan, entry

    def _make(self, args, dims, steps, data) -> None:
        with MAKING:
            address = self._wide
            if self._code is None:
                with contextlib.suppress(CompileError):
                    self._code = load_kernel(self._tape, np.float64, "single")
            if self._code is not None:
                address = self._code.address
            if self._plan is not None:
                self._plan[self._entry] = address
        Loop(address)(args, dims, steps, data)
