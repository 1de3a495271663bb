"""Mesh files as triangles: STL, OBJ and Collada with NumPy alone; PLY, glTF and OFF through trimesh.

A file may contain several materials; each colour is returned as one mesh. Lengths are in metres: Collada files state
their unit, other formats have none. Axes are those of the numbers in the file. Collada's `up_axis` is ignored, because
robot files are written for programs that ignore it (RViz, Gazebo, coal), and half of them state a wrong axis. A scale
that mirrors the mesh also reverses its triangles, so that the outside stays outside.

Files are not trusted: sizes are limited, XML must not declare entities, indices are checked, and triangles without area
or with non-finite corners are dropped. Any problem raises a `DescriptionError` with the name of the file.

STL files, binary and text, list the three corners of every triangle.

    binary   80 bytes of anything, the number n of triangles, n times 50 bytes: normal, three corners, two bytes more
    text     solid NAME ... facet normal x y z outer loop vertex x y z (three times) endloop endfacet ... endsolid

A binary file may begin with "solid" too, so a text file must also contain a facet. The normals are ignored, because
they follow from the corners.

Wavefront OBJ files contain lines `v x y z`, `f i/j/k ...` and `usemtl NAME`; colours are in the .mtl file next to it.
Corner indices start at one; negative ones count backwards from the last vertex. Polygons are split into triangle fans.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from appell.algebra.mesh import Color, Mesh
from appell.describe.meshes import collada
from appell.errors import AppellError, DescriptionError, check_number, needed_package

STL_HEAD = 84
STL_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
STL_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def stl_pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, None]]:
    """Return all triangles of an STL file, without a colour."""
    start = data[:1000].lstrip().lower()
    is_text = start.startswith(b"solid") and (b"facet" in start or b"endsolid" in start)
    count = int.from_bytes(data[80:STL_HEAD], "little") if len(data) >= STL_HEAD else 0
    size = STL_HEAD + STL_RECORD.itemsize * count
    if len(data) >= STL_HEAD and not is_text:
        if len(data) < size:
            present = (len(data) - STL_HEAD) // STL_RECORD.itemsize
            raise DescriptionError(f"the STL file is truncated: it declares {count} triangles and contains {present}.")
        corners = np.frombuffer(data, STL_RECORD, count, STL_HEAD)["corners"].reshape(-1, 3).astype(float)
    elif is_text:
        corners = _text_corners(data)
    else:
        raise DescriptionError(f"the STL file has only {len(data)} bytes.", expected=f"at least {STL_HEAD}")
    return [(corners, np.arange(len(corners)).reshape(-1, 3), None)]


def _text_corners(data: bytes) -> np.ndarray:
    """Return the corners (n, 3) of a text STL file."""
    words = STL_VERTEX.findall(data)
    if len(words) % 3 or b"endsolid" not in data[-1000:].lower():
        raise DescriptionError(f"the STL file is truncated after {len(words)} corners.")
    try:
        return np.array(words, "S40").astype(float).reshape(-1, 3)
    except ValueError as error:
        raise DescriptionError(f"a corner of the STL file is not a number: {error}.") from None


MAX_MATERIAL_FILE_BYTES = 2**20


def obj_pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, Color | None]]:
    """Return the triangles of each material of an OBJ file, with its colour."""
    points: list[list[bytes]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    colors: dict[str, Color] = {}
    triangles = faces.setdefault("", [])
    for number, line in enumerate(data.replace(b"\\\n", b" ").split(b"\n"), 1):
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == b"v":
                points.append(words[1:4])
            elif words[0] == b"f":
                first, *others = (_corner(word, len(points)) for word in words[1:])
                triangles += [(first, *pair) for pair in pairwise(others)]
            elif words[0] == b"usemtl":
                triangles = faces.setdefault(_name(words), [])
            elif words[0] == b"mtllib":
                colors |= _materials(path.parent / _name(words))
        except ValueError:
            where = f"{path}, line {number}"
            raise DescriptionError(f"cannot read the line {line[:60]!r}.", expected="numbers", source=where) from None
    if any(len(point) != 3 for point in points):
        raise DescriptionError("a vertex of the OBJ file has fewer than three numbers.")
    try:
        vertices = np.array(points, "S40").reshape(-1, 3).astype(float)
    except ValueError as error:
        raise DescriptionError(f"a vertex of the OBJ file is not a number: {error}.") from None
    return [(vertices, np.array(rows).reshape(-1, 3), colors.get(name)) for name, rows in faces.items() if rows]


def _corner(word: bytes, count: int) -> int:
    index = int(word.partition(b"/")[0])
    return index - 1 if index > 0 else count + index


def _name(words: list[bytes]) -> str:
    return b" ".join(words[1:]).decode("utf-8", "replace")


def _materials(path: Path) -> dict[str, Color]:
    """Return the diffuse colours of an .mtl file; empty if it is missing or cannot be read."""
    colors: dict[str, Color] = {}
    try:
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_MATERIAL_FILE_BYTES else b""
    except (OSError, ValueError):
        return colors
    name = ""
    for words in (line.split() for line in data.split(b"\n")):
        try:
            if words[:1] == [b"newmtl"]:
                name = _name(words)
            elif words[:1] == [b"Kd"]:
                red, green, blue = (min(max(float(word), 0.0), 1.0) for word in words[1:4])
                colors[name] = (red, green, blue, 1.0)
            elif words[:1] in ([b"d"], [b"Tr"]) and name in colors:
                opacity = float(words[1]) if words[0] == b"d" else 1.0 - float(words[1])
                opacity = min(max(opacity, 0.0), 1.0) or 1.0  # exporters often confuse 0 and 1
                colors[name] = (*colors[name][:3], opacity)
        except (ValueError, IndexError):
            continue
    return colors


MAX_FILE_BYTES = 256 * 2**20
MAX_TRIANGLES = 5_000_000  # per file

# Readers return pieces of one colour each: vertices (n, 3), faces (m, 3), and the colour or None.
Piece = tuple[np.ndarray, np.ndarray, Color | None]

READERS: dict[str, Callable[[bytes, Path], Iterable[Piece]]] = {
    ".stl": stl_pieces,
    ".obj": obj_pieces,
    ".dae": collada.pieces,
}
TRIMESH_FORMATS = (".ply", ".glb", ".gltf", ".off")


def read_mesh(path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0)) -> list[tuple[Mesh, Color | None]]:
    """Read the meshes of a file, one per colour, largest first.

    Parameters
    ----------
    path : file with one of the suffixes .stl, .obj, .dae, .ply, .glb, .gltf or .off
    scale : factors along x, y and z

    Returns
    -------
    list of (Mesh, Color or None)
        Vertices in m; the colour is None for triangles without a colour in the file.

    Raises
    ------
    DescriptionError
        If the file is missing, too large or malformed.
    """
    path = Path(path)
    factors = np.asarray(_checked(scale), float)
    ending = path.suffix.lower()
    if ending not in READERS and ending not in TRIMESH_FORMATS:
        suffixes = ", ".join((*READERS, *TRIMESH_FORMATS))
        raise DescriptionError(f"mesh files '{ending}' are not supported.", expected=suffixes, source=str(path))
    data = _data(path)
    try:
        pieces = READERS[ending](data, path) if ending in READERS else _trimesh_pieces(path)
        colored = _by_color(pieces)
    except AppellError as error:
        raise type(error)(
            error.problem, expected=error.expected, source=error.source or str(path), hint=error.hint
        ) from None
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError, RecursionError) as error:
        raise DescriptionError(f"the mesh file is malformed: {error}.", source=str(path)) from None
    mirrored = np.prod(factors) < 0
    return [(Mesh(points * factors, faces[:, ::-1] if mirrored else faces), color) for points, faces, color in colored]


def _checked(scale: Sequence[float]) -> Sequence[float]:
    if len(scale) != 3:
        raise DescriptionError(f"the scale of a mesh is {tuple(scale)!r}.", expected="(x, y, z)")
    for factor in scale:
        check_number("the scale of a mesh", factor)
    return scale


def _data(path: Path) -> bytes:
    """Return the bytes of a file that is not too large."""
    if path.exists() and not path.is_file():
        raise DescriptionError("the path of the mesh is not a file.", expected="a mesh file", source=str(path))
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(MAX_FILE_BYTES + 1) if size <= MAX_FILE_BYTES else b""
    except FileNotFoundError:
        raise DescriptionError("the mesh file does not exist.", source=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"the mesh file cannot be read: {reason}.", source=str(path)) from None
    if max(size, len(data)) > MAX_FILE_BYTES:
        problem = f"the mesh file has {max(size, len(data)) / 2**20:.0f} MB."
        raise DescriptionError(problem, expected=f"at most {MAX_FILE_BYTES / 2**20:.0f} MB", source=str(path))
    return data


def _valid(vertices: np.ndarray, faces: np.ndarray, color: Color | None) -> Piece:
    """Check indices, and drop triangles with non-finite corners or without area."""
    vertices, faces = np.asarray(vertices, float).reshape(-1, 3), np.asarray(faces, np.int64).reshape(-1, 3)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        invalid = int(faces.min()) if faces.min() < 0 else int(faces.max())
        raise DescriptionError(
            f"a triangle of the mesh has vertex index {invalid}.", expected=f"0 to {len(vertices) - 1}"
        )
    finite = np.isfinite(vertices).all(axis=1) & (np.abs(vertices).max(axis=1, initial=0.0) < 1e12)
    faces = faces[finite[faces].all(axis=1)]
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    faces = faces[np.any(np.cross(b - a, c - a) != 0.0, axis=1)]
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3), color


def _by_color(pieces: Iterable[Piece]) -> list[Piece]:
    """Return one piece per colour, the one with the most triangles first."""
    groups: dict[Color | None, list[Piece]] = {}
    total = 0
    for piece in pieces:
        total += len(piece[1])
        if total > MAX_TRIANGLES:  # checked before the next piece is read: a scene may repeat a mesh many times
            raise DescriptionError(f"the mesh has {total} triangles or more.", expected=f"at most {MAX_TRIANGLES}")
        valid = _valid(*piece)
        if len(valid[1]):
            groups.setdefault(valid[2], []).append(valid)
    if not groups:
        raise DescriptionError("the mesh file contains no triangles.")
    joined = [_joined(group, color) for color, group in groups.items()]
    return sorted(joined, key=lambda piece: -len(piece[1]))


def _joined(pieces: Sequence[Piece], color: Color | None) -> Piece:
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in pieces)])
    faces = np.concatenate([faces + start for (_, faces, _), start in zip(pieces, starts, strict=False)])
    return np.concatenate([vertices for vertices, _, _ in pieces]), faces, color


def _trimesh_pieces(path: Path) -> list[Piece]:
    """Read a file with trimesh, which raises errors of many types."""
    trimesh = needed_package("trimesh", f"a mesh file '{path.suffix}'", "appell[view]")
    try:
        scene = trimesh.load(path, force="scene", process=False)
        pieces = []
        for name in scene.graph.nodes_geometry:
            placement, geometry = scene.graph[name]
            shape = scene.geometry[geometry]
            if hasattr(shape, "faces"):
                pieces.append(_placed(np.asarray(shape.vertices), np.asarray(shape.faces), placement, _color(shape)))
        return pieces
    except Exception as error:
        raise DescriptionError(f"trimesh cannot read the mesh file: {error or type(error).__name__}.") from None


def _placed(vertices: np.ndarray, faces: np.ndarray, placement: np.ndarray, color: Color | None) -> Piece:
    mirrored = np.linalg.det(placement[:3, :3]) < 0
    return vertices @ placement[:3, :3].T + placement[:3, 3], faces[:, ::-1] if mirrored else faces, color


def _color(shape: Any) -> Color | None:
    """Return the main colour of a trimesh geometry, or None if it has none."""
    visual = shape.visual
    if not visual.defined:
        return None
    red, green, blue, opacity = (float(x) / 255.0 for x in getattr(visual, "material", visual).main_color)
    return red, green, blue, opacity
