"""At which instants a run asks a torque that is a function: within the run, whatever method takes the steps."""

from __future__ import annotations

import pytest

import appell as ap


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("until", [1e-3, 0.5])
def test_no_torque_is_asked_beyond_the_end(method, until):
    """A first guess of a step may be longer than the whole run; a recorded torque ends where the run ends."""
    asked = []

    def torque(t, q, v):
        asked.append(t)
        return -0.1 * v

    ap.simulate(ap.load("planar-2r"), until=until, start=-0.25, torque=torque, solver=method)
    assert min(asked) >= -0.25
    assert max(asked) <= until
