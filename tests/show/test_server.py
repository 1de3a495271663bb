"""The server of live pages, with a scene of two sliders: replies, rejected requests, and shutdown."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from urllib.parse import urlsplit

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.show.scene.scene import AT_ORIGIN, Actor, Handle, Scene, SceneSlider
from appell.show.server.live import Reply
from appell.show.server.server import MAX_BODY_BYTES, serve
from programs import NEEDS_CTRL_C

SLIDERS = (SceneSlider("x", "m", -1.0, 1.0, 0.25), SceneSlider("y", "m", -1.0, 1.0, 0.5))
DRUM = Actor("drum", ("skin",), np.array([AT_ORIGIN]), sliders=SLIDERS, handles=(Handle("rim", 0),))
SCENE = Scene("a drum", (DRUM, Actor("still", ("stone",), np.array([AT_ORIGIN]))))


def at(x, y):
    return np.array([[x, y, 0.0, 0.0, 0.0, 0.0, 1.0]])


class Drum:
    """Moves to the requested values; counts concurrent requests."""

    def __init__(self):
        self.inside = self.most = 0

    def posed(self, actor, values):
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.01)
        self.inside -= 1
        if values[0] == 0.125:
            raise ZeroDivisionError("an error in the articulated scene")
        return Reply(values, at(*values), "a note")

    def dragged(self, actor, handle, pose, values):
        return Reply(pose[:2], at(*pose[:2]))

    def shown(self, thing):
        return thing if isinstance(thing, Scene) else Reply(thing, at(*thing))


@pytest.fixture
def drum():
    return Drum()


@pytest.fixture
def viewer(drum):
    with serve(SCENE, drum, open_browser=False) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def shared():
    """One viewer for all tests that do not change it."""
    with serve(SCENE, Drum(), open_browser=False) as viewer:
        yield viewer


def ask(viewer, method, path="", body=None, host=None, **headers):
    """Return status and text of one request."""
    address = urlsplit(viewer.url)
    line = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    named = headers | ({"Host": host} if host else {})
    line.request(method, path if path.startswith("/") else address.path + path, data, named)
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer.status, text


def reply_of(viewer, *request, **more):
    status, text = ask(viewer, *request, **more)
    assert status == 200, text
    return json.loads(text)


def test_the_page_and_its_scene_are_served(viewer):
    status, text = ask(viewer, "GET")
    assert status == 200
    assert "<html" in text
    assert "a drum" in text
    assert reply_of(viewer, "GET", "scene")["title"] == "a drum"


def test_sliders_and_handles_are_answered_by_the_articulated_scene(viewer):
    reply = reply_of(viewer, "POST", "pose", {"actor": 0, "values": [0.5, 1]})
    assert reply == {"values": [0.5, 1.0], "poses": [[0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]], "note": "a note"}
    pose = [0.1, 0.2, 0, 0, 0, 0, 1]
    reply = reply_of(viewer, "POST", "drag", {"actor": 0, "handle": 0, "pose": pose, "values": [0.25, 0.5]})
    assert reply["poses"][0][:2] == [0.1, 0.2]


GOOD = {"actor": 0, "values": [0.0, 0.0]}
DRAG = {"actor": 0, "handle": 0, "pose": [*AT_ORIGIN], "values": [0.0, 0.0]}


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("pose", b"{", "not JSON"),
        ("pose", b"[" * 60000, "not JSON"),
        ("pose", b"\xff\xfe", "not JSON"),
        ("pose", [1], "not a JSON object"),
        ("pose", {}, "actor is None"),
        ("pose", GOOD | {"actor": 7}, "actor is 7"),
        ("pose", GOOD | {"actor": -1}, "actor is -1"),
        ("pose", GOOD | {"actor": True}, "actor is True"),
        ("pose", GOOD | {"actor": "0"}, "actor is '0'"),
        ("pose", GOOD | {"values": [1.0]}, "a list of 2 numbers"),
        ("pose", GOOD | {"values": "ab"}, "a list of 2 numbers"),
        ("pose", GOOD | {"values": [1.0, "2"]}, "finite number"),
        ("pose", GOOD | {"values": [1.0, None]}, "finite number"),
        ("pose", b'{"actor": 0, "values": [NaN, 1]}', "finite number"),
        ("pose", b'{"actor": 0, "values": [1' + b"0" * 400 + b", 1]}", "finite number"),
        ("pose", b'{"actor": 0, "values": [1e999, 1]}', "finite number"),
        ("pose", {"actor": 1, "values": [0.0, 0.0]}, "a list of 0 numbers"),
        ("drag", DRAG | {"handle": 1}, "handle is 1"),
        ("drag", DRAG | {"actor": 1}, "an actor that has a handle"),
        ("drag", DRAG | {"pose": [0.0] * 7}, "quaternion of pose is zero"),
        ("drag", DRAG | {"pose": [0.0] * 6}, "a list of 7 numbers"),
        ("pose", b" " * (MAX_BODY_BYTES + 1), f"at most {MAX_BODY_BYTES}"),
    ],
)
def test_a_malformed_request_is_answered_with_a_message(path, body, words, shared):
    status, text = ask(shared, "POST", path, body)
    assert status == 400
    assert words in json.loads(text)["error"]
    assert reply_of(shared, "POST", "pose", GOOD)  # the next request is served


@pytest.mark.parametrize(
    "query",
    [
        "updates?after=-1",
        "updates?after=x",
        "updates?after=" + "9" * 40,
        "updates?after=%E0%A5%A7",
        "updates?after=1.5",
    ],
)
def test_a_request_for_updates_needs_a_number(query, shared):
    status, text = ask(shared, "GET", query)
    assert status == 400
    assert "after is" in json.loads(text)["error"]


def test_other_pages_cannot_embed_the_viewer(shared):
    """The policy that the page states in its head cannot contain frame-ancestors."""
    with urllib.request.urlopen(shared.url, timeout=30) as answer:
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert b"Content-Security-Policy" in answer.read()


def test_a_request_without_length_is_rejected(viewer):
    address = urlsplit(viewer.url)
    with socket.create_connection(("127.0.0.1", address.port), timeout=10) as line:
        line.sendall(f"POST {address.path}pose HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 400")


def test_leading_zeros_do_not_bypass_the_limit_on_the_size_of_a_body(shared):
    address, size = urlsplit(shared.url), MAX_BODY_BYTES + 1
    for length, answer in ((f"{size:0>16}", f"at most {MAX_BODY_BYTES}"), ("0" * 20 + str(size), "Content-Length is")):
        head = f"POST {address.path}pose HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", address.port), timeout=10) as line:
            line.sendall(head.encode())
            reply = line.recv(4096)
        assert reply.startswith(b"HTTP/1.1 400")
        assert answer in reply.decode()


def test_random_bytes_do_not_stop_the_server(shared):
    """Random bytes, and complete or truncated requests with random bytes: answered or dropped."""
    address, rng = urlsplit(shared.url), np.random.default_rng(11)
    for k in range(60):
        noise = rng.bytes(int(rng.integers(1, 300)))
        head = f"POST {address.path}pose HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(noise)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", address.port), timeout=10) as line:
            line.sendall(noise if k % 3 == 0 else head + noise if k % 3 == 1 else (head + noise)[: len(head) + 1])
            if k % 3 == 1:
                assert line.recv(4096).startswith(b"HTTP/1.1 400")
    assert reply_of(shared, "POST", "pose", GOOD)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1", ""])
def test_requests_with_a_foreign_host_are_rejected(host, shared):
    """A foreign page may resolve its own name to this machine; the Host is then that name."""
    assert ask(shared, "GET", "scene", host=host or " ")[0] == 403
    assert ask(shared, "POST", "pose", GOOD, Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("host", ["localhost:9999", "127.0.0.1", "LOCALHOST", "[::1]:80"])
def test_all_names_of_this_machine_are_accepted_with_any_port(host, shared):
    assert ask(shared, "GET", "scene", host=host)[0] == 200


def test_without_the_token_nothing_is_served(viewer):
    token = urlsplit(viewer.url).path.strip("/")
    assert len(token) >= 16
    for path in (
        "/",
        "/scene",
        f"/{token}",
        f"/{token[:-1]}/scene",
        f"/x/{token}/scene",
        f"/{token}x/scene",
        "/%C3%A4/",
    ):
        assert ask(viewer, "GET", path)[0] == 404, path
    for path in ("secrets", "../scene", "pose", "scene/"):
        assert ask(viewer, "GET", path)[0] == 404
    assert ask(viewer, "POST", "scene", {})[0] == 404
    assert ask(viewer, "PUT", "pose", {})[0] == 501


def test_an_error_in_the_articulated_scene_is_reported_and_the_server_continues(viewer, capsys):
    status, text = ask(viewer, "POST", "pose", {"actor": 0, "values": [0.125, 0.0]})
    assert status == 500
    assert "ZeroDivisionError: an error in the articulated scene" in json.loads(text)["error"]
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert reply_of(viewer, "POST", "pose", GOOD)


def test_the_articulated_scene_gets_one_request_at_a_time(viewer, drum):
    threads = [threading.Thread(target=reply_of, args=(viewer, "POST", "pose", GOOD)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drum.most == 1


def test_updates_are_sent_as_soon_as_python_shows_something(viewer):
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(reply_of(viewer, "GET", "updates?after=0")))
    thread.start()
    time.sleep(0.05)
    assert not waiting
    viewer.show([0.3, 0.4])
    thread.join(5.0)
    assert waiting == [
        {"number": 1, "poses": {"0": [[0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 1.0]]}, "values": {"0": [0.3, 0.4]}}
    ]
    sliders = reply_of(viewer, "GET", "scene")["actors"][0]["sliders"]
    assert [slider["value"] for slider in sliders] == [0.3, 0.4]  # also for a page that is opened later


def test_another_scene_is_an_update_and_a_slow_page_gets_the_latest(viewer):
    viewer.show([0.3, 0.4])
    viewer.show(Scene("a bell", ()))
    assert reply_of(viewer, "GET", "updates?after=0") == {"number": 2, "scene": True}
    assert reply_of(viewer, "GET", "scene")["title"] == "a bell"
    assert ask(viewer, "POST", "pose", GOOD)[0] == 400  # the drum is no longer shown
    viewer.show(SCENE)
    for k in range(5):
        viewer.show([0.1 * k, 0.0])
    assert reply_of(viewer, "GET", "updates?after=3")["values"] == {"0": [0.4, 0.0]}


def test_a_request_for_updates_is_answered_after_the_timeout(viewer):
    assert viewer._live.updates.after(0, timeout_s=0.01) == {"number": 0, "poses": {}, "values": {}}


def test_a_scene_without_an_articulated_scene_can_only_be_viewed():
    with serve(SCENE, open_browser=False) as viewer:
        assert "cannot be moved" in ask(viewer, "POST", "pose", GOOD)[1]
        viewer.show(Scene("a bell", ()))
        with pytest.raises(ArgumentError, match="cannot show a list"):
            viewer.show([0.0])


def test_closing_releases_waiting_requests_and_frees_the_port(drum):
    viewer = serve(SCENE, drum, open_browser=False)
    port, answers = urlsplit(viewer.url).port, []
    thread = threading.Thread(target=lambda: answers.append(ask(viewer, "GET", "updates?after=0")))
    thread.start()
    time.sleep(0.05)
    start = time.monotonic()
    viewer.close()
    thread.join(5.0)
    assert time.monotonic() - start < 10.0
    assert answers[0][0] == 200
    viewer.close()
    assert "closed" in repr(viewer)
    with pytest.raises(ArgumentError, match=r"the viewer has been closed(.|\n)*ap\.view"):
        viewer.show([0.0, 0.0])
    with serve(SCENE, drum, port=port, open_browser=False) as again:
        assert urlsplit(again.url).port == port


def test_a_port_in_use_is_named(viewer):
    port = urlsplit(viewer.url).port
    with pytest.raises(ArgumentError, match=rf"port {port} is in use\.(.|\n)*port=0"):
        serve(SCENE, port=port, open_browser=False)


@pytest.mark.parametrize("port", [-1, 65536, "80", 80.0, True])
def test_an_invalid_port_is_named(port):
    with pytest.raises(ArgumentError, match=r"port is .*(.|\n)*from 1 to 65535"):
        serve(SCENE, port=port, open_browser=False)


def test_the_server_listens_on_this_machine_only(viewer):
    assert viewer._server.server_address[0] == "127.0.0.1"


def test_a_notebook_shows_the_page_in_a_frame(viewer):
    reply = viewer._repr_html_()
    assert reply.startswith('<iframe srcdoc="')
    assert "a drum" in reply
    assert 'sandbox="allow-scripts"' in reply
    assert reply.count('"') == 6  # the page contains no quote that ends the attribute


def test_a_browser_is_opened_if_there_is_one(monkeypatch, capsys):
    shown = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda url: bool(shown.append(url)) or True)
    with serve(SCENE) as viewer:
        assert shown == [viewer.url]
        assert capsys.readouterr().err == ""


def test_the_address_is_printed_if_no_browser_can_be_opened(monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    with serve(SCENE) as viewer:
        assert capsys.readouterr().err.strip() == f"no browser could be opened; open {viewer.url} in your browser"
        assert reply_of(viewer, "GET", "scene")


def test_without_a_display_the_ssh_tunnel_is_printed(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("there is no screen"))
    with serve(SCENE) as viewer:
        port, output = urlsplit(viewer.url).port, capsys.readouterr().err
        assert f"ssh -L {port}:127.0.0.1:{port} " in output
        assert viewer.url in output


PROGRAM = """
import threading
from appell.show.scene.scene import Scene
from appell.show.server.server import serve
with serve(Scene("", ()), open_browser=False) as viewer:
    threading.Timer(0.5, print, ["ready"], {"flush": True}).start()
    viewer.wait()
print("done", flush=True)
"""


@NEEDS_CTRL_C
def test_ctrl_c_ends_waiting_without_a_traceback():
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (out, err, run.returncode) == ("done\n", "", 0)
