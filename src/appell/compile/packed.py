"""Results without their structural zeros: only the entries that can differ from zero, in one vector.

A regressor, the inertia matrix of a tree or a derivative has many entries that are zero for all arguments. A packed
function does not write them:

    Y = dyn.base_regressor.packed()
    values = Y(q, v, a)                      (..., entries)
    Y.pattern.rows, Y.pattern.columns        row and column of every entry, in row-major order
    Y.pattern.dense(values)                  the complete matrices
    scipy.sparse.coo_array((values, (Y.pattern.rows, Y.pattern.columns)), Y.pattern.shape)       one sparse matrix
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.compile.function import Function


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of the entries of one result: the shape of the complete result, and flat indices in row-major order."""

    shape: tuple[int, ...]
    entries: np.ndarray

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def rows(self) -> np.ndarray:
        """Row of every entry of a matrix."""
        return np.unravel_index(self.entries, self.shape)[0]

    @property
    def columns(self) -> np.ndarray:
        """Column of every entry of a matrix."""
        return np.unravel_index(self.entries, self.shape)[1]

    def dense(self, values) -> np.ndarray:
        """Return the complete results, zeros included, from packed values of shape (..., entries)."""
        values = np.asarray(values)
        if values.shape[-1:] != (len(self),):
            raise ArgumentError(
                f"packed values have shape {values.shape}.", expected=f"{len(self)} entries along the last axis"
            )
        flat = np.zeros((*values.shape[:-1], math.prod(self.shape)), values.dtype)
        flat[..., self.entries] = values
        return flat.reshape(*values.shape[:-1], *self.shape)


@dataclass(frozen=True, eq=False)
class Packed:
    """A function whose results are vectors of entries; called like the function it was packed from."""

    function: Function
    patterns: tuple[Pattern, ...]  # one per result

    def __call__(self, *arguments, **options) -> Any:
        return self.function(*arguments, **options)

    @property
    def pattern(self) -> Pattern:
        """Pattern of the only result."""
        if len(self.patterns) != 1:
            raise ArgumentError(
                f"'{self.function.name}' has {len(self.patterns)} results and as many patterns.",
                hint="Use patterns, which has one entry per result.",
            )
        return self.patterns[0]


def pack(function: Function) -> Packed:
    """Return the function without its structural zeros."""
    tape, patterns, outputs, results = function.tape, [], [], []
    graph = Graph()
    index = graph.splice(tape)
    start = 0
    for array in tape.outputs:
        nodes = tape.results[start : start + array.size]
        start += array.size
        used = [k for k, node in enumerate(nodes) if tape.nodes[node] != (Op.CONST, 0.0)]
        patterns.append(Pattern(array.shape, np.array(used, int)))
        outputs.append(Array(array.name, (len(used),)))
        results += [index[nodes[k]] for k in used]
    if empty := [array.name for array, pattern in zip(tape.outputs, patterns, strict=True) if not len(pattern)]:
        raise ArgumentError(
            f"result '{empty[0]}' of '{function.name}' is zero for all arguments.",
            expected="at least one entry that is not a structural zero",
        )
    packed: Tape = graph.tape(f"{function.name}_packed", function.inputs, tuple(outputs), results)
    doc = f"{function.name} without its structural zeros."
    return Packed(type(function)(packed, doc, function.owner, function.tangents), tuple(patterns))
