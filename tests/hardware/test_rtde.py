"""RTDE: our client and server, and the client of ur_rtde on our server."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from appell.describe.load import load
from appell.errors import ArgumentError, DeviceError
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.hardware.device import DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.hardware.devices import rtde_protocol as rtde
from appell.hardware.devices.rtde import OUTPUTS, RtdeRobot, robot_program
from appell.hardware.devices.rtde_protocol import Packages, RtdeRecipe, package
from appell.hardware.devices.rtde_server import RtdeServer
from appell.motion import Record
from served_robots import arm_in_process, drive, in_thread, loopback_address, mujoco_arm, ur5


@contextmanager
def connected(heartbeat: float = 10.0, log=None, **options):
    """Yield a client of a simulated UR5, a state and a command."""
    device, clock = mujoco_arm(heartbeat=heartbeat)
    server = RtdeServer(device.info, port=0)
    with in_thread(device, clock, server, log):
        robot = RtdeRobot(ur5(), MonotonicClock(), port=server.address[1], **options)
        robot.open()
        try:
            yield robot, JointState(robot.info), JointCommand(6)
        finally:
            robot.close()


def test_the_client_reads_the_joints_of_the_plant_bit_by_bit(tmp_path):
    read = []
    with connected(log=tmp_path / "plant.log") as (robot, state, _):
        for _ in range(30):
            time.sleep(2e-3)
            if robot.read(state):
                read.append(state.numbers[2:20].copy())
                assert 0.0 <= time.monotonic() - state.stamp < 0.5
    rows = {row.tobytes() for row in Record.read(tmp_path / "plant.log").data[:, 4:]}
    assert len(read) > 3
    assert all(row.tobytes() in rows for row in read)


def test_position_velocity_and_torque_commands_move_the_plant():
    with connected() as (robot, state, command):
        robot.read(state)
        robot.enable("position")
        command.q[:] = state.q + np.array([0.05, 0, 0, 0, 0.1, 0])
        drive(robot, state, command, 30.0, lambda: np.abs(state.q - command.q).max() < 1e-4)
        assert state.q == pytest.approx(command.q, abs=1e-4)
        assert state.status == DeviceStatus.READY
        robot.enable("velocity")
        command.v[5] = 0.3
        drive(robot, state, command, 30.0, lambda: abs(state.v[5] - 0.3) < 1e-3)
        assert state.v[5] == pytest.approx(0.3, abs=1e-3)
        robot.enable("torque")
        command.tau[:] = state.tau
        command.tau[5] = 0.5
        drive(robot, state, command, 30.0, lambda: state.v[5] > 0.6)
        assert state.v[5] > 0.6


def test_the_plant_holds_its_position_when_the_commands_stop_and_works_again_after_clear():
    with connected(heartbeat=0.1) as (robot, state, command):
        robot.read(state)
        robot.enable("velocity")
        command.v[0] = 0.2
        drive(robot, state, command, 30.0, lambda: state.v[0] > 0.19)
        time.sleep(0.2)
        robot.read(state)
        assert state.status & DeviceStatus.WATCHDOG
        assert abs(state.v[0]) < 1e-2
        robot.timeout = 0.1
        with pytest.raises(DeviceError, match="did not enable mode 'position'"):
            robot.enable("position")
        robot.timeout = 2.0
        robot.clear()
        robot.enable("position")
        command.q[:] = state.q
        drive(robot, state, command, 0.05)
        assert state.status == DeviceStatus.READY


def test_a_client_that_disconnects_disables_the_robot(tmp_path):
    with connected(heartbeat=30.0, log=tmp_path / "plant.log") as (robot, state, command):
        robot.read(state)
        robot.enable("position")
        command.q[:] = state.q
        drive(robot, state, command, 0.05)
        robot._socket.close()  # as if the process were killed
        time.sleep(0.1)
    enabled = Record.read(tmp_path / "plant.log")["enabled"]
    assert enabled.any()
    assert not enabled[-1]


def test_a_second_client_reads_but_cannot_command():
    with connected() as (robot, _, _):
        other = RtdeRobot(ur5(), MonotonicClock(), port=robot.port)
        with pytest.raises(DeviceError, match=r"refuses the variables input_int_register_42 \(IN_USE\)"):
            other.open()


def test_commands_that_are_not_finite_and_unknown_modes_are_refused():
    with connected() as (robot, _, command):
        with pytest.raises(ArgumentError, match="has no mode 'impedance'"):
            robot.enable("impedance")
        robot.enable("position")
        command.q[:] = [0, 0, np.nan, 0, 0, 0]
        with pytest.raises(ArgumentError, match="actuator 'elbow_joint' is not finite"):
            robot.write(command)
        robot.write(command)  # the robot is disabled: nothing is sent


# ---- bad counterparts


@contextmanager
def counterpart(answers):
    """Yield the port of a server that answers each package as `answers(kind, content)` says, until it returns None."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(5.0)

    def run():
        connection, _ = server.accept()
        connection.settimeout(5.0)
        packages = Packages()
        with connection:
            while received := connection.recv(4096):
                for kind, content in packages.feed(received):
                    answer = answers(kind, content)
                    if answer is None:
                        return
                    if answer:
                        connection.sendall(answer)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        thread.join(10.0)
        server.close()


