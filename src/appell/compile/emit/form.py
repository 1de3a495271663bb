"""The form of a kernel: what its machine code depends on besides the tape and the machine, and its results do not."""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.lanes import NARROW
from appell.compile.emit.schedule import CHUNK


@dataclass(frozen=True)
class Form:
    """Every form of a kernel gives the same bits; they differ in speed."""

    register: int = NARROW  # bytes of a register of samples
    chunk: int = CHUNK  # steps from which on a tape is cut into several functions
    cache: int = 0  # bytes of the first cache for data, if there are so many samples that it is worth asking
    code_cache: int = 32 << 10  # bytes of the first cache for code
