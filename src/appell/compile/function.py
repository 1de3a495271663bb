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

Its formula is a tape, or a program where a loop in `body` is to stay a loop. What reads the formula another way (its
derivatives, some of its columns) reads the tape of a program, with all its turns taken, which is made when it is asked
for. A function pickles by content: what travels is the formula, and the other side compiles or finds it in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from appell.compile.arguments import Caller, title
from appell.compile.content import content
from appell.compile.contracted import along, weighted
from appell.compile.count import OpCount
from appell.compile.differentiate import jacobian
from appell.compile.formula import Formula, count, fused, length, unrolled
from appell.compile.graph import Graph
from appell.compile.kept import Kept, kept
from appell.compile.native.bound import Bound, bind
from appell.compile.native.direct import direct_call
from appell.compile.native.gufunc import Loops
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import once
from appell.compile.ops import Op
from appell.compile.packed import Packed, pack
from appell.compile.passes.pipeline import TRACED, run
from appell.compile.rolling.roll import roll
from appell.compile.seed import seed
from appell.compile.tape import Array, Tape, arrays
from appell.compile.trace import trace
from appell.errors import ArgumentError, unknown_name

Shapes = Mapping[str, Any] | Iterable[Array]  # {"q": 6, "M": (6, 6), "t": ()}: a whole number is a vector's size
NOTHING: Mapping[str, Tape] = MappingProxyType({})
_ANY_CALL = signature(lambda *arguments, **options: None)
Rule = Callable[[tuple[str, ...]], "Function | None"]  # names of arguments -> the derivatives by them, or None
SHORT = 100_000  # nodes times directions: a tape that is differentiated in a moment, and not looked for on disk


