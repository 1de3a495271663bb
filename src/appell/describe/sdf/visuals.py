"""The <visual> tags of a link in SDF.

One that cannot be read is passed over, and told. Planes and height maps are grounds, no parts of a robot.
"""

from __future__ import annotations

from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.looks import MeshFiles, remarked, visual, within
from appell.describe.sdf.poses import Named, Places, child_text, composed, numbers_of, pose_of
from appell.describe.values import plain
from appell.describe.xml import Element
from appell.model.visual import Visual

# the tags in which a shape has its numbers, and how many
SIZES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "ellipsoid": (("radii", 3),),
}
PASSED_OVER = ("plane", "empty", "heightmap", "image")


def read_visuals(builder: Builder, places: Places, name: str, link: Named, files: MeshFiles, notes: list[str]) -> None:
    """Add the shapes of a link."""
    for tag in link.element.all("visual"):
        told = f"a <visual> of link '{name}' (line {tag.line})"
        found = remarked(notes, told, lambda tag=tag: _visual(tag, places, name, link, files))  # type: ignore[misc]
        if found is not None:
            builder.visuals.append(found)


def _visual(tag: Element, places: Places, link: str, part: Named, files: MeshFiles) -> Visual | None:
    who = f"link '{link}'"
    geometry = tag.need("geometry", who)
    shape = next(iter(geometry.children), None)
    if shape is None or shape.tag in PASSED_OVER:
        return None
    pose, color, name = _pose(tag, places, link, part), _color(tag), tag.attributes.get("name", "").strip() or link
    if shape.tag == "mesh":
        scale = shape.only("scale")
        size = None if scale is None else numbers_of(scale, 3, f"<scale> of {who}")
        return visual(link, "mesh", size, pose, color, files.find(child_text(shape, "uri", who)), name)
    if shape.tag not in SIZES:
        raise shape.error(f"<{shape.tag}> is no shape that is known.")
    size = tuple(
        x for key, count in SIZES[shape.tag] for x in numbers_of(shape.need(key, who), count, f"<{key}> of {who}")
    )
    return visual(link, shape.tag, size, pose, color, "", name)


def _pose(tag: Element, places: Places, link: str, part: Named) -> Pose:
    """In the axes of the link, wherever it was told."""
    pose = tag.only("pose")
    other = pose.attributes.get("relative_to", "").strip() if pose is not None else ""
    own = pose_of(pose, f"a visual of link '{link}'")
    if not other:
        return own
    there = places.pose(places.scoped(other, part.scope), tag)
    return composed(composed(places.pose(link, tag).inverse, there), own)


def _color(tag: Element) -> tuple[float, ...] | None:
    """Diffuse, or else ambient; a <transparency> takes from the opacity."""
    material = next(tag.all("material"), None)
    said = (child for key in ("diffuse", "ambient") for child in (material.all(key) if material is not None else ()))
    words = next((child.content.split() for child in said), [])
    values = [plain(word) for word in words]
    if len(values) not in (3, 4) or None in values:
        return None
    red, green, blue, opacity = within([x for x in (*values, 1.0)[:4] if x is not None])
    faded = next((plain(child.content.strip()) for child in tag.all("transparency")), None) or 0.0
    return red, green, blue, opacity * (1.0 - min(max(faded, 0.0), 1.0))
