"""A campaign of faults: seeded schedules on the virtual clock, and what must hold in every one of them.

    torque    what the motors gave never passes the limit, but for the amplifiers' own error
    stopped   the arm is at rest at most `STOP_TIME` after a fault was noticed or the loop was killed, and stays so
    near      before that no joint strays from its reference by more than `STRAY`, after it none moves farther
    latched   no bit of the fault word ever goes away, and FAULT is never left
    complete  the log, read from the file, has a whole row for every tick
    replayed  running the loop again on the log gives the same bits

A fault that a loop is to ride out (a few readings lost) must not stop it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.control.cabinet.faults import Faults, Injection, random_faults
from appell.control.cabinet.simulated import CabinetModel, Imperfections, SimulatedCabinet
from appell.control.loop.clock import VirtualClock
from appell.control.loop.loop import Loop
from appell.control.loop.reference import Reference
from appell.control.loop.replay import first_difference, replay
from appell.control.loop.servo import Servo
from appell.control.loop.states import Fault, State
from appell.motion.record import Record

STOP_TIME = 0.4  # s from the fault to rest
STRAY = 0.3  # rad, the farthest that any joint gets from where it was to be, before and after a fault
AT_REST = 0.02  # rad/s
IMPERFECT = Imperfections()


@dataclass(frozen=True)
class Verdict:
    """What came of one schedule; `broken` names the properties that did not hold."""

    seed: int
    injections: tuple[Injection, ...]
    state: State
    fault: Fault
    stopping_time: float  # s, from the fault to rest; 0 if the arm ran on
    travel: float  # rad, how far a joint moved after the fault
    stray: float  # rad, how far a joint was from its reference before it
    torque_ratio: float  # largest torque over its limit
    ticks: int
    broken: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """What all runs of a campaign share."""

    servo: Servo
    model: CabinetModel
    start: np.ndarray
    trajectory: Callable  # of the time, starting at `start`: q, v, a
    duration: float = 0.45  # s in motion before the run is over
    after: float = 0.5  # s that the arm is watched after that


@dataclass
class _Watch:
    """The arm, looked at from outside after every tick."""

    cabinet: SimulatedCabinet

    def __post_init__(self):
        self.times: list[float] = []
        self.positions: list[np.ndarray] = []
        self.speeds: list[np.ndarray] = []
        self.torques: list[np.ndarray] = []

    def look(self) -> None:
        cabinet = self.cabinet
        n = cabinet.wiring.n
        state = cabinet.bound.state_next
        self.times.append(cabinet.time)
        self.positions.append(state[:n].copy())
        self.speeds.append(state[n : 2 * n].copy())
        self.torques.append(cabinet.torque.copy())


def run_schedule(setting: Setting, seed: int, folder: Path) -> Verdict:
    """One run of one seed."""
    servo, period, n = setting.servo, setting.servo.design.period, setting.servo.wiring.n
    moving_at = (servo_readings := 25) * period
    injections = random_faults(seed, n, moving_at + 0.02, moving_at + setting.duration)
    faults = Faults(injections)
    clock = VirtualClock(lateness=faults.lateness(period))
    cabinet = SimulatedCabinet(setting.model, clock, setting.start, faults=faults, seed=seed)
    path = folder / f"{seed}.log"
    loop = Loop(cabinet, servo, clock, log=path)
    loop.run(servo_readings)
    loop.arm()
    watch = _Watch(cabinet)
    loop.start(_reference(setting, loop.position))
    until = moving_at + setting.duration + setting.after
    ticks = servo_readings
    while clock.now() < min(until, faults.killed_at) - period:
        if clock.now() > moving_at + setting.duration and loop.state is State.RUNNING:
            loop.stop()
        loop.tick()
        ticks += 1
        watch.look()
    while cabinet.time < until - period:  # the loop is dead, the arm is not
        cabinet.advance(cabinet.time + period)
        watch.look()
    log = Record.read(path)
    verdict = _judge(setting, seed, injections, loop, watch, log, ticks)
    loop.close()
    path.unlink()
    return verdict


def run_campaign(setting: Setting, seeds: Iterable[int]) -> Iterable[Verdict]:
    """Verdicts one by one."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            yield run_schedule(setting, seed, Path(folder))


