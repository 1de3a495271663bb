"""Small scenes for tests of the page: a box that swings and falls, and two overlaid arms."""

from __future__ import annotations

import numpy as np

from appell.show.scene.scene import Actor, Chart, Handle, Mark, Mesh, Scene, SceneMotion, ScenePart, SceneSlider, Strut

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = np.array(
    [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
).reshape(-1, 3)
RED, BLUE, GREY = (0.8, 0.1, 0.1, 1.0), (0.1, 0.2, 0.8, 1.0), (0.6, 0.6, 0.6, 1.0)


def box(x: float, y: float, z: float) -> Mesh:
    return Mesh(CORNERS * (x, y, z), SIDES)


def ball(radius: float, sides: int = 24) -> Mesh:
    """Return a closed smooth mesh of 2 sides (sides / 2 - 1) triangles."""
    rows = sides // 2
    angle, turn = np.meshgrid(np.pi * np.arange(1, rows) / rows, 2 * np.pi * np.arange(sides) / sides, indexing="ij")
    middle = np.stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), -np.cos(angle)], -1).reshape(-1, 3)
    vertices = radius * np.vstack([[0, 0, -1], middle, [0, 0, 1]])
    here, there = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [np.stack([0 * here, 1 + there, 1 + here], 1)]
    for row in range(rows - 2):
        a, b = 1 + row * sides + here, 1 + row * sides + there
        faces += [np.stack([a, b, b + sides], 1), np.stack([a, b + sides, a + sides], 1)]
    top = 1 + (rows - 2) * sides
    faces.append(np.stack([0 * here + len(vertices) - 1, top + here, top + there], 1))
    return Mesh(vertices, np.vstack(faces), smooth=True)


def swing(name: str = "arm", phase: float = 0.0, **more) -> Actor:
    """Return a box on a post that swings about y from t = 1 to t = 3, with a jump of half a metre at t = 2."""
    t = np.sort(np.append(np.linspace(1.0, 3.0, 41), 2.0))
    angle = np.sin(3.0 * t + phase)
    poses = np.zeros((len(t), 2, 7))
    poses[..., 6] = 1.0
    poses[:, 1, 2] = 0.5
    poses[21:, 1, 0] = 0.5
    poses[:, 1, 4], poses[:, 1, 6] = np.sin(angle / 2), np.cos(angle / 2)
    energy = np.stack([np.where(np.arange(len(t)) < 21, t, t + 5.0), np.where((t > 1.4) & (t < 1.6), np.nan, -t)], 1)
    start, vector = np.array([-0.3, -0.3, 0.9]), np.array([-0.3, 0.0, 0.3])
    marks = (
        Mark(2.0, "impact", "impact of 'arm', 1.2 N s", ((start, vector),)),
        Mark(2.5, "stick", "sticks"),
        Mark(2.75, "impact", "second impact"),
    )
    parts = (
        ScenePart(box(0.2, 0.2, 0.5), 0, (0, 0, 0.25, 0, 0, 0, 1), GREY, name="post"),
        ScenePart(box(0.2, 0.2, 0.6), 1, (0, 0, 0.3, 0, 0, 0, 1), RED, name="bar"),
        ScenePart(ball(0.1), 1, (0, 0, 0.6, 0, 0, 0, 1), BLUE, name="tip"),
        ScenePart(box(0.5, 0.02, 0.02), 1, color=(0.0, 0.8, 0.0, 1.0), layer="frames", name="axis"),
    )
    chart = Chart("Energy", "J", ("kinetic", "potential"), t, energy)
    made = {
        "parts": parts,
        "struts": (Strut((0, 1), np.array([[0.3, 0.0, 0.0], [0.0, 0.0, 0.6]]), 0.02, name="rope"),),
        "motion": SceneMotion(t, poses, marks, (chart,)),
        "sliders": (SceneSlider("joint", "rad", -1.5, 1.5, 0.25), SceneSlider("rail", "m", -np.inf, np.inf, 0.0)),
        "handles": (Handle("tool", 1, (0, 0, 0.6, 0, 0, 0, 1)),),
    }
    return Actor(name, ("base", "bar"), poses[0], **{**made, **more})


def scene(*actors: Actor, **more) -> Scene:
    pose, glass = (0.9, 0, 0.3, 0, 0, 0, 1), (0.5, 0.6, 0.7, 0.4)
    wall = ScenePart(box(0.05, 0.6, 0.6), pose=pose, color=glass, layer="walls", name="wall")
    return Scene(**{"title": "Swing", "actors": actors or (swing(),), "parts": (wall,), "notes": ("a note",), **more})
