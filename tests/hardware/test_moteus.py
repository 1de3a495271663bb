"""moteus motors on CAN: frames against the package `moteus`, and our client on simulated motors."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, DeviceError
from appell.hardware.clock import MonotonicClock
from appell.hardware.device import DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.hardware.devices import moteus_frames as frames
from appell.hardware.devices.moteus import REVOLUTION, MoteusMotors, open_bus
from appell.hardware.devices.moteus_frames import UdpBus
from appell.hardware.devices.moteus_server import MoteusServer
from appell.motion import Record
from programs import UNDER_WINE
from served_robots import drive, in_thread, mujoco_arm

MAX_DURATION_S = 30.0  # of a motion on a busy machine
GAINS = {"kp": 4000.0, "kd": 600.0}


@cache
def arm():
    """Return two links that move in a plane."""
    return load("planar-2r")


@contextmanager
def connected(heartbeat: float = 10.0, log=None, buses=None, **options):
    """Yield the motors of a simulated arm, a state and a command."""
    device, clock = mujoco_arm(arm(), 30.0, "zero torque")
    served = buses[0] if buses else UdpBus(serve=True)
    with in_thread(device, clock, MoteusServer(device.info, served, **GAINS), log):
        bus = buses[1] if buses else f"udp:127.0.0.1:{served.address[1]}"
        motors = MoteusMotors(arm(), MonotonicClock(), bus=bus, heartbeat=heartbeat, **GAINS, **options)
        motors.open()
        try:
            yield motors, JointState(motors.info), JointCommand(2)
        finally:
            motors.close()


def test_frames_are_those_of_the_package_moteus():
    package = pytest.importorskip("moteus")
    controller = package.Controller(id=3)
    rng = np.random.default_rng(1)
    for values in (*rng.normal(size=(20, 5)).tolist(), [float("nan"), 0.0, 1.5, 0.0, 0.0]):
        names = ("position", "velocity", "feedforward_torque", "kp_scale", "kd_scale")
        theirs = controller.make_position(**dict(zip(names, values, strict=True)), watchdog_timeout=0.05, query=True)
        assert frames.position_command(values, 0.05) + frames.QUERY == theirs.data
    assert controller.make_stop(query=True).data == frames.STOP + frames.QUERY
    assert controller.make_query().data == frames.QUERY


def test_replies_and_integers_are_decoded_as_by_the_package_moteus():
    protocol = pytest.importorskip("moteus.protocol")
    rng = np.random.default_rng(2)
    scaled = (frames.POSITION, frames.VELOCITY, frames.TORQUE, frames.VOLTAGE, frames.TEMPERATURE)
    for _ in range(50):
        registers = {register: float(rng.normal() * 10.0 ** rng.integers(-3, 4)) for register in scaled}
        registers |= {frames.MODE: int(rng.integers(16)), frames.FAULT: int(rng.integers(50))}
        registers[frames.TORQUE] = float(rng.choice([np.nan, registers[frames.TORQUE]]))
        resolution = int(rng.integers(4))
        request = frames.subframe(frames.READ, frames.MODE, resolution, 4)
        request += frames.subframe(frames.READ, frames.VOLTAGE, resolution, 3)
        answer = frames.reply(registers, request)
        theirs = protocol.parse_reply(frames.padded(answer))
        ours = frames.values_of(frames.REPLY, frames.padded(answer))
        assert ours.keys() == theirs.keys()
        np.testing.assert_array_equal(list(ours.values()), [theirs[register] for register in ours])


@pytest.mark.parametrize("frame", [b"\x2d", b"\x2d\x01\x00", b"\xff", b"\x20\x03\x00\x01"])
def test_frames_that_are_cut_or_unknown_are_refused(frame):
    with pytest.raises(ValueError, match="a frame"):
        list(frames.subframes(frame))


def test_states_are_those_of_the_plant_in_32_bit_floats(tmp_path):
    read = []
    with connected(log=tmp_path / "plant.log") as (motors, state, command):
        motors.read(state)
        motors.enable("velocity")
        command.v[:] = 0.1
        for _ in range(40):
            time.sleep(2e-3)
            if motors.read(state):
                read.append(state.q.copy())
            motors.write(command)
    rows = Record.read(tmp_path / "plant.log")["q"]
    rounded = {(REVOLUTION * (row / REVOLUTION).astype(np.float32).astype(float)).tobytes() for row in rows}
    # each motor answers on its own, so that a state can hold two adjacent rows of the plant; most do not
    assert len(read) > 5
    assert sum(row.tobytes() in rounded for row in read) > 0.5 * len(read)
    column = [{REVOLUTION * float(np.float32(q / REVOLUTION)) for q in rows[:, k]} for k in range(2)]
    assert all(q in column[k] for row in read for k, q in enumerate(row.tolist()))


def test_all_modes_move_the_plant():
    with connected() as (motors, state, command):
        drive(motors, state, command, 0.05)
        gravity = Dynamics(arm()).gravity(state.q)
        motors.enable("position")
        command.q[:] = state.q + 0.1
        drive(motors, state, command, MAX_DURATION_S, lambda: np.abs(state.q - command.q).max() < 0.05)
        sag = np.abs(gravity).max() * REVOLUTION / GAINS["kp"]
        assert state.q == pytest.approx(command.q, abs=0.05 + sag)
        motors.enable("velocity")
        command.v[0] = 0.3
        drive(motors, state, command, MAX_DURATION_S, lambda: abs(state.v[0] - 0.3) < 0.05)
        assert state.v[0] == pytest.approx(0.3, abs=0.05)
        motors.enable("torque")
        command.tau[:] = Dynamics(arm()).gravity(state.q) + np.array([0.0, 20.0])
        drive(motors, state, command, MAX_DURATION_S, lambda: state.v[1] > 1.0)
        assert state.v[1] > 1.0
        motors.enable("impedance")
        command.q[:], command.v[:], command.kp[:], command.kd[:] = state.q, 0.0, 300.0, 100.0
        drive(motors, state, command, MAX_DURATION_S, lambda: abs(state.v[1]) < 0.1)
        assert abs(state.v[1]) < 0.1


def test_motors_without_commands_have_no_torque_until_they_are_cleared(tmp_path):
    with connected(heartbeat=0.1, log=tmp_path / "plant.log") as (motors, state, command):
        drive(motors, state, command, 0.05)
        motors.enable("impedance")
        command.q[:], command.kp[:] = state.q, 300.0
        drive(motors, state, command, 0.1)
        time.sleep(0.25)
        drive(motors, state, command, 0.05)
        assert state.status == DeviceStatus.WATCHDOG
        motors.clear()
        drive(motors, state, command, 0.05)
        assert state.status == DeviceStatus.READY
    log = Record.read(tmp_path / "plant.log")
    off = int(np.flatnonzero((log["enabled"][:-1] == 1) & (log["enabled"][1:] == 0))[0]) + 1
    assert 0.1 - 2e-3 <= log.t[off] - log["beat"][off - 1] <= 0.1 + 3 * 2e-3


def test_a_virtual_bus_of_python_can_connects_motors_in_one_process():
    can = pytest.importorskip("can")
    name = f"appell-{time.monotonic_ns()}"
    buses = [can.Bus(interface="virtual", channel=name, protocol=can.CanProtocol.CAN_FD) for _ in range(2)]
    with connected(buses=buses) as (motors, state, command):
        assert drive(motors, state, command, 0.1) > 5


def test_motors_that_do_not_answer_are_named():
    device, clock = mujoco_arm(arm())
    bus = UdpBus(serve=True)
    with in_thread(device, clock, MoteusServer(device.info, bus)):
        motors = MoteusMotors(arm(), MonotonicClock(), bus=f"udp:127.0.0.1:{bus.address[1]}", ids=(1, 40), timeout=0.1)
        with pytest.raises(DeviceError, match=r"controllers 40 did not answer within 0.1 s"):
            motors.open()
        motors.close()


def test_a_state_that_is_lost_is_requested_again():
    with connected() as (motors, state, command):
        motors._bus.shutdown()
        motors._bus = UdpBus(*motors._bus._peer)  # all frames on the way are lost
        motors._asked, motors._answered[:] = True, False
        assert drive(motors, state, command, 0.1) > 5


def test_states_arrive_although_replies_take_longer_than_a_period():
    class SlowBus(UdpBus):
        def recv(self, timeout=None):
            message = super().recv(timeout)
            self.late = [*getattr(self, "late", []), message]
            return self.late.pop(0) if len(self.late) > 6 else None  # after three ticks with two motors

    with connected() as (motors, state, command):
        motors._bus.shutdown()
        motors._bus = SlowBus(*motors._bus._peer)
        assert drive(motors, state, command, 0.3) > 5


def test_bad_settings_are_named():
    clock = MonotonicClock()
    with pytest.raises(ArgumentError, match=r"identifiers of robot 'planar-2r' are \[1, 1\]"):
        MoteusMotors(arm(), clock, ids=(1, 1))
    with pytest.raises(ArgumentError, match="the bus is 'udp:here'"):
        MoteusMotors(arm(), clock, bus="udp:here").open()
    with pytest.raises(ArgumentError, match="does not offer impedance mode"):
        MoteusServer(DeviceInfo("arm", ("a",)), UdpBus(serve=True))
    if not UNDER_WINE:  # which binds a socket to any address
        with pytest.raises(DeviceError, match=r"the bus cannot use 203.0.113.1"):
            UdpBus("203.0.113.1", 9, serve=True)
    with pytest.raises(DeviceError, match="is not open"):
        MoteusMotors(arm(), clock).write(JointCommand(2))


def test_a_can_interface_that_does_not_exist_is_named():
    pytest.importorskip("can")
    with pytest.raises(DeviceError, match="the CAN bus 'socketcan:none7' cannot be opened"):
        open_bus("socketcan:none7")


def test_commands_that_are_not_finite_stop_the_motors():
    with connected() as (motors, _, command):
        motors.enable("torque")
        command.tau[1] = np.inf
        with pytest.raises(ArgumentError, match="actuator 'elbow' is not finite"):
            motors.write(command)
