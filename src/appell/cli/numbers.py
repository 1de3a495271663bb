"""Lists of numbers as they are typed on a command line: 0.6,0.175,0.25."""

from __future__ import annotations

import math

import numpy as np

from appell.errors import ArgumentError


def numbers(text: str, option: str, count: int | None = None) -> np.ndarray:
    """The numbers of an option, separated by commas; `count` of them, or one that stands for all."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(math.isfinite(value) for value in values) or (count and len(values) not in (1, count)):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise ArgumentError(f"{option} is '{text}'.", expected=f"{wanted} separated by commas, without spaces")
    return np.full(count, values[0]) if count and len(values) == 1 else np.array(values)
