"""One door to all descriptions: a name of the zoo, a URDF file or a TOML file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from appell.describe.files import is_directory, read_text
from appell.describe.mechanism_toml import makers, refuse_options
from appell.describe.toml import read_toml
from appell.describe.urdf import read_urdf
from appell.describe.values import shortened
from appell.errors import DescriptionError, unknown_name
from appell.model.constrained import ConstrainedRobot
from appell.model.constraint import Constraint
from appell.model.robot import Robot
from appell.model.system import System

READERS: dict[str, Callable[..., System]] = {"urdf": read_urdf, "toml": read_toml}
BEFORE = "\ufeff \t\r\n"  # what may stand before a text
CONSTRAINED = "constrained"  # the folder of the zoo for robots with loops and wheels
SUFFIXES = {"urdf": "urdf", "toml": "toml", "xacro": "urdf"}  # what needs no processing by xacro is a URDF


def load(
    source: str | Path,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    name: str | None = None,
    loops: Iterable[Constraint] = (),
) -> System:
    """The robot or mechanism of a zoo name, of a .urdf or .toml file, or of the text of one: load("puma").

    `base` is how the root link stands on the world: fixed, floating, planar or spherical. With `physical=False` a link
    that lacks its inertia counts as massless, and bodies that cannot exist are accepted; one warning names them all.
    With `mimic=False` every mimic joint gets a coordinate of its own. `loops` are constraints that the description does
    not have: load("leg.urdf", loops=[ap.Point("rod", "heel")]). `base`, `mimic` and `loops` are for trees.
    """
    options: dict[str, Any] = {"base": base, "physical": physical, "mimic": mimic}
    system: Any
    if isinstance(source, str) and source in makers():
        refuse_options(source, **options)
        system = replace(makers()[source](), source=f"the zoo's {source}", physical=physical)
    elif isinstance(source, str) and (kept := {**_files(_zoo()), **_files(_zoo() / CONSTRAINED)}.get(source)):
        system = load_text(kept.read_text(encoding="utf-8"), "toml", source=f"the zoo's {source}.toml", **options)
    elif isinstance(source, str) and (format := _format_of(source)):
        system = load_text(source.lstrip(BEFORE), format, **options)
    else:
        path = _path(source)
        format = SUFFIXES.get(path.suffix.lower().lstrip("."), "")
        if not format:
            raise _not_a_description(source, path)
        system = load_text(read_text(path), format, source=str(path), **options)
    return _closed(system if name is None else _renamed(system, name), tuple(loops))


def _closed(system: System, loops: tuple[Constraint, ...]) -> System:
    if not loops:
        return system
    if not isinstance(system, (Robot, ConstrainedRobot)):
        problem = f"{system.owner} is a mechanism in closed form, for which loops= means nothing."
        raise DescriptionError(problem, expected="no loops=, or a tree")
    return system.with_loops(*loops)


def _renamed(system: Any, name: str) -> System:
    if isinstance(system, ConstrainedRobot):
        return replace(system, tree=replace(system.tree, name=name))
    return replace(system, name=name)


def _format_of(source: str) -> str:
    """The format of a text that was handed over in place of a path; empty if it looks like a path."""
    start = source.lstrip(BEFORE)[:1]
    return "urdf" if start == "<" else "toml" if "\n" in source.strip() else ""


def _path(source: Any) -> Path:
    try:
        return Path(source)
    except TypeError:
        expected = "a path, the text of a .urdf or .toml file, or a robot of the zoo: " + ", ".join(zoo_names())
        hint = "ap.from_pinocchio(model)" if hasattr(source, "jointPlacements") else ""
        problem = f"{'a model of Pinocchio' if hint else shortened(source)} is no description."
        raise DescriptionError(problem, expected=expected, hint=hint) from None


def load_tree(source: str | Path, **options: Any) -> Robot:
    """The same, for what only a tree can do; a mechanism is refused."""
    system = load(source, **options)
    if not isinstance(system, Robot):
        raise DescriptionError(f"{system.owner} is no tree of links.", expected="one of " + ", ".join(tree_names()))
    return system


def load_text(
    text: str, format: str, *, base: str = "fixed", physical: bool = True, mimic: bool = True, source: str = ""
) -> System:
    """The robot or mechanism of a description that is already in memory; `format` is "urdf" or "toml"."""
    if format not in READERS:
        raise DescriptionError(unknown_name("format", str(format), READERS, "appell"))
    return READERS[format](text, base=base, physical=physical, mimic=mimic, source=source)


def zoo_names() -> tuple[str, ...]:
    """The robots and mechanisms that come with appell."""
    return tuple(sorted((*tree_names(), *constrained_names(), *makers())))


def tree_names() -> tuple[str, ...]:
    """Those of them that are trees."""
    return tuple(sorted(_files(_zoo())))


def constrained_names() -> tuple[str, ...]:
    """Those of them that are trees with loops or wheels."""
    return tuple(sorted(_files(_zoo() / CONSTRAINED)))


def _zoo() -> Traversable:
    return files("appell.describe") / "zoo"


def _files(folder: Traversable) -> dict[str, Traversable]:
    """The TOML files of a folder by the names of their robots."""
    return {x.name.removesuffix(".toml"): x for x in folder.iterdir() if x.name.endswith(".toml")}


def _not_a_description(source: str | Path, path: Path) -> DescriptionError:
    if is_directory(path):
        return DescriptionError("this is a directory.", expected="a .urdf or .toml file", source=shortened(str(path)))
    if path.suffix or len(path.parts) != 1:
        problem = f"{shortened(str(source))} is no description that appell can read."
        expected = "a .urdf or .toml file, or a robot of the zoo: " + ", ".join(zoo_names())
        return DescriptionError(problem, expected=expected)
    problem = unknown_name("robot", str(source), zoo_names(), "The zoo")
    return DescriptionError(problem, expected="one of these, or the path of a .urdf or .toml file")
