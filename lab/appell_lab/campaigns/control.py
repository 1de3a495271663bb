"""A fault campaign: seeded schedules of faults on a virtual clock, and the properties that must hold in each of them.

The check uses the injected faults, the simulated arm, the codes at its converters and the log file. It does not query
the loop, so a loop that missed a fault, or only reported that it stopped, is detected.

    torque      the torque of the motors never exceeds the limit, apart from the amplifiers' own error
    commanded   no code at the converters commands more than the limit
    written     the torques in the log are those of the codes at the converters
    stopped     after an obvious fault the arm is at rest within `STOP_TIME_S`, and its outputs are and stay off
    rested      at the end of the run the arm is at rest
    followed    before the first fault the arm is within `TRACKING_TOLERANCE_RAD` of its reference
    near        every joint is always within `MAX_PATH_DISTANCE_RAD` of the part of the path that was due so far
    ridden out  a single short fault does not prevent the arm from reaching the end of its path
    named       a single obvious fault is in the last fault word of the log, under its own name
    latched     no bit of the fault word is ever cleared, and the state FAULT is never left
    complete    the log file has one complete row per tick
    replayed    replaying the loop on the log gives the same bits
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from appell.hardware.cabinet.simulated import (
    KINDS,
    CabinetModel,
    Faults,
    Imperfections,
    Injection,
    SimulatedCabinet,
)
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.replay import first_difference, replay
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Fault, State
from appell.motion.record import Record

STOP_TIME_S = 0.43  # from a fault to rest, including the time to detect it
MAX_PATH_DISTANCE_RAD = 0.3  # largest distance of a joint from its path
TRACKING_TOLERANCE_RAD = 0.02  # tracking error without faults
REST_SPEED = 0.02  # rad/s, below which the arm counts as at rest
TICKS_BEFORE_ARMING = 25
MAX_TORQUE_RATIO = 1.0 + Imperfections().amplifier_gain + 0.01  # torque over its limit: gain and offset of amplifiers
OBVIOUS_FAULTS = {  # faults that a loop must detect, and the bit of the fault word for each
    "over-temperature": Fault.TEMPERATURE,
    "not-a-number": Fault.NOT_A_NUMBER,
    "dropped-reads": Fault.STALE,
    "power-loss": Fault.POWER,
    "missed-deadlines": Fault.DEADLINE,
    "killed-loop": Fault.NONE,
}


@dataclass(frozen=True)
class Finding:
    """The result of one schedule."""

    seed: int
    injections: tuple[Injection, ...]
    state: State  # last state in the log
    stopping_time: float  # s from an obvious fault to rest; 0 without one
    path_distance: float  # rad, largest distance of a joint from its path
    torque_ratio: float  # largest torque over its limit
    ticks: int
    broken: tuple[str, ...]  # names of the properties that did not hold


@dataclass(frozen=True)
class Setting:
    """The settings of all runs of a campaign; times in s."""

    servo: Servo
    model: CabinetModel  # of the cabinet, with its wiring
    trajectory: Callable  # t -> (q, v, a), starting at the position of the arm
    fault_window: float = 0.45  # faults occur within this time after the start of the motion
    duration: float = 0.7  # duration of the motion; an arm that missed a fault is still moving at its end
    observed_after: float = 0.5  # time for which the arm is observed after the motion

    @property
    def motion_start(self) -> float:
        """Time at which the motion starts, s."""
        return TICKS_BEFORE_ARMING * self.servo.design.period

    @property
    def motion_end(self) -> float:
        """Time at which the motion ends, s."""
        return self.motion_start + self.duration


@dataclass
class Observer:
    """Records the state of the arm and its converters after every tick, independently of the loop."""

    cabinet: SimulatedCabinet
    rows: list[np.ndarray] = field(default_factory=list)

    def record(self) -> None:
        """Append the current state."""
        cabinet = self.cabinet
        state, n = cabinet.bound.state_next, cabinet.wiring.n
        row = [[cabinet.time, cabinet.enabled], state[: 2 * n], cabinet.torque, cabinet.bound.codes]
        self.rows.append(np.concatenate(row))

    def columns(self) -> list[np.ndarray]:
        """Return time, outputs on, q, v, torque and codes, one row per tick each."""
        n = self.cabinet.wiring.n
        data = np.array(self.rows)
        return [data[:, 0], data[:, 1], *np.split(data[:, 2:], [n, 2 * n, 3 * n], axis=1)]


def run_schedule(setting: Setting, seed: int, folder: Path) -> Finding:
    """Run the loop under the faults of one seed and check all properties."""
    servo, period = setting.servo, setting.servo.design.period
    start = setting.motion_start
    injections = random_faults(seed, setting.model.wiring.n, start + 0.02, start + setting.fault_window)
    faults = Faults(injections)
    clock = VirtualClock(lateness=faults.lateness(period))
    cabinet = SimulatedCabinet(setting.model, clock, setting.model.wiring.start, faults=faults, seed=seed)
    path = folder / f"{seed}.log"
    loop, observer = Loop(cabinet, servo, clock, log=path), Observer(cabinet)

    def tick() -> None:
        loop.tick()
        observer.record()

    for _ in range(TICKS_BEFORE_ARMING):
        tick()
    loop.arm()
    loop.start(_reference(setting, loop.position))
    until = setting.motion_end + setting.observed_after
    while clock.now() < min(until, killed_at(injections)) - period:
        if clock.now() > setting.motion_end and loop.state is State.RUNNING:
            loop.stop()
        tick()
    ticks = len(observer.rows)
    while cabinet.time < until - period:  # the loop was killed; the arm moves on
        cabinet.advance(cabinet.time + period)
        observer.record()
    finding = check(setting, seed, injections, observer, Record.read(path), ticks)
    loop.close()
    path.unlink()
    return finding


def random_faults(seed: int, n: int, first: float, last: float) -> tuple[Injection, ...]:
    """Return one to three random faults between two times, with short ones that a loop must tolerate."""
    rng = np.random.default_rng(seed)
    faults = []
    for _ in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(KINDS))
        brief = kind in ("not-a-number", "dropped-reads", "missed-deadlines") and rng.random() < 0.4
        duration = float(rng.uniform(0.001, 0.004)) if brief else np.inf
        faults.append(Injection(kind, float(rng.uniform(first, last)), int(rng.integers(n)), duration))
    return tuple(sorted(faults, key=lambda fault: fault.time))


def killed_at(injections: Iterable[Injection]) -> float:
    """Return the time at which the loop is killed, in s; infinite if it is not."""
    return min((fault.time for fault in injections if fault.kind == "killed-loop"), default=np.inf)


def run_campaign(setting: Setting, seeds: Iterable[int]) -> Iterable[Finding]:
    """Yield the finding of each seed."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            yield run_schedule(setting, seed, Path(folder))


