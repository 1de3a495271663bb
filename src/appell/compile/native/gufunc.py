"""A formula as a `numpy.ufunc`, made without a C compiler.

Core axes have fixed lengths in the signature, such as "(6),(6)->(6,6)", so NumPy itself rejects arrays of another size
and provides broadcasting, casting, `out=`, `axes=`, floating-point error handling and release of the GIL. The step of a
scan has axes of steps in addition: "(6),(r,e)->(r,6)".

The float64 loop comes first: NumPy takes the first loop to which all arguments can be cast, unless one matches their
types exactly. So float32 alone is computed in float32, and everything else in float64. A loop is compiled when it is
first called: until then a callback occupies its entry in the table of loops, which NumPy reads on every call.

NumPy exports a table of C functions for extension modules, called here through `ctypes`. Entry 31 makes a generalised
ufunc from inner loops, type codes and a signature, in NumPy 1 and 2 alike. NumPy keeps the pointers it receives, not
the objects they point into, so those objects are attached to the ufunc's field `obj`, which NumPy releases with it.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.llvm.lanes import Form
from appell.compile.llvm.operands import CoreAxes, formula_axes, scan_axes
from appell.compile.native.build_lock import BUILD_LOCK
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.tape.formula import Formula, check_arrays
from appell.errors import CompileError

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
    """The head of NumPy's PyUFuncObject, up to the field `obj` that keeps objects alive."""

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
    """Return the address of a function in NumPy's table for arrays."""
    return _table(_multiarray_umath._ARRAY_API)[number]


@cache
def _constructor():
    table = _table(_multiarray_umath._UFUNC_API)
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    loops = (pointer, pointer, pointer, integer)
    interface = (integer, integer, integer, text, text, integer, text)
    return ctypes.PYFUNCTYPE(ctypes.py_object, *loops, *interface)(table[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def gufunc(functions, data, types, inputs: int, outputs: int, name, doc, signature: bytes, owner: object) -> np.ufunc:
    """Return a ufunc with one loop per entry of `functions`; `owner` keeps alive what the other arguments point to.

    Parameters
    ----------
    functions, data, types : loops, their data and type codes, as `ctypes` arrays
    inputs, outputs : numbers of arguments and results
    name, doc : `ctypes` string buffers
    signature : core axes
    owner : object that keeps the others alive
    """
    ufunc = _constructor()(
        functions, data, types, len(functions), inputs, outputs, _NO_IDENTITY, name, doc, 0, signature
    )
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    _UFuncObject.from_address(id(ufunc)).obj = id(owner)
    return ufunc


def loop_address(ufunc: np.ufunc, number: int) -> int:
    """Return the address of one of a ufunc's loops."""
    return ctypes.cast(_UFuncObject.from_address(id(ufunc)).functions, _POINTERS)[number]


KINDS = (np.dtype(np.float64), np.dtype(np.float32))  # in the order of the loops
_MAX_OPERANDS = 32  # of a ufunc in NumPy 1


class UfuncLoops:
    """The objects that a ufunc of a formula points to: its loops, their types, names and machine code."""

    def __init__(
        self,
        formula: Formula,
        doc: str = "",
        form: Form | None = None,
        scan: tuple[int, int] | None = None,
        owner: str = "",
    ):
        """Prepare the loops of a formula; `scan` is the number of carried and of held inputs of a repeated step."""
        check_arrays(formula)
        if (operands := len(formula.inputs) + len(formula.outputs)) > _MAX_OPERANDS:
            raise CompileError(
                f"'{formula.name}' has {operands} arguments and results.",
                expected=f"at most {_MAX_OPERANDS}, the limit of a ufunc",
            )
        self._formula, self._form, self._owner = formula, form, owner
        self._axes = formula_axes(formula) if scan is None else scan_axes(formula, sum(scan))
        self._settings = {} if scan is None else {"carried": scan[0], "held": scan[1]}
        self._codes: dict[np.dtype, Code] = {}
        self._first_calls = [Loop(partial(self._first_call, kind)) for kind in KINDS]
        addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in self._first_calls]
        self._functions = (ctypes.c_void_p * len(KINDS))(*addresses)
        self._data = (ctypes.c_void_p * len(KINDS))()
        self._types = ctypes.create_string_buffer(bytes(kind.num for kind in KINDS for _ in range(operands)))
        self._name = ctypes.create_string_buffer(formula.name.encode())
        self._doc = ctypes.create_string_buffer(doc.encode())

    def load(self, dtype: DTypeLike) -> Code:
        """Return the loop for float64 or float32, loaded from the object cache or compiled on first request."""
        kind = np.dtype(dtype)
        with BUILD_LOCK:
            if kind not in self._codes:
                function = "scan" if self._settings else "loop"
                self._codes[kind] = load_kernel(
                    self._formula, kind, function, self._form, self._owner, **self._settings
                )
                self._functions[KINDS.index(kind)] = self._codes[kind].address
        return self._codes[kind]

    def ufunc(self) -> np.ufunc:
        """Return a ufunc with these loops, which it keeps alive."""
        formula, tables = self._formula, (self._functions, self._data, self._types)
        counts = len(formula.inputs), len(formula.outputs)
        return gufunc(*tables, *counts, self._name, self._doc, self._axes.signature.encode(), owner=self)

    def _first_call(self, kind: np.dtype, args, dims, steps, data) -> None:
        """Compile the loop and run it. After an error the results are NaN; `sys.unraisablehook` reports the error."""
        try:
            code = self.load(kind)
            np.add(0.0, 0.0)  # clears the floating-point flags, which NumPy would attribute to this call
            Loop(code.address)(args, dims, steps, data)
        except BaseException:
            _fill_with_nan(self._axes, kind, args, dims, steps)
            raise


def _fill_with_nan(axes: CoreAxes, kind: np.dtype, args, dims, steps) -> None:
    """Fill the results of a loop that could not be compiled with NaN."""
    number = ctypes.c_double if kind == np.float64 else ctypes.c_float
    first = len(axes.operands) + sum(map(len, axes.inputs))  # of the strides of an operand, in `steps`
    for position, core in enumerate(axes.outputs, start=len(axes.inputs)):
        strides = [steps[position], *(steps[first + axis] for axis in range(len(core)))]
        for index in np.ndindex(dims[0], *(dims[axes.dimension(axis)] for axis in core)):
            offset = sum(k * step for k, step in zip(index, strides, strict=True))
            number.from_address(args[position] + offset).value = np.nan
        first += len(core)
