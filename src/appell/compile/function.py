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
    f.to_c(), f.to_jax(), ...    the same function in another language: `compile.c`, `compile.wasm`, `compile.exchange`

The formula of a function is a tape, or a program if loops in `body` stay loops. Derivatives, columns and exports read
the tape; the tape of a program, with all iterations unrolled, is made on first use. A function pickles by content: the
pickle holds the formula, and the receiving process compiles it or loads the machine code from its cache.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from appell.compile.arguments import Caller, title
from appell.compile.cache.content_hash import content_hash
from appell.compile.cache.trace_cache import Stored, cached_trace
from appell.compile.compose import composed, inherited
from appell.compile.native.bound import Bound, bind
from appell.compile.native.build_lock import BUILD_LOCK, locked_cached_property
from appell.compile.native.direct import direct_call, has_sample_kernel, is_plain_sample
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import Code
from appell.compile.packed import Packed, pack
from appell.compile.program.program import Program
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.program.roll import roll
from appell.compile.tape.count import OpCount
from appell.compile.tape.differentiate import (
    MAX_FORWARD_COLUMNS,
    Elements,
    Seed,
    along,
    columns_of,
    jacobian,
    seed,
    weighted,
)
from appell.compile.tape.formula import Formula, count, fused, unrolled
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import Array, Tape, arrays
from appell.compile.tape.trace import is_traced, trace
from appell.compile.tape.traced_array import traced_array
from appell.errors import ArgumentError, CompileError, TraceError, unknown_name

if TYPE_CHECKING:
    from appell.compile.c.source import CSource
    from appell.compile.exchange.to_sympy import Symbolic
    from appell.compile.wasm.source import WasmModule

Shapes = Mapping[str, Any] | Iterable[Array]  # {"q": 6, "M": (6, 6), "t": ()}: an integer is the size of a vector
Rule = Callable[[tuple[str, ...]], Any]  # names of arguments -> Function of the derivatives by them, or None
NO_TANGENTS: Mapping[str, Tape] = MappingProxyType({})
MAX_UNROLLED = 2_000_000  # nodes of a program as one tape; more take minutes and gigabytes
_FLOAT32 = np.dtype(np.float32)
MIN_CACHED_WORK = 100_000  # nodes times directions; cheaper derivatives are not cached on disk
T = TypeVar("T")
_ANY_CALL = signature(lambda *arguments, **options: None)


