"""Kernels that XLA calls: handlers of its foreign-function interface, written in LLVM and registered by name.

XLA passes one pointer, to a frame of plain C structures (`xla/ffi/api/c_api.h`, which is part of jaxlib):

    frame    size 0 · extension 8 · api 16 · arguments 40 (size 40, count 56, pointers 72) · results 80 (the same)
    buffer   size 0 · data 24 · rank 32 · dims 40

When a handler is registered, the frame has an extension that requests the version of the interface. When it is run,
every buffer has two batch axes, outer and inner, then its core axes. An axis of length 1 where others are longer is
shared by all samples: its stride is zero, and nothing is copied. A run is

    for every outer index: loop(pointers, count, steps); the pointers advance by their outer strides

with the loop of the ufunc itself. Lengths of core axes, such as the steps of a scan, are constants of the handler. A
frame whose structures have other sizes than those above is rejected with an error.

XLA holds the address of a handler until the process ends, so registered code is never freed. The header of the
installed jaxlib states the version of its interface; with a version that has not been tested, kernels are not used, and
the reason is reported.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.llvm.operands import EVERY, ROWS, CoreAxes, formula_axes, scan_axes
from appell.compile.native.build_lock import BUILD_LOCK
from appell.compile.native.kernels import with_fields
from appell.compile.native.machine import Code, assemble, host

if TYPE_CHECKING:
    from appell.compile.function import Function
    from appell.compile.scan import Scan


FRAME_BYTES = 168  # of a frame, up to its attributes
SIDE_BYTES = 40  # of the structure of the arguments or of the results
BUFFER_BYTES = 48
_MESSAGE = b"appell: the structures of XLA's foreign-function interface do not have the expected sizes\0"

_HANDLER = """
@message = private unnamed_addr constant [{length} x i8] c"{message}"

define ptr @handler(ptr %frame) nounwind {{
entry:
  %extension = field ptr, %frame, 8
  %bare = icmp eq ptr %extension, null
  br i1 %bare, label %check, label %extended
extended:
  %kind = field i32, %extension, 8
  %is.metadata = icmp eq i32 %kind, 1
  br i1 %is.metadata, label %answer, label %check
answer:
  %metadata = field ptr, %extension, 24
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
  %taken.size = field i64, %frame, 40
  %taken.fits = icmp eq i64 %taken.size, {side}
  %given.size = field i64, %frame, 80
  %given.fits = icmp eq i64 %given.size, {side}
  %sides.fit = and i1 %taken.fits, %given.fits
  %fits = and i1 %frame.fits, %sides.fit
  br i1 %fits, label %read, label %reject
read:
  %pointers = alloca ptr, i64 {operands}, align 8
  %count = alloca i64, i64 {lengths}, align 8
  %steps = alloca i64, i64 {steps}, align 8
  %taken = field ptr, %frame, 72
  %given = field ptr, %frame, 112
  %loop = inttoptr i64 {loop} to ptr
{read}  br label %rows

rows:
  %row = phi i64 [ 0, %valid.{last} ], [ %row.next, %run ]
  %left = icmp ult i64 %row, %outer.{last}
  br i1 %left, label %run, label %done
run:
  call void %loop(ptr %pointers, ptr %count, ptr %steps, ptr null)
{advance}  %row.next = add i64 %row, 1
  br label %rows
done:
  ret ptr null

reject:
  %problem = alloca [4 x i64], align 8
  store i64 28, ptr %problem, align 8
  %problem.extension = getelementptr i8, ptr %problem, i64 8
  store ptr null, ptr %problem.extension, align 8
  %problem.message = getelementptr i8, ptr %problem, i64 16
  store ptr @message, ptr %problem.message, align 8
  %problem.code = getelementptr i8, ptr %problem, i64 24
  store i32 9, ptr %problem.code, align 4
  %api = field ptr, %frame, 16
  %create = field ptr, %api, 48
  %error = call ptr %create(ptr %problem)
  ret ptr %error
}}
"""


_OPERAND = """\
  %buffer.{i} = element ptr, {side}, {number}
  %buffer.size.{i} = load i64, ptr %buffer.{i}, align 8
  %buffer.fits.{i} = icmp uge i64 %buffer.size.{i}, {buffer}
  br i1 %buffer.fits.{i}, label %valid.{i}, label %reject
valid.{i}:
  %start.{i} = field ptr, %buffer.{i}, 24
  %data.{i} = getelementptr i8, ptr %start.{i}, i64 {offset}
  %pointer.at.{i} = getelementptr ptr, ptr %pointers, i64 {i}
  store ptr %data.{i}, ptr %pointer.at.{i}, align 8
  %dims.{i} = field ptr, %buffer.{i}, 40
  %outer.{i} = load i64, ptr %dims.{i}, align 8
  %inner.{i} = element i64, %dims.{i}, 1
  %inner.shared.{i} = icmp eq i64 %inner.{i}, 1
  %step.{i} = select i1 %inner.shared.{i}, i64 0, i64 {size}
  %step.at.{i} = getelementptr i64, ptr %steps, i64 {i}
  store i64 %step.{i}, ptr %step.at.{i}, align 8
  %row.bytes.{i} = mul i64 %inner.{i}, {size}
  %outer.shared.{i} = icmp eq i64 %outer.{i}, 1
  %hop.{i} = select i1 %outer.shared.{i}, i64 0, i64 %row.bytes.{i}
"""

_ADVANCE = """\
  %now.{i} = load ptr, ptr %pointer.at.{i}, align 8
  %next.{i} = getelementptr i8, ptr %now.{i}, i64 %hop.{i}
  store ptr %next.{i}, ptr %pointer.at.{i}, align 8
