"""Meshes of solids are closed, point outwards, and have the volume and area of the solids."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.show.scene import solids
from appell.show.scene.poses import rotations
from appell.show.scene.scene import Mesh

BENT = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
HEXAGON = [(np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 0.2) for k in range(6)]
RING = [(np.cos(turn), 0.0, np.sin(turn)) for turn in np.linspace(0.0, 2.0 * np.pi, 61)]
KNOT = [
    (np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t))
    for t in np.linspace(0.0, 2.0 * np.pi, 121)
]
SOLIDS = {
    "box": solids.box(0.2, 0.3, 0.5),
    "sphere": solids.sphere(0.3),
    "ellipsoid": solids.ellipsoid(0.1, 0.2, 0.4),
    "cylinder": solids.cylinder(0.1, 0.6),
    "cone": solids.cone(0.2, 0.0, 0.5),
    "cone on its point": solids.cone(0.0, 0.2, 0.5),
    "frustum": solids.cone(0.2, 0.1, 0.5),
    "capsule": solids.capsule(0.1, 0.4),
    "capsule that is a ball": solids.capsule(0.1, 0.0),
    "rod": solids.rod(0.1, 0.05, 0.4),
    "rod that is one ball": solids.rod(0.1, 0.3, 0.05),
    "arrow": solids.arrow(1.0),
    "tube": solids.tube(BENT, 0.05),
    "tube there and back": solids.tube([(0, 0, 0), (1, 0, 0), (0.2, 0.01, 0)], 0.05),
    "ring": solids.tube(RING, 0.1),
    "knot": solids.tube(KNOT, 0.1),
    "prism": solids.prism(HEXAGON, 0.1),
    "prism the other way round": solids.prism(HEXAGON[::-1], 0.1),
}


def volume(mesh: Mesh) -> float:
    """Return the volume by the divergence theorem; positive if faces point outwards."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.einsum("ni,ni->n", a, np.cross(b, c)).sum() / 6.0)


def area(mesh: Mesh) -> float:
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0)


@pytest.mark.parametrize("name", SOLIDS)
def test_a_solid_is_closed(name):
    """Every edge occurs once per direction, vertices are distinct, and the Euler number is that of a ball or ring."""
    mesh = SOLIDS[name]
    edges = np.concatenate([mesh.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge) for edge in edges[:, ::-1]}
    assert set(mesh.faces.ravel()) == set(range(len(mesh.vertices)))
    assert len(np.unique(np.round(mesh.vertices, 9), axis=0)) == len(mesh.vertices)
    euler = len(mesh.vertices) - len(edges) // 2 + len(mesh.faces)
    assert euler == (0 if name in ("ring", "knot") else 2)


@pytest.mark.parametrize("name", SOLIDS)
def test_faces_point_outwards(name):
    assert volume(SOLIDS[name]) > 0.0


@pytest.mark.parametrize("name", ["box", "sphere", "ellipsoid", "cylinder", "cone", "capsule", "frustum", "prism"])
def test_every_face_of_a_convex_solid_points_away_from_its_centre(name):
    mesh = SOLIDS[name]
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces] - mesh.vertices.mean(axis=0), 1, 0)
    normals = np.cross(b - a, c - a)
    assert (np.einsum("ni,ni->n", normals, a) > 0.0).all()


def round_share(sides: int) -> float:
    """Return the area of a regular polygon relative to its circumscribed circle."""
    return sides / (2.0 * np.pi) * np.sin(2.0 * np.pi / sides)


@pytest.mark.parametrize("sides", [12, 48])
def test_volumes_of_straight_solids_are_exact(sides):
    """Exact up to the polygon that replaces the circle, whose area is known."""
    share = round_share(sides)
    assert volume(solids.box(0.2, 0.3, 0.5)) == pytest.approx(0.03)
    assert area(solids.box(0.2, 0.3, 0.5)) == pytest.approx(2 * (0.06 + 0.1 + 0.15))
    assert volume(solids.cylinder(0.1, 0.6, sides)) == pytest.approx(share * np.pi * 0.01 * 0.6)
    side = 2 * sides * 0.1 * np.sin(np.pi / sides) * 0.6
    assert area(solids.cylinder(0.1, 0.6, sides)) == pytest.approx(share * 2 * np.pi * 0.01 + side)
    assert volume(solids.cone(0.2, 0.1, 0.5, sides)) == pytest.approx(share * np.pi * 0.5 * (0.04 + 0.02 + 0.01) / 3)
    assert volume(solids.cone(0.2, 0.0, 0.5, sides)) == pytest.approx(share * np.pi * 0.04 * 0.5 / 3)
    hexagon = 1.5 * np.sqrt(3.0)
    assert volume(solids.prism(HEXAGON, 0.1)) == pytest.approx(0.1 * hexagon)
    assert area(solids.prism(HEXAGON, 0.1)) == pytest.approx(2 * hexagon + 6 * 0.1)
    straight = solids.tube([(0, 0, 0), (0.3, 0, 0), (0.3, 0.4, 0)], 0.05, sides)
    assert volume(straight) == pytest.approx(share * np.pi * 0.0025 * 0.7)  # a mitre removes as much as it adds


