"""`appell workspace ROBOT`: where a mechanism reaches and how near it is to a singularity, as a map."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.answers import tell
from appell.cli.options import LOOK, Force, Json, Physical
from appell.errors import ArgumentError

RANGES = {  # the two coordinates of a map if none are named, and from where to where
    "agile-wrist": ("pitch=-1.5:1.5", "roll=-1.5:1.5"),
    "five-bar": ("x=-0.6:0.6", "y=-0.7:0.7"),
    "three-rrr": ("x=-0.5:0.5", "y=-0.5:0.5"),
    "delta": ("x=-0.7:0.7", "z=-1.1:0.3"),
    "stewart-gough": ("pitch=-1.5:1.5", "roll=-1.5:1.5"),
}


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=LOOK,
        epilog="Example: [bold]appell workspace five-bar --over x=-0.6:0.6 --over y=0:0.7[/].",
    )
    def workspace(
        robot: Annotated[
            str,
            typer.Argument(
                help="A mechanism of the zoo, or a .toml file of one.", autocompletion=completions.mechanisms
            ),
        ],
        over: Annotated[
            list[str] | None, typer.Option(help="A coordinate and its range, name=from:to, in m or rad; give two.")
        ] = None,
        points: Annotated[int, typer.Option(min=2, help="Points along each coordinate.")] = 300,
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="Picture to write; ROBOT-workspace.png if none.")
        ] = None,
        physical: Physical = True,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """Draw reach and condition number of a parallel robot over two coordinates."""
        import numpy as np

        from appell.cli.reading import read_system
        from appell.cli.screen import say, screen
        from appell.cli.targets import PICTURES, check_target
        from appell.dynamics import Dynamics
        from appell.motion import workspace as survey
        from appell.motion.pictures.look import save

        system = read_system(robot, physical=physical)
        path = output or Path(f"{system.name}-workspace.png")
        check_target(path, force, PICTURES)
        axes = {}
        for text in over or _usual(system):
            name, low, high = _range(text)
            axes[name] = np.linspace(low, high, points)
        found = survey(Dynamics(system), axes)
        save(found.plot(), path)
        least = found.condition.min() if found.share else None
        if json:
            ranges = {name: [values[0], values[-1]] for name, values in axes.items()}
            unit = dict(zip(system.coordinate_names, system.coordinate_units, strict=True))
            answer = {"robot": system.name, "over": ranges, "poses": found.condition.size, "share": found.share}
            units = {name: unit[name] for name in axes} | {"share": "1", "least_condition": "1"}
            tell(answer | {"least_condition": least, "map": path, "units": units})
            return
        reached = f"{found.share:.1%} of {found.condition.size:,} poses in reach"
        lowest = "-" if least is None else f"{least:.3g}"
        say(screen(), f"{reached}, least condition number {lowest}; map in {path}")


def _usual(system) -> tuple[str, ...]:
    """Two coordinates and their ranges: those that show most, or the first two that have limits."""
    ranges = zip(system.coordinate_names, system.ranges, strict=True)
    limited = (f"{name}={low}:{high}" for name, (low, high) in ranges if -math.inf < low < high < math.inf)
    return RANGES.get(system.name) or tuple(limited)[:2]


def _range(text: str) -> tuple[str, float, float]:
    name, _, span = text.partition("=")
    low, _, high = span.partition(":")
    try:
        return name, float(low), float(high)
    except ValueError:
        raise ArgumentError(f"--over {text} is no range.", expected="name=from:to, for example x=-0.6:0.6") from None
