"""`appell trajectory`: make a line, a ramp, a spline or the fastest motion along a path, as CSV and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.numbers import numbers
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.motion import Trajectory

RobotName = Annotated[str, typer.Argument(help="A robot of the zoo, or a .urdf or .toml file.")]
Output = Annotated[Path | None, typer.Option(help="CSV to write: t, q, v and a of every joint.")]
Plot = Annotated[Path | None, typer.Option(help="PNG to write: position, velocity and acceleration.")]
Samples = Annotated[int, typer.Option(min=2, help="Rows of the CSV.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode="rich", help="Make a trajectory: CSV, plot and a summary."
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
        duration: Annotated[float, typer.Option(help="Seconds.")],
        frame: Annotated[str | None, typer.Option(help="The frame that moves; 'tool' if none.")] = None,
        configuration: Annotated[
            str | None, typer.Option(help="shoulder,elbow,wrist, each 1 or -1; or the joints of a start.")
        ] = None,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
    ) -> None:
        """A straight line of a frame at constant speed and orientation."""
        from appell.describe.load import load
        from appell.motion import CartesianLine
        from appell.motion import zyz as turned
        from appell.motion.inverse.poses import default_frame

        arm = load(robot)
        first, last = numbers(start, "--from", 3), numbers(end, "--to", 3)
        flags = None if configuration is None else numbers(configuration, "--configuration")
        orientation = turned(*numbers(zyz, "--zyz", 3))
        frame = default_frame(arm) if frame is None else frame
        _show(CartesianLine(arm, frame, first, last, orientation, duration, flags), samples, output, plot)

    @group.command(epilog="Example: [bold]appell trajectory ramp panda --to 0.5,-0.5,0,-2,0,1.5,0.8 --velocity 1[/].")
    def ramp(
        robot: RobotName,
        end: Annotated[str, typer.Option("--to", help="Joints at the end, rad or m.")],
        start: Annotated[
            str | None, typer.Option("--from", help="Joints at the start; the robot's home if none.")
        ] = None,
        velocity: Annotated[str, typer.Option(help="Limit, one number or one a joint.")] = "1",
        acceleration: Annotated[str, typer.Option(help="Limit, one number or one a joint.")] = "2",
        duration: Annotated[float | None, typer.Option(help="Seconds; the shortest possible if none.")] = None,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
    ) -> None:
        """A trapezoidal ramp between two configurations."""
        from appell.describe.load import load
        from appell.motion import Ramp

        arm = load(robot)
        first = arm.start if start is None else numbers(start, "--from", arm.nv)
        limits = numbers(velocity, "--velocity", arm.nv), numbers(acceleration, "--acceleration", arm.nv)
        _show(Ramp(first, numbers(end, "--to", arm.nv), *limits, duration, arm.joint_names), samples, output, plot)

    @group.command(epilog="Example: [bold]appell trajectory spline points.csv --degree 5 --output smooth.csv[/].")
    def spline(
        points: Annotated[Path, typer.Argument(help="CSV with columns t, q_<joint>...: the way-points.")],
        degree: Annotated[int, typer.Option(help="3 or 5.")] = 3,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
    ) -> None:
        """A spline through way-points, from rest to rest."""
        from appell.motion import Samples as Given
        from appell.motion import Spline, read_csv

        given = read_csv(points)
        if not isinstance(given, Spline | Given):
            raise ArgumentError(f"{points} holds no way-points.")
        _show(Spline(given.knots, given.points, degree, given.names), samples, output, plot)

    @group.command(
        epilog="Example: [bold]appell trajectory fastest puma line.csv --effort 60,100,40,3,2,1 --output fast.csv[/]."
    )
    def fastest(
        robot: RobotName,
        path: Annotated[Path, typer.Argument(help="CSV of the trajectory whose path is travelled.")],
        velocity: Annotated[
            str | None, typer.Option(help="Limit, one number or one a joint; the robot's if none.")
        ] = None,
        acceleration: Annotated[str | None, typer.Option(help="Limit, one number or one a joint.")] = None,
        effort: Annotated[str | None, typer.Option(help="Limit of joint force, N m or N; the robot's if none.")] = None,
        intervals: Annotated[int, typer.Option(min=10, help="Intervals into which the path is cut.")] = 1000,
        samples: Samples = 201,
        output: Output = None,
        plot: Plot = None,
    ) -> None:
        """The fastest motion along the path of a trajectory, from rest to rest."""
        from appell.describe.load import load
        from appell.motion import read_csv, time_optimal

        arm = load(robot)
        given = {"velocity": velocity, "acceleration": acceleration, "effort": effort}
        limits = {key: numbers(text, f"--{key}", arm.nv) for key, text in given.items() if text is not None}
        _show(time_optimal(read_csv(path), arm, intervals=intervals, **limits), samples, output, plot)

    app.add_typer(group, name="trajectory")


def _show(trajectory: Trajectory, samples: int, output: Path | None, plot: Path | None) -> None:
    """What the joints do, as a table; then the files that were asked for."""
    import numpy as np
    from rich import box
    from rich.table import Table

    from appell.cli.screen import screen

    q, v, a = trajectory(trajectory.times(1001))
    table = Table(
        title=f"{type(trajectory).__name__}, {trajectory.duration:.6g} s", title_justify="left", box=box.SIMPLE_HEAD
    )
    for k, column in enumerate(("joint", "start", "end", "lowest", "highest", "fastest", "hardest")):
        table.add_column(column, justify="left" if k == 0 else "right")
    for k, name in enumerate(trajectory.names):
        row = (q[0, k], q[-1, k], q[:, k].min(), q[:, k].max(), np.abs(v[:, k]).max(), np.abs(a[:, k]).max())
        table.add_row(name, *(f"{x:.5g}" for x in row))
    console = screen()
    console.print(table)
    if output is not None:
        trajectory.to_csv(output, samples)
        console.print(f"written {output}, {samples} samples", highlight=False)
    if plot is not None:
        trajectory.plot().savefig(plot, dpi=130)
        console.print(f"drawn {plot}", highlight=False)
