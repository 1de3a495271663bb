"""`appell excite SYSTEM`: a motion along which the parameters of a robot or mechanism show best."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from appell.cli.answers import table, tell
from appell.cli.options import IDENTIFY, Base, Force, Json, Output, Physical, RobotName
from appell.cli.reading import read_system
from appell.cli.screen import say, screen
from appell.cli.targets import RECORDS, check_target
from appell.display.bar import Bar
from appell.errors import ArgumentError, check_number
from appell.model.system import System
from appell.motion.names import record_units

ROWS = 1e7  # of a record
ROOM = 0.05  # of a range at both of its ends, and below a speed
USUAL = 1.5  # rad/s, if the motors can do more


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=IDENTIFY, epilog="Example: [bold]appell excite panda --output motion.csv --friction[/]."
    )
    def excite(
        robot: RobotName,
        output: Output = None,
        duration: Annotated[float, typer.Option(help="How long, in seconds.")] = 10.0,
        harmonics: Annotated[int, typer.Option(help="Sines that the motion of a coordinate is made of.")] = 5,
        criterion: Annotated[
            str,
            typer.Option(
                help="What is made small: condition, the condition number, or logdet, the volume of uncertainty."
            ),
        ] = "condition",
        friction: Annotated[bool, typer.Option("--friction", help="Excite friction as well.")] = False,
        rotor: Annotated[bool, typer.Option("--rotor", help="Excite rotor inertias as well.")] = False,
        range_: Annotated[
            float | None,
            typer.Option(
                "--range",
                help="Largest angle or way either side of the start, rad or m; the system's limits if not given.",
            ),
        ] = None,
        velocity: Annotated[
            float | None, typer.Option(help="Largest velocity of all coordinates, rad/s or m/s.")
        ] = None,
        acceleration: Annotated[
            float | None, typer.Option(help="Largest acceleration of all coordinates, rad/s² or m/s².")
        ] = None,
        speed: Annotated[float | None, typer.Option(help="Largest speed of all actuators, rad/s or m/s.")] = None,
        torque: Annotated[
            float | None, typer.Option(help="Largest torque or force of all actuators, N m or N.")
        ] = None,
        rate: Annotated[float, typer.Option(help="Rows a second in the record.")] = 1000.0,
        iterations: Annotated[int, typer.Option(help="At most so many, of either stage of the optimiser.")] = 120,
        starts: Annotated[int, typer.Option(help="Random beginnings, of which the best end is taken.")] = 2,
        seed: Annotated[int, typer.Option(help="Of the random beginnings.")] = 0,
        base: Base = "fixed",
        physical: Physical = True,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """Optimise an exciting motion within the system's limits, and those of its cabinet if one is known."""
        from appell.control import WIRINGS
        from appell.identify import MotionBounds, seek
        from appell.identify import excite as optimise

        check_target(output, force, RECORDS)
        check_number("--duration, in s,", duration, least=0.0, above=True)
        check_number("--rate, in rows a second,", rate, least=0.0, above=True)
        if range_ is not None:
            check_number("--range", range_, least=0.0, above=True)
        if duration * rate > ROWS:
            told = f"{duration:g} s at {rate:g} rows a second are too many rows."
            raise ArgumentError(told, expected=f"at most {ROWS:g}")
        system = read_system(robot, base, physical)
        limits: dict[str, Any] = {"velocity": velocity, "acceleration": acceleration, "speed": speed, "torque": torque}
        if range_ is not None:
            limits |= {"lower": system.start - range_, "upper": system.start + range_}
        elif system.name in WIRINGS:
            limits = _of_cabinet(WIRINGS[system.name](system)) | {key: x for key, x in limits.items() if x is not None}
        bounds = MotionBounds.of(system, **limits)
        with Bar("deriving", 2 * iterations * starts, "iterations", patience=0.0) as bar:

            def reached(step: int, steps: int, condition: float) -> None:
                bar.total, bar.label = steps, f"condition {condition:8.1f}"
                bar(step)

            found = optimise(
                seek(system, friction=friction, rotor=rotor, width=0.02 if friction else None),
                bounds=bounds,
                duration=duration,
                harmonics=harmonics,
                criterion=criterion,
                iterations=iterations,
                starts=starts,
                seed=seed,
                progress=reached,
            )
        answer, console = _answer(system, found, duration), screen(aside=json)
        if json:
            tell(answer)
        else:
            _show(console, answer)
        if output is not None:
            found.path.record(period=1.0 / rate, units=record_units(system)).write(output, overwrite=True)
            say(console, f"motion  {output}")


def _answer(system: System, found: Any, duration: float) -> dict[str, Any]:
    """The condition number, and how much of every limit the motion uses."""
    shares: dict[str, Any] = {}
    for kind, names, quantities in (
        ("coordinates", system.coordinate_names, ("position", "velocity", "acceleration")),
        ("actuators", system.actuator_names, ("speed", "torque")),
    ):
        used = {what: found.load[what] for what in quantities if what in found.load}
        shares[kind] = [{"name": name} | {what: x[k] for what, x in used.items()} for k, name in enumerate(names)]
    places = {what: x.max() for what, x in found.load.items() if what == "reach" or what.startswith("place")}
    units = {"condition": "1", "duration": "s", "all others": "shares of the limit"}
    answer = {"robot": system.name, "condition": found.condition, "duration": duration}
    return answer | {"shares": shares | {"places": places}, "units": units}


def _show(console: Console, answer: dict[str, Any]) -> None:
    say(console, f"condition number {answer['condition']:.1f} over {answer['duration']:g} s")
    shares = answer["shares"]
    for kind in ("coordinates", "actuators"):
        used = [what for what in shares[kind][0] if what != "name"]
        if used:
            heads = {"name": kind.removesuffix("s")} | {what: (what, ".0%") for what in used}
            console.print(table(shares[kind], heads, "Share of the limit"))
    for what, most in shares["places"].items():
        say(console, f"{what}: {most:.0%} of what is allowed")


def _of_cabinet(wiring) -> dict[str, Any]:
    """The ranges in which a cabinet lets its arm move, and speeds at which its motors are still strong."""
    lower, upper = wiring.column("lower"), wiring.column("upper")
    room = ROOM * (upper - lower)
    speed = (1.0 - ROOM) * np.minimum(wiring.column("full_torque_speed"), USUAL)
    return {"lower": lower + room, "upper": upper - room, "velocity": speed}
