"""Poses of mechanisms: reach and singularity of a pose, forward kinematics, and maps of the workspace.

Forward kinematics uses Newton's method from a nearby pose:

    q ← q + J(q)⁻¹ (θ - θ(q))                                                                                   (1)

A platform has several poses for the same actuator positions; the nearby one is returned. A step that leaves the reach
of a leg, or does not reduce the error of θ(q), is halved. Angles are compared modulo 2π.

Maps of the workspace show where all legs reach, and how close to singular the actuator Jacobian is there. The compiled
function `survey` evaluates the grid block by block. The condition number of J grows without bound where a leg is
stretched (J infinite) and where the actuators do not control the platform (J singular). It mixes metres and radians if
the coordinates do.
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
    """Return the condition number of the actuator Jacobian at q (..., nq); infinite where a leg does not reach."""
    with np.errstate(invalid="ignore"):
        J = dyn.actuator_jacobian(q)
    finite = np.isfinite(J).all(axis=(-2, -1))
    numbers = np.linalg.cond(np.where(finite[..., None, None], J, 0.0))
    return np.where(finite & np.isfinite(numbers), numbers, np.inf)


def check_pose(dyn: Dynamics, q, limit: float | None = None) -> float:
    """Return the condition number of the actuator Jacobian at one pose, after checking the pose.

    Parameters
    ----------
    dyn : functions of the mechanism; a tree has condition number 1
    q : pose (nq,)
    limit : largest accepted condition number; by default the `condition_limit` of the system

    Raises
    ------
    ArgumentError
        If a leg does not reach the pose, or the condition number exceeds the limit.
    """
    system, q = dyn.system, dyn.system.sized("q", q, dyn.system.nq)
    if q.shape != (system.nq,):
        listed = ", ".join(system.coordinate_names)
        raise ArgumentError(f"{system.owner}: q has shape {q.shape}.", expected=f"({system.nq},): {listed}")
    where = f"{system.owner} at q = ({', '.join(f'{x:g}' for x in q)})"
    if not np.isfinite(q).all():
        raise ArgumentError(f"{where} has no pose.", expected="finite numbers")
    if not system.is_closed_form:
        return 1.0
    if sentence := system.out_of_reach(q.tolist()):
        raise ArgumentError(f"{where}: {sentence}.", hint="Choose a pose closer to home.")
    limit, number = system.condition_limit if limit is None else limit, float(condition(dyn, q))
    if not number <= limit:
        raise ArgumentError(
            f"{where} is close to singular: its actuator Jacobian has condition number {number:.3g}.",
            expected=f"at most {limit:.3g}",
            hint="Choose another pose, or a Mechanism with a larger condition_limit; torques grow with it.",
        )
    return number


TOLERANCE = 1e-12  # of θ, rad or m
MAX_NEWTON_STEPS = 40
MAX_HALVINGS = 12  # of a Newton step


def forward_kinematics(
    dyn: Dynamics, theta, start=None, tolerance: float = TOLERANCE, steps: int = MAX_NEWTON_STEPS
) -> np.ndarray:
    """Return the pose q with actuator positions θ(q) = theta.

    Parameters
    ----------
    dyn : functions of the mechanism
    theta : actuator positions (..., nu), rad or m
    start : nearby pose (..., nq); home by default
    tolerance : largest error of θ, rad or m
    steps : maximum number of Newton steps

    Returns
    -------
    q, (..., nq). In a batch, poses that were not found are NaN.

    Raises
    ------
    ArgumentError
        If a single pose is not found, or a shape is wrong.

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("delta"))
    >>> theta = dyn.actuator_positions([0.05, 0.02, -0.7])
    >>> ap.kinematics.forward_kinematics(dyn, theta).round(6)
    array([ 0.05,  0.02, -0.7 ])
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
        active = np.flatnonzero(_size(error) > tolerance)
        if not active.size:
            break
        q[active], error[active] = _step(dyn, goal[active], q[active], error[active])
    failed = ~(_size(error) <= tolerance)
    if failed.any() and not shape:
        raise ArgumentError(
            f"forward kinematics of {system.owner} does not converge: after {steps} steps the actuator positions are "
            f"off by {_size(error)[0]:.3g}, at a pose with condition number {condition(dyn, q[0]):.3g}.",
            hint="Start closer to the solution; there may also be no pose with these actuator positions.",
        )
    q[failed] = np.nan
    return q.reshape(*shape, system.nq)


