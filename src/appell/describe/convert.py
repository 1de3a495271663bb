"""From one format into another: read, written, and read again.

What a target cannot say is refused or named in a warning by its writer. The text that was written is read back before
it is put into its file, so that no file is left behind which appell itself would refuse. A file that is there is left
alone unless told otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from appell.describe.files import format_of_file
from appell.describe.load import load, load_text
from appell.describe.write import to_mjcf, to_toml, to_urdf
from appell.errors import ArgumentError, DescriptionError, unknown_name
from appell.files import check_target, write_text
from appell.model.system import System

WRITERS: dict[str, Callable[[System], str]] = {"urdf": to_urdf, "mjcf": to_mjcf, "toml": to_toml}
SUFFIXES = (".urdf", ".xml", ".mjcf", ".toml")


def convert(
    source: str | Path,
    target: str | Path,
    *,
    base: str = "fixed",
    physical: bool = True,
    without: Iterable[str] = (),
    overwrite: bool = False,
) -> System:
    """The robot of a file or of the zoo, written into another file in the format of its suffix; returns the robot."""
    path = Path(target)
    format = format_of_file(path)
    if format not in WRITERS:
        known = unknown_name("writer for files", path.suffix or "without a suffix", SUFFIXES, "appell")
        raise ArgumentError(known, expected="a target that ends in one of these")
    check_target(path, overwrite=overwrite)
    robot = load(source, base=base, physical=physical, without=without)
    text = WRITERS[format](robot)
    _check(text, format, physical, path)
    write_text(path, text)
    return robot


def _check(text: str, format: str, physical: bool, path: Path) -> None:
    """Read what was written, if there is who reads it; remarks were made when the source was read."""
    if format == "mjcf" and find_spec("mujoco") is None:
        return
    options: dict[str, Any] = {"physical": physical}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load_text(text, format, **options)
        except DescriptionError as error:
            problem = f"what would stand in '{path}' cannot be read back: {error.problem}"
            raise DescriptionError(problem, hint=error.hint) from error