def _reference(setting: Setting, start: np.ndarray) -> Reference:
    """Return the trajectory, shifted to the position of the arm as measured by the loop."""
    sampled = Reference.sampled(setting.trajectory, setting.servo.design.period, setting.duration)
    samples = sampled.samples.copy()
    samples[:, 0] += start - samples[0, 0]
    return Reference(samples, sampled.period)


def check(
    setting: Setting, seed: int, injections: tuple[Injection, ...], observer: Observer, log: Record, ticks: int
) -> Finding:
    """Check all properties of one run."""
    times, on, q, v, torques, codes = observer.columns()
    servo, speeds = setting.servo, np.abs(v).max(axis=1)
    limit = np.asarray(servo.guard.torque)
    ratio = float((np.abs(torques) / limit).max())
    path = _reference_path(setting, times, q[0])
    distance = _path_distance(q, path)
    stopping, off = 0.0, True
    if obvious := [i.time for i in injections if i.kind in OBVIOUS_FAULTS and not np.isfinite(i.end)]:
        moving = (times >= min(obvious)) & (speeds > REST_SPEED)
        stopping = float(times[moving].max(initial=min(obvious)) - min(obvious))
        off = not on[times > min(obvious) + STOP_TIME_S].any()
    healthy = (times < min(i.time for i in injections)) & (times < setting.motion_end)
    fault = log["fault"].astype(int)
    checks = {
        "torque": ratio <= MAX_TORQUE_RATIO,
        "commanded": bool((np.abs(setting.model.wiring.torque(codes)) <= limit).all()),
        "written": np.array_equal(log["tau"], setting.model.wiring.torque(codes[: len(log)])),
        "stopped": stopping <= STOP_TIME_S and off,
        "rested": bool(speeds[-1] <= REST_SPEED),
        "followed": float(np.abs(q - path)[healthy].max(initial=0.0)) <= TRACKING_TOLERANCE_RAD,
        "near": distance <= MAX_PATH_DISTANCE_RAD,
        "ridden out": not _is_harmless(injections, servo.design.period) or _arrived(setting, times, q, path),
        "named": len(injections) > 1 or not obvious or _is_named(injections[0].kind, int(fault[-1])),
        "latched": not (fault[:-1] & ~fault[1:]).any() and not _left_fault(log),
        "complete": len(log) == ticks,
        "replayed": first_difference(log, replay(log, servo)) is None,
    }
    broken = tuple(name for name, holds in checks.items() if not holds)
    return Finding(seed, injections, State(int(log["state"][-1])), stopping, distance, ratio, ticks, broken)


