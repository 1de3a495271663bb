"""`appell control …`: run a task on a robot, real or simulated, serve a cabinet, show a log, or replay it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

import appell as ap
from appell.cli import options
from appell.cli.input import (
    PICTURES,
    RECORDS,
    check_target,
    margin_of,
    pairs,
    read_record,
    read_system,
    warnings_printed,
)
from appell.cli.options import CONTROL, OUTPUT, argument, complete_robot, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from rich.live import Live

LOGS = (".log", ".mcap")
REFERENCE_FILES = (".csv", ".npz", ".parquet", ".mcap", ".db3", ".log")
STATUS_INTERVAL_TICKS = 100  # between two updates of the status line
STATE_COLORS = {"RUNNING": "green", "SAFE_STOP": "yellow", "FAULT": "bold red"}
CONTROLLER = "Controller"
DEVICE = "Device"

Model = Annotated[
    str | None,
    option(
        "Model of the controller: another description with the same joint names; by default the robot itself.",
        CONTROLLER,
        complete=complete_robot,
    ),
]
Law = Annotated[
    str,
    option(
        "Control law: point-to-point, tracking, tracking-integral, pd-gravity or pid (Valera et al. 2003, Table 4).",
        CONTROLLER,
        complete=entries_of("appell.control.laws:LAWS"),
    ),
]
Frequency = Annotated[
    float | None,
    option(
        "Place all poles of the tracking error at minus this frequency, in 1/s; by default 20, faster with friction.",
        CONTROLLER,
    ),
]
Seed = Annotated[int, option("Seed of the cabinet's noise and imperfections.", DEVICE)]
LogFile = Annotated[Path, argument("Log written by 'appell control run'.")]

app = new_app(
    name="control",
    help="Run controllers on a robot, real or simulated, and inspect their logs.",
    epilog="Example: [bold]appell control run puma --reference spline --payload 2[/].",
    no_args_is_help=True,
    rich_help_panel=CONTROL,
)


@app.command(
    epilog="Examples: [bold]appell control run delta[/]; [bold]appell control run puma --reference motion.csv "
    "--model identified.toml[/]; [bold]appell control run puma --device cabinet --fault encoder-loss@3.9[/]; "
    "[bold]appell control run puma --attach appell-cabinet[/] with [bold]appell control cabinet puma[/] in "
    "another terminal."
)
def run(
    robot: options.RobotName = "puma",
    law: Law = "tracking-integral",
    frequency: Frequency = None,
    mode: Annotated[
        str,
        option(
            "Mode of the device: torque, or position, velocity or impedance if its drives close the loop.", CONTROLLER
        ),
    ] = "torque",
    period: Annotated[float, option("Control period, in s.", CONTROLLER)] = 1e-3,
    reference: Annotated[
        str,
        option(
            "Motion to follow: ramp, spline, target (for point-to-point), or a .csv, .npz, .parquet, .mcap, .db3 or "
            ".log file.",
            CONTROLLER,
        ),
    ] = "spline",
    model: Model = None,
    calibrate: Annotated[
        bool, option("Let a device that needs it first move to find its exact position.", CONTROLLER)
    ] = True,
    velocity: Annotated[
        float | None,
        option("Limit of all velocities, rad/s or m/s; by default 1.1 times those of the actuators.", CONTROLLER),
    ] = None,
    following: Annotated[
        float | None,
        option("Limit of all following errors, rad or m; by default the distance in 0.05 s.", CONTROLLER),
    ] = None,
    margin: Annotated[
        str,
        option(
            "Distance in m between collision shapes at which the arm is stopped at the latest, or 'none'.", CONTROLLER
        ),
    ] = "none",
    stop_time: Annotated[
        float | None, option("Longest duration of a safe stop, in s; by default from the torques.", CONTROLLER)
    ] = None,
    stop_damping: Annotated[
        float | None, option("Damping of a safe stop, in 1/s; by default from the torques.", CONTROLLER)
    ] = None,
    misses: Annotated[int, option("Number of consecutive deadlines that may be missed.", CONTROLLER)] = 3,
    lost: Annotated[int, option("Number of consecutive readings that may be lost.", CONTROLLER)] = 5,
    device: Annotated[
        str | None,
        option(
            "Robot to move: simulated (the default), cabinet, or a class of your own as module:Class.",
            DEVICE,
            complete=entries_of("appell.hardware.devices:DEVICES"),
        ),
    ] = None,
    device_option: Annotated[
        list[str] | None, option("Option of the device, NAME=VALUE. May be repeated.", DEVICE, "--option")
    ] = None,
    payload: Annotated[float, option("Mass at the tool in kg, which the model does not contain.", DEVICE)] = 0.0,
    fault: Annotated[
        list[str] | None,
        option(
            "Inject a fault: KIND@SECONDS or KIND@SECONDS:ACTUATOR, such as dropped-reads@1. May be repeated; "
            "an unknown KIND lists all kinds.",
            DEVICE,
        ),
    ] = None,
    real_time: Annotated[
        bool, option("Run in real time instead of on a virtual clock.", DEVICE, "--real-time")
    ] = False,
    attach: Annotated[str | None, option("Connect to the cabinet with this name in another process.", DEVICE)] = None,
    seed: Seed = 0,
    physical: options.Physical = True,
    log: Annotated[
        Path | None,
        option(
            "Write the log to this .log or .mcap file; by default to out/control.log, which is overwritten.", OUTPUT
        ),
    ] = None,
    plot: Annotated[
        Path | None, option("Write a plot to this file; by default to out/control.png, which is overwritten.", OUTPUT)
    ] = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Run a task: read, arm, find the exact position if needed, follow a reference, hold its end, stop."""
    from rich.live import Live

    from appell.hardware.cabinet.shared import default_path

    hw = ap.hardware
    path, picture = log or Path("out/control.log"), plot or Path("out/control.png")
    check_target(path, force or log is None, LOGS, make_folder=log is None)
    check_target(picture, force or plot is None, PICTURES, make_folder=plot is None)
    _check_reference(reference, law)
    if attach is not None and fault:
        raise ArgumentError("faults cannot be injected into a cabinet in another process.", hint="Omit --attach.")
    name = device or ("cabinet" if fault else "simulated")
    if fault and name != "cabinet":
        raise ArgumentError(f"faults cannot be injected into device '{name}'.", expected="--device cabinet")
    policy = hw.Policy(misses=misses, lost=lost, stop_time=stop_time)
    system = read_system(robot, physical=physical)
    controller_model = None if model is None else read_system(model, physical=physical)
    faults = hw.Faults([_injection(text, system.nu) for text in fault or ()])
    in_real_time = real_time or attach is not None
    clock = hw.MonotonicClock() if in_real_time else hw.VirtualClock(lateness=faults.lateness(period))
    settings: dict[str, Any] = {key: _value(text) for key, text in pairs(device_option, "--option").items()}
    robot_device: ap.hardware.Device
    if attach is not None:
        robot_device = hw.RemoteCabinet(hw.wiring_of(system), default_path(attach))
    else:
        settings |= {"payload": payload} if payload else {}
        settings |= {"seed": seed, "faults": faults} if name == "cabinet" else {}
        with warnings_printed():
            robot_device = hw.make_device(name, system, clock, **settings)
    servo = hw.standard_servo(
        system,
        robot_device.info,
        law=law,
        frequency=frequency,
        period=period,
        model=controller_model,
        mode=mode,
        stop_damping=stop_damping,
        velocity=velocity,
        following=following,
        margin=margin_of(margin),
    )
    with warnings_printed():
        motion = _reference(reference, period, servo)
    with (
        hw.real_time() if in_real_time else nullcontext(),
        Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live,
    ):
        path.unlink(missing_ok=True)  # all options are valid: replace the old log
        loop = hw.Loop(robot_device, servo, clock, policy, path)
        try:
            outcome = hw.run_task(loop, motion, calibrate, _status_line(live))
        finally:
            loop.close()
            if loop.journal is not None and (missing := loop.journal.writer.lost):
                live.console.print(f"[yellow]the disk is full: the last {missing} ticks are missing in the log")
    _report(Printer(json), path, picture)
    if not outcome.finished:
        typer.echo(f"task not finished: {outcome.sentence}; the loop is in state {outcome.state.name}", err=True)
        raise typer.Exit(2)


