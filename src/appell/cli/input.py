"""Input of commands: robots, lists of numbers, walls, and names of output files."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

import appell as ap
from appell import files
from appell.algebra.rotation import as_pose
from appell.errors import ArgumentError, LimitWarning, ModelWarning, StepWarning, check_number, unknown_name
from appell.progress import paused

if TYPE_CHECKING:
    from appell.model.system import System
    from appell.simulation.contact.surface import Surface

RECORDS = (".csv", ".npz", ".parquet", ".mcap", ".db3")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
MOVIES = (".gif", ".mp4")
REMARKS = ModelWarning, LimitWarning, StepWarning  # warnings that commands print
WALLS = {  # kind -> names of its numbers
    "plane": "nx,ny,nz,offset",
    "sphere": "radius,x,y,z",
    "circle": "radius,x,y",
    "cylinder": "radius,x,y,z,ax,ay,az",
}


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield a list that contains the warnings on the model, its limits and steps of the block after its end."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        for kind in REMARKS:
            warnings.simplefilter("always", kind)
        yield remarks
    remarks += [str(warning.message) for warning in caught if issubclass(warning.category, REMARKS)]


@contextmanager
def warnings_printed() -> Iterator[None]:
    """Print the warnings on the model, its limits and steps of the block to stderr, one per line."""
    with collected() as remarks:
        yield
    for remark in remarks:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("warning ", "yellow"), remark))


def read_system(robot: str, base: str = "fixed", physical: bool = True) -> System:
    """Return the robot or mechanism with this name or from this file, and print its warnings."""
    with warnings_printed():
        return ap.load(robot, base=base, physical=physical)


def is_record(path: str) -> bool:
    """Return whether this is the name of a record: its ending is one of a record, or it is the folder of a bag."""
    from appell.motion.bags.storage import bag_parts
    from appell.motion.record_files import READERS

    suffix = Path(path).suffix.lower()
    return bool(suffix and suffix in READERS) or bool(bag_parts(Path(path)))


def read_record(
    path: Path,
    system: System | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    topics: Sequence[str] | None = None,
    clock: str = "header",
) -> ap.Record:
    """Return the record in a file, and print its warnings.

    Parameters
    ----------
    path
        Name of the file, or of the folder of a bag.
    system
        The system that moved: columns with similar names get its names, and those of other joints are left out.
    columns, topics, clock
        As in `Record.read`.
    """
    from appell.motion.measurement import matched
    from appell.motion.titles import parse, record_names

    with warnings_printed():
        record = ap.Record.read(path, columns=columns, topics=topics or (), clock=clock)
        if system is None:
            return record
        names = record_names(system)
        record = matched(record, names).in_si()
    others = [title for title in record.columns if (key := parse(title))[0] in names and key[1] not in names[key[0]]]
    complete = all(f"q_{name}" in record.columns for name in names["q"])
    return record.without(others) if complete else record


def read_tree(robot: str, base: str = "fixed", physical: bool = True) -> ap.Robot:
    """Return the robot with this name or from this file; raise an error if it is not a tree."""
    with warnings_printed():
        return ap.load_tree(robot, base=base, physical=physical)


def numbers(text: str, option: str, count: int | None = None) -> np.ndarray:
    """Read the numbers of an option, separated by commas: `count` numbers, or one number for all."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(math.isfinite(value) for value in values) or (count and len(values) not in (1, count)):
        several = "numbers separated by commas, without spaces"
        expected = several if count is None else "one number" if count == 1 else f"one number, or {count} {several}"
        raise ArgumentError(f"{option} is '{text}'.", expected=expected)
    return np.full(count, values[0]) if count and len(values) == 1 else np.array(values)


def numbers_if_given(text: str | None, option: str, count: int) -> np.ndarray | None:
    """Read the numbers of an optional option; None if it is empty."""
    return numbers(text, option, count) if text else None


def configuration_if_given(text: str | None, system: System, option: str = "--q") -> np.ndarray | None:
    """Read a configuration: all coordinates, one number for all, or name=value for some joints; None if it is empty."""
    if not text or "=" not in text:
        return numbers_if_given(text, option, system.nq)
    return system.configuration(
        {name: numbers(value, option, 1)[0] for name, value in pairs(text.split(","), option).items()}
    )


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read the pairs name=value of an option that may be repeated."""
    for text in texts or ():
        if "=" not in text:
            raise ArgumentError(f"{option} is '{text}'.", expected="name=value")
    return dict(text.split("=", 1) for text in texts or ())


def surface(text: str, inside: bool = True) -> Surface:
    """Read a wall from kind:numbers, such as plane:0,0,1 or circle:2.5."""
    kind, _, rest = text.partition(":")
    if kind not in WALLS:
        raise ArgumentError(unknown_name("wall", kind, WALLS, "appell"))
    given = numbers(rest, f"--wall {kind}")
    if len(given) > WALLS[kind].count(",") + 1 or (kind == "plane" and len(given) < 3):
        raise ArgumentError(f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}; trailing numbers are optional")
    if kind == "plane":
        return ap.Plane(given[:3], float(given[3]) if len(given) > 3 else 0.0)
    radius, center = float(given[0]), tuple(given[1 : 3 if kind == "circle" else 4])
    if center and len(center) < (2 if kind == "circle" else 3):
        raise ArgumentError(
            f"--wall is '{text}'.", expected=f"{kind}:{WALLS[kind]}; all coordinates of the center or none"
        )
    options = {"center": center} if center else {}
    if kind == "cylinder" and len(given) > 4:
        return ap.Cylinder(radius, center, axis=given[4:], inside=inside)
    return {"sphere": ap.Sphere, "circle": ap.Circle, "cylinder": ap.Cylinder}[kind](radius, inside=inside, **options)


def check_target(path: Path | None, force: bool, endings: Iterable[str] = (), make_folder: bool = False) -> None:
    """Raise an ArgumentError unless `path` can be written, before the computation starts.

    Parameters
    ----------
    path : nothing is checked if it is None
    force : whether to overwrite an existing file; otherwise the user has to confirm it at the terminal
    endings : allowed suffixes; all if empty
    make_folder : whether to create the folder of the file
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

        with styled():  # raises now, not after the computation, if matplotlib is missing
            pass
    elif endings == MOVIES:
        from appell.show.movie.movie import check_movie

        check_movie(path, overwrite=True)  # raises if ffmpeg or Pillow is missing
    if not force and files.exists(path) and not _user_agrees(path):
        files.check_target(path)  # raises, because the file exists


def _user_agrees(path: Path) -> bool:
    """Ask the user at the terminal; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    with paused():
        return typer.confirm(f"{path} already exists. Overwrite it?", err=True)


def margin_of(text: str) -> float | None:
    """Return the number of --margin, or None for "none"."""
    if text == "none":
        return None
    (number,) = numbers(text, "--margin", 1)
    check_number("--margin, in m,", float(number), least=0.0)
    return float(number)


def with_floor(system: Any, height: float | None) -> Any:
    """Return a system with the floor of --floor as a collision shape of the world."""
    if height is None:
        return system
    if system.tree is not system:
        raise ArgumentError(f"{system.owner} cannot have a floor.", expected="a robot without loops for --floor")
    check_number("--floor, in m,", height)
    return system.with_collisions(
        ap.Collision(None, "plane", name="floor", pose=as_pose([0.0, 0.0, height], "--floor"))
    )
