"""The machine code of an explicit Runge-Kutta method: whole steps, of any size of state, around any rate.

    next       at `until`, or out of room for results: come back
    attempt    a step; its error is below 1?
    accept     keep times and interpolant; the next step is longer by the factor, but not right after a refusal
    refuse     otherwise, or if the error is NaN: the same step once more, shorter by the factor

Times only go forward. No step reaches beyond `until`, and none ends a rounding before it. The code of a method is one
object for all rates and sizes: it calls the rate through the cells, and finds it there as the machine code of a
function, as a Python function, or as both, first the latter. Like all code that is made here it refers to nothing
outside itself: Python's own functions are called through the cells too. An exception in Python ends the call at once
and is handed on with its traceback, as by any built-in function. The lock of the interpreter is kept: steps last some
microseconds, less than getting it back.
"""

from __future__ import annotations

import hashlib
import math
from enum import IntEnum
from functools import cache

from appell.compile.emit.emitter import Value
from appell.compile.native import cache as disk
from appell.compile.native.kernels import emitter_digest
from appell.compile.native.machine import Code, assemble
from appell.compile.native.target import host
from appell.compile.stepper.attempt import attempt, factor, interpolant, stage
from appell.compile.stepper.cells import PLACE
from appell.compile.stepper.state_emitter import SLOPES, StateEmitter, Y, number
from appell.compile.stepper.tableau import METHODS, Tableau

LEAST = 10  # spacings of floating-point numbers: no step is shorter


class Reason(IntEnum):
    """Why the machine code came back."""

    FULL = 0  # it has taken as many steps as it was asked for
    END = 1  # it has reached `until`
    SMALL = 2  # the tolerance asks for a step below the spacing of times
    NOT_FINITE = 3  # the same, because a state or a slope is not a number
    RAISED = 4  # Python raised an exception in an evaluation


@cache
def driver(method: str) -> Code:
    """The loaded code of a method, from the disk or made now."""
    tableau, target = METHODS[method], host()
    text = driver_text(tableau, target.has_fma)
    key = hashlib.sha256("\n".join([text, target.identity, emitter_digest()]).encode()).hexdigest()
    return Code(disk.fetch(key, lambda: assemble(text, target, method)), "enter")


def driver_text(tableau: Tableau, fused: bool) -> str:
    """The LLVM module of a method: `@enter` for Python, `@drive` for the steps, `@evaluate` for a slope."""
    return "\n".join([_evaluate(tableau, fused), _drive(tableau, fused), _enter()])


def _enter() -> str:
    """The built-in function: its cells are the data of the second thing in the tuple that Python hands to it."""
    return f"""
define ptr @enter(ptr %self, ptr %unused) nounwind {{
  %none.at = getelementptr i8, ptr %self, i64 {tuple.__basicsize__}
  %none = load ptr, ptr %none.at, align 8
  %array.at = getelementptr i8, ptr %none.at, i64 8
  %array = load ptr, ptr %array.at, align 8
  %cells.at = getelementptr i8, ptr %array, i64 {object.__basicsize__}
  %cells = load ptr, ptr %cells.at, align 8
  call void @drive(ptr %cells)
  %reason.at = getelementptr i8, ptr %cells, i64 {8 * PLACE["reason"]}
  %reason = load i64, ptr %reason.at, align 8
  %raised = icmp eq i64 %reason, {int(Reason.RAISED)}
  br i1 %raised, label %failed, label %done
failed:
  ret ptr null
done:
  %keep.at = getelementptr i8, ptr %cells, i64 {8 * PLACE["keep"]}
  %keep = load ptr, ptr %keep.at, align 8
  call void %keep(ptr %none)
  ret ptr %none
}}
"""


def _evaluate(tableau: Tableau, fused: bool) -> str:
    """The slope at the time and state that are given, carried to its row; false if Python raised an exception.

    A state that is not finite has the slope NaN: nobody is asked about it.
    """
    emit = StateEmitter(tableau, fused)
    state, slope, spoilt = emit.get("state"), emit.get("slope"), emit.stack(1)
    emit.store(emit.constant(0.0), spoilt)
    emit.each(lambda _, k: emit.spoil(spoilt, emit.load(state, k)))
    finite = emit.double("fcmp ord", emit.lanes_sum(emit.load(spoilt)), number(0.0))
    emit.branch(finite, "sound", "unsound")
    emit.enter("unsound")
    emit.each(lambda _, k: emit.store(emit.constant(math.nan), slope, k))
    emit.jump("carry")
    emit.enter("sound")
    emit.do(f"store double %time, ptr {emit.get('clock')}, align 8")
    emit.put("evaluations", emit.value(f"add i64 {emit.get('evaluations')}, 1"))
    callback, rate = emit.get("callback"), emit.get("rate")
    emit.branch(emit.value(f"icmp eq ptr {callback}, null"), "asked", "ask")
    emit.enter("ask")
    answer = emit.value(f"call ptr {emit.get('call')}(ptr {callback})")
    emit.branch(emit.value(f"icmp eq ptr {answer}, null"), "raised", "answered")
    emit.enter("raised")
    emit.do("ret i1 false")
    emit.enter("answered")
    emit.do(f"call void {emit.get('release')}(ptr {answer})")
    emit.jump("asked")
    emit.enter("asked")
    emit.branch(emit.value(f"icmp eq ptr {rate}, null"), "carry", "compute")
    emit.enter("compute")
    emit.do(f"call void {rate}(ptr {emit.get('addresses')})")
    emit.jump("carry")
    emit.enter("carry")
    emit.each(lambda block, k: emit.store(emit.load(slope, k), emit.address(block, "%row")))
    emit.do("ret i1 true")
    return emit.function("define internal i1 @evaluate(ptr %cells, double %time, i64 %row) noinline nounwind")