def _reference_path(setting: Setting, times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the reference positions from the true position `start` of the arm, without its sensors."""
    t = np.clip(times - setting.motion_start, 0.0, setting.duration)
    return setting.trajectory(t)[0] - setting.trajectory(np.zeros(1))[0] + start


def _path_distance(q: np.ndarray, path: np.ndarray) -> float:
    """Return the largest distance of any joint, at any time, from the nearest point of the path so far."""
    gaps = np.abs(q[:, None] - path[None, ::5]).max(axis=2)
    later = np.arange(len(q))[:, None] < 5 * np.arange(gaps.shape[1])[None, :]
    return float(np.where(later, np.inf, gaps).min(axis=1).max())


def _is_harmless(injections: tuple[Injection, ...], period: float) -> bool:
    return len(injections) == 1 and injections[0].duration < 3 * period


def _arrived(setting: Setting, times: np.ndarray, q: np.ndarray, path: np.ndarray) -> bool:
    last = int(np.searchsorted(times, setting.motion_end)) - 1
    return bool(np.abs(q[last] - path[last]).max() <= TRACKING_TOLERANCE_RAD)


def _is_named(kind: str, word: int) -> bool:
    return bool(word & OBVIOUS_FAULTS[kind].value) or not OBVIOUS_FAULTS[kind]


def _left_fault(log: Record) -> bool:
    inside = log["state"] == State.FAULT
    return bool((inside[:-1] & ~inside[1:]).any())


def standard_setting() -> Setting:
    """Return the standard setting: the PUMA with a payload of 1 kg that its model lacks, swinging all joints."""
    from appell.describe.load import load
    from appell.hardware.cabinet.signals import cabinet_info
    from appell.hardware.cabinet.simulated import standard_plant
    from appell.hardware.cabinet.standard_wirings import wiring_of
    from appell.hardware.loop.defaults import standard_servo
    from appell_lab.papers.cabinet_run import CABINET_SETTINGS

    robot = load("puma")
    wiring = wiring_of(robot)
    servo = standard_servo(robot, cabinet_info(wiring), **CABINET_SETTINGS)
    start, swing = np.array(wiring.start), np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])

    def trajectory(t):
        phase = np.pi * np.asarray(t, float)[..., None]
        q, v, a = 1.0 - np.cos(phase), np.pi * np.sin(phase), np.pi**2 * np.cos(phase)
        return start + 0.5 * swing * q, 0.5 * swing * v, 0.5 * swing * a

    return Setting(servo, standard_plant(robot, wiring, payload=1.0), trajectory)
