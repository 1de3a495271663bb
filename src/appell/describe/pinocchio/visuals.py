"""The shapes of a geometry model of Pinocchio, read by their attributes.

Box halfSide      Sphere radius      Cylinder, Capsule radius and halfLength      Ellipsoid radii      meshPath
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from appell.describe.looks import HALVES, within
from appell.errors import DescriptionError
from appell.model.visual import Visual

NUMBERS = {  # of the classes of its shapes
    "box": ("halfSide",),
    "sphere": ("radius",),
    "cylinder": ("radius", "halfLength"),
    "capsule": ("radius", "halfLength"),
    "ellipsoid": ("radii",),
}


def visuals_of(geometry: Any, links: Mapping[int, str], pose: Any) -> Iterator[Visual]:
    """The shapes on the links of a model, by the numbers of their joints; shapes that are none of ours are left out."""
    if not hasattr(geometry, "geometryObjects"):
        raise DescriptionError(
            f"a {type(geometry).__name__} is no geometry model of Pinocchio.",
            expected="what pinocchio.buildGeomFromUrdf(...) gives",
        )
    for each in geometry.geometryObjects:
        body, place = links.get(int(each.parentJoint)), pose(each.placement)
        color: Any = within(float(x) for x in each.meshColor) if each.overrideMaterial else None
        shape = type(each.geometry).__name__.lower()
        if shape in NUMBERS:
            numbers = [x for name in NUMBERS[shape] for x in _listed(getattr(each.geometry, name))]
            size = tuple(float(x) * factor for x, factor in zip(numbers, HALVES[shape], strict=True))
            yield Visual(body, shape, size, place, color, name=each.name)
        elif each.meshPath and "." in each.meshPath:
            yield Visual(body, "mesh", tuple(map(float, each.meshScale)), place, color, each.meshPath, each.name)


def _listed(value: Any) -> list[float]:
    return [float(x) for x in value] if hasattr(value, "__len__") else [float(value)]
