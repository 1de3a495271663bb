"""Meshes of real robots in Chromium: a file shows what the live page shows, and a moving picture has no holes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import binary_erosion

import appell as ap
from robots import example_urdfs

SIZE = (640, 420)
MAX_PAGE_BYTES = 5_000_000
KEEP_MOVING_SCRIPT = "window.turning = setInterval(() => appell.set_view(-60, 25), 5)"
CASES = [("ur10_robot.urdf", False, 5), ("go2.urdf", True, 80)]  # dark background; empty pixels inside the outline


def stage(browser) -> np.ndarray:
    """Return the picture of the robot alone: without the panel, the dragged frame, the grid and the shadow."""
    browser.do("document.body.classList.add('folded')")
    browser.wait("document.querySelector('#stage').clientWidth === window.innerWidth")
    browser.settled()  # the page fits the picture to its new size
    browser.do("const h = document.querySelector('#handle'); if (h.onchange) { h.value = '-1'; h.onchange(); }")
    for layer in ("grid", "shadow"):
        browser.do("appell.show(arguments[0], false)", layer)
    browser.do("appell.fit(); appell.set_view(-60, 25)")
    browser.wait("appell.still")
    return picture(browser)


def picture(browser) -> np.ndarray:
    return browser.picture()[40:].astype(int)


def is_background(picture: np.ndarray) -> np.ndarray:
    return np.abs(picture - picture[5, 5]).max(axis=-1) <= 2


@pytest.mark.parametrize(("name", "dark", "max_empty"), CASES)
def test_a_file_shows_the_live_page_and_moving_surfaces_stay_whole(name, dark, max_empty, browser, tmp_path):
    """If surfaces open along their sharp edges, 104 and 123 pixels are empty. Go2 has a cage of thin bars."""
    (source,) = (path for path in example_urdfs() if path.name == name)
    robot = ap.load(str(source))
    path = ap.to_html(robot, tmp_path / "robot.html")
    assert path.stat().st_size < MAX_PAGE_BYTES
    browser.open(path, SIZE, dark)  # a white robot is visible on a dark background only
    browser.ready()
    browser.wait("appell.still")
    assert not browser.ask("appell.reduced")  # the first picture has full quality
    still = stage(browser)
    assert 0.02 < 1.0 - is_background(still).mean() < 0.8

    browser.do(KEEP_MOVING_SCRIPT)
    browser.settled()  # two frames
    moving = picture(browser)
    assert not browser.ask("appell.still")
    inside = binary_erosion(~is_background(still), iterations=6)  # more than the change of the outline
    assert browser.ask("appell.reduced")
    assert np.count_nonzero(inside & is_background(moving)) <= max_empty

    with ap.view(robot, open_browser=False, wait=False) as viewer:
        browser.open(viewer.url, SIZE, dark)
        browser.ready()
        np.testing.assert_array_equal(stage(browser), still)
        browser.driver.get("about:blank")


def test_a_bent_link_is_drawn_with_the_requested_factor(browser, tmp_path):
    """Seen from the side, the slope of a beam of 0.8 m whose tip deflects by 0.05 m grows with the factor."""
    beam = ap.shapes.beam(0.8, EI=20.0, mass_per_length=0.5, bending=(0, 1))
    arm = ap.Builder("beam")
    arm.link("beam", ap.Revolute((0, 1, 0)), body=beam)
    slopes = []
    for bending in (0.0, 1.0, 4.0):
        path = ap.to_html(arm.build(), tmp_path / f"beam{bending:g}.html", [0.0, 0.05], bending=bending)
        browser.open(path, SIZE)
        browser.ready()
        stage(browser)
        browser.do("appell.fit(); appell.set_view(-90, 0)")
        browser.wait("appell.still")
        drawn = ~is_background(picture(browser))
        columns = np.flatnonzero(drawn.any(axis=0))
        at = columns[[len(columns) // 3, -len(columns) // 20]]  # on the beam, far from its joint
        heights = [np.flatnonzero(drawn[:, column]).mean() for column in at]
        slopes.append((heights[0] - heights[1]) / (at[1] - at[0]))
    assert abs(slopes[0]) < 0.01
    assert slopes[1] > 0.03
    np.testing.assert_allclose(slopes[2], 4.0 * slopes[1], rtol=0.15)
