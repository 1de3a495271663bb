"""`appell excite ROBOT`: optimise a motion that excites the parameters of a robot or mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import RECORDS, check_target, margin_of, pairs, read_system, warnings_printed, with_floor
from appell.cli.options import IDENTIFY, LIMITS, SOLVER, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, check_number, unknown_name
from appell.model.collision import MARGIN_M
from appell.model.system import System
from appell.progress import Bar

MAX_ROWS = 1e7  # of a record

app = new_app()


@app.command(rich_help_panel=IDENTIFY, epilog="Example: [bold]appell excite panda --output motion.csv --friction[/].")
def excite(
    robot: options.RobotName,
    duration: Annotated[float, option("Duration of the motion, in s.")] = 10.0,
    harmonics: Annotated[int, option("Number of harmonics of the Fourier series of every coordinate, at least 3.")] = 5,
    friction: Annotated[bool, option("Excite friction parameters as well.", "", "--friction")] = False,
    rotor: Annotated[bool, option("Excite rotor inertias as well.", "", "--rotor")] = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    range_: Annotated[
        float | None,
        option(
            "Largest deviation from the home position, rad or m; by default the limits of the robot.", LIMITS, "--range"
        ),
    ] = None,
    velocity: Annotated[float | None, option("Largest velocity of the coordinates, rad/s or m/s.", LIMITS)] = None,
    acceleration: Annotated[
        float | None, option("Largest acceleration of the coordinates, rad/s² or m/s².", LIMITS)
    ] = None,
    speed: Annotated[float | None, option("Largest speed of the actuators, rad/s or m/s.", LIMITS)] = None,
    torque: Annotated[float | None, option("Largest torque or force of the actuators, N m or N.", LIMITS)] = None,
    workspace: Annotated[
        list[str] | None,
        option("Box in which a frame must stay, in m: 'tool=-0.5,-0.5,0.1,0.5,0.5,1.2'. May be repeated.", LIMITS),
    ] = None,
    margin: options.Margin = str(MARGIN_M),
    floor: options.Floor = None,
    cabinet: Annotated[
        bool, option("Use the limits of the robot's control cabinet; available for puma.", LIMITS, "--cabinet")
    ] = False,
    criterion: Annotated[
        str,
        option("Minimise the condition number (condition) or the volume of the confidence ellipsoid (logdet).", SOLVER),
    ] = "condition",
    iterations: Annotated[int, option("Largest number of iterations in each of the two stages.", SOLVER)] = 150,
    starts: Annotated[int, option("Number of random starts; the best result is kept.", SOLVER)] = 2,
    seed: Annotated[int, option("Seed of the random starts.", SOLVER)] = 0,
    time_limit: Annotated[
        float, option("Time in s after which the best motion so far is used; Ctrl-C has the same effect.", SOLVER)
    ] = np.inf,
    output: options.Output = None,
    rate: Annotated[float, option("Sampling rate of the record, in Hz.")] = 1000.0,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Optimise a motion that excites the dynamic parameters of a robot, for identification.

    The motion satisfies the limits of position, speed and torque, friction included. Collision shapes of the robot, and
    the floor, keep a margin.
    """
    from appell.motion.titles import record_units

    check_target(output, force, RECORDS)
    check_number("--duration, in s,", duration, least=0.0, above=True)
    check_number("--rate, in Hz,", rate, least=0.0, above=True)
    if range_ is not None:
        check_number("--range", range_, least=0.0, above=True)
    if duration * rate > MAX_ROWS:
        problem = f"{duration:g} s at {rate:g} Hz are {duration * rate:g} rows, which is too many."
        raise ArgumentError(problem, expected=f"at most {MAX_ROWS:g} rows")
    system = with_floor(read_system(robot, base, physical), floor)
    working, distance = None, margin_of(margin)
    limits: dict[str, Any] = {"velocity": velocity, "acceleration": acceleration, "speed": speed, "torque": torque}
    if range_ is not None:
        limits |= {"lower": system.start - range_, "upper": system.start + range_}
    elif cabinet:
        known = ap.hardware.WIRINGS
        if system.name not in known:
            raise ArgumentError(unknown_name("cabinet", system.name, known, "appell excite"))
        working = _limits_of_cabinet(system, known[system.name](system))
    with warnings_printed():
        bounds = ap.identify.MotionBounds.of(
            system, margin=distance, working=working, workspace=_boxes(workspace), **limits
        )
    with warnings_printed(), Bar("deriving", 2 * iterations * starts, "iterations", delay=0.0) as bar:

        def show_progress(step: int, steps: int, condition: float) -> None:
            bar.total, bar.label = steps, f"condition {condition:8.1f}"
            bar(step)

        plan = ap.identify.excite(
            ap.identify.select_parameters(system, friction=friction, rotor=rotor, width=0.02 if friction else None),
            bounds=bounds,
            duration=duration,
            harmonics=harmonics,
            criterion=criterion,
            iterations=iterations,
            starts=starts,
            seed=seed,
            time_limit=time_limit,
            progress=show_progress,
        )
    shares: dict[str, Any] = {}
    shown: list[Any] = [f"condition number {plan.condition:.1f}, duration {duration:g} s"]
    if bounds.margin is None:
        reason = "" if distance is None else f" because {system.owner} has no pairs of collision shapes"
        shown.append(f"Collisions were not checked{reason}: run the motion slowly first.")
    else:
        shown.append(f"{len(bounds.margin.pairs)} pairs of collision shapes keep a margin of up to {distance:g} m.")
    if plan.interrupted:
        shown.append("The search was interrupted; this is the best motion until then.")
    for kind, names, quantities in (
        ("coordinates", system.coordinate_names, ("position", "velocity", "acceleration")),
        ("actuators", system.actuator_names, ("speed", "torque")),
    ):
        used = {what: plan.load[what] for what in quantities if what in plan.load}
        shares[kind] = [{"name": name} | {what: x[k] for what, x in used.items()} for k, name in enumerate(names)]
        if used:
            heads = {"name": kind.removesuffix("s")} | {what: (what, ".0%") for what in used}
            shown.append(table(shares[kind], heads, "Fraction of the limit"))
    others = {what: x.max() for what, x in plan.load.items() if what in ("reach", "margin") or what.startswith("place")}
    units = {"condition": "1", "duration": "s", "all others": "fractions of the limit"}
    data = {"robot": system.name, "condition": plan.condition, "duration": duration, "interrupted": plan.interrupted}
    out = Printer(json)
    out.answer(
        data | {"shares": shares | {"places": others}, "units": units},
        *shown,
        *(f"{what}: {most:.0%} of the limit" for what, most in others.items()),
    )
    if output is not None:
        out.files(plan.path.record(period=1.0 / rate, units=record_units(system)), output)


def _boxes(entries: list[str] | None) -> dict[str, tuple]:
    """Return the boxes of frames from name=x,y,z,x,y,z."""
    boxes = {}
    for frame, text in pairs(entries, "--workspace").items():
        try:
            corners = np.array([float(number) for number in text.split(",")]).reshape(2, 3)
        except ValueError:
            raise ArgumentError(f"--workspace {frame}={text} is not a box.", expected="name=x,y,z,x,y,z in m") from None
        boxes[frame] = tuple(corners)
    return boxes


def _limits_of_cabinet(system: System, wiring: ap.hardware.Wiring) -> ap.motion.WorkingLimits:
    """Return the limits of a system with the ranges of a cabinet, and with full torque at all speeds."""
    limits = ap.motion.WorkingLimits.of(system)
    velocity = np.minimum(wiring.column("full_torque_speed"), limits.velocity)
    return replace(limits, lower=wiring.column("lower"), upper=wiring.column("upper"), velocity=velocity)
