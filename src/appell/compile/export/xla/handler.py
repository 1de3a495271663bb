"""What XLA calls: a handler of its foreign-function interface, written in LLVM.

XLA hands over one pointer, to a frame of plain C structures (`xla/ffi/api/c_api.h`, which jaxlib brings along):

    frame    size 0 · extension 8 · api 16 · arguments 40 (size 40, count 56, pointers 72) · results 80 (the same)
    buffer   size 0 · data 24 · rank 32 · dims 40

When a handler is registered, the frame has an extension that asks which version of the interface it speaks. When it is
run, every buffer has two batch axes, outer and inner, then its core axes. An axis of length 1 where others are longer
is one that all samples share: its step is zero, and nothing is copied. So a run is

    for every outer index: loop(pointers, count, steps); the pointers move on by their outer steps

with the loop of the ufunc itself. Lengths of core axes, such as the steps of a march, are known to the plan. A frame
whose structures have other sizes than those above is refused by an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from appell.compile.emit.core_axes import CoreAxes

FRAME, SIDE, BUFFER = 168, 40, 48  # bytes of a frame down to its attributes, of arguments or results, of a buffer
_MESSAGE = b"appell: the structures of XLA's foreign-function interface have other sizes than they had\0"
_HEAD = ("loop", "operands", "inputs", "axes", "lengths")  # of the plan; then see `handler_plan`

_HANDLER = """
@message = private unnamed_addr constant [{length} x i8] c"{message}"

