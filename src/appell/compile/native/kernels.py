"""The machine code of a tape for one number format: from the disk if it is there, else made and put there."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.emit.kernel import VERSION, loop_kernel, single_kernel
from appell.compile.emit.lanes import DOUBLES, FLOATS
from appell.compile.native import cache
from appell.compile.native.machine import Code, assemble
from appell.compile.native.target import host
from appell.compile.tape import Tape
from appell.errors import ArgumentError

LANES = {"d": DOUBLES, "f": FLOATS}
KERNELS = {"loop": loop_kernel, "single": single_kernel}


def load_kernel(tape: Tape, dtype: DTypeLike, function: str) -> Code:
    """The function `loop` or `single` of a tape, ready to be called."""
    code = np.dtype(dtype).char
    if code not in LANES:
        raise ArgumentError(f"'{tape.name}' cannot compute in {np.dtype(dtype)}.", expected="float64 or float32")
    target = host()
    key = hashlib.sha256("\n".join([tape.digest, code, function, target.identity, str(VERSION)]).encode()).hexdigest()

    def make() -> bytes:
        return assemble(KERNELS[function](tape, LANES[code], target.has_fma), target, tape.name)

    return Code(cache.fetch(key, make), function)
