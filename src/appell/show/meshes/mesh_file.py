"""Mesh files as triangles: STL, OBJ and Collada by NumPy alone, PLY, glTF and OFF through trimesh.

A file may hold several materials; what has one colour comes back as one mesh. Lengths are metres: Collada says its
unit, others have none. Axes are those of the file's numbers, for Collada's `up_axis` too: robots' files are written for
programs that pass it over (RViz, Gazebo, coal), and half of them state an axis that is not theirs. A scale that mirrors
turns the triangles round, so that their outside stays outside.

Files are not trusted: sizes have caps, XML may declare no entities, indices are checked, and triangles with numbers
that are none, or without area, are left out. Whatever is wrong is a `DescriptionError` that names the file.

STL files, binary and text: triangles with the corners of each, three at a time.

    binary   80 bytes of anything, the number n of triangles, n times 50 bytes: normal, three corners, two bytes more
    text     solid NAME ... facet normal x y z outer loop vertex x y z (three times) endloop endfacet ... endsolid

Binary files may begin with "solid" too, so a text has to have a facet. The normals say nothing that the corners do not.

Wavefront OBJ files: `v x y z` lines, `f i/j/k ...` lines, `usemtl NAME`, and the colours of the .mtl file beside.

Corners count from one, or backwards from the last vertex if they are negative. Faces of more corners are fans.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import AppellError, DescriptionError, check_number, needed_package
from appell.show.meshes import collada
from appell.show.scene.scene import Color, Mesh

STL_HEAD = 84
STL_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
STL_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def stl_pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, None]]:
    """All triangles, without a colour."""
    start = data[:1000].lstrip().lower()
    is_text = start.startswith(b"solid") and (b"facet" in start or b"endsolid" in start)
    count = int.from_bytes(data[80:STL_HEAD], "little") if len(data) >= STL_HEAD else 0
    size = STL_HEAD + STL_RECORD.itemsize * count
    if len(data) >= STL_HEAD and not is_text:
        if len(data) < size:
            held = (len(data) - STL_HEAD) // STL_RECORD.itemsize
            raise DescriptionError(f"the STL file is cut short: it says {count} triangles and holds {held}.")
        corners = np.frombuffer(data, STL_RECORD, count, STL_HEAD)["corners"].reshape(-1, 3).astype(float)
    elif is_text:
        corners = _written(data)
    else:
        raise DescriptionError(f"an STL file cannot have {len(data)} bytes.", expected=f"at least {STL_HEAD}")
    return [(corners, np.arange(len(corners)).reshape(-1, 3), None)]


def _written(data: bytes) -> np.ndarray:
    """The corners of a text file, one below the other."""
    words = STL_VERTEX.findall(data)
    if len(words) % 3 or b"endsolid" not in data[-1000:].lower():
        raise DescriptionError(f"the STL file is cut short after {len(words)} corners.")
    try:
        return np.array(words, "S40").astype(float).reshape(-1, 3)
    except ValueError as error:
        raise DescriptionError(f"a corner of the STL file is no number: {error}.") from None


LARGEST_MATERIALS = 2**20  # bytes of a file of materials


def obj_pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, Color | None]]:
    """The triangles of each material, and its colour."""
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
            raise DescriptionError(f"the line is {line[:60]!r}.", expected="numbers", source=where) from None
    if any(len(point) != 3 for point in points):
        raise DescriptionError("a vertex of the OBJ file has less than three numbers.")
    try:
        vertices = np.array(points, "S40").reshape(-1, 3).astype(float)
    except ValueError as error:
        raise DescriptionError(f"a vertex of the OBJ file is no number: {error}.") from None
    return [(vertices, np.array(found).reshape(-1, 3), colors.get(name)) for name, found in faces.items() if found]


def _corner(word: bytes, count: int) -> int:
    index = int(word.partition(b"/")[0])
    return index - 1 if index > 0 else count + index


def _name(words: list[bytes]) -> str:
    return b" ".join(words[1:]).decode("utf-8", "replace")


def _materials(path: Path) -> dict[str, Color]:
    """The diffuse colours of a file of materials; none if it is not there or cannot be understood."""
    colors: dict[str, Color] = {}
    try:
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= LARGEST_MATERIALS else b""
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
                colors[name] = (
                    *colors[name][:3],
                    min(max(opacity, 0.0), 1.0) or 1.0,
                )  # 0 and 1 are often taken for each other
        except (ValueError, IndexError):
            continue
    return colors


LARGEST = 256 * 2**20  # bytes of a file
MOST = 5_000_000  # triangles of a file

# what a reader finds: pieces of one colour each, vertices (n, 3), faces (m, 3), colour or None
Piece = tuple[np.ndarray, np.ndarray, Color | None]

OWN: dict[str, Callable[[bytes, Path], Iterable[Piece]]] = {
    ".stl": stl_pieces,
    ".obj": obj_pieces,
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
        found = _by_color(pieces)
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
    total = 0
    for piece in pieces:
        total += len(piece[1])
        if total > MOST:  # before the next one is made: a scene may show one mesh a thousand times
            raise DescriptionError(f"the mesh has {total} triangles or more.", expected=f"at most {MOST}")
        sound = _sound(*piece)
        if len(sound[1]):
            groups.setdefault(sound[2], []).append(sound)
    if not groups:
        raise DescriptionError("the mesh file holds no triangles.")
    joined = [_joined(group, color) for color, group in groups.items()]
    return sorted(joined, key=lambda piece: -len(piece[1]))


def _joined(pieces: Sequence[Piece], color: Color | None) -> Piece:
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in pieces)])
    faces = np.concatenate([faces + start for (_, faces, _), start in zip(pieces, starts, strict=False)])
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
