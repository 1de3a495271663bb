"""`appell excite SYSTEM`: a motion along which the parameters of a robot or mechanism show best."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from appell.cli.options import Base, Force, Output, Physical, RobotName
from appell.cli.reading import read_system
from appell.cli.screen import say, screen
from appell.cli.targets import RECORDS, check_target
from appell.errors import ArgumentError, check_number
from appell.motion.names import record_units

ROWS = 1e7  # of a record
ROOM = 0.05  # of a range at both of its ends, and below a speed
USUAL = 1.5  # rad/s, if the motors can do more


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell excite panda --output motion.csv --friction[/].")
    def excite(
        robot: RobotName,
        output: Output = None,
        duration: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
        harmonics: Annotated[int, typer.Option(help="Sines a coordinate.")] = 5,
        criterion: Annotated[str, typer.Option(help="condition or logdet.")] = "condition",
        friction: Annotated[bool, typer.Option("--friction", help="Excite friction as well.")] = False,
        rotor: Annotated[bool, typer.Option("--rotor", help="Excite rotor inertias as well.")] = False,
        range_: Annotated[
            float | None, typer.Option("--range", help="Largest angle or way either side of the start.")
        ] = None,
        velocity: Annotated[float | None, typer.Option(help="Largest velocity of all coordinates.")] = None,
        acceleration: Annotated[float | None, typer.Option(help="Largest acceleration of all coordinates.")] = None,
        speed: Annotated[float | None, typer.Option(help="Largest speed of all actuators.")] = None,
        torque: Annotated[float | None, typer.Option(help="Largest torque or force of all actuators.")] = None,
        rate: Annotated[float, typer.Option(help="Rows a second in the record.")] = 1000.0,
        iterations: Annotated[int, typer.Option(help="Of either stage of the optimiser.")] = 120,
        starts: Annotated[int, typer.Option(help="Random beginnings, of which the best end is taken.")] = 2,
        seed: Annotated[int, typer.Option(help="Of the random beginnings.")] = 0,
        base: Base = "fixed",
        physical: Physical = True,
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
        console = screen()
        system = read_system(robot, base, physical)
        limits: dict[str, Any] = {"velocity": velocity, "acceleration": acceleration, "speed": speed, "torque": torque}
        if range_ is not None:
            limits |= {"lower": system.start - range_, "upper": system.start + range_}
        elif system.name in WIRINGS:
            limits = _of_cabinet(WIRINGS[system.name](system)) | {key: x for key, x in limits.items() if x is not None}
        bounds = MotionBounds.of(system, **limits)
        columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("deriving")

            def tell(step: int, steps: int, condition: float) -> None:
                bar.update(task, completed=step, total=steps, description=f"condition {condition:8.1f}")

            found = optimise(
                seek(system, friction=friction, rotor=rotor, width=0.02 if friction else None),
                bounds=bounds,
                duration=duration,
                harmonics=harmonics,
                criterion=criterion,
                iterations=iterations,
                starts=starts,
                seed=seed,
                progress=tell,
            )
        console.print(f"condition number {found.condition:.1f} over {duration:g} s", highlight=False)
        for names, quantities in (
            (system.coordinate_names, ("position", "velocity", "acceleration")),
            (system.actuator_names, ("speed", "torque")),
        ):
            used = {what: found.load[what] for what in quantities if what in found.load}
            if used:
                table = Table("share of the limit on", *map(escape, names))
                for what, shares in used.items():
                    table.add_row(what, *(f"{100 * x:.0f} %" for x in shares))
                console.print(table)
        for what in (what for what in found.load if what == "reach" or what.startswith("place")):
            console.print(f"{what}: {100 * found.load[what].max():.0f} % of what is allowed", highlight=False)
        if output is not None:
            found.path.record(period=1.0 / rate, units=record_units(system)).write(output, overwrite=True)
            say(console, f"motion  {output}")


def _of_cabinet(wiring) -> dict[str, Any]:
    """The ranges in which a cabinet lets its arm move, and speeds at which its motors are still strong."""
    lower, upper = wiring.column("lower"), wiring.column("upper")
    room = ROOM * (upper - lower)
    speed = (1.0 - ROOM) * np.minimum(wiring.column("full_torque_speed"), USUAL)
    return {"lower": lower + room, "upper": upper - room, "velocity": speed}