def _reference(setting: Setting, start: np.ndarray) -> Reference:
    """The trajectory, moved to where the loop believes the arm to be."""
    sampled = Reference.sampled(setting.trajectory, setting.servo.design.period, setting.duration)
    samples = sampled.samples.copy()
    samples[:, 0] += start - samples[0, 0]
    return Reference(samples, sampled.period)


def _judge(setting: Setting, seed: int, injections, loop: Loop, watch: _Watch, log: Record, ticks: int) -> Verdict:
    times, speeds, positions = np.array(watch.times), np.abs(watch.speeds).max(axis=1), np.array(watch.positions)
    limit = np.asarray(setting.servo.limits.torque)
    ratio = float((np.abs(watch.torques) / limit).max())
    killed = min((i.time for i in injections if i.kind == "killed-loop"), default=np.inf)
    struck = _struck(log, killed)
    stopping, travel = 0.0, 0.0
    if np.isfinite(struck):
        later = times >= struck
        moving = later & (speeds > AT_REST)
        stopping = float(times[moving].max() - struck) if moving.any() else 0.0
        travel = float(np.abs(positions[later] - positions[later][0]).max()) if later.any() else 0.0
    stray = _stray(log, times, positions, struck)
    fault = log["fault"].astype(int)
    gone = (fault[:-1] & ~fault[1:]).any()
    left = ((log["state"][:-1] == State.FAULT) & (log["state"][1:] != State.FAULT)).any()
    again = replay(log, setting.servo)
    allowed = 1.0 + IMPERFECT.amplifier_gain + 0.01  # gain and offset of the amplifiers
    checks = {
        "torque": ratio <= allowed,
        "commanded": bool((np.abs(setting.servo.wiring.torque(log["code"])) <= limit).all()),
        "stopped": stopping <= STOP_TIME and bool(speeds[-1] <= AT_REST),
        "near": max(stray, travel) <= STRAY,
        "latched": not (gone or left),
        "complete": len(log) == ticks,
        "replayed": first_difference(log, again) is None,
        "ridden out": not (_harmless(injections, loop) and loop.fault),
    }
    broken = tuple(name for name, holds in checks.items() if not holds)
    return Verdict(seed, injections, loop.state, loop.fault, stopping, travel, stray, ratio, ticks, broken)


def _struck(log: Record, killed: float) -> float:
    """When the arm was first to stop: at the loop's first fault, or at its death."""
    faulty = np.flatnonzero(log["fault"])
    return min(float(log["woke"][faulty[0]]) if len(faulty) else np.inf, killed)


def _stray(log: Record, times: np.ndarray, positions: np.ndarray, struck: float) -> float:
    """The true error of following, up to the fault."""
    rows = np.flatnonzero((log["state"] == State.RUNNING) & (log["woke"] < struck))
    seen = np.searchsorted(times, log["woke"][rows] - 1e-9)
    inside = seen < len(times)
    return float(np.abs(positions[seen[inside]] - log["qd"][rows[inside]]).max(initial=0.0))


def _harmless(injections, loop: Loop) -> bool:
    policy, period = loop.supervisor.policy, loop.period
    return len(injections) == 1 and injections[0].duration < min(policy.lost, policy.misses) * period


def standard_setting() -> Setting:
    """The PUMA with 1 kg that its model does not know, on a swing of all joints."""
    from appell.control.loop.task import standard_plant, standard_servo, standard_start
    from appell.describe.load import load

    robot = load("puma")
    servo, start = standard_servo(robot), standard_start(robot)
    swing = np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])

    def trajectory(t):
        phase = np.pi * np.asarray(t, float)[..., None]
        q, v, a = 1.0 - np.cos(phase), np.pi * np.sin(phase), np.pi**2 * np.cos(phase)
        return start + 0.5 * swing * q, 0.5 * swing * v, 0.5 * swing * a

    return Setting(servo, standard_plant(robot, servo.wiring, payload=1.0), start, trajectory)
