"""Extension of a path of the independent joints to all coordinates of a robot with loops.

    q(t): independent joints as in the path, the others close the loops      v, a: as in the path                  (1)

Configurations are computed in the order of time, each from the one before, so that the branch of the start is kept.
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

MAX_DEPENDENT_STEP = 0.5  # rad or m: a dependent joint that moves more between two times has changed its branch


def lift(robot: Dynamics | System, path: Path, samples: int = 501, *, period: float | None = None, q0=None) -> Record:
    """Return a record of q, v, a and tau of a robot with loops along a path of its independent joints.

    Parameters
    ----------
    robot
        A constrained robot, or its `Dynamics`.
    path
        Path whose names are those of the independent joints.
    samples, period
        Number of rows, or time between two rows in s; see `Path.record`.
    q0
        Configuration near the start, which selects the branch. None: home.

    Returns
    -------
    Record
        All coordinates q, the independent velocities v and accelerations a, and the actuator forces tau of the motion.

    Raises
    ------
    ArgumentError
        If the path has other coordinates, or if a loop cannot be closed at some time.
    """
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn)
    system, names = rows.system, rows.system.velocity_names
    if set(path.names) != set(names) or len(system.map.positions) != len(names) or not rows.tree.is_flat:
        raise ArgumentError(
            f"the path moves {', '.join(path.names)}, which are not the independent joints of {system.owner}.",
            expected=f"a path of its independent joints: {', '.join(names)}",
            hint="Select independent joints with with_loops(..., independent=[names of joints]).",
        )
    requested = path.record(samples, period=period)
    order = [path.names.index(name) for name in names]
    independent, v, a = (requested[key][:, order] for key in "qva")
    indices = [system.coordinate_names.index(name) for name in names]
    q = np.empty((len(independent), system.nq))
    latest = one_configuration(rows, q0)
    for k, values in enumerate(independent):
        latest = _closed(rows, latest, indices, values, float(requested.t[k]), first=k == 0)
        q[k] = latest
    blocks = {"q": q, "v": v, "a": a, "tau": dyn.inverse_dynamics(q, v, a)}
    columns = record_names(system)
    return Record.of(
        requested.t, blocks, columns, units=record_units(system), about={"robot": system.name}, dynamics=dyn
    )


def _closed(
    rows: ConstraintRows, latest: np.ndarray, indices: list[int], values: np.ndarray, t: float, first: bool
) -> np.ndarray:
    """Return the closed configuration with these values of the independent joints, near the latest one."""
    loops = rows.loops
    start = latest.copy()
    start[indices] = values
    root = loops.root(start, rows.system.velocity_names)
    change = float(np.abs(root.q - start).max())
    if not loops.is_closed(root) or (not first and change > MAX_DEPENDENT_STEP):
        name, size, unit = loops.widest_gap(root.gaps)
        reason = f"{size:.4g} {unit} remain" if root.size > loops.exact else "its branch changes"
        raise ArgumentError(
            f"loop '{name}' of {rows.system.owner} cannot be closed on the path at t = {t:.6g} s: {reason}.",
            hint="Use a smaller motion, more samples, or another q0.",
        )
    return root.q
