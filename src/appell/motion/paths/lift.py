"""A path of independent joints, lifted to all coordinates of a robot with loops.

    q(t): the independent joints as the path says, the others close the loops      v, a: those of the path         (1)

Times are followed in order, each configuration found from the one before, so that the branch of the start is kept.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.kinematics.assembly import ConstraintRows, dynamics_of, one_configuration
from appell.model.system import System
from appell.motion.path import Path
from appell.motion.record import Record
from appell.motion.titles import record_names, record_units

FARTHEST = 0.5  # rad or m: a dependent joint that goes farther between two times has changed its branch


def lift(robot: Dynamics | System, path: Path, samples: int = 501, *, period: float | None = None, q0=None) -> Record:
    """q, v, a, tau of a path of the independent joints, which it names; `q0` (home if None) tells the branch.

    tau are the torques of the motion. An error says when a loop cannot be closed on the way.
    """
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn)
    system, names = rows.system, rows.system.velocity_names
    if set(path.names) != set(names) or len(system.map.positions) != len(names) or not rows.tree.is_flat:
        raise ArgumentError(
            f"the path moves {', '.join(path.names)}, which is not how {system.owner} moves.",
            expected=f"a path of its independent joints: {', '.join(names)}",
            hint="with_loops(..., independent=[names of joints])",
        )
    asked = path.record(samples, period=period)
    order = [path.names.index(name) for name in names]
    led, v, a = (asked[key][:, order] for key in "qva")
    places = [system.coordinate_names.index(name) for name in names]
    q = np.empty((len(led), system.nq))
    here = one_configuration(rows, q0)
    for k, wanted in enumerate(led):
        here = _next(rows, here, places, wanted, float(asked.t[k]), first=k == 0)
        q[k] = here
    blocks = {"q": q, "v": v, "a": a, "tau": dyn.inverse_dynamics(q, v, a)}
    known = record_names(system)
    return Record.of(asked.t, blocks, known, units=record_units(system), about={"robot": system.name}, dynamics=dyn)


def _next(
    rows: ConstraintRows, here: np.ndarray, places: list[int], wanted: np.ndarray, t: float, first: bool
) -> np.ndarray:
    """The configuration with these joints where they are wanted, near the one before."""
    loops = rows.loops
    start = here.copy()
    start[places] = wanted
    root = loops.root(start, rows.system.velocity_names)
    moved = float(np.abs(root.q - start).max())
    if not loops.good(root) or (not first and moved > FARTHEST):
        name, size, unit = loops.remaining(root.gaps)
        told = f"{size:.4g} {unit} remain" if root.size > loops.exact else "its branch changes"
        raise ArgumentError(
            f"the path leads {rows.system.owner} where loop '{name}' cannot be closed, at t = {t:.6g} s: {told}.",
            hint="a smaller motion, more samples, or another q0",
        )
    return root.q
