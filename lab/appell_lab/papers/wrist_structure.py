"""Abedloo 2014, Figures 1 and 3: the wrist with the axes u, w and v of its legs through the centre."""

from __future__ import annotations

import numpy as np

from appell.describe.legs import rotation_zyx
from appell.dynamics import Dynamics
from appell.formulate.spherical import position
from appell.model.mechanism import Mechanism
from appell.show.plot.drawing import Picture
from appell.show.plot.style import COLORS
from appell.show.stage.shape import Shape

LABEL_RADIUS = 1.2  # distance of the axis labels, in radii of the arcs
POSE = (0.1, 0.15, -0.1)  # rad, away from home, so that no axes coincide


def draw_structure(figure, wrist: Mechanism, radius: float) -> None:
    """Draw the bodies at a pose away from home, and the three axes of every leg."""
    assert wrist.design is not None
    axes, shape = figure.subplots(), Shape(Dynamics(wrist))
    picture = Picture(axes, shape.at(np.array(POSE)), wrist.gravity, view=(-50.0, 20.0))
    for k, leg in enumerate(wrist.design.legs, start=1):
        at = position(leg, rotation_zyx(*POSE))
        for name, axis, color in (("u", at.u, COLORS[0]), ("w", at.w, COLORS[1]), ("v", at.v, COLORS[2])):
            line = picture.camera.project(np.array([[0.0] * 3, [LABEL_RADIUS * radius * x for x in axis]]))[:, :2]
            axes.plot(*(0.93 * line).T, color=color, linewidth=0.9, linestyle="--")
            axes.annotate(f"{name}{k}", line[1], color=color, ha="center", va="center", annotation_clip=False)
    axes.set_title("The wrist (Figures 1 and 3): motors on u, arcs from u to w and from w to v, platform on v")
    axes.margins(0.1)
    axes.autoscale()
