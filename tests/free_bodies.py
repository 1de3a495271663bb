"""Floating rigid bodies with named points."""

from __future__ import annotations

from appell import Builder, Robot


def free_body(points, mass=1.0, inertia=(0.1, 0.1, 0.1), gravity=(0.0, 0.0, -9.81), name="body") -> Robot:
    """Return a body with its centre of mass at the origin and points c0, c1, ... on it."""
    builder = Builder(name, base="floating", root="body", gravity=gravity)
    builder.root_body(mass, (0.0, 0.0, 0.0), inertia)
    for k, point in enumerate(points):
        builder.frame(f"c{k}", on="body", xyz=point)
    return builder.build()


def box(gravity=(0.0, 0.0, -9.81)) -> Robot:
    """Return a box with its four lower corners as points, 0.1 m below the centre."""
    return free_body([(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.3, 0.3)], 2.0, (0.05, 0.04, 0.06), gravity, "box")
