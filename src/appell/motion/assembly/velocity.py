"""The velocity nearest to a given one that keeps all constraints: the least change in the metric of M."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.assembly.assemble import one_configuration
from appell.motion.assembly.rows import ConstraintRows, dynamics_of, saddle_solve, tree_dynamics

MET = 1e-9  # of the speeds: what may be left of the rows


def project_velocity(
    robot: Dynamics | System,
    q,
    w,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """The velocity of the tree that keeps all rows, nearest to w; the joints of `hold` keep theirs.

    Raises an error that names the constraint if these joints cannot.
    """
    dyn = dynamics_of(robot)
    rows = ConstraintRows(dyn, prescribed)
    q, tree = one_configuration(rows, q), rows.tree
    w = np.array(tree.sized("w", w, tree.nv))
    free = np.ones(tree.nv, bool)
    for name in (hold,) if isinstance(hold, str) else hold:
        free[tree.span(tree.joint(name))[1]] = False
    K, M = rows.jacobian(q)[rows.kept], tree_dynamics(dyn).mass_matrix(q)
    left = rows.rates(q, w)[rows.kept]
    w[free] += saddle_solve(M[np.ix_(free, free)], K[:, free], np.zeros((int(free.sum()), 1)), -left)
    left = np.abs(rows.rates(q, w))
    if left.max(initial=0.0) > MET * max(1.0, float(np.abs(w).max(initial=0.0))):
        worst = int(np.argmax(left))
        raise ArgumentError(
            f"no velocity of {rows.system.owner} keeps constraint '{rows.owner(worst)}' with these joints held: "
            f"{left[worst]:.4g} are left.",
            hint="fewer joints in hold, or other velocities of theirs",
        )
    return w
