"""Machine code of an explicit Runge-Kutta method: complete steps, for any size of state and any rate.

    next       return if `until` is reached or the arrays of results are full
    attempt    take a step and test whether its error is below 1
    accept     store times and interpolant; scale the next step by the factor (3), by at most 1 after a rejected step
    reject     otherwise, or if the error is NaN: repeat the step, scaled by the factor

**Error control.** The norms are those of the codes of SciPy and Hairer, so tolerances have the same meaning:

    error = √(Σ (eᵢ / sᵢ)² / n)          s = atol + rtol max(|y|, |y'|)                                        (1)
    error = |e|² / √(|e|² + |ê|²/100)    for methods with two estimates of different order, in that norm      (2)
    factor = 0.9 error^(-1/root)         at least 0.2, at most 10                                             (3)

A state or slope that is not finite makes the error NaN, so such a step is never accepted. Times only increase. No
step and no evaluation lies beyond `until`, and none ends a rounding error before it.

**Memory.** A state is divided into registers. The block of one register holds its part of all vectors of a step, so
that every weighted sum of slopes runs along one block with constant offsets:

    y  y'  k₀  k₁  …      the first four numbers of the state
    y  y'  k₀  k₁  …      the next four

Everything else is a double, an address or a count in the *cells* (`cells`).

The code of a method is one object for all rates and sizes. It calls the rate through the cells, as machine code, as a
Python function, or both (the Python function first). It refers to no external symbol: functions of Python are called
through the cells as well. An exception in Python ends the call and is passed on with its traceback. The GIL is kept,
because steps take microseconds, less than acquiring it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from functools import cache

from appell.compile.llvm.emitter import Index, Value
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.bound import LOAD_SELF
from appell.compile.native.kernels import load_text
from appell.compile.native.machine import Code, host
from appell.compile.ode.cells import CellEmitter, CellLayout
from appell.compile.ode.tableau import METHODS, Row, Tableau, chebyshev_factors

# names of the cells, by type: addresses, integers, doubles
ADDRESSES = (
    "rate",  # void rate(addresses): machine code that computes slopes, or null
    "addresses",  # of its arguments and results
    "callback",  # a Python function without arguments, called before every evaluation, or null
    "call",  # PyObject_CallNoArgs
    "keep",  # Py_IncRef
    "release",  # Py_DecRef
    "clock",  # the time of an evaluation
    "state",  # the state of an evaluation
    "slope",  # the result of an evaluation
    "work",  # the states and slopes of a step
    "starts",  # results: the time at which each step started
    "ends",  # the time at which it ended
    "series",  # its interpolant
)
COUNTS = (
    "registers",  # of a state
    "capacity",  # maximum number of steps of this call
    "taken",  # number of steps taken
    "fresh",  # 1: the slope at the present state has not been computed yet
    "reason",  # why the call returned
    "evaluations",  # since the stepper was made
)
NUMBERS = (
    "size",  # of a state
    "t",  # the present time
    "h",  # the next step to try
    "until",
    "longest",  # maximum length of a step
    "rtol",
    "atol",
)
LAYOUT = CellLayout(ADDRESSES, COUNTS, NUMBERS)


Y, NEW, SLOPES = 0, 1, 2  # the rows of a block


def rows(tableau: Tableau) -> int:
    """Return the number of registers of a block."""
    return SLOPES + tableau.slopes


def number(value: float) -> Value:
    """Return a constant double as LLVM text."""
    return DOUBLES.number(value)


class StateEmitter(CellEmitter):
    """Instructions on whole states, on single numbers, and on the cells at %cells."""

    def __init__(self, tableau: Tableau, fused: bool):
        super().__init__(LAYOUT, fused)
        self.tableau = tableau

    # ---- states

    def each(self, body: Callable[[Value, Index], None]) -> None:
        """Emit a loop that runs `body(block, number)` for every register of a state."""
        work, size = self.get("work"), rows(self.tableau) * DOUBLES.bytes
        self.repeat(self.get("registers"), lambda k: body(self.address(work, self.times(k, size)), k), unroll=False)

    def slope(self, block: Value, j: int) -> Value:
        """Load slope j from a block."""
        return self.load(block, SLOPES + j)

    def sum(self, block: Value, row: Row) -> Value:
        """Return Σ aⱼ kⱼ."""
        total = ""
        for j, a in row.items():
            total = self.added(total, self.constant(a), self.slope(block, j))
        return total

    def added(self, total: Value, a: Value, x: Value) -> Value:
        """Return total + a x, or a x if there is no total yet."""
        return self.fma(a, x, total) if total else self.mul(a, x)

    def mark_nonfinite(self, sum_at: Value, register: Value) -> None:
        """Add 0 x to a sum of zeros, which becomes NaN if a number x of the register is not finite."""
        self.store(self.fma(register, self.constant(0.0), self.load(sum_at)), sum_at)

    # ---- the rate

    def evaluate(self, time: Value, slope: int) -> None:
        """Compute the slope at the state in `state`; branch to %raised if Python raises an exception."""
        computed, offset = self.label("on"), (SLOPES + slope) * DOUBLES.bytes
        self.branch(self.value(f"call i1 @evaluate(ptr %cells, double {time}, i64 {offset})"), computed, "raised")
        self.enter(computed)


SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0  # of (3)
NEWTON_STEPS = 6  # from an initial guess within 6 % to the last bit


def attempt(emit: StateEmitter, t: Value, h: Value, end: Value) -> Value:
    """Emit a step from t to `end` of length h: its slopes and the new state; return the error.

    Parameters
    ----------
    emit : emitter of the driver
    t, h, end : start, length and end of the step
    """
    tableau = emit.tableau
    for i in range(1, tableau.last):
        stage(emit, t, h, end, tableau.nodes[i], tableau.stages[i], i)
    stage(emit, t, h, end, 1.0, tableau.weights, tableau.last, keep=True)
    return _error(emit, h)


def stage(
    emit: StateEmitter, t: Value, h: Value, end: Value, node: float, row: Row, slope: int, keep: bool = False
) -> None:
    """Emit the computation of a slope; with `keep`, its state is stored as the new state.

    Parameters
    ----------
    emit : emitter of the driver
    t, h, end : start, length and end of the step
    node, row : time and coefficients of the slope
    slope : index of the slope
    keep : whether the state of this slope is the new state
    """
    state, length = emit.get("state"), emit.splat(h)

    def move(block: Value, register: Index) -> None:
        new = emit.fma(length, emit.sum(block, row), emit.load(block, Y))
        emit.store(new, state, register)
        if keep:
            emit.store(new, block, NEW)

    emit.each(move)
    inside = emit.smaller(emit.double("fadd", t, emit.double("fmul", h, number(node))), end)
    emit.evaluate(end if node == 1.0 else inside, slope)


def _error(emit: StateEmitter, h: Value) -> Value:
    """Return the error norm (1) or (2)."""
    tableau = emit.tableau
    sums, nonfinite = emit.stack(len(tableau.errors)), emit.stack(1)
    for m in range(len(tableau.errors)):
        emit.store(emit.constant(0.0), sums, m)
    emit.store(emit.constant(0.0), nonfinite)
    atol, rtol = emit.splat(emit.get("atol")), emit.splat(emit.get("rtol"))

    def add_errors(block: Value, _) -> None:
        y, new = (emit.absolute(emit.load(block, row)) for row in (Y, NEW))
        scale = emit.fma(emit.select(emit.compare("ogt", y, new), y, new), rtol, atol)
        for m, row in enumerate(tableau.errors):
            part = emit.div(emit.sum(block, row), scale)
            emit.store(emit.fma(part, part, emit.load(sums, m)), sums, m)
        emit.mark_nonfinite(nonfinite, new)
        emit.mark_nonfinite(nonfinite, emit.slope(block, tableau.last))

    emit.each(add_errors)
    squares = [emit.lanes_sum(emit.load(sums, m)) for m in range(len(tableau.errors))]
    both = squares[0]
    for other in squares[1:]:
        both = emit.double("fadd", both, emit.double("fmul", number(0.01), other))
    root = emit.value(f"call double @llvm.sqrt.f64(double {emit.double('fmul', both, emit.get('size'))})")
    norm = emit.double("fdiv", emit.double("fmul", h, squares[0]), root)
    norm = emit.choose(emit.double("fcmp oeq", both, "0.0"), "0.0", norm)
    return emit.double("fadd", norm, emit.lanes_sum(emit.load(nonfinite)))


def factor(emit: StateEmitter, error: Value) -> Value:
    """Return the factor (3), by Newton's method for 1 / r^root = error; the minimum if the error is NaN."""
    root, one = emit.tableau.root, DOUBLES.pattern_of(1.0)
    x = emit.smaller(error, number((SAFETY / MIN_FACTOR) ** root))
    x = emit.larger(x, number((SAFETY / MAX_FACTOR) ** root))
    share = emit.value(f"sdiv i64 {emit.value(f'bitcast double {x} to i64')}, {root}")
    r = emit.value(f"bitcast i64 {emit.value(f'sub i64 {one + one // root}, {share}')} to double")
    for _ in range(NEWTON_STEPS):
        power = x
        for _ in range(root):
            power = emit.double("fmul", power, r)
        change = emit.double("fdiv", emit.double("fsub", number(1.0), power), number(root))
        r = emit.double("fadd", r, emit.double("fmul", r, change))
    return emit.double("fmul", r, number(SAFETY))


