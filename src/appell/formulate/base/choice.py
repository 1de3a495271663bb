"""Which columns of a regressor are kept, and what is added to their parameters.

If the columns of N span the changes of π that no joint feels, Y N = 0, split the columns of Y in some that are
kept, b, and the rest, d, as many as N has columns:

    Y_d = Y_b K          K = -N_b N_d⁻¹          τ = Y_b β          β = π_b + K π_d = B π                         (1)

Which columns are kept is a choice. Ours drops first what a joint cannot tell from its parent's parameters (mass,
first moment along the axis, one of the moments across it), so that β reads like the regrouping formulas of the
textbooks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.formulate.base.structure import null_space, twists
from appell.formulate.parameters import SYMBOLS, Parameter
from appell.model.robot import Robot
from appell.model.system import System

KEPT = 1e-5  # a column is kept if this much of it is no combination of those kept before


def kept_columns(null: np.ndarray, system: System, parameters: Sequence[Parameter]) -> list[int]:
    """The columns to keep: by preference, or by pivoting if preference would keep nearly dependent ones."""
    from scipy.linalg import qr

    preference = _preference(system, parameters)
    rows = np.eye(len(null)) - null @ null.T  # row k: column k of Y in coordinates of its row space
    wanted = len(null) - null.shape[1]
    basis = np.zeros((0, len(null)))
    kept: list[int] = []
    for k in sorted(range(len(null)), key=preference.__getitem__):
        length = np.linalg.norm(rows[k])
        if length < 1e-8:
            continue
        rest = rows[k] - basis.T @ (basis @ rows[k])
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > KEPT * length:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(k)
    if len(kept) != wanted:
        kept = qr(rows.T, mode="r", pivoting=True)[1][:wanted].tolist()
    return sorted(kept)


def _preference(system: System, parameters: Sequence[Parameter]) -> list[tuple[int, int]]:
    """Sorts first what is to be kept."""
    order: list[tuple[int, int]] = []
    number = {name: k for k, name in enumerate(system.bodies)}
    for parameter in parameters:
        if parameter.kind in SYMBOLS:
            order.append((4 if parameter.kind == "rotor" else 0, 0))
            continue
        axis, slides = _axis(system, parameter.owner)
        along, across = "xyz"[axis], "y" if axis == 2 else "xyz"[(axis + 1) % 3]
        if _moves_all(system, parameter.owner):
            late = {}
        elif slides:
            late = {"m": 1, **{kind: 2 for kind in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}}
        else:
            late = {"m": 3, f"mc{along}": 2, f"I{across}{across}": 2}
        order.append((late.get(parameter.kind, 0), -number[parameter.owner]))
    return order


def _moves_all(system: System, body: str) -> bool:
    """Whether the joint of this body moves every point of it, as a free flyer does: nothing is left to the parent."""
    return isinstance(system, Robot) and null_space(np.vstack([X[:3] for X in twists(system.link(body))])).size == 0


def _axis(system: System, body: str) -> tuple[int, bool]:
    """The coordinate axis nearest to that of the body's joint, z if it has none of its own; whether it slides there."""
    if not isinstance(system, Robot):
        return 2, False
    motion = system.link(body).joint.motion
    axis = getattr(motion, "axis", None)
    return 2 if axis is None else int(np.argmax(np.abs(list(axis)))), motion.name == "prismatic"


def known_by(null: np.ndarray, kept: list[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """(1), with the noise of its computation taken off."""
    rest = [k for k in range(len(null)) if k not in set(kept)]
    K = -np.linalg.solve(null[rest].T, null[kept].T).T if rest else np.zeros((len(kept), 0))
    K[np.abs(K) < 1e-11 * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    rounded = np.round(K)
    K = np.where(np.abs(K - rounded) < 1e-11, rounded, K)
    matrix = np.zeros((len(kept), len(null)))
    matrix[np.arange(len(kept)), kept] = 1.0
    matrix[:, rest] = K
    return tuple(kept), matrix
