"""`appell robots`: list the robots and mechanisms that are included in appell."""

from __future__ import annotations

import appell as ap
from appell.cli import options
from appell.cli.options import LOOK, new_app
from appell.cli.output import Printer, table

app = new_app()


@app.command(rich_help_panel=LOOK, epilog="Example: [bold]appell robots[/], then [bold]appell info puma[/].")
def robots(json: options.Json = False) -> None:
    """List the robots and mechanisms that are included in appell."""
    rows = [
        {
            "name": name,
            "dof": robot.nv,
            "kind": robot.kind,
            "bodies": len(robot.bodies),
            "description": robot.description,
            "source": robot.reference,
        }
        for name, robot in ((name, ap.load(name)) for name in ap.zoo_names())
    ]
    heads = {"name": "name", "dof": ("dof", ""), "bodies": ("bodies", ""), "description": "description"}
    Printer(json).answer(rows, table(rows, heads | {"source": "source"}, "Robots of the zoo"))
