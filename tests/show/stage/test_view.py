"""`ap.view` and `Record.view`: what they show, when they wait, and what they refuse."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell as ap
from appell.show.server.viewer import Viewer

QUIET = {"open_browser": False, "wait": False}


@pytest.fixture(scope="module")
def swing():
    return ap.simulate(ap.Dynamics(ap.load("planar-2r")), until=0.1)


def read_again(record, tmp_path):
    record.write(tmp_path / "swing.csv", overwrite=True)
    return ap.Record.read(tmp_path / "swing.csv")


def test_a_robot_is_shown_at_its_configuration_with_walls():
    with ap.view(ap.load("planar-2r"), q=[0.1, 0.2], walls=[ap.Circle(3.0)], **QUIET) as viewer:
        scene = viewer._live.scene
        assert [slider.value for slider in scene.actors[0].sliders] == [0.1, 0.2]
        assert [part.layer for part in scene.parts] == ["walls"]
        assert scene.actors[0].handles[0].name == "tool"
        assert repr(viewer) == f"<Viewer {viewer.url}>"


def test_a_record_is_played_without_sliders(swing, tmp_path):
    written = read_again(swing, tmp_path)
    for opened in (
        swing.view(swing, **QUIET),
        ap.view(swing, swing, **QUIET),
        written.view(written, robot=swing.dynamics, **QUIET),
    ):
        with opened as viewer:
            scene = viewer._live.scene
            assert len(scene.actors) == 2
            assert scene.span == pytest.approx((0.0, 0.1))
            assert all(actor.sliders == actor.handles == () for actor in scene.actors)


def test_a_viewer_of_a_record_shows_its_robot_when_python_moves_it(swing):
    with swing.view(**QUIET) as viewer:
        viewer.show([0.3, 0.4])
        (actor,) = viewer._live.scene.actors
        assert [slider.value for slider in actor.sliders] == [0.3, 0.4]
        viewer.show(swing)
        assert viewer._live.scene.span[1] > 0.0


def test_a_viewer_of_a_robot_plays_a_record_of_it_from_a_file(swing, tmp_path):
    with ap.view(swing.dynamics, **QUIET) as viewer:
        viewer.show(read_again(swing, tmp_path))
        assert viewer._live.scene.span == pytest.approx((0.0, 0.1))


@pytest.mark.parametrize(
    ("shown", "more", "options", "words"),
    [
        ("puma", (), {}, "cannot draw"),
        (None, (), {}, "cannot draw"),
        (ap.load("puma"), (ap.load("puma"),), {}, "a robot cannot be combined with records"),
        (ap.load("puma"), (), {"robot": ap.load("puma")}, "a robot cannot be combined with records"),
        (ap.load("puma"), (), {"q": [1.0]}, "its last axis must be 6 for robot 'puma'"),
        (ap.load("puma"), (), {"port": -1}, "port is -1"),
    ],
)
def test_invalid_arguments_of_view_are_named(shown, more, options, words):
    with pytest.raises(ap.ArgumentError, match=words):
        ap.view(shown, *more, **QUIET | options)


def test_a_record_cannot_be_combined_with_a_configuration(swing):
    with pytest.raises(ap.ArgumentError, match="q cannot be combined with a record"):
        ap.view(swing, q=[0.0, 0.0], **QUIET)
    with pytest.raises(ap.ArgumentError, match="cannot show 'puma'"):
        ap.view(swing, "puma", **QUIET)


def test_a_record_of_another_or_an_unknown_robot_is_rejected_with_names(swing, tmp_path):
    with pytest.raises(ap.ArgumentError, match=r"shoulder, elbow(.|\n)*the 6 coordinates of robot 'puma': joint1"):
        swing.view(robot=ap.load("puma"), **QUIET)
    with pytest.raises(ap.ArgumentError, match=r"does not contain its robot(.|\n)*ap\.load\('planar-2r'\)"):
        read_again(swing, tmp_path).view(**QUIET)
    with (
        ap.view(ap.load("puma"), **QUIET) as viewer,
        pytest.raises(ap.ArgumentError, match=r"the 6 coordinates of robot 'puma'"),
    ):
        viewer.show(read_again(swing, tmp_path))
    assert len(viewer._live.scene.actors[0].sliders) == 6  # the scene is unchanged


@pytest.mark.parametrize(
    ("terminal", "typed", "wait", "waits"),
    [
        (True, False, None, True),  # a script in a terminal, whose page would end with it
        (True, True, None, False),  # an interactive session
        (False, False, None, False),  # no terminal to end it
        (True, False, False, False),
        (False, True, True, True),
    ],
)
def test_scripts_in_a_terminal_wait_for_ctrl_c(terminal, typed, wait, waits, monkeypatch, capsys):
    waited = []
    monkeypatch.setattr(Viewer, "wait", lambda viewer: waited.append(viewer.url))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.delattr(sys, "ps1", raising=False)
    if typed:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with ap.view(ap.load("pendulum"), open_browser=False, wait=wait) as viewer:
        assert waited == [viewer.url] * waits
        assert (viewer.url in capsys.readouterr().err) == waits


def test_the_given_configuration_is_not_modified():
    q = np.zeros(6)
    with ap.view(ap.load("puma"), q=q, **QUIET) as viewer:
        viewer.show(np.ones(6))
        viewer._live.pose({"actor": 0, "values": [0.5] * 6})
    assert (q == 0.0).all()
