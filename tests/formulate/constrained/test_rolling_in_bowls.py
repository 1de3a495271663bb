"""Balls and wheels that roll in round walls, compared with textbook formulas.

With J the moment of inertia about the axis of rolling, a body of radius r that rolls in a wall of radius R, its centre
at an angle θ from the lowest point and with a speed u, has

    u̇ = -g sin θ / (1 + J/m r²)          N = m g cos θ + m u²/(R - r)
"""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap

G, R, RADIUS, MASS = 9.81, 2.0, 0.3, 1.7
SIZES = {"ball": 0.4, "wheel": 0.5}  # J / m r²
WALLS = {
    "ball": [ap.Sphere(R), ap.Implicit(lambda x, y, z: R * R - x * x - y * y - z * z)],
    "wheel": [ap.Cylinder(R, axis=(0.0, 1.0, 0.0)), ap.Implicit(lambda x, y, z: R * R - x * x - z * z)],
}


@pytest.mark.parametrize("number", [0, 1], ids=["distance", "implicit"])
@pytest.mark.parametrize("body", SIZES)
@pytest.mark.parametrize("speed", [0.0, 1.3])
@pytest.mark.parametrize("angle", [0.4, -1.1])
def test_acceleration_and_normal_force_of_a_body_rolling_in_a_round_wall(body, number, angle, speed):
    along, up = np.array([np.cos(angle), 0.0, np.sin(angle)]), np.array([-np.sin(angle), 0.0, np.cos(angle)])
    inertia = SIZES[body] * MASS * RADIUS**2
    made = ap.Builder("bowl", base="floating", root="body")
    made.root_body(MASS, (0.0, 0.0, 0.0), (0.6 * inertia if body == "wheel" else inertia, inertia, inertia))
    turn = 0.7  # rad, arbitrary rotation of the body about y
    q = np.array([*(-(R - RADIUS) * up), 0.0, np.sin(turn / 2), 0.0, np.cos(turn / 2)])
    held = ap.Rolling("body", RADIUS, on=WALLS[body][number], ball=body == "ball")
    dyn = ap.Dynamics(made.build().with_loops(held, home=q))
    back = np.array([[np.cos(turn), 0.0, -np.sin(turn)], [0.0, 1.0, 0.0], [np.sin(turn), 0.0, np.cos(turn)]])
    w = np.array([*(back @ (speed * along)), 0.0, speed / RADIUS, 0.0])
    np.testing.assert_allclose(dyn.row_rates(q, w), 0.0, atol=1e-14)
    a = dyn.constrained_acceleration(q, w, np.zeros(6))
    linear = back.T @ (a[:3] + np.cross(w[3:], w[:3]))  # in world axes
    fall = -G * np.sin(angle) / (1.0 + SIZES[body])
    np.testing.assert_allclose(linear, fall * along + speed**2 / (R - RADIUS) * up, atol=1e-12)
    force = dyn.constraint_multipliers(q, w, np.zeros(6))
    assert force[2] == pytest.approx(MASS * (G * np.cos(angle) + speed**2 / (R - RADIUS)), rel=1e-12)
