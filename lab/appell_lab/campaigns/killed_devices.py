"""kill -9 of a robot's process, of the loop's process (with its supervisor), or of both, at random times.

Robot and loop are forked processes on a real protocol: RTDE over TCP, moteus frames over UDP, or the shared page of the
cabinet. The campaign reads only their log files and exit codes:

    readable    both logs can be read, and have every row that their process had completed before it was killed
    safe        a robot whose loop was killed is disabled within its heartbeat (and one step), and stays so
    state       it is then in its declared safe state: without torque, or at rest at the end
    stopped     a loop whose robot was killed ends by itself: in state FAULT, with a fault in its log, or with an error
                of appell if it had not yet started
"""

from __future__ import annotations

import mmap
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from appell.describe.load import load
from appell.errors import AppellError
from appell.hardware.cabinet.server import serve as serve_cabinet
from appell.hardware.cabinet.shared import RemoteCabinet
from appell.hardware.cabinet.simulated import standard_cabinet
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.clock import MonotonicClock, VirtualClock, real_time
from appell.hardware.device import Device
from appell.hardware.devices.moteus import MoteusMotors
from appell.hardware.devices.moteus_frames import UdpBus
from appell.hardware.devices.moteus_server import MoteusServer
from appell.hardware.devices.rtde import RtdeRobot
from appell.hardware.devices.rtde_server import RtdeServer
from appell.hardware.devices.serving import Endpoint, serve
from appell.hardware.devices.simulated import SimulatedArm
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import standard_servo
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Policy, State
from appell.model.system import System
from appell.motion.record import Record

VICTIMS = ("loop", "device", "both")
PERIOD_S = 2e-3
HEARTBEAT_S = 0.1
MAX_MOMENT_S = 0.8  # of a kill after the first tick of the loop
AFTERWARDS_S = 0.4  # for which a robot is observed after its loop was killed
START_TIMEOUT_S = 20.0
KP, KD = 4000.0, 600.0  # gains of the motors, N m/revolution and N m s/revolution
PATIENT = Policy(misses=10_000, lost=60)  # for busy machines
NAMED_ERROR = 2  # exit code of a process that ended with an error of appell
REST_SPEED = 0.05  # rad/s at the end, of a robot that holds or brakes


@dataclass(frozen=True)
class Rig:
    """A robot behind a protocol: how it is served, and how a loop connects to it."""

    name: str
    servo: Servo
    safe_state: str
    serve: Callable[[Path, float], None]  # log, seconds
    connect: Callable[[], Device]
    step: float  # s between two rows of the robot's log


@dataclass(frozen=True)
class Finding:
    """The result of one kill."""

    protocol: str
    victim: str
    moment: float  # s after the first tick of the loop
    loop_state: str  # last state in the log of the loop
    time_to_safe: float  # s from the last command to the first row of the disabled robot; NaN without one
    broken: tuple[str, ...]  # names of the properties that did not hold


@cache
def robot(protocol: str) -> System:
    """Return the robot of a protocol: the PUMA for RTDE and the cabinet, a planar arm for moteus."""
    return load("planar-2r" if protocol == "moteus" else "puma")


@cache
def _servo(protocol: str) -> Servo:
    return standard_servo(robot(protocol), _client(protocol, 0, Path()).info, period=PERIOD_S)


def _client(protocol: str, port: int, page: Path) -> Device:
    system, clock = robot(protocol), MonotonicClock()
    if protocol == "rtde":
        return RtdeRobot(system, clock, port=port, heartbeat=HEARTBEAT_S)
    if protocol == "moteus":
        return MoteusMotors(system, clock, bus=f"udp:127.0.0.1:{port}", heartbeat=HEARTBEAT_S, kp=KP, kd=KD)
    return RemoteCabinet(wiring_of(system), page) if page.is_file() else standard_cabinet(system, VirtualClock())


def make_rig(protocol: str, folder: Path) -> Rig:
    """Return the rig of "rtde", "moteus" or "cabinet"; sockets are opened at once, so that a client can connect."""
    system, port = robot(protocol), 0
    servo, clock = _servo(protocol), VirtualClock(MonotonicClock().now())
    if protocol == "cabinet":

        def serve_rig(log: Path, seconds: float) -> None:
            serve_cabinet(lambda clock: standard_cabinet(system, clock), folder / "page", log, seconds)

        return Rig(protocol, servo, "brakes", serve_rig, lambda: _client(protocol, 0, folder / "page"), 1e-3)
    arm = SimulatedArm(system, clock, period=PERIOD_S, heartbeat=HEARTBEAT_S)
    if protocol == "rtde":
        server = RtdeServer(arm.info, port=0)
        endpoint: Endpoint = server
        port = server.address[1]
    else:
        bus = UdpBus(serve=True)
        endpoint, port = MoteusServer(arm.info, bus, KP, KD), bus.address[1]

    def serve_arm(log: Path, seconds: float) -> None:
        serve(arm, clock, endpoint, log, seconds)

    return Rig(protocol, servo, arm.info.safe_state, serve_arm, lambda: _client(protocol, port, Path()), PERIOD_S)


