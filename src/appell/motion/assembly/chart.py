"""A system whose coordinates tell all others about a configuration, where its own do not.

Which velocities of the tree are independent was chosen about its home. Elsewhere they may stop telling the others: a
bicycle that was made leaning has a yaw that follows from its wheels, and upright it does not. The same robot made there
has another choice for its positions; its velocities v stay.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from appell.formulate.constrained.assembling import OpenLoops
from appell.model.constrained import ConstrainedRobot
from appell.model.system import System

POOR = 1e-4  # of the smallest singular value of all columns: what the dependent ones leave of it


@singledispatch
def charted(system: System, q: np.ndarray) -> System:
    """The system, with positions that are told apart at q."""
    return system


@charted.register
def _(system: ConstrainedRobot, q: np.ndarray) -> System:
    placing = list(system.manifold.placing.kept)  # type: ignore[attr-defined]
    K = OpenLoops.of(system.tree, system.constraints).gaps(q)[1][placing]
    tied = np.setdiff1d(np.arange(system.tree.nv), system.manifold.positions)
    if not len(K) or _least(K[:, tied]) > POOR * _least(K):
        return system
    names = system.velocity_names
    own = names if {*names} <= {*system.tree.velocity_names} else system.chosen
    actuated = system.weights if system.motors else None
    return system.tree.with_loops(*system.constraints, actuated=actuated, independent=own, home=q)


def _least(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).min())
