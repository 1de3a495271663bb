"""Collada files (.dae): the meshes of the scene in metres, with the diffuse colours of their materials.

    scene ─▶ visual_scene ─▶ node (transformations in order) ─▶ node ... ─▶ instance_geometry ─▶ mesh ─▶ triangles

Numbers are converted by NumPy in whole arrays, which takes a hundredth of the time of a loop. Polygons are split into
fans around their first corner. Skins are shown in their bind pose. Textures are ignored: a textured material has no
colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from appell.algebra.mesh import Color
from appell.errors import DescriptionError

MAX_DEPTH = 100  # of nested tags, and of nested nodes
MAX_NODES = 10_000  # of a scene, counting repeated instances

Piece = tuple[np.ndarray, np.ndarray, Color | None]


def pieces(data: bytes, path: Path) -> Iterator[Piece]:
    """Yield every primitive of the scene, placed in it."""
    return _Document(_parsed(data)).pieces()


def _parsed(data: bytes) -> Element:
    """Return the root element; a document that declares entities is rejected before any is expanded."""
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DescriptionError(f"tags are nested more than {MAX_DEPTH} levels deep.")
        builder.start(tag.rpartition(":")[2], attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition(":")[2])

    def refuse(*_: object) -> None:
        raise DescriptionError("the file declares a document type or an entity.", hint="Remove <!DOCTYPE ...>.")

    parser.buffer_text, parser.buffer_size = True, 2**20
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DescriptionError(f"line {error.lineno} is not XML: {expat.ErrorString(error.code)}.") from None
    return builder.close()


class _Document:
    """A document whose elements refer to each other by `#id`."""

    def __init__(self, root: Element):
        self.root = root
        self.by_id = {key: element for element in root.iter() if (key := element.get("id"))}
        unit = root.find("asset/unit")
        self.unit = float((unit.get("meter") or "1") if unit is not None else "1")
        self.shown = 0

    def pieces(self) -> Iterator[Piece]:
        start = np.diag([self.unit, self.unit, self.unit, 1.0])
        scene = self.target(self.root.find("scene/instance_visual_scene"))
        if scene is None:
            scene = self.root.find("library_visual_scenes/visual_scene")
        if scene is None:
            return (piece for shape in self.root.iter("geometry") for piece in self.placed(shape, start, {}))
        return (piece for node in scene.findall("node") for piece in self.of_node(node, start, 0))

    def target(self, element: Element | None, key: str = "url") -> Element | None:
        """Return the element that another one refers to, or None."""
        return None if element is None else self.by_id.get((element.get(key) or "").removeprefix("#"))

    def of_node(self, node: Element, placement: np.ndarray, depth: int) -> Iterator[Piece]:
        self.shown += 1
        if depth > MAX_DEPTH or self.shown > MAX_NODES:
            raise DescriptionError(
                f"the scene has more than {MAX_NODES} nodes, or nodes nested more than {MAX_DEPTH} levels deep."
            )
        for child in node:
            if child.tag in TRANSFORMATIONS:
                placement = placement @ TRANSFORMATIONS[child.tag](_floats(child.text))
        for child in node:
            referenced = self.target(child) if child.tag.startswith("instance_") else None
            if child.tag == "node":
                yield from self.of_node(child, placement, depth + 1)
            elif child.tag == "instance_node" and referenced is not None:
                yield from self.of_node(referenced, placement, depth + 1)
            elif child.tag == "instance_geometry" and referenced is not None:
                yield from self.placed(referenced, placement, self.materials(child))
            elif child.tag == "instance_controller" and referenced is not None:
                skin = referenced.find("skin")
                shape, bind_matrix = self.target(skin, "source"), referenced.find("skin/bind_shape_matrix")
                if shape is not None:
                    bind = _matrix(_floats(bind_matrix.text)) if bind_matrix is not None else np.eye(4)
                    yield from self.placed(shape, placement @ bind, self.materials(child))

    def placed(self, shape: Element, placement: np.ndarray, materials: dict[str, Element]) -> Iterator[Piece]:
        """Yield the primitives of a geometry; triangles of a mirrored node are reversed."""
        mesh = shape.find("mesh")
        for primitive in mesh if mesh is not None else ():
            if primitive.tag in CORNERS:
                vertices, faces = self.triangles(primitive)
                symbol = primitive.get("material") or ""
                material = materials.get(symbol, self.by_id.get(symbol))
                mirrored = np.linalg.det(placement[:3, :3]) < 0
                points = vertices @ placement[:3, :3].T + placement[:3, 3]
                yield points, faces[:, ::-1] if mirrored else faces, self.color(material)

    def triangles(self, primitive: Element) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices of the source and the corner indices of all triangles of a primitive."""
        inputs = primitive.findall("input")
        offsets = [int(item.get("offset") or 0) for item in inputs]
        if min(offsets, default=0) < 0:
            raise DescriptionError(
                f"an <input> of a <{primitive.tag}> has offset {min(offsets)}.", expected="0 or more"
            )
        stride = 1 + max(offsets, default=0)
        vertex = next((item for item in inputs if item.get("semantic") == "VERTEX"), None)
        source = self.target(vertex, "source")
        positions = None
        if source is not None and source.tag == "vertices":
            inputs_of_source = (item for item in source.findall("input") if item.get("semantic") == "POSITION")
            positions = self.target(next(inputs_of_source, None), "source")
        if vertex is None or positions is None:
            raise DescriptionError(f"a <{primitive.tag}> has no positions.")
        counts = _integers(primitive.findtext("vcount")) if primitive.tag == "polylist" else None
        indices = [_integers(p.text) for p in primitive.iter("p")]
        if any(len(part) % stride for part in indices):
            raise DescriptionError(f"a <{primitive.tag}> is truncated.", expected=f"{stride} numbers per corner")
        offset = int(vertex.get("offset") or 0)
        corners = [part[offset::stride] for part in indices]
        return self.positions(positions), CORNERS[primitive.tag](corners, counts)

    def positions(self, source: Element) -> np.ndarray:
        array, accessor = source.find("float_array"), source.find("technique_common/accessor")
        values = _floats(array.text if array is not None else "")
        stride = int((accessor.get("stride") if accessor is not None else None) or 3)
        start = int((accessor.get("offset") if accessor is not None else None) or 0)
        if stride < 3 or start < 0:
            raise DescriptionError(f"positions have {stride} numbers each.", expected="3")
        rows = (len(values) - start) // stride
        return values[start : start + max(rows, 0) * stride].reshape(-1, stride)[:, :3]

    def materials(self, instance: Element) -> dict[str, Element]:
        """Return the materials of an instance by the symbols that its primitives use."""
        pairs = ((item.get("symbol") or "", self.target(item, "target")) for item in instance.iter("instance_material"))
        return {symbol: material for symbol, material in pairs if material is not None}

    def color(self, material: Element | None) -> Color | None:
        effect = self.target(material.find("instance_effect")) if material is not None else None
        diffuse = next(effect.iter("diffuse"), None) if effect is not None else None
        values = _floats(diffuse.findtext("color")) if diffuse is not None else ()
        if len(values) not in (3, 4):
            return None
        red, green, blue, opacity = (float(min(max(x, 0.0), 1.0)) for x in (*values[:3], *(*values[3:], 1.0)[:1]))
        return red, green, blue, opacity or 1.0  # some exporters write 0 for opaque materials


