"""Spans of triangles: all samples inside, none outside, none twice between neighbours, and the nearness there."""

from __future__ import annotations

import numpy as np
import pytest

from appell.show.movie import canvas as spans

WIDTH, HEIGHT = 60, 40


def covered(corners):
    """Return sample, nearness and triangle of all fragments."""
    pieces = list(spans.fragments(np.asarray(corners, float), WIDTH, HEIGHT))
    return [np.concatenate([np.empty(0), *(piece[k] for piece in pieces)]) for k in range(3)]


def shares(triangle):
    """Return the barycentric coordinates (3, samples) of all samples, by linear equations."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    points = np.stack([x.ravel(), y.ravel(), np.ones(WIDTH * HEIGHT)])
    return np.linalg.solve(np.column_stack([triangle[:, :2], np.ones(3)]).T, points)


def test_a_triangle_covers_the_samples_inside_with_the_nearness_of_its_plane():
    rng = np.random.default_rng(5)
    for triangle in rng.uniform(-10, 70, (200, 3, 3)):
        share = shares(triangle)
        sample, nearness, _ = covered([triangle])
        inside = np.flatnonzero((share > 0.0).all(axis=0))
        np.testing.assert_array_equal(np.sort(sample), inside)
        np.testing.assert_allclose(nearness, (triangle[:, 2] @ share)[sample.astype(int)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("spread", [0.0, 0.9])  # corners on samples, and elsewhere
def test_neighbours_leave_no_gap_and_cover_no_sample_twice(spread):
    rng = np.random.default_rng(6)
    x, y = np.meshgrid(np.arange(4, 56, 4.0), np.arange(4, 36, 4.0))
    points = np.stack([x, y, np.ones_like(x)], axis=-1)
    points[1:-1, 1:-1, :2] += spread * rng.uniform(-1, 1, (*points[1:-1, 1:-1].shape[:2], 2))
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([c, d, a], axis=2).reshape(-1, 3, 3)]
    )
    sample, _, _ = covered(rng.permutation(triangles))
    count = np.bincount(sample.astype(int), minlength=WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
    expected = np.zeros_like(count)
    expected[4:32, 4:52] = 1  # excluding the last corners
    np.testing.assert_array_equal(count, expected)


def test_processing_in_pieces_gives_the_same_fragments(monkeypatch):
    triangles = np.random.default_rng(7).uniform(0, 60, (50, 3, 3))
    together = covered(triangles)
    monkeypatch.setattr(spans, "MAX_FRAGMENTS", 17)
    assert len(list(spans.fragments(triangles, WIDTH, HEIGHT))) > 20
    for one, other in zip(together, covered(triangles), strict=True):
        np.testing.assert_array_equal(one, other)


def test_non_finite_and_degenerate_triangles_cover_nothing():
    valid = np.array([[0.0, 0.0, 1.0], [20.0, 0.0, 1.0], [0.0, 20.0, 1.0]])
    for wrong in (np.nan, np.inf, -np.inf):
        broken = valid.copy()
        broken[1, 0] = wrong
        _, _, triangle = covered([broken, valid])
        assert set(triangle) == {1}
    assert not len(covered([valid[[0, 1, 1]]])[0])
    assert not len(covered(np.empty((0, 3, 3)))[0])


def test_a_triangle_seen_edge_on_is_not_nearer_than_its_corners():
    thin = np.array(
        [
            [[0.0, 5.0, 1.0], [50.0, 5.0 + 1e-13, 2.0], [25.0, 5.0, 3.0]],
            [[0.0, 0.0, 1.0], [50.0, 39.0, 2.0], [25.0, 19.5 + 1e-12, 3.0]],
        ]
    )
    _, nearness, _ = covered(thin)
    assert ((nearness >= 1.0) & (nearness <= 3.0)).all()
