"""Operation counts that follow from what the papers print: loops with costs per step, and sums of printed parts.

A `Step` is an equation with its printed cost and the number of times that its printed loop executes it. The remaining
printed counts are quoted from other authors; `EXPLANATIONS` states for every printed count how it comes about, and why
the count of our tape differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from appell_lab.counts.polynomial import Polynomial, polynomial
from appell_lab.counts.published import MATA_1, MATA_2, MATA_3, MATA_4, PROVENZANO_1, VALERA_3, PublishedCount, Table
from appell_lab.counts.valera_steps import PUBLISHED, total

Cost = tuple[Polynomial, Polynomial]  # M and A


@dataclass(frozen=True)
class Step:
    """An equation, the number of its executions for n joints, and its printed cost."""

    equation: str
    executions: Callable[[int], int]
    mul: int
    add: int


def _pairs(n: int) -> int:
    """Return the number of pairs of joints."""
    return n * (n - 1) // 2


GAH_STEPS = (  # Provenzano, §3; Mata 2002, §4.2
    Step("(10)", _pairs, 8, 4),
    Step("(11)", lambda n: _pairs(n - 1), 0, 3),
    Step("(14)", lambda n: _pairs(n - 1), 8, 4),
    Step("(15)", lambda n: n - 1, 8, 4),
    Step("(16)", lambda n: n - 1, 0, 3),
    Step("(17)", lambda n: n - 2, 31, 40),
    Step("(18)", lambda n: 1, 13, 11),
    Step("(20)", _pairs, 7, 6),
)
INVERSE_STEPS = (  # Mata 2002, §4.1: costs per link
    *(Step(f"step 1, line {k}", lambda n: n, *cost) for k, cost in enumerate(
        ((8, 4), (0, 1), (10, 7), (6, 9), (17, 13), (9, 9)), start=1)),
    Step("step 2, line 1", lambda n: n, 3, 0),
    Step("step 2, line 2", lambda n: n, 15, 15),
    Step("step 3, line 1", lambda n: n - 1, 8, 7),
    Step("step 3, line 2", lambda n: n, 20, 19),
)  # fmt: skip


def operations(steps: tuple[Step, ...], n: int) -> tuple[int, int]:
    """Return M and A of all executions for n joints."""
    counts = [(step.executions(n), step) for step in steps]
    return sum(k * step.mul for k, step in counts), sum(k * step.add for k, step in counts)


_GAH: Cost = (polynomial(-49, 19.5, 11.5), polynomial(-69, 31.5, 8.5))  # of GAH_STEPS, which a test verifies
_INVERSE: Cost = (polynomial(-8, 96), polynomial(-7, 84))  # of INVERSE_STEPS
_BIAS: Cost = (polynomial(-8, 96), polynomial(-7, 83))
_CHOLESKY: Cost = (
    polynomial(0, Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)),  # n roots, n(n-1)/2 divisions, (n³-n)/6 products
    polynomial(0, Fraction(-1, 6), 0, Fraction(1, 6)),
)
_BACK: Cost = (polynomial(0, 1, 1), polynomial(0, -1, 1))  # two substitutions with divisions


def _sum_of_parts() -> Cost:
    mul, add = polynomial(), polynomial()
    for row in MATA_3.rows[:4]:
        mul, add = mul + row.mul, add + row.add
    return mul, add


QUOTED = "Quoted from {}; which products with 0 and 1 are left out is not printed. Ours leaves out all literal ones."
_CRBA = QUOTED.format("Walker and Orin 1982")
_NOC = QUOTED.format("Angeles and Ma 1988")
_LOOPS = "The printed loops with their printed costs. Ours counts every product with a structural zero as omitted."
_ABA: Cost = (polynomial(-267, 300), polynomial(-259, 279))


@dataclass(frozen=True)
class Explanation:
    """How a printed count comes about, and M and A that follow from print, if any."""

    text: str
    literal: Cost | None = None


EXPLANATIONS: dict[str, tuple[Explanation, ...]] = {  # title of the table -> its rows
    MATA_1.title: (
        Explanation("Counted by Hollerbach 1980 with full rotations, 9 M and 6 A; ours has planar ones, 8 M and 4 A."),
        Explanation(QUOTED.format("Angeles, Ma and Rojas 1989")),
        Explanation(QUOTED.format("Balafoutis and Patel 1991")),
        Explanation("The printed steps give 96n-8 and 84n-7; the constants omit zeros of the first links.", _INVERSE),
    ),
    MATA_2.title: (Explanation(_CRBA), Explanation(_NOC), Explanation(_LOOPS, _GAH)),
    MATA_3.title: (
        Explanation(_LOOPS, _GAH),
        Explanation("As for inverse dynamics with q̈ = 0, which saves one addition per link.", _BIAS),
        Explanation("M with roots and divisions. As many A are printed; the factorisation has n³/6 - n/6.", _CHOLESKY),
        Explanation("Two substitutions divide 2n times; the printed n² has n divisions.", _BACK),
        Explanation("The sum of the four printed parts.", _sum_of_parts()),
    ),
    MATA_4.title: (
        Explanation("Matrix 741 + 598, factor 56 + 56, solution 36 + 30; 794 + 577 remain for an unprinted bias."),
        Explanation("300n-267 and 279n-259, as Featherstone's method is usually quoted, at n = 6.", _ABA),
        Explanation("With Kane's inverse dynamics, the printed parts add up to 1323 + 1150, 30 + 15 fewer."),
        Explanation("The total of Table 3 at n = 6.", _sum_of_parts()),
    ),
    PROVENZANO_1.title: (
        Explanation(f"{_CRBA} Mata 2002 prints -56 for the additions of the same algorithm."),
        Explanation(_NOC),
        Explanation(_LOOPS, _GAH),
    ),
    VALERA_3.title: (
        Explanation("The paper's own count of Luh, Walker and Paul's algorithm; its steps are not printed."),
        Explanation("The sum of the six printed steps of Table 2.", total(PUBLISHED)),
    ),
}  # fmt: skip
PRINTED_TABLES: tuple[Table, ...] = (PROVENZANO_1, MATA_1, MATA_2, MATA_3, MATA_4, VALERA_3)


def explained(table: Table) -> list[tuple[PublishedCount, Explanation]]:
    """Return the rows of a table with their explanations."""
    return list(zip(table.rows, EXPLANATIONS[table.title], strict=True))


def agreeing(rows: list[tuple[PublishedCount, Explanation]], n: int = 6) -> int:
    """Return how many printed numbers of these rows follow from print, at n joints."""
    return sum(
        explanation.literal is not None and explanation.literal[k](n) == (row.mul, row.add)[k](n)
        for row, explanation in rows
        for k in (0, 1)
    )
