"""Configurations that belong to a system: all of them, unless there are loops to close."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from appell.dynamics import Dynamics
from appell.model.constrained import ConstrainedRobot
from appell.model.system import System
from appell.motion.assembly.rows import ConstraintRows


@singledispatch
def closed(system: System, dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """q, any batch, led to the nearest closed configurations; those of prescribed motions stay as they are."""
    return q


@closed.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    return q if system.prescribed else ConstraintRows(dyn).nearest(q)


@singledispatch
def moved(system: System, dyn: Dynamics, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The configuration after a step along the directions in which a system's functions are differentiated by q."""
    return system.integrate(q, step)


@moved.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    rows = ConstraintRows(dyn)
    return rows.nearest(system.tree.integrate(q, rows.tangents(q) @ step))
