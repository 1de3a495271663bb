"""Tapes inside a trace: call a tape on traced scalars, and take the derivatives that equations of motion need.

Everything ends in one tape, where equal expressions meet. A quotient x / y is written x · (1 / y): a derivative divides
by the same denominator again and again, and so does it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from appell.algebra.scalar import Scalar
from appell.compile.build import Builder
from appell.compile.differentiate import forward, jacobian, reverse
from appell.compile.ops import Op
from appell.compile.tape import Array, Tape
from appell.compile.trace import Traced, flatten, nest, trace


def call(tape: Tape, *arguments) -> list[Any]:
    """The results of a tape on nested scalars, each nested as its shape; at least one scalar must be traced."""
    scalars = [scalar for argument in arguments for scalar in flatten(argument)[0]]
    builder = next(scalar.builder for scalar in scalars if isinstance(scalar, Traced))
    inputs = [scalar.index if isinstance(scalar, Traced) else builder.const(scalar) for scalar in scalars]
    index: list[int] = []
    for node in tape.nodes:
        if node[0] == Op.INPUT:
            index.append(inputs[node[1]])
        elif node[0] == Op.DIV:
            index.append(_quotient(builder, *(index[k] for k in node[1:])))
        else:
            index.append(builder.copy(node, [] if node[0] == Op.CONST else [index[k] for k in node[1:]]))
    values = [_scalar(builder, index[k]) for k in tape.results]
    results, start = [], 0
    for array in tape.outputs:
        results.append(nest(values[start : start + array.size], array.shape))
        start += array.size
    return results


def _quotient(builder: Builder, x: int, y: int) -> int:
    return builder.mul(x, builder.div(builder.const(1.0), y))


def _scalar(builder: Builder, index: int) -> Scalar:
    value = builder.value(index)
    return Traced(builder, index) if value is None else value


class Taylor:
    """A function of q on a tape, with what follows from it along a motion q(t) with q̇ = v, v̇ = a.

    `function` maps a list of scalars to a nested list of scalars.
    """

    def __init__(self, name: str, nq: int, function: Callable[[Sequence[Scalar]], Any]):
        q, v, a = (Array(symbol, (nq,)) for symbol in "qva")
        self.value = trace(name, [q], lambda q: {name: function(q)})
        self.shape = self.value.outputs[0].shape
        along = trace("along", [q, v, a], lambda q, v, a: {"seed": [[x] for x in [*v, *a, *[0.0] * nq]]})
        still = trace(name, [q, v, a], lambda q, v, a: {name: call(self.value, q)[0]})
        self._along, self._still, self._q = along, still, q

    @cached_property
    def rate(self) -> Tape:
        """d/dt (q, v, a)."""
        return forward(self._still, "rate", [self._along], [Array("rate", self.shape)])

    @cached_property
    def second_rate(self) -> Tape:
        """d²/dt² (q, v, a)."""
        return forward(self.rate, "second_rate", [self._along], [Array("second_rate", self.shape)])

    @cached_property
    def partials(self) -> Tape:
        """∂/∂q (q), the shape of the value with one more axis."""
        return jacobian(self.value, "partials", [self._identity([self._q])], ["q"])

    @cached_property
    def partial_rates(self) -> Tape:
        """d/dt ∂/∂q (q, v, a)."""
        shape = self.partials.outputs[0].shape
        moving = trace("partials", self._still.inputs, lambda q, v, a: {"partials": call(self.partials, q)[0]})
        return forward(moving, "partial_rates", [self._along], [Array("partial_rates", shape)])

    @cached_property
    def pullback(self) -> Tape:
        """⟨∂ₖ value, weights⟩ (q, weights): what forces on the value mean for the coordinates, by one reverse sweep."""
        weights = Array("weights", self.shape)

        def weighted(q, weights):
            value, weight = flatten(call(self.value, q)[0])[0], flatten(weights)[0]
            return {"sum": sum((x * y for x, y in zip(value, weight, strict=True)), start=0.0)}

        tape = trace("weighted", [self._q, weights], weighted)
        return reverse(tape, "pullback", [self._identity([self._q, weights])], [Array("pullback", self._q.shape)])

    def _identity(self, inputs: Sequence[Array]) -> Tape:
        n = self._q.size
        rest = sum(array.size for array in inputs) - n
        unit = [[float(i == k) for k in range(n)] for i in range(n)] + [[0.0] * n] * rest
        return trace("identity", inputs, lambda *_: {"seed": unit})
