"""The look of a link as it is described: a shape, its size, its colour; and where mesh files are.

Nobody reads a robot for its looks alone, so what is broken about them is passed over with a remark (`remarked`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from appell.algebra.rotation import Pose
from appell.describe.values import numbers
from appell.errors import AppellError, DescriptionError, unknown_name
from appell.model.frame import IN_PLACE
from appell.model.visual import SIZES, Visual

SCHEMES = ("package://", "model://")  # a package or a model of Gazebo, and a path in it
FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH")
PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")  # what they name holds a folder share

HALVES = {  # by what the numbers of MuJoCo and of coal are to be multiplied, which are half sides and half lengths
    "box": (2.0, 2.0, 2.0),
    "sphere": (1.0,),
    "cylinder": (1.0, 2.0),
    "capsule": (1.0, 2.0),
    "ellipsoid": (1.0, 1.0, 1.0),
}


@dataclass(frozen=True)
class MeshFiles:
    """Finds mesh files by what a robot's file calls them.

    Looked for in `packages`, beside the robot's file and up its parents, where ROS and Gazebo look (`ROS_PACKAGE_PATH`,
    `AMENT_PREFIX_PATH`, ...), and among what is installed for this Python (example-robot-data).
    """

    folder: Path | None = None  # of the robot's file
    packages: tuple[Path, ...] = ()
    known: dict[str, list[Path]] = field(default_factory=dict, init=False, repr=False)  # folders of packages

    def find(self, name: str) -> str:
        """The path of a file, or its name as it is if there is no such file."""
        plain = name.removeprefix("file://")
        scheme = next((start for start in SCHEMES if plain.startswith(start)), "")
        if "://" in plain.removeprefix(scheme):
            return name
        if scheme:
            package, _, inside = plain.removeprefix(scheme).partition("/")
            candidates: Iterable[Path] = (*self._package(package), *self._above)
        else:
            inside, candidates = plain, (*self._above, *self.packages)
        found = (os.path.join(folder, inside) for folder in candidates)
        return next((path for path in found if os.path.isfile(path)), name)

    @cached_property
    def _above(self) -> tuple[Path, ...]:
        folder = Path(os.path.abspath(self.folder or "."))
        return (folder, *folder.parents)

    @cached_property
    def _roots(self) -> tuple[Path, ...]:
        """Folders that packages stand in."""
        return tuple(dict.fromkeys((*self.packages, *self._above, *_elsewhere())))

    def _package(self, name: str) -> list[Path]:
        if name not in self.known:
            folders = [root if root.name == name else root / name for root in self._roots]
            self.known[name] = [folder for folder in folders if os.path.isdir(folder)]
        return self.known[name]


def _elsewhere() -> Iterator[Path]:
    """Where the environment and this Python have packages."""
    for name in FOLDERS:
        yield from (Path(folder) for folder in os.environ.get(name, "").split(os.pathsep) if folder)
    for name in PREFIXES:
        yield from (Path(folder) / "share" for folder in os.environ.get(name, "").split(os.pathsep) if folder)
    yield from (Path(folder) / "cmeel.prefix" / "share" for folder in sys.path if folder)
    yield Path(sys.prefix) / "share"


def visual(
    on: str | None,
    shape: str,
    size: Iterable[float] | None = None,
    pose: Pose = IN_PLACE,
    color: Iterable[float] | None = None,
    file: str = "",
    name: str = "",
    where: str = "",
) -> Visual:
    """A shape on a link, checked; a colour of three numbers is opaque."""
    who = f"a visual of link '{on}'" if on is not None else "a visual of the world"
    if shape not in SIZES:
        raise DescriptionError(unknown_name("shape", str(shape), SIZES, who), source=where)
    given = (1.0, 1.0, 1.0) if size is None and shape == "mesh" else size
    sizes = numbers(given, len(SIZES[shape]), f"the size of {who}", where)
    try:
        return Visual(on, shape, sizes, pose, _color(color, who, where), file, name)
    except DescriptionError:
        raise
    except AppellError as error:
        raise DescriptionError(error.problem, expected=error.expected, source=where) from None


def _color(color: Iterable[float] | None, who: str, where: str) -> tuple[float, float, float, float] | None:
    if color is None:
        return None
    given = (*color, 1.0) if isinstance(color, Sequence) and len(color) == 3 else color  # opaque, if nobody says
    red, green, blue, opacity = numbers(given, 4, f"the color of {who}", where)
    return red, green, blue, opacity


def within(color: Iterable[float]) -> tuple[float, ...]:
    """A colour of a file that may be brighter than bright."""
    return tuple(min(max(x, 0.0), 1.0) for x in color)


def remarked(notes: list[str], what: str, read: Callable[[], Visual | None]) -> Visual | None:
    """What can be read, or None and a remark."""
    try:
        return read()
    except AppellError as error:
        notes.append(f"{what}: {error.problem.rstrip('.')}")
        return None
