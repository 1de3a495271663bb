"""`appell excite ROBOT`: optimise a motion that excites the parameters of a robot or mechanism."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import RECORDS, check_target, read_system
from appell.cli.options import IDENTIFY, SOLVER, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, check_number, unknown_name
from appell.progress import Bar

MOST_ROWS = 1e7  # of a record
MARGIN = 0.05  # share of a range at both of its ends, and below a speed
DEFAULT_SPEED = 1.5  # rad/s, if the motors can do more
LIMITS = "Limits of the motion"

app = new_app()


@app.command(rich_help_panel=IDENTIFY, epilog="Example: [bold]appell excite panda --output motion.csv --friction[/].")
def excite(
    robot: options.RobotName,
    duration: Annotated[float, option("Duration, in seconds.")] = 10.0,
    harmonics: Annotated[int, option("Number of sines in the motion of a coordinate.")] = 5,
    friction: Annotated[bool, option("Excite friction as well.", "", "--friction")] = False,
    rotor: Annotated[bool, option("Excite rotor inertias as well.", "", "--rotor")] = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    range_: Annotated[
        float | None,
        option("Largest deflection from the start, rad or m; the system's limits if not given.", LIMITS, "--range"),
    ] = None,
    velocity: Annotated[float | None, option("Largest velocity of all coordinates, rad/s or m/s.", LIMITS)] = None,
    acceleration: Annotated[
        float | None, option("Largest acceleration of all coordinates, rad/s² or m/s².", LIMITS)
    ] = None,
    speed: Annotated[float | None, option("Largest speed of all actuators, rad/s or m/s.", LIMITS)] = None,
    torque: Annotated[float | None, option("Largest torque or force of all actuators, N m or N.", LIMITS)] = None,
    cabinet: Annotated[
        bool, option("Keep to the limits of its control cabinet; known for puma.", LIMITS, "--cabinet")
    ] = False,
    criterion: Annotated[
        str, option("What is minimised: condition, the condition number, or logdet, the volume of uncertainty.", SOLVER)
    ] = "condition",
    iterations: Annotated[int, option("Largest number of iterations of each stage.", SOLVER)] = 150,
    starts: Annotated[int, option("Number of random starts; the best result is kept.", SOLVER)] = 2,
    seed: Annotated[int, option("Seed of the random starts.", SOLVER)] = 0,
    output: options.Output = None,
    rate: Annotated[float, option("Rows per second in the record.")] = 1000.0,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Optimise an exciting motion within the limits of the system."""
    from appell.motion.titles import record_units

    check_target(output, force, RECORDS)
    check_number("--duration, in s,", duration, least=0.0, above=True)
    check_number("--rate, in rows per second,", rate, least=0.0, above=True)
    if range_ is not None:
        check_number("--range", range_, least=0.0, above=True)
    if duration * rate > MOST_ROWS:
        problem = f"{duration:g} s at {rate:g} rows per second are too many rows."
        raise ArgumentError(problem, expected=f"at most {MOST_ROWS:g}")
    system = read_system(robot, base, physical)
    limits: dict[str, Any] = {"velocity": velocity, "acceleration": acceleration, "speed": speed, "torque": torque}
    if range_ is not None:
        limits |= {"lower": system.start - range_, "upper": system.start + range_}
    elif cabinet:
        known = ap.hardware.WIRINGS
        if system.name not in known:
            raise ArgumentError(unknown_name("cabinet", system.name, known, "appell excite"))
        own = {key: value for key, value in limits.items() if value is not None}
        limits = _limits_of_cabinet(known[system.name](system)) | own
    with Bar("deriving", 2 * iterations * starts, "iterations", delay=0.0) as bar:

        def reached(step: int, steps: int, condition: float) -> None:
            bar.total, bar.label = steps, f"condition {condition:8.1f}"
            bar(step)

        found = ap.identify.excite(
            ap.identify.select_parameters(system, friction=friction, rotor=rotor, width=0.02 if friction else None),
            bounds=ap.identify.MotionBounds.of(system, **limits),
            duration=duration,
            harmonics=harmonics,
            criterion=criterion,
            iterations=iterations,
            starts=starts,
            seed=seed,
            progress=reached,
        )
    shares: dict[str, Any] = {}
    shown: list[Any] = [f"condition number {found.condition:.1f} over {duration:g} s"]
    for kind, names, quantities in (
        ("coordinates", system.coordinate_names, ("position", "velocity", "acceleration")),
        ("actuators", system.actuator_names, ("speed", "torque")),
    ):
        used = {what: found.load[what] for what in quantities if what in found.load}
        shares[kind] = [{"name": name} | {what: x[k] for what, x in used.items()} for k, name in enumerate(names)]
        if used:
            heads = {"name": kind.removesuffix("s")} | {what: (what, ".0%") for what in used}
            shown.append(table(shares[kind], heads, "Share of the limit"))
    places = {what: x.max() for what, x in found.load.items() if what == "reach" or what.startswith("place")}
    units = {"condition": "1", "duration": "s", "all others": "shares of the limit"}
    data = {"robot": system.name, "condition": found.condition, "duration": duration}
    out = Printer(json)
    out.answer(
        data | {"shares": shares | {"places": places}, "units": units},
        *shown,
        *(f"{what}: {most:.0%} of what is allowed" for what, most in places.items()),
    )
    if output is not None:
        out.files(found.path.record(period=1.0 / rate, units=record_units(system)), output)


def _limits_of_cabinet(wiring: ap.hardware.Wiring) -> dict[str, Any]:
    """Return the ranges in which a cabinet lets its arm move, and the speeds up to which its motors are strong."""
    lower, upper = wiring.column("lower"), wiring.column("upper")
    margin = MARGIN * (upper - lower)
    speed = (1.0 - MARGIN) * np.minimum(wiring.column("full_torque_speed"), DEFAULT_SPEED)
    return {"lower": lower + margin, "upper": upper - margin, "velocity": speed}
