"""A page that is open: what Python holds of it.

The user's browser: opened at a page if there is one, or a sentence that says how to get there.
"""

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

TICK = 0.05  # seconds between two looks at whether to end
HEIGHT = 480  # pixels of the frame in a notebook


class Viewer:
    """A live page at `url`, until it is closed or the program ends.

    viewer = ap.view(robot)
    viewer.show(q)                the robot in the open page moves there
    viewer.show(record)           the page plays a record
    viewer.wait()                 until Ctrl-C
    """

    def __init__(self, live: LiveScene, server: Any, port: int, url: str):
        self.url, self.port = url, port
        self._live, self._server = live, server
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(server,), name=f"appell {port}", daemon=True)
        self._thread.start()

    @staticmethod
    def _serve(server: BaseServer) -> None:
        server.serve_forever(poll_interval=TICK)

    def __repr__(self) -> str:
        return f"<Viewer {'closed' if self._closed.is_set() else self.url}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the scene as it is now, playing by itself, without sliders."""
        text = html.escape(page_text(self._live.scene), quote=True)
        style = f"width:100%;height:{HEIGHT}px;border:0"
        return f'<iframe srcdoc="{text}" style="{style}" sandbox="allow-scripts"></iframe>'

    def open(self) -> None:
        """Open the user's browser at the page, or say on stderr how to get there."""
        if not opened(self.url):
            print(way_to(self.url, self.port), file=sys.stderr)

    def show(self, thing: Any) -> None:
        """Move the robot to a configuration q, or show a record, a robot or a scene in its place."""
        if self._closed.is_set():
            raise ArgumentError("the viewer was closed.", hint="ap.view(...) for another one")
        self._live.show(thing)

    def wait(self) -> None:
        """Until the viewer is closed, or Ctrl-C."""
        try:
            while not self._closed.wait(TICK):
                pass
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """End the server; pages that are open stay as they are."""
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
