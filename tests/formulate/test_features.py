"""Pairs of features: the smallest gap of those that can touch is the distance, and their motion is its derivative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.formulate.distance.closest import Solid, closest
from appell.formulate.distance.features import (
    KINDS,
    BodyMotion,
    feature_pairs,
    has_features,
    touch,
    touch_motion,
)

HERE = Pose()
SPHERE, CAPSULE = Solid("point", (0.0,), 0.2, HERE), Solid("segment", (0.3,), 0.1, HERE)
BOX, BRICK = Solid("box", (0.2, 0.3, 0.15), 0.0, HERE), Solid("box", (0.25, 0.1, 0.35), 0.0, HERE)
CYLINDER, ARC = Solid("cylinder", (0.2, 0.3), 0.0, HERE), Solid("arc", (0.5, 0.6), 0.05, HERE)
PLANE, HOLLOW = Solid("plane", (), 0.0, HERE), Solid("hollow sphere", (1.5,), 0.0, HERE)
TUNNEL = Solid("hollow cylinder", (1.5,), 0.0, HERE)
CONVEX = [
    (SPHERE, SPHERE), (SPHERE, CAPSULE), (CAPSULE, CAPSULE), (SPHERE, BOX), (CAPSULE, BOX), (BOX, BRICK),
    (SPHERE, CYLINDER), (SPHERE, ARC), (SPHERE, PLANE), (CAPSULE, PLANE), (BOX, PLANE), (CYLINDER, PLANE), (ARC, PLANE),
]  # fmt: skip
PAIRS = [*CONVEX, (BOX, HOLLOW), (ARC, TUNNEL), (CAPSULE, TUNNEL)]


def names(pair):
    return " ".join(solid.core for solid in pair)


def random_pose(rng, size):
    rotation = Rotation.random(random_state=rng).as_matrix()
    return Pose(Mat3.of(rotation.tolist()), Vec3.of((size * rng.normal(size=3)).tolist()))


@pytest.mark.parametrize("pair", CONVEX, ids=names)
def test_the_smallest_gap_of_features_is_the_distance(pair):
    rng = np.random.default_rng(5)
    assert has_features(pair[0].core, pair[1].core)
    features, compared = feature_pairs(*pair), 0
    for _ in range(20):
        poses = random_pose(rng, 0.6), random_pose(rng, 0.3)
        expected = closest(*(replace(solid, pose=pose) for solid, pose in zip(pair, poses, strict=True)))
        if expected.distance < 0.01:
            continue
        at = [touch(f.kind, f.data, *(poses[::-1] if f.swapped else poses)) for f in features]
        valid = [each for each in at if all(x > 0.0 for x in each.conditions)]
        if not valid:  # two boxes whose closest features are a corner and an edge or a corner, where they never touch
            assert pair[0].core == pair[1].core == "box"
            continue
        nearest = min(valid, key=lambda each: each.gap)
        compared += 1
        np.testing.assert_allclose(nearest.gap, expected.distance, atol=1e-13)
        difference = nearest.point1 - nearest.point2 - nearest.gap * nearest.normal
        np.testing.assert_allclose(list(difference), 0.0, atol=1e-13)
    assert compared >= 5


@pytest.mark.parametrize("pair", PAIRS, ids=names)
def test_the_motion_of_features_is_the_derivative_of_their_gap(pair):
    rng, h = np.random.default_rng(7), 1e-4
    features = feature_pairs(*pair)
    for feature in features[:: max(1, len(features) // 6)]:
        assert len(feature.data) == KINDS[feature.kind].size
        states = [(Rotation.random(random_state=rng), *rng.normal(size=(5, 3))) for _ in range(2)]

        def bodies(t, states=states):
            for turn, x, v, omega, a, alpha in states:
                R = (Rotation.from_rotvec(omega * t + 0.5 * alpha * t * t) * turn).as_matrix()
                x_t, v_t, omega_t = x + v * t + 0.5 * a * t * t, v + a * t, omega + alpha * t
                yield BodyMotion.of([*R.ravel().tolist(), *np.concatenate([x_t, v_t, omega_t, a, alpha]).tolist()])

        before, now, after = (touch_motion(feature.kind, feature.data, *bodies(t)) for t in (-h, 0.0, h))
        gaps = [m.touch.gap for m in (before, now, after)]
        assert len(now.touch.conditions) == KINDS[feature.kind].conditions
        scale = 1.0 + np.abs(now.drift).max()
        np.testing.assert_allclose(now.speed[0], (gaps[2] - gaps[0]) / (2 * h), atol=1e-6 * scale)
        np.testing.assert_allclose(now.drift[0], (gaps[2] - 2 * gaps[1] + gaps[0]) / h**2, atol=1e-5 * scale)
        slips = [sum(s * np.array(list(a)) for s, a in zip(m.speed, m.axes, strict=True)) for m in (before, after)]
        for axis, drift in zip(now.axes[1:], now.drift[1:], strict=True):
            np.testing.assert_allclose(drift, np.dot(slips[1] - slips[0], list(axis)) / (2 * h), atol=1e-4 * scale)
