"""Results of a measurement as a JSON file with a format number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from appell.errors import DescriptionError
from appell.files import write_text

FORMAT = 1
Result = TypeVar("Result")


def save_results(path: Path, content: dict[str, Any]) -> None:
    """Write results, and create the folder if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT} | content, indent=1, ensure_ascii=False)
    write_text(path, text + "\n", "the results")


def read_results(path: Path, command: str, make: Callable[[dict[str, Any]], Result]) -> Result:
    """Read a file written by `command`, and convert its content with `make`.

    Parameters
    ----------
    path : the file
    command : command that writes such files, for messages
    make : converts the content

    Raises
    ------
    DescriptionError
        If the file cannot be read, has another format, or does not contain results of the command.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            problem = f"the results have format {content['format']}."
            raise DescriptionError(problem, expected=str(FORMAT), source=str(path))
        return make(content)
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise DescriptionError(f"the file does not contain results of {command}: {error}.", source=str(path)) from None
