"""What is shown on demand: axes of bodies and frames, centres of mass, ellipsoids of inertia, and what closes loops."""

from __future__ import annotations

import numpy as np

from appell.display import solids
from appell.display.poses import turned_to
from appell.display.scene import WORLD, ScenePart, Strut
from appell.model.constrained import ConstrainedRobot
from appell.model.constraint import Distance, Prescribed, Rolling
from appell.model.constraint.closures import Closure
from appell.model.constraint.constraint import find_frame
from appell.model.constraint.rolling import AXES
from appell.model.frame import Frame
from appell.model.system import System
from appell.motion.pictures.look import COLORS
from appell.motion.pictures.shape import Shape
from appell.motion.staging.blocks import upright
from appell.motion.staging.paint import LIGHT, METAL, numbered, paint
from appell.motion.staging.proportions import Proportions
from appell.motion.staging.visual_parts import pose_numbers

AXIS = 0.13  # length of the axes of a frame, in the robot's size
HEAVIEST = 0.03  # radius of the ball at the centre of the heaviest body
CLEAR = 0.3  # opacity of ellipsoids
SPOKES = 5
TURNING = ("hinge", "cylinder", "slider")  # closures with an axis, which is z of their frames


def frame_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Axes at the origin of every body and at every named frame, those of frames smaller."""
    index = {name: k for k, name in enumerate(shape.names)}
    bodies = [Frame(name, name) for name in shape.names]
    found = [part for own in bodies for part in solids.triad(AXIS * proportions.size, index[own.name], name=own.name)]
    for frame in shape.system.frames:
        body = WORLD if frame.body is None else index[frame.body]
        found += solids.triad(0.75 * AXIS * proportions.size, body, pose_numbers(frame.pose), name=frame.name)
    return found


def center_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Balls at centres of mass, their volumes as the masses."""
    index = {name: k for k, name in enumerate(shape.names)}
    masses = {name: float(body.mass) for name, body in shape.system.bodies.items() if body is not None}
    most = max([mass for mass in masses.values() if np.isfinite(mass)], default=0.0)
    found = []
    for solid in shape.ellipsoids:
        mass = masses.get(solid.body, 0.0)
        if 0.0 < mass <= most:
            radius = HEAVIEST * proportions.size * max(0.15, (mass / most) ** (1.0 / 3.0))
            at, name = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0), f"{solid.body}: {mass:.4g} kg"
            ball = solids.sphere(float(f"{radius:.3g}"), 14)
            found.append(ScenePart(ball, index[solid.body], at, paint(COLORS[4]), "centers", name))
    return found


def inertia_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """The ellipsoids with the mass and moments of all bodies, to look through."""
    index = {name: k for k, name in enumerate(shape.names)}
    found = []
    for k, solid in enumerate(shape.ellipsoids):
        half = np.maximum(np.linalg.norm(solid.axes, axis=0), 10.0 * proportions.least)
        if solid.axes.any() and np.isfinite(half).all():
            mesh = solids.ellipsoid(*(float(f"{x:.6g}") for x in half))
            color = (*numbered(k)[:3], CLEAR)
            found.append(ScenePart(mesh, index[solid.body], upright(solid), color, "inertia", solid.body))
    return found


def loop_parts(system: System, index: dict[str, int], proportions: Proportions) -> tuple[list[ScenePart], list[Strut]]:
    """Rods of constant length, wheels and balls that roll, and joints that close loops."""
    parts: list[ScenePart] = []
    struts: list[Strut] = []
    if not isinstance(system, ConstrainedRobot):
        return parts, struts

    def body(frame: Frame) -> int:
        return WORLD if frame.body is None else index[frame.body]

    for each in system.constraints:
        own = each.constraint if isinstance(each, Prescribed) else each
        if isinstance(own, Distance):
            ends = [find_frame(system.tree, place) for place in (own.a, own.b)]
            places = np.array([[*frame.pose.translation] for frame in ends], float)
            pair = (body(ends[0]), body(ends[1]))
            struts.append(Strut(pair, places, 0.5 * proportions.radius, paint(METAL), "loops", own.name))
            pinned = zip(pair, places, strict=True)
            ball = solids.sphere(0.8 * proportions.radius)
            parts += [
                ScenePart(ball, k, (*at, 0.0, 0.0, 0.0, 1.0), paint(METAL), "loops", own.name) for k, at in pinned
            ]
        elif isinstance(own, Closure):
            frame = find_frame(system.tree, own.a)
            at, knob = pose_numbers(frame.pose), solids.sphere(1.25 * proportions.radius)
            if own.kind in TURNING:
                knob = solids.cylinder(1.25 * proportions.radius, 3.4 * proportions.radius)
            parts.append(ScenePart(knob, body(frame), at, paint(COLORS[4]), "loops", own.name))
        elif isinstance(own, Rolling):
            frame = find_frame(system.tree, own.frame)
            parts += _wheel(own, frame, body(frame), proportions)
    return parts, struts


def _wheel(own: Rolling, frame: Frame, body: int, proportions: Proportions) -> list[ScenePart]:
    """A rim whose outermost points are those that roll, a hub, and spokes that let its turning be seen."""
    at, rubber, metal = pose_numbers(frame.pose), paint("#3a3d42"), paint(LIGHT)
    if own.ball:
        band = solids.tube(_circle(1.005 * own.radius, 32), 0.03 * own.radius, 6)
        rims = [ScenePart(band, body, turned_to(axis, at), metal, "loops", own.name) for axis in np.eye(3)[:2]]
        return [ScenePart(solids.sphere(own.radius), body, at, numbered(1), "loops", own.name), *rims]
    thick = min(0.12 * own.radius, proportions.radius)
    pose = turned_to(np.eye(3)[AXES.index(own.axis)], at)
    hub = solids.cylinder(2.0 * thick, 4.0 * thick)
    rim = solids.tube(_circle(own.radius - thick, 48), thick, 10)
    found = [(rim, rubber), (hub, metal)]
    for turn in 2.0 * np.pi * np.arange(SPOKES) / SPOKES:
        end = (own.radius - thick) * np.array([np.cos(turn), np.sin(turn), 0.0])
        found.append((solids.tube([(0.0, 0.0, 0.0), end.tolist()], 0.35 * thick, 6), metal))
    return [ScenePart(mesh, body, pose, color, "loops", own.name) for mesh, color in found]


def _circle(radius: float, corners: int) -> list[tuple[float, float, float]]:
    turns = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    return [(radius * float(np.cos(turn)), radius * float(np.sin(turn)), 0.0) for turn in turns]
