"""The first iterate of an optimisation: states, torques and free parameters at all knots, from what users give.

None                     stay at the start, with the torques that hold it
torques                  (nu,), (steps, nu): states by a rollout as long as they are finite
Record                   its motion at the times of the knots, from its first row on
Path                     its motion, with the torques of inverse dynamics
{"q":, "v":, "tau":}     arrays (steps + 1, nq), (steps + 1, nv), (steps, nu); what is missing as for None
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.errors import ArgumentError, unknown_name, value_text
from appell.kinematics.assembly import ConstraintRows
from appell.motion import Path, Record
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.task import per_member, unit_quaternions
from appell.simulation.states import CLOSURE_TOLERANCE

if TYPE_CHECKING:
    from appell.optimal.problem import Problem

START_HINT = "Start from another configuration, pass a smaller margin, or exclude the pair (ap.with_srdf)."


class Guess(NamedTuple):
    """States (members, steps + 1, n), inputs (members, steps, nu) and free parameters (members, np)."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    p: np.ndarray


def guess_of(problem: Problem, q0: Any, v0: Any, given: Any, p: Any) -> Guess:
    """Return a checked first iterate whose first state is the start.

    Parameters
    ----------
    problem : the problem
    q0, v0 : start, (n,) or (members, n); None: the start of the system, and zero
    given : see above
    p : free parameters, (np,) or (members, np); None: between their bounds

    Raises
    ------
    ArgumentError
        If the start violates limits or leaves loops open, or a guess has another shape or is not finite.
    """
    system, owner, N = problem.system, problem.system.owner, problem.steps
    q = per_member("q0", system.start if q0 is None else q0, system.nq, owner)
    q = unit_quaternions(system, q)
    v = per_member("v0", np.zeros(system.nv) if v0 is None else v0, system.nv, owner)
    members = max(len(q), len(v))
    if {len(q), len(v)} - {1, members}:
        raise ArgumentError(f"q0 has {len(q)} members and v0 has {len(v)}.", expected="the same number, or 1")
    q, v = (np.broadcast_to(x, (members, x.shape[1])) for x in (q, v))
    _check_starts(problem, q, v)
    p = _parameters(problem, p, members)
    times = np.arange(N + 1) * (float(np.median(p[:, 0])) / N if problem.dt is None else problem.dt)
    path_q, path_v, tau = _motion(problem, given, q, v, times)
    path_q[:, 0], path_v[:, 0] = q, v
    return Guess(path_q, path_v, np.ascontiguousarray(tau[..., problem.actuators]), p)


def _check_starts(problem: Problem, q: np.ndarray, v: np.ndarray) -> None:
    finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
    rows = ConstraintRows(problem.dyn) if problem.system.is_constrained else None
    for k in np.flatnonzero(finite):
        if rows is not None and rows.largest_gap(q[k]) > CLOSURE_TOLERANCE * max(1.0, rows.loops.size):
            name, size, unit = rows.loops.widest_gap(rows.gap(q[k]))
            raise ArgumentError(
                f"q0 of {problem.system.owner} leaves constraint '{name}' open by {size:.4g} {unit}.",
                expected="a configuration in which all loops are closed",
                hint="Use ap.kinematics.assemble(robot, q0).",
            )
        problem.limits.check_start(q[k], v[k])
        if problem.margin is not None:
            problem.margin.check(q[k], "at the start", START_HINT)


def _parameters(problem: Problem, given: Any, members: int) -> np.ndarray:
    lower, upper = problem.parameter_bounds
    if given is None:
        low, high = np.where(np.isfinite(lower), lower, 0.0), np.where(np.isfinite(upper), upper, 0.0)
        middle = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (low + high), low + high)
        given = np.where(
            np.isfinite(lower) ^ np.isfinite(upper), middle + np.isfinite(lower) - np.isfinite(upper), middle
        )
    if not problem.np:
        return np.zeros((members, 0))
    p = per_member("the guess of the free parameters", given, problem.np, problem.system.owner)
    return np.array(np.broadcast_to(p, (members, problem.np)))


