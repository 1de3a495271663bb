"""All that is outboard of a joint: its inertia, how it flows, and the wrench that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Vector
from appell.formulate.composite import carried_by_parent
from appell.formulate.derivatives.inner_flow import InnerFlow, handed_in
from appell.formulate.inward import Wrench, on_parent
from appell.formulate.link_motion import Step
from appell.model.body import Inertia
from appell.model.joints import Partial

STILL = InnerFlow()  # of matter that is rigid


@dataclass(frozen=True)
class Matter:
    """A link's composite, in its axes and about its origin."""

    body: Inertia
    wrench: Wrench
    flow: InnerFlow = STILL

    def __add__(self, other: Matter) -> Matter:
        (force, moment), (more_force, more_moment) = self.wrench, other.wrench
        return Matter(self.body + other.body, (force + more_force, moment + more_moment), self.flow + other.flow)

    def on_parent(self, partials: Sequence[Partial], rates: Vector, step: Step) -> Matter:
        """The same in the axes and about the origin of the parent."""
        flow = handed_in(self.flow, partials, rates, self.body, step)
        return Matter(carried_by_parent(self.body, step), on_parent(step, self.wrench), flow)