def interpolant(emit: StateEmitter, h: Value) -> None:
    """Write the Chebyshev coefficients, (7) and (8) of `tableau`; then make the new state the present one."""
    tableau = emit.tableau
    registers, length = emit.get("registers"), emit.splat(h)
    before = emit.value(f"mul i64 {emit.get('taken')}, {registers}")
    series = emit.address(emit.get("series"), emit.times(before, (tableau.degree + 1) * DOUBLES.bytes))

    def write(block: Value, register: Index) -> None:
        first, last = (emit.mul(length, emit.slope(block, j)) for j in (0, tableau.last))
        R = [emit.mul(length, emit.sum(block, tableau.weights))]
        R.append(emit.sub(first, R[0]))
        R.append(emit.sub(emit.sub(R[0], R[1]), last))
        R += [emit.mul(length, emit.sum(block, row)) for row in tableau.shapes]
        for k, factors in enumerate(chebyshev_factors(tableau.degree)):
            total = "" if k else emit.load(block, Y)
            for share, part in zip(factors, R, strict=True):
                if share:
                    total = emit.added(total, emit.constant(share), part)
            emit.store(total, series, emit.value(f"add i64 {emit.times(registers, k)}, {register}"))
        emit.store(emit.load(block, NEW), block, Y)
        emit.store(emit.slope(block, tableau.last), block, SLOPES)

    emit.each(write)


