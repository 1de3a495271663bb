"""Other readings of a formula: what a `Function` gives besides numbers.

Its tape can be differentiated, cut to columns, packed. What was derived once is kept by the function that it was
derived from, and goes with it: an optimiser that asks for the same derivative in every step waits for the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from typing import Any, Self, TypeVar, cast

import numpy as np

from appell.compile.arguments import title
from appell.compile.content import content
from appell.compile.contracted import along, weighted
from appell.compile.count import OpCount
from appell.compile.differentiate import jacobian
from appell.compile.formula import Formula, count, fused, length, unrolled
from appell.compile.graph import Graph
from appell.compile.kept import Kept, kept
from appell.compile.native.making import MAKING, once
from appell.compile.ops import Op
from appell.compile.passes.pipeline import TRACED, run
from appell.compile.seed import seed
from appell.compile.tape import Array, Tape
from appell.errors import ArgumentError, unknown_name

Rule = Callable[[tuple[str, ...]], Any]  # names of arguments -> the Function of the derivatives by them, or None
SHORT = 100_000  # nodes times directions: a tape that is differentiated in a moment, and not looked for on disk
Derive = TypeVar("Derive", bound=Callable[..., Any])


def kept_by_its_function(derive: Derive) -> Derive:
    """A method that derives a function by the names of arguments, once for the same names."""

    @wraps(derive)
    def derived(self: Readings, *wrt: str) -> Any:
        with MAKING:
            if (derive.__name__, wrt) not in self._derived:
                self._derived[derive.__name__, wrt] = derive(self, *wrt)
            return self._derived[derive.__name__, wrt]

    return cast(Derive, derived)


class Readings:
    """The part of a `Function` that reads its formula."""

    def __init__(self, formula: Formula, doc: str, owner: str, tangents: Mapping[str, Tape], rule: Rule | None = None):
        self.formula = formula
        self.rule = rule
        self.owner = owner  # whose function it is, for messages: "robot 'puma'"
        self.tangents = dict(tangents)
        self.__doc__ = doc
        self._derived: dict[tuple[str, tuple[str, ...]], Any] = {}

    @property
    def name(self) -> str:
        return self.formula.name

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.formula.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.formula.outputs

    @once
    def fused(self) -> Formula:
        """The formula that is run."""
        return self.formula.fused if isinstance(self.formula, Kept) else fused(self.formula)

    @once
    def tape(self) -> Tape:
        """What it does, operation by operation."""
        return unrolled(self.formula.whole if isinstance(self.formula, Kept) else self.formula)

    def count(self) -> OpCount:
        """The operations of one evaluation."""
        return count(self.formula)

    @kept_by_its_function
    def jacobian(self, *wrt: str) -> Self:
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
        own = type(self)(tape, f"Derivative of {self.name} by {', '.join(wrt)}.", self.owner, self.tangents)
        return own if known is None or length(own.fused) <= length(known.fused) else known

    def gradient(self, wrt: str) -> Self:
        """The derivative of a function with one scalar result."""
        if len(self.tape.results) != 1:
            raise ArgumentError(
                f"{self._title} has {len(self.tape.results)} results and so no gradient.", hint="jacobian"
            )
        return self.jacobian(wrt)

    @kept_by_its_function
    def pullback(self, *wrt: str) -> Self:
        """The gradient by arguments of Σ G · result; G, of the shape of the result, is one more argument, the last."""
        self._only_result("pullback")
        total = weighted(self.tape, f"{self.name}_pullback")
        return type(self)(total, f"Σ G · {self.name}.", self.owner, self.tangents).jacobian(*wrt)

    @kept_by_its_function
    def directional(self, *wrt: str) -> Self:
        """The change of the results, J d, as arguments move along directions; `dq` of q and so on come last.

        For an argument that is no vector space a direction has the size of its velocity.
        """
        seeds = self._seeds("directional", wrt)
        shapes = {array.name: array.shape for array in self.inputs}
        shapes |= {name: (tape.outputs[0].shape[1],) for name, tape in self.tangents.items()}
        directions = [Array(f"d{name}", shapes[name]) for name in wrt]
        tape = along(self.tape, f"{self.name}_along_{'_'.join(wrt)}", seeds, directions)
        return type(self)(tape, f"Change of {self.name} along {', '.join(wrt)}.", self.owner, self.tangents)

    @kept_by_its_function
    def hessian(self, *wrt: str) -> Self:
        """Second derivatives of Σ G · result by all pairs of arguments; G, of the shape of the result, comes last.

        `d2tau_dq_dv` is the change, along v, of the gradient by q. Where the directions of an argument do not commute,
        as those of a quaternion, `d2tau_dq_dq` is not symmetric.
        """
        result = self._only_result("hessian")
        tape = self.pullback(*wrt).jacobian(*wrt).tape
        names = [f"d2{result.name}_d{first}_d{second}" for second in wrt for first in wrt]
        outputs = tuple(Array(name, array.shape) for name, array in zip(names, tape.outputs, strict=True))
        named = replace(tape, name=f"{self.name}_d2_{'_'.join(wrt)}", outputs=outputs)
        return type(self)(named, f"Second derivatives of Σ G · {self.name}.", self.owner, self.tangents)

    def columns(self, indices: Sequence[int]) -> Self:
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
        return type(self)(tape, self.__doc__ or "", self.owner, self.tangents)

    @cached_property
    def structural_zeros(self) -> np.ndarray:
        """Which entries of the result are zero whatever the arguments are."""
        result = self._only_result("structural_zeros")
        return np.array([self.tape.nodes[k] == (Op.CONST, 0.0) for k in self.tape.results]).reshape(result.shape)

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
