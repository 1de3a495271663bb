"""`appell trajectory`: compute a line, ramp, spline or time-optimal motion, as a record and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import (
    PICTURES,
    RECORDS,
    check_target,
    margin_of,
    numbers,
    read_record,
    read_system,
    read_tree,
    warnings_printed,
    with_floor,
)
from appell.cli.options import SIMULATE, argument, complete_frame, new_app, option
from appell.cli.output import Printer, table
from appell.progress import Bar

POSITIONS = ("start", "end", "lowest", "highest")
SAMPLE_PERIOD_S = 1e-3  # of a time-optimal motion
Samples = Annotated[int, option("Number of samples in the record.", min=2)]

app = new_app(
    no_args_is_help=True,
    rich_help_panel=SIMULATE,
    help="Compute a trajectory and write it as a record or a plot.",
    epilog="Example: [bold]appell trajectory ramp pendulum --to 1 --output swing.csv[/].",
)


@app.command(
    epilog="Example: [bold]appell trajectory line puma --from 0.6,0.175,0.25 --to 0.244,0.527,0.25 --zyz 45,60,90 "
    "--duration 5 --output line.csv[/]."
)
def line(
    robot: options.RobotName,
    start: Annotated[str, option("Start position of the frame: x,y,z in m.", "", "--from")],
    end: Annotated[str, option("End position of the frame: x,y,z in m.", "", "--to")],
    zyz: Annotated[str, option("Orientation of the frame: Euler angles about z, y, z in degrees.")],
    duration: Annotated[float, option("Duration of the motion, in s.")],
    frame: Annotated[str | None, option("Frame to move; by default 'tool'.", complete=complete_frame)] = None,
    configuration: Annotated[
        str | None,
        option("Signs of shoulder, elbow and wrist, such as 1,-1,1, or an initial guess of the joint coordinates."),
    ] = None,
    margin: options.Margin = "none",
    floor: options.Floor = None,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    samples: Samples = 201,
    output: options.Output = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Move a frame along a straight line at constant speed and orientation."""
    from appell.kinematics.inverse.numerical_solver import default_frame
    from appell.motion.titles import record_units

    _check(output, plot, force)
    arm = with_floor(read_tree(robot, base, physical), floor)
    first, last = numbers(start, "--from", 3), numbers(end, "--to", 3)
    signs = None if configuration is None else numbers(configuration, "--configuration")
    orientation = ap.motion.zyz(*numbers(zyz, "--zyz", 3))
    frame = default_frame(arm) if frame is None else frame
    path = ap.motion.CartesianLine(arm, frame, first, last, orientation, duration, signs, margin_of(margin))
    _show(path, record_units(arm), samples, output, plot, json)