def _floats(text: str | None) -> np.ndarray:
    return np.fromstring(text or "", float, sep=" ")


def _integers(text: str | None) -> np.ndarray:
    return np.fromstring(text or "", np.int64, sep=" ")


# ---- corners of triangles from the corners of each <p>


def _triangles(corners: list[np.ndarray], counts: np.ndarray | None) -> np.ndarray:
    corner_list = np.concatenate([*corners, np.zeros(0, np.int64)])
    return corner_list[: len(corner_list) // 3 * 3].reshape(-1, 3)


def _polygons(corners: list[np.ndarray], counts: np.ndarray | None) -> np.ndarray:
    """Return triangle fans of polygons; a polygon is one <p>, or the number of corners given in `counts`."""
    corner_list = np.concatenate([*corners, np.zeros(0, np.int64)])
    counts = np.array([len(part) for part in corners], np.int64) if counts is None else counts
    if counts.sum() > len(corner_list) or (counts < 0).any():
        raise DescriptionError(f"polygons need {counts.sum()} corners, but only {len(corner_list)} are given.")
    firsts = np.cumsum(counts) - counts
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(firsts, fans)
    step = np.arange(fans.sum()) - np.repeat(np.cumsum(fans) - fans, fans) + 1
    return corner_list[np.column_stack([first, first + step, first + step + 1])]


def _fans(corners: list[np.ndarray], counts: np.ndarray | None) -> np.ndarray:
    return _polygons(corners, None)


def _strips(corners: list[np.ndarray], counts: np.ndarray | None) -> np.ndarray:
    """Return the triangles of strips, in which every second triangle is reversed."""
    strips = [np.column_stack([part[:-2], part[1:-1], part[2:]]) for part in corners if len(part) > 2]
    for strip in strips:
        strip[1::2] = strip[1::2, ::-1]
    return np.concatenate([*strips, np.zeros((0, 3), np.int64)])


CORNERS = {
    "triangles": _triangles,
    "polylist": _polygons,
    "polygons": _fans,
    "trifans": _fans,
    "tristrips": _strips,
}


# ---- transformations of a node


def _matrix(values: np.ndarray) -> np.ndarray:
    return values.reshape(4, 4)


def _translate(values: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = values
    return matrix


def _rotate(values: np.ndarray) -> np.ndarray:
    """Return the rotation about an axis by an angle in degrees (Rodrigues' formula)."""
    axis, angle = values[:3] / np.linalg.norm(values[:3]), math.radians(values[3])
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    matrix = np.eye(4)
    matrix[:3, :3] += math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)
    return matrix


def _scale(values: np.ndarray) -> np.ndarray:
    return np.diag([*values.reshape(3), 1.0])


TRANSFORMATIONS = {"matrix": _matrix, "translate": _translate, "rotate": _rotate, "scale": _scale}
