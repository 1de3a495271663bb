"""Take the pictures of docs/viewing.md: pages of live robots, records, files and this site in Chromium.

    make docs && python docs/screenshots.py

Needs the system packages chromium and chromium-driver, and the Python packages selenium, pillow and example-robot-data.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path
from time import sleep as pause
from typing import Any

from PIL import Image

import appell as ap

HERE = Path(__file__).resolve().parent
COLORS = 256  # per file; enough for the shades of a robot
REST_S = 2.0  # the page draws still pictures with more detail after this time


def main() -> None:
    sys.path.insert(0, str(HERE.parent / "tests"))
    from browser import start_browser

    tree = ap.Dynamics(ap.load("tree10"))
    box = ap.Dynamics(ap.load("box"))
    ground = ap.Contact("all", ap.Plane(), 0.5, 0.4)
    shown = {
        "view-talos": (ap.load("talos"), 0.0),
        "view-tree10": (
            ap.simulate(tree, until=1.5, contacts=ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)),
            0.59,
        ),
        "view-box": (ap.simulate(box, until=2.0, contacts=ground), 0.68),
    }
    shown["view-flexible"] = (bent_arm(), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        browser = start_browser(Path(folder))
        for name, (thing, time) in shown.items():
            with ap.view(thing, open_browser=False, wait=False) as viewer:
                browser.open(viewer.url, (960, 600))
                shoot(browser, name, time)
        for name, file in {"view-ur10": "ur10_robot.urdf", "view-go2": "go2.urdf"}.items():
            compare(browser, name, ap.load(str(example(file))), Path(folder) / "robot.html")
        with collision_record().view(collisions=True, open_browser=False, wait=False) as viewer:
            browser.open(viewer.url, (960, 600))
            shoot(browser, "view-collisions", 1.3)
        fall, _ = shown["view-tree10"]
        browser.open(fall.to_html(Path(folder) / "fall.html"), (960, 600), dark=True)
        shoot(browser, "view-file", 1.083)
        browser.open(HERE / "_build" / "html" / "viewing.html", (1200, 800))
        browser.do("document.querySelector('iframe').scrollIntoView({block: 'center'})")
        browser.wait("document.querySelector('iframe').contentWindow !== null")
        keep(browser, "view-site")
        browser.driver.quit()


def collision_record() -> ap.Record:
    """Return a motion in which the hand of a UR5 touches its upper arm."""
    robot = ap.load("ur5_robot")
    ends = [0.0, -1.2, 1.0, 0.3, 0.5, 0.0], [0.4, -0.6, 2.75, 1.2, -1.2, 0.0], [0.8, -1.0, 1.4, 0.0, 0.5, 0.0]
    path = ap.motion.Spline([0.0, 1.3, 2.6], ends, 5, robot.coordinate_names)
    return replace(path.record(401), dynamics=ap.Dynamics(robot))


def bent_arm() -> ap.Record:
    """Return the first instant of an arm of two flexible links with a load, bent far beyond its deflection at rest."""
    slender = ap.shapes.beam(0.8, ap.Section.tube(0.012, 0.01), E=7e10, rho=2700, bending=(1, 2), damping=1e-4)
    arm = ap.Builder("flexible arm").link("upper", ap.Revolute((0, 1, 0)), body=slender)
    arm.link("lower", ap.Revolute((0, 1, 0)), parent="upper", node="tip", body=slender)
    arm.fixed("gripper", parent="lower", node="tip", mass=0.3, inertia=(2e-4, 2e-4, 2e-4))
    robot = arm.build()
    bent = {"upper_joint": -0.9, "upper.z1": -0.1, "lower_joint": 1.1, "lower.z1": -0.12}
    q = [bent.get(name, 0.0) for name in robot.coordinate_names]
    return ap.simulate(robot, q0=q, until=0.02)


def shoot(browser: Any, name: str, time: float) -> None:
    """Take a picture of a scene at the given time, s."""
    browser.ready()
    browser.do("appell.seek(arguments[0])", time)
    keep(browser, name)


def example(name: str) -> Path:
    """Return the path of a file of example-robot-data."""
    (path,) = (file.locate() for file in files("example-robot-data") or () if file.name == name)
    return Path(str(path))


def compare(browser: Any, name: str, robot: ap.Robot, path: Path) -> None:
    """Store pictures of the live page and of the file of a robot side by side."""
    with ap.view(robot, open_browser=False, wait=False) as viewer:
        shots = []
        for page in (viewer.url, ap.to_html(robot, path, overwrite=True)):
            browser.open(page, (720, 460))
            browser.ready()
            shots.append(picture(browser))
    width, height = shots[0].size
    both = Image.new("RGB", (2 * width, height))
    for k, shot in enumerate(shots):
        both.paste(shot, (k * width, 0))
    save(both, name)


def picture(browser: Any) -> Image.Image:
    """Return a picture of the page after it has come to rest."""
    pause(REST_S)
    browser.settled()
    return Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")


def keep(browser: Any, name: str) -> None:
    """Store a picture of the page after it has come to rest."""
    save(picture(browser), name)


def save(shot: Image.Image, name: str) -> None:
    """Store a picture with a palette of few colours."""
    path = HERE / "images" / f"{name}.png"
    shot.quantize(COLORS, Image.Quantize.MAXCOVERAGE, kmeans=8, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