define ptr @handler(ptr %frame) nounwind {{
entry:
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at, align 8
  %bare = icmp eq ptr %extension, null
  br i1 %bare, label %check, label %asked
asked:
  %kind.at = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %kind.at, align 4
  %is.metadata = icmp eq i32 %kind, 1
  br i1 %is.metadata, label %answer, label %check
answer:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at, align 8
  %version.size = getelementptr i8, ptr %metadata, i64 8
  store i64 24, ptr %version.size, align 8
  %version.extension = getelementptr i8, ptr %metadata, i64 16
  store ptr null, ptr %version.extension, align 8
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 {major}, ptr %major, align 4
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 {minor}, ptr %minor, align 4
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits, align 4
  ret ptr null

check:
  %frame.size = load i64, ptr %frame, align 8
  %frame.fits = icmp uge i64 %frame.size, {frame}
  %taken.size.at = getelementptr i8, ptr %frame, i64 40
  %taken.size = load i64, ptr %taken.size.at, align 8
  %taken.fits = icmp eq i64 %taken.size, {side}
  %given.size.at = getelementptr i8, ptr %frame, i64 80
  %given.size = load i64, ptr %given.size.at, align 8
  %given.fits = icmp eq i64 %given.size, {side}
  %sides.fit = and i1 %taken.fits, %given.fits
  %fits = and i1 %frame.fits, %sides.fit
  br i1 %fits, label %read, label %refuse
read:
  %plan = inttoptr i64 {plan} to ptr
  %loop = load ptr, ptr %plan, align 8
  %operands.at = getelementptr i64, ptr %plan, i64 1
  %operands = load i64, ptr %operands.at, align 8
  %inputs.at = getelementptr i64, ptr %plan, i64 2
  %inputs = load i64, ptr %inputs.at, align 8
  %axes.at = getelementptr i64, ptr %plan, i64 3
  %axes = load i64, ptr %axes.at, align 8
  %lengths.at = getelementptr i64, ptr %plan, i64 4
  %lengths = load i64, ptr %lengths.at, align 8
  %sizes = getelementptr i64, ptr %plan, i64 {head}
  %strides = getelementptr i64, ptr %sizes, i64 %operands
  %all = add i64 %operands, %axes
  %pointers = alloca ptr, i64 %operands, align 8
  %hops = alloca i64, i64 %operands, align 8
  %steps = alloca i64, i64 %all, align 8
  %known = getelementptr i64, ptr %strides, i64 %axes
  %offsets = getelementptr i64, ptr %known, i64 %lengths
  %dimensions = add i64 %lengths, 1
  %count = alloca i64, i64 %dimensions, align 8
  %taken.at = getelementptr i8, ptr %frame, i64 72
  %taken = load ptr, ptr %taken.at, align 8
  %given.at = getelementptr i8, ptr %frame, i64 112
  %given = load ptr, ptr %given.at, align 8
  br label %operand

operand:
  %i = phi i64 [ 0, %read ], [ %i.next, %placed ]
  %is.input = icmp ult i64 %i, %inputs
  %result.number = sub i64 %i, %inputs
  %number = select i1 %is.input, i64 %i, i64 %result.number
  %side = select i1 %is.input, ptr %taken, ptr %given
  %buffer.at = getelementptr ptr, ptr %side, i64 %number
  %buffer = load ptr, ptr %buffer.at, align 8
  %buffer.size = load i64, ptr %buffer, align 8
  %buffer.fits = icmp uge i64 %buffer.size, {buffer}
  br i1 %buffer.fits, label %placed, label %refuse
placed:
  %data.at = getelementptr i8, ptr %buffer, i64 24
  %start = load ptr, ptr %data.at, align 8
  %offset.at = getelementptr i64, ptr %offsets, i64 %i
  %offset = load i64, ptr %offset.at, align 8
  %data = getelementptr i8, ptr %start, i64 %offset
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer.at, align 8
  %dims.at = getelementptr i8, ptr %buffer, i64 40
  %dims = load ptr, ptr %dims.at, align 8
  %outer = load i64, ptr %dims, align 8
  %inner.at = getelementptr i64, ptr %dims, i64 1
  %inner = load i64, ptr %inner.at, align 8
  %size.at = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size.at, align 8
  %inner.shared = icmp eq i64 %inner, 1
  %step = select i1 %inner.shared, i64 0, i64 %size
  %step.at = getelementptr i64, ptr %steps, i64 %i
  store i64 %step, ptr %step.at, align 8
  %row = mul i64 %inner, %size
  %outer.shared = icmp eq i64 %outer, 1
  %hop = select i1 %outer.shared, i64 0, i64 %row
  %hop.at = getelementptr i64, ptr %hops, i64 %i
  store i64 %hop, ptr %hop.at, align 8
  %i.next = add i64 %i, 1
  %another = icmp ult i64 %i.next, %operands
  br i1 %another, label %operand, label %prepare

prepare:
  store i64 %inner, ptr %count, align 8
  br label %axis
axis:
  %k = phi i64 [ 0, %prepare ], [ %k.next, %copy ]
  %more = icmp ult i64 %k, %axes
  br i1 %more, label %copy, label %length
copy:
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride.at, align 8
  %place = add i64 %operands, %k
  %place.at = getelementptr i64, ptr %steps, i64 %place
  store i64 %stride, ptr %place.at, align 8
  %k.next = add i64 %k, 1
  br label %axis

length:
  %m = phi i64 [ 0, %axis ], [ %m.next, %note ]
  %longer = icmp ult i64 %m, %lengths
  br i1 %longer, label %note, label %turns
note:
  %m.next = add i64 %m, 1
  %known.at = getelementptr i64, ptr %known, i64 %m
  %known.length = load i64, ptr %known.at, align 8
  %noted.at = getelementptr i64, ptr %count, i64 %m.next
  store i64 %known.length, ptr %noted.at, align 8
  br label %length

turns:
  %turn = phi i64 [ 0, %length ], [ %turn.next, %moved ]
  %left = icmp ult i64 %turn, %outer
  br i1 %left, label %run, label %done
run:
  call void %loop(ptr %pointers, ptr %count, ptr %steps, ptr null)
  br label %move
move:
  %j = phi i64 [ 0, %run ], [ %j.next, %move ]
  %moving.at = getelementptr ptr, ptr %pointers, i64 %j
  %moving = load ptr, ptr %moving.at, align 8
  %by.at = getelementptr i64, ptr %hops, i64 %j
  %by = load i64, ptr %by.at, align 8
  %there = getelementptr i8, ptr %moving, i64 %by
  store ptr %there, ptr %moving.at, align 8
  %j.next = add i64 %j, 1
  %yet = icmp ult i64 %j.next, %operands
  br i1 %yet, label %move, label %moved
moved:
  %turn.next = add i64 %turn, 1
  br label %turns
done:
  ret ptr null

refuse:
  %problem = alloca [4 x i64], align 8
  store i64 28, ptr %problem, align 8
  %problem.extension = getelementptr i8, ptr %problem, i64 8
  store ptr null, ptr %problem.extension, align 8
  %problem.message = getelementptr i8, ptr %problem, i64 16
  store ptr @message, ptr %problem.message, align 8
  %problem.code = getelementptr i8, ptr %problem, i64 24
  store i32 9, ptr %problem.code, align 4
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at, align 8
  %create.at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create.at, align 8
  %error = call ptr %create(ptr %problem)
  ret ptr %error
}}
"""


def handler_text(version: tuple[int, int], plan: np.ndarray) -> str:
    """The module of a handler that speaks a version of the interface and reads a plan, which must outlive it."""
    major, minor = version
    return _HANDLER.format(
        message="".join(f"\\{byte:02X}" for byte in _MESSAGE),
        length=len(_MESSAGE),
        major=major,
        minor=minor,
        frame=FRAME,
        side=SIDE,
        buffer=BUFFER,
        plan=plan.ctypes.data,
        head=len(_HEAD),
    )


def handler_plan(
    axes: CoreAxes, lengths: Mapping[str, int], itemsize: int, loop: int, backward: str = ""
) -> np.ndarray:
    """What a handler must know of its kernel: the address of the loop, and how the operands lie in memory.

    `lengths` are those of axes that have names; the one called `backward` is gone along from its end. After the head
    come the bytes of every operand, the strides of core axes, their lengths, and where every operand begins.
    """
    shapes = [tuple(lengths[axis] if isinstance(axis, str) else axis for axis in own) for own in axes.operands]
    sizes = [itemsize * prod(shape) for shape in shapes]
    strides, offsets = [], []
    for own, shape in zip(axes.operands, shapes, strict=True):
        steps = [itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        turned = [axis == backward for axis in own]
        strides += [-step if back else step for step, back in zip(steps, turned, strict=True)]
        offsets.append(sum((n - 1) * step for n, step, back in zip(shape, steps, turned, strict=True) if back))
    different = dict(zip([x for own in axes.operands for x in own], [x for own in shapes for x in own], strict=True))
    head = [loop, len(shapes), len(axes.inputs), len(strides), len(different)]
    return np.array([*head, *sizes, *strides, *different.values(), *offsets], dtype=np.int64)
