"""Help on a narrow terminal: plain lines that wrap, where panels would cut the names of options."""

from __future__ import annotations

import inspect
from typing import Any

from rich.console import Console
from rich.text import Text

NARROW = 80  # columns below which panels cut names


def suit_width(command: Any) -> None:
    """Let a command and those below it say their help in plain text, if the terminal is narrow."""
    if Console().width < NARROW:
        _make_plain(command)


def _make_plain(command: Any) -> None:
    command.rich_markup_mode = None
    for part in ("help", "epilog"):
        setattr(command, part, Text.from_markup(getattr(command, part) or "").plain)
    command.short_help = inspect.cleandoc(command.help).split("\n\n")[0]  # whole, where it would be cut
    for below in getattr(command, "commands", {}).values():
        _make_plain(below)
