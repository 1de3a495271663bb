"""Fixtures: the PUMA and its cabinet, compiled once for all tests of this folder."""

from __future__ import annotations

import pytest

from appell.describe.load import load
from appell.hardware.cabinet.signals import cabinet_info
from appell.hardware.cabinet.simulated import SimulatedCabinet, standard_plant
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import standard_servo
from appell.hardware.loop.reference import Reference
from appell_lab.papers.cabinet_run import CABINET_SETTINGS
from control_motion import START, WIRING, Swing


@pytest.fixture(scope="session")
def puma():
    return load("puma")


@pytest.fixture(scope="session")
def servo(puma):
    return standard_servo(puma, cabinet_info(WIRING), **CABINET_SETTINGS)


@pytest.fixture(scope="session")
def plant_model(puma):
    return standard_plant(puma, WIRING)


@pytest.fixture
def make_loop(servo, plant_model):
    """Return a function that makes a loop on a simulated cabinet with a virtual clock; options are for the cabinet."""
    loops = []

    def make(log=None, policy=None, **options) -> Loop:
        faults = options.get("faults")
        clock = VirtualClock(lateness=None if faults is None else faults.lateness(servo.design.period))
        cabinet = SimulatedCabinet(plant_model, clock, options.pop("q", START), **options)
        loop = Loop(cabinet, servo, clock, *(() if policy is None else (policy,)), log=log)
        loops.append(loop)
        return loop

    yield make
    for loop in loops:
        loop.close()


@pytest.fixture
def moving(make_loop):
    """Return a function that makes a loop which follows a swing."""

    def start(**options) -> Loop:
        loop = make_loop(**options)
        loop.run(25)
        loop.arm()
        loop.start(Reference.sampled(Swing(loop.position), loop.period))
        return loop

    return start
