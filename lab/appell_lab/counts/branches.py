"""Operation counts of a branched robot: Shafei's table of inertia matrix and right side for n_b branches of n_m links.

Each method is counted as written, without structural zeros and ones. The Appendix computes both results from the same
steps 1 and 2, which are counted once; the other methods are two separate algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from appell.compile.tape.count import OpCount
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX, Method
from appell.formulate.shafei import assembled_matrix, assembled_vector, branch_equations
from appell.model.robot import Robot
from appell_lab.counts.general_arm import branched_robot
from appell_lab.counts.growth import products
from appell_lab.counts.measure import BIAS, INERTIA, Counted, as_written
from appell_lab.counts.polynomial import Polynomial, eventually_through, polynomial

BRANCHES = 4  # as in the paper's Figure 12
LINKS = range(2, 10)
Operations = tuple[Polynomial, Polynomial]


def _both(tree, q, v):
    """Return the inertia matrix and the right side of the Appendix."""
    parts = branch_equations(tree, q, v)
    return [*assembled_matrix(tree, parts), assembled_vector(tree, parts)]


_APPENDIX = Method("appendix", "Shafei, Shafei 2018, Appendix", _both)
_EQUATIONS = Counted("equations of motion", ("q", "v"), lambda method, tree, q, v: method(tree, q, v))


def _one_by_one(name: str) -> Callable[[Robot], OpCount]:
    return lambda robot: as_written(robot, INVERSE_DYNAMICS[name], BIAS) + as_written(robot, MASS_MATRIX[name], INERTIA)


# label -> (function that counts the operations, published M and A of one branch as polynomials in n = n_m)
ROWS: dict[str, tuple[Callable[[Robot], OpCount], Operations | None]] = {
    "Lagrange, 4x4": (_one_by_one("hollerbach"), (polynomial(504, 1296, 340), polynomial(350, 1055.5, 231.5))),
    "Gibbs-Appell, 3x3": (_one_by_one("gibbs-appell"), (polynomial(-162, 57, 186), polynomial(-215, 145, 148))),
    "Appendix, 3x3 and 4x4": (
        lambda robot: as_written(robot, _APPENDIX, _EQUATIONS),
        (polynomial(297, 815.5, 253.5), polynomial(165, 643, 146)),
    ),
    "one pass, 3x3 and 4x4": (_one_by_one("gibbs-appell-4x4"), None),
}


@dataclass(frozen=True)
class Line:
    """One formulation: M and A as polynomials in n_m for `BRANCHES` branches, and counts for any size."""

    label: str
    published: Operations | None
    ours: Operations
    at: Callable[[int, int], tuple[int, int]]

    def printed(self, branches: int, links: int) -> tuple[float, float]:
        """Return the published M and A."""
        assert self.published is not None
        mul, add = (float(p(links)) * branches / BRANCHES for p in self.published)
        return mul, add


@cache
def branch_growth() -> tuple[Line, ...]:
    """Return the counts of all formulations."""
    lines = []
    for label, (counted, published) in ROWS.items():
        at = counter(counted)
        counts = {n: at(BRANCHES, n) for n in LINKS}
        mul, add = (eventually_through({n: count[k] for n, count in counts.items()})[0] for k in (0, 1))
        lines.append(Line(label, published and times(BRANCHES, published), (mul, add), at))
    return tuple(lines)


def counter(counted: Callable[[Robot], OpCount]) -> Callable[[int, int], tuple[int, int]]:
    """Return the function (branches, links) -> (M, A)."""

    @cache
    def at(branches: int, links: int) -> tuple[int, int]:
        total = counted(branched_robot(branches, links))
        return products(total), total.add

    return at


def times(factor: int, operations: Operations) -> Operations:
    """Return M and A multiplied by a factor."""
    mul, add = (polynomial(*(factor * c for c in p.coefficients)) for p in operations)
    return mul, add
