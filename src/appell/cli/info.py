"""`appell info ROBOT`: what was understood of a description, and what its equations cost."""

from __future__ import annotations

import json as texts
import warnings
from typing import Annotated

import typer
from rich.console import Console

from appell.cli.screen import screen
from appell.describe.load import load
from appell.errors import ModelWarning


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Examples: [bold]appell info puma[/]; [bold]appell info my_robot.urdf --base floating --no-counts[/]."
    )
    def info(
        robot: Annotated[str, typer.Argument(help="A zoo name (see 'appell robots'), or a .urdf or .toml file.")],
        base: Annotated[str, typer.Option(help="How it stands: fixed, floating, planar or spherical.")] = "fixed",
        physical: Annotated[
            bool, typer.Option(help="Refuse bodies that cannot exist; else accept them with a warning.")
        ] = True,
        counts: Annotated[bool, typer.Option(help="Derive the equations and count their operations.")] = True,
        json: Annotated[bool, typer.Option("--json", help="Machine-readable, to stdout.")] = False,
    ) -> None:
        """Show joints, actuators, masses, frames and operation counts of a robot or a mechanism."""
        from appell.cli.facts import facts
        from appell.cli.sheet import show

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            found = load(robot, base=base, physical=physical)
        remarks = [str(warning.message) for warning in caught if issubclass(warning.category, ModelWarning)]
        with Console(stderr=True).status("deriving the equations of motion"):
            sheet = facts(found, remarks, counts)
        if json:
            typer.echo(texts.dumps(sheet, indent=1, ensure_ascii=False))
        else:
            show(sheet, screen())
