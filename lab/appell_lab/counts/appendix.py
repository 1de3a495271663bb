"""Operation counts of the Appendix of Shafei 2018, step by step for one branch, with full matrices.

The paper does not state how it counted. These are the counts if every product of two 4x4 matrices takes 64 M and 48 A,
whatever zeros and ones it contains: all entries of A, E, U, B and of the gravity vector are symbols; only the joint
axes are (0, 0, 1). Steps 1 and 2 are counted with all pairs that the Appendix forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from appell.algebra.matrix import Mat3
from appell.algebra.vector import UNITS
from appell.compile.tape.count import count
from appell.compile.tape.tape import Array
from appell.formulate.homogeneous import Mat4
from appell.formulate.shafei import (
    Chain,
    ChainLink,
    Compound,
    gathered_B1,
    gathered_B2,
    inertia,
    outboard_terms,
    right_side,
    spins,
    velocity_second_rates,
)
from appell_lab.counts.polynomial import Polynomial, eventually_through
from appell_lab.counts.verbatim import verbatim

LINKS = range(2, 8)
SYMBOLS = 5 * 16 + 9 + 4 + 1  # per link: E, A, U₁, U₂ and B₁; B₂; c; q̇
BASE_SYMBOLS = 3 * 16 + 4  # U₃ of two prismatic joints and A₀; gravity
UNSPECIFIED_STEP = "(30)  T¨ᵥ, not specified in the Appendix"
STEPS = (
    "1  T, T~ and T^, all pairs",
    "2  R, all pairs",
    "3  ω and ω̇ᵥ",
    UNSPECIFIED_STEP,
    "4  p, Q and χ",
    "5  right side",
    "6  F~ and Π",
    "7  inertia matrix",
)


def _chain_of(n: int, symbols: Iterator) -> Chain:
    def matrix() -> Mat4:
        return Mat4(tuple(tuple(next(symbols) for _ in range(4)) for _ in range(4)))

    def small() -> Mat3:
        return Mat3.of([[next(symbols) for _ in range(3)] for _ in range(3)])

    def vector() -> list:
        return [next(symbols) for _ in range(4)]

    links = tuple(
        ChainLink(
            f"link {i}",
            matrix(),
            matrix(),
            [matrix()],
            [[matrix()]],
            matrix(),
            small(),
            vector(),
            UNITS[2:],
            [next(symbols)],
        )
        for i in range(n)
    )
    return Chain(links, ("X1", "X2"), (matrix(), matrix()), vector(), matrix())


def _results(chain: Chain) -> list[list]:
    """Return the results of every step, in the order of `STEPS`."""
    n, compound = len(chain.links), Compound(chain)
    pairs = [(i, j) for i in range(n + 1) for j in range(i + 1, n + 1)]
    turning, gains = spins(chain, compound), velocity_second_rates(chain, compound)
    outboard = outboard_terms(chain, compound, turning, gains)
    lines, turns = gathered_B1(chain, compound), gathered_B2(chain, compound)
    return [
        [
            *(compound.between(i, j) for i, j in pairs),
            *(compound.transform(i, j) for i, j in pairs),
            *(compound.T(i) for i in range(n + 1)),
            *(compound.end(i) for i in range(n)),
        ],
        [compound.R(j, k) for j, k in pairs if j],
        [x for pair in turning for x in pair],
        gains,
        [x for terms in outboard for x in (terms.p, terms.Q, terms.chi)],
        list(right_side(chain, compound, outboard).values()),
        [*lines.values(), *turns.values()],
        [row for block in inertia(chain, compound, lines, turns).values() for row in block],
    ]


def _operations(n: int, steps: int) -> tuple[int, int]:
    """Return M and A of the first steps."""

    def body(symbols):
        chosen = _results(_chain_of(n, iter(symbols)))[:steps]
        return {"results": [x for step in chosen for result in step for x in _entries(result)]}

    operations = count(verbatim("appendix", [Array("symbols", (SYMBOLS * n + BASE_SYMBOLS,))], body), ())
    return operations.mul, operations.add


def _entries(result) -> list:
    rows = getattr(result, "rows", [result])
    return [x for row in rows for x in row]


Operations = tuple[Polynomial, Polynomial]


@cache
def appendix_steps() -> dict[str, Operations]:
    """Return M and A of each step as polynomials in n_m, and two sums: of all, and of all specified steps."""
    totals = {n: [(0, 0), *(_operations(n, k) for k in range(1, len(STEPS) + 1))] for n in LINKS}
    costs: dict[str, Operations] = {}
    for k, step in enumerate(STEPS):
        mul, add = (
            eventually_through({n: counts[k + 1][which] - counts[k][which] for n, counts in totals.items()})[0]
            for which in (0, 1)
        )
        costs[step] = mul, add
    costs["all steps"] = _sum(costs.values())
    costs["all but (30)"] = _sum(cost for step, cost in costs.items() if step in STEPS and step != UNSPECIFIED_STEP)
    return costs


def _sum(terms: Iterable[Operations]) -> Operations:
    muls, adds = zip(*terms, strict=True)
    return sum(muls[1:], start=muls[0]), sum(adds[1:], start=adds[0])
