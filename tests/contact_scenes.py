"""Scenes of a few bodies for contacts of shapes, in space and in the x-y plane."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import appell as ap

FINE_SOLVER = ap.Solver(rtol=1e-13, atol=1e-14)
GRAVITY = 9.81
IDENTITY = [0.0, 0.0, 0.0, 1.0]


MOTIONS = json.loads((Path(__file__).parent / "simulation" / "data" / "contact_motions.json").read_text())


def reference(name: str) -> dict:
    """Return the first reference motion whose name starts with a text."""
    return next(motion for motion in MOTIONS["simulations"] if motion["name"].startswith(name))


def reference_names(start: str) -> list[str]:
    """Return the names of all reference motions that start with a text."""
    return [motion["name"] for motion in MOTIONS["simulations"] if motion["name"].startswith(start)]


def ball_inertia(mass: float, radius: float) -> tuple[float, float, float]:
    return (0.4 * mass * radius**2,) * 3


def box_inertia(mass: float, sides) -> tuple[float, float, float]:
    x, y, z = sides
    return (mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12)


def free_bodies(*bodies, gravity: float = GRAVITY) -> ap.Builder:
    """Return a builder with free bodies: (name, shape, size, mass), with the inertia of balls and boxes."""
    build = ap.Builder("scene", root=None, gravity=(0, 0, -gravity))
    for name, shape, size, mass in bodies:
        radius = size[0] + (0.5 * size[1] if shape in ("capsule", "cylinder") else 0.0)
        inertia = box_inertia(mass, size) if shape == "box" else ball_inertia(mass, radius)
        build.link(name, ap.Floating(), mass=mass, inertia=inertia)
        build.collision(name, shape, size)
    return build


def planar_body(build: ap.Builder, name: str, mass: float, inertia: float) -> None:
    """Add a body with the coordinates x, y and its angle in the x-y plane."""
    build.link(f"{name} x", ap.Prismatic(axis=(1, 0, 0)), mass=0.0)
    build.link(f"{name} y", ap.Prismatic(axis=(0, 1, 0)), parent=f"{name} x", mass=0.0)
    build.link(name, ap.Revolute(axis=(0, 0, 1)), parent=f"{name} y", mass=mass, inertia=(inertia,) * 3)


def planar_scene(name: str, mass: float, inertia: float, gravity: float = GRAVITY) -> ap.Builder:
    """Return a builder with one body in the x-y plane; gravity is along -y."""
    build = ap.Builder("plane", root=None, gravity=(0, -gravity, 0))
    planar_body(build, name, mass, inertia)
    return build


def world_velocities(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return linear and angular velocity of one free body in world axes."""
    x, y, z, w = q[3:7]
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return np.concatenate([R @ v[:3], R @ v[3:]])
