"""Rows of inequalities g ≤ 0 and equalities e = 0, from limits and from functions of users.

A function of users returns its rows by name: {"clearance": (0.05, distance(q), None)} are lower bound, value and upper
bound. A bound of None or ±inf does not exist; equal bounds are an equality. The value may be a vector, and bounds may
be traced scalars, such as an argument. In a terminal constraint a value without bounds is an equality with zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import Any, NamedTuple

import numpy as np

from appell.algebra.scalar import Scalar, is_number
from appell.compile.function import Function
from appell.compile.tape.dependence import result_arguments, result_constants
from appell.compile.tape.trace import flatten
from appell.errors import ArgumentError, TraceError
from appell.optimal.objective import KnotInputs, Rows, hessian
from appell.simulation.rollouts.tracing import scalar_of

EXPECTED = "a dict from names to (lower, value, upper); a bound may be None"


class ConstraintRow(NamedTuple):
    """One row: `unknown` is the index of the unknown that it bounds, with this sign, or None if it is a function."""

    name: str
    unknown: int | None
    sign: float
    state_only: bool


class Bounded(NamedTuple):
    """A named value between bounds, each a scalar or None; `curved`: exact Hessians have its second derivatives."""

    name: str
    lower: Scalar | None
    value: Scalar
    upper: Scalar | None
    curved: bool = True


def bounded_rows(given: Any, what: str, terminal: bool = False) -> list[Bounded]:
    """Return the rows that a function of users returned; raise an error that names the row that is wrong."""
    if not isinstance(given, Mapping):
        raise TraceError(f"{what} returned {given!r}.", expected=EXPECTED)
    rows = []
    for name, entry in given.items():
        label = f"row '{name}' of {what}"
        if not isinstance(name, str):
            raise TraceError(f"{what} returned a row named {name!r}.", expected="names that are strings")
        if isinstance(entry, tuple) and len(entry) == 3:
            lower, value, upper = entry
        elif terminal and not isinstance(entry, tuple):
            lower, value, upper = 0.0, entry, 0.0
        else:
            raise TraceError(f"{label} is {entry!r}.", expected="(lower, value, upper)")
        values, shape = flatten(value)
        columns = [_spread(bound, len(values), shape, label) for bound in (lower, upper)]
        for k, (low, x, high) in enumerate(zip(columns[0], values, columns[1], strict=True)):
            full = f"{name}[{k}]" if shape else name
            if is_number(low) and is_number(high) and not low <= high:
                raise ArgumentError(
                    f"row '{full}' of {what} has the lower bound {low:g} above its upper bound {high:g}.",
                    expected="(lower, value, upper) with lower <= upper",
                )
            if low is None and high is None:
                raise ArgumentError(f"row '{full}' of {what} has no bound.", expected="a lower or an upper bound")
            rows.append(Bounded(full, low, scalar_of(x, label), high))
    return rows


def _spread(bound: Any, count: int, shape: tuple[int, ...], label: str) -> list[Any]:
    if bound is None:
        return [None] * count
    entries, bound_shape = flatten(bound)
    if bound_shape not in ((), shape):
        raise ArgumentError(f"a bound of {label} has shape {bound_shape}.", expected=f"one number, or shape {shape}")
    checked = [scalar_of(x, f"a bound of {label}") for x in (entries if bound_shape else entries * count)]
    if any(is_number(x) and x != x for x in checked):
        raise ArgumentError(f"a bound of {label} is NaN.", expected="a number, or None")
    return [None if is_number(x) and isinf(x) else x for x in checked]


class Constraints:
    """Values and derivatives of rows g ≤ 0 and e = 0 as functions of the unknowns of a knot."""

    def __init__(self, name: str, owner: str, inputs: KnotInputs, body: Callable[[dict[str, Any]], Sequence[Bounded]]):
        self.inputs, self._names = inputs, (list[str](), list[str]())
        self._sources: tuple[list[str], list[str]] = ([], [])  # name of the `Bounded` of each row
        self._curved: tuple[list[int], list[int]] = ([], [])  # rows with second derivatives

        def rows(given: dict[str, Any]) -> dict[str, Any]:
            names, sources = (list[str](), list[str]()), (list[str](), list[str]())
            values, used, curved = (list[Scalar](), list[Scalar]()), set[str](), (list[int](), list[int]())
            for row in body(given):
                if row.name in used:
                    raise ArgumentError(f"the name '{row.name}' is used for two rows.", expected="each name once")
                used.add(row.name)
                if is_number(row.lower) and is_number(row.upper) and row.lower == row.upper:
                    parts = [(1, row.name, row.value - row.lower)]
                else:
                    parts = [] if row.upper is None else [(0, f"{row.name} above its limit", row.value - row.upper)]
                    parts += [] if row.lower is None else [(0, f"{row.name} below its limit", row.lower - row.value)]
                for kind, label, value in parts:
                    names[kind].append(label)
                    sources[kind].append(row.name)
                    curved[kind].extend([len(values[kind])] if row.curved else [])
                    values[kind].append(value)
            self._names, self._sources, self._curved = names, sources, curved
            return {key: value for key, value in zip("ge", values, strict=True) if value} or {"none": 0.0}

        def part(key: str) -> Function | None:
            return inputs.function(f"{name}_{key}", owner, lambda given: {key: rows(given)[key]})

        inputs.function(name, owner, rows)  # sets the names
        self.g, self.e = (part(key) if names else None for key, names in zip("ge", self._names, strict=True))

        def curved_part(key: str, kind: int, function: Function | None) -> Function | None:
            kept = self._curved[kind]
            if function is None or len(kept) == len(self._names[kind]):
                return function
            picked = lambda given: {key: [rows(given)[key][k] for k in kept]}  # noqa: E731
            return inputs.function(f"{name}_{key}_curved", owner, picked) if kept else None

        self._second = curved_part("g", 0, self.g), curved_part("e", 1, self.e)
        self.inequalities, self.equalities = (self._rows(k, function) for k, function in enumerate((self.g, self.e)))
        state = [row.state_only for row in (*self.inequalities, *self.equalities)]
        sources = [*self._sources[0], *self._sources[1]]
        self.of_state = {source for source, only in zip(sources, state, strict=True) if only}  # names of `Bounded`

    def _rows(self, kind: int, function: Any) -> tuple[ConstraintRow, ...]:
        if function is None:
            return ()
        names = self._names[kind]
        slopes = function.jacobian(*self.inputs.wrt).tape
        constants, blocks = np.array(result_constants(slopes), object), []
        for array in slopes.outputs:
            block, constants = np.split(constants, [array.size])
            blocks.append(block.reshape(len(names), -1))
        rows = []
        arguments = result_arguments(function.tape)
        for name, row, used in zip(names, np.concatenate(blocks, axis=1), arguments, strict=True):
            filled = [(k, x) for k, x in enumerate(row) if x != 0.0]
            unknown, sign = filled[0] if len(filled) == 1 and filled[0][1] in (1.0, -1.0) else (None, 0.0)
            rows.append(ConstraintRow(name, unknown, sign, not {"u", "force"} & used))
        return tuple(rows)

    def __call__(self, given: Mapping[str, Any]) -> tuple[list[Scalar], list[Scalar]]:
        """Return g and e on scalars by name."""
        g, e = ([] if f is None else list(self.inputs.call(f, given)) for f in (self.g, self.e))
        return g, e

    def jacobians(self, given: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """Return the derivatives of g and e by all unknowns on scalars by name."""
        pairs = ((self.g, self.inequalities), (self.e, self.equalities))
        g, e = ([] if f is None else self.inputs.jacobian(f, given, len(rows)) for f, rows in pairs)
        return g, e

    def hessian(self, given: Mapping[str, Any], weights: Sequence[Sequence[Scalar] | None]) -> list[Rows]:
        """Return the Hessians of weights·g and weights·e over curved rows, for weights that are given."""
        parts = zip(self._second, weights, self._curved, strict=True)
        return [
            hessian(self.inputs, f, {**given, "G": [w[k] for k in kept]})
            for f, w, kept in parts
            if f is not None and w is not None
        ]
