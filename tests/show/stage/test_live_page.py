"""Live pages in Chromium: poses in the page agree with `dyn.pose`."""

from __future__ import annotations

import time

import numpy as np
import pytest

import appell as ap
from appell.show.scene.poses import rotations
from grippers import GRIPPER

TOLERANCE = 2e-6  # m, and of rotation matrices: the page uses single precision
SET = """
const row = document.querySelector(`.slider[data-name="${arguments[0]}"] input[type=range]`);
row.value = arguments[1];
row.dispatchEvent(new Event("input", { bubbles: true }));
"""
VALUES = "[...document.querySelectorAll('.slider input[type=range]')].map((row) => Number(row.value))"


@pytest.fixture(scope="module")
def panda():
    return ap.Dynamics(ap.load("panda"))


@pytest.fixture(scope="module")
def fall():
    """A tree of rods that falls inside a round wall and hits it."""
    return ap.simulate(
        ap.Dynamics(ap.load("tree10")),
        until=0.6,
        contacts=ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0),
    )


@pytest.fixture
def shown(browser):
    """Open viewers in the browser, and close them finally."""
    opened = []

    def show(thing, *more, **options):
        opened.append(ap.view(thing, *more, open_browser=False, wait=False, **options))
        browser.open(opened[-1].url)
        browser.ready()
        return opened[-1]

    yield show
    browser.driver.get("about:blank")
    for viewer in opened:
        viewer.close()


def is_at(browser, dyn, q, tolerance=TOLERANCE) -> bool:
    """Whether all bodies of the first actor of the page have their poses at q."""
    bodies, poses = browser.ask("[appell.scene.actors[0].bodies, appell.actors[0].poses]")
    for body, pose in zip(bodies, np.array(poses), strict=True):
        T = dyn.pose(body)(np.array(q))
        if np.abs(pose[:3] - T[:3, 3]).max() > tolerance or np.abs(rotations(pose) - T[:3, :3]).max() > tolerance:
            return False
    return True


def comes_to(browser, dyn, q, tolerance=TOLERANCE, seconds=10.0) -> bool:
    """Whether the bodies reach their poses at q within some seconds."""
    end = time.monotonic() + seconds
    while not (arrived := is_at(browser, dyn, q, tolerance)) and time.monotonic() < end:
        time.sleep(0.02)
    return arrived


def test_a_live_robot_is_at_its_start_and_has_a_slider_for_every_joint(browser, shown, panda):
    shown(panda)
    assert is_at(browser, panda, panda.system.start)
    names = browser.ask("[...document.querySelectorAll('.slider')].map((row) => row.dataset.name)")
    assert names == list(panda.system.coordinate_names)
    assert browser.ask(VALUES) == pytest.approx(panda.system.start)
    assert browser.complaints() == []


def test_a_slider_moves_the_robot(browser, shown, panda):
    shown(panda)
    q = panda.system.start
    for name, value in (("joint2", 0.5), ("joint4", -1.0)):
        browser.do(SET, name, value)
        q[panda.system.coordinate_names.index(name)] = value
        assert comes_to(browser, panda, q)


def test_dragging_the_tool_moves_the_robot_and_its_sliders(browser, shown, panda):
    shown(panda)
    start = panda.pose("tool")(panda.system.start)
    assert np.allclose(browser.ask("appell.gizmo()")[:3], start[:3, 3], atol=TOLERANCE)
    x, y = browser.ask("appell.project(...arguments)", *start[:3, 3].tolist())
    browser.drag((x, y), (x + 40, y + 30))
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        q = np.array(browser.ask(VALUES))
        tool = panda.pose("tool")(q)
        seen = browser.ask("appell.project(...arguments)", *tool[:3, 3].tolist())
        if np.hypot(seen[0] - x - 40, seen[1] - y - 30) < 0.1:
            break
    assert np.hypot(seen[0] - x - 40, seen[1] - y - 30) < 0.1  # pixels: at the mouse
    assert np.allclose(tool[:3, :3], start[:3, :3], atol=1e-5)  # not rotated
    assert comes_to(browser, panda, q)
    browser.settled()  # the gizmo is updated with the next frame
    assert np.allclose(browser.ask("appell.gizmo()")[:3], tool[:3, 3], atol=1e-5)
    assert browser.ask("document.getElementById('notes').hidden")


def test_the_page_shows_the_distance_to_a_target_out_of_reach(browser, shown, panda):
    viewer = shown(panda)
    browser.press("-" * 8)  # zoom out, so that the edge of the page is out of reach
    browser.settled()
    x, y = browser.ask("appell.project(...appell.gizmo().slice(0, 3))")
    browser.drag((x, y), (5.0, y))
    note = browser.wait("document.getElementById('notes').textContent.match(/out of reach by [0-9.]+ m/)")
    assert note
    assert panda.system.limits.contain(viewer._live.articulated.q)


def test_python_moves_the_robot_in_the_open_page(browser, shown, panda):
    viewer, q = shown(panda), panda.system.start
    for k in range(20):
        q[0] = 0.1 * k
        viewer.show(q)
    assert comes_to(browser, panda, q)
    assert browser.ask(VALUES) == pytest.approx(q)
    browser.open(viewer.url)  # also in a page that is opened later
    browser.ready()
    assert comes_to(browser, panda, q)


def test_mimic_joints_follow_in_the_page(browser, shown):
    dyn = ap.Dynamics(ap.load(GRIPPER))
    shown(dyn)
    browser.do(SET, "left", 0.03)
    q = dyn.system.start
    q[dyn.system.coordinate_names.index("left")] = 0.03
    assert comes_to(browser, dyn, q)


def test_a_record_plays_with_its_impacts_marked(browser, shown, fall):
    assert fall.impacts
    shown(fall)
    marks = browser.ask(
        "[...document.querySelectorAll('.mark')].map((mark) => [Number(mark.dataset.time), mark.dataset.kind])"
    )
    assert [time for time, kind in marks if kind == "impact"] == pytest.approx([event.time for event in fall.impacts])
    browser.do("appell.seek(0.25)")
    browser.settled()
    assert comes_to(browser, fall.dynamics, fall(0.25)[0], tolerance=5e-3)  # interpolated between frames
    browser.element("#play").click()
    browser.wait("appell.time > 0.35")
    assert browser.ask("document.querySelectorAll('.slider').length") == 0
    assert browser.complaints() == []


def test_python_shows_a_record_in_the_open_page_and_the_robot_again(browser, shown, fall):
    dyn = fall.dynamics
    viewer = shown(dyn)
    viewer.show(fall)
    browser.wait("appell.scene.span[1] > 0.5 && appell.ready")
    assert browser.ask("document.querySelectorAll('.mark').length") == len(fall.events)
    q = dyn.system.start + 0.1
    viewer.show(q)
    browser.wait("appell.scene.span[1] === 0 && appell.ready")
    assert comes_to(browser, dyn, q)


def test_a_page_shows_that_its_viewer_was_closed(browser, shown, panda):
    viewer = shown(panda)
    viewer.close()
    browser.wait("/no longer answers|has been closed/.test(document.getElementById('notes').textContent)")
