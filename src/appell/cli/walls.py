"""Walls as they are typed on a command line: plane:0,0,1 or circle:2.5."""

from __future__ import annotations

from appell.cli.numbers import numbers
from appell.errors import ArgumentError, unknown_name
from appell.simulation import Circle, Cylinder, Plane, Sphere
from appell.simulation.surface import Surface

WALLS = {
    "plane": "nx,ny,nz,offset",
    "sphere": "radius,x,y,z",
    "circle": "radius,x,y",
    "cylinder": "radius,x,y,z,ax,ay,az",
}


def surface(text: str, inside: bool = True) -> Surface:
    """A wall from its text, kind:numbers."""
    kind, _, rest = text.partition(":")
    if kind not in WALLS:
        raise ArgumentError(unknown_name("wall", kind, WALLS, "appell"))
    given = numbers(rest, f"--wall {kind}")
    most = WALLS[kind].count(",") + 1
    if len(given) > most or (kind == "plane" and len(given) < 3):
        raise ArgumentError(f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}, the last ones optional")
    if kind == "plane":
        return Plane(given[:3], float(given[3]) if len(given) > 3 else 0.0)
    radius, center = float(given[0]), tuple(given[1 : 3 if kind == "circle" else 4])
    if center and len(center) < (2 if kind == "circle" else 3):
        raise ArgumentError(f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}, the center whole or not at all")
    place = {"center": center} if center else {}
    if kind == "cylinder" and len(given) > 4:
        return Cylinder(radius, center, axis=given[4:], inside=inside)
    return {"sphere": Sphere, "circle": Circle, "cylinder": Cylinder}[kind](radius, inside=inside, **place)