def honest(kind: int, content: bytes, version=(5, 25, 0, 0)) -> bytes:
    """Answer the requests of the client, without data packages."""
    types = {rtde.OUTPUTS: [rtde.OUTPUT_TYPES[name] for name in OUTPUTS], rtde.INPUTS: ["INT32"] * 3 + ["DOUBLE"] * 6}
    if kind in types:
        return package(kind, b"\1" + ",".join(types[kind]).encode())
    return package(kind, struct.pack(">4I", *version) if kind == rtde.GET_CONTROLLER else b"\1")


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (lambda kind, content: package(kind, b"\0"), "does not accept version 2 of RTDE"),
        (lambda kind, content: b"", "did not answer within 0.2 s"),
        (lambda kind, content: None, "has closed the connection"),
        (lambda kind, content: b"\0\0HTTP", "does not follow RTDE: a package has a size of 0 bytes"),
        (lambda kind, content: honest(kind, content, (3, 15, 0, 0)), "sends its state every 0.008 s"),
        (lambda kind, content: b"" if kind == rtde.START else honest(kind, content), "did not answer within 0.2 s"),
        (honest, "did not answer within 0.2 s"),
        (
            lambda kind, content: honest(kind, content) + (package(rtde.DATA, b"\1\0") if kind == rtde.START else b""),
            "a data package has 2 bytes instead of",
        ),
    ],
)
def test_a_counterpart_that_does_not_follow_the_protocol_is_named_within_the_timeout(answers, text):
    with counterpart(answers) as port:
        robot = RtdeRobot(ur5(), MonotonicClock(), port=port, timeout=0.2)
        begin = time.monotonic()
        with pytest.raises(DeviceError, match=text):
            robot.open()
        robot.close()
        assert time.monotonic() - begin < 3.0


def test_a_robot_is_not_controlled_on_a_virtual_clock():
    with pytest.raises(ArgumentError, match="cannot run on a virtual clock"):
        RtdeRobot(ur5(), VirtualClock()).open()


def test_an_unreachable_address_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DeviceError, match=f"the robot at 127.0.0.1:{port} cannot be reached"):
        RtdeRobot(ur5(), MonotonicClock(), port=port, timeout=0.5).open()


def test_old_stamps_are_not_new_states_and_a_lost_connection_is_named():
    recipe = RtdeRecipe(1, OUTPUTS, [rtde.OUTPUT_TYPES[name] for name in OUTPUTS])
    stamps = iter([10.0, 10.0, 9.0, 10.002])

    def answers(kind, content):
        if kind == rtde.DATA:
            stamp = next(stamps, None)
            return None if stamp is None else recipe.pack({"timestamp": stamp, "robot_mode": 7, "safety_mode": 1})
        return honest(kind, content) + (recipe.pack({"timestamp": next(stamps)}) if kind == rtde.START else b"")

    with counterpart(answers) as port:
        robot = RtdeRobot(ur5(), MonotonicClock(), port=port, timeout=2.0)
        robot.open()
        state, fresh = JointState(robot.info), []
        for _ in range(4):
            fresh.append(robot.read(state))
            robot.disable()  # sends a package, which is answered with the next stamp
            time.sleep(0.02)
        assert fresh == [True, False, False, True]
        with pytest.raises(DeviceError, match="has closed the connection"):
            robot.read(state)
        robot.close()


def test_robots_without_six_actuators_are_refused():
    with pytest.raises(ArgumentError, match="has 2 actuators and cannot be controlled by RTDE"):
        RtdeRobot(load("planar-2r"), MonotonicClock())
    with pytest.raises(ArgumentError, match="has 2 actuators and cannot be served by RTDE"):
        RtdeServer(DeviceInfo("arm", ("a", "b")))


def test_the_server_survives_bytes_that_are_not_rtde():
    device, clock = mujoco_arm()
    server = RtdeServer(device.info, port=0)
    rng = np.random.default_rng(0)
    with in_thread(device, clock, server):
        for _ in range(20):
            with socket.create_connection(server.address, 2.0) as connection:
                connection.sendall(package(int(rng.choice(list(b"VvMUOISPX"))), rng.bytes(int(rng.integers(0, 40)))))
        robot = RtdeRobot(ur5(), MonotonicClock(), port=server.address[1])
        robot.open()
        robot.close()


def test_the_robot_program_reads_the_registers_that_the_client_writes():
    text = robot_program(heartbeat=0.05)
    assert 'rtde_set_watchdog("input_int_register_42", 20, "stop")' in text
    assert all(f"read_input_float_register({24 + k})" in text for k in range(6))
    assert text.count("if ") - text.count("elif ") + text.count("while ") + 1 == text.count("end\n")


def test_the_client_of_ur_rtde_reads_the_plant_bit_by_bit_and_commands_it_by_registers(tmp_path):
    receive = pytest.importorskip("rtde_receive")
    io = pytest.importorskip("rtde_io")
    host, log = loopback_address(), tmp_path / "plant.log"
    with arm_in_process(log, host=host):
        reader, registers = receive.RTDEReceiveInterface(host), io.RTDEIOInterface(host, False, True)
        start = reader.getActualQ()
        registers.setInputIntRegister(43, 1)  # position
        registers.setInputIntRegister(42, 1)
        time.sleep(0.02)
        registers.setInputIntRegister(44, 1)  # the first joint
        registers.setInputDoubleRegister(42, start[0] + 0.1)
        for number in range(2, 200):
            registers.setInputIntRegister(42, number)
            if abs(reader.getActualQ()[0] - start[0] - 0.1) < 1e-4:
                break
            time.sleep(5e-3)
        q = [reader.getActualQ() for _ in range(20) if time.sleep(2e-3) is None]
        assert reader.getRuntimeState() == 2
        assert reader.getSafetyMode() == 1
        reader.disconnect()
        registers.disconnect()
        time.sleep(0.02)
    assert q[-1][0] == pytest.approx(start[0] + 0.1, abs=1e-3)
    rows = {row.tobytes() for row in Record.read(log)["q"]}
    assert all(np.array(row).tobytes() in rows for row in [start, *q])
