"""A stepper integrates a rate with an explicit method, many steps per call, in machine code.

    stepper = Stepper("DOP853", rate)
    stepper.start(t, y, until, rtol=1e-8, atol=1e-10)
    while stepper.advance(64) is Reason.FULL: ...
    stepper.starts, stepper.ends, stepper.series      of the steps of the last `advance`, (taken, degree + 1, size)

It can be restarted any number of times at a cost of microseconds, and integrates one interval at a time.

The rate ẏ = f(t, y, p) of a state works on arrays of its own, whose addresses do not change:

    rate = Rate.compiled(function, 2)     inputs y₁, y₂, p … and outputs ẏ₁, ẏ₂, …: the first two of both form y and ẏ
    rate.held["p"][:] = …                 other inputs, constant along an interval; an input t of shape () is the time
    Rate.compiled(function, 2, before)    `before()` is called before every evaluation and may set `rate.held` from
                                          `rate.time` and `rate.y`
    Rate.called(size, answer)             `answer()` reads `time` and `y` and writes `slope`

All arrays are views of the memory that the machine code reads and writes, so nothing is copied or converted.
Exceptions raised by `before` and `answer` leave the stepper unchanged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import accumulate
from math import prod

import numpy as np

from appell.compile.function import Function
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.bound import METH_NOARGS, builtin, make_builtin
from appell.compile.native.machine import Code
from appell.compile.ode.driver import Cells, Reason, Y, driver, rows
from appell.compile.ode.tableau import METHODS, Tableau
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


class Stepper:
    """The memory of a method on a rate, and the built-in function that works on it."""

    def __init__(self, method: str, rate: Rate, capacity: int = 64):
        self.rate, self.capacity = rate, capacity
        self.stretches = 0  # begun so far
        self.tableau: Tableau = METHODS[method]()
        registers = rate.registers
        work = aligned(registers, rows(self.tableau), DOUBLES.width)
        self._starts, self._ends = np.zeros(capacity), np.zeros(capacity)
        self._series = aligned(capacity, self.tableau.degree + 1, registers * DOUBLES.width)
        self._state = work[:, Y]
        self._cells = cells = Cells()
        code = driver(method)
        if rate.code is not None:
            cells.rate, cells.addresses = rate.code.address, rate.addresses.ctypes.data
        if rate.callback is not None:
            cells.callback = id(rate.callback)
        cells.call, cells.keep, cells.release = _PYTHON
        arrays = {
            "clock": rate.time,
            "state": rate.states,
            "slope": rate.slopes,
            "work": work,
            "starts": self._starts,
            "ends": self._ends,
            "series": self._series,
        }
        for name, array in arrays.items():
            setattr(cells, name, array.ctypes.data)
        cells.registers, cells.size = registers, rate.size
        kept = (None, cells.array, rate, code, *arrays.values())
        self._run = builtin(method, code.address, METH_NOARGS, kept)

    def start(
        self,
        t: float,
        y: np.ndarray,
        until: float,
        *,
        rtol: float,
        atol: float,
        first: float | None = None,
        longest: float = np.inf,
    ) -> None:
        """Begin a stretch; `first` is the length of the first step to try, chosen here if None."""
        cells, registers = self._cells, self.rate.registers
        padded = np.zeros(registers * DOUBLES.width)
        padded[: self.rate.size] = y
        self._state[:] = padded.reshape(registers, DOUBLES.width)
        cells.t, cells.until, cells.longest, cells.rtol, cells.atol = t, until, longest, rtol, atol
        cells.h = self._first_step(t, y, until) if first is None else first
        cells.fresh = 1
        self.stretches += 1

    def advance(self, steps: int = 1) -> Reason:
        """Take up to so many steps; what a callback raises is raised."""
        self._cells.capacity = min(steps, self.capacity)
        self._run()
        return Reason(self._cells.reason)

    @property
    def taken(self) -> int:
        return self._cells.taken

    @property
    def starts(self) -> np.ndarray:
        return self._starts[: self.taken]

    @property
    def ends(self) -> np.ndarray:
        return self._ends[: self.taken]

    @property
    def series(self) -> np.ndarray:
        """The Chebyshev series of every step of the last advance; overwritten by the next."""
        return self._series[: self.taken, :, : self.rate.size]

    @property
    def t(self) -> float:
        """Where it is."""
        return self._cells.t

    @property
    def y(self) -> np.ndarray:
        """The state there."""
        return self._state.reshape(-1)[: self.rate.size].copy()

    @property
    def step(self) -> float:
        """The length of the next step to try."""
        return self._cells.h

    @property
    def evaluations(self) -> int:
        """How often the rate was computed."""
        return self._cells.evaluations

    def _first_step(self, t: float, y: np.ndarray, until: float) -> float:
        """A guess from the sizes of state, slope and change of slope: Hairer, Nørsett, Wanner, section II.4."""
        cells, rate, whole = self._cells, self.rate, until - t

        def slope(time: float, state: np.ndarray) -> np.ndarray:
            rate.time[()], rate.y[:] = time, state
            return np.array(rate())

        with np.errstate(all="ignore"):
            scale = cells.atol + cells.rtol * np.abs(y)
            f = slope(t, y)
            d0, d1 = _size(y / scale), _size(f / scale)
            if not np.isfinite(d1):
                return whole  # the steps will tell
            h = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, whole)
            d2 = _size((slope(min(t + h, until), y + h * f) - f) / scale) / h
        if d1 <= 1e-15 and d2 <= 1e-15:
            second = max(1e-6, 1e-3 * h)
        else:
            second = (0.01 / max(d1, d2)) ** (1.0 / self.tableau.root)
        return min(100.0 * h, second, whole)


def _size(x: np.ndarray) -> float:
    """The root mean square."""
    return float(np.sqrt(x @ x / len(x)))


def _addresses() -> tuple[int, ...]:
    python = ctypes.pythonapi
    functions = (python.PyObject_CallNoArgs, python.Py_IncRef, python.Py_DecRef)
    return tuple(ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)


_PYTHON = _addresses()
