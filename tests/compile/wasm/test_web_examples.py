"""The examples of exported modules: a plain HTML page in a browser, and TypeScript in Node.js."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import appell as ap

EXAMPLE = Path(__file__).parents[3] / "examples" / "17_in_a_web_page.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder that the example writes."""
    target = tmp_path_factory.mktemp("web")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(EXAMPLE), str(target)])
        runpy.run_path(str(EXAMPLE))
    return target


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def address(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_arm_of_the_html_page_swings_like_a_rollout(browser, address):
    browser.open(f"{address}/swing.html")
    browser.wait("window.swing && window.swing.time > 0.2")
    seen = browser.ask("window.swing")
    steps = round(seen["time"] / 1e-3)
    records = ap.rollout(ap.load("planar-2r"), [1.2, 0.4], steps=steps, dt=1e-3, friction=False)
    assert abs(records.q[0, -1] - seen["q"]).max() < 1e-9
    assert [text for text in browser.complaints() if "favicon" not in text] == []


def test_the_typescript_example_computes_the_torques_of_python(program, folder):
    command = [program("tsc"), "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16"]
    built = subprocess.run([*command, "torques.mts"], cwd=folder, capture_output=True, text=True, timeout=100)
    assert built.returncode == 0, built.stdout
    ran = subprocess.run([program("node"), "torques.mjs"], cwd=folder, capture_output=True, text=True, timeout=100)
    answer, t = json.loads(ran.stdout), np.linspace(0.0, 1.0, 5)
    sine, cosine = np.sin(t), np.cos(t)
    q, v, a = (np.stack(pair, axis=1) for pair in ((sine, cosine), (cosine, -sine), (-sine, -cosine)))
    expected = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics(q, v, a)
    assert np.allclose(np.reshape(answer["tau"], (5, 2)), expected, rtol=1e-12)
    assert (answer["name"], answer["shape"]) == ("tau", [2])


def test_the_live_page_of_the_example_runs(browser, folder):
    browser.open(folder / "live.html")
    browser.ready()
    browser.wait("window.appell.simulation && window.appell.simulation.time > 0.05")
    assert browser.complaints() == []
