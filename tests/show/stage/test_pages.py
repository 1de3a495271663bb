"""Records and robots as pages: complete, small, never overwritten without request, played in a real browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

import appell as ap
from appell.motion import Record


@pytest.fixture(scope="module")
def fallen() -> Record:
    wall = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
    return ap.simulate(ap.Dynamics(ap.load("tree10")), until=1.5, contacts=[wall])


def test_the_page_of_a_fall_is_small_and_standalone(fallen, tmp_path):
    path = fallen.to_html(tmp_path / "figure.html")
    assert path == tmp_path / "figure.html"
    assert path.stat().st_size < 300_000
    text = path.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert [entry.name for entry in tmp_path.iterdir()] == ["figure.html"]


def test_a_page_is_overwritten_only_on_request(fallen, tmp_path):
    path = tmp_path / "kept.html"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ap.ArgumentError, match=r"kept\.html already exists"):
        fallen.to_html(path)
    with pytest.raises(ap.ArgumentError, match=r"kept\.html already exists"):
        ap.to_html(ap.load("puma"), path)
    assert path.read_text(encoding="utf-8") == "mine"
    ap.to_html(ap.load("puma"), path, overwrite=True)
    assert "puma" in path.read_text(encoding="utf-8")


def test_invalid_targets_of_a_page_are_named_before_the_work(fallen, tmp_path):
    with pytest.raises(ap.ArgumentError, match=r"'swing.gif' cannot be written.*\n.*\.html, \.htm"):
        fallen.to_html(tmp_path / "swing.gif")
    with pytest.raises(ap.ArgumentError, match="does not exist"):
        fallen.to_html(tmp_path / "nowhere" / "swing.html")
    with pytest.raises(ap.ArgumentError, match=r"record\.to_html"):
        ap.to_html(fallen, tmp_path / "swing.html")
    with pytest.raises(ap.ArgumentError, match="does not contain its robot"):
        Record.of([0.0, 1.0], {"q": np.zeros((2, 6))}).to_html(tmp_path / "swing.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_fails_leaves_nothing_behind(fallen, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(ap.ArgumentError, match=r"the page cannot be written to .*No space left"):
        fallen.to_html(tmp_path / "swing.html")
    assert list(tmp_path.iterdir()) == []


def test_names_of_robots_cannot_become_markup(tmp_path):
    builder = ap.Builder("</script><b>robot")
    builder.link("<!--", ap.Revolute((0, 0, 1)), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    text = ap.to_html(builder.build(), tmp_path / "robot.html").read_text(encoding="utf-8")
    assert "</script><b>" not in text
    assert "<!--" not in re.sub(r"^<!--.*?-->", "", text)


def test_selected_members_of_records_share_one_page(tmp_path):
    robot = ap.load("planar-2r")
    q0 = np.linspace(0.0, 1.0, 4)[:, None] * np.ones(2)
    records = ap.rollout(robot, q0, steps=20, dt=0.01)
    path = records.to_html(tmp_path / "some.html", [0, 3])
    text = path.read_text(encoding="utf-8")
    assert "planar-2r 0" in text
    assert "planar-2r 3" in text
    with pytest.raises(ap.ArgumentError, match="no member 9"):
        records.to_html(tmp_path / "none.html", [9])
    with pytest.raises(ap.ArgumentError, match="no records to show"):
        records.to_html(tmp_path / "none.html", [])


@pytest.mark.slow
def test_a_browser_shows_bodies_at_the_poses_of_the_equations(fallen, tmp_path, browser):
    browser.open(fallen.to_html(tmp_path / "figure.html"))
    browser.ready()
    dyn = fallen.dynamics
    for t in (0.0, fallen.impacts[0].time, 1.1):
        browser.do("window.appell.pause(); window.appell.seek(arguments[0])", t)
        browser.settled()
        poses = np.array(
            browser.ask("Array.from(window.appell.actors[0].poses, (pose) => Array.from(pose))"), float
        ).reshape(-1, 7)
        q, _ = fallen(t)
        for body, pose in zip(dyn.system.body_names, poses, strict=True):
            T = np.array(dyn.equations.pose(dyn.system.frame(body), q.tolist()).matrix)
            np.testing.assert_allclose(pose[:3], T[:3, 3], atol=5e-3)
