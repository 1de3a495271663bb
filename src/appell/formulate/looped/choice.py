"""When a tree is written as loops over its links.

Straight code for one robot keeps all zeros of that robot, but grows with it: it leaves the caches of the processor,
and the time to compile grows too. A loop runs the same short code for every link and reads its numbers from a table.
Loops are chosen for trees of more than `LONG` links, or asked for; see decision 0024 for the measurements.

They are the loops of Gibbs-Appell inverse dynamics and of articulated bodies. Whoever asks for another formulation, or
for a forward dynamics by name, gets that and no loop. Articulated bodies take joints that move independently, so
forward dynamics of a tree with mimic joints stays straight.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.errors import ArgumentError
from appell.formulate.formulations import Formulation
from appell.model.robot import Robot

LONG = 48  # links
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


def looping(robot: Robot, formulation: Formulation, loops: bool | None, *, asked: bool) -> Looping:
    """What of a robot is written as loops: as `loops` says, or by the length of the robot if it is None.

    `asked`: whether the way to forward dynamics was asked for by name.
    """
    if loops not in (None, True, False):
        raise ArgumentError(f"loops is {loops!r}.", expected="True, False, or None to choose by the robot's length")
    suits = formulation.inverse_dynamics.name == LOOPED
    if loops and not suits:
        raise ArgumentError(
            f"'{formulation.name}' is not written as loops over links.",
            expected=f"formulation='{LOOPED}' with loops=True",
            hint="loops=None, which keeps to straight code for other formulations",
        )
    chosen = suits and (len(robot.links) > LONG if loops is None else loops)
    independent = all(link.joint.mimic is None for link in robot.links)
    return Looping(chosen, chosen and independent and not asked)