@app.command(epilog="Example: [bold]appell control cabinet puma --payload 2[/]; stop it with Ctrl-C.")
def cabinet(
    robot: options.RobotName = "puma",
    name: Annotated[str, option("Name of the cabinet, for 'appell control run --attach'.")] = "appell-cabinet",
    payload: Annotated[float, option("Mass at the tool in kg.", DEVICE)] = 0.0,
    heartbeat: Annotated[
        float, option("Time in s without a heartbeat of the loop after which the outputs are switched off.", DEVICE)
    ] = 0.05,
    seconds: Annotated[float, option("Time to serve, in s; 0: until Ctrl-C.")] = 0.0,
    seed: Seed = 0,
    physical: options.Physical = True,
    log: Annotated[Path | None, option("Write the motion of the arm to this .log or .mcap file.", OUTPUT)] = None,
    force: options.Force = False,
) -> None:
    """Serve a simulated cabinet to other processes, in real time."""
    from appell.hardware.cabinet.server import serve
    from appell.hardware.cabinet.shared import default_path

    check_target(log, force, LOGS)
    system, path = read_system(robot, physical=physical), default_path(name)
    wiring = ap.hardware.wiring_of(system)
    plant = ap.hardware.standard_plant(system, wiring, payload)
    console = Console(stderr=True)

    def make(clock: ap.hardware.VirtualClock) -> ap.hardware.SimulatedCabinet:
        simulated = ap.hardware.SimulatedCabinet(plant, clock, wiring.start, heartbeat=heartbeat, seed=seed)
        console.print(f"serving {wiring.name} at {path}, heartbeat {1e3 * heartbeat:g} ms", highlight=False)
        return simulated

    try:
        if log is not None:
            log.unlink(missing_ok=True)
        with ap.hardware.real_time(priority=60):
            serve(make, path, log, seconds or np.inf)
    except KeyboardInterrupt:
        console.print("stopped")


