"""How a system follows its sliders: as far as it can go, and why not farther.

A tree goes where it is told. The loops of a constrained robot are closed on the way there, in small steps, each from
the one before, so that it stays on its branch; joints whose motions are all independent are held, the others are free
to close the loops. A mechanism goes straight there, until a leg does not reach any more.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from appell.dynamics import Dynamics
from appell.model.constrained import ConstrainedRobot
from appell.model.mechanism import Mechanism
from appell.model.system import System
from appell.motion.assembly.rows import ConstraintRows

STEP = 0.1  # rad or m between two configurations with closed loops
BRANCH = 0.5  # rad or m: a joint that goes farther in a step has changed its branch
MISSED = 1e-6  # rad or m: a slider that is farther from where it was wanted is not there
HALVINGS = 30  # of the way to where a leg ends


@singledispatch
def slid(system: System, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    """The configuration that a system takes on its way from q to what its sliders want, and why it is another."""
    return wanted, ""


@slid.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    tree, loops = system.tree, ConstraintRows(dyn).loops
    told = {*system.manifold.positions}
    spans = {link.joint.name: range(tree.nv)[tree.span(link.joint)[1]] for link in tree.moving}
    held = [name for name, span in spans.items() if told.issuperset(span)]
    moved = [k for span in spans.values() if told.intersection(span) for k in span]  # those with sliders
    way = tree.difference(q, wanted)
    count = max(1, int(np.ceil(np.abs(way).max(initial=0.0) / STEP)))
    for _ in range(count):
        start = tree.integrate(q, way / count)
        root = loops.root(start, held)
        if not loops.good(root):
            name, size, unit = loops.remaining(root.gaps)
            return q, f"loop '{name}' cannot be closed beyond: {size:.3g} {unit} would remain"
        if np.abs(tree.difference(start, root.q)).max(initial=0.0) > BRANCH:
            return q, "the loops close on another branch beyond"
        q = root.q
    missed = float(np.abs(tree.difference(q, wanted)[moved]).max(initial=0.0))
    return q, "its loops and wheels do not let it go there" if missed > MISSED else ""


@slid.register
def _(system: Mechanism, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    sentence = system.out_of_reach(wanted.tolist())
    if not sentence:
        return wanted, ""
    near, far = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if system.out_of_reach((q + middle * (wanted - q)).tolist()):
            far = middle
        else:
            near = middle
    return q + near * (wanted - q), sentence
