"""Capsules around shapes that have no closed-form distance: meshes, cylinders, ellipsoids and arcs.

A capsule with the axis through o along the unit vector u covers points x at heights tᵢ = u·(xᵢ - o) and distances ρᵢ
from the axis if its radius r is at least max ρᵢ and its ends are

    low ≤ min (tᵢ + √(r² - ρᵢ²))          high ≥ max (tᵢ - √(r² - ρᵢ²))                                          (1)

so that a capsule is conservative by construction. Direction, offset and r of the smallest volume are searched by
Nelder-Mead from the best of many directions. A capsule of two points contains their segment, so that it contains the
convex hull of the points. A mesh may be open: its convex hull is covered.

`excess` of a cover is the part of its volume beyond that of the covered shape, relative to the shape. Capsules around
`parts` of a hull, cut across its longest axis, fit more tightly: each part is convex and has its own capsule.
"""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.mesh import Mesh
from appell.algebra.rotation import Pose, rotation_of_z_to
from appell.algebra.vector import Vec3
from appell.describe.meshes.mesh_file import read_mesh
from appell.errors import ArgumentError, DescriptionError, Hint, value_text
from appell.model.collision import Collision
from appell.model.system import System

COVERED = ("mesh", "hull", "cylinder", "ellipsoid", "arc")
START_DIRECTIONS = 60
STARTS = 3  # from which the volume is minimised
MAX_STEPS = 400  # of Nelder-Mead per start
MAX_ARC_PIECE = 0.35  # rad
FORMAT = "capsules 1"  # change this if the same shapes give different capsules
Shaped = TypeVar("Shaped", bound=System)
Capsule = tuple[np.ndarray, np.ndarray, float]  # both ends of the axis and the radius


@overload
def cover(shape: Collision, parts: int = 1) -> tuple[Collision, ...]: ...


@overload
def cover(shape: Shaped, parts: int = 1) -> Shaped: ...


def cover(shape: Any, parts: int = 1) -> Any:
    """Return capsules and spheres that contain a shape, or a robot with capsules in place of meshes and ellipsoids.

    Parameters
    ----------
    shape : shape of any kind except a plane, or a robot or mechanism
    parts : number of pieces into which the hull of a mesh is cut

    Returns
    -------
    tuple of Collision, or the copy of a robot
        Capsules with the name of the shape, on its body; a sphere or capsule is returned unchanged.

    Raises
    ------
    ArgumentError
        If `shape` is neither a Collision nor a tree of links.
    DescriptionError
        If the file of a mesh cannot be read, or its points coincide.

    Examples
    --------
    >>> import appell as ap
    >>> (capsule,) = ap.cover(ap.Collision("arm", "cylinder", (0.05, 0.5)))
    >>> capsule.shape, [round(x, 4) for x in capsule.size], round(capsule.excess, 3)
    ('capsule', [0.0502, 0.4909], 0.125)
    """
    check_shaped("ap.cover", shape)
    if isinstance(shape, System):
        robot: Any = shape
        replaced = [each for each in robot.tree.collisions if each.shape in ("mesh", "hull", "ellipsoid")]
        capsules = (capsule for each in replaced for capsule in cover(each, parts))
        return robot.with_collisions(*capsules, without=[each.name for each in replaced])
    if shape.shape in ("sphere", "capsule"):
        return (shape,)
    if shape.shape == "arc":
        return _arc_pieces(shape)
    if shape.shape == "ellipsoid":
        return (_around_ellipsoid(shape),)
    if shape.shape == "cylinder":
        return (_around_cylinder(shape),)
    if shape.shape == "box":
        half = 0.5 * np.array(shape.size)
        points = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    else:
        points = mesh_of(shape).vertices
    radius = shape.size[0] if shape.shape == "hull" else 0.0
    return tuple(_placed(shape, *piece) for piece in _fitted(points, parts, shape, radius))


def check_shaped(function: str, shape: Any) -> None:
    """Raise ArgumentError unless `shape` is a Collision or a system with a tree of links, which can have shapes."""
    if not isinstance(shape, Collision) and (not isinstance(shape, System) or shape.tree is None):
        raise ArgumentError(
            f"the shape of {function} is {value_text(shape)}.",
            expected="a Collision, or a robot: a tree of links, with or without loops",
            hint="Load a robot with ap.load(...) first." if isinstance(shape, str) else "",
        )