def swing(servo: Servo, q: np.ndarray) -> Reference:
    """Return a motion of all joints that lasts longer than any case."""
    t = np.arange(0.0, 2.0, PERIOD_S)
    phase = 2.0 * np.pi * t[:, None]
    size = np.minimum(0.1, 0.2 * np.abs(np.array(servo.guard.upper) - q))
    samples = np.stack([q + size * (1.0 - np.cos(phase)) / 2.0, size * np.pi * np.sin(phase)], axis=1)
    return Reference(np.concatenate([samples, 2.0 * np.pi**2 * (size * np.cos(phase))[:, None]], axis=1), PERIOD_S)


def run_loop(rig: Rig, log: Path, progress: np.ndarray) -> None:
    """Run a loop until it is killed or has stopped by itself; progress[0] counts its complete ticks."""
    clock = MonotonicClock()
    loop = Loop(rig.connect(), rig.servo, clock, PATIENT, log)
    until, failed = clock.now() + 10.0, 0
    try:
        while clock.now() < until and failed < 3:
            if progress[0] == 2 * PATIENT.readings and loop.state is State.IDLE:
                loop.arm()
            elif progress[0] == 2 * PATIENT.readings + 5 and loop.state is State.ARMED:
                loop.start(swing(rig.servo, loop.position))
            loop.tick()
            progress[0] += 1
            failed += loop.state is State.FAULT
    finally:
        loop.close()


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except AppellError:
        os._exit(NAMED_ERROR)
    except BaseException:
        os._exit(1)


@contextmanager
def forked_robot(protocol: str, folder: Path) -> Iterator[Device]:
    """Serve a robot in a forked process, which is killed at the end; yield the device of a loop."""
    rig = make_rig(protocol, folder)

    def serve_in_real_time() -> None:
        with real_time(priority=60):
            rig.serve(folder / "robot.log", np.inf)

    process = _forked(serve_in_real_time)
    try:
        _wait_for((folder / "robot.log").exists)
        yield rig.connect()
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def run_case(protocol: str, victim: str, moment: float, folder: Path) -> Finding:
    """Run robot and loop, kill one or both at `moment` seconds after the first tick, and check the logs."""
    rig = make_rig(protocol, folder)
    counts = np.frombuffer(mmap.mmap(-1, 8), np.int64)
    robot_log, loop_log = folder / "robot.log", folder / "loop.log"
    seconds = START_TIMEOUT_S if victim != "loop" else 60.0
    device = _forked(lambda: rig.serve(robot_log, seconds))
    _wait_for(lambda: robot_log.exists() and (protocol != "cabinet" or (folder / "page").exists()))
    loop = _forked(lambda: run_loop(rig, loop_log, counts))
    _wait_for(lambda: counts[0] > 0)
    time.sleep(moment)
    if victim in ("loop", "both"):
        os.kill(loop, signal.SIGKILL)
    if victim in ("device", "both"):
        os.kill(device, signal.SIGKILL)
    loop_exit = os.waitstatus_to_exitcode(os.waitpid(loop, 0)[1])
    if victim == "loop":
        time.sleep(AFTERWARDS_S)
        os.kill(device, signal.SIGKILL)
    os.waitpid(device, 0)
    return check(rig, victim, moment, robot_log, loop_log, int(counts[0]), loop_exit)


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("a process of the campaign did not start")
        time.sleep(1e-3)


def check(rig: Rig, victim: str, moment: float, robot_log: Path, loop_log: Path, ticks: int, loop_exit: int) -> Finding:
    """Check the properties of one kill."""
    broken = []
    try:
        arm, log = Record.read(robot_log), Record.read(loop_log)
    except AppellError:
        return Finding(rig.name, victim, moment, "", np.nan, ("readable",))
    if len(log) < ticks or (np.diff(arm.t) <= 0.0).any() or (np.diff(log.t) <= 0.0).any():
        broken.append("readable")
    delay = np.nan
    if victim == "loop" and arm["enabled"].any():
        off = int(np.flatnonzero(arm["enabled"])[-1]) + 1  # first row after which the robot stays disabled
        delay = float(arm.t[off] - arm["beat"][-1]) if off < len(arm) else np.inf
        if not delay <= HEARTBEAT_S + 2.0 * rig.step:
            broken.append("safe")
        torque_free = off < len(arm) and not arm["tau"][off + 2 :].any()
        resting = float(np.abs(arm["v"][-1]).max()) < REST_SPEED
        if not (torque_free if rig.safe_state == "zero torque" else resting):
            broken.append("state")
    state = State(int(log["state"][-1])) if len(log) else State.IDLE
    if victim == "device":
        faulted = loop_exit == 0 and state is State.FAULT and log["fault"][-1]
        refused = loop_exit == NAMED_ERROR and state in (State.IDLE, State.ARMED)
        if not (faulted or refused):
            broken.append("stopped")
    return Finding(rig.name, victim, moment, state.name, delay, tuple(broken))


def run_campaign(
    count: int, seed: int = 0, protocols: Iterable[str] = ("rtde", "moteus", "cabinet")
) -> Iterator[Finding]:
    """Yield the findings of `count` random kills; protocols and victims take turns."""
    rng, kinds = np.random.default_rng(seed), [(protocol, victim) for victim in VICTIMS for protocol in protocols]
    for index in range(count):
        protocol, victim = kinds[index % len(kinds)]
        with tempfile.TemporaryDirectory(prefix="appell-kills-") as folder:
            yield run_case(protocol, victim, float(MAX_MOMENT_S * rng.random()), Path(folder))