MIN_STEP_SPACINGS = 10  # minimum length of a step, in spacings of floating-point numbers at the present time


class Reason(IntEnum):
    """Why the machine code returned."""

    FULL = 0  # the requested number of steps has been taken
    END = 1  # `until` has been reached
    STEP_TOO_SMALL = 2  # the tolerances require a step below the minimum length
    NOT_FINITE = 3  # the same, because a state or a slope is not finite
    RAISED = 4  # Python raised an exception in an evaluation


@cache
def driver(method: str) -> Code:
    """Return the machine code of a method, loaded from the object cache or compiled."""
    return load_text(driver_text(METHODS[method](), host().has_fma), "enter", method)


def driver_text(tableau: Tableau, fused: bool) -> str:
    """Return the LLVM module of a method: `@enter` for Python, `@drive` for the steps, `@evaluate` for a slope."""
    return "\n".join([_evaluate(tableau, fused), _drive(tableau, fused), _enter()])


def _enter() -> str:
    """Return the built-in function; the cells are the data of the second item of the tuple `self`."""
    return f"""
define ptr @enter(ptr %self, ptr %unused) nounwind {{
{LOAD_SELF}
  call void @drive(ptr %data)
  %reason.at = getelementptr i8, ptr %data, i64 {LAYOUT.offset("reason")}
  %reason = load i64, ptr %reason.at, align 8
  %raised = icmp eq i64 %reason, {int(Reason.RAISED)}
  br i1 %raised, label %failed, label %done
failed:
  ret ptr null
done:
  %keep.at = getelementptr i8, ptr %data, i64 {LAYOUT.offset("keep")}
  %keep = load ptr, ptr %keep.at, align 8
  call void %keep(ptr %none)
  ret ptr %none
}}
"""


