"""Table 2 of Valera 2003 step by step: what each of the six steps of `valera_text` costs, as a polynomial in n.

A step's cost is what the text up to it costs less the text before it: tapes whose results are all that the steps leave
behind. Frames of Craig and of Paul, α and β gathered apart as in the paper's equations (17) and (25), or together.
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
class Way:
    """A convention of frames, and whether α and β are gathered as one."""

    convention: Convention
    together: bool


APART, TOGETHER, PAUL = Way(Craig(), together=False), Way(Craig(), together=True), Way(Paul(), together=False)


@cache
def step_costs(way: Way, sizes: Iterable[int] = SIZES) -> dict[int, Cost]:
    """M and A of every step; that of the matrices stands for itself, since no later step needs them formed."""
    upto = {k: _costs(way, leaves, sizes) for k, leaves in _LEAVES.items()}
    before = {2: None, 4: 2, 5: 4, 6: 5}
    found = {1: upto[1], 3: (polynomial(), polynomial())}
    found |= {k: upto[k] if b is None else _less(upto[k], upto[b]) for k, b in before.items()}
    return dict(sorted(found.items()))


def total(costs: dict[int, Cost]) -> Cost:
    """All steps."""
    mul, add = polynomial(), polynomial()
    for one, other in costs.values():
        mul, add = mul + one, add + other
    return mul, add


def tape(way: Way, n: int, leaves: Callable[[Way, Steps], list]) -> Tape:
    """The text for n joints as a tape that ends with what `leaves` takes of it."""
    inputs = [Array("constants", (SYMBOLS * n,)), *(Array(name, (n,)) for name in ("q", "v", "a"))]
    return verbatim(
        "valera", inputs, lambda *given: {"left": leaves(way, valera(way.convention, way.together, *given))}
    )


def torques(_: Way, steps: Steps) -> list:
    return steps.tau


def _motion(_: Way, steps: Steps) -> list:
    return [x for m in steps.moved for x in (*m.motion.omega, *m.motion.alpha, *m.acc_com)]


def _moments(way: Way, steps: Steps) -> list:
    """A, or the links' own moments, of which the first joint, whose axis is upright, needs one component."""
    if not way.together:
        return _motion(way, steps) + steps.A
    first, *others = steps.own
    return [*_motion(way, steps), first.z, *(x for moment in others for x in moment)]


def _forces(way: Way, steps: Steps) -> list:
    return _moments(way, steps) + steps.B


_LEAVES = {
    1: lambda way, steps: [x for matrix in steps.matrices for row in matrix.rows for x in row],
    2: _motion,
    4: _moments,
    5: _forces,
    6: lambda way, steps: _forces(way, steps) + steps.tau,
}


def _costs(way: Way, leaves: Callable, sizes: Iterable[int]) -> Cost:
    counts: dict[int, OpCount] = {n: online(tape(way, n, leaves)) for n in sizes}
    mul, _ = eventually_through({n: products(count) for n, count in counts.items()})
    add, _ = eventually_through({n: count.add for n, count in counts.items()})
    return mul, add


def _less(one: Cost, other: Cost) -> Cost:
    mul, add = (p + polynomial(*(-c for c in q.coefficients)) for p, q in zip(one, other, strict=True))
    return mul, add
