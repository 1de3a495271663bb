"""Read the <visual> tags of a link in SDF.

A shape that cannot be read is skipped with a warning. Planes and height maps represent the ground and are skipped.
"""

from __future__ import annotations

from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.sdf.poses import NamedPart, PoseGraph, child_text, compose, numbers_of, pose_of
from appell.describe.values import parse_decimal
from appell.describe.visuals import MeshFiles, clipped, read_or_note, visual
from appell.describe.xml import Element
from appell.model.visual import Visual

# tags with the dimensions of a shape, and the number of values in each
SIZES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "ellipsoid": (("radii", 3),),
}
SKIPPED_SHAPES = ("plane", "empty", "heightmap", "image")


def read_visuals(
    builder: Builder, graph: PoseGraph, name: str, link: NamedPart, files: MeshFiles, notes: list[str]
) -> None:
    """Add the shapes of a link to the builder; `notes` receives those that could not be read."""
    for tag in link.element.all("visual"):
        what = f"a <visual> of link '{name}' (line {tag.line})"
        shape = read_or_note(notes, what, lambda tag=tag: _visual(tag, graph, name, link, files))  # type: ignore[misc]
        if shape is not None:
            builder.visuals.append(shape)


def _visual(tag: Element, graph: PoseGraph, link: str, part: NamedPart, files: MeshFiles) -> Visual | None:
    owner = f"link '{link}'"
    geometry = tag.need("geometry", owner)
    shape = next(iter(geometry.children), None)
    if shape is None or shape.tag in SKIPPED_SHAPES:
        return None
    pose, color, name = _pose(tag, graph, link, part), _color(tag), tag.attributes.get("name", "").strip() or link
    if shape.tag == "mesh":
        scale = shape.only("scale")
        size = None if scale is None else numbers_of(scale, 3, f"<scale> of {owner}")
        return visual(link, "mesh", size, pose, color, files.find(child_text(shape, "uri", owner)), name)
    if shape.tag not in SIZES:
        raise shape.error(f"<{shape.tag}> is not a supported shape.", expected=", ".join((*SIZES, "mesh")))
    size = tuple(
        x for key, count in SIZES[shape.tag] for x in numbers_of(shape.need(key, owner), count, f"<{key}> of {owner}")
    )
    return visual(link, shape.tag, size, pose, color, "", name)


def _pose(tag: Element, graph: PoseGraph, link: str, part: NamedPart) -> Pose:
    """Return the pose of a shape in the axes of the link."""
    pose = tag.only("pose")
    base = pose.attributes.get("relative_to", "").strip() if pose is not None else ""
    relative_pose = pose_of(pose, f"a visual of link '{link}'")
    if not base:
        return relative_pose
    base_pose = graph.pose(graph.scoped(base, part.scope), tag)
    return compose(compose(graph.pose(link, tag).inverse, base_pose), relative_pose)


def _color(tag: Element) -> tuple[float, ...] | None:
    """Return the diffuse or else the ambient colour; <transparency> reduces the opacity."""
    material = next(tag.all("material"), None)
    colors = (child for key in ("diffuse", "ambient") for child in (material.all(key) if material is not None else ()))
    words = next((child.content.split() for child in colors), [])
    values = [parse_decimal(word) for word in words]
    if len(values) not in (3, 4) or None in values:
        return None
    red, green, blue, opacity = clipped([x for x in (*values, 1.0)[:4] if x is not None])
    transparency = next((parse_decimal(child.content.strip()) for child in tag.all("transparency")), None) or 0.0
    return red, green, blue, opacity * (1.0 - min(max(transparency, 0.0), 1.0))
