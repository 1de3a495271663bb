"""A march: a step taken again and again, with what it carries from one to the next.

    march = March.of("fall", {"q": 6, "v": 6}, {"p": 3}, {"t": (), "u": 6}, body)
    q, v, tau = march(q0, v0, p, t, u, every=10)

`body(q, v, p, t, u)` gives the carried arrays after the step, by their own names, and whatever else is to be noted. The
arrays of a call have batch axes before all others, which broadcast; `t` and `u` have an axis of steps after them, and
so have the results, with the values after steps every, 2 every, and so on.

    march.step        the Function of one step: its derivatives, its counts, itself in other languages

The numbers are those of calling `march.step` again and again, to the last bit, for any batch size. A sample with a
state that is not finite becomes NaN, and no other. A march pickles by content, as functions do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.arguments import sample_cost, title
from appell.compile.function import Function
from appell.compile.marching.horizon import Horizon
from appell.compile.native.cores import spread
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.machine import Code
from appell.compile.native.making import once
from appell.compile.native.target import host
from appell.compile.tape import Array, arrays
from appell.errors import ArgumentError, CompileError, TraceError

if TYPE_CHECKING:
    from appell.compile.export.c.source import CSource


class March:
    """A step whose first inputs are its first results: `carried` of them, then `held` inputs, then those driven."""

    def __init__(self, step: Function, carried: int, held: int = 0):
        self.step, self.owner, self.__doc__ = step, step.owner, step.__doc__
        self.__name__ = step.name  # schedulers name their tasks by it
        split = carried, carried + held
        self.horizon = Horizon(
            title(step.name, step.owner),
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
    ) -> March:
        """The march of what `body` computes: nested lists of scalars in, nested results by name out.

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
        return f"<March {self.name}: {told}{' of ' * bool(self.owner)}{self.owner}>"

    def __reduce__(self):
        return March, (self.step, len(self.horizon.carried), len(self.horizon.held))

    @property
    def name(self) -> str:
        return self.step.name

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
        return UfuncLoops(self.step.fused, self.__doc__ or "", march=counts, owner=self.owner)

    @once
    def _made(self) -> np.ufunc:
        return self._loops.ufunc()

    @once
    def ufunc(self) -> np.ufunc:
        """The march as NumPy sees it, with driven arrays of rows of steps; made on first use."""
        self._loops.load(np.float64)
        return self._made

    @once
    def _cost(self) -> float:
        return sample_cost(self.step.fused)

    def compile(self, dtype: DTypeLike = np.float64) -> March:
        """Compile for float64 or float32 now and not at the first call; what was compiled before is found on disk."""
        self._loops.load(dtype)
        return self

    def to_c(
        self, name: str | None = None, *, start: Mapping[str, Any] | None = None, dtype: DTypeLike = np.float64
    ) -> CSource:
        """One step as C99 with the same bits; what it carries lies in a struct, and begins with `start` or zeros."""
        from appell.compile.export.c.carried import march_code

        return march_code(self, name, start or {}, dtype)

    def loop(self, dtype: DTypeLike = np.float64) -> Code:
        """The machine code for batches, as the ufunc calls it."""
        return self._loops.load(dtype)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """A function of JAX arrays that tells every step; `native` as for functions."""
        from appell.compile.export.to_jax import jax_march

        return jax_march(self, native)

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
            raise ArgumentError(
                f"{self.horizon.title}: {str(error).rstrip('.')}.",
                expected="batch axes that broadcast, numbers of at most 64 bits, `out` for all results",
            ) from error


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
