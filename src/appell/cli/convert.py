"""`appell convert SOURCE TARGET`: a robot from one format into another, and whether its equations came along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.options import EXPORT, Base, Physical
from appell.cli.reading import told
from appell.describe.convert import convert as written


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=EXPORT,
        epilog="Examples: [bold]appell convert arm.urdf arm.xml[/]; [bold]appell convert puma puma.toml[/]; "
        "[bold]appell convert hand.xml hand.urdf --without tendon --without actuator[/].",
    )
    def convert(
        source: Annotated[
            str,
            typer.Argument(
                help="A zoo name, or a .urdf, .xacro, .xml or .mjcf (MJCF), .sdf or .toml file.",
                autocompletion=completions.robots,
            ),
        ],
        target: Annotated[Path, typer.Argument(help="The file to write: .urdf, .xml or .mjcf (MJCF), or .toml.")],
        base: Base = "fixed",
        physical: Physical = True,
        without: Annotated[
            list[str] | None, typer.Option(help="What to leave out of an MJCF instead of refusing it, such as tendon.")
        ] = None,
        force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    ) -> None:
        """Convert a robot between URDF, MJCF and TOML; xacro and SDF can be read."""
        with told():
            robot = written(source, target, base=base, physical=physical, without=without or (), overwrite=force)
        typer.echo(f"{target}: {robot}")
