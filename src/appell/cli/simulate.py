"""`appell simulate ROBOT`: simulate the motion of a robot from an initial state, optionally with walls."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

import appell as ap
from appell.cli import options
from appell.cli.input import (
    MOVIES,
    PICTURES,
    RECORDS,
    check_target,
    configuration_if_given,
    numbers_if_given,
    read_system,
    surface,
    warnings_printed,
)
from appell.cli.options import OUTPUT, SIMULATE, SOLVER, START, WALLS, entries_of, new_app, option
from appell.cli.output import Printer, table, verdict

MAX_EVENTS = 20  # in the table; --json has all

app = new_app()


@app.command(
    rich_help_panel=SIMULATE,
    epilog="Example: [bold]appell simulate tree10 --wall circle:2.5 --restitution 0.8 --plot motion.png[/].",
)
def simulate(
    robot: options.RobotName,
    until: Annotated[float, option("Duration of the simulation, in s.", START)] = 1.0,
    q: Annotated[
        str,
        option(
            "Initial configuration in rad or m, comma-separated: all coordinates (0,0.5,1) or some joints "
            "(elbow=0.5); by default the home configuration.",
            START,
        ),
    ] = "",
    v: Annotated[str, option("Initial velocity in rad/s or m/s, comma-separated; zero by default.", START)] = "",
    torque: options.Torque = "",
    saturate: options.Saturate = False,
    no_friction: options.NoFriction = False,
    no_rotors: options.NoRotors = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    wall: options.Walls = None,
    outside: options.Outside = False,
    touch: Annotated[
        list[str] | None,
        option(
            "Collision shapes or links that touch: all, or two names such as hand:box. May be repeated.",
            WALLS,
            "--touch",
        ),
    ] = None,
    cover: Annotated[
        bool, option("Replace collision meshes and ellipsoids by capsules around them.", WALLS, "--cover")
    ] = False,
    points: Annotated[str, option("Frames that can touch the walls, comma-separated.", WALLS)] = "all",
    restitution: Annotated[
        float, option("Coefficient of restitution of all contacts: 0 (no bounce) to 1 (no loss).", WALLS)
    ] = 0.0,
    wall_friction: Annotated[float, option("Coulomb friction coefficient of all contacts.", WALLS, "--friction")] = 0.5,
    impact_law: Annotated[
        str,
        option(
            "Meaning of --restitution at walls with friction: energetic, poisson, newton-path or newton.",
            WALLS,
            complete=entries_of("appell.simulation.options:IMPACT_LAWS"),
        ),
    ] = "energetic",
    impact_order: Annotated[
        str,
        option(
            "How contacts that are hit at the same instant are solved: together or in_turn.",
            WALLS,
            complete=entries_of("appell.simulation.options:IMPACT_ORDERS"),
        ),
    ] = "together",
    contact_forces: Annotated[
        bool, option("Add columns with the force of every contact.", OUTPUT, "--contact-forces")
    ] = False,
    stops: options.Stops = None,
    method: Annotated[
        str,
        option(
            "Integration method: DOP853, RK45, RK23, Radau, BDF or LSODA.",
            SOLVER,
            complete=entries_of("appell.simulation.options:SOLVER_METHODS"),
        ),
    ] = "DOP853",
    rtol: Annotated[float, option("Relative tolerance; the absolute tolerance is a hundredth of it.", SOLVER)] = 1e-8,
    output: options.Output = None,
    plot: options.Plot = None,
    movie: options.Movie = None,
    view: Annotated[bool, option("Show the motion in the browser until Ctrl-C.", OUTPUT, "--view")] = False,
    port: options.Port = 0,
    no_browser: options.NoBrowser = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Simulate the motion of a robot from an initial state, optionally with walls."""
    for path, endings in ((output, RECORDS), (plot, PICTURES), (movie, MOVIES)):
        check_target(path, force, endings)
    system = read_system(robot, base, physical)
    system = ap.cover(system) if cover else system
    names = "all" if points == "all" else points.split(",")
    with warnings_printed():
        motion = ap.simulate(
            system,
            q0=configuration_if_given(q, system),
            v0=numbers_if_given(v, "--v", system.nv),
            torque=numbers_if_given(torque, "--torque", system.nu),
            until=until,
            contacts=[
                *(ap.Contact(names, surface(text, not outside), restitution, wall_friction) for text in wall or ()),
                *(ap.BodyContact(_touching(text), restitution, wall_friction) for text in touch or ()),
            ],
            impact_law=impact_law,
            impact_order=impact_order,
            contact_forces=contact_forces,
            stops=stops,
            saturate=saturate,
            friction=not no_friction,
            rotors=not no_rotors,
            solver=ap.Solver(method, rtol=rtol, atol=1e-2 * rtol),
        )
    out, data = Printer(json), _summary(motion)
    out.answer(data, *_shown(data))
    out.files(motion, output, plot, movie)
    if view:
        out.page(motion.view(port=port, open_browser=not no_browser, wait=False))
    if not motion.finished:
        raise typer.Exit(1)


