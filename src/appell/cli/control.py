"""`appell control …`: run a task on a simulated cabinet, look at its log, replay it, or break it on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.options import CONTROL, Force, Json, Physical, RobotName

Model = Annotated[
    str | None,
    typer.Option(
        help="What the controller believes: another description with the same names; the robot itself if not given.",
        autocompletion=completions.robots,
    ),
]
Law = Annotated[
    str,
    typer.Option(
        help="point-to-point, tracking, tracking-integral, pd-gravity or pid (Valera 2003, Table 4).",
        autocompletion=completions.laws,
    ),
]
Frequency = Annotated[float, typer.Option(help="All poles of the error lie at minus this, in 1/s.")]
Period = Annotated[float, typer.Option(help="Between two ticks, in seconds.")]
LogFile = Annotated[Path, typer.Argument(help="A log that 'appell control run' wrote.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        name="control",
        help="Run inverse-dynamics control on a simulated cabinet.",
        epilog="Example: [bold]appell control run puma --reference spline --payload 2[/].",
        no_args_is_help=True,
        rich_markup_mode="rich",
    )
    app.add_typer(group, rich_help_panel=CONTROL)

    @group.command(
        epilog="Examples: [bold]appell control run delta[/]; [bold]appell control run puma --reference motion.csv "
        "--model identified.toml[/]; [bold]appell control run puma --fault encoder-loss@3.9[/]; "
        "[bold]appell control run puma --attach appell-cabinet[/] beside [bold]appell control cabinet puma[/]."
    )
    def run(
        robot: RobotName = "puma",
        law: Law = "tracking-integral",
        frequency: Frequency = 20.0,
        period: Period = 1e-3,
        reference: Annotated[
            str, typer.Option(help="ramp, spline, target (for point-to-point), or a .csv, .npz or .log to follow.")
        ] = "spline",
        model: Model = None,
        payload: Annotated[float, typer.Option(help="Mass in kg at the tool that the model does not know.")] = 0.0,
        fault: Annotated[
            list[str] | None,
            typer.Option(
                help="A fault, KIND@SECONDS or KIND@SECONDS:ACTUATOR, such as dropped-reads@1; may be repeated. "
                "A wrong KIND is answered with all there are."
            ),
        ] = None,
        real_time: Annotated[
            bool, typer.Option("--real-time", help="By the machine's clock, not a virtual one.")
        ] = False,
        attach: Annotated[str | None, typer.Option(help="Use the cabinet of this name, in another process.")] = None,
        calibrate: Annotated[bool, typer.Option(help="Find the index pulses first.")] = True,
        misses: Annotated[int, typer.Option(help="Deadlines in a row that may be missed.")] = 3,
        lost: Annotated[int, typer.Option(help="Readings in a row that may be lost.")] = 5,
        seed: Annotated[int, typer.Option(help="Of noise and imperfections.")] = 0,
        physical: Physical = True,
        log: Annotated[
            Path | None, typer.Option(help="Where the log goes; if not given, to out/control.log, always anew.")
        ] = None,
        plot: Annotated[
            Path | None, typer.Option(help="Where the picture goes; if not given, to out/control.png, always anew.")
        ] = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """From power-on to rest: arm, find the index pulses, follow a reference, hold, stop."""
        from appell.cli.control_run import Request, carry_out, report
        from appell.cli.targets import PICTURES, check_target
        from appell.control.loop.supervisor import Policy

        path, picture = log or Path("out/control.log"), plot or Path("out/control.png")
        check_target(path, force or log is None, (".log",), folder=log is None)
        check_target(picture, force or plot is None, PICTURES, folder=plot is None)

        wanted = Request(
            system=robot,
            model=model,
            law=law,
            frequency=frequency,
            period=period,
            reference=reference,
            payload=payload,
            faults=tuple(fault or ()),
            real_time=real_time,
            attach=attach,
            calibrate=calibrate,
            policy=Policy(misses=misses, lost=lost),
            seed=seed,
            physical=physical,
        )
        outcome = carry_out(wanted, path)
        report(path, picture, json)
        if not outcome.finished:
            typer.echo(
                f"the task was not finished: {outcome.sentence}; the loop is in state {outcome.state.name}", err=True
            )
            raise typer.Exit(2)

    @group.command(epilog="Example: [bold]appell control cabinet puma --payload 2[/]; stop it with Ctrl-C.")
    def cabinet(
        robot: RobotName = "puma",
        name: Annotated[str, typer.Option(help="Under which 'run --attach' finds it.")] = "appell-cabinet",
        payload: Annotated[float, typer.Option(help="Mass in kg at the tool.")] = 0.0,
        heartbeat: Annotated[
            float, typer.Option(help="Seconds without a sign of life, then the outputs go off.")
        ] = 0.05,
        seconds: Annotated[float, typer.Option(help="How long to serve, in seconds; 0: until Ctrl-C.")] = 0.0,
        seed: Annotated[int, typer.Option(help="Of noise and imperfections.")] = 0,
        physical: Physical = True,
        log: Annotated[Path | None, typer.Option(help="Write what the arm does to this .log.")] = None,
        force: Force = False,
    ) -> None:
        """A simulated cabinet as a process of its own, in real time."""
        from appell.cli.control_run import serve_cabinet
        from appell.cli.targets import check_target

        check_target(log, force, (".log",))
        serve_cabinet(robot, physical, name, payload, heartbeat, seconds, seed, log)

    @group.command(epilog="Example: [bold]appell control show out/control.log --csv run.csv[/].")
    def show(
        log: LogFile,
        plot: Annotated[Path | None, typer.Option(help="Draw positions, errors and torques to this file.")] = None,
        csv: Annotated[Path | None, typer.Option(help="Write all columns to this .csv, .npz or .parquet.")] = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """What a log says; it may be that of a loop that was killed."""
        from appell.cli.control_run import report
        from appell.cli.targets import PICTURES, RECORDS, check_target
        from appell.motion.record import Record

        check_target(csv, force, RECORDS)
        check_target(plot, force, PICTURES)
        report(log, plot, json)
        if csv is not None:
            Record.read(log).write(csv, overwrite=True)
            typer.echo(f"written to {csv}", err=json)

    @group.command(epilog="Example: [bold]appell control replay out/control.log puma[/].")
    def replay(
        log: LogFile,
        robot: RobotName = "puma",
        model: Model = None,
        law: Law = "tracking-integral",
        frequency: Frequency = 20.0,
        physical: Physical = True,
    ) -> None:
        """Run the loop again on what it logged, and compare bit by bit."""
        from appell.cli.reading import read_system
        from appell.control.loop.repeater import first_difference
        from appell.control.loop.repeater import replay as again
        from appell.control.loop.task import standard_servo
        from appell.motion.record import Record

        read = Record.read(log)
        system = read_system(robot, physical=physical)
        believed = None if model is None else read_system(model, physical=physical)
        servo = standard_servo(system, law, frequency, read.about["period"], model=believed)
        if (difference := first_difference(read, again(read, servo))) is not None:
            typer.echo(f"row {difference[0]} differs in column '{difference[1]}'")
            raise typer.Exit(1)
        typer.echo(f"{len(read)} ticks replayed, every bit the same")

    @group.command(epilog="Example: [bold]appell control campaign --schedules 200[/].")
    def campaign(
        schedules: Annotated[int, typer.Option(help="How many seeded schedules of faults.", min=1)] = 1000,
        first: Annotated[int, typer.Option(help="The first seed.")] = 0,
        json: Json = False,
    ) -> None:
        """Break the loop on purpose, many times, and check that it always stops well."""
        from appell.cli.control_campaign import run_and_show

        if run_and_show(schedules, first, json):
            raise typer.Exit(1)
