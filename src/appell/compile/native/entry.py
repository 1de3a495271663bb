"""The shortest way from a Python call into machine code.

A built-in function of Python is a record: a C function and an object `self` that is handed to it. We make such a record
around a small piece of machine code, and a `self` that leads to all the code needs, so that a call enters no Python
frame, converts no argument and allocates nothing.

    self = (None, addresses, …)      addresses = [kernel, first argument, second argument, …]

The entry finds `addresses`, an array of pointers, through the layout of a tuple and of a NumPy array, calls the kernel
with the rest of them and returns None. What follows in the tuple is kept alive by it: the arrays, the code, the record.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from appell.compile.native import cache as disk
from appell.compile.native.machine import Code, assemble
from appell.compile.native.target import host

METH_NOARGS = 4


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_ENTRY = """
define ptr @enter(ptr %self, ptr %unused) nounwind {{
  %none.at = getelementptr i8, ptr %self, i64 {items}
  %none = load ptr, ptr %none.at, align 8
  %array.at = getelementptr i8, ptr %none.at, i64 8
  %array = load ptr, ptr %array.at, align 8
  %addresses.at = getelementptr i8, ptr %array, i64 {data}
  %addresses = load ptr, ptr %addresses.at, align 8
  %kernel = load ptr, ptr %addresses, align 8
  %rest = getelementptr i8, ptr %addresses, i64 8
  call void %kernel(ptr %rest)
  {count_reference}
  ret ptr %none
}}
"""

# From Python 3.12 on None is immortal and must not be counted.
_COUNT_REFERENCE = """
  %count = load i64, ptr %none, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %none, align 8
"""


@cache
def _entry() -> Code:
    text = _ENTRY.format(
        items=tuple.__basicsize__,
        data=object.__basicsize__,
        count_reference="" if sys.version_info >= (3, 12) else _COUNT_REFERENCE,
    )
    key = hashlib.sha256("\n".join([text, host().identity]).encode()).hexdigest()
    return Code(disk.fetch(key, lambda: assemble(text, host(), "entry")), "enter")


def make_builtin(name: str, arrays: list[np.ndarray], code: Code) -> Callable[[], None]:
    """A built-in function without arguments that runs the kernel on the arrays."""
    addresses = np.array([code.address, *(array.ctypes.data for array in arrays)], dtype=np.uintp)
    entry = _entry()
    return builtin(name, entry.address, METH_NOARGS, (None, addresses, *arrays, code, entry))


def builtin(name: str, address: int, flags: int, self: tuple) -> Callable:
    """A built-in function of Python around machine code; `self` is handed to it, and kept alive with the record."""
    method = _MethodDef(name.encode(), address, flags, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p], ctypes.py_object
    return new(ctypes.addressof(method), (*self, method), None)
