"""Robots of installed packages by name: "robot_descriptions:panda_description", "example-robot-data:talos".

In robot_descriptions, each robot is a module with the paths of its files (URDF_PATH, XACRO_PATH or MJCF_PATH), which
are downloaded on first use. A URDF is preferred. example-robot-data is a folder of URDFs with their meshes; a robot has
the name of its file, or a prefix of it: talos is talos_full_v2.
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

DESCRIPTIONS, EXAMPLES = "robot_descriptions:", "example-robot-data:"  # prefixes of a source
PATH_NAMES = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")
SHARE = Path("share") / "example-robot-data" / "robots"


def file_of_named_package(source: str) -> Path | None:
    """Return the file of a robot that is given with its package; None if the source has no package prefix."""
    if source.startswith(EXAMPLES):
        return _example(source.removeprefix(EXAMPLES).strip(), source)
    return _description(source.removeprefix(DESCRIPTIONS).strip(), source) if source.startswith(DESCRIPTIONS) else None


def example(name: str) -> Path | None:
    """Return the file of a robot of example-robot-data; None if it is not installed or does not have the robot."""
    if name in (files := examples()):
        return files[name]
    longer = sorted((other for other in files if other.startswith(f"{name}_")), key=lambda other: (len(other), other))
    return files[longer[0]] if name and longer else None


@cache
def examples() -> dict[str, Path]:
    """Return the files of example-robot-data by robot name; if file names are not unique, by the name of the folder."""
    folders = [Path(entry) / "cmeel.prefix" / SHARE for entry in sys.path if entry] + [Path(sys.prefix) / SHARE]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    paths = sorted(folder.glob("*/*/*.urdf")) if folder else []
    stems = [path.stem for path in paths]

    def robot_name(path: Path) -> str:
        folder_name = path.parents[1].name.removesuffix("_description").removesuffix("_data")
        return path.stem if stems.count(path.stem) == 1 else folder_name

    return {robot_name(path): path for path in paths}


def _example(name: str, source: str) -> Path:
    if not (known := examples()):
        problem = f"'{source}' is a robot of the package example-robot-data, which is not installed."
        raise DescriptionError(problem, hint="pip install example-robot-data")
    if (path := example(name)) is None:
        raise DescriptionError(unknown_name("robot", name, sorted(known), "example-robot-data"))
    return path


def _description(name: str, source: str) -> Path:
    """Return the file of a robot of robot_descriptions."""
    try:
        package = importlib.import_module("robot_descriptions")
    except ImportError:
        problem = f"'{source}' is a robot of the package robot_descriptions, which is not installed."
        raise DescriptionError(problem, hint="pip install robot_descriptions") from None
    known = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name[:1] != "_")
    robots = [module for module in known if module.endswith("_description")]
    if name not in known:
        raise DescriptionError(unknown_name("robot", name, robots, "robot_descriptions"))
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:  # importing it clones a repository, which may fail in any way
        raise DescriptionError(f"robot_descriptions could not download '{name}': {error}.") from error
    for path_name in PATH_NAMES:
        if hasattr(module, path_name):
            return Path(getattr(module, path_name))
    raise DescriptionError(f"'{name}' of robot_descriptions has no robot file.", expected=" or ".join(PATH_NAMES))


def makers() -> Mapping[str, Callable[..., Mechanism]]:
    """Return the functions that make the mechanisms of the zoo, by name; imported on first use."""
    from appell.describe.zoo.mechanisms import MECHANISMS

    return MECHANISMS
