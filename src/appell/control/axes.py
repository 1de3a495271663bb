"""The names by which a controller counts: the coordinates that it leads, and the actuators that it leads them with.

On an arm of one-axis joints both are the joints. A parallel robot is led along its coordinates by motors elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError

PerJoint = Any  # one number for all joints, or one a joint; once checked, a tuple with one a joint


@dataclass(frozen=True)
class Axes:
    """All joints, coordinates or actuators of a robot."""

    owner: str  # robot 'puma'
    kind: str  # joint
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def one(self, k: int) -> str:
        return f"{self.kind} '{self.names[k]}'"

    def __str__(self) -> str:
        return f"{self.kind}s {', '.join(self.names)}"

    def numbers(self, name: str, value, least: float = -np.inf, above: bool = False) -> tuple[float, ...]:
        """One number each, from such a sequence or from one number for all; named errors otherwise."""
        n = len(self)
        try:
            given = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} is {value!r}.", expected=f"a number, or {n} of them") from None
        if given.shape not in ((), (n,)):
            raise ArgumentError(
                f"{name} has shape {given.shape}; {self.owner} has {n} {self.kind}s.",
                expected=f"one number, or one a {self.kind}: {', '.join(self.names)}",
            )
        given = np.broadcast_to(given, n)
        good = (given > least) if above else (given >= least)
        if not good.all():
            k = int(np.argmin(good))
            relation = "above" if above else "at least"
            raise ArgumentError(
                f"{name} of {self.one(k)} is {given[k]:g}.",
                expected="a number" if np.isneginf(least) else f"a number {relation} {least:g}",
            )
        return tuple(given.tolist())
