"""Results of a measurement as a JSON file: with its format, so that another one is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from appell.errors import DescriptionError
from appell.files import write_text

FORMAT = 1
Made = TypeVar("Made")


def save_results(path: Path, content: dict[str, Any]) -> None:
    """Write results, and make the folder if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT} | content, indent=1, ensure_ascii=False)
    write_text(path, text + "\n", "the results")


def read_results(path: Path, command: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What `make` makes of the content of a file that `command` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            problem = f"the results have format {content['format']}."
            raise DescriptionError(problem, expected=str(FORMAT), source=str(path))
        return make(content)
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise DescriptionError(f"these are no results of {command}: {error}.", source=str(path)) from None
