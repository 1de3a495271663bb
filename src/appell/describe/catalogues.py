"""Robots of installed packages by their names: "robot_descriptions:panda_description", "example-robot-data:talos".

In robot_descriptions each is a module that knows where its files are (and fetches them if they are not there yet), as
URDF_PATH, XACRO_PATH or MJCF_PATH. A URDF is taken where there is one. example-robot-data is a folder of URDFs with
their meshes; a robot has the name of its file, or the beginning of it: talos is talos_full_v2.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from appell.errors import DescriptionError, unknown_name
from appell.model.mechanism import Mechanism

DESCRIPTIONS, EXAMPLES = "robot_descriptions:", "example-robot-data:"
PATHS = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")
SHARE = Path("share") / "example-robot-data" / "robots"


def described(source: str) -> Path | None:
    """The file of a robot of a package, if the source names one with its package."""
    if source.startswith(EXAMPLES):
        return _example(source.removeprefix(EXAMPLES).strip(), source)
    return _description(source.removeprefix(DESCRIPTIONS).strip(), source) if source.startswith(DESCRIPTIONS) else None


def example(name: str) -> Path | None:
    """The file of a robot of example-robot-data, if that is installed and has it."""
    if name in (files := examples()):
        return files[name]
    longer = sorted((other for other in files if other.startswith(f"{name}_")), key=lambda other: (len(other), other))
    return files[longer[0]] if name and longer else None


@cache
def examples() -> dict[str, Path]:
    """The robots of example-robot-data by name; those that share theirs have the name of their folder."""
    places = [Path(entry) / "cmeel.prefix" / SHARE for entry in sys.path if entry] + [Path(sys.prefix) / SHARE]
    folder = next((place for place in places if place.is_dir()), None)
    paths = sorted(folder.glob("*/*/*.urdf")) if folder else []
    stems = [path.stem for path in paths]

    def named(path: Path) -> str:
        own = path.parents[1].name.removesuffix("_description").removesuffix("_data")
        return path.stem if stems.count(path.stem) == 1 else own

    return {named(path): path for path in paths}


def _example(name: str, source: str) -> Path:
    if not (known := examples()):
        problem = f"'{source}' names a robot of the package example-robot-data, which is not installed."
        raise DescriptionError(problem, hint="pip install example-robot-data")
    if (found := example(name)) is None:
        raise DescriptionError(unknown_name("robot", name, sorted(known), "example-robot-data"))
    return found


def _description(name: str, source: str) -> Path:
    """The file of a robot of robot_descriptions."""
    try:
        package = importlib.import_module("robot_descriptions")
    except ImportError:
        problem = f"'{source}' names a robot of the package robot_descriptions, which is not installed."
        raise DescriptionError(problem, hint="pip install robot_descriptions") from None
    known = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name[:1] != "_")
    robots = [module for module in known if module.endswith("_description")]
    if name not in known:
        raise DescriptionError(unknown_name("robot", name, robots, "robot_descriptions"))
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:  # it clones a repository while it is imported, which may fail in any way
        raise DescriptionError(f"robot_descriptions could not fetch '{name}': {error}.") from error
    for path in PATHS:
        if hasattr(module, path):
            return Path(getattr(module, path))
    raise DescriptionError(f"'{name}' of robot_descriptions has no file.", expected=" or ".join(PATHS))


def makers() -> Mapping[str, Callable[..., Mechanism]]:
    """The mechanisms of the zoo by name; imported when one is first asked for."""
    from appell.describe.zoo.mechanisms import MECHANISMS

    return MECHANISMS