@app.command(epilog="Example: [bold]appell trajectory ramp panda --to 0.5,-0.5,0,-2,0,1.5,0.8 --velocity 1[/].")
def ramp(
    robot: options.RobotName,
    end: Annotated[str, option("Final joint coordinates in rad or m, comma-separated.", "", "--to")],
    start: Annotated[
        str | None, option("Initial joint coordinates; by default the home configuration.", "", "--from")
    ] = None,
    velocity: Annotated[str, option("Velocity limit in rad/s or m/s, one number or one per joint.")] = "1",
    acceleration: Annotated[str, option("Acceleration limit in rad/s² or m/s², one number or one per joint.")] = "2",
    duration: Annotated[float | None, option("Duration in s; by default as short as the limits allow.")] = None,
    margin: options.Margin = "none",
    floor: options.Floor = None,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    samples: Samples = 201,
    output: options.Output = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Compute a motion with a trapezoidal velocity profile between two configurations."""
    from appell.motion.titles import record_names, record_units

    _check(output, plot, force)
    system = with_floor(read_system(robot, base, physical), floor)
    first = system.start if start is None else numbers(start, "--from", system.nv)
    limits = numbers(velocity, "--velocity", system.nv), numbers(acceleration, "--acceleration", system.nv)
    path = ap.motion.Ramp(first, numbers(end, "--to", system.nv), *limits, duration, record_names(system)["q"])
    ap.motion.check_margin(system, path, margin_of(margin))
    _show(path, record_units(system), samples, output, plot, json)


@app.command(epilog="Example: [bold]appell trajectory spline points.csv --degree 5 --output smooth.csv[/].")
def spline(
    points: Annotated[Path, argument("Record of the way-points, with columns t and q_<coordinate>.")],
    degree: Annotated[int, option("Degree of the polynomials, 3 or 5.")] = 3,
    samples: Samples = 201,
    output: options.Output = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Compute a spline through way-points, from rest to rest."""
    _check(output, plot, force)
    given = read_record(points)
    path = ap.motion.Spline(given.t, given.q, degree, given.names("q"))
    _show(path, given.units, samples, output, plot, json)


@app.command(
    epilog="Example: [bold]appell trajectory fastest puma line.csv --torque 60,100,40,3,2,1 --output fast.csv[/]."
)
def fastest(
    robot: options.RobotName,
    path: Annotated[Path, argument("Record whose path is followed.")],
    velocity: Annotated[
        str | None,
        option("Velocity limit in rad/s or m/s, one number or one per joint; by default 80 % of the robot's."),
    ] = None,
    acceleration: Annotated[str | None, option("Acceleration limit in rad/s² or m/s²; none by default.")] = None,
    torque: Annotated[
        str | None,
        option("Torque or force limit in N m or N, one number or one per actuator; by default 80 % of the robot's."),
    ] = None,
    jerk: Annotated[
        str | None, option("Jerk limit in rad/s³ or m/s³, one number or one per joint; none by default.")
    ] = None,
    intervals: Annotated[int, option("Number of intervals into which the path is divided.", min=10)] = 1000,
    margin: options.Margin = "none",
    floor: options.Floor = None,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    samples: Annotated[
        int | None,
        option("Number of samples in the record; by default one per ms, as accelerations may jump in between.", min=2),
    ] = None,
    output: options.Output = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Compute the time-optimal motion along the path of a record, from rest to rest."""
    from appell.motion.titles import record_names, record_units

    _check(output, plot, force)
    system = with_floor(read_system(robot, base, physical), floor)
    given = {
        "velocity": (velocity, system.nv),
        "acceleration": (acceleration, system.nv),
        "torque": (torque, system.nu),
        "jerk": (jerk, system.nv),
    }
    limits: Any = {key: numbers(text, f"--{key}", size) for key, (text, size) in given.items() if text is not None}
    followed = read_record(path, system).path(record_names(system)["q"])
    with Bar(f"time-optimal motion, {intervals:,} intervals", delay=0.0), warnings_printed():
        motion = ap.motion.time_optimal(followed, system, intervals=intervals, margin=margin_of(margin), **limits)
    samples = max(2, round(motion.duration / SAMPLE_PERIOD_S) + 1) if samples is None else samples
    _show(motion, record_units(system), samples, output, plot, json)


def _check(output: Path | None, plot: Path | None, force: bool) -> None:
    check_target(output, force, RECORDS)
    check_target(plot, force, PICTURES)


def _show(
    path: ap.Path, units: Mapping[str, str], samples: int, output: Path | None, plot: Path | None, json: bool
) -> None:
    """Print start, end and extremes of every joint, and write the requested files."""
    q, v, a = path(path.times(1001))
    columns = {
        "start": q[0],
        "end": q[-1],
        "lowest": q.min(axis=0),
        "highest": q.max(axis=0),
        "fastest": np.abs(v).max(axis=0),
        "hardest": np.abs(a).max(axis=0),
    }
    rows = [
        {"joint": name, "unit": units.get(f"q_{name}", "rad or m")} | {key: x[k] for key, x in columns.items()}
        for k, name in enumerate(path.names)
    ]
    of_columns = {"duration": "s", ", ".join(POSITIONS): "unit", "fastest": "unit/s", "hardest": "unit/s^2"}
    data = {"path": type(path).__name__, "duration": path.duration, "joints": rows, "units": of_columns}
    heads = {"joint": "joint", "unit": "unit"} | {key: (key, ".5g") for key in POSITIONS}
    heads |= {"fastest": ("fastest, unit/s", ".5g"), "hardest": ("hardest, unit/s²", ".5g")}
    out = Printer(json)
    out.answer(data, table(rows, heads, f"{data['path']}, {path.duration:.6g} s"))
    if output is not None or plot is not None:
        out.files(path.record(samples, units=units), output, plot)
