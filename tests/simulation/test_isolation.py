"""No crossing within a step is missed."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.motion.curve import nodes
from appell.simulation.events.isolate import first_crossing
from free_bodies import free_body


def crossing(functions, low, high):
    """The first crossing of functions of time, without the integrator."""

    def sample(a, b, degree):
        t = a + (b - a) * 0.5 * (1 + nodes(degree))
        return np.stack([f(t) for f in functions], axis=-1)

    return first_crossing(sample, lambda t, k: float(functions[k](np.array(t))), low, high)


def test_the_first_of_two_crossings_within_a_step_is_found():
    t, k = crossing([lambda t: (t - 0.4) * (t - 0.41) + 0.0], 0.0, 1.0)
    assert (t, k) == (pytest.approx(0.4, abs=1e-14), 0)


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-9, 1e-11])
def test_a_shallow_dip_between_samples_is_found(depth):
    t, _ = crossing([lambda t: (t - 0.31) ** 2 - depth], 0.0, 1.0)
    assert t == pytest.approx(0.31 - np.sqrt(depth), abs=1e-9)


def test_a_touch_without_penetration_is_not_a_crossing():
    assert crossing([lambda t: (t - 0.31) ** 2, lambda t: (t - 0.5) ** 2 + 1e-9], 0.0, 1.0) is None


def test_a_narrow_dip_of_a_function_that_is_not_a_polynomial_is_found():
    t, _ = crossing([lambda t: 1.0 - 1.2 * np.exp(-(((t - 0.617) / 0.04) ** 2))], 0.0, 1.0)
    assert t == pytest.approx(0.617 - 0.04 * np.sqrt(np.log(1.2)), abs=1e-12)


def test_the_earliest_of_several_functions_wins():
    assert crossing([lambda t: 0.9 - t, lambda t: np.cos(20 * t), lambda t: 0.5 - t], 0.0, 1.0)[1] == 1


def test_a_function_that_starts_at_zero_and_rises_does_not_cross():
    assert crossing([lambda t: 3.0 * t - t * t], 0.0, 1.0) is None


def test_random_polynomials_lose_no_root():
    rng = np.random.default_rng(0)
    for _ in range(200):
        roots = np.sort(rng.uniform(-0.5, 1.5, 6))
        inside = roots[(roots > 0.0) & (roots < 1.0)]
        sign = 1.0 if np.prod(0.0 - roots) > 0 else -1.0
        first = crossing([lambda t, r=roots, s=sign: s * np.prod(np.subtract.outer(t, r), axis=-1)], 0.0, 1.0)
        assert (first is None) == (len(inside) == 0)
        if first:
            assert first[0] == pytest.approx(inside[0], abs=1e-7)


def test_a_spinning_body_that_dips_through_a_wall_within_one_step_is_caught():
    """The point passes below the plane for 0.4 ms of a step that would be a hundred times longer."""
    robot = free_body([(1.0, 0.0, 0.0)], inertia=(1, 1, 1), gravity=(0, 0, 0))
    lowest = -1.0 + 1e-5  # the plane just above the lowest place of the point
    v0 = [0, 0, 0, 0, 10.0, 0]
    contact = ap.Contact("all", ap.Plane((0, 0, 1), lowest), restitution=1.0, friction=0.0)
    motion = ap.simulate(ap.Dynamics(robot), v0=v0, until=1.0, contacts=contact, solver=ap.Solver(rtol=1e-6, atol=1e-6))
    assert motion.impacts
    assert motion.impacts[0].time == pytest.approx((np.pi / 2 - np.arccos(1 - 1e-5)) / 10.0, abs=1e-6)
