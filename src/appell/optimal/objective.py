"""Scalar functions of users, traced, with gradients and Hessians in the unknowns of a knot.

A cost that contains sums of squares has the Hessian of Gauss and Newton for them and an exact one for the rest:

    c(x) = Σⱼ wⱼ |rⱼ(x)|² + f(x)             H = Σⱼ 2 wⱼ (∂rⱼ/∂x)ᵀ ∂rⱼ/∂x + ∂²f/∂x²                               (1)

`square` marks the sums. A cost is traced twice: once to record the residuals r, once with a new input in place of each
sum, which gives f and the weights w. Sums whose weight depends on x, or that enter nonlinearly, are part of f.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar, dot, is_number
from appell.compile.function import Function
from appell.compile.tape.dependence import result_arguments
from appell.compile.tape.tape import Tape
from appell.compile.tape.trace import Traced, flatten

Rows = list[list[Scalar]]


def square(values: Any) -> Scalar:
    """Return the sum of the squares of a scalar or of all entries of an array.

    In a cost of `ap.optimize` it marks residuals: its Hessian is then the product of their Jacobians (Gauss-Newton),
    which is cheaper than the exact one and never negative.

    Parameters
    ----------
    values : scalar, array_like or sequence of traced scalars

    Examples
    --------
    >>> import appell as ap
    >>> ap.square([3.0, 4.0])
    25.0
    """
    entries = flatten(values)[0]
    traced = next((x for x in entries if isinstance(x, Traced)), None)
    if traced is None or traced.graph.squares is None:
        total = dot(entries, entries)
        return float(total) if is_number(total) else total
    return traced.graph.squares(entries)


@dataclass(frozen=True)
class KnotInputs:
    """Arguments of the functions of a knot by name, with their sizes; `wrt` are those that are unknowns, in order."""

    sizes: Mapping[str, Any]
    wrt: tuple[str, ...]
    tangents: Mapping[str, Tape]
    steps: int  # number of steps, into which an unknown duration is divided
    shifts: frozenset[int] = frozenset()  # directions of q along axes of a body that itself turns

    def columns(self, name: str) -> int:
        """Return the number of directions of a free parameter; the duration moves t and h in one direction."""
        return 1 if name == "time" else self.sizes[name]

    def function(
        self, name: str, owner: str, body: Callable[[dict[str, Any]], dict[str, Any]], **more: int
    ) -> Function:
        """Return a function of these arguments, and of further ones; `body` receives them by name."""
        sizes = dict(self.sizes) | more
        tangents = {key: tape for key, tape in self.tangents.items() if key in sizes}

        def on_names(*values):
            return body(dict(zip(sizes, values, strict=True)))

        return Function.of(name, sizes, on_names, owner=owner, tangents=tangents)

    def call(self, function: Function, given: Mapping[str, Any]) -> Any:
        """Return the results of a function on scalars by name."""
        return function(*(given[array.name] for array in function.inputs))

    def jacobian(self, function: Function, given: Mapping[str, Any], rows: int) -> Rows:
        """Return the derivatives of the only result, with `rows` entries, by all unknowns: one list per row."""
        parts = self.call(function.jacobian(*self.wrt), given)
        blocks = [np.asarray(part, object).reshape(rows, -1) for part in (parts if len(self.wrt) > 1 else [parts])]
        return np.concatenate(blocks, axis=1).tolist()


class Objective:
    """A scalar function of users: value, gradient and Hessian (1)."""

    def __init__(
        self, name: str, owner: str, inputs: KnotInputs, body: Callable[[dict[str, Any]], Scalar], exact: bool
    ):
        self.inputs, self._counts = inputs, list[int]()
        self.total = inputs.function(name, owner, lambda given: {"cost": body(given)})
        residuals: list[Scalar] = []

        def recorded(entries: list[Scalar]) -> Scalar:
            residuals.extend(entries)
            self._counts.append(len(entries))
            return dot(entries, entries)

        def with_residuals(given: dict[str, Any]) -> dict[str, Any]:
            _graph(given).squares = recorded
            body(given)
            return {"r": list(residuals)} if residuals else {"none": 0.0}

        residual = inputs.function(f"{name}_residuals", owner, with_residuals)
        self.outer = self.total
        self.residual: Function | None = None
        if not self._counts or exact:
            self._counts = []
            return

        def without_squares(given: dict[str, Any]) -> dict[str, Any]:
            sums = iter(given["squares"])
            _graph(given).squares = lambda entries: next(sums)
            return {"cost": body(given)}

        outer = inputs.function(f"{name}_outer", owner, without_squares, squares=len(self._counts))
        used = frozenset().union(*result_arguments(outer.jacobian("squares").tape))
        if used & {*inputs.wrt, "squares"}:
            self._counts = []
            return
        self.outer, self.residual = outer, residual

    def __call__(self, given: Mapping[str, Any]) -> Scalar:
        return self.inputs.call(self.total, given)

    def derivatives(self, given: Mapping[str, Any]) -> tuple[Scalar, list[Scalar], Rows]:
        """Return the value, the gradient and the Hessian (1) on scalars by name."""
        inputs, value = self.inputs, self(given)
        [gradient] = inputs.jacobian(self.total, given, 1)
        if self.residual is None:
            return value, gradient, self._outer_hessian(given)
        residuals = list(inputs.call(self.residual, given))
        ends = np.cumsum(self._counts).tolist()
        groups = [residuals[end - count : end] for end, count in zip(ends, self._counts, strict=True)]
        given = {**given, "squares": [dot(group, group) for group in groups]}
        weights = list(np.ravel(inputs.call(self.outer.jacobian("squares"), given)))
        H, J = self._outer_hessian(given), inputs.jacobian(self.residual, given, len(residuals))
        by_row = [weight for weight, count in zip(weights, self._counts, strict=True) for _ in range(count)]
        for weight, row in zip(by_row, J, strict=True):
            used = [k for k, x in enumerate(row) if not (is_number(x) and x == 0.0)]
            for i in used:
                scaled = (2.0 * weight) * row[i]
                for j in used:
                    if j <= i:
                        H[i][j] = H[j][i] = H[i][j] + scaled * row[j]
        return value, gradient, H

    def _outer_hessian(self, given: Mapping[str, Any]) -> Rows:
        return hessian(self.inputs, self.outer, given)


def hessian(inputs: KnotInputs, function: Function, given: Mapping[str, Any]) -> Rows:
    """Return the symmetric Hessian of Σ G · result by all unknowns on scalars by name; G is 1 unless it is given.

    Second derivatives along two directions of q depend on their order if one direction changes along the other. The
    moves of `Manifold.integrate` do not turn a shift, so a shift is the last derivative; for two turns it is the mean.
    """
    second = function.hessian(*inputs.wrt)
    parts = inputs.call(second, {"G": 1.0, **given})
    count = len(inputs.wrt)
    blocks = [np.atleast_2d(np.asarray(part, object)) for part in (parts if count > 1 else [parts])]
    columns = [np.concatenate([_matrix(x) for x in blocks[k * count : (k + 1) * count]], axis=0) for k in range(count)]
    H = np.concatenate(columns, axis=1)
    shifts = inputs.shifts

    def entry(i: int, j: int) -> Scalar:
        if (i in shifts) != (j in shifts):
            return H[j, i] if i in shifts else H[i, j]
        return _mean(H[i, j], H[j, i])

    return [[entry(i, j) for j in range(len(H))] for i in range(len(H))]


def _matrix(x: np.ndarray) -> np.ndarray:
    return x.reshape(x.shape[-2], x.shape[-1])


def _mean(x: Scalar, y: Scalar) -> Scalar:
    if x is y or (is_number(x) and is_number(y) and x == y):
        return x
    same = isinstance(x, Traced) and isinstance(y, Traced) and x.index == y.index
    return x if same else 0.5 * (x + y)


def _graph(given: Mapping[str, Any]) -> Any:
    return next(x.graph for value in given.values() for x in np.ravel(np.asarray(value, object))[:1])