def _drive(tableau: Tableau, fused: bool) -> str:
    emit = StateEmitter(tableau, fused)
    step, end_of_step, least, refused = (_Variable(emit, kind) for kind in ("double", "double", "double", "i1"))
    emit.put("taken", "0")
    emit.branch(emit.value(f"icmp ne i64 {emit.get('fresh')}, 0"), "begin", "next")

    emit.enter("begin")
    _first_slope(emit)

    emit.enter("next")
    emit.branch(emit.double("fcmp olt", emit.get("t"), emit.get("until")), "on", "end")
    emit.enter("on")
    emit.branch(emit.value(f"icmp ult i64 {emit.get('taken')}, {emit.get('capacity')}"), "step", "full")
    emit.enter("step")
    least.set(_least(emit))
    emit.put("h", emit.larger(emit.smaller(emit.get("h"), emit.get("longest")), least.get()))
    refused.set("false")
    emit.jump("attempt")

    emit.enter("attempt")
    t = emit.get("t")
    end, until = emit.double("fadd", t, emit.get("h")), emit.get("until")
    nearly = emit.double("fcmp olt", emit.double("fsub", until, end), least.get())
    end = emit.choose(nearly, until, end)
    h = emit.double("fsub", end, t)
    step.set(h)
    end_of_step.set(end)
    error = attempt(emit, t, h, end)
    emit.branch(emit.double("fcmp olt", error, number(1.0)), "accept", "refuse")

    emit.enter("refuse")
    shorter = emit.double("fmul", step.get(), factor(emit, error))
    emit.put("h", shorter)
    refused.set("true")
    emit.branch(emit.double("fcmp olt", shorter, least.get()), "hopeless", "attempt")
    emit.enter("hopeless")
    emit.branch(emit.double("fcmp ord", error, error), "small", "not.finite")

    emit.enter("accept")
    t, h, end = emit.get("t"), step.get(), end_of_step.get()
    for i, (node, row) in enumerate(zip(tableau.further_nodes, tableau.further_stages, strict=True)):
        stage(emit, t, h, end, node, row, tableau.last + 1 + i)
    interpolant(emit, h)
    taken = emit.get("taken")
    for name, value in (("starts", t), ("ends", end)):
        emit.do(f"store double {value}, ptr {emit.address(emit.get(name), emit.times(taken, 8))}, align 8")
    found = factor(emit, error)
    found = emit.choose(refused.get(), emit.smaller(found, number(1.0)), found)
    emit.put("h", emit.double("fmul", h, found))
    emit.put("t", end)
    emit.put("taken", emit.value(f"add i64 {taken}, 1"))
    emit.jump("next")

    for reason in Reason:
        emit.enter(reason.name.lower().replace("_", "."))
        emit.put("reason", str(int(reason)))
        emit.do("ret void")
    return emit.function("define internal void @drive(ptr %cells) noinline nounwind")


class _Variable:
    """A number on the stack that changes."""

    def __init__(self, emit: StateEmitter, kind: str):
        self.emit, self.kind, self.at = emit, kind, emit.stack(1, kind)

    def get(self) -> Value:
        return self.emit.value(f"load {self.kind}, ptr {self.at}, align 8")

    def set(self, value: Value) -> None:
        self.emit.do(f"store {self.kind} {value}, ptr {self.at}, align 8")


def _first_slope(emit: StateEmitter) -> None:
    """The slope at the beginning, which no step before has left."""
    spoilt, state = emit.stack(1), emit.get("state")
    emit.store(emit.constant(0.0), spoilt)
    emit.each(lambda block, k: emit.store(emit.load(block, Y), state, k))
    emit.evaluate(emit.get("t"), 0)
    emit.each(lambda block, _: emit.spoil(spoilt, emit.load(block, SLOPES)))
    emit.put("fresh", "0")
    finite = emit.double("fcmp oeq", emit.lanes_sum(emit.load(spoilt)), "0.0")
    emit.branch(finite, "next", "not.finite")


def _least(emit: StateEmitter) -> Value:
    """The shortest step at the present time."""
    size = emit.value(f"call double @llvm.fabs.f64(double {emit.get('t')})")
    bits = emit.value(f"add i64 {emit.value(f'bitcast double {size} to i64')}, 1")
    spacing = emit.double("fsub", emit.value(f"bitcast i64 {bits} to double"), size)
    return emit.double("fmul", spacing, number(LEAST))
