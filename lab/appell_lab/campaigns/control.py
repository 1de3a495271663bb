"""A campaign of faults: seeded schedules on the virtual clock, and what must hold in every one of them.

The judge knows which faults were injected and when, sees the arm itself and the codes at its converters, and has the
file of the log. It asks the loop nothing: a loop that did not notice, or said that it stopped, is found out.

    torque      what the motors gave never passes the limit, but for the amplifiers' own error
    commanded   no code at the converters asks for more than the limit
    written     the codes in the log are those that stood at the converters
    stopped     after a fault that cannot be overlooked the arm is at rest within `STOP_TIME`, its outputs off, for good
    rested      in the end the arm is at rest, whatever happened
    followed    before the first fault the arm is where it was to be, within `OFF_COURSE`
    near        at no time any joint is farther than `STRAY` from the way that it was to go so far
    ridden out  a single fault that is over soon does not keep the arm from the end of its way
    named       a single fault that cannot be overlooked is in the log's last fault word, under its own name
    latched     no bit of the fault word ever goes away, and FAULT is never left
    complete    the log, read from the file, has a whole row for every tick
    replayed    running the loop again on the log gives the same bits
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from appell.hardware.cabinet.simulated import (
    CabinetModel,
    Faults,
    Imperfections,
    Injection,
    SimulatedCabinet,
    random_faults,
)
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.repeater import first_difference, replay
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Fault, State
from appell.motion.record import Record

STOP_TIME = 0.43  # s from a fault to rest, noticing included
STRAY = 0.3  # rad, the farthest that any joint gets from its way
OFF_COURSE = 0.02  # rad, while all is well
AT_REST = 0.02  # rad/s
READINGS = 25  # ticks before the loop is armed
AMPLIFIERS = 1.0 + Imperfections().amplifier_gain + 0.01  # their gain and offset
OBVIOUS = {  # what cannot be overlooked, and the names that a loop may give it
    "over-temperature": Fault.TEMPERATURE,
    "not-a-number": Fault.NOT_A_NUMBER,
    "dropped-reads": Fault.STALE,
    "power-loss": Fault.POWER,
    "missed-deadlines": Fault.DEADLINE,
    "killed-loop": Fault.NONE,
}


@dataclass(frozen=True)
class Finding:
    """What came of one schedule; `broken` names the properties that did not hold."""

    seed: int
    injections: tuple[Injection, ...]
    state: State  # by the log, for statistics
    stopping_time: float  # s from an obvious fault to rest; 0 if there was none
    stray: float  # rad, how far a joint was from its way
    torque_ratio: float  # largest torque over its limit
    ticks: int
    broken: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """What all runs of a campaign share."""

    servo: Servo
    model: CabinetModel
    trajectory: Callable  # of the time, starting where the arm stands: q, v, a
    struck: float = 0.45  # s in motion within which faults come
    duration: float = 0.7  # s in motion before the run is over: who did not stop for a fault still moves
    after: float = 0.5  # s that the arm is watched after that

    @property
    def moving_at(self) -> float:
        return READINGS * self.servo.design.period

    @property
    def over_at(self) -> float:
        return self.moving_at + self.duration


@dataclass
class Watch:
    """The arm and its converters, looked at from outside after every tick."""

    cabinet: SimulatedCabinet
    rows: list[np.ndarray] = field(default_factory=list)

    def look(self) -> None:
        cabinet = self.cabinet
        state, n = cabinet.bound.state_next, cabinet.wiring.n
        row = [[cabinet.time, cabinet.enabled], state[: 2 * n], cabinet.torque, cabinet.bound.codes]
        self.rows.append(np.concatenate(row))

    def columns(self) -> list[np.ndarray]:
        """Time, outputs on, q, v, torque and codes, row by row."""
        n = self.cabinet.wiring.n
        data = np.array(self.rows)
        return [data[:, 0], data[:, 1], *np.split(data[:, 2:], [n, 2 * n, 3 * n], axis=1)]


def run_schedule(setting: Setting, seed: int, folder: Path) -> Finding:
    """One run of one seed."""
    servo, period = setting.servo, setting.servo.design.period
    injections = random_faults(seed, servo.wiring.n, setting.moving_at + 0.02, setting.moving_at + setting.struck)
    faults = Faults(injections)
    clock = VirtualClock(lateness=faults.lateness(period))
    cabinet = SimulatedCabinet(setting.model, clock, servo.wiring.start, faults=faults, seed=seed)
    path = folder / f"{seed}.log"
    loop, watch = Loop(cabinet, servo, clock, log=path), Watch(cabinet)

    def tick() -> None:
        loop.tick()
        watch.look()

    for _ in range(READINGS):
        tick()
    loop.arm()
    loop.start(_reference(setting, loop.position))
    until = setting.over_at + setting.after
    while clock.now() < min(until, faults.killed_at) - period:
        if clock.now() > setting.over_at and loop.state is State.RUNNING:
            loop.stop()
        tick()
    ticks = len(watch.rows)
    while cabinet.time < until - period:  # the loop is dead, the arm is not
        cabinet.advance(cabinet.time + period)
        watch.look()
    finding = judge(setting, seed, injections, watch, Record.read(path), ticks)
    loop.close()
    path.unlink()
    return finding


def run_campaign(setting: Setting, seeds: Iterable[int]) -> Iterable[Finding]:
    """Findings one by one."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            yield run_schedule(setting, seed, Path(folder))