def _touching(text: str) -> str | list[tuple[str, str]]:
    """Return the pairs of `--touch`."""
    if text == "all":
        return "all"
    one, _, other = (name.strip() for name in text.partition(":"))
    if not one or not other:
        raise ap.ArgumentError(f"--touch is '{text}'.", expected="all, or two names such as hand:box")
    return [(one, other)]


def _summary(motion: ap.Record) -> dict[str, Any]:
    """Return duration, energies and events of a simulation as data."""
    events = [
        {"time": event.time, "event": event.kind, "points": list(event.points)}
        | ({"note": event.note} if event.note else {})
        | (
            {
                "impulses": event.impulses,
                "normal_speeds": event.normal_speeds,
                "law": event.law,
                "restitutions": event.restitutions,
            }
            if event.kind == "impact"
            else {}
        )
        for event in motion.events
    ]
    at_stops = {point for event in motion.events for point in event.points} & set(motion.names("tau"))
    return {
        "robot": motion.about["robot"],
        "start": motion.t[0],
        "end": motion.t[-1],
        "samples": len(motion),
        "energy": {"start": motion.energy[0], "end": motion.energy[-1]},
        "events": events,
        "finished": bool(motion.finished),
        "message": motion.message,
        "units": {
            "start, end, time": "s",
            "energy": "J",
            "impulses": "N s or N m s" if at_stops else "N s",
            "normal_speeds": "m/s or rad/s" if at_stops else "m/s",
        },
    }


def _shown(data: dict[str, Any]) -> list[Any]:
    def listed(values: Any) -> str:
        return ", ".join(f"{x:.6g}" for x in np.atleast_1d(values))

    (first, last), events, units = data["energy"].values(), data["events"], data["units"]
    shown: list[Any] = [
        f"{data['robot']}: {data['start']:g} to {data['end']:g} s, {data['samples']} samples",
        f"energy {first:.9g} J at the start, {last:.9g} J at the end, change {last - first:+.3g} J",
    ]
    if events:
        rows = [
            event
            | {key: listed(event.get(key, ())) for key in ("impulses", "normal_speeds")}
            | {"points": ", ".join(event["points"]), "note": event.get("note", "")}
            for event in events[:MAX_EVENTS]
        ]
        heads = {"time": ("time, s", ".9f"), "event": "event", "points": "points"}
        heads |= {
            "impulses": (f"impulse, {units['impulses']}", ""),
            "normal_speeds": (f"normal speed, {units['normal_speeds']}", ""),
        }
        if any(event["note"] for event in rows):
            heads["note"] = "note"
        shown.append(table(rows, heads))
    if len(events) > MAX_EVENTS:
        shown.append(f"and {len(events) - MAX_EVENTS} more events; --json and --output include all")
    return [*shown, verdict(data["message"], data["finished"])]
