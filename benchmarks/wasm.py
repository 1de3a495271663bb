"""Exported WebAssembly compared with MuJoCo's, in Node.js and in Chromium, and a live page.

Run it with: python benchmarks/wasm.py DIR. DIR is a folder with the npm package: npm install --prefix DIR
@mujoco/mujoco. Both sides run in one process and alternate in short rounds; the shortest time of each counts, because
engines optimise code while it runs and other programs disturb long rounds. Times are wall-clock times per call from
JavaScript, or per sample of one call.

The step is semi-implicit Euler on both sides, with equal states after 200 steps before anything is timed.
MuJoCo's model has the same bodies and joints and no geometry. It is timed with its default options, and with contacts
and constraints disabled ("bare"). `mj_step` and `mj_forward` compute more than accelerations: poses and velocities of
all bodies, centres of mass, the inertia matrix and its factorisation, an empty set of contacts and constraints (unless
bare), actuators, sensors. appell computes the accelerations of this robot and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.compile.wasm.source import wasm_binary
from appell.simulation import Rollout
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.peers.mujoco_c import MujocoLayout
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.subject import find

RESULTS = Path(__file__).parent / "results" / "wasm.json"
SCRIPT = Path(__file__).parent / "wasm_measure.mjs"
DISABLED = '<flag contact="disable" constraint="disable"/>'  # in the text of `mjcf`
DT = 2e-3  # MuJoCo's default
NODE = """
import { readFileSync } from "node:fs";
import { measure } from "./measure.mjs";
const given = JSON.parse(readFileSync("given.json", "utf8"));
console.log(JSON.stringify(await measure(".", "@mujoco/mujoco", given)));
"""
PAGE = """<!doctype html><meta charset="utf-8"><script type="module">
import { measure } from "./measure.mjs";
const given = await (await fetch("given.json")).json();
try { window.result = await measure(location.origin, "./node_modules/@mujoco/mujoco/mujoco.js", given); }
catch (error) { window.result = String(error.stack); }
</script>"""
FLAGS = ("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
LIVE_SECONDS = 4.0


def prepare(folder: Path) -> dict[str, int]:
    """Write the functions and the input of the measurement; return the sizes of compressed modules in bytes."""
    panda, talos = ap.load("panda"), find("talos").robot
    rng = np.random.default_rng(0)
    q, v = talos.start.copy(), np.zeros(talos.nv)
    v[6:] = rng.uniform(-0.5, 0.5, talos.nv - 6)
    layout, states = MujocoLayout(talos, q[None]), {"q": q[None], "v": v[None]}
    sizes = {}
    functions = {
        "panda_step": Rollout(panda, method="euler", friction=False, rotors=False).scan,
        "panda_forward": ap.Dynamics(panda).forward_dynamics,
        "talos_forward": ap.Dynamics(talos).forward_dynamics,
    }
    for name, function in functions.items():
        files = function.to_wasm(name)
        files.write(folder)
        sizes[name] = len(gzip.compress(files.binary))
    arm = {"q": panda.start.tolist(), "v": [0.0] * 7}
    given = {
        "panda": arm | {"dt": DT, "t": 0.0, "torque": [0.0] * 7},
        "talos": {"q": q.tolist(), "v": v.tolist(), "tau": [0.0] * talos.nv},
        "mjcf": {"panda": mjcf(panda), "talos": mjcf(talos)},
        "disabled": DISABLED,
        "panda_binary": base64.b64encode(wasm_binary(functions["panda_step"], simd=False)).decode(),
        "talos_qpos": layout.given("q", states)[0].tolist(),
        "talos_qvel": layout.given("v", states)[0].tolist(),
        "talos_order": layout.of_v.tolist(),
        "rounds": 80,
        "length": 20,
    }
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "measure.mjs").write_text(SCRIPT.read_text())
    (folder / "node.mjs").write_text(NODE)
    (folder / "page.html").write_text(PAGE)
    return sizes


def in_browser(folder: Path) -> dict[str, Any]:
    """Run the measurement in Chromium, and measure the live page of a Panda."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver = webdriver.Chrome(options=options)
    try:
        driver.get(f"http://127.0.0.1:{server.server_port}/page.html")
        end = time.monotonic() + 300.0
        while (result := driver.execute_script("return window.result")) is None and time.monotonic() < end:
            time.sleep(0.2)
        if not isinstance(result, dict):
            raise RuntimeError(f"the measurement in Chromium failed: {result}")
        return {"version": driver.capabilities["browserVersion"], **result, "live page": live_page(folder, driver)}
    finally:
        driver.quit()
        server.shutdown()


def live_page(folder: Path, driver: Any) -> dict[str, float]:
    """Return size, steps per second and frame rate of the live page of a Panda at the highest speed, 5x."""
    page = ap.live_page(ap.load("panda"), folder / "panda.html")
    driver.set_window_size(1000, 700)
    driver.get(page.resolve().as_uri())
    while not driver.execute_script("return !!(window.appell?.ready && document.getElementById('live_status'))"):
        time.sleep(0.05)
    driver.execute_script("appell.simulation.speed = 5")
    time.sleep(1.0)
    start = driver.execute_script("return [performance.now(), appell.simulation.steps]")
    time.sleep(LIVE_SECONDS)
    end = driver.execute_script("return [performance.now(), appell.simulation.steps, appell.frames_per_second()]")
    script = """const s = appell.simulation, a = performance.now(); s.set_running(false); s.run(20000);
        return 2e7 / (performance.now() - a);"""
    return {
        "bytes": page.stat().st_size,
        "compressed bytes": len(gzip.compress(page.read_bytes())),
        "steps per second while drawing": 1e3 * (end[1] - start[1]) / (end[0] - start[0]),
        "frames per second": end[2],
        "steps per second without drawing": max(driver.execute_script(script) for _ in range(5)),
    }


class _Quiet(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        """Isolate the page, which makes the clock of the browser more precise."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        pass


def main(packages: str) -> None:
    """Measure in both engines and write the results."""
    modules = Path(packages, "node_modules").resolve()
    peer = json.loads((modules / "@mujoco" / "mujoco" / "package.json").read_text())["version"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "node_modules").symlink_to(modules)
        sizes = prepare(folder)
        node = subprocess.run(["node", "node.mjs"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        mujoco_size = len(gzip.compress((modules / "@mujoco" / "mujoco" / "mujoco.wasm").read_bytes()))
        result = {
            "machine": machine(),
            "versions": versions() | {"@mujoco/mujoco": peer, "node": _version("node")},
            "compressed bytes": sizes | {"mujoco": mujoco_size},
            "node": json.loads(node.stdout.splitlines()[-1]),
            "chromium": in_browser(folder),
        }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    for engine in ("node", "chromium"):
        print(engine, json.dumps(result[engine], indent=1))


def _version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1])
