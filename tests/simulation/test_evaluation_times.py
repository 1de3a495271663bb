"""Torque functions are evaluated within the run only, for every method."""

from __future__ import annotations

import pytest

import appell as ap


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("until", [1e-3, 0.5])
def test_no_torque_is_evaluated_beyond_the_end(method, until):
    """A first guess of a step may be longer than the complete run; a recorded torque ends where the run ends."""
    times = []

    def torque(t, q, v):
        times.append(t)
        return -0.1 * v

    ap.simulate(ap.load("planar-2r"), until=until, start=-0.25, torque=torque, solver=method)
    assert min(times) >= -0.25
    assert max(times) <= until
