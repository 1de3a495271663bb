"""From how many joints on articulated bodies, O(n), beat methods with an inertia matrix, O(n³): by counts, by time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.tape.count import OpCount
from appell.formulate.formulations import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, Method, forward_method
from appell.model.robot import Robot
from appell_lab.counts.growth import Growth, growth
from appell_lab.counts.measure import FORWARD, Counted

Mode = Callable[[Robot, Method, Counted], OpCount]
LINEAR = {
    "ABA, link coordinates": FORWARD_DYNAMICS["articulated-body"],
    "ABA, base coordinates": FORWARD_DYNAMICS["articulated-body-base"],
}
CUBIC = {
    "CRBA, Walker-Orin": forward_method("cholesky", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["walker-orin"]),
    "CRBA, Featherstone": forward_method("ldl", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["composite-bodies"]),
    "NOC": forward_method("cholesky", INVERSE_DYNAMICS["kane"], MASS_MATRIX["orthogonal-complement"]),
    "Gibbs-Appell": forward_method("cholesky", INVERSE_DYNAMICS["gibbs-appell"], MASS_MATRIX["hessian-loops"]),
}
MOST = 60  # joints beyond which no crossover is looked for


@dataclass(frozen=True)
class Crossover:
    """The operations of all methods over the number of joints."""

    growths: dict[str, Growth]

    def operations(self, name: str, n: int) -> float:
        """M + A for n joints, from the polynomials that hold for all n."""
        found = self.growths[name]
        return float(found.mul(n) + found.add(n))

    def first(self, linear: str, cubic: str) -> int | None:
        """The number of joints from which on the linear method needs fewer operations, for good."""
        least = max(self.growths[name].valid_from for name in (linear, cubic))
        dearer = [n for n in range(least, MOST) if self.operations(linear, n) >= self.operations(cubic, n)]
        first = max(dearer, default=least - 1) + 1
        return first if first < MOST else None


def crossover(mode: Mode) -> Crossover:
    """All methods, counted as written or simplified."""
    return Crossover({name: growth(mode, method, FORWARD) for name, method in (LINEAR | CUBIC).items()})
