"""Wavefront OBJ files: `v x y z` lines, `f i/j/k ...` lines, `usemtl NAME`, and the colours of the .mtl file beside.

Corners count from one, or backwards from the last vertex if they are negative. Faces of more corners are fans.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from appell.display.scene import Color
from appell.errors import DescriptionError

LARGEST = 2**20  # bytes of a file of materials


def pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, Color | None]]:
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
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= LARGEST else b""
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
