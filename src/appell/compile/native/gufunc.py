"""A tape as a real `numpy.ufunc`, made without a C compiler.

Core axes have fixed lengths in the signature, such as "(6),(6)->(6,6)", so NumPy itself refuses arrays of another size,
and does all that it does for its own ufuncs: broadcasting, casting, `out=`, axes, errors of arithmetic, no lock held.
A tape that is the step of a march has axes of steps besides: "(6),(r,e)->(r,6)".

The loop for doubles stands first: NumPy takes the first loop to which all arguments can be cast, unless there is one of
exactly their type. So float32 alone is computed in float32, and everything else in float64. A loop that nobody has
asked for is made when it is first called: until then its place in the table of loops, which NumPy reads on every call,
is held by a callback that makes it and gives up its place.
"""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.emit.core_axes import CoreAxes, formula_axes, march_axes
from appell.compile.emit.form import Form
from appell.compile.formula import Formula
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import MAKING
from appell.compile.native.numpy_api import Loop, gufunc
from appell.errors import CompileError

_KINDS = (np.dtype(np.float64), np.dtype(np.float32))  # in the order of the loops
_MOST_OPERANDS = 32  # of a ufunc in NumPy 1


def make_ufunc(
    tape: Formula, doc: str = "", form: Form | None = None, march: tuple[int, int] | None = None
) -> np.ufunc:
    """Compile a tape for float64, or load it from the disk cache, and hand it over as a ufunc; float32 waits.

    Their machine code has the form that suits the machine, unless another one is asked for. With `march`, how many
    inputs are carried and how many held, the tape is a step that is repeated.
    """
    loops = UfuncLoops(tape, doc, form, march)
    loops.load(np.float64)
    return loops.ufunc()


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


class UfuncLoops:
    """Everything NumPy holds pointers to: the loops, their types, the names, and the code itself."""

    def __init__(
        self,
        tape: Formula,
        doc: str = "",
        form: Form | None = None,
        march: tuple[int, int] | None = None,
        owner: str = "",
    ):
        """`march` says how many inputs are carried and how many held, if the tape is a step that is repeated."""
        _check(tape)
        self._tape, self._form, self._owner = tape, form, owner
        self._axes = formula_axes(tape) if march is None else march_axes(tape, sum(march))
        self._settings = {} if march is None else {"carried": march[0], "held": march[1]}
        self._codes: dict[np.dtype, Code] = {}
        self._first_calls = [Loop(partial(self._first_call, kind)) for kind in _KINDS]
        operands = len(tape.inputs) + len(tape.outputs)
        addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in self._first_calls]
        self._functions = (ctypes.c_void_p * len(_KINDS))(*addresses)
        self._data = (ctypes.c_void_p * len(_KINDS))()
        self._types = ctypes.create_string_buffer(bytes(kind.num for kind in _KINDS for _ in range(operands)))
        self._name = ctypes.create_string_buffer(tape.name.encode())
        self._doc = ctypes.create_string_buffer(doc.encode())

    def load(self, dtype: DTypeLike) -> Code:
        """The loop for float64 or float32, compiled or loaded from the disk cache if it is not there yet."""
        kind = np.dtype(dtype)
        with MAKING:
            if kind not in self._codes:
                function = "march" if self._settings else "loop"
                self._codes[kind] = load_kernel(self._tape, kind, function, self._form, self._owner, **self._settings)
                self._functions[_KINDS.index(kind)] = self._codes[kind].address
        return self._codes[kind]

    def ufunc(self) -> np.ufunc:
        """A ufunc with these loops, which live as long as it does."""
        tape, tables = self._tape, (self._functions, self._data, self._types)
        counts = len(tape.inputs), len(tape.outputs)
        return gufunc(*tables, *counts, self._name, self._doc, self._axes.signature.encode(), owner=self)

    def _first_call(self, kind: np.dtype, args, dims, steps, data) -> None:
        """A loop before there is one. An error leaves NaN and goes to `sys.unraisablehook`."""
        try:
            code = self.load(kind)
            np.add(0.0, 0.0)  # clears the floating-point flags, for which NumPy would blame this call
            Loop(code.address)(args, dims, steps, data)
        except BaseException:
            _fill_with_nan(self._axes, kind, args, dims, steps)
            raise


def _fill_with_nan(axes: CoreAxes, kind: np.dtype, args, dims, steps) -> None:
    """What a loop gives that could not be made: no number."""
    number = ctypes.c_double if kind == np.float64 else ctypes.c_float
    stride = len(axes.operands) + sum(map(len, axes.inputs))
    for position, own in enumerate(axes.outputs, start=len(axes.inputs)):
        strides = [steps[position], *(steps[stride + axis] for axis in range(len(own)))]
        for index in np.ndindex(dims[0], *(dims[axes.dimension(axis)] for axis in own)):
            offset = sum(k * step for k, step in zip(index, strides, strict=True))
            number.from_address(args[position] + offset).value = np.nan
        stride += len(own)
