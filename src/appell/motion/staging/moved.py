"""Which robot a record is of, and its configurations at any times."""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.pictures.drawing import catalogue_of
from appell.motion.record import Record


def moved(record: Record, robot: System | Dynamics | None) -> Dynamics:
    """What the record is of; its coordinates must be those of the record."""
    if not len(record):
        raise ArgumentError("the record has no rows, and there is nothing to show.")
    if robot is None and record.dynamics is None:
        who = record.about.get("robot", "...")
        raise ArgumentError(
            "the record does not know which robot moved: only records of `simulate` do, until they are written.",
            hint=f"say so: robot=ap.load('{who}')",
        )
    dyn = record.dynamics if robot is None else catalogue_of(robot)
    assert dyn is not None
    names = record.names("q")
    if set(names) != set(dyn.system.coordinate_names):
        raise ArgumentError(
            f"the record moves {len(names)} coordinates: {', '.join(names)}.",
            expected=f"the {dyn.system.nq} of {dyn.system.owner}: {', '.join(dyn.system.coordinate_names)}",
        )
    return dyn


def configurations(record: Record, t: np.ndarray, system: System) -> np.ndarray:
    """q at these times: of the motion itself, or straight between the rows; quaternions the short way."""
    if record.between is not None:
        names = record.names("q")
        return record(t)[0][..., [names.index(name) for name in system.coordinate_names]]
    rows = np.array(record.block("q", system.coordinate_names))
    for span in system.quaternions:
        turned = np.sign(np.einsum("ti,ti->t", rows[1:, span], rows[:-1, span]))
        rows[1:, span] *= np.cumprod(np.where(turned < 0.0, -1.0, 1.0))[:, None]
    return np.stack([np.interp(t, record.t, column) for column in rows.T], axis=-1)
