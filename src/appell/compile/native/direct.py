"""One sample without NumPy's machinery: what most calls in a loop are.

A generalised ufunc takes about a microsecond to look at its arguments, whatever the kernel costs. Most single calls
hand over plain float64 vectors of the right shape, which a few comparisons can tell. So a call first enters machine
code that

    compares type, element type, layout and shape of every argument,
    makes the result arrays, and runs the ufunc's own loop on one sample,

and anything else (a batch, a list, `out=`, another element type, a wrong shape) goes on to `direct_batch`, and from
there to the ufunc. The bits are the same. What is not the same: errors of arithmetic are not looked for in one sample,
so `numpy.errstate` has no say over it.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from math import prod

import numpy as np

from appell.compile.formula import Formula
from appell.compile.native import cache as disk
from appell.compile.native.direct_batch import batch_text
from appell.compile.native.entry import builtin
from appell.compile.native.machine import Code, assemble
from appell.compile.native.narrow import NarrowLoop
from appell.compile.native.numpy_api import array_function, loop_address
from appell.compile.native.setting import SETTING
from appell.compile.native.target import host
from appell.compile.tape import Array

_METH_FASTCALL_KEYWORDS = 0x82
_PYARRAY_EMPTY = 184  # in the table of NumPy 1 and 2
_PLAIN = 0x101  # C-contiguous and aligned
_OPERANDS = 32
_AXES = 65  # NumPy has no more than 64, and a batch has one more

# The plan: addresses and counts that the machine code reads, in this order, then one shape for each operand.
_OBJECTS = ("ndarray", "float64", "tuple_type", "out_name", "empty", "incref", "decref", "tuple", "vectorcall")
_PLAN = (*_OBJECTS, "save", "restore", "threads", "loop", "wide", "dims", "steps", "ins", "outs")

_CALL = """
define ptr @call(ptr %self, ptr %args, i64 %given, ptr %keywords) nounwind {{
entry:
  %pointers = alloca [{operands} x ptr], align 8
  %slow.at = getelementptr i8, ptr %self, i64 {items}
  %slow = load ptr, ptr %slow.at, align 8
  %array.at = getelementptr i8, ptr %slow.at, i64 8
  %array = load ptr, ptr %array.at, align 8
  %plan.at = getelementptr i8, ptr %array, i64 {data}
  %plan = load ptr, ptr %plan.at, align 8
  {fields}
  %shapes = getelementptr i8, ptr %plan, i64 {shapes}
  %unnamed = icmp eq ptr %keywords, null
  %complete = icmp eq i64 %given, %ins
  %candidate = and i1 %unnamed, %complete
  br i1 %candidate, label %check, label %other

check:
  %i = phi i64 [ 0, %entry ], [ %i.next, %checked ]
  %argument.at = getelementptr ptr, ptr %args, i64 %i
  %argument = load ptr, ptr %argument.at, align 8
  %type.at = getelementptr i8, ptr %argument, i64 8
  %type = load ptr, ptr %type.at, align 8
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %look, label %other
look:
  %descr.at = getelementptr i8, ptr %argument, i64 {descr}
  %descr = load ptr, ptr %descr.at, align 8
  %is.float64 = icmp eq ptr %descr, %float64
  %flags.at = getelementptr i8, ptr %argument, i64 {flags}
  %flags = load i32, ptr %flags.at, align 4
  %layout = and i32 %flags, {plain}
  %is.plain = icmp eq i32 %layout, {plain}
  %nd.at = getelementptr i8, ptr %argument, i64 {nd}
  %nd = load i32, ptr %nd.at, align 4
  %axes = zext i32 %nd to i64
  %shape.at = getelementptr ptr, ptr %shapes, i64 %i
  %shape = load ptr, ptr %shape.at, align 8
  %expected = load i64, ptr %shape, align 8
  %is.deep = icmp eq i64 %axes, %expected
  %like = and i1 %is.float64, %is.plain
  %fits = and i1 %like, %is.deep
  br i1 %fits, label %measure, label %other
measure:
  %sizes.at = getelementptr i8, ptr %argument, i64 {sizes}
  %sizes = load ptr, ptr %sizes.at, align 8
  br label %axis
axis:
  %k = phi i64 [ 0, %measure ], [ %k.next, %same ]
  %more = icmp ult i64 %k, %axes
  br i1 %more, label %compare, label %checked
compare:
  %k.next = add i64 %k, 1
  %size.at = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %size.at, align 8
  %wanted.at = getelementptr i64, ptr %shape, i64 %k.next
  %wanted = load i64, ptr %wanted.at, align 8
  %equal = icmp eq i64 %size, %wanted
  br i1 %equal, label %same, label %other
same:
  br label %axis
checked:
  %content.at = getelementptr i8, ptr %argument, i64 {data}
  %content = load ptr, ptr %content.at, align 8
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %content, ptr %pointer.at, align 8
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %ins
  br i1 %again, label %check, label %prepare

prepare:
  %several = icmp ugt i64 %outs, 1
  br i1 %several, label %pack, label %make
pack:
  %packed = call ptr %tuple(i64 %outs)
  %no.tuple = icmp eq ptr %packed, null
  br i1 %no.tuple, label %failed, label %make
make:
  %j = phi i64 [ 0, %prepare ], [ 0, %pack ], [ %j.next, %placed ]
  %holder = phi ptr [ null, %prepare ], [ %packed, %pack ], [ %holder, %placed ]
  %number = add i64 %j, %ins
  %result.shape.at = getelementptr ptr, ptr %shapes, i64 %number
  %result.shape = load ptr, ptr %result.shape.at, align 8
  %result.axes = load i64, ptr %result.shape, align 8
  %result.nd = trunc i64 %result.axes to i32
  %result.sizes = getelementptr i64, ptr %result.shape, i64 1
  call void %incref(ptr %float64)
  %result = call ptr %empty(i32 %result.nd, ptr %result.sizes, ptr %float64, i32 0)
  %no.array = icmp eq ptr %result, null
  br i1 %no.array, label %drop, label %made
made:
  %out.at = getelementptr i8, ptr %result, i64 {data}
  %out = load ptr, ptr %out.at, align 8
  %target.at = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %out, ptr %target.at, align 8
  br i1 %several, label %place, label %run
place:
  %first = getelementptr i8, ptr %holder, i64 {items}
  %item.at = getelementptr ptr, ptr %first, i64 %j
  store ptr %result, ptr %item.at, align 8
  br label %placed
placed:
  %j.next = add i64 %j, 1
  %another = icmp ult i64 %j.next, %outs
  br i1 %another, label %make, label %run

run:
  %answer = phi ptr [ %result, %made ], [ %holder, %placed ]
  call void %loop(ptr %pointers, ptr %dims, ptr %steps, ptr null)
  ret ptr %answer

drop:
  br i1 %several, label %release, label %failed
release:
  call void %decref(ptr %holder)
  br label %failed
failed:
  ret ptr null

other:
  %passed = call ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords)
  ret ptr %passed
}}
"""


def direct_call(tape: Formula, ufunc: np.ufunc, otherwise: Callable) -> Callable | None:
    """A built-in that runs the ufunc's loop on one plain sample and hands all else to `otherwise`.

    None where that cannot be: a scalar result is a NumPy scalar, not an array, and a Python without the global lock
    lays out its objects in another way.
    """
    arrays = (*tape.inputs, *tape.outputs)
    scalars = any(not array.shape for array in tape.outputs)
    if scalars or len(arrays) > _OPERANDS or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    shapes = [np.array([len(array.shape), *array.shape], dtype=np.intp) for array in arrays]
    dims = np.array([1, *(size for array in arrays for size in array.shape)], dtype=np.intp)
    steps = np.array([*(8 * array.size for array in arrays), *_core_strides(arrays)], dtype=np.intp)
    python = ctypes.pythonapi
    loop = NarrowLoop(tape, loop_address(ufunc, 0))
    known = {
        "ndarray": id(np.ndarray),
        "float64": id(np.dtype(np.float64)),
        "tuple_type": id(tuple),
        "out_name": id(sys.intern("out")),
        "empty": array_function(_PYARRAY_EMPTY),
        "incref": _address(python.Py_IncRef),
        "decref": _address(python.Py_DecRef),
        "tuple": _address(python.PyTuple_New),
        "vectorcall": _address(python.PyObject_Vectorcall),
        "save": _address(python.PyEval_SaveThread),
        "restore": _address(python.PyEval_RestoreThread),
        "threads": SETTING.cell.ctypes.data,
        "loop": loop.address,
        "wide": loop_address(ufunc, 0),
        "dims": dims.ctypes.data,
        "steps": steps.ctypes.data,
        "ins": len(tape.inputs),
        "outs": len(tape.outputs),
    }
    plan = np.array([*(known[name] for name in _PLAN), *(shape.ctypes.data for shape in shapes)], dtype=np.uintp)
    loop.settle(plan, _PLAN.index("loop"))
    code = _code()
    kept = (otherwise, plan, code, ufunc, loop, dims, steps, SETTING.cell, *shapes)
    return builtin(tape.name, code.address, _METH_FASTCALL_KEYWORDS, kept)


def _core_strides(arrays: tuple[Array, ...]) -> list[int]:
    return [8 * prod(array.shape[axis + 1 :]) for array in arrays for axis in range(len(array.shape))]


def _address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _code() -> Code:
    head = object.__basicsize__  # then the fields of an array: data, nd, sizes, strides, base, descr, flags
    fields = []
    for number, name in enumerate(_PLAN):
        kind = "i64" if name in ("ins", "outs") else "ptr"
        fields += [
            f"%{name}.in = getelementptr i8, ptr %plan, i64 {8 * number}",
            f"%{name} = load {kind}, ptr %{name}.in, align 8",
        ]
    known: dict[str, int | str] = {
        "operands": _OPERANDS,
        "axes": _AXES,
        "items": tuple.__basicsize__,
        "length": head,
        "data": head,
        "nd": head + 8,
        "sizes": head + 16,
        "descr": head + 40,
        "flags": head + 48,
        "plain": _PLAIN,
        "fields": "\n  ".join(fields),
        "shapes": 8 * len(_PLAN),
    }
    x86 = host().triple.startswith("x86_64")
    text = _CALL.format(**known) + batch_text(x86, _PLAIN, known)
    key = hashlib.sha256("\n".join([text, host().identity]).encode()).hexdigest()
    return Code(disk.fetch(key, lambda: assemble(text, host(), "direct call")), "call")
