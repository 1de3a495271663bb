"""A page that is open: what Python holds of it."""

from __future__ import annotations

import html
import sys
import threading
from socketserver import BaseServer
from typing import Any, Self

from appell.display.browser import opened, way_to
from appell.display.desk import Desk
from appell.display.page_text import page_text
from appell.errors import ArgumentError

TICK = 0.05  # seconds between two looks at whether to end
HEIGHT = 480  # pixels of the frame in a notebook


class Viewer:
    """A live page at `url`, until it is closed or the program ends.

    viewer = ap.view(robot)
    viewer.show(q)                the robot in the open page moves there
    viewer.show(record)           the page plays a record
    viewer.wait()                 until Ctrl-C
    """

    def __init__(self, desk: Desk, server: Any, port: int, url: str):
        self.url, self.port = url, port
        self._desk, self._server = desk, server
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
        text = html.escape(page_text(self._desk.scene), quote=True)
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
        self._desk.show(thing)

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
        self._desk.news.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
