"""One door to all descriptions: a name of the zoo, a URDF file or a TOML file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from appell.describe.files import read_text
from appell.describe.toml import read_toml
from appell.describe.urdf import read_urdf
from appell.errors import DescriptionError, unknown_name
from appell.model.robot import Robot

READERS: dict[str, Callable[..., Robot]] = {"urdf": read_urdf, "toml": read_toml}


def load(
    source: str | Path, *, base: str = "fixed", physical: bool = True, mimic: bool = True, name: str | None = None
) -> Robot:
    """The robot of a zoo name or of a .urdf or .toml file.

    `base` is how the root link stands on the world: fixed, floating, planar or spherical. With `physical=False` a link
    that lacks its inertia counts as massless, and bodies that cannot exist are accepted; one warning names them all.
    With `mimic=False` every mimic joint gets a coordinate of its own.
    """
    options: dict[str, Any] = {"base": base, "physical": physical, "mimic": mimic}
    if isinstance(source, str) and source in zoo_names():
        text = (_zoo() / f"{source}.toml").read_text(encoding="utf-8")
        robot = load_text(text, "toml", source=f"the zoo's {source}.toml", **options)
    else:
        path = Path(source)
        suffix = path.suffix.lower().lstrip(".")
        if suffix not in READERS:
            raise _not_a_description(source, path)
        robot = load_text(read_text(path), suffix, source=str(path), **options)
    return robot if name is None else replace(robot, name=name)


def load_text(
    text: str, format: str, *, base: str = "fixed", physical: bool = True, mimic: bool = True, source: str = ""
) -> Robot:
    """The robot of a description that is already in memory; `format` is "urdf" or "toml"."""
    if format not in READERS:
        raise DescriptionError(unknown_name("format", str(format), READERS, "appell"))
    return READERS[format](text, base=base, physical=physical, mimic=mimic, source=source)


def zoo_names() -> tuple[str, ...]:
    """The robots that come with appell."""
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in _zoo().iterdir() if entry.name.endswith(".toml")))


def _zoo():
    return files("appell.describe") / "zoo"


def _not_a_description(source: str | Path, path: Path) -> DescriptionError:
    if path.is_dir():
        return DescriptionError("this is a directory.", expected="a .urdf or .toml file", source=str(path))
    if path.suffix or len(path.parts) != 1:
        problem = f"'{source}' is no description that appell can read."
        expected = "a .urdf or .toml file, or a robot of the zoo: " + ", ".join(zoo_names())
        return DescriptionError(problem, expected=expected)
    problem = unknown_name("robot", str(source), zoo_names(), "The zoo")
    return DescriptionError(problem, expected="one of these, or the path of a .urdf or .toml file")