class Function:
    """A function of NumPy arrays that wraps a universal function: `f(q, v, a)` is `f.ufunc(q, v, a)` with its checks.

    The ufunc is compiled at the first call and kept on disk, so that leading axes broadcast, `out=` and `dtype=` work
    and no Python runs in the loop. Unlike a ufunc it knows its arguments by name and its own formula, and so can be
    differentiated, counted, cut to columns, bound to arrays and pickled. `tangents` are the directions along which
    arguments move that are no vector space; `rule` knows derivatives that may be cheaper than the tape's own.
    """

    # Python looks a call up in the class and finds this slot, which hands over what the instance keeps in it: at first
    # the way that compiles, then a built-in function, which enters no Python frame.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(
        self,
        formula: Formula,
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NOTHING,
        rule: Rule | None = None,
    ):
        self.formula = formula
        self.rule = rule
        self.owner = owner  # whose function it is, for messages: "robot 'puma'"
        self.tangents = dict(tangents)
        self._kernels: dict[np.dtype, Code] = {}
        self.__doc__ = doc
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

    @property
    def name(self) -> str:
        return self.formula.name

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.formula.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.formula.outputs

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        return f"<Function {self.name}({arguments}) -> {results}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Function, (self.formula, self.__doc__, self.owner, self.tangents, self.rule)

    # ---- running

    @once
    def fused(self) -> Formula:
        """The formula that is run."""
        return self.formula.fused if isinstance(self.formula, Kept) else fused(self.formula)

    @once
    def _loops(self) -> Loops:
        return Loops(self.fused, self.__doc__ or "")

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
        if set(options) <= {"out"} and arguments and all(getattr(x, "dtype", None) == np.float32 for x in arguments):
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

    def bind(self, dtype=np.float64) -> Bound:
        """The function on arrays of its own: `f = function.bind(); f.q[:] = ...; f(); f.tau`."""
        return bind(self.fused, dtype, self.kernel(dtype))

    def kernel(self, dtype=np.float64) -> Code:
        """The machine code for one sample; loaded once, however many bindings there are."""
        kind = np.dtype(dtype)
        if kind not in self._kernels:
            self._kernels[kind] = load_kernel(self.fused, kind, "single")
        return self._kernels[kind]

    # ---- other readings of the formula

    @once
    def tape(self) -> Tape:
        """What it does, operation by operation."""
        return unrolled(self.formula)

    def count(self) -> OpCount:
        """The operations of one evaluation."""
        return count(self.formula)

    def jacobian(self, *wrt: str) -> Function:
        """Derivatives by arguments, as results of shape (*result, columns), one kernel for all that are named.

        Of the differentiated tape and what a rule knows, the one of fewer instructions.
        """
        seeds = self._seeds("jacobian", wrt)
        known = self.rule(wrt) if self.rule is not None else None
        work = length(self.formula) * sum(seed.outputs[0].shape[1] for seed in seeds)
        if known is not None and work > SHORT:
            return known
        subject = content("jacobian", self.tape, seeds, wrt) if work > SHORT else None
        tape = kept(subject, lambda: jacobian(self.tape, f"{self.name}_d{'_d'.join(wrt)}", seeds, wrt))
        own = Function(tape, f"Derivative of {self.name} by {', '.join(wrt)}.", self.owner, self.tangents)
        return own if known is None or length(own.fused) <= length(known.fused) else known

    def gradient(self, wrt: str) -> Function:
        """The derivative of a function with one scalar result."""
        if len(self.tape.results) != 1:
            raise ArgumentError(
                f"{self._title} has {len(self.tape.results)} results and so no gradient.", hint="jacobian"
            )
        return self.jacobian(wrt)

    def pullback(self, *wrt: str) -> Function:
        """The gradient by arguments of Σ G · result; G, of the shape of the result, is one more argument, the last."""
        self._only_result("pullback")
        total = weighted(self.tape, f"{self.name}_pullback")
        return Function(total, f"Σ G · {self.name}.", self.owner, self.tangents).jacobian(*wrt)

    def directional(self, *wrt: str) -> Function:
        """The change of the results, J d, as arguments move along directions; `dq` of q and so on come last.

        For an argument that is no vector space a direction has the size of its velocity.
        """
        seeds = self._seeds("directional", wrt)
        shapes = {array.name: array.shape for array in self.inputs}
        shapes |= {name: (tape.outputs[0].shape[1],) for name, tape in self.tangents.items()}
        directions = [Array(f"d{name}", shapes[name]) for name in wrt]
        tape = along(self.tape, f"{self.name}_along_{'_'.join(wrt)}", seeds, directions)
        return Function(tape, f"Change of {self.name} along {', '.join(wrt)}.", self.owner, self.tangents)

    def hessian(self, *wrt: str) -> Function:
        """Second derivatives of Σ G · result by all pairs of arguments; G, of the shape of the result, comes last.

        `d2tau_dq_dv` is the change, along v, of the gradient by q. Where the directions of an argument do not commute,
        as those of a quaternion, `d2tau_dq_dq` is not symmetric.
        """
        result = self._only_result("hessian")
        tape = self.pullback(*wrt).jacobian(*wrt).tape
        names = [f"d2{result.name}_d{first}_d{second}" for second in wrt for first in wrt]
        outputs = tuple(Array(name, array.shape) for name, array in zip(names, tape.outputs, strict=True))
        named = replace(tape, name=f"{self.name}_d2_{'_'.join(wrt)}", outputs=outputs)
        return Function(named, f"Second derivatives of Σ G · {self.name}.", self.owner, self.tangents)

    def columns(self, indices: Sequence[int]) -> Function:
        """The function with some columns of its matrix only: what they do not need is not computed."""
        result = self._only_result("columns")
        *rows, width = result.shape or (0,)
        if wrong := [k for k in indices if not 0 <= k < width]:
            raise ArgumentError(f"{self._title} has no column {wrong[0]}.", expected=f"numbers from 0 to {width - 1}")
        graph = Graph()
        index = graph.splice(self.tape)
        starts = range(0, len(self.tape.results), width)
        results = [index[self.tape.results[start + k]] for start in starts for k in indices]
        kept = Array(result.name, (*rows, len(indices)))
        tape = run(TRACED, graph.tape(self.name, self.inputs, (kept,), results))
        return Function(tape, self.__doc__ or "", self.owner, self.tangents)

    @cached_property
    def structural_zeros(self) -> np.ndarray:
        """Which entries of the result are zero whatever the arguments are."""
        result = self._only_result("structural_zeros")
        return np.array([self.tape.nodes[k] == (Op.CONST, 0.0) for k in self.tape.results]).reshape(result.shape)

    def packed(self) -> Packed:
        """The same without the entries that are zero whatever the arguments are, and where the others stand."""
        return pack(self)

    def _only_result(self, reading: str) -> Array:
        if len(self.outputs) != 1:
            raise ArgumentError(f"{self._title} has {len(self.outputs)} results.", expected=f"one, for {reading}")
        return self.outputs[0]

    @property
    def _title(self) -> str:
        return title(self.name, self.owner)

    @property
    def _known(self) -> str:
        return ", ".join(array.name for array in self.inputs)

    def _seeds(self, reading: str, wrt: Sequence[str]) -> list[Tape]:
        if not wrt:
            raise ArgumentError(f"{self._title}: {reading} needs the name of an argument.", expected=self._known)
        names = [array.name for array in self.inputs]
        if unknown := [name for name in wrt if name not in names]:
            raise ArgumentError(unknown_name("argument", unknown[0], names, self._title))
        return [seed(self.inputs, name, self.tangents.get(name)) for name in wrt]
