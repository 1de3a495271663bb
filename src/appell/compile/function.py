"""A function of arrays, compiled on first use: the face that a tape shows to people.

    f(q, v, a)                   call it; leading axes are batch and broadcast, `out=` and `dtype=` as for any ufunc
    f.jacobian("q")              its derivative, a Function again; several names give several results from one kernel
    f.count()                    what it costs
    f.bind()                     the same on preallocated arrays, for control loops
    print(f.tape)                what it does

It pickles by content: what travels is the tape, and the other side compiles or finds it in its cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from appell.compile.build import Builder
from appell.compile.count import OpCount, count
from appell.compile.differentiate import jacobian
from appell.compile.native.bound import Bound, bind
from appell.compile.native.direct import direct_call
from appell.compile.native.gufunc import make_ufunc
from appell.compile.ops import Op
from appell.compile.simplify import fuse
from appell.compile.tape import Array, Tape
from appell.errors import ArgumentError, unknown_name


class Function:
    """A tape with a doc string and, for arguments that are no vector space, the directions along which they move."""

    def __init__(self, tape: Tape, doc: str = "", owner: str = "", tangents: Mapping[str, Tape] = MappingProxyType({})):
        self.tape = tape
        self.owner = owner  # whose function it is, for messages: "robot 'puma'"
        self.tangents = dict(tangents)
        self.__doc__ = doc

    @property
    def name(self) -> str:
        return self.tape.name

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.tape.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.tape.outputs

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        return f"<Function {self.name}({arguments}) -> {results}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Function, (self.tape, self.__doc__, self.owner, self.tangents)

    # ---- running

    @cached_property
    def fused(self) -> Tape:
        """The tape that is run."""
        return fuse(self.tape)

    @cached_property
    def ufunc(self) -> np.ufunc:
        """The compiled function as NumPy sees it; made on first use."""
        made = make_ufunc(self.fused, self.__doc__ or "")
        direct = direct_call(self.fused, made, self._call)
        if (
            direct is not None
        ):  # Python looks a call up in the class, so a function with a call of its own needs its own
            self.__class__ = type("Function", (type(self),), {"__call__": staticmethod(direct)})
        return made

    def __call__(self, *arguments, **options):
        return self._call(*arguments, **options)

    def _call(self, *arguments, **options):
        try:
            return self.ufunc(*arguments, **options)
        except (TypeError, ValueError) as error:
            return self._explain(error, arguments, options)

    def compile(self, dtype=np.float64) -> Function:
        """Compile now and not at the first call."""
        self.ufunc(*(np.ones((0, *array.shape), dtype) for array in self.inputs))
        return self

    def bind(self, dtype=np.float64) -> Bound:
        """The function on arrays of its own: `f = function.bind(); f.q[:] = ...; f(); f.tau`."""
        return bind(self.fused, dtype)

    def _explain(self, error: Exception, arguments: tuple, options: dict[str, Any]):
        """Call again with named arguments put in order, or say which argument is wrong and how."""
        names = [array.name for array in self.inputs]
        given = dict(zip(names, arguments, strict=False))
        named = {key: options.pop(key) for key in names if key in options}
        if named:
            if repeated := [key for key in named if key in given]:
                raise ArgumentError(f"{self._title} is given {repeated[0]} twice.") from None
            given |= named
        if missing := [name for name in names if name not in given]:
            raise ArgumentError(
                f"{self._title} lacks {', '.join(missing)}.", expected=", ".join(map(str, self.inputs))
            ) from None
        for array in self.inputs:
            self._check(array, given[array.name])
        if named:
            return self.ufunc(*(given[name] for name in names), **options)
        raise error

    @property
    def _title(self) -> str:
        return f"{self.name} of {self.owner}" if self.owner else self.name

    def _check(self, array: Array, value) -> None:
        try:
            kind, shape = np.asarray(value).dtype.kind, np.shape(value)
        except ValueError:
            raise ArgumentError(f"{self._title}: argument {array.name} is nested unevenly.") from None
        if kind not in "fiub":
            raise ArgumentError(
                f"{self._title}: argument {array.name} holds {np.asarray(value).dtype} values.", expected="real numbers"
            )
        if array.shape and shape[-len(array.shape) :] != array.shape:
            raise ArgumentError(
                f"{self._title}: argument {array.name} has shape {shape}.",
                expected=f"a last {_axes(array.shape)}, after any batch axes",
            )

    # ---- other readings of the tape

    def count(self) -> OpCount:
        """The operations of one evaluation."""
        return count(self.tape)

    def jacobian(self, *wrt: str) -> Function:
        """Derivatives by arguments, as results of shape (*result, columns), one kernel for all that are named."""
        if not wrt:
            raise ArgumentError(f"{self._title}: jacobian needs the name of an argument.", expected=self._known)
        tape = jacobian(self.tape, f"{self.name}_d{'_d'.join(wrt)}", [self._seed(name) for name in wrt], wrt)
        return Function(tape, f"Derivative of {self.name} by {', '.join(wrt)}.", self.owner, self.tangents)

    def gradient(self, wrt: str) -> Function:
        """The derivative of a function with one scalar result."""
        if len(self.tape.results) != 1:
            raise ArgumentError(
                f"{self._title} has {len(self.tape.results)} results and so no gradient.", hint="jacobian"
            )
        return self.jacobian(wrt)

    @property
    def _known(self) -> str:
        return ", ".join(array.name for array in self.inputs)

    def _seed(self, wrt: str) -> Tape:
        """All scalar inputs' changes along the directions of one argument, as `differentiate.jacobian` wants them."""
        names = [array.name for array in self.inputs]
        if wrt not in names:
            raise ArgumentError(unknown_name("argument", wrt, names, self._title))
        position = names.index(wrt)
        array, start = self.inputs[position], sum(array.size for array in self.inputs[:position])
        builder = Builder()
        zero = builder.const(0.0)
        if wrt in self.tangents:
            block = self.tangents[wrt]
            index: list[int] = []
            for node in block.nodes:
                if node[0] <= Op.INPUT:
                    index.append(builder.input(node[1] + start) if node[0] == Op.INPUT else builder.const(node[1]))
                else:
                    index.append(builder.copy(node, [index[k] for k in node[1:]]))
            columns = block.outputs[0].shape[1]
            entries = [index[k] for k in block.results]
        else:
            columns = array.size
            one = builder.const(1.0)
            entries = [one if i == j else zero for i in range(columns) for j in range(columns)]
        results = [zero] * (start * columns) + entries
        results += [zero] * (self.tape.input_size * columns - len(results))
        shape = (self.tape.input_size, columns)
        return builder.tape(f"seed_{wrt}", self.inputs, (Array("seed", shape),), results)


def _axes(shape: tuple[int, ...]) -> str:
    return f"axis of {shape[0]}" if len(shape) == 1 else f"{len(shape)} axes of {' x '.join(map(str, shape))}"
