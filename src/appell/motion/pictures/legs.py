"""Bodies of a mechanism in closed form, drawn along the outlines that they were given, a colour a leg.

A closed, flat and convex outline is a plate; any other is a tube. Where two bodies are pinned to each other they belong
to one leg, unless one of them is what all legs hold.
"""

from __future__ import annotations

import numpy as np

from appell.display import solids
from appell.display.poses import turned_to
from appell.display.scene import WORLD, Color, Mesh, Part
from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import Polyline
from appell.motion.pictures.limbs import boxes
from appell.motion.pictures.measure import Measure
from appell.motion.pictures.paint import GROUND, METAL, numbered, paint
from appell.motion.pictures.shape import SHORT, Shape

FLAT = 1e-6  # how far from its plane the corners of a plate are, in its size
PLATE = 1.2  # its thickness in radii of the rods
BALL, DRUM, WIDTH = 1.5, 1.4, 2.8  # joints in radii of the rods


def leg_parts(shape: Shape, measure: Measure, color: Color | None) -> list[Part]:
    """Tubes and plates, joints, and boxes of bodies without an outline."""
    system = shape.system
    assert isinstance(system, Mechanism)
    index = {name: k for k, name in enumerate(shape.names)}
    leg = _legs(system)
    found = [
        Part(mesh, WORLD, color=paint(GROUND), name="world")
        for line in system.outlines
        for mesh in _drawn(line, measure.radius)
    ]
    for part in system.parts:
        paints = color or numbered(leg[part.name])
        found += [
            Part(mesh, index[part.name], color=paints, name=part.name) for mesh in _drawn(part.outline, measure.radius)
        ]
    for body, place in shape.joints:
        at = (*place.tolist(), 0.0, 0.0, 0.0, 1.0)
        knob, pose = solids.sphere(BALL * measure.radius), at
        if measure.normal is not None:  # of a planar mechanism all joints turn about one axis
            knob = solids.cylinder(DRUM * measure.radius, WIDTH * measure.radius)
            pose = turned_to(measure.normal, at)
        found.append(Part(knob, WORLD if body is None else index[body], pose, paint(METAL), name=body or "world"))
    return found + boxes([e for e in shape.ellipsoids if e.bare], index, measure, color)


def _drawn(line: Polyline, radius: float) -> list[Mesh]:
    points = np.array(line, float).reshape(-1, 3)
    if len(points) < 2 or np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= SHORT:
        return []
    return [solids.prism(points[:-1], PLATE * radius)] if _is_plate(points) else [solids.tube(points, radius)]


def _is_plate(points: np.ndarray) -> bool:
    """Whether a line is the rim of a flat convex plate."""
    size = float(np.ptp(points, axis=0).max())
    if len(points) < 4 or np.abs(points[0] - points[-1]).max() > FLAT * size:
        return False
    corners = points[:-1] - points[:-1].mean(axis=0)
    edges = np.roll(corners, -1, axis=0) - corners
    turns = np.cross(edges, np.roll(edges, -1, axis=0))
    normal = turns.sum(axis=0)
    normal = normal / (np.linalg.norm(normal) or 1.0)
    return bool((turns @ normal > 0.0).all() and np.abs(corners @ normal).max() <= FLAT * size)


def _legs(system: Mechanism) -> dict[str, int]:
    """The leg of every body, by number: bodies pinned together, once what most are pinned to is taken away."""
    names = [part.name for part in system.parts]
    if not system.pins:
        return {name: k for k, name in enumerate(names)}
    pairs = [(pin.body, pin.other) for pin in system.pins if pin.other is not None]
    count = {name: sum(name in pair for pair in pairs) for name in names}
    held = max(names, key=lambda name: count[name])
    if count[held] < 3:
        held = ""
    leg = {name: k for k, name in enumerate(names)}
    for _ in names:
        for one, other in pairs:
            if held not in (one, other) and other is not None:
                leg[one] = leg[other] = min(leg[one], leg[other])
    order = list(dict.fromkeys(leg[name] for name in names))
    return {name: order.index(leg[name]) for name in names}
