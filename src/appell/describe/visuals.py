"""Visual shapes of a description: shape, size, colour, and the search for mesh files.

Invalid shapes do not affect the motion of a robot, so readers skip them with a warning (`read_or_note`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from appell.algebra.mesh import Mesh
from appell.algebra.rotation import Pose
from appell.describe.values import numbers
from appell.errors import AppellError, DescriptionError, unknown_name
from appell.model.collision import COLLISION_SIZES, Collision
from appell.model.frame import IDENTITY_POSE
from appell.model.visual import SIZES, Visual

T = TypeVar("T")
SCHEMES = ("package://", "model://")  # followed by the name of a ROS package or Gazebo model, and a path in it
FOLDER_VARIABLES = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH")
PREFIX_VARIABLES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")  # of folders that contain "share"

SIZE_FACTORS = {  # for the sizes of MuJoCo and coal, which are half sides and half lengths
    "box": (2.0, 2.0, 2.0),
    "sphere": (1.0,),
    "cylinder": (1.0, 2.0),
    "capsule": (1.0, 2.0),
    "ellipsoid": (1.0, 1.0, 1.0),
}


@dataclass(frozen=True)
class MeshFiles:
    """Search for the mesh files that a robot's file names.

    Files are searched in `packages`, in the folder of the robot's file and its parents, in the folders of ROS and
    Gazebo (`ROS_PACKAGE_PATH`, `AMENT_PREFIX_PATH`, ...), and in the packages installed for this Python
    (example-robot-data).

    Parameters
    ----------
    folder : folder of the robot's file; the current folder by default
    packages : folders that are searched first
    """

    folder: Path | None = None
    packages: tuple[Path, ...] = ()
    package_folders: dict[str, list[Path]] = field(default_factory=dict, init=False, repr=False)  # by package name

    def find(self, name: str) -> str:
        """Return the path of a file, or its name unchanged if the file does not exist."""
        location = name.removeprefix("file://")
        if os.name == "nt" and location != name:
            location = location.lstrip("/")  # file:///C:/arm.stl
        scheme = next((start for start in SCHEMES if location.startswith(start)), "")
        if "://" in location.removeprefix(scheme):
            return name
        if scheme:
            package, _, inside = location.removeprefix(scheme).partition("/")
            candidates: Iterable[Path] = (*self._package(package), *self._above)
        else:
            inside, candidates = location, (*self._above, *self.packages)
        spellings = dict.fromkeys((inside, unquote(inside)))  # an address has %20 in place of a space
        paths = (os.path.join(folder, spelling) for folder in candidates for spelling in spellings)
        return next((path.replace("/", os.sep) for path in paths if os.path.isfile(path)), name)

    @cached_property
    def _above(self) -> tuple[Path, ...]:
        folder = Path(os.path.abspath(self.folder or "."))
        return (folder, *folder.parents)

    @cached_property
    def _roots(self) -> tuple[Path, ...]:
        """Folders that contain packages."""
        return tuple(dict.fromkeys((*self.packages, *self._above, *_environment_folders())))

    def _package(self, name: str) -> list[Path]:
        if name not in self.package_folders:
            folders = [root if root.name == name else root / name for root in self._roots]
            self.package_folders[name] = [folder for folder in folders if os.path.isdir(folder)]
        return self.package_folders[name]


def _environment_folders() -> Iterator[Path]:
    """Folders of packages given by the environment and by this Python installation."""
    for name in FOLDER_VARIABLES:
        yield from (Path(folder) for folder in os.environ.get(name, "").split(os.pathsep) if folder)
    for name in PREFIX_VARIABLES:
        yield from (Path(folder) / "share" for folder in os.environ.get(name, "").split(os.pathsep) if folder)
    yield from (Path(folder) / "cmeel.prefix" / "share" for folder in sys.path if folder)
    yield Path(sys.prefix) / "share"


def visual(
    on: str | None,
    shape: str,
    size: Iterable[float] | None = None,
    pose: Pose = IDENTITY_POSE,
    color: Iterable[float] | None = None,
    file: str = "",
    name: str = "",
    where: str = "",
) -> Visual:
    """Return a checked shape on a link.

    Parameters
    ----------
    on : link or frame that carries the shape; None for the world
    shape : one of the names in `appell.model.visual.SIZES`
    size : dimensions in m, as in `Builder.visual`
    pose : pose of the shape on the link
    color : red, green, blue and opacity, from 0 to 1; opaque if only three are given
    file : mesh file
    name : name of the shape
    where : file and line, for messages
    """
    owner = f"a visual of link '{on}'" if on is not None else "a visual of the world"
    if shape not in SIZES:
        raise DescriptionError(unknown_name("shape", str(shape), SIZES, owner), source=where)
    size = (1.0, 1.0, 1.0) if size is None and shape == "mesh" else size
    sizes = numbers(size, len(SIZES[shape]), f"the size of {owner}", where)
    try:
        return Visual(on, shape, sizes, pose, _color(color, owner, where), file, name)
    except DescriptionError:
        raise
    except AppellError as error:
        raise DescriptionError(error.problem, expected=error.expected, source=where) from None


def collision(
    on: str | None,
    shape: str,
    size: Iterable[float] | None = None,
    pose: Pose = IDENTITY_POSE,
    file: str = "",
    name: str = "",
    where: str = "",
    triangles: Mesh | None = None,
) -> Collision:
    """Return a checked collision shape on a link.

    Parameters
    ----------
    on : link or frame that carries the shape; None for the world
    shape, size : kind and dimensions in m, as in `Collision`
    pose : pose of the shape on the link
    file, triangles : mesh
    name : name of the shape
    where : file and line, for messages
    """
    owner = f"collision shape '{name or on or 'world'}'"
    if shape in COLLISION_SIZES and not (size is None and shape == "mesh"):
        size = numbers(() if size is None else size, len(COLLISION_SIZES[shape]), f"the size of {owner}", where)
    try:
        return Collision(on, shape, size or (), pose, name, on or "", file, triangles)  # type: ignore[arg-type]
    except AppellError as error:
        raise DescriptionError(error.problem, expected=error.expected, source=where, hint=error.hint) from None


def _color(color: Iterable[float] | None, owner: str, where: str) -> tuple[float, float, float, float] | None:
    if color is None:
        return None
    color = tuple(color) if isinstance(color, Iterable) and not isinstance(color, str) else color
    rgba = (*color, 1.0) if isinstance(color, tuple) and len(color) == 3 else color  # opaque by default
    red, green, blue, opacity = numbers(rgba, 4, f"the color of {owner}", where)
    return red, green, blue, opacity


def clipped(color: Iterable[float]) -> tuple[float, ...]:
    """Clip the components of a colour to the interval from 0 to 1; files may exceed it."""
    return tuple(min(max(x, 0.0), 1.0) for x in color)


def read_or_note(notes: list[str], what: str, read: Callable[[], T]) -> T | None:
    """Return what `read` returns; if it raises an `AppellError`, append a note about `what` and return None."""
    try:
        return read()
    except AppellError as error:
        notes.append(f"{what}: {error.problem.rstrip('.')}")
        return None