def _step(dyn: Dynamics, goal: np.ndarray, q: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Apply (1), halved until the error decreases."""
    newton_step = np.einsum("bij,bj->bi", np.linalg.pinv(dyn.actuator_jacobian(q)), error)
    new_q, new_error = q.copy(), error.copy()
    waiting = np.arange(len(q))
    scale = 1.0
    for _ in range(MAX_HALVINGS):
        trial = q[waiting] + scale * newton_step[waiting]
        trial_error = position_error(dyn, goal[waiting], trial)
        better = _size(trial_error) < _size(error[waiting])
        new_q[waiting[better]], new_error[waiting[better]] = trial[better], trial_error[better]
        waiting, scale = waiting[~better], scale / 2
        if not waiting.size:
            break
    return new_q, new_error


def position_error(dyn: Dynamics, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the error of the actuator positions, θ - θ(q), angles modulo 2π.

    Parameters
    ----------
    dyn : functions of the mechanism
    goal : θ, (..., nu)
    q : pose, (..., nq)
    """
    with np.errstate(invalid="ignore"):
        error = goal - dyn.actuator_positions(q)
    angles = np.array(dyn.system.actuator_units) == "rad"
    return np.where(angles, np.remainder(error + np.pi, 2 * np.pi) - np.pi, error)


def _size(error: np.ndarray) -> np.ndarray:
    return np.abs(error).max(axis=-1)


BLOCK_SIZE = 10_000  # poses per call


@dataclass(frozen=True)
class Workspace:
    """A map of the workspace: a grid over some coordinates, with the others fixed.

    Arrays have one axis per coordinate, in the order of `names`.
    """

    mechanism: Mechanism
    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    margin: np.ndarray  # smallest margin of reach of all legs; negative out of reach
    condition: np.ndarray  # condition number of the actuator Jacobian; infinite out of reach

    @property
    def reachable(self) -> np.ndarray:
        """Whether each pose of the grid can be reached."""
        return np.isfinite(self.condition)

    @property
    def share(self) -> float:
        """Fraction of the grid that can be reached."""
        return float(self.reachable.mean())

    def plot(self, figure: Any = None, highest: float = 1e3) -> Any:
        """Plot the condition number over two coordinates in colours; blank out of reach, one colour above `highest`."""
        return import_module("appell.show.plot.plot").plot_workspace(
            self, figure, highest
        )  # a higher layer, imported on use


def workspace(dyn: Dynamics, axes: Mapping[str, Any], at=None) -> Workspace:
    """Return a map of the workspace of a mechanism.

    Parameters
    ----------
    dyn : functions of the mechanism
    axes : values (n,) of each coordinate of the grid, by name
    at : pose (nq,) that fixes the other coordinates; home by default

    Returns
    -------
    A `Workspace` with arrays of shape (n1, n2, ...).
    """
    mechanism: Any = dyn.system
    if not mechanism.is_closed_form:
        raise ModelError(
            f"{mechanism.owner} is a tree, whose joints reach every q within their limits.",
            expected="a mechanism in closed form, such as 'delta'",
        )
    known = mechanism.coordinates
    if not axes:
        raise ArgumentError("axes is empty.", expected="values of at least one coordinate of " + ", ".join(known))
    values = {}
    for name, given in axes.items():
        if name not in known:
            raise ArgumentError(unknown_name("coordinate", name, known, mechanism.owner))
        values[name] = np.asarray(given, float)
        if values[name].ndim != 1 or not values[name].size or not np.isfinite(values[name]).all():
            raise ArgumentError(
                f"the values of '{name}' have shape {values[name].shape}.",
                expected="a one-dimensional array of finite numbers",
            )
    grids = np.meshgrid(*values.values(), indexing="ij")
    q = np.empty((*grids[0].shape, mechanism.nq))
    q[...] = mechanism.start if at is None else at
    for name, grid in zip(values, grids, strict=True):
        q[..., known.index(name)] = grid
    poses = q.reshape(-1, mechanism.nq)
    margin, condition = np.full((2, len(poses)), np.inf)
    with Bar("workspace", len(poses), "poses") as bar:
        for start in range(0, len(poses), BLOCK_SIZE):
            block = slice(start, start + BLOCK_SIZE)
            margin[block], condition[block] = _evaluate(dyn, bool(mechanism.reaches), poses[block])
            bar(min(start + BLOCK_SIZE, len(poses)))
    shape = grids[0].shape
    return Workspace(mechanism, tuple(values), tuple(values.values()), margin.reshape(shape), condition.reshape(shape))


def _evaluate(dyn: Dynamics, has_reaches: bool, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin of reach and the condition number at poses q (n, nq); infinite where undefined."""
    with np.errstate(invalid="ignore"):
        *margins, J = dyn.survey(q) if has_reaches else (dyn.actuator_jacobian(q),)
    margin = margins[0].min(axis=-1) if margins else np.full(len(q), np.inf)
    inside = np.isfinite(J).all(axis=(-2, -1)) & (margin >= 0.0)
    condition = np.full(len(q), np.inf)
    condition[inside] = np.linalg.cond(J[inside])
    return margin, condition
