"""What commands read: robots, lists of numbers, walls, and the names of the files that they will write."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

import appell as ap
from appell import files
from appell.errors import ArgumentError, ModelWarning, unknown_name
from appell.progress import paused

if TYPE_CHECKING:
    from appell.model.system import System
    from appell.simulation.contact.surface import Surface

RECORDS = (".csv", ".npz", ".parquet")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
MOVIES = (".gif", ".mp4")
WALLS = {  # kind -> its numbers
    "plane": "nx,ny,nz,offset",
    "sphere": "radius,x,y,z",
    "circle": "radius,x,y",
    "cylinder": "radius,x,y,z,ax,ay,az",
}


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield a list that holds the warnings about models made inside the block when it has ended."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield remarks
    remarks += [str(warning.message) for warning in caught if issubclass(warning.category, ModelWarning)]


@contextmanager
def warnings_printed() -> Iterator[None]:
    """Print the warnings about models made inside the block on stderr, one line each."""
    with collected() as remarks:
        yield
    for remark in remarks:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("warning ", "yellow"), remark))


def read_system(robot: str, base: str = "fixed", physical: bool = True) -> System:
    """Return the robot or mechanism of a name or a file."""
    with warnings_printed():
        return ap.load(robot, base=base, physical=physical)


def read_tree(robot: str, base: str = "fixed", physical: bool = True) -> ap.Robot:
    """Return the robot of a name or a file, for what only a tree can do."""
    with warnings_printed():
        return ap.load_tree(robot, base=base, physical=physical)


def numbers(text: str, option: str, count: int | None = None) -> np.ndarray:
    """Read the numbers of an option, separated by commas: `count` of them, or one that stands for all."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(math.isfinite(value) for value in values) or (count and len(values) not in (1, count)):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise ArgumentError(f"{option} is '{text}'.", expected=f"{wanted} separated by commas, without spaces")
    return np.full(count, values[0]) if count and len(values) == 1 else np.array(values)


def numbers_if_given(text: str | None, option: str, count: int) -> np.ndarray | None:
    """Read the numbers of an option that may be left out."""
    return numbers(text, option, count) if text else None


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read the pairs name=value of a repeated option."""
    for text in texts or ():
        if "=" not in text:
            raise ArgumentError(f"{option} {text} is not understood.", expected="name=value")
    return dict(text.split("=", 1) for text in texts or ())


def surface(text: str, inside: bool = True) -> Surface:
    """Read a wall, kind:numbers, such as plane:0,0,1 or circle:2.5."""
    kind, _, rest = text.partition(":")
    if kind not in WALLS:
        raise ArgumentError(unknown_name("wall", kind, WALLS, "appell"))
    given = numbers(rest, f"--wall {kind}")
    most = WALLS[kind].count(",") + 1
    if len(given) > most or (kind == "plane" and len(given) < 3):
        raise ArgumentError(f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}, the last ones optional")
    if kind == "plane":
        return ap.Plane(given[:3], float(given[3]) if len(given) > 3 else 0.0)
    radius, center = float(given[0]), tuple(given[1 : 3 if kind == "circle" else 4])
    if center and len(center) < (2 if kind == "circle" else 3):
        raise ArgumentError(f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}, the center whole or not at all")
    place = {"center": center} if center else {}
    if kind == "cylinder" and len(given) > 4:
        return ap.Cylinder(radius, center, axis=given[4:], inside=inside)
    return {"sphere": ap.Sphere, "circle": ap.Circle, "cylinder": ap.Cylinder}[kind](radius, inside=inside, **place)


def check_target(path: Path | None, force: bool, endings: Iterable[str] = (), make_folder: bool = False) -> None:
    """Raise before the work unless `path` can be written (`appell.files`).

    A file that exists already is replaced with --force, or if the user agrees at the terminal. `make_folder` creates
    the folder of the file.
    """
    if path is None:
        return
    if make_folder:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"'{path}' cannot be written: {error.strerror or error}.") from None
    files.check_target(path, tuple(endings), overwrite=True)
    if endings == PICTURES:
        from appell.show.plot.style import styled

        with styled():  # report before the work, and not after it, that matplotlib is missing
            pass
    elif endings == MOVIES:
        from appell.show.movie.movie import check_movie

        check_movie(path, overwrite=True)  # or that ffmpeg or Pillow is missing
    if not force and files.exists(path) and not _user_agrees(path):
        files.check_target(path)  # raises: it exists


def _user_agrees(path: Path) -> bool:
    """Ask the user at the terminal; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    with paused():
        return typer.confirm(f"{path} already exists. Overwrite it?", err=True)
