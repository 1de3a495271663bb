"""Convex hulls of collision shapes: more exact than capsules around them (`describe.covers`), and slower.

A hull has a limited number of vertices and a radius around it, with which it contains the shape: distances of hulls
are too small by at most both radii. The radius is 0 for meshes whose hulls have few vertices. A cylinder becomes a
prism around it, an ellipsoid a polyhedron around it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, overload

import numpy as np

from appell.algebra.hull import Hull, convex_hull, reduced_hull
from appell.algebra.mesh import Mesh
from appell.algebra.scalar import is_number
from appell.describe.covers import Shaped, check_shaped, mesh_of
from appell.errors import ArgumentError, DescriptionError, value_text
from appell.model.collision import Collision
from appell.model.system import System

HULL_VERTICES = 32
MIN_VERTICES, MAX_VERTICES = 8, 256  # pairs of edges are compared: 4 times as many for twice as many vertices
HULLED = ("mesh", "cylinder", "ellipsoid")
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@overload
def hull(shape: Collision, vertices: int = HULL_VERTICES) -> Collision: ...


@overload
def hull(shape: Shaped, vertices: int = HULL_VERTICES) -> Shaped: ...


def hull(shape: Any, vertices: int = HULL_VERTICES) -> Any:
    """Return the convex hull of a shape, or a robot with hulls in place of its meshes, cylinders and ellipsoids.

    Distances, collisions and margins of the robot are then those of the hulls. Optimisation (`smooth` distances) and
    control loops still use capsules.

    Parameters
    ----------
    shape : shape, or a robot or mechanism; shapes other than meshes, cylinders and ellipsoids are returned unchanged
    vertices : largest number of vertices of each hull, from 8 to 256

    Returns
    -------
    Collision, or the copy of a robot
        A "hull" with the name of the shape, on its body. `size` holds the radius in m around the hull that covers the
        shape, `triangles` the hull; `excess` is the volume beyond that of the shape, relative to it.

    Raises
    ------
    ArgumentError
        If the number of vertices is out of range, or `shape` is neither a Collision nor a tree of links.
    DescriptionError
        If the file of a mesh cannot be read, or its points coincide or are not finite.

    Examples
    --------
    >>> import appell as ap
    >>> prism = ap.hull(ap.Collision("arm", "cylinder", (0.05, 0.5)))
    >>> prism.shape, len(prism.triangles.vertices), round(prism.excess, 4)
    ('hull', 32, 0.0131)
    >>> robot = ap.load("planar-2r").with_collisions(ap.Collision("lower", "cylinder", (0.1, 0.5)))
    >>> [each.shape for each in ap.hull(robot).collisions]
    ['hull']
    """
    if not is_number(vertices) or vertices != int(vertices) or not MIN_VERTICES <= vertices <= MAX_VERTICES:
        raise ArgumentError(
            f"a hull of {value_text(vertices)} vertices was requested.",
            expected=f"an integer from {MIN_VERTICES} to {MAX_VERTICES}",
        )
    check_shaped("ap.hull", shape)
    if isinstance(shape, System):
        robot: Any = shape
        replaced = [each for each in robot.tree.collisions if each.shape in HULLED]
        hulls = (hull(each, vertices) for each in replaced)
        return robot.with_collisions(*hulls, without=[each.name for each in replaced])
    if shape.shape not in HULLED:
        return shape
    if shape.shape == "mesh":
        reduced, radius, volume = _mesh_hull(shape, int(vertices))
    else:
        reduced, radius = convex_hull(_points_around(shape, int(vertices))), 0.0
        a, b = shape.size[:2]
        volume = math.pi * a * a * b if shape.shape == "cylinder" else 4.0 / 3.0 * math.pi * math.prod(shape.size)
    corners = reduced.vertices[reduced.triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    excess = (reduced.volume + area * radius) / volume - 1.0 if volume else math.inf if radius else 0.0
    mesh = Mesh(reduced.vertices, reduced.triangles)
    return replace(shape, shape="hull", size=(radius,), file="", triangles=mesh, excess=max(float(excess), 0.0))


def _mesh_hull(shape: Collision, vertices: int) -> tuple[Hull, float, float]:
    """Return a reduced hull of a mesh, the radius around it, and the volume of the complete hull."""
    points = np.asarray(mesh_of(shape).vertices, float)
    if not len(points) or not np.isfinite(points).all() or not np.ptp(points, axis=0).max() > 0.0:
        problem = f"collision shape '{shape.name}' is degenerate: all {len(points)} corners of its mesh coincide."
        if len(points) and not np.isfinite(points).all():
            problem = f"collision shape '{shape.name}' has corners that are not finite."
        raise DescriptionError(problem, expected="a mesh with an extent", source=shape.file)
    reduced, radius = reduced_hull(points, vertices)
    return reduced, radius, reduced.volume if not radius else convex_hull(points).volume


def _points_around(shape: Collision, vertices: int) -> np.ndarray:
    """Return the corners of a prism around a cylinder, or of a polyhedron around an ellipsoid."""
    if shape.shape == "cylinder":
        radius, length = shape.size
        sides = vertices // 2
        angle = 2.0 * math.pi * np.arange(sides) / sides
        rim = radius / math.cos(math.pi / sides) * np.column_stack([np.cos(angle), np.sin(angle)])
        return np.concatenate([np.column_stack([rim, np.full(sides, side * 0.5 * length)]) for side in (-1.0, 1.0)])
    z = 1.0 - (2.0 * np.arange(vertices) + 1.0) / vertices
    turn, level = GOLDEN_ANGLE * np.arange(vertices), np.sqrt(1.0 - z * z)
    on_ball = np.column_stack([level * np.cos(turn), level * np.sin(turn), z])
    return np.asarray(on_ball / convex_hull(on_ball).heights.min() * np.array(shape.size))