@app.command(epilog="Example: [bold]appell control serve ur5.urdf --protocol rtde[/]; stop it with Ctrl-C.")
def serve(
    robot: options.RobotName = "puma",
    protocol: Annotated[str, option("Protocol of the robot: rtde (Universal Robots) or moteus (CAN frames).")] = "rtde",
    host: Annotated[str, option("Address at which clients connect.")] = "127.0.0.1",
    port: Annotated[int, option("Port; 0: 30004 for rtde, any free port for moteus.")] = 0,
    plant: Annotated[str, option("Device that simulates the robot: simulated or mujoco.")] = "simulated",
    heartbeat: Annotated[float, option("Time in s without a command after which the robot is made safe.")] = 0.1,
    seconds: Annotated[float, option("Time to serve, in s; 0: until Ctrl-C.")] = 0.0,
    physical: options.Physical = True,
    log: Annotated[Path | None, option("Write the motion of the robot to this .log file.", OUTPUT)] = None,
    force: options.Force = False,
) -> None:
    """Serve a simulated robot that speaks the protocol of a real one, in real time."""
    from appell.hardware.devices.simulated_robots import serve_robot

    check_target(log, force, (".log",))
    system, console = read_system(robot, physical=physical), Console(stderr=True)

    def started(address: str) -> None:
        console.print(f"serving {system.name} at {address}, heartbeat {1e3 * heartbeat:g} ms", highlight=False)

    try:
        if log is not None:
            log.unlink(missing_ok=True)
        with ap.hardware.real_time(priority=60):
            serve_robot(system, protocol, host, port, plant, heartbeat, log, seconds or np.inf, started)
    except KeyboardInterrupt:
        console.print("stopped")