"""


def handler_text(
    version: tuple[int, int], axes: CoreAxes, lengths: Mapping[str, int], itemsize: int, loop: int, backward: str = ""
) -> str:
    """Return the LLVM module of a handler.

    Parameters
    ----------
    version : version of the interface
    axes : core axes of the operands
    lengths : lengths of the axes that have names
    itemsize : bytes of a number
    loop : address of the kernel
    backward : name of an axis along which the kernel goes from its end
    """
    shapes = [tuple(lengths[axis] if isinstance(axis, str) else axis for axis in core) for core in axes.operands]
    inputs, last, strides, read = len(axes.inputs), len(shapes) - 1, [], ""
    for i, (core, shape) in enumerate(zip(axes.operands, shapes, strict=True)):
        steps = [itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        strides += [-step if axis == backward else step for axis, step in zip(core, steps, strict=True)]
        offset = sum((n - 1) * step for axis, n, step in zip(core, shape, steps, strict=True) if axis == backward)
        side, number = ("%taken", i) if i < inputs else ("%given", i - inputs)
        size = itemsize * prod(shape)
        read += _OPERAND.format(i=i, side=side, number=number, buffer=BUFFER_BYTES, offset=offset, size=size)
    all_axes, all_lengths = ([x for each in operands for x in each] for operands in (axes.operands, shapes))
    counts = [f"%inner.{last}", *dict(zip(all_axes, all_lengths, strict=True)).values()]
    read += "".join(_stored("count", k, value) for k, value in enumerate(counts))
    read += "".join(_stored("steps", len(shapes) + k, value) for k, value in enumerate(strides))
    text = _HANDLER.format(
        message="".join(f"\\{byte:02X}" for byte in _MESSAGE),
        length=len(_MESSAGE),
        major=version[0],
        minor=version[1],
        frame=FRAME_BYTES,
        side=SIDE_BYTES,
        operands=len(shapes),
        lengths=len(counts),
        steps=len(shapes) + len(strides),
        loop=loop,
        read=read,
        last=last,
        advance="".join(_ADVANCE.format(i=i) for i in range(len(shapes))),
    )
    return with_fields(text)


def _stored(array: str, k: int, value: object) -> str:
    """Return the text that stores a number in an array of integers."""
    at = f"%{array}.at.{k}" if array == "count" else f"%stride.at.{k}"
    return f"  {at} = getelementptr i64, ptr %{array}, i64 {k}\n  store i64 {value}, ptr {at}, align 8\n"


TESTED_VERSIONS = ((0, 1), (0, 2), (0, 3))  # of the interface, in jaxlib 0.5 to 0.10; their structures are the same

_registered: dict[str, tuple[Any, ...]] = {}  # by name: the objects to which machine code and XLA hold pointers


@cache
def interface() -> tuple[tuple[int, int], str]:
    """Return the version of the interface of the installed jaxlib, and why kernels cannot use it; empty if they can."""
    import jax

    try:
        header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
        text = header.read_text(encoding="utf-8")
        major, minor = (int(re.findall(rf"#define XLA_FFI_API_{part} (\d+)", text)[0]) for part in ("MAJOR", "MINOR"))
    except (AttributeError, OSError, IndexError):
        return (0, 0), f"jaxlib {version('jaxlib')} does not state the version of its foreign-function interface"
    if (major, minor) not in TESTED_VERSIONS or ctypes.sizeof(ctypes.c_void_p) != 8:
        tested = ", ".join(f"{major}.{minor}" for major, minor in TESTED_VERSIONS)
        return (major, minor), (
            f"the foreign-function interface of jaxlib {version('jaxlib')} has version {major}.{minor}; "
            f"kernels have been tested with versions {tested} on 64-bit machines"
        )
    return (major, minor), ""


def function_target(function: Function, dtype: Any) -> str:
    """Register the kernel of a function for float64 or float32, and return its name in XLA."""
    axes = formula_axes(function.fused)
    return _registered_target(function.name, f"loop {function.fused.digest}", function.loop, np.dtype(dtype), axes, {})


def scan_target(scan: Scan, dtype: Any, steps: int, backward: bool) -> str:
    """Register the kernel of a scan of `steps` steps whose results are all stored, and return its name in XLA.

    With `backward`, the scan starts with the last step.
    """
    step, fixed = scan.step.fused, len(scan.arguments.carried) + len(scan.arguments.held)
    content = f"scan {len(scan.arguments.carried)} {fixed} {steps} {backward} {step.digest}"
    axes, lengths = scan_axes(step, fixed), {ROWS: steps, EVERY: 1}
    return _registered_target(scan.name, content, scan.loop, np.dtype(dtype), axes, lengths, ROWS if backward else "")


def _registered_target(
    name: str,
    content: str,
    loop: Callable[[np.dtype], Code],
    kind: np.dtype,
    axes: CoreAxes,
    lengths: Mapping[str, int],
    backward: str = "",
) -> str:
    import jax

    interface_version, _ = interface()
    key = hashlib.sha256("\n".join([content, kind.str, host().identity]).encode()).hexdigest()
    target = f"appell_{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{key[:24]}"
    with BUILD_LOCK:
        if target not in _registered:
            kernel = loop(kind)
            text = handler_text(interface_version, axes, lengths, kind.itemsize, kernel.address, backward)
            code = Code(assemble(text, host(), target), "handler")
            _registered[target] = (code, kernel)
            jax.ffi.register_ffi_target(target, _capsule(code.address), platform="cpu", api_version=1)
    return target


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
