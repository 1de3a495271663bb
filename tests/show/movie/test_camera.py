"""The camera: projection of points, framing, and clipping behind the camera."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.show.scene.camera import PerspectiveCamera, perspective_camera, view_axes

AXES = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # view along y, z up
CAMERA = PerspectiveCamera(np.array([0.0, -10.0, 0.0]), AXES, 500.0, (160.0, 120.0), 0.5)
FRAME = (10.0, 30.0, 310.0, 210.0)


def test_known_points_are_projected_to_their_pixels():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 10, -2], [2, -5, 1]])
    seen = CAMERA.project(points)
    np.testing.assert_allclose(seen[:, 0], [160, 210, 160, 185, 360])  # 500 px · x / depth, depth 10, 10, 10, 20, 5
    np.testing.assert_allclose(seen[:, 1], [120, 120, 70, 170, 20])
    np.testing.assert_allclose(seen[:, 2], [0.1, 0.1, 0.1, 0.05, 0.2])
    assert np.isnan(CAMERA.project(np.array([0.0, -11.0, 0.0]))).all()


def test_the_ray_of_a_pixel_passes_through_the_point_projected_there():
    points = np.random.default_rng(1).uniform(-2, 2, (50, 3))
    seen = CAMERA.project(points)
    rays = CAMERA.rays(seen[:, 0], seen[:, 1])
    np.testing.assert_allclose(CAMERA.position + rays / seen[:, 2:], points, atol=1e-12)


@pytest.mark.parametrize("view", [(-55, 20), (10, 80), (0, 0), (130, -30)])
@pytest.mark.parametrize("far", [False, True])
def test_all_points_are_in_the_frame_and_fill_it_in_one_direction(view, far):
    points = np.random.default_rng(2).normal(size=(100, 3)) * [1, 2, 0.5] + [5, 0, 1]
    seen = perspective_camera(points, view_axes((0, 0, 1), None, view), FRAME, far).project(points)
    margins = np.column_stack([seen[:, :2] - FRAME[:2], np.array(FRAME[2:]) - seen[:, :2]]).min(axis=0)
    assert (margins > -1e-4).all()
    touched = np.isclose(margins, 0.0, atol=1e-3)
    assert (touched[0] and touched[2]) or (touched[1] and touched[3])
    depth = 1.0 / seen[:, 2]
    assert np.ptp(depth) / depth.mean() < 1e-3 if far else np.ptp(depth) / depth.mean() > 0.05


def test_a_single_point_and_an_empty_scene_are_centred():
    for points in (np.array([[3.0, 4.0, 5.0]]), np.empty((0, 3))):
        camera = perspective_camera(points, AXES, FRAME)
        seen = camera.project(points.mean(axis=0) if len(points) else np.zeros(3))
        np.testing.assert_allclose(seen[:2], [160, 120])


def test_triangles_behind_the_camera_are_clipped():
    """A floor below the camera that extends behind it covers exactly the pixels whose rays meet it."""
    from appell.show.movie.canvas import fragments

    floor = np.array(
        [
            [[-50.0, -60.0, -1.0], [40.0, 31.0, -1.0], [-50.0, 31.0, -1.0]],
            [[-50.0, -60.0, -1.0], [30.0, -40.0, -1.0], [40.0, 31.0, -1.0]],
        ]
    )
    corners, _, which = CAMERA.cut(floor, np.zeros_like(floor))
    assert set(which) == {0, 1}
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    before = np.cross(floor[:, 1] - floor[:, 0], floor[:, 2] - floor[:, 0])[:, 2]
    assert (normals * before[which] > 0.0).all()  # the orientation is kept
    count = np.zeros(320 * 240, int)
    for piece in fragments(CAMERA.project(corners) - [0.5, 0.5, 0.0], 320, 240):
        np.add.at(count, piece.sample, 1)
        np.testing.assert_array_less(piece.nearness, 1.0 / CAMERA.near + 1e-9)
    y, x = np.divmod(np.arange(320 * 240), 320)
    rays = CAMERA.rays(x + 0.5, y + 0.5)
    with np.errstate(divide="ignore"):
        met = CAMERA.position + rays * np.where(rays[:, 2:] < 0.0, -1.0 / rays[:, 2:], np.nan)
    expected = np.zeros(len(met), bool)
    for a, b, c in floor[:, :, :2]:
        share = np.linalg.solve(np.column_stack([b - a, c - a]), (met[:, :2] - a).T)
        expected |= (share > 0).all(axis=0) & (share.sum(axis=0) < 1)
    expected &= (CAMERA.position - met) @ AXES[2] > CAMERA.near
    assert expected.sum() > 20_000
    assert ((count > 0) != expected).sum() <= 2  # a sample on the common side may belong to either
    assert count.max() == 1


def test_an_invalid_view_is_rejected():
    for view in ("above", (1, 2, 3), (1, None)):
        with pytest.raises(ap.ArgumentError, match=r"view is(.|\n)*azimuth, elevation"):
            view_axes((0, 0, 1), None, view)
