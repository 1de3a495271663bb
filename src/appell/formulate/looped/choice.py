"""When a tree is written as loops over its links.

Straight code for one robot keeps all zeros of that robot, but grows with it: it leaves the caches of the processor,
and the time to compile grows too. A loop runs the same short code for every link and reads its numbers from a table.

    inverse dynamics     O(n) either way      loops for more than `LONG` links
    forward dynamics     straight code goes by the inertia matrix, loops by articulated bodies in O(n): loops where the
                         matrix couples more than `COUPLED` pairs of links

A humanoid of 33 links stays straight, a chain of 20 is solved by loops; decision 0024 has the measurements. Whoever
asks for another formulation, or for a forward dynamics by name, gets that and no loop. Articulated bodies take joints
that move independently, so forward dynamics of a tree with mimic joints stays straight.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.errors import ArgumentError
from appell.formulate.formulations import Formulation
from appell.model.frame import WORLD
from appell.model.robot import Robot

LONG = 40  # links
COUPLED = 200  # pairs of a link and one at or inboard of it
LOOPED = "gibbs-appell"  # the formulation that loops are an economical form of
INVERSE = ("inverse_dynamics", "generalized_forces", "bias", "gravity", "energy")
FORWARD = ("forward_dynamics", "state_rate")


@dataclass(frozen=True)
class Looping:
    """What is written as loops."""

    inverse: bool
    forward: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of a catalogue that follow."""
        return INVERSE * self.inverse + FORWARD * self.forward


NO_LOOPS = Looping(False, False)


def looping(robot: Robot, formulation: Formulation, looped: bool | None, *, asked: bool) -> Looping:
    """What of a robot is written as loops: as `looped` says, or by the length of the robot if it is None.

    `asked`: whether the way to forward dynamics was asked for by name.
    """
    if looped not in (None, True, False):
        raise ArgumentError(f"looped is {looped!r}.", expected="True, False, or None to choose by the robot's length")
    suits = formulation.inverse_dynamics.name == LOOPED
    if looped and not suits:
        raise ArgumentError(
            f"'{formulation.name}' is not written as loops over links.",
            expected=f"formulation='{LOOPED}' with looped=True",
            hint="looped=None, which keeps to straight code for other formulations",
        )
    if not suits or looped is False:
        return NO_LOOPS
    independent = all(link.joint.mimic is None for link in robot.links)
    long, coupled = (True, True) if looped else (len(robot.links) > LONG, _pairs(robot) > COUPLED)
    return Looping(long, coupled and independent and not asked)


def _pairs(robot: Robot) -> int:
    """How many links stand at or inboard of each link, added up."""
    depth: dict[str | None, int] = {WORLD: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + 1
    return sum(depth.values())
