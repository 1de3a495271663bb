"""Joint limits as stops: each is a contact of one row, with the gap q - lower or upper - q."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from appell.errors import ArgumentError, unknown_name
from appell.model.robot import Robot
from appell.model.system import System


@dataclass(frozen=True)
class JointStop:
    """gap = sign (scale q[coordinate] + offset - limit), which grows with sign scale v[velocity]."""

    joint: str
    coordinate: int
    velocity: int
    limit: float
    sign: float
    scale: float = 1.0
    offset: float = 0.0

    def gap(self, q):
        return self.sign * (self.scale * q[self.coordinate] + (self.offset - self.limit))

    def row(self, nv: int) -> list[float]:
        return [self.sign * self.scale if k == self.velocity else 0.0 for k in range(nv)]


def limited_joints(system: System) -> tuple[JointStop, ...]:
    """The stops of all joints of one axis with limits, lower before upper; of a mechanism's coordinates likewise."""
    if isinstance(system, Robot):
        joints = [link.joint for link in system.links if link.joint.motion.nv == 1]
        places = [
            (
                joint.name,
                *(span.start for span in system.span(joint)),
                (joint.limits.lower, joint.limits.upper),
                (joint.scale, joint.mimic.offset if joint.mimic else 0.0),
            )
            for joint in joints
        ]
    else:
        places = [
            (name, k, k, system.ranges[k], (1.0, 0.0)) for k, name in enumerate(system.coordinate_names[: system.nv])
        ]
    return tuple(
        JointStop(name, q, v, limit, sign, *law)
        for name, q, v, limits, law in places
        for limit, sign in zip(limits, (1.0, -1.0), strict=True)
        if limit is not None and math.isfinite(limit)
    )


def chosen_stops(system: System, stops: float | Mapping[str, float] | None) -> dict[JointStop, float]:
    """The stops of a run with their restitution: of all limited joints, or of those that are named."""
    if stops is None:
        return {}
    known = limited_joints(system)
    names = list(dict.fromkeys(stop.joint for stop in known))
    given = stops if isinstance(stops, Mapping) else dict.fromkeys(names, stops)
    for name, e in given.items():
        if name not in names:
            raise ArgumentError(unknown_name("joint with limits", str(name), names, system.owner))
        if isinstance(e, bool) or not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
            raise ArgumentError(
                f"the stops of joint '{name}' have restitution {e!r}.",
                expected="a number from 0 (no bounce) to 1 (no loss)",
            )
    if not isinstance(stops, Mapping) and not names:
        raise ArgumentError(
            f"{system.owner} has no joint with limits that could stop it.", hint="Limits(lower, upper), or stops=None"
        )
    return {stop: float(given[stop.joint]) for stop in known if stop.joint in given}
