"""`appell simulate ROBOT`: the motion of a robot from a start, with walls in its way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.options import (
    Actuators,
    Base,
    Force,
    NoBrowser,
    Output,
    Outside,
    Physical,
    Plot,
    Port,
    RobotName,
    Walls,
)

LONGEST = 20  # events listed


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell simulate tree10 --wall circle:2.5 --until 1.5 --plot motion.png[/].")
    def simulate(
        robot: RobotName,
        until: Annotated[float, typer.Option(help="How long, in seconds.")] = 1.0,
        q: Annotated[str, typer.Option(help="Start, numbers with commas; the robot's home if none.")] = "",
        v: Annotated[str, typer.Option(help="Velocity at the start; rest if none.")] = "",
        torque: Annotated[str, typer.Option(help="Constant actuator forces; none if none.")] = "",
        wall: Walls = None,
        outside: Outside = False,
        points: Annotated[str, typer.Option(help="Frames that meet the walls, with commas.")] = "all",
        restitution: Annotated[float, typer.Option(help="0: no bounce, 1: no loss.")] = 1.0,
        friction: Annotated[float, typer.Option(help="Coulomb's coefficient at the walls.")] = 0.0,
        stops: Annotated[
            float | None, typer.Option(help="Restitution of the joints at their limits, 0 to 1; no stops if not given.")
        ] = None,
        saturate: Annotated[bool, typer.Option("--saturate", help="Cut torques off at the actuators' limits.")] = False,
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        method: Annotated[str, typer.Option(help="DOP853, RK45, RK23, Radau, BDF or LSODA.")] = "DOP853",
        rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-8,
        output: Output = None,
        plot: Plot = None,
        movie: Annotated[Path | None, typer.Option(help="GIF or MP4 to write.")] = None,
        view: Annotated[bool, typer.Option("--view", help="Show the motion in the browser, until Ctrl-C.")] = False,
        port: Port = 0,
        no_browser: NoBrowser = False,
        force: Force = False,
    ) -> None:
        """The motion of a robot from a start, with walls in its way."""
        from appell.cli.numbers import numbers
        from appell.cli.pictures import stay, write_pictures
        from appell.cli.reading import read_system
        from appell.cli.screen import say, screen
        from appell.cli.targets import MOVIES, PICTURES, RECORDS, check_target
        from appell.cli.walls import surface
        from appell.dynamics import Dynamics
        from appell.simulation import Contact
        from appell.simulation import simulate as run

        for path, endings in ((output, RECORDS), (plot, PICTURES), (movie, MOVIES)):
            check_target(path, force, endings)
        model = read_system(robot, base, physical)
        names = "all" if points == "all" else points.split(",")
        contacts = [Contact(names, surface(text, not outside), restitution, friction) for text in wall or []]
        start = {"q0": (q, model.nq), "v0": (v, model.nv), "torque": (torque, model.nu)}
        given: dict[str, Any] = {
            name: numbers(text, name, size) if text else None for name, (text, size) in start.items()
        }
        dyn = Dynamics(model, friction=actuators, rotors=actuators)
        options: dict[str, Any] = {"method": method, "rtol": rtol, "atol": 1e-2 * rtol}
        motion = run(dyn, **given, until=until, contacts=contacts, stops=stops, saturate=saturate, **options)
        console = screen()
        _show(console, motion)
        if output is not None:
            motion.write(output, overwrite=True)
            say(console, f"written {output}")
        for told in write_pictures(motion, plot, movie):
            say(console, told)
        if view:
            stay(motion.view(port=port, open_browser=not no_browser, wait=False), console)
        if not motion.finished:
            raise typer.Exit(1)


def _show(console, motion) -> None:
    import numpy as np
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from appell.cli.screen import say

    say(console, f"{motion.about['robot']}: {motion.t[0]:g} to {motion.t[-1]:g} s, {len(motion)} samples")
    first, last = motion.energy[0], motion.energy[-1]
    say(console, f"energy {first:.9g} J at the start, {last:.9g} J at the end, a change of {last - first:+.3g} J")
    if motion.events:
        table = Table(box=box.SIMPLE_HEAD)
        stopped = {point for event in motion.events for point in event.points} & set(motion.names("tau"))
        units = ("N s or N m s", "m/s or rad/s") if stopped else ("N s", "m/s")
        headings = ("time, s", "event", "points", f"impulse, {units[0]}", f"normal speed, {units[1]}")
        for k, column in enumerate(headings):
            table.add_column(column, justify="right" if k in (0, 3, 4) else "left")
        for event in motion.events[:LONGEST]:
            impact = event.kind == "impact"
            cells = [
                ", ".join(f"{x:.6g}" for x in np.atleast_1d(values)) for values in (event.impulses, event.normal_speeds)
            ]
            points = escape(", ".join(event.points))
            table.add_row(f"{event.time:.9f}", event.kind, points, *(cells if impact else ("", "")))
        console.print(table)
        if len(motion.events) > LONGEST:
            say(console, f"and {len(motion.events) - LONGEST} events more")
    console.print(motion.message, style="green" if motion.finished else "red", highlight=False, markup=False)
