"""The functions of NumPy's C interface that we need, called through `ctypes`.

NumPy exports a table of C functions for extension modules. Entry 31 makes a generalised ufunc from inner loops, type
codes and a signature; it stands there in NumPy 1 and 2 alike. NumPy keeps the pointers it is given, not the objects
they point into, so those must live as long as the ufunc: they hang on its field `obj`, which NumPy releases with it.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

try:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]
except ImportError:  # NumPy 1
    from numpy.core import _multiarray_umath  # type: ignore[no-redef]

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31
_NO_IDENTITY = -1

_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_SIZES = ctypes.POINTER(ctypes.c_ssize_t)

Loop = ctypes.CFUNCTYPE(None, _POINTERS, _SIZES, _SIZES, ctypes.c_void_p)
Loop.__doc__ = "An inner loop: pointers to the operands, their dimensions, their steps, and data of its own."


class _UFuncObject(ctypes.Structure):
    """The head of NumPy's PyUFuncObject, down to the field that owns what the pointers point to."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("counts", ctypes.c_int * 4),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("type_count", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    )


def _table(capsule: object):
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(capsule, None), _POINTERS)


def array_function(number: int) -> int:
    """The address of a function in NumPy's table for arrays."""
    return _table(_multiarray_umath._ARRAY_API)[number]


@cache
def _constructor():
    table = _table(_multiarray_umath._UFUNC_API)
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    loops = (pointer, pointer, pointer, integer)
    face = (integer, integer, integer, text, text, integer, text)
    return ctypes.PYFUNCTYPE(ctypes.py_object, *loops, *face)(table[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def gufunc(functions, data, types, inputs: int, outputs: int, name, doc, signature: bytes, owner: object) -> np.ufunc:
    """A ufunc of one loop an entry of `functions`; `owner` keeps alive all that the other arguments point to."""
    made = _constructor()(
        functions, data, types, len(functions), inputs, outputs, _NO_IDENTITY, name, doc, 0, signature
    )
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    _UFuncObject.from_address(id(made)).obj = id(owner)
    return made


def loop_address(made: np.ufunc, number: int) -> int:
    """Where the code of one of a ufunc's loops is."""
    return ctypes.cast(_UFuncObject.from_address(id(made)).functions, _POINTERS)[number]
