"""`appell excite ROBOT`: a motion along which the parameters of a robot show best."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from appell.cli.options import Force, Output
from appell.cli.screen import screen
from appell.describe.load import load


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell excite panda --output motion.csv --friction[/].")
    def excite(
        robot: Annotated[str, typer.Argument(help="A zoo name, or a .urdf or .toml file.")],
        output: Output = None,
        duration: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
        harmonics: Annotated[int, typer.Option(help="Sines a joint.")] = 5,
        criterion: Annotated[str, typer.Option(help="condition or logdet.")] = "condition",
        friction: Annotated[bool, typer.Option("--friction", help="Excite friction as well.")] = False,
        rotor: Annotated[bool, typer.Option("--rotor", help="Excite rotor inertias as well.")] = False,
        range_: Annotated[float | None, typer.Option("--range", help="Largest angle or way either side of 0.")] = None,
        velocity: Annotated[float | None, typer.Option(help="Largest velocity of all joints.")] = None,
        acceleration: Annotated[float | None, typer.Option(help="Largest acceleration of all joints.")] = None,
        torque: Annotated[float | None, typer.Option(help="Largest torque of all joints.")] = None,
        rate: Annotated[float, typer.Option(help="Rows a second in the record.")] = 1000.0,
        iterations: Annotated[int, typer.Option(help="Of either stage of the optimiser.")] = 120,
        starts: Annotated[int, typer.Option(help="Random beginnings, of which the best end is taken.")] = 2,
        seed: Annotated[int, typer.Option(help="Of the random beginnings.")] = 0,
        force: Force = False,
    ) -> None:
        """Optimise an exciting motion within the robot's limits; those given replace the robot's own."""
        from appell.identify import Bounds, Model
        from appell.identify import excite as optimise
        from appell.motion.files.formats import check_target

        if output is not None:
            check_target(output, force)
        console = screen()
        limits: dict[str, Any] = {"velocity": velocity, "acceleration": acceleration, "torque": torque}
        if range_ is not None:
            limits |= {"lower": -range_, "upper": range_}
        columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("deriving")

            def tell(step: int, steps: int, condition: float) -> None:
                bar.update(task, completed=step, total=steps, description=f"condition {condition:8.1f}")

            model = Model(load(robot), friction=friction, rotor=rotor, width=0.02 if friction else 0.0)
            found = optimise(
                model,
                bounds=Bounds.of(model, **limits),
                duration=duration,
                harmonics=harmonics,
                criterion=criterion,
                iterations=iterations,
                starts=starts,
                seed=seed,
                progress=tell,
            )
        console.print(f"condition number {found.condition:.1f} over {duration:g} s", highlight=False)
        table = Table()
        table.add_column("share of the limit on")
        for name in found.trajectory.names:
            table.add_column(name, justify="right")
        for what, shares in found.load.items():
            if len(shares) == len(found.trajectory.names):
                table.add_row(what, *(f"{100 * x:.0f} %" for x in shares))
        console.print(table)
        if output is not None:
            found.trajectory.record(round(duration * rate) + 1).write(output, overwrite=force)
            console.print(f"motion  {output}", highlight=False)
