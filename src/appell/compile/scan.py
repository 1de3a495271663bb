"""A scan: one step repeated in machine code, with the state that it carries from step to step.

    scan = Scan.of("fall", {"q": 6, "v": 6}, {"p": 3}, {"t": (), "u": 6}, body)
    q, v, tau = scan(q0, v0, p, t, u, every=10)

    carried   (..., *shape)            the state before the first step
    held      (..., *shape)            the same in all steps
    driven    (..., steps, *shape)     one value per step; viewed as (..., rows, every, *shape)

`body(q, v, p, t, u)` returns the carried arrays after the step under their own names, and any further results. The
arrays of a call have batch axes before all others, which broadcast. Results are stored after every `every`-th step:
they have the shape (..., rows, *shape) with rows = steps / every.

    scan.step        the Function of one step: its derivatives, its counts, its exports

The numbers are those of calling `scan.step` repeatedly, to the last bit, for any batch size. A sample with a state
that is not finite becomes NaN, and no other. A scan pickles by content, as functions do. In the kernel the loop over
samples is outside, the loop over steps inside, and the state stays in the block that the body of the step reads.

How to write a step that runs well:

    constant data               is held: it is loaded once. Constants of the system belong in the tape.
    data shared by all samples  (a clock, a torque over time) is driven without batch axes: it is read once and
                                broadcast, whereas arrays with one value per sample are transposed.
    existing functions          are inlined by `inline(f.tape, ...)`: nothing is traced twice, and the simplifications
                                found for f alone are kept.
    stages of a method          may be written as a loop (`algebra.loops`), which `UNROLLED` unrolls. Each stage should
                                write a row of its own: a stage that overwrites its input has to save it first.
    results                     every `every`-th step cost memory, not arithmetic: 5 to 15 ns for two vectors of six.

Straight code or loops: steps of an arm (up to some 5,000 nodes, all stages counted) run equally fast, within five per
cent, and a loop over the stages of Runge and Kutta compiles in a third of the time. Beyond that, straight code gains:
at 34,000 nodes it is a quarter faster and takes 3.5 times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.arguments import axes_text, in_order, numbers, plain, refusal, sample_cost, title
from appell.compile.function import Function
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.machine import Code, host
from appell.compile.native.making import once
from appell.compile.native.parallel import spread
from appell.compile.tape.tape import Array, arrays
from appell.errors import ArgumentError, CompileError, TraceError

if TYPE_CHECKING:
    from appell.compile.c.source import CSource


@dataclass(frozen=True)
class Horizon:
    """The arrays of a scan, by what happens to them in a step, and what it is called in messages."""

    title: str
    carried: tuple[Array, ...]
    held: tuple[Array, ...]
    driven: tuple[Array, ...]

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.carried + self.held + self.driven

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return all arguments in order, without labels or masks."""
        over_time = (f"{array.name}[{', '.join(['steps', *map(str, array.shape)])}]" for array in self.driven)
        expected = ", ".join([*map(str, self.carried + self.held), *over_time])
        ordered = in_order(self.title, self.inputs, given, named, expected, "; every, threads or out")
        return [plain(value, array.name, self.title) for value, array in zip(ordered, self.inputs, strict=True)]

    def seen(self, arguments: Sequence[Any], every: int) -> list[np.ndarray]:
        """The arguments as arrays of real numbers of the right shapes, with the steps of what is driven in rows."""
        if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
            raise ArgumentError(f"{self.title}: every is {every!r}.", expected="a whole number from 1")
        arrays = [numbers(self.title, array, x) for array, x in zip(self.inputs, arguments, strict=True)]
        batch, still = [len(each) for each in self.batches(arrays)], len(self.carried) + len(self.held)
        rows = self._rows([x.shape[axes] for x, axes in zip(arrays[still:], batch[still:], strict=True)], every)
        for number in range(still, len(arrays)):
            shape, axes = arrays[number].shape, batch[number]
            arrays[number] = arrays[number].reshape(*shape[:axes], rows, every, *shape[axes + 1 :])
        return arrays

    def batches(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """The batch of each array; all of them fit together, and all that is driven has one number of steps."""
        axes = [self._batch_axes(array, x) for array, x in zip(self.inputs, arrays, strict=True)]
        found = [x.shape[:count] for x, count in zip(arrays, axes, strict=True)]
        self._check_batches(found)
        still = len(self.carried) + len(self.held)
        self._rows([x.shape[count] for x, count in zip(arrays[still:], axes[still:], strict=True)], 1)
        return found

    def steps(self, seen: Sequence[np.ndarray]) -> int:
        """The number of steps of arguments that have been seen."""
        axis = seen[-1].ndim - len(self.driven[-1].shape) - 2
        return prod(seen[-1].shape[axis : axis + 2])

    def _batch_axes(self, array: Array, x: Any) -> int:
        """How many axes of an argument come before its own."""
        driven = array in self.driven
        found = x.ndim - len(array.shape) - driven
        if found < 0 or x.shape[found + driven :] != array.shape:
            own = f"a last {axes_text(array.shape)}" if array.shape else ""
            parts = [part for part in ("an axis of steps" * driven, own, "after any batch axes") if part]
            raise ArgumentError(f"{self.title}: argument {array.name} has shape {x.shape}.", expected=", ".join(parts))
        return found

    def _check_batches(self, shapes: Sequence[tuple[int, ...]]) -> None:
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            told = [f"{array.name} {shape}" for array, shape in zip(self.inputs, shapes, strict=True) if shape]
            raise ArgumentError(
                f"{self.title}: the batch axes of the arguments do not fit together: {', '.join(told)}.",
                expected="axes that broadcast, before all others",
            ) from None

    def _rows(self, counts: Sequence[int], every: int) -> int:
        """How often results are told; all driven arrays have the same number of steps."""
        if len(set(counts)) > 1:
            told = [f"{array.name} {count}" for array, count in zip(self.driven, counts, strict=True)]
            raise ArgumentError(
                f"{self.title}: the driven arguments have different numbers of steps: {', '.join(told)}.",
                expected="one value a step each",
            )
        if counts[0] % every:
            raise ArgumentError(
                f"{self.title}: {counts[0]} steps cannot be told every {every} steps.",
                expected="a number of steps that `every` divides",
            )
        return counts[0] // every


class Scan:
    """A step whose first inputs are its first results: `carried` of them, then `held` inputs, then those driven."""

    def __init__(self, step: Function, carried: int, held: int = 0):
        self.step, self.owner, self.__doc__ = step, step.owner, step.__doc__
        self.__name__ = step.name  # schedulers name their tasks by it
        split = carried, carried + held
        self.horizon = Horizon(
            step.title,
            *(step.inputs[: split[0]], step.inputs[split[0] : split[1]], step.inputs[split[1] :]),
        )
        _check(self.horizon, step.outputs)

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
        """The scan of what `body` computes: nested lists of scalars in, nested results by name out.

        `loops` and `subject` are those of `Function.of`.
        """
        kinds = [arrays(each) for each in (carried, held, driven)]

        def ordered(*scalars: Any) -> Mapping[str, Any]:
            found = dict(body(*scalars))
            if missing := [array.name for array in kinds[0] if array.name not in found]:
                raise TraceError(
                    f"the step of {title(name, owner)} does not say what becomes of {', '.join(missing)}.",
                    expected=f"results {', '.join(array.name for array in kinds[0])}, then what is noted",
                )
            return {array.name: found.pop(array.name) for array in kinds[0]} | found

        inputs = [array for each in kinds for array in each]
        step = Function.of(name, inputs, ordered, doc, owner, loops=loops, subject=subject)
        return cls(step, len(kinds[0]), len(kinds[1]))

    def __repr__(self) -> str:
        parts = {"carries": self.horizon.carried, "holds": self.horizon.held, "driven by": self.horizon.driven}
        told = "; ".join(f"{word} {', '.join(map(str, found))}" for word, found in parts.items() if found)
        return f"<Scan {self.name}: {told}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return Scan, (self.step, len(self.horizon.carried), len(self.horizon.held))

    @property
    def name(self) -> str:
        return self.step.name

    @property
    def title(self) -> str:
        """The name of the scan in messages."""
        return self.step.title

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Carried, held and driven arrays, as one step sees them."""
        return self.step.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Carried and noted arrays, as one step gives them."""
        return self.step.outputs

    @once
    def _loops(self) -> UfuncLoops:
        counts = len(self.horizon.carried), len(self.horizon.held)
        return UfuncLoops(self.step.fused, self.__doc__ or "", scan=counts, owner=self.owner)

    @once
    def _made(self) -> np.ufunc:
        return self._loops.ufunc()

    @once
    def ufunc(self) -> np.ufunc:
        """The scan as NumPy sees it, with driven arrays of rows of steps; made on first use."""
        self._loops.load(np.float64)
        return self._made

    @once
    def _cost(self) -> float:
        return sample_cost(self.step.fused)

    def compile(self, dtype: DTypeLike = np.float64) -> Scan:
        """Compile for float64 or float32 now and not at the first call; what was compiled before is found on disk."""
        self._loops.load(dtype)
        return self

    def to_c(
        self, name: str | None = None, *, start: Mapping[str, Any] | None = None, dtype: DTypeLike = np.float64
    ) -> CSource:
        """One step as C99 with the same bits; what it carries lies in a struct, and begins with `start` or zeros."""
        from appell.compile.c.source import c_scan

        return c_scan(self, name, start or {}, dtype)

    def loop(self, dtype: DTypeLike = np.float64) -> Code:
        """The machine code for batches, as the ufunc calls it."""
        return self._loops.load(dtype)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """A function of JAX arrays that tells every step; `native` as for functions."""
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
        """The results after every `every`-th step, (..., rows, *shape) each; a tuple if there are several."""
        seen = self.horizon.seen(self.horizon.arguments(arguments, named), every)
        kind = np.dtype(np.float32 if all(x.dtype == np.float32 for x in seen) else np.float64)
        self._loops.load(kind)
        options = {} if out is None else {"out": out}
        cost, lanes = self.horizon.steps(seen) * self._cost, host().register // kind.itemsize
        try:
            return spread(self._made, seen, options, threads, cost, lanes)
        except ArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise refusal(self.title, error, "`out` for all results") from error


def _check(horizon: Horizon, outputs: tuple[Array, ...]) -> None:
    """All that a step must be to be taken again and again."""
    if not horizon.carried:
        raise CompileError(f"{horizon.title} carries nothing from step to step.", expected="at least one array")
    if not horizon.driven:
        raise CompileError(
            f"{horizon.title} has no driven array, which tells the number of steps.", expected="a clock t, at least"
        )
    names = [array.name for array in horizon.inputs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CompileError(f"{horizon.title} has two arguments {twice[0]}.", expected="a name for each")
    if len(outputs) < len(horizon.carried):
        raise CompileError(
            f"{horizon.title} has {len(outputs)} results for {len(horizon.carried)} carried arrays.",
            expected="each of them after the step, in the same order, then what is noted",
        )
    for before, after in zip(horizon.carried, outputs, strict=False):
        if before.shape != after.shape:
            raise CompileError(
                f"{horizon.title} carries {before}, which is {after} after the step.", expected="one shape"
            )
