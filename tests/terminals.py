"""All commands by name, and commands run as processes, on a pipe or on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any
from unittest import mock

import typer

COMMAND = (sys.executable, "-m", "appell")


@cache
def all_commands() -> dict[str, Any]:
    """Import every command and return it by its name; groups of commands count as one.

    Their help has panels and markup, as for a terminal that is wide enough.
    """
    from appell.cli.main import app

    group = typer.main.get_command(app)
    context = typer.Context(group)
    with mock.patch.dict(os.environ, COLUMNS="100"):
        return {name: group.get_command(context, name) for name in group.list_commands(context)}


def environment(**settings: str) -> dict[str, str]:
    inherited = {key: x for key, x in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM")}
    return inherited | settings


def piped(*arguments: str, **settings: str) -> subprocess.CompletedProcess:
    """Run a command and return its output as bytes, stdout and stderr separately."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, env=environment(**settings))


def on_terminal(*arguments: str, **settings: str) -> str:
    """Run a command on a pseudo-terminal and return its output with escape sequences, stdout and stderr together."""
    import pty

    ours, theirs = pty.openpty()
    given = environment(**{"TERM": "xterm-256color", **settings})
    process = subprocess.Popen([*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=given)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.wait() == 0, shown
    return shown.decode()


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # on Linux, the other side has closed the terminal
        return b""
