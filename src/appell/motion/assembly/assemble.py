"""Closing the loops of a constrained robot, with compiled functions: the nearest solution, or all that are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembling import assemble_loops
from appell.model.robot import Robot
from appell.model.system import System
from appell.motion.assembly.rows import ConstraintRows, dynamics_of

APART = 1e-6  # rad or m: solutions that are nearer to each other are one
FREE = 1e-7  # of the largest singular value: what is smaller leaves a joint free
FARTHEST = 3.2  # rad or robot's sizes: how far about the start others are looked for


def assemble(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    prescribed: Sequence[float] | None = None,
) -> np.ndarray:
    """The configuration near q0 (home if None) in which all loops are closed, with the joints of `hold` where they are.

    Raises an error that names the loop and by how much it stays open. `prescribed` are position, velocity and
    acceleration of every prescribed motion, zeros if None.
    """
    rows, q, held = _given(robot, q0, hold, prescribed)
    return assemble_loops(rows.loops, q, held)


def assemblies(
    robot: Dynamics | System,
    q0=None,
    hold: str | Iterable[str] = (),
    *,
    tries: int = 60,
    prescribed: Sequence[float] | None = None,
) -> list[np.ndarray]:
    """All ways to close the loops that are found from starts about q0, the nearest first: the branches of a linkage.

    `hold` must leave no freedom, or there are infinitely many; more `tries` find more of them.
    """
    rows, q, held = _given(robot, q0, hold, prescribed)
    loops, tree = rows.loops, rows.tree
    found: list[np.ndarray] = []
    for start in (q, *loops.starts(q, held, tries, FARTHEST)):
        root = loops.root(start, held)
        if loops.good(root) and all(_apart(tree, root.q, other) > APART for other in found):
            found.append(root.q)
    if not found:
        return [assemble_loops(loops, q, held)]
    if left := _left(rows, found[0], held):
        raise ArgumentError(
            f"{rows.system.owner} has infinitely many configurations: {left} of its motions are left free.",
            expected=f"{left} more joints in hold",
            hint="hold=[names of joints]; assemble(...) for the nearest one",
        )
    return sorted(found, key=lambda one: float(np.linalg.norm(tree.difference(q, one))))


def _apart(tree: Robot, one: np.ndarray, other: np.ndarray) -> float:
    """How far two configurations differ, whole turns apart."""
    way = tree.difference(one, other)
    turns = np.array(tree.velocity_units) == "rad"
    return float(np.abs(np.where(turns, np.remainder(way + np.pi, 2.0 * np.pi) - np.pi, way)).max(initial=0.0))


def _given(
    robot: Dynamics | System, q0, hold: str | Iterable[str], prescribed: Sequence[float] | None
) -> tuple[ConstraintRows, np.ndarray, tuple[str, ...]]:
    rows = ConstraintRows(dynamics_of(robot), prescribed)
    q = one_configuration(rows, q0)
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    for name in held:
        rows.tree.joint(name)
    return rows, q, held


def one_configuration(rows: ConstraintRows, q0) -> np.ndarray:
    """q0 as one configuration of finite numbers; home if None."""
    q = rows.system.start if q0 is None else rows.system.sized("q0", q0, rows.system.nq)
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q0 is {q}.", expected=f"{rows.system.nq} finite numbers for {rows.system.owner}")
    return np.array(q)


def _left(rows: ConstraintRows, q: np.ndarray, held: Sequence[str]) -> int:
    """How many motions the loops leave with these joints held."""
    K = rows.jacobian(q)[rows.placing][:, rows.loops.longest(held) > 0.0]
    return K.shape[1] - int(np.linalg.matrix_rank(K, rtol=FREE)) if K.size else K.shape[1]
