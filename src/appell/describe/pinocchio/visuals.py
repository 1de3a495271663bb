"""Convert the shapes of a Pinocchio geometry model by their attributes.

Box halfSide      Sphere radius      Cylinder, Capsule radius and halfLength      Ellipsoid radii      meshPath
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from appell.describe.visuals import SIZE_FACTORS, clipped
from appell.errors import DescriptionError
from appell.model.visual import Visual

SIZE_ATTRIBUTES = {
    "box": ("halfSide",),
    "sphere": ("radius",),
    "cylinder": ("radius", "halfLength"),
    "capsule": ("radius", "halfLength"),
    "ellipsoid": ("radii",),
}


def visuals_of(geometry: Any, links: Mapping[int, str], pose: Any) -> Iterator[Visual]:
    """Yield the supported shapes of a geometry model.

    Parameters
    ----------
    geometry : a `pinocchio.GeometryModel`
    links : names of the links by joint number
    pose : function that converts a placement to a `Pose`
    """
    if not hasattr(geometry, "geometryObjects"):
        raise DescriptionError(
            f"a {type(geometry).__name__} is not a Pinocchio geometry model.",
            expected="a pinocchio.GeometryModel, as from pinocchio.buildGeomFromUrdf(...)",
        )
    for each in geometry.geometryObjects:
        body, placement = links.get(int(each.parentJoint)), pose(each.placement)
        color: Any = clipped(float(x) for x in each.meshColor) if each.overrideMaterial else None
        shape = type(each.geometry).__name__.lower()
        if shape in SIZE_ATTRIBUTES:
            numbers = [x for name in SIZE_ATTRIBUTES[shape] for x in _listed(getattr(each.geometry, name))]
            size = tuple(float(x) * factor for x, factor in zip(numbers, SIZE_FACTORS[shape], strict=True))
            yield Visual(body, shape, size, placement, color, name=each.name)
        elif each.meshPath and "." in each.meshPath:
            yield Visual(body, "mesh", tuple(map(float, each.meshScale)), placement, color, each.meshPath, each.name)


def _listed(value: Any) -> list[float]:
    return [float(x) for x in value] if hasattr(value, "__len__") else [float(value)]
