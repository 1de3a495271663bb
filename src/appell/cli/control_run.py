"""What `appell control run` and `cabinet` do, and how they show it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live

from appell.cli.answers import table, tell
from appell.cli.reading import read_system
from appell.cli.screen import say, screen
from appell.control.cabinet.faults import Faults, Injection
from appell.control.cabinet.generic import wiring_of
from appell.control.cabinet.hardware import Hardware
from appell.control.cabinet.server import serve
from appell.control.cabinet.shared import RemoteCabinet, default_path
from appell.control.cabinet.simulated import SimulatedCabinet
from appell.control.clock import MonotonicClock, VirtualClock, real_time
from appell.control.loop.control_loop import Loop
from appell.control.loop.reference import Reference, recorded_path
from appell.control.loop.servo import Servo
from appell.control.loop.states import State
from appell.control.loop.summary import draw_run, summarize
from appell.control.loop.supervisor import Policy
from appell.control.loop.task import Outcome, run_task, standard_plant, standard_servo
from appell.errors import ArgumentError, unknown_name
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.spline import Spline
from appell.motion.pictures.look import WIDE, new_figure, save, styled
from appell.motion.record import Record

REFERENCES = ("ramp", "spline", "target")
FILES = (".csv", ".npz", ".parquet", ".log")
SHOWN_EVERY = 100  # ticks
COLORS = {State.RUNNING: "green", State.SAFE_STOP: "yellow", State.FAULT: "bold red"}


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    system: str
    model: str | None
    law: str
    frequency: float
    period: float
    reference: str
    payload: float
    faults: tuple[str, ...]
    real_time: bool
    attach: str | None
    calibrate: bool
    policy: Policy
    seed: int
    physical: bool

    def __post_init__(self):
        if self.reference not in REFERENCES and not self.follows_file:
            raise ArgumentError(
                unknown_name("reference", self.reference, REFERENCES, "appell control run"),
                expected=f"one of these, or a file: {', '.join(FILES)}",
            )
        if (self.reference == "target") != (self.law == "point-to-point"):
            raise ArgumentError(
                f"law '{self.law}' does not go with reference '{self.reference}'.",
                expected="target for point-to-point, ramp, spline or a file for the others",
            )
        if self.attach is not None and self.faults:
            raise ArgumentError(
                "a cabinet in another process cannot be told to fail from here.", hint="leave out --attach"
            )

    @property
    def follows_file(self) -> bool:
        return Path(self.reference).suffix in FILES


def carry_out(request: Request, log: Path) -> Outcome:
    """The task, with a live line of status; a log that is there goes once the request is found good."""
    system = read_system(request.system, physical=request.physical)
    model = None if request.model is None else read_system(request.model, physical=request.physical)
    servo = standard_servo(system, request.law, request.frequency, request.period, model=model)
    reference = _reference(request, servo)
    faults = Faults([_injection(text, servo.wiring.n) for text in request.faults])
    by_machine = request.real_time or request.attach is not None
    clock = MonotonicClock() if by_machine else VirtualClock(lateness=faults.lateness(request.period))
    hardware: Hardware
    if request.attach is not None:
        hardware = RemoteCabinet(servo.wiring, default_path(request.attach))
    else:
        plant = standard_plant(system, servo.wiring, request.payload)
        hardware = SimulatedCabinet(plant, clock, servo.wiring.start, faults=faults, seed=request.seed)
    with (
        real_time() if by_machine else nullcontext(),
        Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live,
    ):
        log.unlink(missing_ok=True)
        loop = Loop(hardware, servo, clock, request.policy, log)
        try:
            return run_task(loop, reference, request.calibrate, _shows(live))
        finally:
            loop.close()
            if loop.journal is not None and (lost := loop.journal.writer.lost):
                live.console.print(f"[yellow]the disk is full: the log lacks its last {lost} ticks")


def _injection(text: str, n: int) -> Injection:
    kind, at, rest = text.partition("@")
    seconds, _, actuator = rest.partition(":")
    try:
        found = Injection(kind, float(seconds), int(actuator or 1) - 1)
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"the fault '{text}' cannot be read.", expected="KIND@SECONDS or KIND@SECONDS:ACTUATOR"
        ) from None
    if kind == "killed-loop":
        raise ArgumentError("a loop does not kill itself.", hint="kill -9 its process, or appell control campaign")
    if not at or not 0 <= found.actuator < n:
        raise ArgumentError(
            f"the fault '{text}' names no time or no actuator.", expected=f"KIND@SECONDS:ACTUATOR, 1 to {n}"
        )
    return found


def _reference(request: Request, servo: Servo) -> Callable[[np.ndarray], Reference]:
    """The motion of a file, or one of every coordinate towards the middle of its range."""
    period, names = request.period, servo.system.coordinate_names
    if request.follows_file:
        path = recorded_path(Record.read(request.reference), names)
        return lambda q: Reference.approached(path, period, q)[0]
    lower, upper = np.array(servo.guard.lower), np.array(servo.guard.upper)
    size = np.minimum(0.5 / (1.0 + np.arange(len(names)) // 3), 0.2 * (upper - lower))

    def reference(q: np.ndarray) -> Reference:
        way = np.where(0.5 * (lower + upper) > q, size, -size)
        match request.reference:
            case "ramp":
                return Reference.sampled(Ramp(q, q + way, 0.8, 3.0, names=names), period)
            case "spline":
                points = [q, q + way, q + 0.3 * way, q + 0.8 * way]
                return Reference.sampled(Spline([0.0, 1.0, 2.0, 3.0], points, degree=5, names=names), period)
        return Reference.hold(q + 0.4 * way, period, 2.0)

    return reference


def _shows(live: Live) -> Callable[[Loop], None]:
    count = 0

    def after_tick(loop: Loop) -> None:
        nonlocal count
        count += 1
        if count % SHOWN_EVERY:
            return
        color = COLORS.get(loop.state, "blue")
        position = "  ".join(f"{x:+.3f}" for x in loop.position)
        live.update(
            f"[{color}]{loop.state.name:<9}[/]  t = {loop.grid * loop.period:7.3f} s   q = {position}", refresh=True
        )

    return after_tick


def report(log: Path, plot: Path | None, json: bool) -> None:
    """The summary of a log as a table or as JSON, and its picture."""
    read = Record.read(log)
    answer, console = _answer(read, log), screen(aside=json)
    if json:
        tell(answer)
    else:
        _show(console, answer)
    if plot is not None and _draw(plot, read):
        say(console, f"figure  {plot}")


def _answer(read: Record, log: Path) -> dict[str, Any]:
    """Errors by coordinate, torques by actuator, deadlines and how it ended."""
    found, about = summarize(read), read.about
    errors = zip(found.coordinates, found.largest_error, found.final_error, strict=True)
    return {
        "robot": about["robot"],
        "law": about["law"],
        "coordinates": [{"name": name, "largest_error": most, "final_error": last} for name, most, last in errors],
        "actuators": [
            {"name": name, "largest_torque": most}
            for name, most in zip(found.actuators, found.largest_torque, strict=True)
        ],
        "ticks": found.ticks,
        "duration": found.duration,
        "skipped": found.skipped,
        "latest_wake_up": found.latest,
        "fault": found.fault,
        "log": log,
        "units": {"errors": "rad or m", "largest_torque": "N m or N", "duration, latest_wake_up": "s"},
    }


def _show(console: Console, answer: dict[str, Any]) -> None:
    nothing: dict[str, Any] = {}
    rows = [
        {
            "coordinate": left.get("name"),
            "largest": 1e3 * left["largest_error"] if left else None,
            "final": 1e3 * left["final_error"] if left else None,
            "actuator": right.get("name"),
            "torque": right.get("largest_torque"),
        }
        for left, right in zip_longest(answer["coordinates"], answer["actuators"], fillvalue=nothing)
    ]
    heads = {
        "coordinate": "coordinate",
        "largest": ("largest error", ".3f"),
        "final": ("final error", "+.3f"),
        "actuator": "actuator",
        "torque": ("largest torque", ".2f"),
    }
    title = f"{answer['robot']}, law '{answer['law']}'"
    console.print(table(rows, heads, title, "errors in mrad or mm, torques in N m or N"))
    say(
        console,
        f"{answer['ticks']} ticks in {answer['duration']:.2f} s, {answer['skipped']} skipped, latest wake-up "
        f"{1e3 * answer['latest_wake_up']:.3f} ms after its time; {answer['fault']}.",
    )
    say(console, f"log     {answer['log']}")


def _draw(path: Path, log) -> bool:
    try:
        import matplotlib  # noqa: F401 - a run is not lost for want of a picture
    except ImportError:
        return False
    with styled():
        figure = new_figure(WIDE, 8.0)
        draw_run(figure, log)
        save(figure, path)
    return True


def serve_cabinet(
    robot: str, physical: bool, name: str, payload: float, heartbeat: float, seconds: float, seed: int, log: Path | None
) -> None:
    """Serve until Ctrl-C, or for some seconds."""
    system, path = read_system(robot, physical=physical), default_path(name)
    wiring = wiring_of(system)
    plant = standard_plant(system, wiring, payload)
    console = Console(stderr=True)

    def make(clock: VirtualClock) -> SimulatedCabinet:
        cabinet = SimulatedCabinet(plant, clock, wiring.start, heartbeat=heartbeat, seed=seed)
        console.print(f"{wiring.name} at {path}, heartbeat {1e3 * heartbeat:g} ms", highlight=False)
        return cabinet

    try:
        if log is not None:
            log.unlink(missing_ok=True)
        with real_time(priority=60):
            serve(make, path, log, seconds or np.inf)
    except KeyboardInterrupt:
        console.print("stopped")
