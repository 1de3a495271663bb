"""The straight lines of Provenzano, Mata 2002 and Valera 2003 at constant orientation, and a drawing of the arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.motion import CartesianLine, zyz
from appell.show.plot.style import BLUE, GREY, INK, RED, label

HAND = 0.12  # m, length of the hand drawn along the last axis; the papers print no tool


@dataclass(frozen=True)
class PaperLine:
    """A line as printed in a paper; lengths in m, duration in s."""

    paper: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    angles: tuple[float, float, float]  # about z, y, z, degrees
    duration: float
    view: tuple[float, float] = (24.0, -50.0)  # elevation and azimuth from which the line is seen, degrees

    def trajectory(self, robot, configuration: tuple[int, int, int] = (1, 1, 1)) -> CartesianLine:
        """Return the motion of the arm; `configuration` holds the signs of shoulder, elbow and wrist."""
        return CartesianLine(robot, "tool", self.start, self.end, zyz(*self.angles), self.duration, configuration)


PROVENZANO_LINE = PaperLine("Provenzano", (0.6, 0.175, 0.25), (0.244, 0.527, 0.25), (45, 60, 90), 5.0)
MATA_LINE = PaperLine("Mata 2002", (0.5, 0.0, 0.05), (0.62, 0.3, 0.11), (0, 90, 180), 5.0)
VALERA_LINE = PaperLine("Valera 2003", (0.6, 0.175, 0.25), (0.018, 0.757, 0.0), (45, 60, 90), 8.6, (22.0, 30.0))
LINES = (PROVENZANO_LINE, MATA_LINE, VALERA_LINE)


def skeleton(robot, q: np.ndarray) -> np.ndarray:
    """Return points through which the arm is drawn: base, shoulder and its offset, elbow, wrist, hand."""
    dyn = Dynamics(robot)
    shoulder, elbow, wrist, last = (dyn.pose(robot.links[k].name)(q) for k in (1, 2, 3, 5))
    beside = shoulder[:3, 3] + shoulder[:3, 2] * (shoulder[:3, 2] @ (elbow[:3, 3] - shoulder[:3, 3]))
    hand = wrist[:3, 3] + HAND * last[:3, 2]
    return np.array([(0.0, 0.0, -0.4), shoulder[:3, 3], beside, elbow[:3, 3], wrist[:3, 3], hand])


def distance_from_line(robot, paper: PaperLine, line: CartesianLine) -> float:
    """Return the largest distance of the tool from the printed line along a motion, m."""
    t = line.times()
    wanted = np.outer(1.0 - t / line.duration, paper.start) + np.outer(t / line.duration, paper.end)
    return float(np.linalg.norm(Dynamics(robot).pose("tool")(line(t)[0])[:, :3, 3] - wanted, axis=1).max())


def draw_arm(space, robot, paper: PaperLine, line: CartesianLine) -> None:
    """Draw the arm at the start, in the middle and at the end of its line, on 3-D axes."""
    for part, colour, name in ((0.0, GREY, "start"), (0.5, RED, "middle"), (1.0, BLUE, "end")):
        points = skeleton(robot, line(part * line.duration)[0])
        space.plot(*points.T, color=colour, marker="o", markersize=4, linewidth=3, label=name)
    path = line.pose(line.times(50))[:, :3, 3]
    space.plot(*path.T, color=INK, linestyle="--", linewidth=1.2, label="line of the tool")
    space.set(**{f"{axis}label": label(axis, "m") for axis in "xyz"})
    limits = (space.get_xlim(), space.get_ylim(), space.get_zlim())
    space.set_box_aspect([high - low for low, high in limits], zoom=0.8)  # equal scales, and space for the labels
    space.locator_params(nbins=3)
    space.view_init(*paper.view)