def _motion(problem: Problem, given: Any, q: np.ndarray, v: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return q and v (members, steps + 1, n) and tau (members, steps, nu) of a guess."""
    system, N = problem.system, problem.steps
    still_q = np.repeat(q[:, None], N + 1, axis=1)
    still_v = np.zeros((len(q), N + 1, system.nv))
    if given is None:
        return still_q, still_v, np.repeat(holding_torques(problem, q)[:, None], N, axis=1)
    if isinstance(given, Record):
        at = np.clip(given.t[0] + times, given.t[0], given.t[-1])
        columns = [_resampled(given.t, np.asarray(given[name], float), at) for name in ("q", "v", "tau")]
        arrays = dict(zip(("q", "v", "tau"), columns, strict=True))
        arrays["tau"] = arrays["tau"][:N]
    elif isinstance(given, Path):
        at = np.clip(times, 0.0, given.duration)
        path = [np.asarray(x, float) for x in given(at)]
        arrays = {"q": path[0], "v": path[1], "tau": np.asarray(problem.dyn.inverse_dynamics(*path), float)[:N]}
    elif isinstance(given, Mapping):
        for name in given:
            if name not in ("q", "v", "tau"):
                raise ArgumentError(unknown_name("guess", str(name), ("q", "v", "tau"), "the guess"))
        arrays = dict(given)
    else:
        return _by_torques(problem, given, q, v)
    shapes = {"q": (N + 1, system.nq), "v": (N + 1, system.nv), "tau": (N, system.nu)}
    if "tau" not in arrays:
        arrays["tau"] = np.repeat(holding_torques(problem, q)[:, None], N, axis=1)
    arrays = {"q": still_q, "v": still_v} | arrays
    results = [_array(problem, f"{name} of the guess", arrays[name], shapes[name], len(q)) for name in shapes]
    results[0] = unit_quaternions(system, results[0].reshape(-1, system.nq)).reshape(results[0].shape)
    return tuple(results)


def _by_torques(problem: Problem, given: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    system, N = problem.system, problem.steps
    shape = (N, system.nu)
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"the guess is {value_text(given)}.",
            expected="None, torques, a Record, a Path, or a mapping with q, v, tau",
        ) from None
    if array.shape == (system.nu,):
        array = np.broadcast_to(array, shape)
    tau = _array(problem, "the guess of the torques", array, shape, len(q))
    if problem.dt is None or problem.dyn.wrenches or problem.dyn.free_bodies:
        return np.repeat(q[:, None], N + 1, axis=1), np.zeros((len(q), N + 1, system.nv)), tau
    plan = Rollout(problem.dyn, method=problem.method)
    with np.errstate(all="ignore"):
        records = plan(q, v, tau, N, problem.dt, check=False, progress=False)
    path_q, path_v = np.array(records.q, float), np.array(records.v, float)
    good = np.isfinite(path_q).all(axis=2) & np.isfinite(path_v).all(axis=2)
    for k in np.flatnonzero(~good.all(axis=1)):
        last = max(int(np.argmin(good[k])) - 1, 0)
        path_q[k, last + 1 :], path_v[k, last + 1 :] = path_q[k, last], 0.0
    return path_q, path_v, tau


def holding_torques(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Return the torques of the inputs with which the system does not accelerate at rest, in the least squares."""
    dyn, system = problem.dyn, problem.system
    tau = np.zeros((len(q), system.nu))
    if dyn.wrenches or dyn.free_bodies:
        return tau
    rest = np.zeros((len(q), system.nv))
    if problem.phases is not None and problem.phases.carries:
        contacts = problem.phases.set
        held = contacts.inverse_dynamics(q, rest, rest, contacts.poses(q), problem.phases.active[0])
        tau[:, problem.actuators] = np.nan_to_num(np.asarray(held.tau, float)[:, problem.actuators])
        return np.clip(tau, problem.limits.lower["torque"], problem.limits.upper["torque"])
    with np.errstate(all="ignore"):
        forces = np.asarray(dyn.generalized_forces(q, rest, rest), float)
        columns = np.swapaxes(np.asarray(dyn.actuator_jacobian(q), float), -1, -2)[..., problem.actuators]
    good = np.isfinite(forces).all(axis=1) & np.isfinite(columns).all(axis=(1, 2))
    for k in np.flatnonzero(good):
        tau[k, problem.actuators] = np.linalg.lstsq(columns[k], forces[k], rcond=None)[0]
    limit = problem.limits
    return np.clip(tau, limit.lower["torque"], limit.upper["torque"])


def _array(problem: Problem, what: str, given: Any, shape: tuple[int, ...], members: int) -> np.ndarray:
    expected = f"{shape}, or one for each of {members} members"
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is not an array of numbers.", expected=expected) from None
    if array.shape not in (shape, (members, *shape)):
        raise ArgumentError(f"{what} has shape {array.shape}.", expected=expected)
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0]
        raise ArgumentError(f"{what} is not finite at knot {index[-2]}, entry {index[-1]}.", expected="finite numbers")
    return np.array(np.broadcast_to(array, (members, *shape)))


def _resampled(t: np.ndarray, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(at, t, column) for column in rows.T], axis=1)
