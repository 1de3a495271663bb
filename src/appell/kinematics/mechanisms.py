"""Poses of mechanisms: whether they can be taken, which one belongs to given actuators, and maps of the workspace.

Forward kinematics is Newton's method from a nearby pose:

    q ← q + J(q)⁻¹ (θ - θ(q))                                                                                   (1)

A platform has several poses for the same actuators; the nearby one is meant. A step that leaves the reach of a leg, or
does not bring θ(q) nearer, is halved. Angles are compared modulo a turn.

Maps of the workspace: where all legs reach, and how near to singular the actuator Jacobian is there.

Calls of the compiled `survey` cover the grid block by block. The condition number of J grows without bound both where
a leg is stretched (J infinite) and where the actuators lose hold of the platform (J singular). It compares metres with
radians if the coordinates do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.mechanism import Mechanism
from appell.progress import Bar


def condition(dyn: Dynamics, q) -> np.ndarray:
    """The condition number of the actuator Jacobian, infinite where a leg does not reach; q may be a batch."""
    with np.errstate(invalid="ignore"):
        J = dyn.actuator_jacobian(q)
    finite = np.isfinite(J).all(axis=(-2, -1))
    numbers = np.linalg.cond(np.where(finite[..., None, None], J, 0.0))
    return np.where(finite & np.isfinite(numbers), numbers, np.inf)


def check_pose(dyn: Dynamics, q, limit: float | None = None) -> float:
    """The condition number at one pose; an error if a leg does not reach or it is above the limit, the system's own."""
    system, q = dyn.system, dyn.system.sized("q", q, dyn.system.nq)
    if q.shape != (system.nq,):
        listed = ", ".join(system.coordinate_names)
        raise ArgumentError(f"{system.owner}: one pose has shape {q.shape}.", expected=f"({system.nq},): {listed}")
    where = f"{system.owner} at q = ({', '.join(f'{x:g}' for x in q)})"
    if not np.isfinite(q).all():
        raise ArgumentError(f"{where} is nowhere.", expected="finite numbers")
    if not system.is_closed_form:
        return 1.0
    if sentence := system.out_of_reach(q.tolist()):
        raise ArgumentError(f"{where}: {sentence}.", hint="a pose nearer to home")
    limit, number = system.condition_limit if limit is None else limit, float(condition(dyn, q))
    if not number <= limit:
        raise ArgumentError(
            f"{where} is singular: its actuator Jacobian has condition number {number:.3g}.",
            expected=f"at most {limit:.3g}",
            hint="another pose, or a Mechanism with a larger condition_limit; torques grow with it",
        )
    return number


TOLERANCE = 1e-12  # of θ, in rad or m
STEPS = 40
HALVINGS = 12


def forward_kinematics(
    dyn: Dynamics, theta, start=None, tolerance: float = TOLERANCE, steps: int = STEPS
) -> np.ndarray:
    """q with θ(q) = theta, from a pose nearby, home if None; leading axes are batch.

    One pose raises if there is no way to it, a batch has NaN there.
    """
    system = dyn.system
    theta, start = np.asarray(theta, float), np.asarray(system.start if start is None else start, float)
    for name, array, size in (("theta", theta, system.nu), ("start", start, system.nq)):
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArgumentError(
                f"forward kinematics of {system.owner}: {name} has shape {array.shape}.",
                expected=f"a last axis of {size}, after any batch axes",
            )
    shape = np.broadcast_shapes(theta.shape[:-1], start.shape[:-1])
    goal = np.broadcast_to(theta, (*shape, system.nu)).reshape(-1, system.nu)
    q = np.broadcast_to(start, (*shape, system.nq)).reshape(-1, system.nq).copy()
    if not shape:
        check_pose(dyn, q[0], np.inf)
    error = position_error(dyn, goal, q)
    for _ in range(steps):
        open_ = np.flatnonzero(_size(error) > tolerance)
        if not open_.size:
            break
        q[open_], error[open_] = _step(dyn, goal[open_], q[open_], error[open_])
    failed = ~(_size(error) <= tolerance)
    if failed.any() and not shape:
        raise ArgumentError(
            f"forward kinematics of {system.owner} does not arrive: after {steps} steps the actuators are still "
            f"{_size(error)[0]:.3g} off, at a pose with condition number {condition(dyn, q[0]):.3g}.",
            hint="start from a pose nearer to the one that is sought; the actuators may also have none",
        )
    q[failed] = np.nan
    return q.reshape(*shape, system.nq)


