"""Options that several commands share, the panels of the help, and what the Tab key completes.

A completion is a function of what was typed so far. It runs in a process of its own at every Tab, so each one imports
only what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

# panels of `appell --help`
LOOK = "Look at a robot"
SIMULATE = "Move and simulate"
CONTROL = "Control"
IDENTIFY = "Identify"
EXPORT = "Export"
MEASURE = "Measure and check appell itself"
PANELS = (LOOK, SIMULATE, CONTROL, IDENTIFY, EXPORT, MEASURE)

# panels of the help of one command
MODEL = "Robot"
START = "Initial state and input"
WALLS = "Walls and stops"
SOLVER = "Solver"
LOG = "Log and its columns"
OUTPUT = "Output"

Completion = Callable[[str], list[str]]


def new_app(**settings: Any) -> typer.Typer:
    """Return the Typer object of one command or of a group of commands."""
    return typer.Typer(add_completion=False, rich_markup_mode="rich", **settings)


def option(help: str, panel: str = "", *names: str, complete: Any = None, **settings: Any) -> Any:
    """Return an option under a panel of the help; `complete` is what the Tab key offers."""
    return typer.Option(*names, help=help, rich_help_panel=panel or None, autocompletion=complete, **settings)


def argument(help: str, complete: Any = None, **settings: Any) -> Any:
    """Return an argument; `complete` is what the Tab key offers."""
    return typer.Argument(help=help, autocompletion=complete, **settings)


def among(names: Callable[[], Iterable[str]]) -> Completion:
    """Complete with the names that begin as typed; after a comma, with the next name of a list."""

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(begun)]

    return complete


def entries_of(*places: str) -> Completion:
    """Complete with the entries of collections, each given as "module:name" and imported at the Tab key."""

    def names() -> Iterable[str]:
        for module, _, name in (place.partition(":") for place in places):
            found = getattr(import_module(module), name)
            yield from found() if callable(found) else found

    return among(names)


def complete_function(incomplete: str) -> list[str]:
    """Complete with the functions of `Dynamics`."""
    from appell.dynamics.dynamics import FUNCTIONS
    from appell.dynamics.frames import FRAME_FUNCTIONS

    return [name for name in FUNCTIONS + FRAME_FUNCTIONS if name.startswith(incomplete)]


def complete_frame(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete with the frames of the robot that was typed before."""
    from appell.describe.load import load
    from appell.errors import AppellError

    words = next(iter(ctx.args), "")  # where words before an option without value go
    try:
        names = load(ctx.params.get("robot") or words).frame_names
    except (AppellError, OSError):  # no robot yet
        return []
    return [name for name in names if name.startswith(incomplete)]


complete_robot = entries_of("appell.describe.load:zoo_names")
complete_base = entries_of("appell.describe.build:BASES")

RobotName = Annotated[
    str,
    argument(
        "A robot or mechanism: a zoo name (see 'appell robots'), or a .urdf, .xml (MJCF), .sdf or .toml file.",
        complete=complete_robot,
    ),
]
Base = Annotated[
    str, option("How its root stands: fixed, floating, planar or spherical.", MODEL, complete=complete_base)
]
Physical = Annotated[bool, option("Refuse bodies that cannot exist; else accept them with a warning.", MODEL)]
NoFriction = Annotated[bool, option("Leave out the friction of its joints.", MODEL, "--no-friction")]
NoRotors = Annotated[bool, option("Leave out the rotor inertias of its actuators.", MODEL, "--no-rotors")]
Torque = Annotated[str, option("Constant actuator forces, N m or N; none if not given.", START)]
Saturate = Annotated[bool, option("Limit torques to the actuators' limits.", START, "--saturate")]
Stops = Annotated[
    float | None, option("Restitution of the joints at their limits, 0 to 1; no stops if not given.", WALLS)
]
Walls = Annotated[
    list[str] | None,
    option(
        "plane:nx,ny,nz or with its offset plane:nx,ny,nz,d; sphere:r, circle:r or cylinder:r, then the "
        "center ,x,y,z (a circle ,x,y) and the axis ,ax,ay,az if wanted. In m; may be repeated.",
        WALLS,
        "--wall",
    ),
]
Outside = Annotated[bool, option("The robot is outside the round walls.", WALLS)]
Output = Annotated[Path | None, option("Record to write: .csv, .npz or .parquet.", OUTPUT, "--output", "-o")]
Results = Annotated[Path | None, option("Write machine, versions and figures to this .json.", OUTPUT, "--output", "-o")]
Plot = Annotated[Path | None, option("Figure to write: .png, .svg, .pdf or .jpg.", OUTPUT)]
Movie = Annotated[Path | None, option("GIF or MP4 to write.", OUTPUT)]
Force = Annotated[bool, option("Overwrite existing files.", OUTPUT, "--force")]
Json = Annotated[
    bool, option("Print the answer as JSON on stdout, in full and in SI units; remarks on stderr.", OUTPUT, "--json")
]
Port = Annotated[int, option("Port of the page on this machine; 0: any free port.", OUTPUT, min=0, max=65535)]
NoBrowser = Annotated[bool, option("Print the address of the page; open no browser.", OUTPUT, "--no-browser")]
