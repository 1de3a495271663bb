"""A function bound to its own arrays: the fastest way to evaluate one sample from Python.

    f = bind(formula)
    f.q[:] = q;  f.v[:] = v;  f.a[:] = a
    f()
    f.tau

The arrays are allocated once; a call converts nothing, allocates nothing and enters no Python frame. The results have
the bits that the ufunc returns for the same sample. A binding pickles as its formula and the content of its arrays.

A built-in function of Python consists of a C function and an object `self` that is passed to it. `builtin` makes one
from machine code, with a `self` that contains everything the code needs:

    self = (None, addresses, …)      addresses = [kernel, first argument, second argument, …]

The entry point finds `addresses`, an array of pointers, through the memory layout of tuples and NumPy arrays, calls the
kernel with the remaining pointers and returns None. The tuple keeps its other items alive: the arrays, the code, and
the method definition.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.native.kernels import load_kernel, load_text
from appell.compile.native.machine import Code
from appell.compile.tape.formula import Formula
from appell.errors import ArgumentError

METH_NOARGS, METH_O = 4, 8


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


# LLVM text that loads the first item of the tuple %self, and the data of the array that is its second item
LOAD_SELF = f"""\
  %none.at = getelementptr i8, ptr %self, i64 {tuple.__basicsize__}
  %none = load ptr, ptr %none.at, align 8
  %array.at = getelementptr i8, ptr %none.at, i64 8
  %array = load ptr, ptr %array.at, align 8
  %data.at = getelementptr i8, ptr %array, i64 {object.__basicsize__}
  %data = load ptr, ptr %data.at, align 8"""

_ENTRY = """
define ptr @enter(ptr %self, ptr %given) nounwind {{
{load_self}
  %kernel = load ptr, ptr %data, align 8
  {rest}
  call void %kernel(ptr %rest)
  {count_reference}
  ret ptr %none
}}
"""
_OWN_ADDRESSES = "%rest = getelementptr i8, ptr %data, i64 8"
_GIVEN_ARRAY = f"""%rest.at = getelementptr i8, ptr %given, i64 {object.__basicsize__}
  %rest = load ptr, ptr %rest.at, align 8"""

# From Python 3.12 on, None is immortal and its references are not counted.
_COUNT_REFERENCE = """
  %count = load i64, ptr %none, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %none, align 8
"""


@cache
def _entry(rest: str) -> Code:
    text = _ENTRY.format(
        load_self=LOAD_SELF,
        rest=rest,
        count_reference="" if sys.version_info >= (3, 12) else _COUNT_REFERENCE,
    )
    return load_text(text, "enter", "entry")


def make_builtin(name: str, arrays: list[np.ndarray], code: Code) -> Callable[[], None]:
    """Return a built-in function without arguments that runs the kernel on the arrays.

    Parameters
    ----------
    name : name of the function
    arrays : arguments, then results
    code : kernel for one sample
    """
    addresses = np.array([code.address, *(array.ctypes.data for array in arrays)], dtype=np.uintp)
    return caller(name, addresses, *arrays, code)


def caller(name: str, addresses: np.ndarray, *alive: object) -> Callable[[], None]:
    """Return a built-in function that calls the kernel at the first address with the other addresses.

    Parameters
    ----------
    name : name of the function
    addresses : of the kernel, its arguments and its results; they may change between calls
    *alive : objects that must exist as long as the function
    """
    entry = _entry(_OWN_ADDRESSES)
    return builtin(name, entry.address, METH_NOARGS, (None, addresses, *alive, entry))


def function_of_array(name: str, code: Code) -> Callable[[np.ndarray], None]:
    """Return a built-in function that calls machine code with the address of the data of an array."""
    entry = _entry(_GIVEN_ARRAY)
    return builtin(name, entry.address, METH_O, (None, np.array([code.address], np.uintp), code, entry))


def builtin(name: str, address: int, flags: int, self: tuple) -> Callable:
    """Return a built-in function of Python that runs machine code.

    Parameters
    ----------
    name : name of the function
    address : address of the machine code
    flags : calling convention, such as `METH_NOARGS`
    self : passed to the machine code; keeps its items alive
    """
    method = _MethodDef(name.encode(), address, flags, None)
    return _new_builtin()(ctypes.addressof(method), (*self, method), None)


@cache
def _new_builtin() -> Callable:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p], ctypes.py_object
    return new


class Bound:
    """A formula bound to arrays, its attributes, by the names of arguments and results; a call computes the results."""

    __slots__ = ()
    _formula: ClassVar[Formula]

    if TYPE_CHECKING:  # members of the class of each binding

        def __call__(self) -> None: ...

        def __getattr__(self, name: str) -> np.ndarray: ...

    def __setattr__(self, name: str, value: object) -> None:
        """Copy x into the array for `f.q = x`: the machine code holds the address of the array."""
        getattr(self, name)[...] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"'{name}' cannot be deleted: the machine code uses its memory")

    def __reduce__(self):
        names: tuple[str, ...] = type(self).__slots__
        return _restored, (self._formula, {name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        names: tuple[str, ...] = type(self).__slots__
        fields = ", ".join(f"{name}: {getattr(self, name).shape}" for name in names)
        return f"<bound {type(self).__name__} ({fields})>"


def bind(formula: Formula, dtype: DTypeLike = np.float64, kernel: Code | None = None) -> Bound:
    """Bind a formula to new arrays of zeros; the kernel is loaded or compiled unless it is given.

    Parameters
    ----------
    formula : fused formula
    dtype : float64 or float32
    kernel : code for one sample
    """
    operands = (*formula.inputs, *formula.outputs)
    names = [array.name for array in operands]
    invalid = {name for name in names if names.count(name) > 1 or not name.isidentifier() or hasattr(Bound, name)}
    if invalid:
        raise ArgumentError(
            f"'{formula.name}' cannot be bound: {', '.join(sorted(invalid))} cannot be the name of one array.",
            expected="names of arguments and results that are distinct and valid attributes",
        )
    code = kernel or load_kernel(formula, dtype, "single")
    arrays = [np.zeros(array.shape, dtype) for array in operands]
    call = make_builtin(formula.name, arrays, code)
    # One class per binding: Python looks up `__call__` in the class and finds the built-in function there.
    bound = type(
        formula.name, (Bound,), {"__slots__": tuple(names), "__call__": staticmethod(call), "_formula": formula}
    )()
    for name, array in zip(names, arrays, strict=True):
        object.__setattr__(bound, name, array)
    return bound


def _restored(formula: Formula, arrays: dict[str, np.ndarray]) -> Bound:
    """Restore a pickled binding."""
    bound = bind(formula, next(iter(arrays.values())).dtype)
    for name, array in arrays.items():
        setattr(bound, name, array)
    return bound
