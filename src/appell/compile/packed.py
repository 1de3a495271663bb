"""Results without their structural zeros: the entries that can be other than zero, one after the other.

A regressor, the inertia matrix of a tree or a derivative has many entries that are zero whatever the arguments are. A
packed function writes none of them:

    Y = dyn.base_regressor.packed()
    values = Y(q, v, a)                      (..., entries)
    Y.pattern.rows, Y.pattern.columns        where they stand, row by row
    Y.pattern.dense(values)                  the whole matrices again
    scipy.sparse.coo_array((values, (Y.pattern.rows, Y.pattern.columns)), Y.pattern.shape)       one of them, sparse
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
    """Where the entries of one result stand: the shape of the whole, and numbers into it, row by row."""

    shape: tuple[int, ...]
    entries: np.ndarray

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def rows(self) -> np.ndarray:
        """The row of every entry of a matrix."""
        return np.unravel_index(self.entries, self.shape)[0]

    @property
    def columns(self) -> np.ndarray:
        """The column of every entry of a matrix."""
        return np.unravel_index(self.entries, self.shape)[1]

    def dense(self, values) -> np.ndarray:
        """The whole results, with their zeros, from packed ones of any batch."""
        values = np.asarray(values)
        if values.shape[-1:] != (len(self),):
            raise ArgumentError(
                f"packed values have shape {values.shape}.", expected=f"{len(self)} entries along the last axis"
            )
        whole = np.zeros((*values.shape[:-1], math.prod(self.shape)), values.dtype)
        whole[..., self.entries] = values
        return whole.reshape(*values.shape[:-1], *self.shape)


@dataclass(frozen=True, eq=False)
class Packed:
    """A function whose every result is one vector of entries; called like the function it was packed from."""

    function: Function
    patterns: tuple[Pattern, ...]  # of each result

    def __call__(self, *arguments, **options) -> Any:
        return self.function(*arguments, **options)

    @property
    def pattern(self) -> Pattern:
        """Of the only result."""
        if len(self.patterns) != 1:
            raise ArgumentError(f"'{self.function.name}' has {len(self.patterns)} results.", hint="patterns")
        return self.patterns[0]


def pack(function: Function) -> Packed:
    """The function without its structural zeros."""
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
        raise ArgumentError(f"result '{empty[0]}' of '{function.name}' is zero everywhere: nothing is left to pack.")
    packed: Tape = graph.tape(f"{function.name}_packed", function.inputs, tuple(outputs), results)
    doc = f"{function.name} without its structural zeros."
    return Packed(type(function)(packed, doc, function.owner, function.tangents), tuple(patterns))
