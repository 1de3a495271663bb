"""Options that several commands have, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RobotName = Annotated[
    str,
    typer.Argument(
        help="A robot or mechanism: a zoo name (see 'appell robots'), or a .urdf, .xml (MJCF), .sdf or .toml file."
    ),
]
Base = Annotated[str, typer.Option(help="How its root stands: fixed, floating, planar or spherical.")]
Physical = Annotated[bool, typer.Option(help="Refuse bodies that cannot exist; else accept them with a warning.")]
Actuators = Annotated[bool, typer.Option("--actuators", help="Count rotors and friction of the actuators.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Record to write: .csv, .npz or .parquet.")]
Plot = Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg, .pdf or .jpg.")]
Force = Annotated[bool, typer.Option("--force", help="Write over files that are there, unasked.")]
Walls = Annotated[
    list[str] | None,
    typer.Option(
        "--wall", help="plane:nx,ny,nz[,offset], or sphere, circle, cylinder:radius[,center[,axis]]; may be repeated."
    ),
]
Outside = Annotated[bool, typer.Option(help="The robot is outside the round walls.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Of the page on this machine; any that is free if 0.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Say where the page is, and open no browser.")]