class Function:
    """A compiled function of NumPy arrays: `f(q, v, a)` calls the ufunc `f.ufunc(q, v, a)` and checks its arguments.

    The ufunc is compiled at the first call and cached on disk. Leading axes are the batch and broadcast, `out=` and
    `dtype=` work as for any ufunc, and no Python code runs in the loop. Unlike a ufunc, a function has named arguments
    and its own formula: it can be differentiated, counted, reduced to columns, bound to arrays, exported and pickled.

    Functions are usually obtained from `Dynamics` or made with `Function.of`.

    Parameters
    ----------
    formula : Tape or Program
        Operations that the function computes.
    doc : str
        Docstring of the function.
    owner : str
        System that the function belongs to, for messages: "robot 'puma'".
    tangents : mapping of str to Tape
        For each argument that is not a vector space, such as a quaternion, the tape of the directions along which it
        moves.
    rule : callable, optional
        Called with names of arguments; returns a function of the derivatives with respect to them that may cost less
        than the differentiated tape, or None.

    Examples
    --------
    >>> import appell as ap
    >>> f = ap.Dynamics(ap.load("pendulum")).inverse_dynamics
    >>> f
    <Function inverse_dynamics(q[1], v[1], a[1]) -> tau[1] of robot 'pendulum'>
    >>> f([0.5], [0.0], [1.0]).round(4)
    array([2.685])
    >>> f([[0.0], [0.5]], [0.0], [1.0]).shape  # a batch of two
    (2, 1)
    """

    # Python looks up `__call__` in the class and finds this slot, which returns the callable stored in the instance:
    # at first `_first_call`, which compiles, later a built-in function. A method would add a Python frame to every
    # call, which takes several times as long as evaluating one sample.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(
        self,
        formula: Formula,
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NO_TANGENTS,
        rule: Rule | None = None,
    ):
        self.formula, self.owner, self.rule = formula, owner, rule
        self.tangents = dict(tangents)
        self.__doc__ = doc
        self.__name__ = formula.name  # task schedulers use it as the name of a task
        self.__signature__ = _ANY_CALL  # `inspect` cannot derive a signature from the slot
        self.__call__: Callable[..., Any] = self._first_call
        self._memo: dict[tuple, Any] = {}

    @property
    def summary(self) -> str:
        """The docstring up to its section `Parameters`, for exported code."""
        return (self.__doc__ or "").partition("\n\nParameters\n")[0]

    @classmethod
    def of(
        cls,
        name: str,
        inputs: Shapes,
        body: Callable[..., Mapping[str, Any]],
        doc: str = "",
        owner: str = "",
        tangents: Mapping[str, Tape] = NO_TANGENTS,
        loops: bool = False,
        subject: str | None = None,
    ) -> Function:
        """Trace a Python function and return it as a compiled function.

        Parameters
        ----------
        name : str
            Name of the function.
        inputs : mapping of str to int or tuple of int
            Core shape of every argument, in order: `{"q": 6, "M": (6, 6), "t": ()}`. An integer is the size of a
            vector, `()` a scalar.
        body : callable
            Receives one array of traced scalars per argument (a scalar for the shape `()`) and returns the results
            by name, as scalars, arrays or nested lists. Arrays support indexing, slicing, arithmetic, `@`, sums and
            functions of NumPy such as `np.sin`. Other functions may be called: they become part of this one. Use
            the functions of `ap` (`ap.sin`, `ap.exp`, `ap.maximum`, ...) and `ap.select` instead of `math` and `if`.
        doc, owner : str
            Docstring, and the name of the system in messages.
        tangents : mapping of str to Tape
            Directions of arguments that are not a vector space; see `Function`. By default an argument that `body`
            passes to a function of a robot inherits them, so that derivatives are along velocities; with `subject`
            nothing is inherited, because `body` does not run if its formula is in the cache.
        loops : bool
            Pass `body` one more argument, the last: `appell.algebra.loops.Loops`, whose loops are not unrolled.
        subject : str, optional
            Hash of everything that `body` depends on. A long formula is then cached on disk under it.

        Returns
        -------
        Function

        Raises
        ------
        TraceError
            If `body` branches on a traced scalar or returns something that is not a scalar.

        Examples
        --------
        >>> import appell as ap
        >>> f = ap.Function.of("polar", {"p": 2}, lambda p: {"r": ap.sqrt(p[0] ** 2 + p[1] ** 2)})
        >>> float(f([3.0, 4.0]))
        5.0
        """
        shapes, of = arrays(inputs), title(f"'{name}'", owner)

        def on_arrays(*values):
            pairs = zip(values, shapes, strict=False)  # `loops` may follow
            given = [traced_array(value, f"argument {array.name} of {of}") for value, array in pairs]
            results = body(*given, *values[len(shapes) :])
            if not tangents and subject is None:
                directions.update(inherited(of, given, shapes))
            graphs.extend(scalar.graph for value in given for scalar in np.ravel(value)[:1])
            return results

        directions, graphs = dict(tangents), list[Graph]()
        formula = cached_trace(subject, lambda: (roll if loops else trace)(name, shapes, on_arrays))
        if subject is None and not loops and any(graph.has_large_products for graph in graphs):
            formula = roll(name, shapes, lambda *values: on_arrays(*values[: len(shapes)]))
        return cls(formula, doc, owner, directions)

    def __repr__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        return f"<Function {self.name}({arguments}) -> {results}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Function, (self.formula, self.__doc__, self.owner, self.tangents, self.rule)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.formula.name

    @property
    def title(self) -> str:
        """Name of the function in messages, with its owner."""
        return title(self.name, self.owner)

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Names and core shapes of the arguments, in order."""
        return self.formula.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Names and core shapes of the results, in order."""
        return self.formula.outputs

    @locked_cached_property
    def fused(self) -> Formula:
        """The formula as it is executed, with fused multiply-adds."""
        return self.formula.fused if isinstance(self.formula, Stored) else fused(self.formula)

    @locked_cached_property
    def tape(self) -> Tape:
        """The operations of the function as one tape; loops are unrolled."""
        formula = self.formula.in_memory if isinstance(self.formula, Stored) else self.formula
        if isinstance(formula, Program) and len(formula) > MAX_UNROLLED:
            raise TraceError(
                f"{self.title} has {len(formula):,} operations without its loops.",
                expected=f"at most {MAX_UNROLLED:,} in derivatives, exports to Python libraries and other functions",
                hint="Use a smaller function there; for distances, capsules instead of hulls.",
            )
        return unrolled(formula)

    def count(self) -> OpCount:
        """Return the number of operations of one evaluation, by kind.

        Products and sums are counted before they are fused, as in publications.

        Examples
        --------
        >>> import appell as ap
        >>> ap.Dynamics(ap.load("pendulum")).inverse_dynamics.count()
        OpCount(mul=2, add=1, div=0, sqrt=0, trig=1, select=0)
        """
        return count(self.formula)

    def memo(self, key: tuple, make: Callable[[], T]) -> T:
        """Return `make()`, computed once per key and stored with the function."""
        with BUILD_LOCK:
            if key not in self._memo:
                self._memo[key] = make()
            return self._memo[key]

    def _derived(self, formula: Formula, doc: str) -> Function:
        """Return a function with another formula and the same owner and tangents."""
        return Function(formula, doc, self.owner, self.tangents)

    # ---- running

    @locked_cached_property
    def _loops(self) -> UfuncLoops:
        return UfuncLoops(self.fused, self.__doc__ or "", owner=self.owner)

    @locked_cached_property
    def _caller(self) -> Caller:
        return Caller(self._loops.ufunc(), self.fused, self.owner, self._composed)

    @locked_cached_property
    def ufunc(self) -> np.ufunc:
        """The compiled function as a `numpy.ufunc`; compiled on first use."""
        self._loops.load(np.float64)
        self.__call__ = self._any_call
        return self._caller.ufunc

    @locked_cached_property
    def _any_call(self) -> Callable[..., Any]:
        """A call of samples and batches; the loop for float64 is loaded."""
        caller, this = self._caller, weakref.ref(self)

        def otherwise(*arguments, **options):
            if arguments and getattr(arguments[0], "dtype", None) is _FLOAT32 and (function := this()) is not None:
                function.__call__ = function._any_call_of(function._single_precision_call(caller))
            return caller(*arguments, **options)

        return self._any_call_of(otherwise)

    def _any_call_of(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call of float64 samples and batches that passes all other calls on."""
        kernel = self._memo.get(("kernel", np.dtype(np.float64))) if has_sample_kernel(self.fused) else None
        return direct_call(self.fused, self._caller.ufunc, otherwise, kernel) or self._caller

    def _single_precision_call(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call of float32 samples and batches that passes all other calls on."""
        self._loops.load(np.float32)
        return direct_call(self.fused, self._caller.ufunc, otherwise, dtype=np.float32) or otherwise

    @locked_cached_property
    def _sample_call(self) -> Callable[..., Any] | None:
        """A call of one sample that does not compile the ufunc's loop, or None where it would use that loop."""
        if not has_sample_kernel(self.fused):
            return None
        with contextlib.suppress(CompileError):  # the loop may compile all the same
            return direct_call(self.fused, None, self._first_call_again, self.kernel())
        return None

    @locked_cached_property
    def _first_call_again(self) -> Callable[..., Any]:
        """`_first_call` without a reference to this function, which holds what calls it."""
        caller, this = self._caller, weakref.ref(self)

        def call(*arguments, **options):
            function = this()
            return (caller if function is None else function._first_call)(*arguments, **options)

        return call

    def _first_call(self, *arguments, **options):
        """Compile for the type of the arguments, then call; if all are float32, no float64 code is compiled.

        If they are one sample, only the kernel for one sample is compiled; the first other call compiles the loop.
        With traced scalars nothing is compiled: the call is part of another function that is being traced.
        """
        if any(map(is_traced, (*arguments, *options.values()))):
            return self._composed(arguments, options)
        kinds = {getattr(x, "dtype", None) for x in arguments}
        if kinds == {_FLOAT32} and set(options) <= {"out", "threads"}:
            if self.__call__ == self._first_call:
                self.__call__ = self._single_precision_call(self._first_call_again)
            self._loops.load(np.float32)
            return self._caller(*arguments, **options)
        if not options and is_plain_sample(arguments, self.formula) and self._sample_call is not None:
            self.__call__ = self._sample_call
            return self._sample_call(*arguments)
        _ = self.ufunc
        self.__call__ = self._any_call  # another thread may have set the call of one sample
        return self._any_call(*arguments, **options)

    def _composed(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        return composed(self.title, self.tape, self.tangents, arguments, named)

    def compile(self, dtype=np.float64) -> Function:
        """Compile now instead of at the first call, and return the function itself.

        Parameters
        ----------
        dtype : float64 or float32
            Number format to compile for.

        Notes
        -----
        Machine code is cached on disk. The duration is logged: `logging.getLogger("appell")`, level INFO.

        Examples
        --------
        >>> import appell as ap
        >>> f = ap.Dynamics(ap.load("pendulum")).gravity.compile()
        >>> f([0.5]).round(4)
        array([2.3516])
        """
        if np.dtype(dtype) == np.float64:
            _ = self.ufunc
        else:
            self._loops.load(dtype)
        return self

    def loop(self, dtype=np.float64) -> Code:
        """Return the machine code of the loop over a batch that the ufunc calls."""
        return self._loops.load(dtype)

    def kernel(self, dtype=np.float64) -> Code:
        """Return the machine code for one sample; all bindings share it."""
        kind = np.dtype(dtype)
        return self.memo(("kernel", kind), lambda: load_kernel(self.fused, kind, "single", owner=self.owner))

    def bind(self, dtype=np.float64) -> Bound:
        """Return the function bound to preallocated arrays: the fastest way to evaluate single samples.

        The arrays are attributes with the names of the arguments and results. A call reads the arguments and
        overwrites the results; it allocates nothing.

        Parameters
        ----------
        dtype : float64 or float32
            Number format of the arrays.

        Examples
        --------
        >>> import appell as ap
        >>> f = ap.Dynamics(ap.load("pendulum")).inverse_dynamics.bind()
        >>> f.q[:], f.v[:], f.a[:] = 0.5, 0.0, 1.0
        >>> f()
        >>> f.tau.round(4)
        array([2.685])
        """
        return bind(self.fused, dtype, self.kernel(dtype))

    # ---- derivatives; each is derived once and stored

    def jacobian(self, *wrt: str) -> Function:
        """Return the derivatives of all results with respect to some arguments, as one function.

        Parameters
        ----------
        *wrt : str
            Names of arguments.

        Returns
        -------
        Function
            A function of the same arguments. For every name in `wrt` and every result it has one result
            `d<result>_d<name>` of shape `(*result, columns)`. There is one column per element of the argument or, if
            the argument is not a vector space (coordinates with quaternions), one per velocity. Several results are a
            named tuple, which unpacks argument by argument. If `rule` offers a function as well, the one with fewer
            instructions is returned; for long formulas that of the rule.

        Raises
        ------
        ArgumentError
            If the function has no argument of such a name.

        Examples
        --------
        >>> import appell as ap
        >>> J = ap.Dynamics(ap.load("pendulum")).inverse_dynamics.jacobian("q", "a")
        >>> J
        <Function inverse_dynamics_dq_da(q[1], v[1], a[1]) -> dtau_dq[1, 1], dtau_da[1, 1] of robot 'pendulum'>
        >>> result = J([0.5], [0.0], [1.0])
        >>> float(result.dtau_dq[0, 0]), float(result.dtau_da[0, 0])  # doctest: +ELLIPSIS
        (4.304..., 0.333...)
        """
        return self.memo(("jacobian", *wrt), lambda: self._jacobian(wrt))

    def _jacobian(self, wrt: tuple[str, ...]) -> Function:
        seeds = self._seeds("jacobian", wrt)
        by_rule = self.rule(wrt) if self.rule is not None else None
        columns = sum(map(columns_of, seeds))
        if columns > MAX_FORWARD_COLUMNS and (reversed_program := self._reversed(wrt, seeds)) is not None:
            return self._derived(reversed_program, f"Derivative of {self.name} with respect to {', '.join(wrt)}.")
        work = len(self.formula) * columns
        if by_rule is not None and work > MIN_CACHED_WORK:
            return by_rule
        subject = content_hash("jacobian", self.tape, seeds, wrt) if work > MIN_CACHED_WORK else None
        tape = cached_trace(subject, lambda: jacobian(self.tape, f"{self.name}_d{'_d'.join(wrt)}", seeds, wrt))
        differentiated = self._derived(tape, f"Derivative of {self.name} with respect to {', '.join(wrt)}.")
        return by_rule if by_rule is not None and len(differentiated.fused) > len(by_rule.fused) else differentiated

    def _reversed(self, wrt: tuple[str, ...], seeds: Sequence[Seed]) -> Program | None:
        """Return the gradient of a program with one scalar result as a program; None if it has to be unrolled."""
        [result, *others], program = self.outputs, self.formula
        if (
            not isinstance(program, Program)
            or others
            or result.size > 1
            or not all(isinstance(x, Elements) for x in seeds)
        ):
            return None
        gradients = [Gradient(f"d{result.name}_d{name}", name) for name in wrt]
        try:
            made = reverse(program, f"{self.name}_d{'_d'.join(wrt)}", self.inputs, {result.name: 1.0}, gradients)
        except NotReversibleError:
            return None
        return replace(made, outputs=tuple(replace(each, shape=(*result.shape, *each.shape)) for each in made.outputs))

    def gradient(self, wrt: str) -> Function:
        """Return the gradient of a function with one scalar result with respect to an argument.

        Examples
        --------
        >>> import appell as ap
        >>> f = ap.Function.of("energy", {"v": 2}, lambda v: {"T": 0.5 * (v[0] ** 2 + v[1] ** 2)})
        >>> f.gradient("v")([3.0, 4.0])
        array([3., 4.])
        """
        if (count := sum(array.size for array in self.outputs)) != 1:
            raise ArgumentError(
                f"gradient of {self.title}: it has {count} scalar results.",
                expected="a function with one scalar result",
                hint="Use jacobian() for several results.",
            )
        return self.jacobian(wrt)

    def pullback(self, *wrt: str) -> Function:
        """Return the gradient of Σ G · result with respect to arguments.

        The weights G are one more argument, the last; G has the shape of the only result. If the function has an
        argument G, the weights are named `G2`.
        """

        def make() -> Function:
            result = self._only_result("pullback")
            (name,) = self._new_names(["G"])
            total = weighted(self.tape, f"{self.name}_pullback", [Array(name, result.shape)], result.name)
            return self._derived(total, f"Σ G · {self.name}.").jacobian(*wrt)

        return self.memo(("pullback", *wrt), make)

    def directional(self, *wrt: str) -> Function:
        """Return the directional derivative J d of all results.

        The directions are further arguments after the others, named `dq` for the argument q, or `dq2` if the function
        has an argument `dq`. For an argument that is not a vector space, a direction has the size of the velocity.
        """

        def make() -> Function:
            seeds = self._seeds("directional", wrt)
            sizes = {array.name: array.shape for array in self.inputs}
            sizes |= {name: (tape.outputs[0].shape[1],) for name, tape in self.tangents.items()}
            names = self._new_names([f"d{name}" for name in wrt])
            directions = [Array(name, sizes[argument]) for name, argument in zip(names, wrt, strict=True)]
            tape = along(self.tape, f"{self.name}_along_{'_'.join(wrt)}", seeds, directions)
            return self._derived(tape, f"Directional derivative of {self.name} along {', '.join(wrt)}.")

        return self.memo(("directional", *wrt), make)

    def hessian(self, *wrt: str) -> Function:
        """Return the second derivatives of Σ G · result with respect to all pairs of arguments.

        The weights G are one more argument, the last. `d2tau_dq_dv` is the derivative with respect to v of the gradient
        with respect to q. If the directions of an argument do not commute, as those of a quaternion, `d2tau_dq_dq` is
        not symmetric.
        """

        def make() -> Function:
            result = self._only_result("hessian")
            tape = self.pullback(*wrt).jacobian(*wrt).tape
            names = [f"d2{result.name}_d{first}_d{second}" for second in wrt for first in wrt]
            outputs = tuple(Array(name, array.shape) for name, array in zip(names, tape.outputs, strict=True))
            named = replace(tape, name=f"{self.name}_d2_{'_'.join(wrt)}", outputs=outputs)
            return self._derived(named, f"Second derivatives of Σ G · {self.name}.")

        return self.memo(("hessian", *wrt), make)

    # ---- parts of the result

    def columns(self, indices: Sequence[int]) -> Function:
        """Return the function of some columns of the only result; operations for other columns are omitted."""
        result = self._only_result("columns")
        *rows, width = result.shape or (0,)
        if wrong := [k for k in indices if not 0 <= k < width]:
            raise ArgumentError(f"{self.title} has no column {wrong[0]}.", expected=f"indices from 0 to {width - 1}")
        graph = Graph()
        index = graph.splice(self.tape)
        starts = range(0, len(self.tape.results), width)
        results = [index[self.tape.results[start + k]] for start in starts for k in indices]
        output = Array(result.name, (*rows, len(indices)))
        return self._derived(factor(graph.tape(self.name, self.inputs, (output,), results)), self.__doc__ or "")

    @locked_cached_property
    def structural_zeros(self) -> np.ndarray:
        """Boolean array of the shape of the result: True where an entry is zero for all arguments."""
        result = self._only_result("structural_zeros")
        return np.array([self.tape.nodes[k] == (Op.CONST, 0.0) for k in self.tape.results]).reshape(result.shape)

    def packed(self) -> Packed:
        """Return the function without the entries that are zero for all arguments, and the positions of the others."""
        return pack(self)

    def _only_result(self, use: str) -> Array:
        if len(self.outputs) != 1:
            raise ArgumentError(
                f"{use} of {self.title}: it has {len(self.outputs)} results.", expected="a function with one result"
            )
        return self.outputs[0]

    def _new_names(self, names: Iterable[str]) -> list[str]:
        """Return names for further arguments; a number is appended to a name that is in use."""
        used = [array.name for array in self.inputs]
        for name in names:
            candidates = [name, *(f"{name}{k}" for k in range(2, len(used) + 2))]
            used.append(next(each for each in candidates if each not in used))
        return used[len(self.inputs) :]

    def _seeds(self, use: str, wrt: Sequence[str]) -> list[Seed]:
        names = [array.name for array in self.inputs]
        if not wrt:
            raise ArgumentError(
                f"{use} of {self.title}: no argument is named.", expected=f"at least one of {', '.join(names)}"
            )
        if unknown := [name for name in wrt if name not in names]:
            raise ArgumentError(unknown_name("argument", unknown[0], names, self.title))
        return [seed(self.inputs, name, self.tangents.get(name)) for name in wrt]

    # ---- other languages

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """Return the function as C99 source code that computes the same bits.

        Parameters
        ----------
        name : str, optional
            Name of the C function and prefix of all symbols; by default the names of the robot and of the function.
        dtype : float64 or float32
            Number format, `double` or `float`.

        Returns
        -------
        CSource
            Texts of the source file and of the header; `write(folder)` writes both files.

        Raises
        ------
        ArgumentError
            If `name` is not an identifier, is reserved, or is the name of an argument or result.

        Examples
        --------
        >>> import appell as ap
        >>> code = ap.Dynamics(ap.load("pendulum")).inverse_dynamics.to_c("torque")
        >>> [line for line in code.header.splitlines() if line.startswith("void torque(")]
        ['void torque(const double q[1], const double v[1], const double a[1], double tau[1]);']
        """
        from appell.compile.c.source import c_source

        return c_source(self, name, dtype)

    def to_wasm(self, name: str | None = None, *, dtype: Any = np.float64) -> WasmModule:
        """Return the function as a WebAssembly module with a JavaScript module and TypeScript declarations.

        Parameters
        ----------
        name : str, optional
            Name of the files; by default the names of the robot and of the function.
        dtype : float64 or float32
            Number format.

        Returns
        -------
        WasmModule
            `write(folder)` writes name.wasm, name.mjs and name.d.mts.

        Raises
        ------
        CompileError
            If the function exceeds a limit of WebAssembly engines.

        Examples
        --------
        >>> import appell as ap
        >>> files = ap.Dynamics(ap.load("pendulum")).inverse_dynamics.to_wasm("torque")
        >>> files.binary[:4]
        b'\\x00asm'
        """
        from appell.compile.wasm.source import wasm_module

        return wasm_module(self, name, dtype)

    def to_casadi(self) -> Any:
        """Return a `casadi.Function` of SX symbols with the same names; vectors are columns."""
        from appell.compile.exchange.to_casadi import casadi_function

        return casadi_function(self)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """Return a function of JAX arrays that runs the compiled kernel (`native=True`) or JAX operations (False).

        The default None selects the kernel if the installed jaxlib supports it.
        """
        from appell.compile.exchange.to_jax import jax_function

        return jax_function(self, native)

    def to_torch(self) -> Any:
        """Return a function of PyTorch tensors with leading batch axes and derivatives for autograd."""
        from appell.compile.exchange.to_torch import TorchFunction

        return TorchFunction(self)

    def to_sympy(self) -> Symbolic:
        """Return SymPy expressions: `.results` by name; `.common` are shared pairs (symbol, expression)."""
        from appell.compile.exchange.to_sympy import symbolic

        return symbolic(self)

    def to_latex(self) -> str:
        """Return all results as LaTeX equations, for small robots."""
        from appell.compile.exchange.to_latex import latex

        return latex(self)

    def to_json(self) -> str:
        """Return the tape as versioned JSON text, described by `appell/compile/exchange/tape.schema.json`."""
        from appell.compile.exchange.to_json import tape_json

        return tape_json(self)
