"""Errors of arithmetic that were met elsewhere, reported here and now as NumPy would have reported them."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

# in the order in which NumPy looks for them: the name in `numpy.errstate`, what it is called, its bit
_KINDS = (
    ("divide", "divide by zero", 1),
    ("over", "overflow", 2),
    ("under", "underflow", 4),
    ("invalid", "invalid value", 8),
)


def answer_for(flags: int, name: str) -> None:
    """Ignore, warn, raise, call, print or log what `flags` say about a function, as `numpy.errstate` has it."""
    modes: dict[str, Any] = {**np.geterr()}
    for kind, called, bit in _KINDS:
        if flags & bit:
            _answer(modes[kind], called, flags, f"{called} encountered in {name}")


def _answer(mode: str, called: str, flags: int, text: str) -> None:
    if mode == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    elif mode == "raise":
        raise FloatingPointError(text)
    elif mode == "call":
        handler: Any = np.geterrcall()
        handler(called, flags)
    elif mode == "log":
        log: Any = np.geterrcall()
        log.write(f"Warning: {text}\n")
    elif mode == "print":
        print(f"Warning: {text}", file=sys.stderr)
