"""`appell trajectory`: make a line, a ramp, a spline or the fastest motion along a path, as a record and as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli import completions
from appell.cli.answers import table, tell
from appell.cli.numbers import numbers
from appell.cli.options import SIMULATE, Base, Force, Json, Output, Physical, Plot, RobotName
from appell.cli.reading import read_system, read_tree
from appell.cli.screen import say, screen
from appell.cli.targets import PICTURES, RECORDS, check_target
from appell.display.bar import Bar

if TYPE_CHECKING:
    from appell.motion import Path as Motion

POSITIONS = ("start", "end", "lowest", "highest")
Samples = Annotated[int, typer.Option(min=2, help="Rows of the record.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        help="Make a trajectory: record, plot and a summary.",
        epilog="Example: [bold]appell trajectory ramp pendulum --to 1 --output swing.csv[/].",
    )

    @group.command(
        epilog="Example: [bold]appell trajectory line puma --from 0.6,0.175,0.25 --to 0.244,0.527,0.25 --zyz 45,60,90 "
        "--duration 5 --output line.csv[/]."
    )
    def line(
        robot: RobotName,
        start: Annotated[str, typer.Option("--from", help="Start of the frame, x,y,z in m.")],
        end: Annotated[str, typer.Option("--to", help="End of the frame, x,y,z in m.")],
        zyz: Annotated[str, typer.Option(help="Orientation, angles about z, y, z in degrees.")],
        duration: Annotated[float, typer.Option(help="How long, in seconds.")],
        frame: Annotated[
            str | None,
            typer.Option(help="The frame that moves; 'tool' if not given.", autocompletion=completions.frames),
        ] = None,
        configuration: Annotated[
            str | None,
            typer.Option(help="Signs of shoulder, elbow and wrist: 1,-1,1; or the joints of a start, in rad or m."),
        ] = None,
        base: Base = "fixed",
        physical: Physical = True,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """A straight line of a frame at constant speed and orientation."""
        from appell.motion import CartesianLine
        from appell.motion import zyz as turned
        from appell.motion.inverse.poses import default_frame
        from appell.motion.names import record_units

        _check(output, plot, force)
        arm = read_tree(robot, base, physical)
        first, last = numbers(start, "--from", 3), numbers(end, "--to", 3)
        flags = None if configuration is None else numbers(configuration, "--configuration")
        orientation = turned(*numbers(zyz, "--zyz", 3))
        frame = default_frame(arm) if frame is None else frame
        path = CartesianLine(arm, frame, first, last, orientation, duration, flags)
        _show(path, record_units(arm), samples, output, plot, json)

    @group.command(epilog="Example: [bold]appell trajectory ramp panda --to 0.5,-0.5,0,-2,0,1.5,0.8 --velocity 1[/].")
    def ramp(
        robot: RobotName,
        end: Annotated[str, typer.Option("--to", help="Joints at the end in rad or m, numbers with commas.")],
        start: Annotated[
            str | None, typer.Option("--from", help="Joints at the start; the robot's home if not given.")
        ] = None,
        velocity: Annotated[str, typer.Option(help="Limit in rad/s or m/s, one number or one a joint.")] = "1",
        acceleration: Annotated[str, typer.Option(help="Limit in rad/s² or m/s², the same.")] = "2",
        duration: Annotated[
            float | None, typer.Option(help="How long, in seconds; as short as the limits allow if not given.")
        ] = None,
        base: Base = "fixed",
        physical: Physical = True,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """A trapezoidal ramp between two configurations."""
        from appell.motion import Ramp
        from appell.motion.names import record_names, record_units

        _check(output, plot, force)
        arm = read_system(robot, base, physical)
        first = arm.start if start is None else numbers(start, "--from", arm.nv)
        limits = numbers(velocity, "--velocity", arm.nv), numbers(acceleration, "--acceleration", arm.nv)
        path = Ramp(first, numbers(end, "--to", arm.nv), *limits, duration, record_names(arm)["q"])
        _show(path, record_units(arm), samples, output, plot, json)

    @group.command(epilog="Example: [bold]appell trajectory spline points.csv --degree 5 --output smooth.csv[/].")
    def spline(
        points: Annotated[FilePath, typer.Argument(help="Record with columns t, q_<coordinate>...: the way-points.")],
        degree: Annotated[int, typer.Option(help="Of its polynomials, 3 or 5.")] = 3,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """A spline through way-points, from rest to rest."""
        from appell.motion import Record, Spline

        _check(output, plot, force)
        given = Record.read(points)
        _show(Spline(given.t, given.q, degree, given.names("q")), given.units, samples, output, plot, json)

    @group.command(
        epilog="Example: [bold]appell trajectory fastest puma line.csv --torque 60,100,40,3,2,1 --output fast.csv[/]."
    )
    def fastest(
        robot: RobotName,
        path: Annotated[FilePath, typer.Argument(help="Record whose path is travelled.")],
        velocity: Annotated[
            str | None, typer.Option(help="Limit in rad/s or m/s, one number or one a joint; the robot's if not given.")
        ] = None,
        acceleration: Annotated[str | None, typer.Option(help="Limit in rad/s² or m/s²; none if not given.")] = None,
        torque: Annotated[
            str | None,
            typer.Option(help="Limit of joint force, N m or N, one number or one a joint; the robot's if not given."),
        ] = None,
        intervals: Annotated[int, typer.Option(min=10, help="Intervals into which the path is cut.")] = 1000,
        base: Base = "fixed",
        physical: Physical = True,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """The fastest motion along the path of a trajectory, from rest to rest."""
        from appell.motion import Record, time_optimal
        from appell.motion.names import record_names, record_units

        _check(output, plot, force)
        arm = read_system(robot, base, physical)
        given = {"velocity": velocity, "acceleration": acceleration, "torque": torque}
        sizes = {"velocity": arm.nv, "acceleration": arm.nv, "torque": arm.nu}
        limits = {key: numbers(text, f"--{key}", sizes[key]) for key, text in given.items() if text is not None}
        asked = Record.read(path).path(record_names(arm)["q"])
        with Bar(f"fastest motion, {intervals:,} intervals", patience=0.0):
            found = time_optimal(asked, arm, intervals=intervals, **limits)
        _show(found, record_units(arm), samples, output, plot, json)

    app.add_typer(group, name="trajectory", rich_help_panel=SIMULATE)


def _check(output: FilePath | None, plot: FilePath | None, force: bool) -> None:
    check_target(output, force, RECORDS)
    check_target(plot, force, PICTURES)


def _show(
    path: Motion,
    units: Mapping[str, str],
    samples: int,
    output: FilePath | None,
    plot: FilePath | None,
    json: bool,
) -> None:
    """What the joints do, as a table or as JSON; then the files that were asked for."""
    answer, console = _answer(path, units), screen(aside=json)
    if json:
        tell(answer)
    else:
        heads = {"joint": "joint", "unit": "unit"} | {key: (key, ".5g") for key in POSITIONS}
        heads |= {"fastest": ("fastest, unit/s", ".5g"), "hardest": ("hardest, unit/s²", ".5g")}
        console.print(table(answer["joints"], heads, f"{answer['path']}, {answer['duration']:.6g} s"))
    found = path.record(samples, units=units)
    if output is not None:
        found.write(output, overwrite=True)
        say(console, f"written {output}, {samples} samples")
    if plot is not None:
        found.plot(plot)
        say(console, f"drawn {plot}")


def _answer(path: Motion, units: Mapping[str, str]) -> dict[str, Any]:
    """Where every joint begins and ends and how far, fast and hard it goes."""
    import numpy as np

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
    told = {"duration": "s", ", ".join(POSITIONS): "unit", "fastest": "unit/s", "hardest": "unit/s^2"}
    return {"path": type(path).__name__, "duration": path.duration, "joints": rows, "units": told}
