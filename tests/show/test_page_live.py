"""Live pages against a test server: sliders, dragged frames and updates."""

from __future__ import annotations

import contextlib
import json
import math
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from appell.show.page.page_text import encoded, page_text
from page_scenes import scene, swing

SCENE = scene(swing(motion=None), title="Live")


class Python:
    """A server with the live protocol: the bar rotates by the first slider, dragging has no effect."""

    def __init__(self):
        self.received: list[tuple[str, dict]] = []
        self.updates: queue.Queue[dict] = queue.Queue()
        self.scene = SCENE
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith("/key/updates"):
                    try:
                        self.answer(json.dumps(owner.updates.get(timeout=2)))
                    except queue.Empty:
                        self.answer(json.dumps({"number": int(self.path.rpartition("=")[2])}))
                elif self.path == "/key/scene":
                    self.answer(json.dumps(encoded(owner.scene)))
                else:
                    self.answer(page_text(owner.scene, "/key/"), "text/html; charset=utf-8")

            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.received.append((self.path, question))
                angle = question["values"][0]
                if angle > 1.4:
                    return self.answer(json.dumps({"note": "joint 'joint' ends at 1.4 rad"}), status=400)
                note = "out of reach by 0.12 m" if self.path == "/key/drag" else ""
                self.answer(json.dumps({"values": [angle, 0.5], "poses": owner.poses(angle), "note": note}))

            def answer(self, text, kind="application/json", status=200):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()
                with contextlib.suppress(OSError):  # the page was closed
                    self.wfile.write(text.encode())

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/key/"

    def poses(self, angle: float) -> list[list[float]]:
        return [[0, 0, 0, 0, 0, 0, 1], [0, 0, 0.5, 0, math.sin(angle / 2), 0, math.cos(angle / 2)]]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def python():
    made = Python()
    yield made
    made.close()


@pytest.fixture
def live(browser, python):
    browser.open(python.url, (900, 600))
    browser.ready()
    yield browser
    browser.driver.get("about:blank")


def angle_is(angle: float) -> str:
    return f"Math.abs(appell.actors[0].poses[1][4] - {math.sin(angle / 2)}) < 1e-6"


def test_a_slider_moves_the_robot(live, python):
    inputs = "[...document.querySelectorAll('.slider[data-name=joint] input')].map((e) => [e.type, Number(e.value)])"
    assert live.ask(inputs) == [["range", 0.25], ["number", pytest.approx(math.degrees(0.25), abs=0.05)]]
    live.fill(".slider[data-name=joint] input", 1.0)
    live.wait(angle_is(1.0))
    assert python.received[-1] == ("/key/pose", {"actor": 0, "values": [1.0, 0.0]})
    assert live.ask(inputs)[1][1] == pytest.approx(57.3)  # degrees
    live.wait("document.querySelector('.slider[data-name=rail] input').value == 0.5")  # the value in Python's reply
    live.fill(".slider[data-name=joint] input[type=number]", -30, "change")
    live.wait(angle_is(-math.pi / 6))
    assert python.received[-1][1]["values"] == [pytest.approx(-math.pi / 6), 0.5]
    assert live.complaints() == []
    assert all(url.startswith(python.url) for url in live.requests())


def test_a_rejected_request_is_shown_in_the_notes(live):
    live.fill(".slider[data-name=joint] input", 1.45)
    live.wait("document.getElementById('notes').textContent.includes('ends at 1.4 rad')")
    assert "a note" in live.element("#notes").text


def test_a_drag_of_the_ball_moves_the_frame_in_the_plane_of_the_picture(live, python):
    start = live.wait("appell.gizmo()")
    x, y = live.ask("appell.project(...arguments)", *start[:3])
    live.drag((x, y), (x + 60, y - 40))
    live.wait("document.getElementById('notes').textContent.includes('out of reach by 0.12 m')")
    dragged = [question for path, question in python.received if path == "/key/drag"]
    assert dragged[-1]["handle"] == 0
    pose = dragged[-1]["pose"]
    assert live.ask("appell.project(...arguments)", *pose[:3]) == pytest.approx([x + 60, y - 40], abs=1.0)
    assert pose[3:] == pytest.approx(start[3:])
    live.settled()
    released = [0.6 * math.sin(0.25), 0, 0.5 + 0.6 * math.cos(0.25), *python.poses(0.25)[1][3:]]
    assert live.ask("appell.gizmo()") == pytest.approx(released, abs=1e-6)  # the pose that the robot reached


