"""The rate of a state, ẏ = f(t, y, p), as a stepper calls it: on arrays of its own, whose addresses do not change.

    rate = Rate.compiled(function, 2)     inputs y₁, y₂, p … and outputs ẏ₁, ẏ₂, …: the first two of both make up y, ẏ
    rate.held["p"][:] = …                 all other inputs are held as they are along a stretch, any number of them;
                                          an input of shape () that is called t is the time
    Rate.compiled(function, 2, before)    `before()` is called before every evaluation, to set what is held anew from
                                          `rate.time` and `rate.y`
    Rate.called(size, answer)             `answer()` does it all: it reads `time` and `y` and writes `slope`

All arrays are views of the memory that the machine code reads and writes: nothing is copied or converted. What `before`
and `answer` raise comes out of the stepper as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod

import numpy as np

from appell.compile.emit.lanes import DOUBLES
from appell.compile.function import Function
from appell.compile.native.entry import make_builtin
from appell.compile.native.machine import Code
from appell.errors import ArgumentError


def aligned(*shape: int) -> np.ndarray:
    """Zeros that begin where a register may begin."""
    size, spare = prod(shape), DOUBLES.bytes // DOUBLES.itemsize
    memory = np.zeros(size + spare)
    first = -(memory.ctypes.data // DOUBLES.itemsize) % spare
    return memory[first : first + size].reshape(shape)


class Rate:
    """Time, state and slope as arrays, and what computes the last from the others."""

    def __init__(self, size: int, callback: Callable[[], object] | None):
        self.size, self.callback = size, callback
        self.registers = -(-size // DOUBLES.width)
        self.time = np.zeros(())
        self.states, self.slopes = (aligned(self.registers * DOUBLES.width) for _ in range(2))  # as registers
        self.y, self.slope = self.states[:size], self.slopes[:size]
        self.held: dict[str, np.ndarray] = {}
        self.given: dict[str, np.ndarray] = {}  # results beyond the slope
        self.code: Code | None = None
        self.addresses = np.zeros(0, np.uintp)
        self._compute: Callable[[], None] | None = None

    @classmethod
    def called(cls, size: int, answer: Callable[[], object]) -> Rate:
        """The rate that a Python function computes."""
        return cls(size, answer)

    @classmethod
    def compiled(cls, function: Function, parts: int, before: Callable[[], object] | None = None) -> Rate:
        """The rate that a compiled function computes; `parts` of its inputs are the state, of its outputs the slope."""
        states, slopes = function.inputs[:parts], function.outputs[:parts]
        if [array.size for array in states] != [array.size for array in slopes]:
            raise ArgumentError(
                f"{function!r} is no rate of {', '.join(map(str, states))}.",
                expected="as many first results of the same sizes, which are their derivatives by time",
            )
        rate = cls(sum(array.size for array in states), before)
        rate.held = {array.name: np.zeros(array.shape) for array in function.inputs[parts:]}
        if "t" in rate.held and rate.held["t"].shape == ():
            rate.held["t"] = rate.time
        rate.given = {array.name: np.zeros(array.shape) for array in function.outputs[parts:]}
        ends = list(accumulate(array.size for array in states))
        spans = [slice(end - array.size, end) for end, array in zip(ends, states, strict=True)]
        inputs, outputs = ([vector[span] for span in spans] for vector in (rate.y, rate.slope))
        operands = [*inputs, *rate.held.values(), *outputs, *rate.given.values()]
        rate.code = function.kernel()
        rate.addresses = np.array([array.ctypes.data for array in operands], np.uintp)
        rate._compute = make_builtin(function.name, operands, rate.code)
        return rate

    def __call__(self) -> np.ndarray:
        """One evaluation at `time` and `y`; `slope`, which the next one overwrites."""
        if self.callback is not None:
            self.callback()
        if self._compute is not None:
            self._compute()
        return self.slope