@app.command(epilog="Example: [bold]appell control show out/control.log --csv run.csv[/].")
def show(
    log: LogFile,
    plot: Annotated[Path | None, option("Write a plot of positions, errors and torques to this file.", OUTPUT)] = None,
    csv: Annotated[
        Path | None, option("Write all columns to this .csv, .npz, .parquet, .mcap or .db3 file.", OUTPUT)
    ] = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Summarise a log, also that of a loop that was killed."""
    check_target(csv, force, RECORDS)
    check_target(plot, force, PICTURES)
    out = Printer(json)
    out.files(_report(out, log, plot), csv)


@app.command(epilog="Example: [bold]appell control replay out/control.log puma[/].")
def replay(
    log: LogFile,
    robot: options.RobotName = "puma",
    model: Model = None,
    law: Law = "tracking-integral",
    frequency: Frequency = None,
    physical: options.Physical = True,
) -> None:
    """Run a loop again with its logged inputs, and compare the outputs bit by bit."""
    hw = ap.hardware
    record = read_record(log)
    system = read_system(robot, physical=physical)
    controller_model = None if model is None else read_system(model, physical=physical)
    servo = hw.logged_servo(record, system, law=law, frequency=frequency, model=controller_model)
    if (difference := hw.first_difference(record, hw.replay(record, servo))) is not None:
        typer.echo(f"row {difference[0]} differs in column '{difference[1]}'")
        raise typer.Exit(1)
    typer.echo(f"{len(record)} ticks replayed, all bits identical")


def _is_file(reference: str) -> bool:
    return Path(reference).suffix.lower() in REFERENCE_FILES


def _check_reference(reference: str, law: str) -> None:
    if reference not in ap.hardware.REFERENCES and not _is_file(reference):
        raise ArgumentError(
            unknown_name("reference", reference, ap.hardware.REFERENCES, "appell control run"),
            expected=f"one of these, or a file: {', '.join(REFERENCE_FILES)}",
        )
    if (reference == "target") != (law == "point-to-point"):
        raise ArgumentError(
            f"reference '{reference}' cannot be used with law '{law}'.",
            expected="target with point-to-point; ramp, spline or a file with the other laws",
        )


def _reference(kind: str, period: float, servo: ap.hardware.Servo) -> Callable[[np.ndarray], ap.hardware.Reference]:
    """Return the motion of a file, or the default motion of a kind."""
    hw = ap.hardware
    if not _is_file(kind):
        return hw.standard_motion(servo, kind)
    path = hw.recorded_path(read_record(Path(kind), servo.system), servo.system.coordinate_names)
    return lambda q: hw.Reference.approached(path, period, q)[0]


def _value(text: str) -> Any:
    """Read the value of an option of a device: a number if possible."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _injection(text: str, n: int) -> ap.hardware.Injection:
    """Read a fault of one of n actuators, KIND@SECONDS or KIND@SECONDS:ACTUATOR."""
    kind, at, rest = text.partition("@")
    seconds, _, actuator = rest.partition(":")
    try:
        injection = ap.hardware.Injection(kind, float(seconds), int(actuator or 1) - 1)
    except ArgumentError:
        raise
    except ValueError:
        problem = f"--fault is '{text}'."
        raise ArgumentError(problem, expected="KIND@SECONDS or KIND@SECONDS:ACTUATOR") from None
    if kind == "killed-loop":
        raise ArgumentError(
            "--fault killed-loop is not possible in one process.",
            hint="Kill the process of the loop with kill -9, or use appell campaign.",
        )
    if not at or not 0 <= injection.actuator < n:
        problem = f"--fault is '{text}', without a time or with an unknown actuator."
        raise ArgumentError(problem, expected=f"KIND@SECONDS:ACTUATOR, with an actuator from 1 to {n}")
    return injection


def _status_line(live: Live) -> Callable[[ap.hardware.Loop], None]:
    count = 0

    def after_tick(loop: ap.hardware.Loop) -> None:
        nonlocal count
        count += 1
        if count % STATUS_INTERVAL_TICKS:
            return
        color = STATE_COLORS.get(loop.state.name, "blue")
        position = "  ".join(f"{x:+.3f}" for x in loop.position)
        live.update(
            f"[{color}]{loop.state.name:<9}[/]  t = {loop.grid * loop.period:7.3f} s   q = {position}", refresh=True
        )

    return after_tick


def _report(out: Printer, log: Path, plot: Path | None) -> ap.Record:
    """Print errors, torques, deadlines and faults of a run, plot it if `plot` is given, and return the log."""
    from appell.hardware.loop.summary import draw_run, summarize
    from appell.show.plot.style import FIGURE_WIDTH_IN, new_figure, save, styled

    record = read_record(log)
    summary, about = summarize(record), record.about
    errors = zip(summary.coordinates, summary.largest_error, summary.final_error, strict=True)
    torques = zip(summary.actuators, summary.largest_torque, strict=True)
    data: dict[str, Any] = {
        "robot": about["robot"],
        "law": about["law"],
        "coordinates": [{"name": name, "largest_error": most, "final_error": last} for name, most, last in errors],
        "actuators": [{"name": name, "largest_torque": most} for name, most in torques],
        "ticks": summary.ticks,
        "duration": summary.duration,
        "skipped": summary.skipped,
        "latest_wake_up": summary.latest,
        "fault": summary.fault,
        "log": log,
        "units": {"errors": "rad or m", "largest_torque": "N m or N", "duration, latest_wake_up": "s"},
    }
    rows = [
        {"coordinate": each["name"], "largest": 1e3 * each["largest_error"], "final": 1e3 * each["final_error"]}
        for each in data["coordinates"]
    ]
    paired = zip_longest(rows, data["actuators"], fillvalue=dict[str, Any]())
    heads = {
        "coordinate": "coordinate",
        "largest": ("largest error", ".3f"),
        "final": ("final error", "+.3f"),
        "name": "actuator",
        "largest_torque": ("largest torque", ".2f"),
    }
    title, caption = f"{about['robot']}, law '{about['law']}'", "errors in mrad or mm, torques in N m or N"
    out.answer(
        data,
        table([left | right for left, right in paired], heads, title, caption),
        f"{summary.ticks} ticks in {summary.duration:.2f} s, {summary.skipped} skipped, wake-ups at most "
        f"{1e3 * summary.latest:.3f} ms late; {summary.fault}.",
        f"log: {log}",
    )
    if plot is not None:
        try:
            import matplotlib  # noqa: F401 - without matplotlib, there is no plot
        except ImportError:
            return record
        with styled():
            figure = new_figure(FIGURE_WIDTH_IN, 8.0)
            draw_run(figure, record)
            save(figure, plot, overwrite=True)
        out.say(f"wrote {plot}")
    return record
