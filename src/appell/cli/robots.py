"""`appell robots`: the zoo."""

from __future__ import annotations

import typer

from appell.cli.answers import table, tell
from appell.cli.options import LOOK, Json
from appell.cli.screen import screen
from appell.describe.load import load, zoo_names


def register(app: typer.Typer) -> None:
    @app.command(rich_help_panel=LOOK, epilog="Example: [bold]appell robots[/], then [bold]appell info puma[/].")
    def robots(json: Json = False) -> None:
        """List the robots and mechanisms that come with appell."""
        found = {name: load(name) for name in zoo_names()}
        rows = [
            {
                "name": name,
                "dof": robot.nv,
                "kind": robot.kind,
                "bodies": len(robot.bodies),
                "description": robot.description,
                "source": robot.reference,
            }
            for name, robot in found.items()
        ]
        if json:
            tell(rows)
            return
        heads = {"name": "name", "dof": ("dof", ""), "bodies": ("bodies", ""), "description": "what it is"}
        screen().print(table(rows, heads | {"source": "source"}, "Robots of the zoo"))
