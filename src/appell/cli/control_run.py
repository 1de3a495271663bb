"""What `appell control run` and `cabinet` do, and how they show it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from appell.cli.screen import screen
from appell.control.cabinet.faults import Faults, Injection
from appell.control.cabinet.hardware import Hardware
from appell.control.cabinet.serve import serve
from appell.control.cabinet.shared import RemoteCabinet, default_path, remove
from appell.control.cabinet.simulated import SimulatedCabinet
from appell.control.loop.clock import MonotonicClock, VirtualClock, real_time
from appell.control.loop.loop import Loop
from appell.control.loop.reference import Reference
from appell.control.loop.servo import Servo
from appell.control.loop.states import State
from appell.control.loop.summary import draw_run, summarize
from appell.control.loop.supervisor import Policy
from appell.control.loop.task import Outcome, run_task, standard_plant, standard_servo, standard_start, wiring_of
from appell.describe.load import load
from appell.errors import ArgumentError, unknown_name
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.spline import Spline
from appell.motion.record import Record

REFERENCES = ("ramp", "spline", "target")
SHOWN_EVERY = 100  # ticks
COLORS = {State.RUNNING: "green", State.SAFE_STOP: "yellow", State.FAULT: "bold red"}


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    robot: str
    law: str
    frequency: float
    period: float
    reference: str
    payload: float
    faults: tuple[str, ...]
    real_time: bool
    attach: str | None
    calibrate: bool
    misses: int
    lost: int
    seed: int

    def __post_init__(self):
        if self.reference not in REFERENCES:
            raise ArgumentError(unknown_name("reference", self.reference, REFERENCES, "appell control run"))
        if (self.reference == "target") != (self.law == "point-to-point"):
            raise ArgumentError(
                f"law '{self.law}' does not go with reference '{self.reference}'.",
                expected="target for point-to-point, ramp or spline for the others",
            )
        if self.attach is not None and self.faults:
            raise ArgumentError(
                "a cabinet in another process cannot be told to fail from here.", hint="leave out --attach"
            )


def carry_out(request: Request, log: Path, force: bool) -> Outcome:
    """The task, with a live line of status; a log that is there is written over by force only."""
    if force:
        log.unlink(missing_ok=True)
    robot = load(request.robot)
    servo = standard_servo(robot, request.law, request.frequency, request.period)
    log.parent.mkdir(parents=True, exist_ok=True)
    faults = Faults([_injection(text, servo.wiring.n) for text in request.faults])
    by_machine = request.real_time or request.attach is not None
    clock = MonotonicClock() if by_machine else VirtualClock(lateness=faults.lateness(request.period))
    hardware: Hardware
    if request.attach is not None:
        hardware = RemoteCabinet(servo.wiring, default_path(request.attach))
    else:
        plant = standard_plant(robot, servo.wiring, request.payload)
        hardware = SimulatedCabinet(plant, clock, standard_start(robot), faults=faults, seed=request.seed)
    with (
        real_time() if by_machine else nullcontext(),
        Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live,
    ):
        loop = Loop(hardware, servo, clock, Policy(misses=request.misses, lost=request.lost), log)
        try:
            return run_task(loop, _reference(request, servo), request.calibrate, _shows(live))
        finally:
            loop.close()


def _injection(text: str, n: int) -> Injection:
    kind, at, rest = text.partition("@")
    seconds, _, joint = rest.partition(":")
    try:
        found = Injection(kind, float(seconds), int(joint or 1) - 1)
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"the fault '{text}' cannot be read.", expected="KIND@SECONDS or KIND@SECONDS:JOINT"
        ) from None
    if kind == "killed-loop":
        raise ArgumentError("a loop does not kill itself.", hint="kill -9 its process, or appell control campaign")
    if not at or not 0 <= found.joint < n:
        raise ArgumentError(f"the fault '{text}' names no time or no joint.", expected=f"KIND@SECONDS:JOINT, 1 to {n}")
    return found


def _reference(request: Request, servo: Servo) -> Callable[[np.ndarray], Reference]:
    """A motion of every joint towards the middle of its range."""
    period, names = request.period, servo.wiring.joint_names
    middle = 0.5 * (servo.wiring.column("lower") + servo.wiring.column("upper"))

    def reference(q: np.ndarray) -> Reference:
        way = 0.5 * np.where(middle > q, 1.0, -1.0) / (1.0 + np.arange(len(q)) // 3)
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
        angles = "  ".join(f"{x:+.3f}" for x in loop.position)
        live.update(
            f"[{color}]{loop.state.name:<9}[/]  t = {loop.grid * loop.period:7.3f} s   q = {angles}", refresh=True
        )

    return after_tick


def report(log: Path, plot: Path | None) -> None:
    """The summary of a log as a table, and its picture."""
    read = Record.read(log)
    summary = summarize(read)
    table = Table(
        title=f"[bold]{read.about['robot']}, law '{read.about['law']}'",
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
    )
    for k, column in enumerate(("joint", "largest error, mrad", "final error, mrad", "largest torque, Nm")):
        table.add_column(column, justify="left" if k == 0 else "right")
    for row in summary.rows():
        table.add_row(*row)
    console = screen()
    console.print(table)
    console.print(
        f"{summary.ticks} ticks in {summary.duration:.2f} s, {summary.skipped} skipped, latest wake-up "
        f"{1e3 * summary.latest:.3f} ms after its time; {summary.fault}.",
        highlight=False,
        soft_wrap=True,
    )
    console.print(f"log     {log}", highlight=False)
    if plot is not None and _draw(plot, read):
        console.print(f"figure  {plot}", highlight=False)


def _draw(path: Path, log) -> bool:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return False
    from appell.lab.papers.page import STYLE

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 8), layout="constrained")
        draw_run(figure, log)
        figure.savefig(path, dpi=130)
    return True


def serve_cabinet(
    robot: str, name: str, payload: float, heartbeat: float, seconds: float, seed: int, log: Path | None
) -> None:
    """Serve until Ctrl-C, or for some seconds."""
    found = load(robot)
    wiring, path = wiring_of(found), default_path(name)
    plant = standard_plant(found, wiring, payload)
    console = Console(stderr=True)

    def make(clock: VirtualClock) -> SimulatedCabinet:
        cabinet = SimulatedCabinet(plant, clock, standard_start(found), heartbeat=heartbeat, seed=seed)
        console.print(f"{wiring.name} at {path}, heartbeat {1e3 * heartbeat:g} ms", highlight=False)
        return cabinet

    try:
        with real_time(priority=60):
            serve(make, path, log, seconds or np.inf)
    except KeyboardInterrupt:
        console.print("stopped")
    finally:
        remove(path)
