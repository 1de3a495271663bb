"""A tape as a real `numpy.ufunc`, made without a C compiler.

Core axes have fixed lengths in the signature, such as "(6),(6)->(6,6)", so NumPy itself refuses arrays of another size,
and does all that it does for its own ufuncs: broadcasting, casting, `out=`, axes, errors of arithmetic, no lock held.

The loop for doubles stands first: NumPy takes the first loop to which all arguments can be cast, unless there is one of
exactly their type. So float32 alone is computed in float32, and everything else in float64. That loop is made at once;
the one for floats when it is first called: until then its place in the table of loops, which NumPy reads on every call,
is held by a callback that makes it and gives up its place.
"""

from __future__ import annotations

import ctypes

import numpy as np

from appell.compile.emit.form import Form
from appell.compile.formula import Formula
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import MAKING
from appell.compile.native.numpy_api import Loop, gufunc
from appell.errors import CompileError

_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_MOST_OPERANDS = 32  # of a ufunc in NumPy 1


def make_ufunc(tape: Formula, doc: str = "", form: Form | None = None) -> np.ufunc:
    """Compile a tape, or load it from the disk cache, and hand it over as a ufunc with float32 and float64 loops.

    Their machine code has the form that suits the machine, unless another one is asked for.
    """
    _check(tape)
    loops = _Loops(tape, doc, form)
    tables, counts = (loops.functions, loops.data, loops.types), (len(tape.inputs), len(tape.outputs))
    return gufunc(*tables, *counts, loops.name, loops.doc, signature(tape).encode(), owner=loops)


def signature(tape: Formula) -> str:
    """The core shapes in NumPy's notation: "(6),(6)->(6,6)"."""
    shapes = [f"({','.join(map(str, array.shape))})" for array in (*tape.inputs, *tape.outputs)]
    return ",".join(shapes[: len(tape.inputs)]) + "->" + ",".join(shapes[len(tape.inputs) :])


def _check(tape: Formula) -> None:
    arrays = (*tape.inputs, *tape.outputs)
    if not tape.inputs or not tape.outputs:
        raise CompileError(f"'{tape.name}' has no {'results' if tape.inputs else 'arguments'}; a ufunc needs some.")
    for array in arrays:
        if array.size == 0:
            raise CompileError(f"'{tape.name}': {array} is empty, which no ufunc can take or give.")
    if len(arrays) > _MOST_OPERANDS:
        raise CompileError(
            f"'{tape.name}' has {len(arrays)} arguments and results; a ufunc has at most {_MOST_OPERANDS}."
        )


class _Loops:
    """Everything NumPy holds pointers to: the loops, their types, the names, and the code itself."""

    def __init__(self, tape: Formula, doc: str, form: Form | None):
        self._tape, self._form = tape, form
        self._doubles = load_kernel(tape, _DOUBLE, "loop", form)
        self._floats: Code | None = None
        self._first_call = Loop(self._make_floats)
        operands = len(tape.inputs) + len(tape.outputs)
        first_call = ctypes.cast(self._first_call, ctypes.c_void_p).value
        self.functions = (ctypes.c_void_p * 2)(self._doubles.address, first_call)
        self.data = (ctypes.c_void_p * 2)()
        self.types = ctypes.create_string_buffer(bytes([_DOUBLE.num] * operands + [_FLOAT.num] * operands))
        self.name = ctypes.create_string_buffer(tape.name.encode())
        self.doc = ctypes.create_string_buffer(doc.encode())

    def _make_floats(self, args, dims, steps, data) -> None:
        """The loop for floats before there is one. An error leaves NaN and goes to `sys.unraisablehook`."""
        try:
            with MAKING:
                if self._floats is None:
                    self._floats = load_kernel(self._tape, _FLOAT, "loop", self._form)
                    self.functions[1] = self._floats.address
            np.add(0.0, 0.0)  # clears the floating-point flags, for which NumPy would blame this call
            Loop(self._floats.address)(args, dims, steps, data)
        except BaseException:
            _fill_with_nan(self._tape, args, dims, steps)
            raise


def _fill_with_nan(tape: Formula, args, dims, steps) -> None:
    """What a loop gives that could not be made: no number."""
    stride = len(tape.inputs) + len(tape.outputs) + sum(len(array.shape) for array in tape.inputs)
    for position, array in enumerate(tape.outputs, start=len(tape.inputs)):
        strides = [steps[position], *(steps[stride + axis] for axis in range(len(array.shape)))]
        for index in np.ndindex(dims[0], *array.shape):
            offset = sum(k * step for k, step in zip(index, strides, strict=True))
            ctypes.c_float.from_address(args[position] + offset).value = np.nan
        stride += len(array.shape)
