"""`appell workspace ROBOT`: map the reachable poses of a mechanism and its distance from singularities."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import PICTURES, check_target, read_system
from appell.cli.options import LOOK, argument, entries_of, new_app, option
from appell.cli.output import Printer
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.model.system import System

RANGES = {  # the two coordinates of a map and their ranges, by default
    "agile-wrist": ("pitch=-1.5:1.5", "roll=-1.5:1.5"),
    "five-bar": ("x=-0.6:0.6", "y=-0.7:0.7"),
    "three-rrr": ("x=-0.5:0.5", "y=-0.5:0.5"),
    "delta": ("x=-0.7:0.7", "z=-1.1:0.3"),
    "stewart-gough": ("pitch=-1.5:1.5", "roll=-1.5:1.5"),
}

app = new_app()


@app.command(
    rich_help_panel=LOOK,
    epilog="Example: [bold]appell workspace five-bar --over x=-0.6:0.6 --over y=0:0.7[/].",
)
def workspace(
    robot: Annotated[
        str,
        argument("Mechanism: a zoo name or a .toml file.", complete=entries_of("appell.cli.workspace:RANGES")),
    ],
    over: Annotated[
        list[str] | None, option("Coordinate and its range, name=from:to in m or rad; use the option twice.")
    ] = None,
    points: Annotated[int, option("Number of points along each coordinate.", min=2)] = 300,
    output: Annotated[
        Path | None, option("Write the map to this file; by default to ROBOT-workspace.png.", "", "--output", "-o")
    ] = None,
    physical: options.Physical = True,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Plot reachability and condition number of a parallel robot over two coordinates."""
    from appell.show.plot.style import save

    system = read_system(robot, physical=physical)
    path = output or Path(f"{system.name}-workspace.png")
    check_target(path, force, PICTURES)
    axes = {name: np.linspace(low, high, points) for name, low, high in map(_range, over or _default_ranges(system))}
    workspace_map = ap.kinematics.workspace(ap.Dynamics(system), axes)
    save(workspace_map.plot(), path, overwrite=True)
    smallest = workspace_map.condition.min() if workspace_map.share else None
    unit = dict(zip(system.coordinate_names, system.coordinate_units, strict=True))
    data = {
        "robot": system.name,
        "over": {name: [values[0], values[-1]] for name, values in axes.items()},
        "poses": workspace_map.condition.size,
        "share": workspace_map.share,
        "least_condition": smallest,
        "map": path,
        "units": {name: unit[name] for name in axes} | {"share": "1", "least_condition": "1"},
    }
    condition = "-" if smallest is None else f"{smallest:.3g}"
    reachable = f"{workspace_map.share:.1%} of {workspace_map.condition.size:,} poses are reachable"
    Printer(json).answer(data, f"{reachable}, smallest condition number {condition}", f"wrote {path}")


def _default_ranges(system: System) -> tuple[str, ...]:
    """Return two coordinates and their ranges: those of `RANGES`, or the first two coordinates with limits."""
    ranges = zip(system.coordinate_names, system.ranges, strict=True)
    limited = (f"{name}={low}:{high}" for name, (low, high) in ranges if -math.inf < low < high < math.inf)
    return RANGES.get(system.name) or tuple(limited)[:2]


def _range(text: str) -> tuple[str, float, float]:
    name, _, span = text.partition("=")
    low, _, high = span.partition(":")
    try:
        return name, float(low), float(high)
    except ValueError:
        raise ArgumentError(f"--over is '{text}'.", expected="name=from:to, for example x=-0.6:0.6") from None
