"""The steps of Valera's algorithm, counted apart: motion first, then what the gathering of forces adds to it."""

from __future__ import annotations

from appell.formulate.link_motion import accelerations, by_crosses, steps
from appell.formulate.methods import INVERSE_DYNAMICS, Method
from appell.lab.counts.growth import growth
from appell.lab.counts.measure import INVERSE, as_written
from appell.lab.counts.polynomial import Polynomial, polynomial

# step -> published M and A; the paper's steps 3 and 6 cost nothing but one addition a joint
PUBLISHED = {
    "1  rotation matrices": (polynomial(0, 4), polynomial()),
    "2  velocities and accelerations": (polynomial(-75, 62), polynomial(-61, 46)),
    "3-6  forces and moments": (polynomial(-61, 55), polynomial(-55, 45)),
    "total": (polynomial(-136, 121), polynomial(-116, 91)),
}


def _motion(tree, q, v, a, wrenches):
    """ω, ω̇ and r̈ of every link: what step 2 of the paper ends with."""
    found = accelerations(tree, steps(tree, q), v, a, by_crosses)
    moved = [found[link.name] for link in tree.links]
    coms = [m.acc + by_crosses(m, link.inertia.first) for m, link in zip(moved, tree.links, strict=True)]
    return [x for m, com in zip(moved, coms, strict=True) for x in (*m.omega, *m.alpha, *com)]


def valera_steps() -> list[list[str]]:
    """Rows of step, published M and A, ours M and A."""
    whole = growth(as_written, INVERSE_DYNAMICS["gibbs-appell-vector"], INVERSE)
    motion = growth(as_written, Method("motion", "step 2 of Valera", _motion), INVERSE)
    ours = {
        "1  rotation matrices": (polynomial(), polynomial()),
        "2  velocities and accelerations": (motion.mul, motion.add),
        "3-6  forces and moments": (_less(whole.mul, motion.mul), _less(whole.add, motion.add)),
        "total": (whole.mul, whole.add),
    }
    return [[step, *map(str, PUBLISHED[step]), *map(str, ours[step])] for step in PUBLISHED]


def _less(p: Polynomial, q: Polynomial) -> Polynomial:
    return p + polynomial(*(-c for c in q.coefficients))
