"""Robots for the tests of devices, and servers in threads and processes that end with the test."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread

from appell.describe.load import load
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.hardware.device import JointCommand, JointState
from appell.hardware.devices.mujoco import MujocoArm
from appell.hardware.devices.rtde_server import RtdeServer
from appell.hardware.devices.serving import Endpoint, serve
from robots import example_urdfs

START = {"shoulder_lift_joint": -1.0, "elbow_joint": 0.7}


@cache
def ur5():
    """Return the UR5 of example-robot-data, which is not in the zoo."""
    return load(next(path for path in example_urdfs() if path.name == "ur5_robot.urdf"))


def mujoco_arm(robot=None, heartbeat: float = 10.0, safe_state: str = "hold") -> tuple[MujocoArm, VirtualClock]:
    """Return a robot in MuJoCo, by default the UR5, and its clock."""
    clock, start = VirtualClock(MonotonicClock().now()), START if robot is None else {}
    return MujocoArm(robot or ur5(), clock, period=2e-3, start=start, heartbeat=heartbeat, safe_state=safe_state), clock


@contextmanager
def in_thread(device, clock: VirtualClock, endpoint: Endpoint, log: Path | None = None) -> Iterator[None]:
    """Serve a device in a thread."""
    stop = Event()
    thread = Thread(target=serve, args=(device, clock, endpoint, log, 60.0, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10.0)
        assert not thread.is_alive()


def _serve_arm(options: dict, log: Path | None, answer) -> None:
    device, clock = mujoco_arm()
    server = RtdeServer(device.info, **options)
    answer.send(server.address)
    serve(device, clock, server, log, 60.0)


@contextmanager
def arm_in_process(log: Path | None = None, **options) -> Iterator:
    """Serve the UR5 in a new process, which is killed at the end; yield the process and its address."""
    spawn = multiprocessing.get_context("spawn")
    question, answer = spawn.Pipe()
    process = spawn.Process(target=_serve_arm, args=(options, log, answer))
    process.start()
    try:
        assert question.poll(60.0)
        yield process, question.recv()
    finally:
        process.kill()
        process.join()


def loopback_address() -> str:
    """Return a random address of the loopback interface, for programs whose port is fixed."""
    return f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.{random.randrange(1, 255)}"


def drive(device, state: JointState, command: JointCommand, seconds: float, until=lambda: False) -> int:
    """Run read and write every 2 ms for some time, or until a condition holds; return the number of new states."""
    clock, fresh = MonotonicClock(), 0
    begin = clock.now()
    for k in range(int(seconds / 2e-3)):
        clock.wait_until(begin + 2e-3 * k)
        fresh += device.read(state)
        device.write(command)
        if until():
            break
    return fresh
