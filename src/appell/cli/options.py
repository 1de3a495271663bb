"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="Write over files that are there.")]
RobotName = Annotated[str, typer.Argument(help="A robot of the zoo, or a .urdf or .toml file.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Record to write: .csv, .npz or .parquet.")]
Plot = Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf, .svg, ...")]
