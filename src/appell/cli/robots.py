"""`appell robots`: the zoo."""

from __future__ import annotations

import json as texts
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from appell.cli.screen import screen
from appell.describe.load import load, zoo_names


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell robots[/], then [bold]appell info puma[/].")
    def robots(json: Annotated[bool, typer.Option("--json", help="Machine-readable, to stdout.")] = False) -> None:
        """List the robots and mechanisms that come with appell."""
        found = [load(name) for name in zoo_names()]
        if json:
            rows = [
                {
                    "name": name,
                    "dof": robot.nv,
                    "kind": robot.kind,
                    "bodies": len(robot.bodies),
                    "description": robot.description,
                    "source": robot.reference,
                }
                for name, robot in zip(zoo_names(), found, strict=True)
            ]
            typer.echo(texts.dumps(rows, indent=1, ensure_ascii=False))
            return
        table = Table(title="Robots of the zoo", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("name", style="bold", no_wrap=True)
        table.add_column("dof", justify="right")
        table.add_column("bodies", justify="right")
        table.add_column("what it is", ratio=2)
        table.add_column("source", style="dim", ratio=3)
        for name, robot in zip(zoo_names(), found, strict=True):
            table.add_row(name, str(robot.nv), str(len(robot.bodies)), robot.description, robot.reference)
        screen().print(table)
