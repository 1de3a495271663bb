"""Lanes: one SIMD register of samples, and the spelling of its type and its constants in LLVM.

A kernel works on a register of samples, one sample per lane. The number of lanes depends on the machine (four doubles
or eight floats in 32 bytes, twice as many in 64); the bits of a result do not, because every lane is computed by the
same instructions, and a register that a machine lacks is split into those it has. Coefficients depend on the number
`Format` alone. A `Form` collects the format, the machine, and choices that change the speed of a kernel alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from appell.compile.llvm.tuning import Tuning, tunings


@dataclass(frozen=True)
class Format:
    """A floating-point format; `scalar` and `integer` are LLVM types."""

    scalar: str  # one number
    integer: str  # an integer of the same size, for the bits of a number
    itemsize: int  # bytes of one number
    fraction: int  # bits after the leading one of a number
    underflow_guard: float  # a power of two far below the square of any relevant angle, far above denormal numbers


DOUBLE = Format("double", "i64", itemsize=8, fraction=52, underflow_guard=2.0**-1000)
FLOAT = Format("float", "i32", itemsize=4, fraction=23, underflow_guard=2.0**-120)

NARROW_BYTES = 32  # size of the registers of machines without AVX-512, and of steppers on every machine
MAX_STACK_BYTES = 64 << 10  # the stacks of threads have 128 KiB and more


@dataclass(frozen=True)
class Lanes:
    """A register of `bytes` bytes that holds numbers of one format, one per lane."""

    format: Format
    bytes: int = NARROW_BYTES  # its size, and the alignment of blocks of registers

    width: int = field(init=False)
    scalar: str = field(init=False)
    integer: str = field(init=False)
    itemsize: int = field(init=False)
    fraction: int = field(init=False)
    real: str = field(init=False)
    bits: str = field(init=False)

    def __post_init__(self):
        format = self.format
        width = self.bytes // format.itemsize
        derived = {name: getattr(format, name) for name in ("scalar", "integer", "itemsize", "fraction")}
        derived |= {"width": width, "real": f"<{width} x {format.scalar}>", "bits": f"<{width} x {format.integer}>"}
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def integer_bits(self) -> int:
        """Bits of one number."""
        return 8 * self.itemsize

    @property
    def magic(self) -> float:
        """1.5 · 2^fraction: adding it to a small number leaves the nearest integer in the lowest bits of the sum."""
        return 1.5 * 2.0**self.fraction

    def number(self, value: float) -> str:
        """Return one constant as LLVM text: the bits of a double, also for a float, which must represent it exactly."""
        if self.format is FLOAT:
            with np.errstate(over="ignore", under="ignore"):
                value = float(np.float32(value))
        return "0x" + struct.pack(">d", value).hex().upper()

    def constant(self, value: float) -> str:
        """Return the same constant in every lane, as LLVM text."""
        return f"splat ({self.scalar} {self.number(value)})"

    def pattern(self, value: int) -> str:
        """Return the same bits in every lane, as LLVM text."""
        return f"splat ({self.integer} {value})"

    def pattern_of(self, value: float) -> int:
        """Return the bits of a number, read as an integer."""
        codes = ("<f", "<i") if self.format is FLOAT else ("<d", "<q")
        return struct.unpack(codes[1], struct.pack(codes[0], value))[0]


DOUBLES, FLOATS = Lanes(DOUBLE), Lanes(FLOAT)


@dataclass(frozen=True)
class Form:
    """Number format, machine and options of code generation.

    Forms that differ only in the options return the same bits; they differ in speed.
    """

    register: int = NARROW_BYTES  # bytes of a register of samples
    chunk: int = tunings()["avx2"].chunk  # steps of one function of a long tape
    cache: int = 0  # bytes of the L1 data cache; 0 for kernels of single samples
    format: Format = DOUBLE
    fused: bool = True  # whether the machine has fused multiply-adds
    max_stack: int = MAX_STACK_BYTES  # bytes of a block of registers on the stack; larger ones are allocated
    tuning: Tuning = tunings()["avx2"]  # its other choices

    @property
    def lanes(self) -> Lanes:
        """Registers of samples."""
        return Lanes(self.format, self.register)
