"""Choices that change the speed of a kernel alone, one row per kind of processor.

The table `tuning.toml` is measured and written by `benchmarks/tuning.py`. A row is chosen by the features of the
processor (`native.machine`). Results have the same bits with every row.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("tuning.toml")


@dataclass(frozen=True)
class Tuning:
    """A row of the table."""

    register: int  # bytes of a register of samples in batches
    chunk: int  # steps of one function of a long tape
    undivided: int  # chunks of the longest tape that stays in one function
    held: int  # values of a long tape that registers hold at a time; the others are for temporaries
    squares: bool  # whether rows are transposed in squares
    unrolled: int  # numbers of the longest transfer that is not a loop
    angles: int  # angles whose sines and cosines are computed together

    def registers(self, size: int) -> int:
        """Return how many registers of `size` bytes hold values; larger ones consist of several."""
        return self.held * min(self.register, size) // size


@cache
def tunings() -> dict[str, Tuning]:
    """Return the table: avx512, avx2 (also used for older processors) and neon."""
    return {kind: Tuning(**row) for kind, row in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()}