def _evaluate(tableau: Tableau, fused: bool) -> str:
    """Return the function that computes the slope at a time and the state in `state` and stores it in its row.

    It returns false if Python raised an exception. A state that is not finite has the slope NaN without a call of the
    rate.
    """
    emit = StateEmitter(tableau, fused)
    state, slope, nonfinite = emit.get("state"), emit.get("slope"), emit.stack(1)
    emit.store(emit.constant(0.0), nonfinite)
    emit.each(lambda _, k: emit.mark_nonfinite(nonfinite, emit.load(state, k)))
    is_finite = emit.double("fcmp ord", emit.lanes_sum(emit.load(nonfinite)), number(0.0))
    emit.branch(is_finite, "finite", "nonfinite")
    emit.enter("nonfinite")
    # into the row only: a rate does not write the padding of `slope`, where NaN would stay
    emit.each(lambda block, _: emit.store(emit.constant(math.nan), emit.address(block, "%row")))
    emit.do("ret i1 true")
    emit.enter("finite")
    emit.do(f"store double %time, ptr {emit.get('clock')}, align 8")
    emit.put("evaluations", emit.value(f"add i64 {emit.get('evaluations')}, 1"))
    callback, rate = emit.get("callback"), emit.get("rate")
    emit.branch(emit.value(f"icmp eq ptr {callback}, null"), "after.callback", "callback")
    emit.enter("callback")
    result = emit.value(f"call ptr {emit.get('call')}(ptr {callback})")
    emit.branch(emit.value(f"icmp eq ptr {result}, null"), "raised", "returned")
    emit.enter("raised")
    emit.do("ret i1 false")
    emit.enter("returned")
    emit.do(f"call void {emit.get('release')}(ptr {result})")
    emit.jump("after.callback")
    emit.enter("after.callback")
    emit.branch(emit.value(f"icmp eq ptr {rate}, null"), "store", "compute")
    emit.enter("compute")
    emit.do(f"call void {rate}(ptr {emit.get('addresses')})")
    emit.jump("store")
    emit.enter("store")
    emit.each(lambda block, k: emit.store(emit.load(slope, k), emit.address(block, "%row")))
    emit.do("ret i1 true")
    return emit.function("define internal i1 @evaluate(ptr %cells, double %time, i64 %row) noinline nounwind")


