"""Safety-relevant numbers must be finite and in range."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load
from appell.errors import ArgumentError
from appell.hardware.cabinet.simulated import Imperfections, Injection, SimulatedCabinet, standard_plant
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.supervisor import Policy

BAD = (float("nan"), float("inf"), -1.0, "soon", None, True)


@pytest.fixture(scope="module")
def plant():
    arm = load("pendulum")
    return standard_plant(arm, wiring_of(arm), 0.0)


@pytest.mark.parametrize("value", [*BAD, 0.0, 2.0])
def test_a_heartbeat_that_would_disable_the_watchdog_is_rejected(plant, value):
    with pytest.raises(ArgumentError, match="the heartbeat of a cabinet"):
        SimulatedCabinet(plant, VirtualClock(), plant.wiring.start, heartbeat=value)


@pytest.mark.parametrize("name", ["brake_delay", "step"])
@pytest.mark.parametrize("value", BAD)
def test_other_invalid_times_of_a_cabinet_are_rejected(plant, name, value):
    with pytest.raises(ArgumentError, match=name.replace("_", " ")):
        SimulatedCabinet(plant, VirtualClock(), plant.wiring.start, **{name: value})


@pytest.mark.parametrize("value", BAD)
def test_a_fault_at_an_invalid_time_is_rejected(value):
    with pytest.raises(ArgumentError, match="the time of fault 'power-loss'"):
        Injection("power-loss", value)


@pytest.mark.parametrize("value", [float("nan"), -1.0, 0.0])
def test_a_fault_of_invalid_duration_is_rejected(value):
    with pytest.raises(ArgumentError, match="the duration of fault"):
        Injection("power-loss", 1.0, duration=value)
    assert Injection("power-loss", 1.0, duration=np.inf).active(1e9)


@pytest.mark.parametrize("name", ["misses", "lost", "stop_time", "rest_speed", "rest_ticks", "readings"])
@pytest.mark.parametrize("value", BAD)
def test_invalid_numbers_of_a_policy_are_rejected(name, value):
    if name == "stop_time" and value is None:
        return  # by the rule of the servo
    with pytest.raises(ArgumentError, match=f"the policy's {name.replace('_', ' ')}"):
        Policy(**{name: value})


def test_imperfections_are_finite():
    with pytest.raises(ArgumentError, match="the noise of a cabinet"):
        Imperfections(noise=float("nan"))
