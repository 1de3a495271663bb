"""Closed-form distances of shapes, compared with an enumeration of features in extended precision and with mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.distance.closest import Solid, closest
from appell_lab.campaigns.distances import MAX_ERROR_M, examine
from appell_lab.references.exact_distances import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_exact_and_their_points_and_gradients_fit(kind):
    result = examine(kind, 600, seed=7, coal_pairs=0)
    assert result["largest error, m"] < 2e-12 < MAX_ERROR_M  # ties of edges and planes count as parallel below 1e-12
    assert result["largest |p1 - p2 - d n|, m"] < 1e-14
    assert result["largest ||n| - 1|"] < 1e-14
    assert result["derivatives"] > 100
    assert result["derivatives with an error above 1e-7"] <= 1  # a switch within the step of the differences


def capsule(center, direction, half=0.5, radius=0.1):
    x, y = (np.array(v) for v in np.linalg.svd(np.array([direction]))[2][1:])
    columns = np.array([x, np.cross(direction, x), direction]).T
    assert abs(y @ direction) < 1e-12
    return Solid("segment", (half,), radius, Pose(Mat3.of(columns.tolist()), Vec3.of(center)))


@pytest.mark.parametrize("angle", [1.0, 1e-3, 1e-6, 3e-8, 1e-8, 1e-10, 1e-13])
def test_crossing_capsules_of_any_angle_are_exact(angle):
    rng = np.random.default_rng(3)
    for gap in (0.0, 1e-9, 0.3):
        R = Rotation.random(random_state=rng).as_matrix()
        u, v = R[:, 2], np.cos(angle) * R[:, 2] + np.sin(angle) * R[:, 0]
        at = 0.3 * rng.normal(size=3)
        one, other = capsule(at + 0.1 * u + gap * R[:, 1], u), capsule(at - 0.2 * v, v)
        result = closest(one, other)
        assert abs(result.distance - exact_capsules(one, other)) < 2e-15


def exact_capsules(one, other):
    """The distance of two capsules with 40 digits, by enumeration of the ends and the interior."""
    with mpmath.workdps(40):
        ends = []
        for solid in (one, other):
            center, axis = ([mpmath.mpf(x) for x in vector] for vector in (solid.pose.translation, solid.axis))
            ends.append([[c + side * solid.size[0] * a for c, a in zip(center, axis, strict=True)] for side in (-1, 1)])

        def dot(a, b):
            return mpmath.fsum(x * y for x, y in zip(a, b, strict=True))

        def minus(a, b):
            return [x - y for x, y in zip(a, b, strict=True)]

        def to_segment(p, a, b):
            u = minus(b, a)
            t = min(max(dot(minus(p, a), u) / dot(u, u), 0), 1)
            r = [x - y - t * z for x, y, z in zip(p, a, u, strict=True)]
            return dot(r, r)

        (a, b), (c, d) = ends
        candidates = [to_segment(a, c, d), to_segment(b, c, d), to_segment(c, a, b), to_segment(d, a, b)]
        u, v, w = minus(b, a), minus(d, c), minus(c, a)
        det = dot(u, u) * dot(v, v) - dot(u, v) ** 2
        if det > mpmath.mpf(10) ** -36:
            s = (dot(w, u) * dot(v, v) - dot(w, v) * dot(u, v)) / det
            t = (dot(w, u) * dot(u, v) - dot(w, v) * dot(u, u)) / det
            if 0 <= s <= 1 and 0 <= t <= 1:
                r = [x - s * y + t * z for x, y, z in zip(w, u, v, strict=True)]
                candidates.append(dot(r, r))
        return float(mpmath.sqrt(min(candidates)) - one.radius - other.radius)


def test_touching_axes_have_a_normal_across_both():
    one, other = capsule([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), capsule([0.0, 0.0, 0.1], [1.0, 0.0, 0.0])
    result = closest(one, other)
    assert abs(result.normal.y) == 1.0
    assert result.distance == -0.2
    same = closest(one, one)  # parallel axes that touch: any normal across them
    assert abs(same.normal.dot(UNITS[2])) < 1e-15
    assert abs(same.normal.dot(same.normal) - 1.0) < 1e-15


def test_concentric_spheres_have_a_finite_normal():
    ball = Solid("point", (0.0,), 0.2, Pose())
    assert closest(ball, ball).distance == -0.4
    assert closest(ball, ball).normal == UNITS[2]


def test_the_distance_is_continuous_where_the_closest_points_of_parallel_capsules_jump():
    before, after = (
        closest(capsule([0, 0.5, 0], [np.sin(tilt), 0, np.cos(tilt)]), capsule([0, 0, 0], [0, 0, 1.0]), smooth)
        for smooth in (0.0,)
        for tilt in (-1e-6, 1e-6)
    )
    assert abs(before.distance - after.distance) < 1e-11
    smooth = [
        closest(capsule([0.3, 0.5, 0], [0, np.sin(tilt), np.cos(tilt)]), capsule([0, 0, 0], [0, 0, 1.0]), 0.05)
        for tilt in (-1e-6, 1e-6)
    ]
    sharp = [
        closest(capsule([0.3, 0.5, 0], [0, np.sin(tilt), np.cos(tilt)]), capsule([0, 0, 0], [0, 0, 1.0]))
        for tilt in (-1e-6, 1e-6)
    ]
    assert abs(sharp[0].point1.z - sharp[1].point1.z) > 0.8
    assert abs(smooth[0].point1.z - smooth[1].point1.z) < 1e-3


def test_the_smooth_distance_is_within_its_bound_and_its_gradient_fits():
    rng = np.random.default_rng(5)
    p, step = 0.05, 1e-6
    for _ in range(100):
        axes = Rotation.random(2, random_state=rng).as_matrix()[:, :, 2]
        x = rng.normal(size=3)
        other = capsule([0.0, 0.0, 0.0], axes[1], half=0.3)
        exact, smooth = (closest(capsule(x, axes[0]), other, value) for value in (0.0, p))
        core = exact.distance + 0.2
        bound = p * np.sqrt(0.5**2 + 0.3**2 + 0.2**2)
        assert -1e-15 <= smooth.distance + 0.2 - core <= bound
        direction = rng.normal(size=3)
        rates = [closest(capsule(x + side * step * direction, axes[0]), other, p).distance for side in (1, -1)]
        assert abs((rates[0] - rates[1]) / (2 * step) - np.dot([*smooth.normal], direction)) < 1e-8
        plane = Solid("plane", (), 0.0, Pose())
        flat, soft = (closest(capsule(x, axes[0]), plane, value).distance for value in (0.0, p))
        assert 0.0 <= flat - soft <= p * 0.1 * np.log(2.0) + 1e-15
