"""A function bound to its own arrays: the fastest way to evaluate one sample from Python.

    f = bind(tape)
    f.q[:] = q;  f.v[:] = v;  f.a[:] = a
    f()
    f.tau

The arrays are allocated once; a call converts nothing, allocates nothing and enters no Python frame. The results have
the bits that the ufunc gives for the same sample. A binding pickles as its formula and the content of its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.formula import Formula
from appell.compile.native.entry import make_builtin
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.errors import ArgumentError


class Bound:
    """Arrays by the names of the arguments and results of a tape; a call computes the results from the arguments."""

    __slots__ = ()
    _formula: ClassVar[Formula]

    if TYPE_CHECKING:  # what every binding has in a class of its own

        def __call__(self) -> None: ...

        def __getattr__(self, name: str) -> np.ndarray: ...

    def __setattr__(self, name: str, value: object) -> None:
        """`f.q = x` copies x into the array: the machine code knows the address, and it must not change."""
        getattr(self, name)[...] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"'{name}' belongs to the machine code and cannot be deleted")

    def __reduce__(self):
        names: tuple[str, ...] = type(self).__slots__
        return _bound_again, (self._formula, {name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        names: tuple[str, ...] = type(self).__slots__
        fields = ", ".join(f"{name}: {getattr(self, name).shape}" for name in names)
        return f"<bound {type(self).__name__} ({fields})>"


def bind(tape: Formula, dtype: DTypeLike = np.float64, kernel: Code | None = None) -> Bound:
    """A tape with arrays of its own, filled with zeros; its kernel, if it is not at hand, is loaded or compiled."""
    described = (*tape.inputs, *tape.outputs)
    names = [array.name for array in described]
    twice = {name for name in names if names.count(name) > 1 or not name.isidentifier() or hasattr(Bound, name)}
    if twice:
        raise ArgumentError(
            f"'{tape.name}' cannot be bound: {', '.join(sorted(twice))} cannot name one array each.",
            expected="names of arguments and results that are distinct and can be attributes",
        )
    code = kernel or load_kernel(tape, dtype, "single")
    arrays = [np.zeros(array.shape, dtype) for array in described]
    call = make_builtin(tape.name, arrays, code)
    # A class of its own, because Python looks a call up in the class: there the built-in function is found directly.
    bound = type(tape.name, (Bound,), {"__slots__": tuple(names), "__call__": staticmethod(call), "_formula": tape})()
    for name, array in zip(names, arrays, strict=True):
        object.__setattr__(bound, name, array)
    return bound


def _bound_again(tape: Formula, arrays: dict[str, np.ndarray]) -> Bound:
    """A binding that was sent from elsewhere."""
    bound = bind(tape, next(iter(arrays.values())).dtype)
    for name, array in arrays.items():
        setattr(bound, name, array)
    return bound
