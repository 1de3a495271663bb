"""Derivatives of a function of q along a motion, for equations of motion in closed form.

    value(q)                   x(q), nested as the function returns it
    rate(q, v)                 ẋ       with q̇ = v
    second_rate(q, v, a)       ẍ       with v̇ = a
    partials(q)                ∂x/∂q   with one more axis, the last
    partial_rates(q, v)        d/dt ∂x/∂q
    pullback(q, weights)       ⟨∂x/∂qₖ, weights⟩ for every k: the generalised forces of forces on x

Called with traced scalars, each of them adds its operations to their trace; called with numbers, it returns numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from appell.algebra.scalar import Scalar
from appell.compile.tape.differentiate import forward, jacobian, reverse, seed, weighted
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import inline, trace


class Taylor:
    """The derivatives of `function`, which maps a list of `nq` scalars to a nested list of scalars."""

    def __init__(self, name: str, nq: int, function: Callable[[Sequence[Scalar]], Any]):
        self._q, v, a = (Array(symbol, (nq,)) for symbol in "qva")
        self._value = trace(name, [self._q], lambda q: {name: function(q)})
        self.shape = self._value.outputs[0].shape
        self._motion = [self._q, v, a]
        self._along = trace("along", self._motion, lambda q, v, a: {"seed": [[x] for x in [*v, *a, *[0.0] * nq]]})

    def value(self, q):
        """Return x(q)."""
        return inline(self._value, q)[0]

    def rate(self, q, v):
        """Return ẋ for q̇ = v."""
        return inline(self._rate, q, v, [0.0] * len(v))[0]

    def second_rate(self, q, v, a):
        """Return ẍ for q̇ = v and v̇ = a."""
        return inline(self._second_rate, q, v, a)[0]

    def partials(self, q):
        """Return ∂x/∂q; the coordinates are the last axis."""
        return inline(self._partials, q)[0]

    def partial_rates(self, q, v):
        """Return the time derivative of ∂x/∂q for q̇ = v."""
        return inline(self._partial_rates, q, v, [0.0] * len(v))[0]

    def pullback(self, q, weights):
        """Return ⟨∂x/∂qₖ, weights⟩ for every coordinate."""
        return inline(self._pullback, q, weights)[0]

    # ---- tapes, each made on first use

    @cached_property
    def _rate(self) -> Tape:
        return self._d_dt("rate", self._value)

    @cached_property
    def _second_rate(self) -> Tape:
        return forward(self._rate, "second_rate", [self._along], [Array("second_rate", self.shape)])

    @cached_property
    def _partials(self) -> Tape:
        return jacobian(self._value, "partials", [seed([self._q], "q")], ["q"])

    @cached_property
    def _partial_rates(self) -> Tape:
        return self._d_dt("partial_rates", self._partials)

    @cached_property
    def _pullback(self) -> Tape:
        """Tape of the pullback, by one reverse sweep."""
        total = weighted(self._value, "weighted", [Array("weights", self.shape)])
        return reverse(total, "pullback", [seed(total.inputs, "q")], [Array("pullback", self._q.shape)])

    def _d_dt(self, name: str, tape: Tape) -> Tape:
        """Return the tape of the time derivative of a tape of q along a motion."""
        moving = trace(tape.name, self._motion, lambda q, v, a: {tape.name: inline(tape, q)[0]})
        return forward(moving, name, [self._along], [Array(name, tape.outputs[0].shape)])
