"""The cost of a branched robot: Shafei's table of inertia matrix and right side for n_b branches of n_m links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from appell.formulate.methods import INVERSE_DYNAMICS, MASS_MATRIX
from appell.lab.counts.general_arm import branched_robot
from appell.lab.counts.growth import products
from appell.lab.counts.measure import BIAS, INERTIA, as_written
from appell.lab.counts.polynomial import Polynomial, eventually_through, polynomial

BRANCHES = 4  # as in the paper's Figure 12
LINKS = range(2, 9)

# label -> bias, inertia matrix, and the published M and A of one branch, in n = n_m
PUBLISHED: dict[str, tuple[str, str, tuple[Polynomial, Polynomial]]] = {
    "Lagrange, 4x4": ("hollerbach", "hollerbach", (polynomial(504, 1296, 340), polynomial(350, 1055.5, 231.5))),
    "Gibbs-Appell, 3x3": ("gibbs-appell", "gibbs-appell", (polynomial(-162, 57, 186), polynomial(-215, 145, 148))),
    "Gibbs-Appell, 3x3 and 4x4": (
        "gibbs-appell-branches",
        "gibbs-appell-branches",
        (polynomial(297, 815.5, 253.5), polynomial(165, 643, 146)),
    ),
}


@dataclass(frozen=True)
class Line:
    """One formulation: polynomials of M and A in n_m for `BRANCHES` branches, and counts at any size."""

    label: str
    published: tuple[Polynomial, Polynomial]
    ours: tuple[Polynomial, Polynomial]
    at: Callable[[int, int], tuple[int, int]]

    def printed(self, branches: int, links: int) -> tuple[float, float]:
        mul, add = (float(p(links)) * branches / BRANCHES for p in self.published)
        return mul, add


@cache
def branch_growth() -> tuple[Line, ...]:
    lines = []
    for label, (inverse, inertia, published) in PUBLISHED.items():
        at = _counter(inverse, inertia)
        counts = {n: at(BRANCHES, n) for n in LINKS}
        mul, add = (eventually_through({n: count[k] for n, count in counts.items()})[0] for k in (0, 1))
        lines.append(Line(label, _times_branches(published), (mul, add), at))
    return tuple(lines)


def _counter(inverse: str, inertia: str) -> Callable[[int, int], tuple[int, int]]:
    @cache
    def at(branches: int, links: int) -> tuple[int, int]:
        robot = branched_robot(branches, links)
        total = as_written(robot, INVERSE_DYNAMICS[inverse], BIAS) + as_written(robot, MASS_MATRIX[inertia], INERTIA)
        return products(total), total.add

    return at


def _times_branches(published: tuple[Polynomial, Polynomial]) -> tuple[Polynomial, Polynomial]:
    mul, add = (polynomial(*(BRANCHES * c for c in p.coefficients)) for p in published)
    return mul, add
