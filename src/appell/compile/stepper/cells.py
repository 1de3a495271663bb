"""The cells: all that the machine code of a stepper reads and keeps between two calls, eight bytes each.

Python writes pointers, counts and numbers into them through `Cells`, the machine code knows their places.
"""

from __future__ import annotations

import numpy as np

# what stands there: an address, a whole number or a double, and what it is
ADDRESSES = (
    "rate",  # void rate(addresses): machine code that computes slopes, or null
    "addresses",  # where it finds its arguments and leaves its results
    "callback",  # a Python function without arguments, called before every evaluation, or null
    "call",  # PyObject_CallNoArgs
    "keep",  # Py_IncRef
    "release",  # Py_DecRef
    "clock",  # the time of an evaluation
    "state",  # the state of an evaluation
    "slope",  # what the evaluation gives
    "work",  # the states and slopes of a step
    "starts",  # results: where each step began
    "ends",  # and ended
    "series",  # and its interpolant
)
COUNTS = (
    "registers",  # of a state
    "capacity",  # how many steps to take, at most
    "taken",  # how many were taken
    "fresh",  # 1: the slope at the present state is still to be computed
    "reason",  # why it stopped
    "evaluations",  # since the stepper was made
)
NUMBERS = (
    "size",  # of a state
    "t",  # the present time
    "h",  # the next step to try
    "until",
    "longest",  # no step is to be longer
    "rtol",
    "atol",
)
PLACE = {name: place for place, name in enumerate((*ADDRESSES, *COUNTS, *NUMBERS))}


class Cells:
    """An array of cells; `cells.t = 0.0` and `cells.taken` write and read by name."""

    __slots__ = ("_doubles", "_integers", "array")

    def __init__(self):
        array = np.zeros(len(PLACE), np.int64)
        for name, value in (("array", array), ("_integers", array), ("_doubles", array.view(np.float64))):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str):
        cells = self._doubles if name in NUMBERS else self._integers
        return cells.item(PLACE[name])

    def __setattr__(self, name: str, value: float) -> None:
        cells = self._doubles if name in NUMBERS else self._integers
        cells[PLACE[name]] = value
