"""Mesh files as triangles: STL, OBJ and Collada by NumPy alone, PLY, glTF and OFF through trimesh.

A file may hold several materials; what has one colour comes back as one mesh. Lengths are metres: Collada says its
unit, others have none. Axes are those of the file's numbers, for Collada's `up_axis` too: robots' files are written for
programs that pass it over (RViz, Gazebo, coal), and half of them state an axis that is not theirs. A scale that mirrors
turns the triangles round, so that their outside stays outside.

Files are not trusted: sizes have caps, XML may declare no entities, indices are checked, and triangles with numbers
that are none, or without area, are left out. Whatever is wrong is a `DescriptionError` that names the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.display import collada, stl, wavefront
from appell.display.scene import Color, Mesh
from appell.errors import AppellError, DescriptionError, check_number, needed_package

LARGEST = 256 * 2**20  # bytes of a file
MOST = 5_000_000  # triangles of a file

# what a reader finds: pieces of one colour each, vertices (n, 3), faces (m, 3), colour or None
Piece = tuple[np.ndarray, np.ndarray, Color | None]

OWN: dict[str, Callable[[bytes, Path], Sequence[Piece]]] = {
    ".stl": stl.pieces,
    ".obj": wavefront.pieces,
    ".dae": collada.pieces,
}
BORROWED = (".ply", ".glb", ".gltf", ".off")


def read_mesh(path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0)) -> list[tuple[Mesh, Color | None]]:
    """The meshes of a file, one a colour, the largest first; None is the colour of what the file does not colour."""
    path = Path(path)
    factors = np.asarray(_checked(scale), float)
    ending = path.suffix.lower()
    if ending not in OWN and ending not in BORROWED:
        kinds = ", ".join((*OWN, *BORROWED))
        raise DescriptionError(f"a mesh file '{ending}' cannot be read.", expected=kinds, source=str(path))
    data = _data(path)
    try:
        pieces = OWN[ending](data, path) if ending in OWN else _borrowed(path)
        found = _by_color(_sound(*piece) for piece in pieces)
    except AppellError as error:
        raise type(error)(
            error.problem, expected=error.expected, source=error.source or str(path), hint=error.hint
        ) from None
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError, RecursionError) as error:
        raise DescriptionError(f"the mesh file is broken: {error}.", source=str(path)) from None
    turned = np.prod(factors) < 0
    return [(Mesh(vertices * factors, faces[:, ::-1] if turned else faces), color) for vertices, faces, color in found]


def _checked(scale: Sequence[float]) -> Sequence[float]:
    if len(scale) != 3:
        raise DescriptionError(f"the scale of a mesh is {tuple(scale)!r}.", expected="(x, y, z)")
    for factor in scale:
        check_number("the scale of a mesh", factor)
    return scale


def _data(path: Path) -> bytes:
    """All bytes of a file, unless it is too large."""
    if path.exists() and not path.is_file():
        raise DescriptionError("this is no file that can be read.", expected="a mesh file", source=str(path))
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(LARGEST + 1) if size <= LARGEST else b""
    except FileNotFoundError:
        raise DescriptionError("there is no such mesh file.", source=str(path)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DescriptionError(f"the mesh file cannot be read: {why}.", source=str(path)) from None
    if max(size, len(data)) > LARGEST:
        problem = f"the mesh file has {max(size, len(data)) / 2**20:.0f} MB."
        raise DescriptionError(problem, expected=f"at most {LARGEST / 2**20:.0f} MB", source=str(path))
    return data


def _sound(vertices: np.ndarray, faces: np.ndarray, color: Color | None) -> Piece:
    """A piece whose triangles all have three corners, finite ones, and an area."""
    vertices, faces = np.asarray(vertices, float).reshape(-1, 3), np.asarray(faces, np.int64).reshape(-1, 3)
    if len(faces) > MOST:
        raise DescriptionError(f"the mesh has {len(faces)} triangles.", expected=f"at most {MOST}")
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        wrong = int(faces.min()) if faces.min() < 0 else int(faces.max())
        raise DescriptionError(f"a triangle of the mesh has corner {wrong}.", expected=f"0 to {len(vertices) - 1}")
    whole = np.isfinite(vertices).all(axis=1) & (np.abs(vertices).max(axis=1, initial=0.0) < 1e12)
    faces = faces[whole[faces].all(axis=1)]
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    faces = faces[np.any(np.cross(b - a, c - a) != 0.0, axis=1)]
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3), color


def _by_color(pieces: Iterable[Piece]) -> list[Piece]:
    """One piece a colour, the one with the most triangles first."""
    groups: dict[Color | None, list[Piece]] = {}
    for piece in pieces:
        if len(piece[1]):
            groups.setdefault(piece[2], []).append(piece)
    if not groups:
        raise DescriptionError("the mesh file holds no triangles.")
    joined = [_joined(group, color) for color, group in groups.items()]
    return sorted(joined, key=lambda piece: -len(piece[1]))


def _joined(pieces: Sequence[Piece], color: Color | None) -> Piece:
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in pieces)])
    faces = np.concatenate([faces + start for (_, faces, _), start in zip(pieces, starts, strict=False)])
    if len(faces) > MOST:
        raise DescriptionError(f"the mesh has {len(faces)} triangles.", expected=f"at most {MOST}")
    return np.concatenate([vertices for vertices, _, _ in pieces]), faces, color


def _borrowed(path: Path) -> list[Piece]:
    """What trimesh reads, whose errors are of many kinds."""
    trimesh = needed_package("trimesh", f"a mesh file '{path.suffix}'", "appell[view]")
    try:
        scene = trimesh.load(path, force="scene", process=False)
        found = []
        for name in scene.graph.nodes_geometry:
            placement, geometry = scene.graph[name]
            shape = scene.geometry[geometry]
            if hasattr(shape, "faces"):
                found.append(_placed(np.asarray(shape.vertices), np.asarray(shape.faces), placement, _color(shape)))
        return found
    except Exception as error:
        raise DescriptionError(f"trimesh cannot read the mesh file: {error or type(error).__name__}.") from None


def _placed(vertices: np.ndarray, faces: np.ndarray, placement: np.ndarray, color: Color | None) -> Piece:
    turned = np.linalg.det(placement[:3, :3]) < 0
    return vertices @ placement[:3, :3].T + placement[:3, 3], faces[:, ::-1] if turned else faces, color


def _color(shape: Any) -> Color | None:
    """The colour of most of a shape that has any."""
    looks = shape.visual
    if not looks.defined:
        return None
    red, green, blue, opacity = (float(x) / 255.0 for x in getattr(looks, "material", looks).main_color)
    return red, green, blue, opacity
