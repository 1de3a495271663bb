"""A stepper integrates a rate with an explicit method, many steps per call, in machine code.

    stepper = Stepper("DOP853", rate)
    stepper.start(t, y, until, rtol=1e-8, atol=1e-10)
    while stepper.advance(64) is Reason.FULL: ...
    stepper.starts, stepper.ends, stepper.series      of the steps of the last `advance`, (taken, degree + 1, size)

It can be restarted any number of times at a cost of microseconds, and integrates one interval at a time.

The rate ẏ = f(t, y, p) of a state works on its own arrays, whose addresses do not change:

    rate = Rate.compiled(function, 2)     inputs y₁, y₂, p … and outputs ẏ₁, ẏ₂, …: the first two of both form y and ẏ
    rate.held["p"][:] = …                 other inputs, constant along an interval; an input t of shape () is the time
    Rate.compiled(function, 2, before)    `before()` is called before every evaluation and may set `rate.held` from
                                          `rate.time` and `rate.y`
    Rate.called(size, compute)            `compute()` reads `time` and `y` and writes `slope`

All arrays are views of the memory that the machine code reads and writes, so nothing is copied or converted.
Exceptions raised by `before` and `compute` leave the stepper unchanged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from copy import copy
from itertools import accumulate
from math import prod

import numpy as np

from appell.compile.function import Function
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.bound import METH_NOARGS, builtin, caller
from appell.compile.native.machine import Code, function_address
from appell.compile.ode.cells import Cells, address
from appell.compile.ode.driver import LAYOUT, Reason, Y, driver, rows
from appell.compile.ode.tableau import METHODS, Tableau
from appell.errors import ArgumentError


def aligned(*shape: int) -> np.ndarray:
    """Return zeros whose address is aligned for registers."""
    size, spare = prod(shape), DOUBLES.bytes // DOUBLES.itemsize
    memory = np.zeros(size + spare)
    first = -(address(memory) // DOUBLES.itemsize) % spare
    return memory[first : first + size].reshape(shape)


class Rate:
    """Time, state and slope as arrays, and the function that computes the slope."""

    def __init__(self, size: int, callback: Callable[[], object] | None):
        self.size, self.callback = size, callback
        self.registers = -(-size // DOUBLES.width)
        self.time = np.zeros(())
        self.states, self.slopes = (aligned(self.registers * DOUBLES.width) for _ in range(2))  # as registers
        self.y, self.slope = self.states[:size], self.slopes[:size]
        self.held: dict[str, np.ndarray] = {}
        self.given: dict[str, np.ndarray] = {}  # results beyond the slope
        self.code: Code | None = None
        self.operands: list[np.ndarray] = []  # arguments and results of the machine code
        self.addresses = np.zeros(0, np.uintp)
        self._compute: Callable[[], None] | None = None

    @classmethod
    def called(cls, size: int, compute: Callable[[], object]) -> Rate:
        """Return the rate of a state of `size` numbers that a Python function computes."""
        return cls(size, compute)

    @classmethod
    def compiled(cls, function: Function, parts: int, before: Callable[[], object] | None = None) -> Rate:
        """Return the rate that a compiled function computes.

        Parameters
        ----------
        function : its first `parts` inputs are the state, its first `parts` outputs the slope
        parts : number of arrays of the state
        before : called before every evaluation
        """
        states, slopes = function.inputs[:parts], function.outputs[:parts]
        if [array.size for array in states] != [array.size for array in slopes]:
            raise ArgumentError(
                f"{function!r} does not compute the rate of {', '.join(map(str, states))}.",
                expected="first results of the same sizes, which are the time derivatives of these arguments",
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
        rate.code, rate.operands = function.kernel(), operands
        addresses = np.array([rate.code.address, *map(address, operands)], np.uintp)
        rate.addresses = addresses[1:]
        rate._compute = caller(function.name, addresses, *operands, rate.code)
        return rate

    def replaced(self, code: Code) -> Rate:
        """Return a rate with the same arrays and callback that other machine code of one argument computes.

        The address of the argument is `addresses[0]`, and may be changed between steps.
        """
        rate, addresses = copy(self), np.array([code.address, 0], np.uintp)
        rate.code, rate.operands, rate.addresses = code, [], addresses[1:]
        rate._compute = caller("rate", addresses, code)
        return rate

    def __call__(self) -> np.ndarray:
        """Evaluate at `time` and `y`, and return `slope`, which the next evaluation overwrites."""
        if self.callback is not None:
            self.callback()
        if self._compute is not None:
            self._compute()
        return self.slope


class Stepper:
    """Integrates a rate with a method, one interval after another.

    Parameters
    ----------
    method : "DOP853", "RK45" or "RK23"
    rate : rate of the state
    capacity : maximum number of steps per call of `advance`
    """

    def __init__(self, method: str, rate: Rate, capacity: int = 64):
        self.rate, self.capacity = rate, capacity
        self.intervals = 0  # number of calls of `start`
        self.tableau: Tableau = METHODS[method]()
        registers = rate.registers
        work = aligned(registers, rows(self.tableau), DOUBLES.width)
        self._starts, self._ends = np.zeros(capacity), np.zeros(capacity)
        self._series = aligned(capacity, self.tableau.degree + 1, registers * DOUBLES.width)
        self._state = work[:, Y]
        self._cells = cells = Cells(LAYOUT)
        code = driver(method)
        if rate.code is not None:
            cells.rate, cells.addresses = rate.code.address, address(rate.addresses)
        if rate.callback is not None:
            cells.callback = id(rate.callback)
        cells.call, cells.keep, cells.release = _PYTHON_FUNCTIONS
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
            setattr(cells, name, address(array))
        cells.registers, cells.size = registers, rate.size
        items = (None, cells.array, rate, code, *arrays.values())
        self._run = builtin(method, code.address, METH_NOARGS, items)

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
        """Start an interval.

        Parameters
        ----------
        t, y : initial time (s) and state
        until : end of the interval (s)
        rtol, atol : relative and absolute tolerance of a step
        first : length of the first step to try (s); None to estimate it
        longest : maximum length of a step (s)
        """
        cells, registers = self._cells, self.rate.registers
        padded = np.zeros(registers * DOUBLES.width)
        padded[: self.rate.size] = y
        self._state[:] = padded.reshape(registers, DOUBLES.width)
        cells.t, cells.until, cells.longest, cells.rtol, cells.atol = t, until, longest, rtol, atol
        cells.h = self._first_step(t, y, until) if first is None else first
        cells.fresh = 1
        self.intervals += 1

    def advance(self, steps: int = 1) -> Reason:
        """Take at most `steps` steps and return why it stopped; exceptions of a callback are propagated."""
        self._cells.capacity = min(steps, self.capacity)
        self._run()
        return _REASONS[self._cells.reason]

    @property
    def taken(self) -> int:
        """Number of steps of the last call of `advance`."""
        return self._cells.taken

    @property
    def starts(self) -> np.ndarray:
        """Times at which the steps of the last call of `advance` started."""
        return self._starts[: self.taken]

    @property
    def ends(self) -> np.ndarray:
        """Times at which the steps of the last call of `advance` ended."""
        return self._ends[: self.taken]

    @property
    def series(self) -> np.ndarray:
        """Chebyshev series of every step of the last call of `advance`; the next call overwrites them."""
        return self._series[: self.taken, :, : self.rate.size]

    @property
    def t(self) -> float:
        """Present time."""
        return self._cells.t

    @property
    def y(self) -> np.ndarray:
        """Present state."""
        return self._state.reshape(-1)[: self.rate.size].copy()

    @property
    def step(self) -> float:
        """Length of the next step to try."""
        return self._cells.h

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the rate since the stepper was made."""
        return self._cells.evaluations

    def _first_step(self, t: float, y: np.ndarray, until: float) -> float:
        """Estimate a first step from the norms of state, slope and change of slope (Hairer, Nørsett, Wanner, II.4)."""
        cells, rate, interval = self._cells, self.rate, until - t

        def slope(time: float, state: np.ndarray) -> np.ndarray:
            rate.time[()], rate.y[:] = time, state
            return np.array(rate())

        with np.errstate(all="ignore"):
            scale = cells.atol + cells.rtol * np.abs(y)
            f = slope(t, y)
            d0, d1 = _norm(y / scale), _norm(f / scale)
            if not np.isfinite(d1):
                return interval  # the first step reports it
            h = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, interval)
            d2 = _norm((slope(min(t + h, until), y + h * f) - f) / scale) / h
        if d1 <= 1e-15 and d2 <= 1e-15:
            second = max(1e-6, 1e-3 * h)
        else:
            second = (0.01 / max(d1, d2)) ** (1.0 / self.tableau.root)
        return min(100.0 * h, second, interval)


def _norm(x: np.ndarray) -> float:
    """Return the root mean square."""
    return float(np.sqrt(x @ x / len(x)))


_REASONS = tuple(Reason)
_PYTHON_FUNCTIONS = [
    function_address(getattr(ctypes.pythonapi, name)) for name in ("PyObject_CallNoArgs", "Py_IncRef", "Py_DecRef")
]