def test_arrows_of_the_gizmo_move_the_frame_along_their_axis(live, python):
    start = np.array(live.wait("appell.gizmo()"))
    live.do("appell.set_view(-60, 30)")
    axis = Rotation.from_quat(start[3:]).apply([1, 0, 0])
    middle, ahead = (np.array(pixel_of(live, start[:3] + far * axis)) for far in (0.0, 0.05))
    direction = (ahead - middle) / np.linalg.norm(ahead - middle)
    live.drag(middle + 50 * direction, middle + 80 * direction)
    live.wait("document.getElementById('notes').textContent.includes('out of reach')")
    pose = np.array(python.received[-1][1]["pose"])
    along = (pose[:3] - start[:3]) @ axis
    assert pixel_of(live, start[:3] + along * axis) == pytest.approx(middle + 30 * direction, abs=4.0)
    assert pose == pytest.approx([*(start[:3] + along * axis), *start[3:]], abs=1e-9)


def test_rings_of_the_gizmo_rotate_the_frame_about_their_axis(live, python):
    start = np.array(live.wait("appell.gizmo()"))
    azimuth, elevation = -60.0, 50.0
    live.do("appell.set_view(...arguments)", azimuth, elevation)
    aside = np.array([-math.sin(math.radians(azimuth)), math.cos(math.radians(azimuth)), 0.0])  # to the right
    middle = pixel_of(live, start[:3])
    radius = 0.72 * 78 * 0.01 / math.dist(middle, pixel_of(live, start[:3] + 0.01 * aside))  # metres, from pixels
    frame = Rotation.from_quat(start[3:])
    before, after = (
        pixel_of(live, start[:3] + radius * frame.apply([math.cos(turn), math.sin(turn), 0.0]))
        for turn in (-math.pi / 4, -math.pi / 4 + 0.5)
    )
    live.drag(before, after)
    live.wait("document.getElementById('notes').textContent.includes('out of reach')")
    for _ in range(100):  # until the last position of the mouse has arrived
        pose = np.array(python.received[-1][1]["pose"])
        turn = (frame.inv() * Rotation.from_quat(pose[3:])).as_rotvec()
        if turn[2] > 0.44:
            break
        time.sleep(0.05)
    assert pose[:3] == pytest.approx(start[:3])
    assert turn == pytest.approx([0.0, 0.0, 0.5], abs=0.06)


def pixel_of(browser, point) -> list[float]:
    return browser.ask("appell.project(...arguments)", *map(float, point))


def test_updates_bring_poses_and_scenes(live, python):
    python.updates.put({"number": 1, "poses": {"0": python.poses(0.7)}, "values": {"0": [0.7, 0.1]}})
    live.wait(angle_is(0.7))
    assert live.ask("Number(document.querySelector('.slider[data-name=joint] input').value)") == pytest.approx(0.7)
    python.scene = scene(swing("other"), title="Another")
    python.updates.put({"number": 2, "scene": True})
    live.wait("document.title === 'Another' && appell.ready")
    assert live.ask("appell.scene.actors[0].name") == "other"
    assert live.ask("appell.scene.span") == [1.0, 3.0]
    assert not live.ask("document.getElementById('transport').hidden")
    assert live.complaints() == []


def test_a_lost_connection_is_shown_in_the_notes(live, python):
    python.close()
    live.fill(".slider[data-name=joint] input", 0.4)
    live.wait("document.getElementById('notes').textContent.includes('no longer answers')")
    time.sleep(0.1)
    assert live.ask("appell.ready")
