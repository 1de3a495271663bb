"""The <visual> tags of a URDF: shapes on links, with the colours of <material> tags.

A robot that has none at all is shown by its <collision> shapes. A visual that cannot be read is passed over, and told.
"""

from __future__ import annotations

from collections.abc import Mapping

from appell.describe.build import Builder
from appell.describe.looks import MeshFiles, remarked, visual, within
from appell.describe.urdf_parts import placement
from appell.describe.xml import Element
from appell.model.visual import Visual

SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}

Colors = dict[str, tuple[float, ...]]


def read_visuals(
    builder: Builder, document: Element, links: Mapping[str, Element], files: MeshFiles, notes: list[str]
) -> None:
    """Add the shapes of all links."""
    seen = "visual" if any(True for link in links.values() for _ in link.all("visual")) else "collision"
    tags = [(name, tag) for name, link in links.items() for tag in link.all(seen)]
    colors = _colors(document, [tag for _, tag in tags])
    for name, tag in tags:
        told = f"a <{seen}> of link '{name}' (line {tag.line})"
        found = remarked(notes, told, lambda tag=tag, name=name: _visual(tag, name, colors, files))  # type: ignore[misc]
        if found is not None:
            builder.visuals.append(found)


def _visual(tag: Element, link: str, colors: Colors, files: MeshFiles) -> Visual | None:
    who = f"link '{link}'"
    geometry = tag.need("geometry", who)
    if not geometry.children:
        raise geometry.error("its <geometry> is empty.")
    shape = geometry.children[0]
    pose, color = placement(tag, who), _color(tag.only("material"), colors)
    called = tag.attributes.get("name", "").strip() or link
    if shape.tag == "mesh":
        scale = shape.attributes.get("scale", "").split()
        count = 1 if len(scale) == 1 else 3  # one number is meant for all axes
        size = shape.floats("scale", count, who) * (3 // count) if scale else None
        return visual(link, "mesh", size, pose, color, files.find(shape.text("filename", who)), called)
    if shape.tag == "box":
        return visual(link, "box", shape.floats("size", 3, who), pose, color, "", called)
    if shape.tag not in SIZES:
        raise shape.error(f"<{shape.tag}> is no shape that is known.")
    return visual(link, shape.tag, [shape.float(key, who) for key in SIZES[shape.tag]], pose, color, "", called)


def _color(material: Element | None, colors: Colors) -> tuple[float, ...] | None:
    if material is None:
        return None
    return _own_color(material) or colors.get(material.attributes.get("name", "").strip())


def _colors(document: Element, tags: list[Element]) -> Colors:
    """The colours of named materials: those of the robot, then those that links give and others use."""
    found: Colors = {}
    for material in (*document.all("material"), *(one for tag in tags for one in tag.all("material"))):
        color, name = _own_color(material), material.attributes.get("name", "").strip()
        if color is not None and name:
            found.setdefault(name, color)
    return found


def _own_color(material: Element) -> tuple[float, ...] | None:
    """The colour that a material says itself; None if it says none, or what is none."""
    words = next((color.attributes.get("rgba", "").split() for color in material.all("color")), [])
    try:
        color = within(float(word) for word in words)
    except ValueError:
        return None
    return color if len(color) == 4 else (*color, 1.0) if len(color) == 3 else None