def _drive(tableau: Tableau, fused: bool) -> str:
    emit = StateEmitter(tableau, fused)
    step, end_of_step, min_step, rejected = (_Variable(emit, kind) for kind in ("double", "double", "double", "i1"))
    emit.put("taken", "0")
    emit.branch(emit.value(f"icmp ne i64 {emit.get('fresh')}, 0"), "begin", "next")

    emit.enter("begin")
    _first_slope(emit)

    emit.enter("next")
    emit.branch(emit.double("fcmp olt", emit.get("t"), emit.get("until")), "on", "end")
    emit.enter("on")
    emit.branch(emit.value(f"icmp ult i64 {emit.get('taken')}, {emit.get('capacity')}"), "step", "full")
    emit.enter("step")
    min_step.set(_min_step(emit))
    emit.put("h", emit.larger(emit.smaller(emit.get("h"), emit.get("longest")), min_step.get()))
    rejected.set("false")
    emit.jump("attempt")

    emit.enter("attempt")
    t = emit.get("t")
    end, until = emit.double("fadd", t, emit.get("h")), emit.get("until")
    is_last = emit.double("fcmp olt", emit.double("fsub", until, end), min_step.get())
    end = emit.choose(is_last, until, end)
    h = emit.double("fsub", end, t)
    step.set(h)
    end_of_step.set(end)
    error = attempt(emit, t, h, end)
    emit.branch(emit.double("fcmp olt", error, number(1.0)), "accept", "reject")

    emit.enter("reject")
    shorter = emit.double("fmul", step.get(), factor(emit, error))
    emit.put("h", shorter)
    rejected.set("true")
    emit.branch(emit.double("fcmp olt", shorter, min_step.get()), "give.up", "attempt")
    emit.enter("give.up")
    emit.branch(emit.double("fcmp ord", error, error), "step.too.small", "not.finite")

    emit.enter("accept")
    t, h, end = emit.get("t"), step.get(), end_of_step.get()
    for i, (node, row) in enumerate(zip(tableau.further_nodes, tableau.further_stages, strict=True)):
        stage(emit, t, h, end, node, row, tableau.last + 1 + i)
    interpolant(emit, h)
    taken = emit.get("taken")
    for name, value in (("starts", t), ("ends", end)):
        emit.do(f"store double {value}, ptr {emit.address(emit.get(name), emit.times(taken, 8))}, align 8")
    change = factor(emit, error)
    change = emit.choose(rejected.get(), emit.smaller(change, number(1.0)), change)
    emit.put("h", emit.double("fmul", h, change))
    emit.put("t", end)
    emit.put("taken", emit.value(f"add i64 {taken}, 1"))
    emit.jump("next")

    for reason in Reason:
        emit.enter(reason.name.lower().replace("_", "."))
        emit.put("reason", str(int(reason)))
        emit.do("ret void")
    return emit.function("define internal void @drive(ptr %cells) noinline nounwind")


class _Variable:
    """A variable on the stack."""

    def __init__(self, emit: StateEmitter, kind: str):
        self.emit, self.kind, self.at = emit, kind, emit.stack(1, kind)

    def get(self) -> Value:
        return self.emit.value(f"load {self.kind}, ptr {self.at}, align 8")

    def set(self, value: Value) -> None:
        self.emit.do(f"store {self.kind} {value}, ptr {self.at}, align 8")


def _first_slope(emit: StateEmitter) -> None:
    """Emit the computation of the slope at the initial state; later slopes are left by the previous step."""
    nonfinite, state = emit.stack(1), emit.get("state")
    emit.store(emit.constant(0.0), nonfinite)
    emit.each(lambda block, k: emit.store(emit.load(block, Y), state, k))
    emit.evaluate(emit.get("t"), 0)
    emit.each(lambda block, _: emit.mark_nonfinite(nonfinite, emit.load(block, SLOPES)))
    emit.put("fresh", "0")
    is_finite = emit.double("fcmp oeq", emit.lanes_sum(emit.load(nonfinite)), "0.0")
    emit.branch(is_finite, "next", "not.finite")


def _min_step(emit: StateEmitter) -> Value:
    """Return the minimum length of a step at the present time."""
    size = emit.value(f"call double @llvm.fabs.f64(double {emit.get('t')})")
    bits = emit.value(f"add i64 {emit.value(f'bitcast double {size} to i64')}, 1")
    spacing = emit.double("fsub", emit.value(f"bitcast i64 {bits} to double"), size)
    return emit.double("fmul", spacing, number(MIN_STEP_SPACINGS))
