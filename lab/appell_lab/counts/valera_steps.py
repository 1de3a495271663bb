"""Table 2 of Valera 2003: the operation counts of the six steps of `valera_text`, as polynomials in n.

The count of a step is the difference of two tapes: one that ends with the results of this step, and one that ends with
those of the step before. The frames are Craig's or Paul's; α and β are accumulated separately, as in equations (17) and
(25) of the paper, or together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from appell.compile.tape.count import OpCount
from appell.compile.tape.tape import Array, Tape
from appell_lab.counts.growth import SIZES, products
from appell_lab.counts.measure import online
from appell_lab.counts.polynomial import Polynomial, eventually_through, polynomial
from appell_lab.counts.valera_text import SYMBOLS, Convention, Craig, Paul, Steps, valera
from appell_lab.counts.verbatim import verbatim

NAMES = {
    1: "1  rotation matrices",
    2: "2  velocities and accelerations",
    3: "3  axes",
    4: "4  A, moments",
    5: "5  B, forces",
    6: "6  sum",
}
PUBLISHED = {  # M and A
    1: (polynomial(0, 4), polynomial()),
    2: (polynomial(-75, 62), polynomial(-61, 46)),
    3: (polynomial(), polynomial()),
    4: (polynomial(-23, 24), polynomial(-18, 18)),
    5: (polynomial(-38, 31), polynomial(-37, 26)),
    6: (polynomial(), polynomial(0, 1)),
}
PUBLISHED_PAUL = polynomial(-74, 133), polynomial(-71, 97)
Cost = tuple[Polynomial, Polynomial]


@dataclass(frozen=True)
class Variant:
    """A convention of frames, and whether α and β are accumulated together."""

    convention: Convention
    together: bool


SEPARATE = Variant(Craig(), together=False)
TOGETHER = Variant(Craig(), together=True)
PAUL = Variant(Paul(), together=False)


@cache
def step_costs(variant: Variant, sizes: Iterable[int] = SIZES) -> dict[int, Cost]:
    """Return M and A of every step; the matrices of step 1 are counted alone, since later steps do not form them."""
    cumulative = {k: _costs(variant, results, sizes) for k, results in _RESULTS.items()}
    previous = {2: None, 4: 2, 5: 4, 6: 5}
    costs = {1: cumulative[1], 3: (polynomial(), polynomial())}
    costs |= {k: cumulative[k] if b is None else _less(cumulative[k], cumulative[b]) for k, b in previous.items()}
    return dict(sorted(costs.items()))


def total(costs: dict[int, Cost]) -> Cost:
    """Return M and A of all steps together."""
    mul, add = polynomial(), polynomial()
    for one, other in costs.values():
        mul, add = mul + one, add + other
    return mul, add


def tape(variant: Variant, n: int, results: Callable[[Variant, Steps], list]) -> Tape:
    """Return the tape of the method for n joints that ends with the values selected by `results`."""
    inputs = [Array("constants", (SYMBOLS * n,)), *(Array(name, (n,)) for name in ("q", "v", "a"))]

    def body(*arguments):
        return {"results": results(variant, valera(variant.convention, variant.together, *arguments))}

    return verbatim("valera", inputs, body)


def torques(_: Variant, steps: Steps) -> list:
    """Select the torques, the final results."""
    return steps.tau


def _motion(_: Variant, steps: Steps) -> list:
    return [x for m in steps.motions for x in (*m.motion.omega, *m.motion.alpha, *m.acc_com)]


def _moments(variant: Variant, steps: Steps) -> list:
    """Select A, or the moments N_i; the first joint, whose axis is vertical, needs one component of its moment."""
    if not variant.together:
        return _motion(variant, steps) + steps.A
    first, *others = steps.moments
    return [*_motion(variant, steps), first.z, *(x for moment in others for x in moment)]


def _forces(variant: Variant, steps: Steps) -> list:
    return _moments(variant, steps) + steps.B


_RESULTS = {
    1: lambda variant, steps: [x for matrix in steps.matrices for row in matrix.rows for x in row],
    2: _motion,
    4: _moments,
    5: _forces,
    6: lambda variant, steps: _forces(variant, steps) + steps.tau,
}


def _costs(variant: Variant, results: Callable, sizes: Iterable[int]) -> Cost:
    counts: dict[int, OpCount] = {n: online(tape(variant, n, results)) for n in sizes}
    mul, _ = eventually_through({n: products(count) for n, count in counts.items()})
    add, _ = eventually_through({n: count.add for n, count in counts.items()})
    return mul, add


def _less(one: Cost, other: Cost) -> Cost:
    mul, add = (p + polynomial(*(-c for c in q.coefficients)) for p, q in zip(one, other, strict=True))
    return mul, add
