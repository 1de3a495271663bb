"""The handle of a live page in Python, and functions that open the user's browser or print how to reach the page."""

from __future__ import annotations

import getpass
import html
import os
import socket
import sys
import threading
import webbrowser
from socketserver import BaseServer
from typing import Any, Self

from appell.errors import ArgumentError
from appell.show.page.page_text import page_text
from appell.show.server.live import LiveScene

POLL_INTERVAL_S = 0.05  # of checks whether to stop
NOTEBOOK_FRAME_HEIGHT_PX = 480


class Viewer:
    """A live page at `url`, served until it is closed or the program ends.

    `ap.view` returns a viewer. It is also a context manager that closes the page.

    Examples
    --------
    >>> import appell as ap
    >>> robot = ap.load("planar-2r")
    >>> with ap.view(robot, open_browser=False, wait=False) as viewer:
    ...     viewer.show([0.3, -0.5])  # move the robot in the open page
    ...     viewer.show(ap.simulate(robot, until=0.1))  # play a record
    >>> viewer
    <Viewer closed>
    """

    def __init__(self, live: LiveScene, server: Any, port: int, url: str):
        self.url, self.port = url, port
        self._live, self._server = live, server
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(server,), name=f"appell {port}", daemon=True)
        self._thread.start()

    @staticmethod
    def _serve(server: BaseServer) -> None:
        server.serve_forever(poll_interval=POLL_INTERVAL_S)

    def __repr__(self) -> str:
        return f"<Viewer {'closed' if self._closed.is_set() else self.url}>"

    def _repr_html_(self) -> str:
        """Return the current scene as a standalone page in a frame, for notebooks; it has no sliders."""
        text = html.escape(page_text(self._live.scene), quote=True)
        style = f"width:100%;height:{NOTEBOOK_FRAME_HEIGHT_PX}px;border:0"
        return f'<iframe srcdoc="{text}" style="{style}" sandbox="allow-scripts"></iframe>'

    def open(self) -> None:
        """Open the page in the user's browser, or print to stderr how to reach it."""
        if not open_in_browser(self.url):
            print(instructions(self.url, self.port), file=sys.stderr)

    def show(self, thing: Any) -> None:
        """Move the robot to a configuration q (nq), or show a record or a scene instead."""
        if self._closed.is_set():
            raise ArgumentError("the viewer has been closed.", hint="Open another one with ap.view(...).")
        self._live.show(thing)

    def wait(self) -> None:
        """Wait until the viewer is closed or Ctrl-C is pressed."""
        try:
            while not self._closed.wait(POLL_INTERVAL_S):
                pass
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """Stop the server; open pages keep showing their last state."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._server.closing = True
        self._live.updates.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def has_screen() -> bool:
    """Whether a browser window can be opened; editors on remote machines set BROWSER to a program that can do so."""
    if os.environ.get("BROWSER") or not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_in_browser(url: str) -> bool:
    """Open an address in the user's browser; return whether that succeeded."""
    try:
        return has_screen() and webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def instructions(url: str, port: int) -> str:
    """Return how to reach the page if no browser could be opened."""
    if has_screen() and not os.environ.get("SSH_CONNECTION"):
        return f"no browser could be opened; open {url} in your browser"
    tunnel = f"ssh -L {port}:127.0.0.1:{port} {_user()}{socket.gethostname()}"
    return f"no browser could be opened on this machine; on your computer, run\n  {tunnel}\nand open {url} there"


def _user() -> str:
    try:
        return f"{getpass.getuser()}@"
    except (OSError, KeyError, ImportError):  # in a container the user may have no name
        return ""
