"""Lanes: one SIMD register of samples, and how its type and its constants are spelt in LLVM.

A kernel never works on one sample: it works on a register of them, four doubles or eight floats, one sample a lane. The
width is the same on every machine, and a narrower machine splits the register, so that a tape gives the same bits
wherever its instructions round the same way.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Lanes:
    """A register of `width` numbers of one floating-point format."""

    scalar: str  # one number, in LLVM's words
    integer: str  # an integer that holds the bits of one number
    width: int
    itemsize: int  # bytes of one number
    fraction: int  # bits after the leading one of a number
    smallest: float  # a power of two far below the square of any angle that matters, far above the denormal numbers

    real: str = field(init=False)
    bits: str = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "real", f"<{self.width} x {self.scalar}>")
        object.__setattr__(self, "bits", f"<{self.width} x {self.integer}>")

    @property
    def bytes(self) -> int:
        """The size of the register, and the alignment of blocks of registers."""
        return self.width * self.itemsize

    @property
    def integer_bits(self) -> int:
        return 8 * self.itemsize

    @property
    def magic(self) -> float:
        """1.5 · 2^fraction: adding it to a small number leaves the nearest integer in the lowest bits of the sum."""
        return 1.5 * 2.0**self.fraction

    def number(self, value: float) -> str:
        """One constant; LLVM reads the bits of a double, also for a float, which must hold it exactly."""
        if self.scalar == "float":
            with np.errstate(over="ignore", under="ignore"):
                value = float(np.float32(value))
        return "0x" + struct.pack(">d", value).hex().upper()

    def constant(self, value: float) -> str:
        """The same constant in every lane."""
        return f"splat ({self.scalar} {self.number(value)})"

    def pattern(self, value: int) -> str:
        """The same bits in every lane."""
        return f"splat ({self.integer} {value})"

    def pattern_of(self, value: float) -> int:
        """The bits of a number, read as an integer."""
        codes = ("<f", "<i") if self.scalar == "float" else ("<d", "<q")
        return struct.unpack(codes[1], struct.pack(codes[0], value))[0]


DOUBLES = Lanes("double", "i64", width=4, itemsize=8, fraction=52, smallest=2.0**-1000)
FLOATS = Lanes("float", "i32", width=8, itemsize=4, fraction=23, smallest=2.0**-120)
