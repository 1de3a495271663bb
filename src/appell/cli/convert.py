"""`appell convert SOURCE TARGET`: convert a robot from one format to another and check its equations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import options
from appell.cli.input import warnings_printed
from appell.cli.options import EXPORT, argument, complete_robot, new_app, option

app = new_app()


@app.command(
    rich_help_panel=EXPORT,
    epilog="Examples: [bold]appell convert arm.urdf arm.xml[/]; [bold]appell convert puma puma.toml[/]; "
    "[bold]appell convert hand.xml hand.urdf --without tendon --without actuator[/].",
)
def convert(
    source: Annotated[
        str,
        argument(
            "Robot to convert: a zoo name or a .urdf, .xacro, .xml or .mjcf (MJCF), .sdf or .toml file.",
            complete=complete_robot,
        ),
    ],
    target: Annotated[Path, argument("File to write: .urdf, .xml or .mjcf (MJCF), or .toml.")],
    base: options.Base = "fixed",
    physical: options.Physical = True,
    without: Annotated[
        list[str] | None,
        option("Omit this kind of MJCF element, such as tendon, instead of rejecting the file. May be repeated."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Convert a robot between URDF, MJCF and TOML; xacro and SDF can only be read."""
    from appell.describe.convert import convert

    with warnings_printed():
        robot = convert(source, target, base=base, physical=physical, without=without or (), overwrite=force)
    typer.echo(f"{target}: {robot}")