def _step(dyn: Dynamics, goal: np.ndarray, q: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1), halved where it does not help."""
    way = np.einsum("bij,bj->bi", np.linalg.pinv(dyn.actuator_jacobian(q)), error)
    moved, left = q.copy(), error.copy()
    waiting = np.arange(len(q))
    scale = 1.0
    for _ in range(HALVINGS):
        trial = q[waiting] + scale * way[waiting]
        found = position_error(dyn, goal[waiting], trial)
        better = _size(found) < _size(error[waiting])
        moved[waiting[better]], left[waiting[better]] = trial[better], found[better]
        waiting, scale = waiting[~better], scale / 2
        if not waiting.size:
            break
    return moved, left


def position_error(dyn: Dynamics, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
    """θ - θ(q), angles modulo a turn."""
    with np.errstate(invalid="ignore"):
        error = goal - dyn.actuator_positions(q)
    angles = np.array(dyn.system.actuator_units) == "rad"
    return np.where(angles, np.remainder(error + np.pi, 2 * np.pi) - np.pi, error)


def _size(error: np.ndarray) -> np.ndarray:
    return np.abs(error).max(axis=-1)


BLOCK = 10_000  # poses a call


@dataclass(frozen=True)
class Workspace:
    """A grid over some coordinates, the others held; arrays have one axis for each, in the order of `names`."""

    mechanism: Mechanism
    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    margin: np.ndarray  # of the leg that reaches least far, negative out of reach
    condition: np.ndarray  # of the actuator Jacobian, infinite out of reach

    @property
    def reachable(self) -> np.ndarray:
        return np.isfinite(self.condition)

    @property
    def share(self) -> float:
        """Which part of the grid can be reached."""
        return float(self.reachable.mean())

    def plot(self, figure: Any = None, highest: float = 1e3) -> Any:
        """The condition number in colours over two coordinates; blank out of reach, one colour above `highest`."""
        return import_module("appell.show.plot.plot").plot_workspace(self, figure, highest)  # above us


def workspace(dyn: Dynamics, axes: Mapping[str, Any], at=None) -> Workspace:
    """The map over `axes`, name -> values, with the other coordinates as in `at`, home if None."""
    mechanism: Any = dyn.system
    if not mechanism.is_closed_form:
        raise ModelError(
            f"{mechanism.owner} is a tree: every q within its limits is in reach, and its drives hold it everywhere.",
            expected="a mechanism, such as 'delta'",
        )
    known = mechanism.coordinates
    if not axes:
        raise ArgumentError("a map needs the name of a coordinate.", expected=", ".join(known))
    values = {}
    for name, given in axes.items():
        if name not in known:
            raise ArgumentError(unknown_name("coordinate", name, known, mechanism.owner))
        values[name] = np.asarray(given, float)
        if values[name].ndim != 1 or not values[name].size or not np.isfinite(values[name]).all():
            raise ArgumentError(
                f"the values of '{name}' have shape {values[name].shape}.", expected="finite numbers in one row"
            )
    grids = np.meshgrid(*values.values(), indexing="ij")
    q = np.empty((*grids[0].shape, mechanism.nq))
    q[...] = mechanism.start if at is None else at
    for name, grid in zip(values, grids, strict=True):
        q[..., known.index(name)] = grid
    poses = q.reshape(-1, mechanism.nq)
    margin, condition = np.full((2, len(poses)), np.inf)
    with Bar("workspace", len(poses), "poses") as bar:
        for begin in range(0, len(poses), BLOCK):
            block = slice(begin, begin + BLOCK)
            margin[block], condition[block] = _surveyed(dyn, bool(mechanism.reaches), poses[block])
            bar(min(begin + BLOCK, len(poses)))
    shape = grids[0].shape
    return Workspace(mechanism, tuple(values), tuple(values.values()), margin.reshape(shape), condition.reshape(shape))


def _surveyed(dyn: Dynamics, reaches: bool, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The margin of reach and the condition number of poses; infinite where there is none."""
    with np.errstate(invalid="ignore"):
        *margins, J = dyn.survey(q) if reaches else (dyn.actuator_jacobian(q),)
    margin = margins[0].min(axis=-1) if margins else np.full(len(q), np.inf)
    inside = np.isfinite(J).all(axis=(-2, -1)) & (margin >= 0.0)
    condition = np.full(len(q), np.inf)
    condition[inside] = np.linalg.cond(J[inside])
    return margin, condition
