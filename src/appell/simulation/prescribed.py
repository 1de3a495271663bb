"""Motions that are given as functions of time: what drives a row of a constraint, (s, ṡ, s̈) at any instant.

A motion is a function of time with three numbers, or a path of one coordinate, which has position, velocity and
acceleration as well. Names are those of the constraints, with the label of the row where one constraint has several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.simulation.status import Status, Stop

EXPECTED = "a function of time that gives position, velocity and acceleration, or a path of one coordinate"


class PrescribedMotions:
    """The prescribed motions of a system, three numbers each, in the order of its arguments."""

    def __init__(self, system: System, given: Mapping[str, Any] | None, start: float):
        self.names, self.start = motion_names(system), start
        named = {} if given is None else given
        if not isinstance(named, Mapping):
            raise ArgumentError(f"prescribed is {given!r}.", expected=f"{{name: {EXPECTED}}}")
        for name in named:
            if name not in self.names:
                raise ArgumentError(unknown_name("prescribed motion", str(name), self.names, system.owner))
        if missing := [name for name in self.names if name not in named]:
            raise ArgumentError(
                f"no motion is given for {', '.join(missing)} of {system.owner}.",
                expected=f"prescribed={{name: {EXPECTED}}}",
            )
        self.functions: list[Callable] = [named[name] for name in self.names]
        for name, function in zip(self.names, self.functions, strict=True):
            if not callable(function):
                raise ArgumentError(f"the motion of '{name}' is {function!r}.", expected=EXPECTED)
        try:
            self(start)
        except Stop as stop:
            raise ArgumentError(stop.detail, expected=EXPECTED) from None

    def __bool__(self) -> bool:
        return bool(self.names)

    def __call__(self, t: float) -> np.ndarray:
        return np.concatenate([self._one(k, t) for k in range(len(self.names))]) if self.names else np.zeros(0)

    def _one(self, k: int, t: float) -> np.ndarray:
        given = self.functions[k](t)
        try:
            found = np.array([np.asarray(part, float).reshape(()) for part in given])
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise Stop(
                Status.INPUT, f"The motion of '{self.names[k]}' gave {given!r} at t = {t:.9g}.", expected=EXPECTED
            )
        return found


def motion_names(system: System) -> tuple[str, ...]:
    """A name for every prescribed motion: its constraint's, with the row's label where there are several."""
    found = []
    for constraint in getattr(system, "constraints", ()):
        several = len(constraint.motions) > 1
        found += [f"{constraint.name}.{label}" if several else constraint.name for label in constraint.motions]
    return tuple(found)
