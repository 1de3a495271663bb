"""Functions whose derivatives somebody else knows: formulas ask for them, and are handed what the compiler makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from appell.algebra.scalar import Scalar, Vector


class Differentiable(Protocol):
    """A nested list of scalars as a function of q, and its derivatives along a motion with q̇ = v, v̇ = a."""

    def value(self, q: Vector) -> Any: ...

    def rate(self, q: Vector, v: Vector) -> Any: ...

    def second_rate(self, q: Vector, v: Vector, a: Vector) -> Any: ...

    def partials(self, q: Vector) -> Any:
        """∂/∂q, one more axis at the end."""

    def partial_rates(self, q: Vector, v: Vector) -> Any:
        """d/dt ∂/∂q."""

    def pullback(self, q: Vector, weights: Any) -> list[Scalar]:
        """⟨∂ₖ value, weights⟩."""


Differentiate = Callable[[str, int, Callable[[Vector], Any]], Differentiable]  # name, size of q, function
