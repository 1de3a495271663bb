"""Small scenes for tests of movies, and pictures of them without captions."""

from __future__ import annotations

import numpy as np

from appell.show.movie.renderer import Renderer
from appell.show.scene.scene import AT_ORIGIN, DEFAULT_LAYERS, Actor, Mark, Mesh, Scene, SceneMotion, ScenePart
from appell.show.scene.solids import box, sphere

SIZE = (320, 240)
RED, BLUE, GREEN = (0.9, 0.2, 0.1, 1.0), (0.1, 0.3, 0.9, 1.0), (0.1, 0.7, 0.2, 1.0)


def at(x, y, z):
    return (x, y, z, 0.0, 0.0, 0.0, 1.0)


def standing(*parts, **options):
    """Return a scene of static parts."""
    return Scene("stand", (Actor("it", (), np.empty((0, 7)), parts),), **options)


def moving(part, t, poses, marks=(), **options):
    """Return a scene of one moving body with a part on it."""
    motion = SceneMotion(np.array(t, float), np.array(poses, float)[:, None], tuple(marks))
    return Scene("move", (Actor("it", ("body",), motion.poses[0], (part,), motion=motion),), **options)


def sheet(width, height, color, pose=AT_ORIGIN):
    """Return a rectangle without thickness, perpendicular to y."""
    x, z = width / 2, height / 2
    return ScenePart(
        Mesh(np.array([[-x, 0, -z], [x, 0, -z], [x, 0, z], [-x, 0, z]]), np.array([[0, 1, 2], [0, 2, 3]])),
        pose=pose,
        color=color,
    )


def ball(radius, color, pose=AT_ORIGIN, body=-1):
    return ScenePart(sphere(radius, 96), body, pose, color)


def block(x, y, z, color, pose=AT_ORIGIN, body=-1):
    return ScenePart(box(x, y, z), body, pose, color)


def impact(t):
    return Mark(t, "impact", "an impact", ((np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.6])),))


def picture(scene, t=0.0, size=SIZE, layers=DEFAULT_LAYERS):
    return Renderer(scene, size, layers).at(t).astype(float)
