"""Convert a description from one format to another.

What the target format cannot express is an error or is named in a warning by its writer. The text is read back before
it is written to the file, so that no file is left behind that appell cannot read. An existing file is not overwritten
unless `overwrite=True`.
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
    """Write a robot of the zoo or of a file to another file, in the format given by its suffix.

    Parameters
    ----------
    source : zoo name, path or text, as in `load`
    target : file to write: .urdf, .xml or .mjcf (MJCF), or .toml
    base, physical, without : options of `load`
    overwrite : whether to replace an existing file

    Returns
    -------
    The robot or mechanism that was read.

    Raises
    ------
    ArgumentError
        If there is no writer for the suffix of `target`, or the file exists and `overwrite` is False.
    DescriptionError
        If the source cannot be read, or the written text cannot be read back.
    """
    path = Path(target)
    format = format_of_file(path)
    if format not in WRITERS:
        problem = unknown_name("writer for the suffix", path.suffix, SUFFIXES, "appell")
        raise ArgumentError(problem, expected="a target with one of these suffixes")
    check_target(path, overwrite=overwrite)
    robot = load(source, base=base, physical=physical, without=without)
    text = WRITERS[format](robot)
    _check(text, format, physical, path)
    write_text(path, text)
    return robot


def _check(text: str, format: str, physical: bool, path: Path) -> None:
    """Read the text back, if a reader is installed; warnings were issued when the source was read."""
    if format == "mjcf" and find_spec("mujoco") is None:
        return
    options: dict[str, Any] = {"physical": physical}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load_text(text, format, **options)
        except DescriptionError as error:
            problem = f"the text for '{path}' cannot be read back: {error.problem}"
            raise DescriptionError(problem, hint=error.hint) from error