def _reference(setting: Setting, start: np.ndarray) -> Reference:
    """The trajectory, moved to where the loop believes the arm to be."""
    sampled = Reference.sampled(setting.trajectory, setting.servo.design.period, setting.duration)
    samples = sampled.samples.copy()
    samples[:, 0] += start - samples[0, 0]
    return Reference(samples, sampled.period)


def judge(
    setting: Setting, seed: int, injections: tuple[Injection, ...], watch: Watch, log: Record, ticks: int
) -> Finding:
    """What held and what did not."""
    times, on, q, v, torques, codes = watch.columns()
    servo, speeds = setting.servo, np.abs(v).max(axis=1)
    limit = np.asarray(servo.guard.torque)
    ratio = float((np.abs(torques) / limit).max())
    way = _way(setting, times, q[0])
    stray = _distance(q, way)
    stopping, off = 0.0, True
    if obvious := [i.time for i in injections if i.kind in OBVIOUS and not np.isfinite(i.end)]:
        moving = (times >= min(obvious)) & (speeds > AT_REST)
        stopping = float(times[moving].max(initial=min(obvious)) - min(obvious))
        off = not on[times > min(obvious) + STOP_TIME].any()
    healthy = (times < min(i.time for i in injections)) & (times < setting.over_at)
    fault = log["fault"].astype(int)
    checks = {
        "torque": ratio <= AMPLIFIERS,
        "commanded": bool((np.abs(servo.wiring.torque(codes)) <= limit).all()),
        "written": np.array_equal(log["code"], codes[: len(log)]),
        "stopped": stopping <= STOP_TIME and off,
        "rested": bool(speeds[-1] <= AT_REST),
        "followed": float(np.abs(q - way)[healthy].max(initial=0.0)) <= OFF_COURSE,
        "near": stray <= STRAY,
        "ridden out": not _is_harmless(injections, servo.design.period) or _arrived(setting, times, q, way),
        "named": len(injections) > 1 or not obvious or _is_named(injections[0].kind, int(fault[-1])),
        "latched": not (fault[:-1] & ~fault[1:]).any() and not _left_fault(log),
        "complete": len(log) == ticks,
        "replayed": first_difference(log, replay(log, servo)) is None,
    }
    broken = tuple(name for name, holds in checks.items() if not holds)
    return Finding(seed, injections, State(int(log["state"][-1])), stopping, stray, ratio, ticks, broken)


def _way(setting: Setting, times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Where the arm was to be, had nothing happened; it stands at `start` and its sensors are not asked."""
    t = np.clip(times - setting.moving_at, 0.0, setting.duration)
    return setting.trajectory(t)[0] - setting.trajectory(np.zeros(1))[0] + start


def _distance(q: np.ndarray, way: np.ndarray) -> float:
    """The farthest that any joint ever was from the nearest point of the way so far."""
    gaps = np.abs(q[:, None] - way[None, ::5]).max(axis=2)
    later = np.arange(len(q))[:, None] < 5 * np.arange(gaps.shape[1])[None, :]
    return float(np.where(later, np.inf, gaps).min(axis=1).max())


def _is_harmless(injections: tuple[Injection, ...], period: float) -> bool:
    return len(injections) == 1 and injections[0].duration < 3 * period


def _arrived(setting: Setting, times: np.ndarray, q: np.ndarray, way: np.ndarray) -> bool:
    last = int(np.searchsorted(times, setting.over_at)) - 1
    return bool(np.abs(q[last] - way[last]).max() <= OFF_COURSE)


def _is_named(kind: str, word: int) -> bool:
    return bool(word & OBVIOUS[kind].value) or not OBVIOUS[kind]


def _left_fault(log: Record) -> bool:
    inside = log["state"] == State.FAULT
    return bool((inside[:-1] & ~inside[1:]).any())


def standard_setting() -> Setting:
    """The PUMA with 1 kg that its model does not know, on a swing of all joints."""
    from appell.describe.load import load
    from appell.hardware.loop.task import standard_plant, standard_servo

    robot = load("puma")
    servo = standard_servo(robot)
    start, swing = np.array(servo.wiring.start), np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])

    def trajectory(t):
        phase = np.pi * np.asarray(t, float)[..., None]
        q, v, a = 1.0 - np.cos(phase), np.pi * np.sin(phase), np.pi**2 * np.cos(phase)
        return start + 0.5 * swing * q, 0.5 * swing * v, 0.5 * swing * a

    return Setting(servo, standard_plant(robot, servo.wiring, payload=1.0), trajectory)
