"""Simplified meshes have few triangles, are close to the originals, and keep their orientation."""

from __future__ import annotations

import sys
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from appell.describe.meshes.mesh_file import read_mesh
from appell.show.meshes.simplify import (
    BUDGET,
    DEVIATION_FACTOR,
    MIN_TRIANGLES,
    area,
    creased,
    simplified,
    size,
    triangle_shares,
    welded,
)
from appell.show.scene.scene import Mesh

MESHES = {
    Path(str(file)).as_posix().partition("robots/")[2]: Path(str(file.locate()))
    for file in files("example-robot-data") or []
}
REAL = [
    "panda_description/meshes/visual/link5.dae",
    "panda_description/meshes/visual/link0.dae",
    "talos_data/meshes/torso/torso_2.STL",
    "talos_data/meshes/v2/hip_z_lo_res.stl",
    "laikago_description/meshes/trunk.obj",
]
METHODS = ["collapsing", "clustering"]


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    """Both methods; clustering is used if fast-simplification is not installed."""
    if request.param == "clustering":
        monkeypatch.setitem(sys.modules, "fast_simplification", None)
    else:
        pytest.importorskip("fast_simplification")
    return request.param


def ball(parts: int = 60) -> Mesh:
    """Return a ball whose triangles share no vertices, as in an STL file."""
    u, v = np.linspace(0, np.pi, parts), np.linspace(0, 2 * np.pi, 2 * parts)
    grid = np.stack(
        [np.outer(np.sin(u), np.cos(v)), np.outer(np.sin(u), np.sin(v)), np.outer(np.cos(u), 1 + 0 * v)], -1
    )
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    soup = np.concatenate([np.stack([a, b, c], 2).reshape(-1, 3), np.stack([a, c, d], 2).reshape(-1, 3)])
    return Mesh(soup, np.arange(len(soup)).reshape(-1, 3))


def cube(parts: int = 1) -> Mesh:
    steps = np.linspace(-1, 1, parts + 1)
    x, y = (each.ravel() for each in np.meshgrid(steps, steps, indexing="ij"))
    points, faces = [], []
    k = np.arange((parts + 1) ** 2).reshape(parts + 1, parts + 1)
    low, high = (k[:-1, :-1], k[1:, :-1], k[1:, 1:]), (k[:-1, :-1], k[1:, 1:], k[:-1, 1:])
    square = np.concatenate([np.stack(half, -1).reshape(-1, 3) for half in (low, high)])
    for axis in range(3):
        for side in (1.0, -1.0):
            faces.append((square if side > 0 else square[:, ::-1]) + len(points) * len(x))
            points.append(np.roll(np.column_stack([x, y, np.full(len(x), side)]), axis, axis=1))
    return Mesh(np.concatenate(points), np.concatenate(faces))


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def samples(mesh: Mesh, count: int, seed: int) -> np.ndarray:
    """Return random points, uniform over a surface."""
    rng = np.random.default_rng(seed)
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    surface = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    which = rng.choice(len(a), count, p=surface / surface.sum())
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return a[which] + u * (b - a)[which] + v * (c - a)[which]


def distance(one: Mesh, other: Mesh) -> float:
    """Return the Hausdorff distance relative to the size; too large by the gaps between samples."""
    farthest = max(
        cKDTree(samples(there, 30_000, 1)).query(samples(here, 5_000, 2))[0].max()
        for here, there in ((one, other), (other, one))
    )
    return float(farthest) / size(one.vertices)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("triangles", [500, 2000])
def test_real_meshes_stay_within_the_stated_distance(name, triangles, method):
    mesh, _ = read_mesh(MESHES[name])[0]
    fewer = simplified(mesh, triangles)
    assert triangles / 2 < len(fewer.faces) <= triangles
    gaps = 2.5 * np.sqrt(2 * area(mesh) / 30_000) / size(mesh.vertices)
    assert distance(mesh, fewer) < DEVIATION_FACTOR / np.sqrt(triangles) + gaps


