"""Meshes of level sets: vertices on the surface, closed, and oriented towards positive values."""

from __future__ import annotations

import numpy as np
import pytest

from appell.show.scene.level_set import level_set, thickened
from appell.show.scene.scene import Mesh

LOW, HIGH = np.array([-1.3, -1.2, -1.25]), np.array([1.2, 1.3, 1.35])


def ball(x):
    return 1.0 - np.linalg.norm(x, axis=-1)


def torus(x):
    return 0.3 - np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.8, x[:, 2])


def edges_of(mesh: Mesh) -> np.ndarray:
    return np.concatenate([mesh.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])


def open_edges(mesh: Mesh) -> int:
    """Return the number of edges without a neighbour; no directed edge may occur twice."""
    pairs = [tuple(edge) for edge in edges_of(mesh).tolist()]
    known = set(pairs)
    assert len(known) == len(pairs)
    return sum((b, a) not in known for a, b in pairs)


def flux(mesh: Mesh) -> float:
    """Return the enclosed volume by the divergence theorem; negative if faces point inwards."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.einsum("ni,ni->n", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize(
    ("field", "euler", "volume"), [(ball, 2, 4 / 3 * np.pi), (torus, 0, 2 * np.pi**2 * 0.8 * 0.09)]
)
def test_a_surface_inside_its_box_is_closed_and_exact(field, euler, volume):
    mesh = level_set(field, LOW, HIGH, (30, 30, 30))
    assert np.abs(field(mesh.vertices)).max() < 1e-12
    assert open_edges(mesh) == 0
    assert len(mesh.vertices) - len(edges_of(mesh)) // 2 + len(mesh.faces) == euler
    assert flux(mesh) == pytest.approx(-volume, rel=0.02)  # the field is positive inside, and faces point there
    reversed_mesh = level_set(lambda x: -field(x), LOW, HIGH, (30, 30, 30))
    assert flux(reversed_mesh) == pytest.approx(volume, rel=0.02)


def test_the_volume_converges_quadratically_with_the_cells():
    errors = [4 / 3 * np.pi + flux(level_set(ball, LOW, HIGH, (n, n, n))) for n in (12, 24)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_a_surface_through_grid_points_has_no_degenerate_triangles():
    """The corners and edges of the octahedron are on the grid."""
    low, high = -np.full(3, 2.0), np.full(3, 2.0)
    mesh = level_set(lambda x: 1.0 - np.abs(x).sum(axis=-1), low, high, (8, 8, 8))
    assert open_edges(mesh) == 0
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1e-9
    assert flux(mesh) == pytest.approx(-4 / 3)


@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0, 0), (0.3, -0.5, 0.8), (-1, -1, -1)])
def test_a_plane_is_one_polygon(normal):
    normal = np.array(normal, float) / np.linalg.norm(normal)
    mesh = level_set(lambda x: 3.0 * (x @ normal - 0.2), LOW, HIGH, (7, 7, 7))
    assert 3 <= len(mesh.vertices) <= 6
    assert len(mesh.faces) == len(mesh.vertices) - 2
    np.testing.assert_allclose(mesh.vertices @ normal, 0.2, atol=1e-12)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    assert (np.cross(b - a, c - a) @ normal > 0.0).all()
    assert (mesh.vertices >= LOW - 1e-12).all()
    assert (mesh.vertices <= HIGH + 1e-12).all()
    on_box = np.isclose(mesh.vertices, LOW, atol=1e-12) | np.isclose(mesh.vertices, HIGH, atol=1e-12)
    assert (on_box.sum(axis=1) >= 2).all()  # each vertex is on an edge of the box


def test_a_surface_outside_the_box_is_empty():
    for field in (lambda x: x[:, 2] + 5.0, lambda x: 5.0 + ball(x), lambda x: np.full(len(x), np.nan)):
        assert len(level_set(field, LOW, HIGH, (5, 5, 5)).faces) == 0


def test_there_is_no_surface_where_a_function_is_nan():
    with np.errstate(invalid="ignore"):
        mesh = level_set(lambda x: np.sqrt(x[:, 0]) - 0.5 + 0.1 * x[:, 1] ** 2, LOW, HIGH, (20, 20, 20))
    assert len(mesh.faces)
    assert mesh.vertices[:, 0].min() > 0.0
    np.testing.assert_allclose(np.sqrt(mesh.vertices[:, 0]) + 0.1 * mesh.vertices[:, 1] ** 2, 0.5, atol=1e-12)


def test_a_thick_sheet_is_closed_and_has_its_volume():
    """The sheet is an open tube of radius 1, thickened outwards by 0.1."""
    low, high = np.array([-1.3, -1.3, -0.2]), np.array([1.3, 1.3, 0.2])
    mesh = level_set(lambda x: 1.0 - np.hypot(x[:, 0], x[:, 1]), low, high, (60, 60, 1))
    radial = mesh.vertices * np.array([1.0, 1.0, 0.0])
    thick = thickened(mesh, 0.1 * radial)
    assert open_edges(thick) == 0
    assert flux(thick) == pytest.approx(0.4 * np.pi * (1.21 - 1.0), rel=0.01)
