"""Robots of the package robot_descriptions, by their names there: load("robot_descriptions:panda_description").

Each is a module that knows where its files are (and fetches them if they are not there yet), as URDF_PATH, XACRO_PATH
or MJCF_PATH. A URDF is taken where there is one.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from appell.errors import DescriptionError, unknown_name

PREFIX = "robot_descriptions:"
PATHS = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")


def described(source: str) -> Path:
    """The file of a robot of the package."""
    name = source.removeprefix(PREFIX).strip()
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
