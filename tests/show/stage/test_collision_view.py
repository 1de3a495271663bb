"""Collision shapes, the closest pair and collisions of a record in scenes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.show.scene.scene import STANDARD_LAYERS
from appell.show.stage.articulated_scene import ArticulatedScene
from appell.show.stage.scenes import record_scene, robot_scene

LAYERS = (*STANDARD_LAYERS, "collisions")
BALL = ap.Collision("lower", "sphere", (0.1,), name="ball")
ROD = ap.Collision("upper", "cylinder", (0.05, 0.4), name="rod", pose=[0.5, 0.0, 0.0])
POST = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])
FLOOR = ap.Collision(None, "plane", name="floor", pose=[0.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def robot():
    return ap.load("planar-2r").with_collisions(BALL, ROD, POST, FLOOR)


def test_shapes_are_a_layer_that_scenes_contain_on_request(robot):
    (actor,) = robot_scene(robot, layers=LAYERS).actors
    shown = {part.name: part for part in actor.parts if part.layer == "collisions"}
    assert set(shown) == {"ball", "rod", "post"}
    assert shown["post"].body == -1
    assert actor.bodies[shown["ball"].body] == "lower"
    assert np.abs(np.linalg.norm(shown["ball"].mesh.vertices, axis=1) - 0.1).max() < 1e-6
    (plain,) = robot_scene(robot).actors
    assert all(part.layer != "collisions" for part in plain.parts)


def test_collisions_and_the_closest_pair_of_a_record_are_marked(robot):
    t = np.linspace(0.0, 2.0, 201)
    record = ap.Record.of(t, {"q": np.stack([t - 0.5, 0.0 * t], axis=1)}, robot.coordinate_names)
    record = replace(record, dynamics=ap.Dynamics(robot))
    (actor,) = record_scene(record, layers=LAYERS).actors
    marks = {mark.kind: mark for mark in actor.motion.marks}
    intervals = ap.collisions(robot, record).intervals
    assert {mark.time for mark in actor.motion.marks if mark.kind == "collision"} == {each.start for each in intervals}
    assert f"ball and post touch until {intervals[-1].end:.4g} s" in {mark.label for mark in actor.motion.marks}
    assert "overlap by" in marks["closest"].label
    chart = next(chart for chart in actor.motion.charts if chart.title == "distances")
    assert np.isclose(chart.values.min(), ap.collisions(robot, record).distance.min())
    (plain,) = record_scene(record).actors
    assert not plain.motion.marks


def test_a_live_page_states_the_closest_pair(robot):
    live = ArticulatedScene(ap.Dynamics(robot), layers=LAYERS)
    reply = live.posed(0, [-0.5, 0.0])
    distance = ap.Dynamics(robot).distances(witnesses=False, gradient=False)([-0.5, 0.0]).min()
    assert reply.note.endswith(f"are {distance:.3g} m apart, the closest pair")
    assert ArticulatedScene(ap.Dynamics(robot)).posed(0, [0.2, 0.0]).note == ""


def test_robots_without_shapes_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        ap.to_html(ap.load("planar-2r"), tmp_path / "arm.html", collisions=True)
