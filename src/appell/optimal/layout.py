"""Nested results of a traced computation as one row of a table, without the entries that are constant.

A part of the iteration returns nested lists: Jacobians, Hessians, rows. Most of their entries are numbers, such as the
zeros of a Jacobian. Only traced entries are stored; `nested` puts the numbers back where they were, so that the next
computation folds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from appell.algebra.scalar import Scalar, Vector, is_number
from appell.compile.function import Function


@dataclass(frozen=True)
class _Slot:
    """Position of a traced entry in the row."""

    index: int


def _packed(value: Any, row: list[Scalar], *, dense: bool) -> Any:
    if isinstance(value, list | tuple):
        return [_packed(entry, row, dense=dense) for entry in value]
    if is_number(value) and not dense:
        return float(value)
    row.append(value)
    return _Slot(len(row) - 1)


def _filled(structure: Any, row: Vector) -> Any:
    if isinstance(structure, list):
        return [_filled(entry, row) for entry in structure]
    return row[structure.index] if isinstance(structure, _Slot) else structure


class TracedPart:
    """A computation whose nested results are stored in rows, one row per result.

    Parameters
    ----------
    name : str
        Name of the computation.
    inputs : mapping of str to int
        Sizes of its arguments; an argument of size 0 is passed as an empty list.
    body : callable
        Receives lists of traced scalars and returns a tuple of nested lists.
    dense : collection of int
        Results whose rows contain the entries that are constant as well.
    """

    def __init__(
        self, name: str, inputs: Mapping[str, int], body: Callable[..., tuple[Any, ...]], dense: Collection[int] = ()
    ):
        self.sizes = list(inputs.values())
        structures: list[Any] = []

        def traced(*given: Any) -> dict[str, Any]:
            arguments = iter(given)
            results = body(*([*next(arguments)] if size else [] for size in self.sizes))
            rows: list[list[Scalar]] = [[] for _ in results]
            pairs = enumerate(zip(results, rows, strict=True))
            structures[:] = [_packed(result, row, dense=k in dense) for k, (result, row) in pairs]
            self.widths = [len(row) for row in rows]
            return {"row": [scalar for row in rows for scalar in row] or [0.0]}

        shapes = {key: size for key, size in inputs.items() if size}
        self.function = Function.of(name, shapes, traced)
        self.structures = structures

    def rows(self, *arguments: Vector) -> list[list[Scalar]]:
        """Return the rows of all results."""
        given = [list(x) for x, size in zip(arguments, self.sizes, strict=True) if size]
        flat = list(self.function(*given))
        starts = [sum(self.widths[:k]) for k in range(len(self.widths) + 1)]
        return [flat[first:last] for first, last in pairwise(starts)]

    def nested(self, result: int, row: Vector) -> Any:
        """Return one result as it was returned by the body, from its row."""
        return _filled(self.structures[result], row)
