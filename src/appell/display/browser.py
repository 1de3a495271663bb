"""The user's browser: opened at a page if there is one, or a sentence that says how to get there."""

from __future__ import annotations

import getpass
import os
import socket
import sys
import webbrowser


def has_screen() -> bool:
    """Whether a window can be opened; BROWSER names a program that knows its way, as editors on other machines do."""
    if os.environ.get("BROWSER") or not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def opened(url: str) -> bool:
    """Whether a browser was opened at an address."""
    try:
        return has_screen() and webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def way_to(url: str, port: int) -> str:
    """What a user does who has no browser open at the page."""
    if has_screen() and not os.environ.get("SSH_CONNECTION"):
        return f"no browser could be opened: open {url} in one"
    tunnel = f"ssh -L {port}:127.0.0.1:{port} {_user()}{socket.gethostname()}"
    return f"there is no screen here: from yours, run\n  {tunnel}\nand open {url} in its browser"


def _user() -> str:
    try:
        return f"{getpass.getuser()}@"
    except (OSError, KeyError, ImportError):  # a container may have a number without a name
        return ""
