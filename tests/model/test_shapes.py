"""Textbook bodies against integrals over their volume on a grid of points."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.model import shapes

N = 60  # points per side: the relative error of the midpoint rule is 1 / N²


def moments(points: np.ndarray, mass: float) -> np.ndarray:
    second = mass * points.T @ points / len(points)
    return np.trace(second) * np.eye(3) - second


def grid(*sides: float) -> np.ndarray:
    lines = [(np.arange(N) + 0.5) / N * side - side / 2 if side else np.zeros(1) for side in sides]
    return np.stack([axis.ravel() for axis in np.meshgrid(*lines, indexing="ij")], axis=1)


def round_grid(radius: float, length: float) -> np.ndarray:
    points = grid(2 * radius, 2 * radius, length)
    return points[np.hypot(points[:, 0], points[:, 1]) <= radius]


def ball(radius: float) -> np.ndarray:
    points = grid(2 * radius, 2 * radius, 2 * radius)
    return points[np.linalg.norm(points, axis=1) <= radius]


CASES = {
    "point": (shapes.point(3.0), np.zeros((1, 3)), 1e-15),
    "rod": (shapes.rod(3.0, 0.7), grid(0.7, 0, 0), 1e-3),
    "rod along y": (shapes.rod(3.0, 0.7, "y"), grid(0, 0.7, 0), 1e-3),
    "plate": (shapes.plate(3.0, 0.7, 0.3), grid(0.7, 0.3, 0), 1e-3),
    "plate across x": (shapes.plate(3.0, 0.7, 0.3, "x"), grid(0, 0.7, 0.3), 1e-3),
    "plate across y": (shapes.plate(3.0, 0.7, 0.3, "y"), grid(0.3, 0, 0.7), 1e-3),
    "box": (shapes.box(3.0, 0.7, 0.3, 0.2), grid(0.7, 0.3, 0.2), 1e-3),
    "sphere": (shapes.sphere(3.0, 0.2), ball(0.2), 1e-2),  # the grid cuts the surface
    "cylinder": (shapes.cylinder(3.0, 0.2, 0.9), round_grid(0.2, 0.9), 1e-2),
    "cylinder along x": (shapes.cylinder(3.0, 0.2, 0.9, "x"), round_grid(0.2, 0.9)[:, [2, 0, 1]], 1e-2),
}


@pytest.mark.parametrize(("body", "points", "error"), CASES.values(), ids=CASES)
def test_the_moments_of_a_shape_agree_with_integrals_over_its_volume(body, points, error):
    inertia = np.array([list(row) for row in body.inertia.rows])
    np.testing.assert_allclose(inertia, moments(points, 3.0), atol=error * max(1e-12, np.abs(inertia).max()))
    assert body.flaw() == ""


def test_a_shape_has_the_given_centre_of_mass():
    assert tuple(shapes.rod(1.0, 2.0, com=[1.0, 0.0, 0.0]).com) == (1.0, 0.0, 0.0)


def test_a_point_mass_on_a_string_moves_like_a_mathematical_pendulum():
    """A mass on a string of 0.5 m: θ̈ = -g sin θ / l."""
    arm = ap.Builder("pendulum", root=None)
    arm.link("mass", ap.Revolute((0, 1, 0)), body=ap.shapes.point(2.0, (0.0, 0.0, -0.5)))
    dyn = ap.Dynamics(arm.build())
    assert dyn.forward_dynamics([0.3], [0.0], [0.0])[0] == pytest.approx(-9.81 * np.sin(0.3) / 0.5, rel=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shapes.rod(-1.0, 1.0), "a rod has mass -1.0"),
        (lambda: shapes.sphere(1.0, float("nan")), "a sphere has radius nan"),
        (lambda: shapes.rod(1.0, 1.0, "w"), "axis of a body is 'w'"),
    ],
)
def test_an_invalid_shape_is_rejected(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
