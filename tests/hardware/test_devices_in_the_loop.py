"""The control loop on MuJoCo, on an RTDE robot in another process, and on a user's device."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.hardware.devices import make_device
from appell.motion import Record
from served_robots import START, arm_in_process, ur5

hw = ap.hardware


def short_motion(period: float):
    """Return a function of the start that moves all joints by 0.05 rad."""
    return lambda q: hw.Reference.sampled(ap.motion.Ramp(q, q + 0.05, 1.0, 8.0, names=ur5().coordinate_names), period)


@pytest.fixture(scope="module")
def servo():
    return hw.standard_servo(ur5(), make_device("mujoco", ur5(), VirtualClock()).info)


def test_a_task_finishes_on_mujoco_in_torque_mode_and_its_log_can_be_replayed_as_a_device(tmp_path, servo):
    clock = VirtualClock()
    loop = hw.Loop(make_device("mujoco", ur5(), clock, start=START), servo, clock, log=tmp_path / "x.log")
    outcome = hw.run_task(loop, short_motion(1e-3))
    loop.close()
    assert outcome.finished, outcome.sentence
    log = Record.read(tmp_path / "x.log")
    assert np.abs(log["qm"] - log["qd"])[log["state"] == 2].max() < 0.02
    clock = VirtualClock()
    replayed = make_device("replayed", ur5(), clock, log=log)
    state = hw.JointState(replayed.info)
    replayed.open()
    for row in range(100):
        clock.time = log.t[row] - log.t[0]
        assert replayed.read(state)
        assert state.q.tolist() == log["qm"][row].tolist()
        assert state.tau.tolist() == log["taum"][row].tolist()


def test_a_reference_starts_when_the_device_is_enabled_even_if_its_computation_took_long(tmp_path, servo):
    clock = VirtualClock()
    device = make_device("mujoco", ur5(), clock, start=START, safe_state="hold")
    loop = hw.Loop(device, servo, clock, log=tmp_path / "x.log")
    loop.run(25)
    loop.arm()
    reference = short_motion(1e-3)(loop.position)
    clock.time += 0.2  # the computation of the reference, in real time
    loop.start(reference)
    loop.run(3)
    loop.close()
    log = Record.read(tmp_path / "x.log")
    assert log["qd"][-3:].tolist() == reference.samples[:3, 0].tolist()


def test_a_robot_whose_process_is_killed_stops_the_loop_with_a_named_fault_and_a_readable_log(tmp_path, servo):
    with arm_in_process(port=0) as (process, address):
        clock = MonotonicClock()
        robot = make_device("rtde", ur5(), clock, port=address[1])
        position_servo = hw.standard_servo(ur5(), robot.info, period=2e-3, mode="position")
        policy = hw.Policy(misses=5000, lost=100)  # do not stop on a busy machine
        loop = hw.Loop(robot, position_servo, clock, policy, log=tmp_path / "x.log")
        running = 0

        def after_tick(loop):
            nonlocal running
            running += loop.state.name == "RUNNING"
            if running == 40:
                process.kill()

        outcome = hw.run_task(loop, short_motion(2e-3), after_tick=after_tick)
        loop.close()
    assert not outcome.finished
    assert f"rtde 127.0.0.1:{address[1]} failed: " in outcome.sentence
    log = Record.read(tmp_path / "x.log")
    assert len(log) == outcome.ticks
    assert log["state"][-1] == 4


def test_a_mode_that_a_device_lacks_is_named_with_those_it_has():
    info = make_device("rtde", ur5(), VirtualClock()).info
    with pytest.raises(ArgumentError, match="impedance"):
        hw.standard_servo(ur5(), info, mode="impedance")
