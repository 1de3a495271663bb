"""`appell info ROBOT`: what was understood of a description, and what its equations cost."""

from __future__ import annotations

import json as texts
from typing import Annotated

import typer
from rich.console import Console

from appell.cli.options import Base, Physical, RobotName
from appell.cli.reading import collected
from appell.cli.screen import screen
from appell.describe.load import load


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Examples: [bold]appell info puma[/]; [bold]appell info my_robot.urdf --base floating --no-counts[/]."
    )
    def info(
        robot: RobotName,
        base: Base = "fixed",
        physical: Physical = True,
        counts: Annotated[bool, typer.Option(help="Derive the equations and count their operations.")] = True,
        json: Annotated[bool, typer.Option("--json", help="Machine-readable, to stdout.")] = False,
    ) -> None:
        """Show joints, actuators, masses, frames and operation counts of a robot or a mechanism."""
        from appell.cli.facts import facts
        from appell.cli.sheet import show

        with collected() as remarks:
            found = load(robot, base=base, physical=physical)
        with Console(stderr=True).status("deriving the equations of motion"):
            sheet = facts(found, remarks, counts)
        if json:
            typer.echo(texts.dumps(sheet, indent=1, ensure_ascii=False))
        else:
            show(sheet, screen())
