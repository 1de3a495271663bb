"""A link of a tree and the joint that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.algebra.rotation import Pose
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import Motion
from appell.model.joints.one_axis import OneAxis
from appell.model.limits import NO_LIMITS, Limits


@dataclass(frozen=True)
class Mimic:
    """A joint without a coordinate of its own: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A named motion, placed on the parent link, and what drives it."""

    name: str
    motion: Motion
    placement: Pose = IN_PLACE
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    actuator: Actuator = IDEAL

    @property
    def scale(self) -> float:
        """How fast it moves for a unit of its coordinate's velocity: 1, or a mimic's multiplier."""
        return self.mimic.multiplier if self.mimic else 1.0

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A position within the limits; where one of them is open, up to a turn or 2 m from the other."""
        lower, upper = self.limits.lower, self.limits.upper
        if not isinstance(self.motion, OneAxis) or (lower is None and upper is None):
            return self.motion.random(rng)
        width = 2.0 * self.motion.spread
        low = lower if lower is not None else (upper or 0.0) - width
        return rng.uniform(low, low + width if upper is None else upper, 1)


@dataclass(frozen=True)
class Link:
    """A rigid part of the robot and the joint that carries it; `body` is None for a link without mass."""

    name: str
    parent: str | None
    joint: Joint
    body: Body | None = None
