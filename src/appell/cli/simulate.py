"""`appell simulate ROBOT`: the motion of a robot from a start, with walls in its way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli import completions
from appell.cli.answers import table, tell
from appell.cli.options import (
    SIMULATE,
    Actuators,
    Base,
    Force,
    Json,
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
    @app.command(
        rich_help_panel=SIMULATE,
        epilog="Example: [bold]appell simulate tree10 --wall circle:2.5 --until 1.5 --plot motion.png[/].",
    )
    def simulate(
        robot: RobotName,
        until: Annotated[float, typer.Option(help="How long, in seconds.")] = 1.0,
        q: Annotated[
            str, typer.Option(help="Start in rad or m, numbers with commas: 0,0.5,1; the robot's home if not given.")
        ] = "",
        v: Annotated[str, typer.Option(help="Velocity at the start, rad/s or m/s; rest if not given.")] = "",
        torque: Annotated[str, typer.Option(help="Constant actuator forces, N m or N; none if not given.")] = "",
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
        method: Annotated[
            str,
            typer.Option(help="DOP853, RK45, RK23, Radau, BDF or LSODA.", autocompletion=completions.integrators),
        ] = "DOP853",
        rtol: Annotated[float, typer.Option(help="Relative tolerance; the absolute one is a hundredth of it.")] = 1e-8,
        json: Json = False,
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
        start = {"q0": ("--q", q, model.nq), "v0": ("--v", v, model.nv), "torque": ("--torque", torque, model.nu)}
        given: dict[str, Any] = {
            name: numbers(text, flag, size) if text else None for name, (flag, text, size) in start.items()
        }
        dyn = Dynamics(model, friction=actuators, rotors=actuators)
        options: dict[str, Any] = {"method": method, "rtol": rtol, "atol": 1e-2 * rtol}
        motion = run(dyn, **given, until=until, contacts=contacts, stops=stops, saturate=saturate, **options)
        answer, console = _answer(motion), screen(aside=json)
        if json:
            tell(answer)
        else:
            _show(console, answer)
        if output is not None:
            motion.write(output, overwrite=True)
            say(console, f"written {output}")
        for told in write_pictures(motion, plot, movie):
            say(console, told)
        if view:
            stay(motion.view(port=port, open_browser=not no_browser, wait=False), console)
        if not motion.finished:
            raise typer.Exit(1)


def _answer(motion: Any) -> dict[str, Any]:
    """How long it went, what became of the energy, and every event."""
    events = [
        {"time": event.time, "event": event.kind, "points": list(event.points)}
        | ({"impulses": event.impulses, "normal_speeds": event.normal_speeds} if event.kind == "impact" else {})
        for event in motion.events
    ]
    stopped = {point for event in motion.events for point in event.points} & set(motion.names("tau"))
    units = {"start, end, time": "s", "energy": "J"}
    units |= {
        "impulses": "N s or N m s" if stopped else "N s",
        "normal_speeds": "m/s or rad/s" if stopped else "m/s",
    }
    return {
        "robot": motion.about["robot"],
        "start": motion.t[0],
        "end": motion.t[-1],
        "samples": len(motion),
        "energy": {"start": motion.energy[0], "end": motion.energy[-1]},
        "events": events,
        "finished": bool(motion.finished),
        "message": motion.message,
        "units": units,
    }


def _show(console, answer: dict[str, Any]) -> None:
    import numpy as np

    from appell.cli.screen import say

    def listed(values: Any) -> str:
        return ", ".join(f"{x:.6g}" for x in np.atleast_1d(values))

    say(console, f"{answer['robot']}: {answer['start']:g} to {answer['end']:g} s, {answer['samples']} samples")
    first, last = answer["energy"].values()
    say(console, f"energy {first:.9g} J at the start, {last:.9g} J at the end, a change of {last - first:+.3g} J")
    if events := answer["events"]:
        units = answer["units"]
        rows = [
            event | {key: listed(event.get(key, ())) for key in ("impulses", "normal_speeds")}
            | {"points": ", ".join(event["points"])}
            for event in events[:LONGEST]
        ]  # fmt: skip
        heads = {"time": ("time, s", ".9f"), "event": "event", "points": "points"}
        heads |= {
            "impulses": (f"impulse, {units['impulses']}", ""),
            "normal_speeds": (f"normal speed, {units['normal_speeds']}", ""),
        }
        console.print(table(rows, heads))
        if len(events) > LONGEST:
            say(console, f"and {len(events) - LONGEST} events more; --json and --output have all")
    style = "green" if answer["finished"] else "red"
    console.print(answer["message"], style=style, highlight=False, markup=False)
