"""A function of arrays, compiled on first use: the face that a formula shows to people.

    f = Function.of("area", {"r": ()}, lambda r: {"area": 3.14 * r * r})
    f(q, v, a)                   call it; leading axes are batch and broadcast, `out=` and `dtype=` as for any ufunc
    f.jacobian("q")              its derivative, a Function again; several names give several results from one kernel
    f.pullback("q")              the gradient of Σ G f(q), G an argument
    f.directional("q", "v")      its change along directions dq, dv, which are arguments
    f.hessian("q", "v")          the second derivatives of Σ G f
    f.columns([0, 3])            some columns of its matrix, and no work for the others
    f.packed()                   its entries that are not always zero, and where they stand
    f.count()                    what it costs
    f.bind()                     the same on preallocated arrays, for control loops
    print(f.tape)                what it does
    f.to_c(), f.to_jax(), ...    the same in another language: `export.face`

Its formula is a tape, or a program where a loop in `body` is to stay a loop. What reads the formula another way (its
derivatives, some of its columns) reads the tape of a program, with all its turns taken, which is made when it is asked
for. A function pickles by content: what travels is the formula, and the other side compiles or finds it in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from appell.compile.arguments import Caller
from appell.compile.export.face import Exports
from appell.compile.formula import Formula
from appell.compile.kept import kept
from appell.compile.native.bound import Bound, bind
from appell.compile.native.direct import direct_call
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import once
from appell.compile.packed import Packed, pack
from appell.compile.readings import Rule
from appell.compile.rolling.roll import roll
from appell.compile.tape import Array, Tape, arrays
from appell.compile.trace import trace

Shapes = Mapping[str, Any] | Iterable[Array]  # {"q": 6, "M": (6, 6), "t": ()}: a whole number is a vector's size
NOTHING: Mapping[str, Tape] = MappingProxyType({})
_ANY_CALL = signature(lambda *arguments, **options: None)


class Function(Exports):
    """A function of NumPy arrays that wraps a universal function: `f(q, v, a)` is `f.ufunc(q, v, a)` with its checks.

    The ufunc is compiled at the first call and kept on disk, so that leading axes broadcast, `out=` and `dtype=` work
    and no Python runs in the loop. Unlike a ufunc it knows its arguments by name and its own formula, and so can be
    differentiated, counted, cut to columns, bound to arrays and pickled. `tangents` are the directions along which
    arguments move that are no vector space; `rule` knows derivatives that may be cheaper than the tape's own.
    """

    # Python looks a call up in the class and finds this slot, which hands over what the instance keeps in it: at first
    # the way that compiles, then a built-in function, which enters no Python frame.
    __slots__ = ("__call__",)

    def __init__(
        self,
        formula: Formula,
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NOTHING,
        rule: Rule | None = None,
    ):
        super().__init__(formula, doc, owner, tangents, rule)
        self._kernels: dict[np.dtype, Code] = {}
        self.__name__ = formula.name  # schedulers name their tasks by it
        self.__signature__ = _ANY_CALL  # Python cannot see it through the slot
        self.__call__: Callable[..., Any] = self._first_call

    @classmethod
    def of(
        cls,
        name: str,
        inputs: Shapes,
        body: Callable[..., Mapping[str, Any]],
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NOTHING,
        loops: bool = False,
        subject: str | None = None,
    ) -> Function:
        """The function that `body` computes: nested lists of scalars in, nested results by name out.

        With `loops`, `body` is called with one more argument, the last: `appell.algebra.loops.Loops` that stay loops.
        A `subject` names all that `body` depends on; a long formula is then kept on disk and found there again.

        >>> Function.of("area", {"r": ()}, lambda r: {"area": 3.14 * r * r})(2.0)
        12.56
        """
        return cls(kept(subject, lambda: (roll if loops else trace)(name, arrays(inputs), body)), doc, owner, tangents)

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        return f"<Function {self.name}({arguments}) -> {results}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Function, (self.formula, self.__doc__, self.owner, self.tangents, self.rule)

    # ---- running

    @once
    def _loops(self) -> UfuncLoops:
        return UfuncLoops(self.fused, self.__doc__ or "", owner=self.owner)

    @once
    def _caller(self) -> Caller:
        return Caller(self._loops.ufunc(), self.fused, self.owner)

    @once
    def ufunc(self) -> np.ufunc:
        """The compiled function as NumPy sees it; made on first use."""
        self._loops.load(np.float64)
        caller = self._caller
        self.__call__ = direct_call(self.fused, caller.ufunc, caller) or caller
        return caller.ufunc

    def _first_call(self, *arguments, **options):
        """A call before there is machine code for float64; one in float32 alone does not need it."""
        kinds = {getattr(x, "dtype", None) for x in arguments}
        if kinds == {np.dtype(np.float32)} and set(options) <= {"out", "threads"}:
            self._loops.load(np.float32)
            return self._caller(*arguments, **options)
        _ = self.ufunc
        return self.__call__(*arguments, **options)

    def compile(self, dtype=np.float64) -> Function:
        """Compile for float64 or float32 now and not at the first call; what was compiled before is found on disk.

        How long that takes, as at a first call, is logged: `logging.getLogger("appell")`, level INFO.
        """
        if np.dtype(dtype) == np.float64:
            _ = self.ufunc
        else:
            self._loops.load(dtype)
        return self

    def loop(self, dtype=np.float64) -> Code:
        """The machine code for batches, as the ufunc calls it."""
        return self._loops.load(dtype)

    def bind(self, dtype=np.float64) -> Bound:
        """The function on arrays of its own: `f = function.bind(); f.q[:] = ...; f(); f.tau`."""
        return bind(self.fused, dtype, self.kernel(dtype))

    def kernel(self, dtype=np.float64) -> Code:
        """The machine code for one sample; loaded once, however many bindings there are."""
        kind = np.dtype(dtype)
        if kind not in self._kernels:
            self._kernels[kind] = load_kernel(self.fused, kind, "single", owner=self.owner)
        return self._kernels[kind]

    def packed(self) -> Packed:
        """The same without the entries that are zero whatever the arguments are, and where the others stand."""
        return pack(self)
