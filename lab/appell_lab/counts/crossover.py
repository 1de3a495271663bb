"""The number of joints from which O(n) articulated-body methods need fewer operations than O(n³) inertia matrices."""

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
MAX_JOINTS = 60  # up to which a crossover is searched for


@dataclass(frozen=True)
class Crossover:
    """The operation counts of all methods as functions of the number of joints."""

    growths: dict[str, Growth]

    def operations(self, name: str, n: int) -> float:
        """Return M + A for n joints."""
        growth = self.growths[name]
        return float(growth.mul(n) + growth.add(n))

    def first(self, linear: str, cubic: str) -> int | None:
        """Return the number of joints from which the linear method always needs fewer operations, if there is one."""
        start = max(self.growths[name].valid_from for name in (linear, cubic))
        costlier = [n for n in range(start, MAX_JOINTS) if self.operations(linear, n) >= self.operations(cubic, n)]
        first = max(costlier, default=start - 1) + 1
        return first if first < MAX_JOINTS else None


def crossover(mode: Mode) -> Crossover:
    """Return the counts of all methods, as written or simplified."""
    return Crossover({name: growth(mode, method, FORWARD) for name, method in (LINEAR | CUBIC).items()})
