"""`appell info ROBOT`: what was understood of a description, and what its equations cost."""

from __future__ import annotations

from typing import Annotated

import typer

from appell.cli.answers import tell
from appell.cli.options import LOOK, Base, Json, Physical, RobotName
from appell.cli.reading import collected
from appell.cli.screen import screen
from appell.describe.load import load
from appell.display.bar import Bar


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=LOOK,
        epilog="Examples: [bold]appell info puma[/]; [bold]appell info my_robot.urdf --base floating --no-counts[/].",
    )
    def info(
        robot: RobotName,
        base: Base = "fixed",
        physical: Physical = True,
        counts: Annotated[bool, typer.Option(help="Derive the equations and count their operations.")] = True,
        json: Json = False,
    ) -> None:
        """Show joints, actuators, masses, frames and operation counts of a robot or a mechanism."""
        from appell.cli.facts import COUNTED, facts
        from appell.cli.sheet import show

        with collected() as remarks:
            found = load(robot, base=base, physical=physical)
        with Bar("deriving", len(COUNTED), "functions") as bar:
            sheet = facts(found, remarks, counts, bar)
        if json:
            tell(sheet)
        else:
            show(sheet, screen())
