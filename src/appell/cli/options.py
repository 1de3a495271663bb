"""Options that several commands share, the panels of the help, and shell completion.

A completion is a function of the text typed so far. The shell starts a new process for every completion, so each one
imports only what it needs.
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
LIMITS = "Limits of the motion"
LOG = "Log and its columns"
OUTPUT = "Output"

Completion = Callable[[str], list[str]]


def new_app(**settings: Any) -> typer.Typer:
    """Return the Typer object of one command or of a group of commands."""
    return typer.Typer(add_completion=False, rich_markup_mode="rich", **settings)


def option(help: str, panel: str = "", *names: str, complete: Any = None, **settings: Any) -> Any:
    """Return an option in a panel of the help; `complete` is its shell completion."""
    return typer.Option(*names, help=help, rich_help_panel=panel or None, autocompletion=complete, **settings)


def argument(help: str, complete: Any = None, **settings: Any) -> Any:
    """Return an argument; `complete` is its shell completion."""
    return typer.Argument(help=help, autocompletion=complete, **settings)


def among(names: Callable[[], Iterable[str]]) -> Completion:
    """Return a completion with names that start with the typed text; after a comma, with the next name of a list."""

    def complete(incomplete: str) -> list[str]:
        before, comma, prefix = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(prefix)]

    return complete


def entries_of(*collections: str) -> Completion:
    """Return a completion with the entries of collections, each given as "module:name" and imported on completion."""

    def names() -> Iterable[str]:
        for module, _, name in (each.partition(":") for each in collections):
            entries = getattr(import_module(module), name)
            yield from entries() if callable(entries) else entries

    return among(names)


def complete_function(incomplete: str) -> list[str]:
    """Complete with the functions of `Dynamics`."""
    from appell.dynamics.dynamics import FUNCTIONS
    from appell.dynamics.frames import FRAME_FUNCTIONS

    return [name for name in FUNCTIONS + FRAME_FUNCTIONS if name.startswith(incomplete)]


def complete_frame(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete with the frames of the robot on the command line."""
    from appell.describe.load import load
    from appell.errors import AppellError

    words = next(iter(ctx.args), "")  # click stores arguments before an incomplete option here
    try:
        names = load(ctx.params.get("robot") or words).frame_names
    except (AppellError, OSError):  # no valid robot yet
        return []
    return [name for name in names if name.startswith(incomplete)]


complete_robot = entries_of("appell.describe.load:zoo_names")
complete_base = entries_of("appell.describe.build:BASES")

RobotName = Annotated[
    str,
    argument(
        "Robot or mechanism: a zoo name (see 'appell robots') or a .urdf, .xml (MJCF), .sdf or .toml file.",
        complete=complete_robot,
    ),
]
Base = Annotated[
    str,
    option(
        "Joint between the world and the root link: fixed, floating, planar or spherical.",
        MODEL,
        complete=complete_base,
    ),
]
Physical = Annotated[bool, option("Reject physically impossible bodies, or accept them with a warning.", MODEL)]
NoFriction = Annotated[bool, option("Ignore the friction of the joints.", MODEL, "--no-friction")]
NoRotors = Annotated[bool, option("Ignore the rotor inertias of the actuators.", MODEL, "--no-rotors")]
Torque = Annotated[
    str,
    option(
        "Constant actuator forces in N m or N, one number or one per actuator, comma-separated; zero by default.", START
    ),
]
Saturate = Annotated[bool, option("Limit torques to the torque limits of the actuators.", START, "--saturate")]
Stops = Annotated[
    float | None,
    option("Stop the joints at their limits with this coefficient of restitution, 0 to 1; no stops by default.", WALLS),
]
Walls = Annotated[
    list[str] | None,
    option(
        "Wall in m: plane:nx,ny,nz[,offset], sphere:r[,x,y,z], circle:r[,x,y] or cylinder:r[,x,y,z[,ax,ay,az]] "
        "(may be repeated).",
        WALLS,
        "--wall",
    ),
]
Outside = Annotated[bool, option("Place the robot outside the spheres, circles and cylinders, not inside them.", WALLS)]
Margin = Annotated[
    str,
    option("Distance in m that collision shapes keep from each other, or 'none' to skip this check.", LIMITS),
]
Floor = Annotated[
    float | None, option("Height in m of a floor that keeps the same distance from the robot; none by default.", LIMITS)
]
Output = Annotated[
    Path | None, option("Write the record to this .csv, .npz, .parquet, .mcap or .db3 file.", OUTPUT, "--output", "-o")
]
Results = Annotated[
    Path | None, option("Write machine, versions and results to this .json file.", OUTPUT, "--output", "-o")
]
Plot = Annotated[Path | None, option("Write a plot to this .png, .svg, .pdf or .jpg file.", OUTPUT)]
Movie = Annotated[Path | None, option("Write a movie to this .gif or .mp4 file.", OUTPUT)]
Force = Annotated[bool, option("Overwrite existing files.", OUTPUT, "--force")]
Json = Annotated[
    bool,
    option(
        "Print the result as JSON to stdout, in full precision and SI units; messages go to stderr.", OUTPUT, "--json"
    ),
]
Port = Annotated[int, option("Port of the web page on this machine; 0 selects a free port.", OUTPUT, min=0, max=65535)]
NoBrowser = Annotated[
    bool, option("Print the address of the web page without opening a browser.", OUTPUT, "--no-browser")
]
Topics = Annotated[
    list[str] | None,
    option("Topic of a ROS 2 bag to read; by default all with joint states, wrenches or poses. May be repeated.", LOG),
]
Clock = Annotated[
    str, option("Clock of a ROS 2 bag: 'header' for the stamps of the messages, 'log' for times of recording.", LOG)
]