@pytest.mark.parametrize(
    ("maker", "exact_volume", "exact_area"),
    [
        (lambda n: solids.sphere(0.3, n), 4 / 3 * np.pi * 0.027, 4 * np.pi * 0.09),
        (lambda n: solids.ellipsoid(0.1, 0.2, 0.4, n), 4 / 3 * np.pi * 0.008, None),
        (lambda n: solids.capsule(0.1, 0.4, n), np.pi * 0.01 * (0.4 + 4 / 30), 2 * np.pi * 0.1 * (0.4 + 0.2)),
        (lambda n: solids.tube([(np.cos(a), np.sin(a), 0) for a in np.linspace(0, 2 * np.pi, n + 1)], 0.1, n),
         2 * np.pi**2 * 0.01, 4 * np.pi**2 * 0.1),
    ],
)  # fmt: skip
def test_volume_and_area_of_round_solids_converge_quadratically_with_the_sides(maker, exact_volume, exact_area):
    for measure, exact in ((volume, exact_volume), (area, exact_area)):
        if exact is not None:
            coarse, fine = (1.0 - measure(maker(sides)) / exact for sides in (24, 48))
            assert 0.0 < fine < 0.01
            assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_a_rod_has_the_volume_of_the_hull_of_two_balls():
    """Monte Carlo integration of the union of all balls between the two ends, which is their hull."""
    bottom, top, length = 0.2, 0.1, 0.5
    rng = np.random.default_rng(3)
    low, high = np.array([-0.2, -0.2, -0.45]), np.array([0.2, 0.2, 0.35])
    points = rng.uniform(low, high, (200_000, 3))
    share = np.linspace(0.0, 1.0, 201)
    radii, heights = bottom + (top - bottom) * share, length * (share - 0.5)
    across = np.einsum("ni,ni->n", points[:, :2], points[:, :2])
    inside = np.zeros(len(points), bool)
    for radius, height in zip(radii, heights, strict=True):
        inside |= across + (points[:, 2] - height) ** 2 < radius**2
    sampled = inside.mean() * np.prod(high - low)
    assert volume(solids.rod(bottom, top, length, 60)) == pytest.approx(sampled, rel=0.01)


def test_smooth_normals_stay_sharp_at_edges():
    """Averaged normals of a cylinder are along z on its ends and perpendicular to z on its side."""
    mesh = SOLIDS["cylinder"]
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normals = np.zeros_like(mesh.vertices)
    for corner in range(3):
        np.add.at(normals, mesh.faces[:, corner], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    radius, height = np.linalg.norm(mesh.vertices[:, :2], axis=1), np.abs(mesh.vertices[:, 2])
    lid, side = radius < 0.0999, height < 0.2999
    assert lid.sum() == side.sum() + 2
    np.testing.assert_allclose(np.abs(normals[lid]), np.tile([0.0, 0.0, 1.0], (lid.sum(), 1)), atol=1e-9)
    np.testing.assert_allclose(normals[side][:, 2], 0.0, atol=1e-9)
    assert radius[lid].max() > 0.097


def test_a_triad_points_along_the_axes_of_its_frame():
    pose = (1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5)  # maps x to y, y to z, z to x
    parts = solids.triad(0.2, body=4, pose=pose, name="tool")
    assert [part.color for part in parts] == [solids.RED, solids.GREEN, solids.BLUE]
    for part, axis in zip(parts, np.eye(3)[[1, 2, 0]], strict=True):
        tip = rotations(np.array(part.pose)) @ part.mesh.vertices[-1] + np.array(part.pose[:3])
        np.testing.assert_allclose(tip, np.array(pose[:3]) + 0.2 * axis, atol=1e-12)
        assert (part.body, part.layer, part.name) == (4, "frames", "tool")
    assert len({id(part.mesh) for part in parts}) == 1


def test_equal_solids_share_a_read_only_mesh():
    assert solids.sphere(0.3) is solids.sphere(0.3)
    with pytest.raises(ValueError, match="read-only"):
        solids.sphere(0.3).vertices[0] = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: solids.sphere(0.0), "the radius of a sphere is 0.0"),
        (lambda: solids.box(0.1, -0.2, 0.3), "the y of a box is -0.2"),
        (lambda: solids.cylinder(0.1, float("nan")), "the length of a cone is nan"),
        (lambda: solids.cone(-0.1, 0.1, 1.0), "the smaller radius of a cone is -0.1"),
        (lambda: solids.tube([(0, 0, 0), (0, 0, 0)], 0.1), "points of the tube are not distinct"),
        (lambda: solids.prism([(0, 0, 0), (1, 0, 0), (2, 0, 0)], 0.1), "no area"),
    ],
)
def test_invalid_solids_are_rejected(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
