"""Functions of arrays, compiled on first use.

    f = Function.of("area", {"r": ()}, lambda r: {"area": 3.14 * r * r})
    f(q, v, a)                   call it; leading axes are the batch and broadcast, `out=` and `dtype=` as for any ufunc
    f.jacobian("q")              its derivative, a Function again; several names give several results from one kernel
    f.pullback("q")              the gradient of Σ G f(q); G is an argument
    f.directional("q", "v")      its change along directions dq, dv, which are arguments
    f.hessian("q", "v")          the second derivatives of Σ G f
    f.columns([0, 3])            some columns of its matrix, without computing the others
    f.packed()                   its entries that are not always zero, and their positions
    f.count()                    its operation counts
    f.bind()                     the same function on preallocated arrays, for control loops
    print(f.tape)                its operations
    f.to_c(), f.to_jax(), ...    the same function in another language: `compile.c`, `compile.exchange`

The formula of a function is a tape, or a program if loops in `body` stay loops. Derivatives, columns and exports read
the tape; the tape of a program, with all iterations unrolled, is made on first use. A function pickles by content: the
pickle holds the formula, and the receiver compiles it or finds it in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from appell.compile.arguments import Caller, title
from appell.compile.cache.content_hash import content_hash
from appell.compile.cache.trace_cache import Stored, cached_trace
from appell.compile.native.bound import Bound, bind
from appell.compile.native.direct import direct_call
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.native.making import MAKING, once
from appell.compile.packed import Packed, pack
from appell.compile.program.roll import roll
from appell.compile.tape.count import OpCount
from appell.compile.tape.differentiate import along, jacobian, seed, weighted
from appell.compile.tape.formula import Formula, count, fused, unrolled
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import Array, Tape, arrays
from appell.compile.tape.trace import trace
from appell.errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from appell.compile.c.source import CSource
    from appell.compile.exchange.to_sympy import Symbolic

Shapes = Mapping[str, Any] | Iterable[Array]  # {"q": 6, "M": (6, 6), "t": ()}: an integer is the size of a vector
Rule = Callable[[tuple[str, ...]], Any]  # names of arguments -> the Function of the derivatives by them, or None
NOTHING: Mapping[str, Tape] = MappingProxyType({})
SHORT = 100_000  # nodes times directions: shorter derivatives are not looked up on disk
Made = TypeVar("Made")
_ANY_CALL = signature(lambda *arguments, **options: None)


class Function:
    """A function of NumPy arrays that wraps a universal function: `f(q, v, a)` is `f.ufunc(q, v, a)` with its checks.

    The ufunc is compiled at the first call and cached on disk. Leading axes broadcast, `out=` and `dtype=` work, and no
    Python code runs in the loop. Unlike a ufunc, a function has named arguments and its own formula: it can be
    differentiated, counted, reduced to columns, bound to arrays, exported and pickled.

    Parameters
    ----------
    formula : tape or program that the function computes
    doc : docstring
    owner : the system it belongs to, for messages: "robot 'puma'"
    tangents : for arguments that are not a vector space, the tape of the directions along which they move
    rule : gives derivatives that may cost less than those of the tape
    """

    # Python looks up `__call__` in the class and finds this slot, which returns the callable stored by the instance:
    # first `_first_call`, which compiles, then a built-in function. A method would add a Python frame to every call,
    # which takes several times as long as evaluating one sample.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(
        self,
        formula: Formula,
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NOTHING,
        rule: Rule | None = None,
    ):
        self.formula, self.owner, self.rule = formula, owner, rule
        self.tangents = dict(tangents)
        self.__doc__ = doc
        self.__name__ = formula.name  # schedulers name their tasks by it
        self.__signature__ = _ANY_CALL  # `inspect` cannot see through the slot
        self.__call__: Callable[..., Any] = self._first_call
        self._made: dict[tuple, Any] = {}

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
        """Return the function that `body` computes: nested lists of scalars in, nested results by name out.

        With `loops`, `body` receives one more argument, the last: `appell.algebra.loops.Loops` that stay loops.
        A `subject` identifies everything that `body` depends on; a long formula is then cached on disk under it.

        >>> Function.of("area", {"r": ()}, lambda r: {"area": 3.14 * r * r})(2.0)
        12.56
        """
        formula = cached_trace(subject, lambda: (roll if loops else trace)(name, arrays(inputs), body))
        return cls(formula, doc, owner, tangents)

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        return f"<Function {self.name}({arguments}) -> {results}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Function, (self.formula, self.__doc__, self.owner, self.tangents, self.rule)

    @property
    def name(self) -> str:
        return self.formula.name

    @property
    def title(self) -> str:
        """The name of the function in messages."""
        return title(self.name, self.owner)

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.formula.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.formula.outputs

    @once
    def fused(self) -> Formula:
        """The formula that is run: with fused multiply-adds."""
        return self.formula.fused if isinstance(self.formula, Stored) else fused(self.formula)

    @once
    def tape(self) -> Tape:
        """The operations of the function."""
        return unrolled(self.formula.whole if isinstance(self.formula, Stored) else self.formula)

    def count(self) -> OpCount:
        """Return the operations of one evaluation."""
        return count(self.formula)

    def memo(self, key: tuple, make: Callable[[], Made]) -> Made:
        """Make a value derived from the function once; keep it as long as the function exists."""
        with MAKING:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def _with(self, formula: Formula, doc: str) -> Function:
        """Return a function derived from this one."""
        return Function(formula, doc, self.owner, self.tangents)

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
        """Compile for the type of the arguments, then call; float32 alone does not need float64 code."""
        kinds = {getattr(x, "dtype", None) for x in arguments}
        if kinds == {np.dtype(np.float32)} and set(options) <= {"out", "threads"}:
            self._loops.load(np.float32)
            return self._caller(*arguments, **options)
        _ = self.ufunc
        return self.__call__(*arguments, **options)

    def compile(self, dtype=np.float64) -> Function:
        """Compile for float64 or float32 now instead of at the first call; compiled code is cached on disk.

        The time is logged, as at a first call: `logging.getLogger("appell")`, level INFO.
        """
        if np.dtype(dtype) == np.float64:
            _ = self.ufunc
        else:
            self._loops.load(dtype)
        return self

    def loop(self, dtype=np.float64) -> Code:
        """Return the machine code for batches, as the ufunc calls it."""
        return self._loops.load(dtype)

    def kernel(self, dtype=np.float64) -> Code:
        """Return the machine code for one sample; it is loaded once for all bindings."""
        kind = np.dtype(dtype)
        return self.memo(("kernel", kind), lambda: load_kernel(self.fused, kind, "single", owner=self.owner))

    def bind(self, dtype=np.float64) -> Bound:
        """Return the function on arrays of its own: `f = function.bind(); f.q[:] = ...; f(); f.tau`."""
        return bind(self.fused, dtype, self.kernel(dtype))

    # ---- derivatives; each is made once and kept

    def jacobian(self, *wrt: str) -> Function:
        """Return derivatives by arguments, as results of shape (*result, columns), in one kernel for all names.

        Of the differentiated tape and the function that `rule` gives, the one with fewer instructions is returned.
        """
        return self.memo(("jacobian", *wrt), lambda: self._jacobian(wrt))

    def _jacobian(self, wrt: tuple[str, ...]) -> Function:
        seeds = self._seeds("jacobian", wrt)
        known = self.rule(wrt) if self.rule is not None else None
        work = len(self.formula) * sum(seed.outputs[0].shape[1] for seed in seeds)
        if known is not None and work > SHORT:
            return known
        subject = content_hash("jacobian", self.tape, seeds, wrt) if work > SHORT else None
        tape = cached_trace(subject, lambda: jacobian(self.tape, f"{self.name}_d{'_d'.join(wrt)}", seeds, wrt))
        own = self._with(tape, f"Derivative of {self.name} by {', '.join(wrt)}.")
        return own if known is None or len(own.fused) <= len(known.fused) else known

    def gradient(self, wrt: str) -> Function:
        """Return the derivative of a function with one scalar result."""
        if len(self.tape.results) != 1:
            raise ArgumentError(
                f"{self.title} has {len(self.tape.results)} results and so no gradient.", hint="jacobian"
            )
        return self.jacobian(wrt)

    def pullback(self, *wrt: str) -> Function:
        """Return the gradient by arguments of Σ G · result; G has the shape of the result and is the last argument."""

        def make() -> Function:
            result = self._only_result("pullback")
            total = weighted(self.tape, f"{self.name}_pullback", [Array("G", result.shape)], result.name)
            return self._with(total, f"Σ G · {self.name}.").jacobian(*wrt)

        return self.memo(("pullback", *wrt), make)

    def directional(self, *wrt: str) -> Function:
        """Return the change of the results, J d, as arguments move along directions `dq` of q etc., which come last.

        For an argument that is not a vector space a direction has the size of its velocity.
        """

        def make() -> Function:
            seeds = self._seeds("directional", wrt)
            sizes = {array.name: array.shape for array in self.inputs}
            sizes |= {name: (tape.outputs[0].shape[1],) for name, tape in self.tangents.items()}
            directions = [Array(f"d{name}", sizes[name]) for name in wrt]
            tape = along(self.tape, f"{self.name}_along_{'_'.join(wrt)}", seeds, directions)
            return self._with(tape, f"Change of {self.name} along {', '.join(wrt)}.")

        return self.memo(("directional", *wrt), make)

    def hessian(self, *wrt: str) -> Function:
        """Return second derivatives of Σ G · result by all pairs of arguments; G is the last argument.

        `d2tau_dq_dv` is the change, along v, of the gradient by q. Where the directions of an argument do not commute,
        as those of a quaternion, `d2tau_dq_dq` is not symmetric.
        """

        def make() -> Function:
            result = self._only_result("hessian")
            tape = self.pullback(*wrt).jacobian(*wrt).tape
            names = [f"d2{result.name}_d{first}_d{second}" for second in wrt for first in wrt]
            outputs = tuple(Array(name, array.shape) for name, array in zip(names, tape.outputs, strict=True))
            named = replace(tape, name=f"{self.name}_d2_{'_'.join(wrt)}", outputs=outputs)
            return self._with(named, f"Second derivatives of Σ G · {self.name}.")

        return self.memo(("hessian", *wrt), make)

    # ---- parts of the result

    def columns(self, indices: Sequence[int]) -> Function:
        """Return the function with some columns of its matrix only; what only the others need is not computed."""
        result = self._only_result("columns")
        *rows, width = result.shape or (0,)
        if wrong := [k for k in indices if not 0 <= k < width]:
            raise ArgumentError(f"{self.title} has no column {wrong[0]}.", expected=f"numbers from 0 to {width - 1}")
        graph = Graph()
        index = graph.splice(self.tape)
        starts = range(0, len(self.tape.results), width)
        results = [index[self.tape.results[start + k]] for start in starts for k in indices]
        output = Array(result.name, (*rows, len(indices)))
        return self._with(factor(graph.tape(self.name, self.inputs, (output,), results)), self.__doc__ or "")

    @once
    def structural_zeros(self) -> np.ndarray:
        """Which entries of the result are zero for all arguments."""
        result = self._only_result("structural_zeros")
        return np.array([self.tape.nodes[k] == (Op.CONST, 0.0) for k in self.tape.results]).reshape(result.shape)

    def packed(self) -> Packed:
        """Return the same function without the entries that are zero for all arguments, and the places of the rest."""
        return pack(self)

    def _only_result(self, use: str) -> Array:
        if len(self.outputs) != 1:
            raise ArgumentError(f"{self.title} has {len(self.outputs)} results.", expected=f"one, for {use}")
        return self.outputs[0]

    def _seeds(self, use: str, wrt: Sequence[str]) -> list[Tape]:
        names = [array.name for array in self.inputs]
        if not wrt:
            raise ArgumentError(f"{self.title}: {use} needs the name of an argument.", expected=", ".join(names))
        if unknown := [name for name in wrt if name not in names]:
            raise ArgumentError(unknown_name("argument", unknown[0], names, self.title))
        return [seed(self.inputs, name, self.tangents.get(name)) for name in wrt]

    # ---- other languages

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """Return C99 code that computes the same bits: `f.to_c("arm").write("folder")`; `name` prefixes all symbols."""
        from appell.compile.c.source import c_source

        return c_source(self, name, dtype)

    def to_casadi(self) -> Any:
        """Return a `casadi.Function` over SX with the same names; vectors are columns, matrices are matrices."""
        from appell.compile.exchange.to_casadi import casadi_function

        return casadi_function(self)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """Return a function of JAX arrays that runs the compiled kernel (`native=True`) or JAX operations (False)."""
        from appell.compile.exchange.to_jax import jax_function

        return jax_function(self, native)

    def to_torch(self) -> Any:
        """Return a function of PyTorch tensors with batches by leading axes and derivatives for autograd."""
        from appell.compile.exchange.to_torch import TorchFunction

        return TorchFunction(self)

    def to_sympy(self) -> Symbolic:
        """Return SymPy expressions: `.results` by name, `.common` the pairs (symbol, expression) that they share."""
        from appell.compile.exchange.to_sympy import symbolic

        return symbolic(self)

    def to_latex(self) -> str:
        """Return LaTeX text of all results, for small robots."""
        from appell.compile.exchange.to_latex import latex

        return latex(self)

    def to_json(self) -> str:
        """Return the tape as versioned JSON text, described by `appell/compile/exchange/tape.schema.json`."""
        from appell.compile.exchange.to_json import tape_json

        return tape_json(self)
