"""A page and the Python behind it, on this machine alone: a small HTTP server and a `Viewer`, which holds it.

It listens on 127.0.0.1. The address holds a random token, so that no other page or user of the machine finds it; the
Host of a request must be this machine, so that no foreign name can be led here (DNS rebinding). Bodies are capped. What
is malformed is answered by 400 and {"error": a sentence}. The protocol, below /<token>/:

    GET              the page                                 POST pose   sliders -> values, poses, note
    GET scene        its scene, for one that changed          POST drag   a handle -> values, poses, note
    GET news?after=n what happened after news number n, as soon as something does
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from appell.errors import AppellError, ArgumentError, Hint
from appell.show.scene.scene import Scene
from appell.show.server.live import Articulated, LiveScene
from appell.show.server.viewer import Viewer

LOCAL = ("127.0.0.1", "localhost", "::1")
LARGEST = 64 * 2**10  # bytes of a body; the sliders of the largest robots need a tenth of it
LENGTH_DIGITS = 16  # of a Content-Length
IDLE = 60.0  # seconds until a silent connection is given up
LOST = (ConnectionError, TimeoutError)  # the page was closed, which is no error


def serve(scene: Scene, articulated: Articulated | None = None, *, port: int = 0, open_browser: bool = True) -> Viewer:
    """Serve a scene at a port of this machine (a free one if 0), and open the browser there."""
    if type(port) is not int or not 0 <= port < 2**16:
        raise ArgumentError(f"port is {port!r}.", expected="a whole number from 1 to 65535, or 0 for any that is free")
    live = LiveScene(scene, articulated)
    try:
        server = PageServer(live, port)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror or error}"
        hint = Hint("another one, or {port} for any that is free", port=0)
        raise ArgumentError(f"port {port} of this machine {reason}.", hint=hint) from None
    viewer = Viewer(live, server, server.server_port, f"http://127.0.0.1:{server.server_port}/{server.token}/")
    if open_browser:
        viewer.open()
    return viewer


class PageServer(ThreadingHTTPServer):
    """A thread a connection; none of them keeps the program alive."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # there it would share the port with a stranger

    def __init__(self, live: LiveScene, port: int):
        self.live, self.token, self.closing = live, secrets.token_urlsafe(12), False
        super().__init__(("127.0.0.1", port), PageRequest)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), LOST):
            super().handle_error(request, client_address)


class PageRequest(BaseHTTPRequestHandler):
    """One request of a page."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "appell", ""
    timeout = IDLE
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer({"": self._page, "scene": lambda: self.server.live.encoded(), "news": self._news})

    def do_POST(self) -> None:
        live = self.server.live
        self._answer({"pose": lambda: live.pose(self._body()), "drag": lambda: live.drag(self._body())})

    def _answer(self, known: dict[str, Any]) -> None:
        """Answer one of these paths; a sentence if it is none of them, or if the request is not in order."""
        path = urlsplit(self.path).path
        token, _, name = path.removeprefix("/").partition("/")
        try:
            if not self._is_local():
                self._refuse(403, "This viewer answers to this machine alone: 127.0.0.1 or localhost.")
            elif not secrets.compare_digest(token.encode(), self.server.token.encode()) or "/" not in path[1:]:
                self._refuse(404, "There is nothing here; the address that was printed ends in a token and a slash.")
            elif self.server.closing:
                self._refuse(410, "The viewer was closed.")
            elif name not in known:
                self._refuse(404, f"There is no '{name[:40]}' to {self.command}.")
            else:
                found = known[name]()
                page = isinstance(found, str)
                text = found if page else json.dumps(found, allow_nan=False, separators=(",", ":"))
                self._send(200, text, "text/html" if page else "application/json")
        except AppellError as error:
            self._refuse(400, str(error))
        except LOST:
            self.close_connection = True
        except Exception as error:  # of an articulated scene: the page gets the message, the terminal the traceback
            traceback.print_exc()
            self._refuse(500, f"{type(error).__name__}: {error}")

    def _is_local(self) -> bool:
        """Whether the request, and the page that it comes from, if it says so, are of this machine."""
        origin = self.headers.get("Origin")
        asked = [f"//{self.headers.get('Host', '')}", *([origin] if origin else [])]
        try:
            return all(urlsplit(address).hostname in LOCAL for address in asked)
        except ValueError:
            return False

    def _page(self) -> str:
        return self.server.live.page()

    def _news(self) -> dict[str, Any]:
        (after,) = parse_qs(urlsplit(self.path).query).get("after", ["0"])[:1]
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise ArgumentError(f"after is '{after[:40]}'.", expected="the number of the last news")
        return self.server.live.updates.after(int(after))

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) <= LENGTH_DIGITS):
            raise ArgumentError(f"Content-Length is '{length[:40]}'.", expected="how many bytes the body has")
        size = int(length)
        if size > LARGEST:
            raise ArgumentError(f"the body has {size} bytes.", expected=f"at most {LARGEST}")
        data = self.rfile.read(size)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ArgumentError("the body is no JSON.", expected='{"actor": 0, "values": [...]}') from None

    def _refuse(self, status: int, sentence: str) -> None:
        self.close_connection = True  # what is left of its body is not read
        self._send(status, json.dumps({"error": sentence}, ensure_ascii=False), "application/json")

    def _send(self, status: int, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""
