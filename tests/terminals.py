"""A command as a process of its own, on a pipe or on a pretended terminal."""

from __future__ import annotations

import os
import subprocess
import sys

COMMAND = (sys.executable, "-m", "appell")


def environment(**settings: str) -> dict[str, str]:
    inherited = {key: x for key, x in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM")}
    return inherited | settings


def piped(*arguments: str, **settings: str) -> subprocess.CompletedProcess:
    """Its output as bytes, stdout and stderr apart."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, env=environment(**settings))


def on_terminal(*arguments: str, **settings: str) -> str:
    """What a terminal would get, escapes and all; stdout and stderr together."""
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
    except OSError:  # how Linux says that the other side is gone
        return b""
