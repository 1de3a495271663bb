"""A scan: one step repeated in machine code, with a state that is carried from step to step.

    scan = Scan.of("fall", {"q": 6, "v": 6}, {"p": 3}, {"t": (), "u": 6}, body)
    q, v, tau = scan(q0, v0, p, t, u, every=10)

    carried   (..., *shape)            the state before the first step
    held      (..., *shape)            constant in all steps
    driven    (..., steps, *shape)     one value per step; viewed as (..., rows, every, *shape)

`body(q, v, p, t, u)` returns the carried arrays after the step under the same names, and any further results. Batch
axes come before all other axes of an argument and broadcast. Results are stored after every `every`-th step: they have
the shape (..., rows, *shape) with rows = steps / every.

    scan.step        the Function of one step, with its derivatives, counts and exports

The numbers are those of calling `scan.step` repeatedly, to the last bit, for any batch size. If a state of a sample is
not finite, the results of that sample become NaN and no others. A scan pickles by content, as functions do. In the
kernel the loop over samples is outside, the loop over steps inside, and the state stays in the block that the body of
the step reads.

How to write a fast step:

    constant data               Pass it as held: it is loaded once. Constants of the system belong in the tape.
    data shared by all samples  (a clock, a torque over time) Pass it as driven, without batch axes: it is read once and
                                broadcast, whereas arrays with one value per sample are transposed.
    existing functions          Call `inline(f.tape, ...)`: nothing is traced twice, and the simplifications found for
                                f alone are kept.
    stages of a method          They may be written as a loop (`algebra.loops`), which `UNROLLED` unrolls. Each stage
                                should write its own row: a stage that overwrites its input has to save it first.
    results                     Storing every `every`-th step costs memory, not arithmetic: 5 to 15 ns for two vectors
                                of six numbers.

Straight code or loops: steps of an arm (up to about 5,000 nodes in all stages) run equally fast, within 5 %, and a loop
over the stages of a Runge-Kutta method compiles in a third of the time. For longer steps straight code is better: at
34,000 nodes it is 25 % faster and takes 3.5 times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.arguments import axes_text, in_order, numbers, plain, rejection, sample_cost, title
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.llvm.program_body import is_vectorisable
from appell.compile.native.build_lock import locked_cached_property
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.kernels import SINGLE_REGISTER_BYTES
from appell.compile.native.machine import Code, host
from appell.compile.native.parallel import spread
from appell.compile.program.program import Program
from appell.compile.results import named_results
from appell.compile.tape.tape import Array, arrays
from appell.errors import ArgumentError, CompileError, TraceError

if TYPE_CHECKING:
    from appell.compile.c.source import CSource
    from appell.compile.wasm.source import WasmModule


@dataclass(frozen=True)
class ScanArguments:
    """The arguments of a scan, by what happens to them in a step, and the name of the scan in messages."""

    title: str
    carried: tuple[Array, ...]
    held: tuple[Array, ...]
    driven: tuple[Array, ...]

    @cached_property
    def inputs(self) -> tuple[Array, ...]:
        """Carried, held and driven arrays."""
        return self.carried + self.held + self.driven

    @cached_property
    def _expected(self) -> str:
        """The arguments of a call, for messages."""
        over_time = (f"{array.name}[{', '.join(['steps', *map(str, array.shape)])}]" for array in self.driven)
        return ", ".join([*map(str, self.carried + self.held), *over_time])

    def in_order(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the arguments of a call, given by position and by name, in order, without labels or masks."""
        ordered = in_order(self.title, self.inputs, given, named, self._expected, "; every, threads or out")
        return [plain(value, array.name, self.title) for value, array in zip(ordered, self.inputs, strict=True)]

    def in_rows(self, arguments: Sequence[Any], every: int) -> list[np.ndarray]:
        """Return the arguments as arrays of real numbers; driven arrays as (..., rows, every, *shape)."""
        if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
            raise ArgumentError(f"{self.title}: every is {every!r}.", expected="a positive integer")
        arrays = [numbers(self.title, array, x) for array, x in zip(self.inputs, arguments, strict=True)]
        batch_axes = [len(batch) for batch in self.batches(arrays)]
        first = len(self.carried) + len(self.held)
        rows = self._rows([x.shape[axes] for x, axes in zip(arrays[first:], batch_axes[first:], strict=True)], every)
        for k in range(first, len(arrays)):
            shape, axes = arrays[k].shape, batch_axes[k]
            arrays[k] = arrays[k].reshape(*shape[:axes], rows, every, *shape[axes + 1 :])
        return arrays

    def batches(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the batch shape of each array; raise an error if they do not broadcast or numbers of steps differ."""
        axes = [self._batch_axes(array, x) for array, x in zip(self.inputs, arrays, strict=True)]
        shapes = [x.shape[:count] for x, count in zip(arrays, axes, strict=True)]
        self._check_batches(shapes)
        first = len(self.carried) + len(self.held)
        self._rows([x.shape[count] for x, count in zip(arrays[first:], axes[first:], strict=True)], 1)
        return shapes

    def members(self, arrays: Sequence[np.ndarray]) -> int:
        """Return the size of the batch of arguments returned by `in_rows`."""
        core = [len(array.shape) + 2 * (array in self.driven) for array in self.inputs]
        shapes = [x.shape[: x.ndim - axes] for x, axes in zip(arrays, core, strict=True)]
        return prod(np.broadcast_shapes(*shapes))

    def steps(self, arrays: Sequence[np.ndarray]) -> int:
        """Return the number of steps of arguments returned by `in_rows`."""
        axis = arrays[-1].ndim - len(self.driven[-1].shape) - 2
        return prod(arrays[-1].shape[axis : axis + 2])

    def _batch_axes(self, array: Array, x: Any) -> int:
        """Return the number of batch axes of an argument."""
        driven = array in self.driven
        count = x.ndim - len(array.shape) - driven
        if count < 0 or x.shape[count + driven :] != array.shape:
            last = f"a last {axes_text(array.shape)}" if array.shape else ""
            parts = [part for part in ("an axis of steps" * driven, last, "after any batch axes") if part]
            raise ArgumentError(f"{self.title}: argument {array.name} has shape {x.shape}.", expected=", ".join(parts))
        return count

    def _check_batches(self, shapes: Sequence[tuple[int, ...]]) -> None:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            listed = [f"{array.name} {shape}" for array, shape in zip(self.inputs, shapes, strict=True) if shape]
            raise ArgumentError(
                f"{self.title}: the batch axes do not broadcast: {', '.join(listed)}.",
                expected="batch axes that broadcast, before all other axes",
            ) from None

    def _rows(self, counts: Sequence[int], every: int) -> int:
        """Return the number of stored results; raise an error if the numbers of steps differ."""
        if len(set(counts)) > 1:
            listed = [f"{array.name} {count}" for array, count in zip(self.driven, counts, strict=True)]
            raise ArgumentError(
                f"{self.title}: the driven arguments have different numbers of steps: {', '.join(listed)}.",
                expected="one value per step in each of them",
            )
        if counts[0] % every:
            raise ArgumentError(
                f"{self.title}: {counts[0]} steps cannot be stored every {every} steps.",
                expected="a number of steps that is a multiple of `every`",
            )
        return counts[0] // every


class Scan:
    """A step repeated in one kernel; called with initial states, constants and one value per step of driven arrays.

    Parameters
    ----------
    step : Function
        One step. Its first inputs are carried, the next ones held, the others driven; its first results are the
        carried arrays after the step.
    carried, held : int
        Numbers of carried and held inputs.
    """

    def __init__(self, step: Function, carried: int, held: int = 0):
        self.step, self.owner, self.__doc__ = step, step.owner, step.__doc__
        self.__name__ = step.name  # task schedulers use it as the name of a task
        split = carried, carried + held
        self.arguments = ScanArguments(
            step.title,
            *(step.inputs[: split[0]], step.inputs[split[0] : split[1]], step.inputs[split[1] :]),
        )
        _check(self.arguments, step.outputs)

    @classmethod
    def of(
        cls,
        name: str,
        carried: Mapping[str, Any],
        held: Mapping[str, Any],
        driven: Mapping[str, Any],
        body: Callable[..., Mapping[str, Any]],
        *,
        owner: str = "",
        doc: str = "",
        loops: bool = False,
        subject: str | None = None,
    ) -> Scan:
        """Trace a step and return the scan that repeats it.

        Parameters
        ----------
        name : str
            Name of the scan.
        carried, held, driven : mapping of str to int or tuple of int
            Core shapes of the arguments of a step, as in `Function.of`.
        body : callable
            Receives arrays of traced scalars for the carried, held and driven arrays, in this order, and returns the
            carried arrays after the step and any further results, by name.
        owner, doc : str
            Name of the system in messages, and docstring.
        loops, subject
            As in `Function.of`.
        """
        kinds = [arrays(each) for each in (carried, held, driven)]

        def ordered(*scalars: Any) -> Mapping[str, Any]:
            results = dict(body(*scalars))
            if missing := [array.name for array in kinds[0] if array.name not in results]:
                raise TraceError(
                    f"the step of {title(name, owner)} does not return the carried {', '.join(missing)}.",
                    expected=f"results {', '.join(array.name for array in kinds[0])}, then any further results",
                )
            return {array.name: results.pop(array.name) for array in kinds[0]} | results

        inputs = [array for each in kinds for array in each]
        step = Function.of(name, inputs, ordered, doc, owner, loops=loops, subject=subject)
        step = Function(step.formula, doc, owner)  # without tangents: a scan carries the entries of quaternions
        return cls(step, len(kinds[0]), len(kinds[1]))

    def __repr__(self) -> str:
        kinds = {"carried": self.arguments.carried, "held": self.arguments.held, "driven": self.arguments.driven}
        listed = "; ".join(f"{kind} {', '.join(map(str, arrays))}" for kind, arrays in kinds.items() if arrays)
        return f"<Scan {self.name}: {listed}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Scan, (self.step, len(self.arguments.carried), len(self.arguments.held))

    @property
    def name(self) -> str:
        """Name of the scan."""
        return self.step.name

    @property
    def title(self) -> str:
        """Name of the scan in messages, with its owner."""
        return self.step.title

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Carried, held and driven arrays, with their shapes in one step."""
        return self.step.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Carried arrays and further results, with their shapes in one step."""
        return self.step.outputs

    @locked_cached_property
    def _loops(self) -> UfuncLoops:
        counts = len(self.arguments.carried), len(self.arguments.held)
        return UfuncLoops(self.step.fused, self.__doc__ or "", scan=counts, owner=self.owner)

    @locked_cached_property
    def _ufunc(self) -> np.ufunc:
        return self._loops.ufunc()

    @locked_cached_property
    def _of_one(self) -> tuple[UfuncLoops, np.ufunc] | None:
        """The kernel for one member, whose lanes are iterations of loops; None if no loop has them."""
        formula, form = self.step.fused, Form(SINGLE_REGISTER_BYTES)
        if not isinstance(formula, Program) or not any(is_vectorisable(stage, form.lanes) for stage in formula.stages):
            return None
        counts = len(self.arguments.carried), len(self.arguments.held)
        loops = UfuncLoops(formula, self.__doc__ or "", form, counts, self.owner)
        return loops, loops.ufunc()

    @locked_cached_property
    def ufunc(self) -> np.ufunc:
        """The scan as a `numpy.ufunc`, with driven arrays as (..., rows, every, *shape); compiled on first use."""
        self._loops.load(np.float64)
        return self._ufunc

    @locked_cached_property
    def _cost(self) -> float:
        return sample_cost(self.step.fused)

    def compile(self, dtype: DTypeLike = np.float64) -> Scan:
        """Compile for float64 or float32 now instead of at the first call; machine code is cached on disk."""
        self._loops.load(dtype)
        return self

    def to_c(
        self, name: str | None = None, *, start: Mapping[str, Any] | None = None, dtype: DTypeLike = np.float64
    ) -> CSource:
        """Return one step as C99 source code with the same bits.

        The carried arrays are stored in a struct of the caller, initialised with `start` (by name) or zeros.
        """
        from appell.compile.c.source import c_scan

        return c_scan(self, name, start or {}, dtype)

    def to_wasm(self, name: str | None = None, *, dtype: DTypeLike = np.float64) -> WasmModule:
        """Return the step and the loop that repeats it as a WebAssembly module; see `Function.to_wasm`."""
        from appell.compile.wasm.source import wasm_module

        return wasm_module(self, name, dtype)

    def loop(self, dtype: DTypeLike = np.float64) -> Code:
        """Return the machine code of the loop over a batch that the ufunc calls."""
        return self._loops.load(dtype)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """Return a function of JAX arrays that returns the results of every step; `native` as in `Function.to_jax`."""
        from appell.compile.exchange.to_jax import jax_function

        return jax_function(self, native)

    def __call__(
        self,
        *arguments: Any,
        every: int = 1,
        threads: int | None = None,
        out: Any = None,
        **named: Any,
    ) -> Any:
        """Run all steps and return the results after every `every`-th one.

        Parameters
        ----------
        *arguments, **named
            Carried and held arrays (..., *shape) and driven arrays (..., steps, *shape), by position or by name.
        every : int
            Number of steps between stored results; it must divide the number of steps.
        threads : int, optional
            Number of threads; by default that of `set_threads`.
        out : array or tuple of arrays, optional
            Arrays for the results.

        Returns
        -------
        array, or named tuple of arrays if there are several results
            Shape (..., rows, *shape) with rows = steps / every.
        """
        arrays = self.arguments.in_rows(self.arguments.in_order(arguments, named), every)
        kind = np.dtype(np.float32 if all(x.dtype == np.float32 for x in arrays) else np.float64)
        has_one = self.arguments.members(arrays) == 1
        loops, ufunc = (self._of_one if has_one else None) or (self._loops, self._ufunc)
        loops.load(kind)
        options = {} if out is None else {"out": tuple(out) if isinstance(out, tuple) else out}
        cost, lanes = self.arguments.steps(arrays) * self._cost, host().register // kind.itemsize
        try:
            results = spread(ufunc, arrays, options, threads, cost, lanes)
        except ArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise rejection(self.title, error, "`out` for all results") from error
        return named_results(self.step.name, self.outputs, results if isinstance(results, tuple) else (results,))


def _check(arguments: ScanArguments, outputs: tuple[Array, ...]) -> None:
    """Raise an error if a step with these arguments and results cannot be repeated."""
    title = arguments.title
    if not arguments.carried:
        raise CompileError(f"{title} has no carried array.", expected="at least one carried array")
    if not arguments.driven:
        raise CompileError(
            f"{title} has no driven array, which determines the number of steps.",
            expected="at least one driven array, such as a clock t",
        )
    names = [array.name for array in arguments.inputs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CompileError(f"{title} has two arguments {twice[0]}.", expected="distinct names")
    if len(outputs) < len(arguments.carried):
        raise CompileError(
            f"{title} has {len(outputs)} results for {len(arguments.carried)} carried arrays.",
            expected="all carried arrays after the step, in the same order, then any further results",
        )
    for before, after in zip(arguments.carried, outputs, strict=False):
        if before.shape != after.shape:
            raise CompileError(
                f"{title}: the carried array {before} is {after} after the step.", expected="the same shape"
            )
