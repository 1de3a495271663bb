"""The arrays of a rollout: what a user gave for all members, checked before any work is done.

    q0, v0        (n,) for all members, or (members, n)
    torque        None, (nu,), (steps, nu), (members, nu), (members, steps, nu); so are wrenches, with 6 for nu
    parameters    (10 a free body,), or (members, 10 a free body)

Two axes are (steps, n) if the first is as long as the steps, even if there are as many members; (members, 1, n) says
the other. A start, or a row of one member alone, that is not finite makes that member not a number, and no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.model.joints.spherical import unit_quaternion
from appell.model.system import System

KINDS = (np.float64, np.float32)
MOST = 10**9  # steps


def number_of_steps(what: str, given: Any, least: int = 1) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not least <= given <= MOST:
        raise ArgumentError(f"{what} is {given!r}.", expected=f"a whole number from {least} to {MOST:g}")
    return int(given)


def step_length(dt: Any) -> float:
    check_number("dt, the length of a step,", dt, least=0.0, above=True)
    return float(dt)


def kind_of(dtype: Any) -> np.dtype:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in KINDS:
        raise ArgumentError(f"dtype is {dtype!r}.", expected="float64 or float32")
    return kind


def per_member(what: str, given: Any, size: int, owner: str) -> np.ndarray:
    """(1 or members, size)."""
    found = _numbers(what, given, f"({size},) or (members, {size}) for {owner}")
    if found.ndim not in (1, 2) or found.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {found.shape}.", expected=f"({size},) or (members, {size}) for {owner}")
    if found.ndim == 1 and not np.isfinite(found).all():
        raise ArgumentError(
            f"{what} holds a value that is not finite: {found}.", expected="finite numbers, as all members have them"
        )
    return found.reshape(-1, size)


def over_time(what: str, given: Any, names: Sequence[str], steps: int, owner: str) -> np.ndarray:
    """(1 or members, 1 or steps, size)."""
    size = len(names)
    shapes = ", ".join(f"({lead}{size})" for lead in ("", f"{steps}, ", "members, ", f"members, {steps}, "))
    expected = f"None, or an array {shapes} for {owner}: {', '.join(names)}"
    if given is None:
        return np.zeros((1, 1, size))
    found = _numbers(what, given, expected)
    if not 1 <= found.ndim <= 3 or found.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {found.shape}.", expected=expected)
    if found.ndim == 2:
        found = found[None] if len(found) == steps else found[:, None]
    found = found.reshape(-1, *found.shape[-2:]) if found.ndim == 3 else found.reshape(1, 1, size)
    if found.shape[1] not in (1, steps):
        raise ArgumentError(f"{what} has {found.shape[1]} steps, and the rollout {steps}.", expected=expected)
    if len(found) == 1 and not np.isfinite(found).all():
        bad = np.argwhere(~np.isfinite(found))[0]
        raise ArgumentError(
            f"{what} of '{names[bad[2]]}' is not finite{f' in step {bad[1]}' if found.shape[1] > 1 else ''}.",
            expected="finite numbers, as all members have them",
        )
    return found


def common(arrays: Mapping[str, np.ndarray]) -> int:
    """The number of members that all arrays agree on; each is for one of them, or for all."""
    counts = {name: len(array) for name, array in arrays.items() if len(array) != 1}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ArgumentError(f"the arrays differ in their number of members: {told}.", expected="one number, or 1")
    return next(iter(counts.values()), 1)


def unit_quaternions(system: System, q: np.ndarray) -> np.ndarray:
    """Configurations with quaternions of unit length; what has no direction becomes not a number."""
    q = q.copy()
    for span in system.quaternions:
        with np.errstate(invalid="ignore", divide="ignore"):
            q[:, span] = unit_quaternion(q[:, span])
    return q


def wrench_rows(
    dyn_wrenches: Sequence[str], given: Mapping[str, Any] | None, steps: int, owner: str
) -> np.ndarray | None:
    """Six numbers for every frame of the Dynamics, (1 or members, 1 or steps, 6 frames); None if there are none."""
    told = {} if given is None else given
    if not isinstance(told, Mapping) or {*told} != {*dyn_wrenches}:
        listed = ", ".join(dyn_wrenches) or "none"
        raise ArgumentError(
            f"wrenches are given on {', '.join(map(str, told)) or 'nothing'}.",
            expected=f"a mapping with the frames of the Dynamics of {owner}: {listed}",
            hint=f"Dynamics(robot, wrenches={[*told]!r})" if told else "wrenches={frame: six numbers (force, moment)}",
        )
    if not dyn_wrenches:
        return None
    rows = [
        over_time(f"the wrench on {name}", told[name], ("fx", "fy", "fz", "mx", "my", "mz"), steps, owner)
        for name in dyn_wrenches
    ]
    shape = np.broadcast_shapes(*(row.shape for row in rows))
    return np.concatenate([np.broadcast_to(row, shape) for row in rows], axis=2)


def _numbers(what: str, given: Any, expected: str) -> np.ndarray:
    try:
        found = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is no array of numbers.", expected=expected) from None
    if 0 in found.shape[:-1]:
        raise ArgumentError(f"{what} has shape {found.shape}: there are no members.", expected=expected)
    return found
