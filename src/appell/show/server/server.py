"""A small HTTP server for live pages on this machine; `serve` starts it and returns its `Viewer`.

It listens on 127.0.0.1. The address contains a random token, so that other pages and other users of the machine cannot
find it. The Host of a request must be this machine, which prevents DNS rebinding. Request bodies are limited in size. A
malformed request is answered with status 400 and {"error": message}. The protocol, below /<token>/:

    GET                  the page                        POST pose   sliders -> values, poses, note
    GET scene            its scene, after a change       POST drag   a handle -> values, poses, note
    GET updates?after=n  the latest update after number n, as soon as there is one (long polling)
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

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
MAX_BODY_BYTES = 64 * 2**10  # the sliders of the largest robots need a tenth of it
MAX_LENGTH_DIGITS = 16  # of a Content-Length
IDLE_TIMEOUT_S = 60.0  # after which a silent connection is closed
DISCONNECTED = (ConnectionError, TimeoutError)  # the page was closed; this is not reported as an error


def serve(scene: Scene, articulated: Articulated | None = None, *, port: int = 0, open_browser: bool = True) -> Viewer:
    """Serve a scene on this machine and open it in the browser.

    Parameters
    ----------
    scene : the scene to show
    articulated : Articulated, optional
        Computes the poses when sliders or handles are moved. Without it the scene can be viewed only.
    port : port number, or 0 for any free port
    open_browser : open the user's browser, or print how to reach the page

    Returns
    -------
    Viewer

    Raises
    ------
    ArgumentError
        If the port is invalid or in use.
    """
    if type(port) is not int or not 0 <= port < 2**16:
        raise ArgumentError(f"port is {port!r}.", expected="an integer from 1 to 65535, or 0 for any free port")
    live = LiveScene(scene, articulated)
    try:
        server = PageServer(live, port)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror or error}"
        hint = Hint("Choose another port, or pass {port} for any free port.", port=0)
        raise ArgumentError(f"port {port} {reason}.", hint=hint) from None
    viewer = Viewer(live, server, server.server_port, f"http://127.0.0.1:{server.server_port}/{server.token}/")
    if open_browser:
        viewer.open()
    return viewer


class PageServer(ThreadingHTTPServer):
    """A server with one daemon thread per connection."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # on Windows it would allow other programs to use the same port

    def __init__(self, live: LiveScene, port: int):
        self.live, self.token, self.closing = live, secrets.token_urlsafe(12), False
        super().__init__(("127.0.0.1", port), PageRequest)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), DISCONNECTED):
            super().handle_error(request, client_address)


class PageRequest(BaseHTTPRequestHandler):
    """One request of a page."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "appell", ""
    timeout = IDLE_TIMEOUT_S
    wbufsize = -1  # buffered, so that header and body are sent together
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer({"": self._page, "scene": lambda: self.server.live.encoded(), "updates": self._updates})

    def do_POST(self) -> None:
        live = self.server.live
        self._answer({"pose": lambda: live.pose(self._body()), "drag": lambda: live.drag(self._body())})

    def _answer(self, known: dict[str, Any]) -> None:
        """Answer a request for one of the known paths, or refuse it with a message."""
        path = urlsplit(self.path).path
        token, _, name = path.removeprefix("/").partition("/")
        try:
            if not self._is_local():
                self._refuse(403, "This viewer only accepts requests for 127.0.0.1 or localhost.")
            elif not secrets.compare_digest(token.encode(), self.server.token.encode()) or "/" not in path[1:]:
                self._refuse(404, "Not found. Use the complete printed address, which ends with a token and a slash.")
            elif self.server.closing:
                self._refuse(410, "The viewer has been closed.")
            elif name not in known:
                self._refuse(404, f"'{name[:40]}' is not a path for {self.command}.")
            else:
                answer = known[name]()
                page = isinstance(answer, str)
                text = answer if page else json.dumps(answer, allow_nan=False, separators=(",", ":"))
                self._send(200, text, "text/html" if page else "application/json")
        except AppellError as error:
            self._refuse(400, str(error))
        except DISCONNECTED:
            self.close_connection = True
        except Exception as error:  # in the articulated scene: message to the page, traceback to the terminal
            traceback.print_exc()
            self._refuse(500, f"{type(error).__name__}: {error}")

    def _is_local(self) -> bool:
        """Whether the Host, and the Origin if there is one, are this machine."""
        origin = self.headers.get("Origin")
        addresses = [f"//{self.headers.get('Host', '')}", *([origin] if origin else [])]
        try:
            return all(urlsplit(address).hostname in LOCAL_HOSTS for address in addresses)
        except ValueError:
            return False

    def _page(self) -> str:
        return self.server.live.page()

    def _updates(self) -> dict[str, Any]:
        (after,) = parse_qs(urlsplit(self.path).query).get("after", ["0"])[:1]
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise ArgumentError(f"after is '{after[:40]}'.", expected="the number of the last update")
        return self.server.live.updates.after(int(after))

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) <= MAX_LENGTH_DIGITS):
            raise ArgumentError(f"Content-Length is '{length[:40]}'.", expected="the number of bytes of the body")
        size = int(length)
        if size > MAX_BODY_BYTES:
            raise ArgumentError(f"the body has {size} bytes.", expected=f"at most {MAX_BODY_BYTES}")
        data = self.rfile.read(size)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ArgumentError("the body is not JSON.", expected='{"actor": 0, "values": [...]}') from None

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True  # the rest of its body is not read
        self._send(status, json.dumps({"error": message}, ensure_ascii=False), "application/json")

    def _send(self, status: int, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")  # the page states the rest of its policy
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the terminal belongs to the user."""