def mesh_of(shape: Collision) -> Mesh:
    """Return the triangles of a mesh in axes of the shape, in m."""
    if shape.shape == "hull" and shape.triangles is not None:
        return shape.triangles
    if shape.triangles is not None:
        return replace(shape.triangles, vertices=np.asarray(shape.triangles.vertices, float) * np.array(shape.size))
    try:
        meshes = [mesh for mesh, _ in read_mesh(shape.file, shape.size)]
    except DescriptionError as error:
        raise DescriptionError(
            f"collision shape '{shape.name}' cannot be read: {error.problem}",
            expected=error.expected,
            source=error.source,
            hint=error.hint
            or Hint("Pass the folder of the meshes as {package_dirs}, or use a simpler shape.", package_dirs="..."),
        ) from None
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def _fitted(points: np.ndarray, parts: int, shape: Collision, radius: float) -> list[tuple[Capsule, float]]:
    """Return capsules around the parts of a hull with a radius around it, each with its excess."""
    points = np.unique(points, axis=0)
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    if not np.isfinite(points).all() or extent == 0.0:
        problem = f"collision shape '{shape.name}' is degenerate: all {len(points)} corners of its mesh coincide."
        raise DescriptionError(problem, expected="a mesh with an extent", source=shape.file)
    pieces = [points]
    for _ in range(parts - 1):  # cut the longest piece
        pieces.sort(key=lambda piece: float(np.ptp(piece @ _main_axes(piece).T, axis=0).max()))
        pieces += _halves(pieces.pop())
    fitted = []
    for piece in pieces:
        corners, volume = _hull(piece)
        low, high, thin = smallest_capsule(corners)
        capsule = low, high, thin + radius
        fitted.append((capsule, capsule_volume(capsule) / volume - 1.0 if volume > 0.0 else math.inf))
    return fitted


