"""Options that several commands have, each written once; and the panels under which `appell --help` lists commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions

LOOK = "Look at a robot"
SIMULATE = "Move and simulate"
CONTROL = "Control"
IDENTIFY = "Identify"
EXPORT = "Export"
MEASURE = "Measure and check appell itself"
PANELS = (LOOK, SIMULATE, CONTROL, IDENTIFY, EXPORT, MEASURE)

RobotName = Annotated[
    str,
    typer.Argument(
        help="A robot or mechanism: a zoo name (see 'appell robots'), or a .urdf, .xml (MJCF), .sdf or .toml file.",
        autocompletion=completions.robots,
    ),
]
Base = Annotated[
    str,
    typer.Option(help="How its root stands: fixed, floating, planar or spherical.", autocompletion=completions.bases),
]
Physical = Annotated[bool, typer.Option(help="Refuse bodies that cannot exist; else accept them with a warning.")]
Actuators = Annotated[bool, typer.Option("--actuators", help="With the rotors and the friction of its actuators.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Record to write: .csv, .npz or .parquet.")]
Results = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write machine, versions and figures to this .json.")
]
Plot = Annotated[Path | None, typer.Option(help="Picture to write: .png, .svg, .pdf or .jpg.")]
Force = Annotated[bool, typer.Option("--force", help="Write over files that are there, unasked.")]
Json = Annotated[
    bool, typer.Option("--json", help="The answer as JSON on stdout, in full and in SI units; remarks on stderr.")
]
Walls = Annotated[
    list[str] | None,
    typer.Option(
        "--wall",
        help="plane:nx,ny,nz or with its offset plane:nx,ny,nz,d; sphere:r, circle:r or cylinder:r, then the "
        "center ,x,y,z (a circle ,x,y) and the axis ,ax,ay,az if wanted. In m; may be repeated.",
    ),
]
Outside = Annotated[bool, typer.Option(help="The robot is outside the round walls.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Of the page on this machine; any that is free if 0.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Say where the page is, and open no browser.")]