def test_a_ball_stays_a_ball_with_outward_faces(method):
    mesh = ball()
    fewer = simplified(mesh, 1000)
    a, b, c = (fewer.vertices[fewer.faces[:, i]] for i in range(3))
    outwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c)
    assert (outwards > 0.0).all()
    assert volume(fewer) == pytest.approx(4.18, rel=0.08)
    assert distance(mesh, fewer) < 0.03


def test_a_thin_rod_next_to_a_large_body_is_kept(method):
    rod = Mesh(ball(16).vertices * (0.02, 0.02, 3.0) + (0.0, 0.0, 4.0), ball(16).faces)
    body = ball(120)
    both = Mesh(
        np.concatenate([body.vertices, rod.vertices]), np.concatenate([body.faces, rod.faces + len(body.vertices)])
    )
    fewer = simplified(both, 800)
    assert fewer.vertices[:, 2].max() == pytest.approx(7.0, abs=0.5)
    assert len(fewer.faces) <= 800


def test_small_pieces_far_apart_do_not_vanish(method):
    pieces = [Mesh(0.004 * ball(12).vertices + (0.25 * k, 0.1 * k, 0.0), ball(12).faces) for k in range(5)]
    screws = Mesh(
        np.concatenate([piece.vertices for piece in pieces]),
        np.concatenate([piece.faces + k * len(piece.vertices) for k, piece in enumerate(pieces)]),
    )
    fewer = simplified(screws, 78)
    assert 5 * 4 <= len(fewer.faces) <= 78
    assert cKDTree(fewer.vertices).query([(0.25 * k, 0.1 * k, 0.0) for k in range(5)])[0].max() < 0.006


def test_coincident_vertices_are_merged():
    vertices, faces = welded(ball(20).vertices, ball(20).faces)
    assert len(vertices) == 18 * 39 + 2
    assert len(faces) == 2 * 39 * 18  # half of the triangles in a row at a pole have no area
    assert len(np.unique(np.sort(faces, axis=1), axis=0)) == len(faces)


def test_a_mesh_with_few_triangles_keeps_its_shape():
    fewer = simplified(cube(), 100)
    assert len(fewer.faces) == 12
    assert volume(fewer) == pytest.approx(8.0)


def test_vertices_are_duplicated_along_sharp_edges_only():
    box, round_ = simplified(cube(3), 10_000), simplified(ball(), 20_000)
    assert box.smooth
    assert len(box.vertices) == 6 * 16  # every side has its own vertices
    assert len(round_.vertices) == len(welded(ball().vertices, ball().faces)[0])
    normals = np.cross(*(box.vertices[box.faces[:, i]] - box.vertices[box.faces[:, 0]] for i in (1, 2)))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for k in range(len(box.vertices)):
        about = normals[(box.faces == k).any(axis=1)]
        np.testing.assert_allclose(about, np.broadcast_to(about[0], about.shape), atol=1e-12)
    assert len(creased(*welded(cube(3).vertices, cube(3).faces), angle=np.pi).vertices) == 56


def test_a_mesh_without_triangles_is_accepted():
    empty = simplified(Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64)), 10)
    assert len(empty.faces) == 0


def test_a_budget_is_shared_by_area_and_no_mesh_gets_more_than_it_has():
    large, medium, tiny = (
        ball(80),
        Mesh(0.5 * ball(80).vertices, ball(80).faces),
        Mesh(1e-3 * ball(80).vertices, ball(80).faces),
    )
    coarse = cube()
    share = triangle_shares([large, medium, tiny, coarse], 5000)
    assert share[3] == 12
    assert share[2] == MIN_TRIANGLES
    assert share[0] == pytest.approx(4 * share[1], rel=0.01)
    assert 4800 < sum(share) <= 5000 + MIN_TRIANGLES
    assert triangle_shares([coarse, coarse], BUDGET) == [12, 12]
    assert triangle_shares([], BUDGET) == []