def _hull(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the corners and the volume of the hull of points; all points and 0 if they are in a plane."""
    from scipy import spatial

    try:
        hull = spatial.ConvexHull(points)
    except (spatial.QhullError, ValueError):
        return points, 0.0
    return points[hull.vertices], float(hull.volume)


def _main_axes(points: np.ndarray) -> np.ndarray:
    """Return the principal directions of points as rows, the longest first."""
    return np.linalg.svd(points - points.mean(axis=0), full_matrices=True)[2]


def _halves(points: np.ndarray) -> list[np.ndarray]:
    """Cut the hull of points across its longest principal direction."""
    from scipy import spatial

    direction = _main_axes(points)[0]
    height = points @ direction
    height = height - 0.5 * (height.min() + height.max())
    try:
        triangles = spatial.ConvexHull(points).simplices
    except (spatial.QhullError, ValueError):
        triangles = np.array([(i, j, j) for i in range(len(points)) for j in range(i)])
    a, b = (np.concatenate([triangles[:, k] for k in order]) for order in ((0, 1, 2), (1, 2, 0)))
    crossing = height[a] * height[b] < 0.0
    a, b = a[crossing], b[crossing]
    share = (height[a] / (height[a] - height[b]))[:, None]
    section = points[a] + share * (points[b] - points[a])
    return [np.concatenate([points[side], section]) for side in (height >= 0.0, height <= 0.0)]


def smallest_capsule(points: np.ndarray) -> Capsule:
    """Return a capsule of small volume around points (n, 3): the ends (3,) of its axis and its radius, in m."""
    from scipy.optimize import minimize

    center, rng = 0.5 * (points.min(axis=0) + points.max(axis=0)), np.random.default_rng(0)
    points = points - center
    size = float(np.abs(points).max())
    directions = np.concatenate([_main_axes(points), rng.normal(size=(START_DIRECTIONS, 3))])
    starts = []
    for direction in directions:
        basis = _basis(direction / np.linalg.norm(direction))
        flat = points @ basis[:2].T
        offset = 0.5 * (flat.min(axis=0) + flat.max(axis=0)) / size
        for slack in (0.0, 0.3):
            x = np.array([0.0, 0.0, *offset, slack])
            starts.append((_volume(x, basis, points, size), x, basis))
    starts.sort(key=lambda start: start[0])
    best: tuple[float, np.ndarray, np.ndarray] = starts[0]
    for _, x, basis in starts[:STARTS]:
        options = {"maxfev": MAX_STEPS, "xatol": 1e-5, "fatol": 1e-9 * size**3}
        result = minimize(_volume, x, (basis, points, size), method="Nelder-Mead", options=options)
        if result.fun < best[0]:
            best = result.fun, result.x, basis
    low, high, radius = _capsule(*best[1:], points, size)
    return low + center, high + center, radius


def _basis(u: np.ndarray) -> np.ndarray:
    return np.array([[*row] for row in rotation_of_z_to(Vec3.of(u)).T.rows])


def _capsule(x: np.ndarray, basis: np.ndarray, points: np.ndarray, size: float) -> Capsule:
    """The capsule (1) of parameters: tilt of the axis, offset / size, and √((r - max ρ) / size)."""
    u = basis[2] + x[0] * basis[0] + x[1] * basis[1]
    u = u / math.sqrt(u @ u)
    o = size * (x[2] * basis[0] + x[3] * basis[1])
    t = (points - o) @ u
    rho2 = np.maximum(((points - o) ** 2).sum(axis=1) - t * t, 0.0)
    radius = math.sqrt(rho2.max()) * (1.0 + 1e-12) + size * x[4] ** 2
    cap = np.sqrt(np.maximum(radius * radius - rho2, 0.0))
    low, high = float((t + cap).min()), float((t - cap).max())
    if low > high:
        low = high = 0.5 * (low + high)
    return o + low * u, o + high * u, radius


def _volume(x: np.ndarray, basis: np.ndarray, points: np.ndarray, size: float) -> float:
    return capsule_volume(_capsule(x, basis, points, size))


def capsule_volume(capsule: Capsule) -> float:
    """Return the volume of a capsule, m³."""
    low, high, r = capsule
    return math.pi * r * r * (math.dist(low, high) + 4.0 / 3.0 * r)


def _placed(shape: Collision, capsule: Capsule, excess: float) -> Collision:
    low, high, radius = capsule
    length, middle = math.dist(low, high), Vec3.of(0.5 * (low + high))
    same = {"file": "", "triangles": None, "excess": excess}
    if length < 1e-9 * radius:
        pose = shape.pose @ Pose(translation=middle)
        return replace(shape, shape="sphere", size=(radius + length,), pose=pose, **same)  # type: ignore[arg-type]
    pose = shape.pose @ Pose(rotation_of_z_to(Vec3.of((high - low) / length)), middle)
    return replace(shape, shape="capsule", size=(radius, length), pose=pose, **same)  # type: ignore[arg-type]


def _around_cylinder(shape: Collision) -> Collision:
    """The smallest capsule along the axis of a cylinder: its round ends contain the rims, (1)."""
    radius, length = shape.size
    r = radius * np.linspace(1.0, math.hypot(1.0, 0.5 * length / radius), 2001)
    inner = np.maximum(length - 2.0 * np.sqrt(r * r - radius * radius), 0.0)
    volumes = math.pi * r * r * (inner + 4.0 / 3.0 * r)
    k = int(volumes.argmin())
    excess = float(volumes[k]) / (math.pi * radius**2 * length) - 1.0
    low, high = (np.array([0.0, 0.0, side * 0.5 * inner[k]]) for side in (-1.0, 1.0))
    return _placed(shape, (low, high, float(r[k])), excess)


def _around_ellipsoid(shape: Collision) -> Collision:
    """With half axes a ≥ b ≥ c, the capsule of radius b and half length a - b along a contains the ellipsoid."""
    longest = int(np.argmax(shape.size))
    c, b, a = sorted(shape.size)
    along = (a - b) * np.eye(3)[longest]
    capsule = -along, along, b
    return _placed(shape, capsule, capsule_volume(capsule) / (4.0 / 3.0 * math.pi * a * b * c) - 1.0)


def _arc_pieces(shape: Collision) -> tuple[Collision, ...]:
    """Capsules along the chords of an arc, moved outward by half of their height, which is added to the radius."""
    radius, angle, thickness = shape.size
    count = math.ceil(angle / MAX_ARC_PIECE)
    half = 0.5 * angle / count
    height = radius * (1.0 - math.cos(half))
    pieces = []
    for k in range(count):
        middle = -0.5 * angle + (2 * k + 1) * half
        radial, tangent = np.array([math.cos(middle), math.sin(middle), 0.0]), [-math.sin(middle), math.cos(middle), 0]
        at, along = (radius - 0.5 * height) * radial, radius * math.sin(half) * np.array(tangent)
        capsule = at - along, at + along, thickness + 0.5 * height
        volume = math.pi * thickness**2 * (2.0 * half * radius + 4.0 / 3.0 * thickness)
        pieces.append(_placed(shape, capsule, capsule_volume(capsule) / volume - 1.0))
    return tuple(pieces)


def packed(capsules: tuple[Collision, ...]) -> bytes:
    """Return capsules as bytes for a cache."""
    rows = [
        [
            len(shape.size),
            *shape.size,
            *[0.0] * (2 - len(shape.size)),
            shape.excess,
            *shape.pose.translation,
            *(x for row in shape.pose.rotation.rows for x in row),
        ]
        for shape in capsules
    ]
    file = io.BytesIO()
    np.save(file, np.array(rows, float), allow_pickle=False)
    return file.getvalue()


def unpacked(data: bytes, shape: Collision) -> tuple[Collision, ...]:
    """Return the capsules of a shape from the bytes of `packed`."""
    capsules = []
    for count, radius, length, excess, *numbers in np.load(io.BytesIO(data), allow_pickle=False).tolist():
        rotation = Mat3.of((numbers[3:6], numbers[6:9], numbers[9:12]))
        kind, size = ("sphere", (radius,)) if count == 1 else ("capsule", (radius, length))
        pose = Pose(rotation, Vec3.of(numbers[:3]))
        capsules.append(replace(shape, shape=kind, size=size, pose=pose, file="", triangles=None, excess=excess))
    return tuple(capsules)
