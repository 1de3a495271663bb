"""Interactive systems: poses after slider moves and drags agree with `dyn.pose`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.show.scene.poses import poses, rotations
from appell.show.scene.scene import Scene
from appell.show.stage.articulated_scene import ArticulatedScene
from grippers import GRIPPER

KINDS = ("panda", "tree10", "agile-wrist", "delta", "four-bar", "whipple-bicycle", "differential-drive")


def articulated_scene_of(name, q=None, **options):
    return ArticulatedScene(ap.Dynamics(ap.load(name, **options)), q)


def matrix(pose):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotations(np.array(pose)), pose[:3]
    return T


def seven(T):
    return poses(T[:3, :3], T[:3, 3]).tolist()


def handle_pose(articulated, handle=0):
    """Return the 4x4 pose of a handle."""
    actor = articulated.scene.actors[0]
    item = actor.handles[handle]
    return articulated.dyn.pose(actor.bodies[item.body])(articulated.q) @ matrix(item.pose)


def drag(articulated, target, handle=0):
    return articulated.dragged(0, handle, seven(target), articulated.sliders.values(articulated.q))


def shifted(T, *by):
    moved = T.copy()
    moved[:3, 3] += by
    return moved


@pytest.mark.parametrize("name", KINDS)
def test_a_reply_contains_the_pose_of_every_body(name):
    articulated = articulated_scene_of(name)
    values = [x + 0.01 for x in articulated.sliders.values(articulated.q)]
    answer = articulated.posed(0, values)
    bodies = articulated.scene.actors[0].bodies
    for body, pose in zip(bodies, answer.poses, strict=True):
        assert np.allclose(matrix(pose), articulated.dyn.pose(body)(articulated.q), atol=1e-12)
    assert np.allclose(answer.values, articulated.sliders.values(articulated.q), atol=1e-12)
    assert articulated.scene.actors[0].poses == pytest.approx(answer.poses)


def test_sliders_of_a_tree_are_its_coordinates():
    articulated = articulated_scene_of("puma")
    q = np.array([0.3, -0.5, 0.2, 0.1, -0.2, 0.4])
    assert articulated.posed(0, q.tolist()).values == q.tolist()
    assert (articulated.q == q).all()


def test_mimic_joints_follow_in_the_reply():
    articulated = articulated_scene_of(GRIPPER)
    names = [slider.name for slider in articulated.scene.actors[0].sliders]
    answer = articulated.posed(0, [0.03 if name == "left" else 0.0 for name in names])
    bodies = articulated.scene.actors[0].bodies
    left, right = (answer.poses[bodies.index(name)] for name in ("left_finger", "right_finger"))
    assert left[1] == pytest.approx(0.03)
    assert right[1] == pytest.approx(-0.03)


def test_a_value_beyond_a_limit_is_clipped_to_the_limit():
    articulated = articulated_scene_of("panda")
    answer = articulated.posed(0, [9.0] * 7)
    assert answer.values == articulated.system.limits.upper.tolist()


# ---- handles


@pytest.mark.parametrize("name", ["panda", "puma", "stanford", "stewart-gough"])
def test_a_frame_with_six_degrees_of_freedom_reaches_its_target_pose(name):
    articulated = articulated_scene_of(name, np.array(ap.load(name).start) + 0.05 if name == "puma" else None)
    start, q = handle_pose(articulated), articulated.q.copy()
    turn = rotations(np.array([0, 0, 0, 0.02, 0.01, -0.03, 1.0]))
    target = shifted(start, 0.01, -0.02, -0.015)
    target[:3, :3] = target[:3, :3] @ turn
    answer = drag(articulated, target)
    assert answer.note == ""
    assert np.allclose(handle_pose(articulated), target, atol=1e-8)
    assert np.abs(articulated.q - q).max() < 0.5  # the nearby solution


@pytest.mark.parametrize(
    ("name", "by"), [("planar-2r", (-0.1, 0.05, 0)), ("delta", (0.05, 0.04, 0.03)), ("five-bar", (0.02, 0.03, 0))]
)
def test_a_frame_with_fewer_degrees_of_freedom_reaches_its_target_position(name, by):
    articulated = articulated_scene_of(name)
    target = shifted(handle_pose(articulated), *by)
    assert drag(articulated, target).note == ""
    assert np.allclose(handle_pose(articulated)[:3, 3], target[:3, 3], atol=1e-8)


def test_repeated_dragging_reaches_every_target():
    articulated, moved = articulated_scene_of("panda"), []
    start = handle_pose(articulated)
    for k in range(1, 21):
        before, target = articulated.q, shifted(start, 0.0, 0.01 * k, -0.005 * k)
        assert drag(articulated, target).note == ""
        assert np.allclose(handle_pose(articulated), target, atol=1e-8)
        moved.append(np.abs(articulated.q - before).max())
    assert max(moved) < 0.2


def test_a_target_out_of_reach_is_approached_and_the_distance_reported():
    """Two rods of 1 m reach 2 m: a target 3 m away is missed by 1 m, with the arm stretched towards it."""
    articulated = articulated_scene_of("planar-2r")
    target = handle_pose(articulated)
    target[:3, 3] = 3.0 * np.array([math.cos(0.4), math.sin(0.4), 0.0])
    answer = drag(articulated, target)
    assert answer.note == "out of reach by 1 m"
    assert np.allclose(handle_pose(articulated)[:3, 3], 2.0 / 3.0 * target[:3, 3], atol=1e-5)


def test_dragging_respects_the_limits():
    articulated = articulated_scene_of("panda")
    start, limits, rng = handle_pose(articulated), articulated.system.limits, np.random.default_rng(5)
    notes = []
    for _ in range(12):
        notes.append(drag(articulated, shifted(start, *rng.uniform(-0.8, 0.8, 3))).note)
        assert limits.contain(articulated.q)
    assert any(notes)
    assert not all(notes)


@pytest.mark.warns("massless")
def test_a_floating_base_stays_while_its_arm_is_dragged():
    start = np.array([0.3, -0.2, 0.5, 0.1, -0.2, 0.3, 0.9, 0.4, -0.8])
    start[3:7] /= np.linalg.norm(start[3:7])
    articulated = articulated_scene_of("planar-2r", start, base="floating", physical=False)
    names = [handle.name for handle in articulated.scene.actors[0].handles]
    tool = handle_pose(articulated, names.index("tool"))
    target = shifted(tool, *(handle_pose(articulated, 1)[:3, :3] @ [-0.1, 0.05, 0.0]))
    answer = drag(articulated, target, names.index("tool"))
    assert answer.note == ""
    assert np.allclose(handle_pose(articulated, 1)[:3, 3], target[:3, 3], atol=1e-8)
    assert (articulated.q[:7] == start[:7]).all()
    target = shifted(handle_pose(articulated, names.index("base")), 0.4, 0.1, -0.2)
    target[:3, :3] = rotations(np.array([0.0, 0.5, 0.0, 1.0]))
    before = articulated.q
    assert drag(articulated, target, names.index("base")).note == ""
    assert np.allclose(handle_pose(articulated, names.index("base")), target, atol=1e-8)
    assert np.allclose(articulated.q[7:], before[7:], atol=1e-12)


def test_a_wrist_follows_a_rotation():
    articulated = articulated_scene_of("agile-wrist")
    start = handle_pose(articulated)
    for angle in (0.05, 0.1, 0.2, 0.3):
        target = start.copy()
        target[:3, :3] = rotations(np.array([0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2)])) @ start[:3, :3]
        assert drag(articulated, target).note == ""
        assert np.allclose(handle_pose(articulated)[:3, :3], target[:3, :3], atol=1e-8)


def test_dragging_starts_from_the_slider_values_of_the_page():
    articulated, other = articulated_scene_of("panda"), articulated_scene_of("panda")
    q = articulated.q + 0.2
    other.posed(0, q.tolist())
    target = seven(shifted(handle_pose(other), 0.0, 0.02, 0.0))
    assert np.allclose(
        articulated.dragged(0, 0, target, q.tolist()).values, other.dragged(0, 0, target, q.tolist()).values
    )


def test_handles_not_prepared_in_time_are_compiled_when_dragged(monkeypatch):
    articulated, ready = articulated_scene_of("tree10"), articulated_scene_of("tree10")
    monkeypatch.setattr("appell.show.stage.articulated_scene.MAX_PREPARATION_S", 0.0)
    steps = []
    articulated.prepare(lambda: steps.append(None))
    assert len(steps) == articulated.steps == 2 + 4
    assert articulated._followers == {}
    monkeypatch.undo()
    ready.prepare()
    assert set(ready._followers) == {0, 1, 2, 3}
    target = shifted(handle_pose(articulated, 2), 0.1, 0.1, 0.0)
    assert drag(articulated, target, 2).values == drag(ready, target, 2).values


# ---- loops and legs


def tips(articulated):
    return [articulated.dyn.pose(name)(articulated.q)[:3, 3] for name in ("coupler tip", "rocker tip")]


def test_a_crank_keeps_its_loop_closed_and_stays_on_its_branch():
    articulated = articulated_scene_of("four-bar")
    for angle in (1.0, 3.0, -2.5, 0.6):  # back and forth by more than half a turn
        answer = articulated.posed(0, [angle])
        assert answer.note == ""
        assert articulated.q[0] == pytest.approx(angle, abs=1e-12)
        coupler, rocker = tips(articulated)
        assert np.allclose(coupler, rocker, atol=1e-9)
        assert rocker[1] > 0.0  # the rocker never crosses the line of the pivots


def test_a_loop_that_cannot_be_closed_is_named_and_the_last_pose_kept():
    """The tip of a crank of 0.7 m is at most 1.5 m from the other pivot: cos q = (0.7² + 0.9² - 1.5²) / (2 0.7 0.9)."""
    text = ap.to_toml(ap.load("four-bar"))
    assert text.count("[0.3, 0.0, 0.0]") == 1
    articulated = ArticulatedScene(
        ap.Dynamics(ap.load_text(text.replace("[0.3, 0.0, 0.0]", "[0.7, 0.0, 0.0]"), "toml"))
    )
    answer = articulated.posed(0, [3.1])
    assert "loop 'pin' cannot be closed" in answer.note
    farthest = math.acos((0.7**2 + 0.9**2 - 1.5**2) / (2 * 0.7 * 0.9))
    assert farthest - 0.1 < articulated.q[0] < farthest
    assert answer.values == [articulated.q[0]]
    coupler, rocker = tips(articulated)
    assert np.allclose(coupler, rocker, atol=1e-9)
    assert articulated.posed(0, [1.0]).note == ""


def test_dragging_a_loop_keeps_it_closed():
    articulated = articulated_scene_of("four-bar")
    target = shifted(handle_pose(articulated), 0.0, 0.3, 0.0)
    note = drag(articulated, target).note
    coupler, rocker = tips(articulated)
    assert np.allclose(coupler, rocker, atol=1e-9)
    assert note.startswith("out of reach by")
    remaining = float(note.removeprefix("out of reach by ").removesuffix(" m"))
    assert np.linalg.norm(coupler - target[:3, 3]) == pytest.approx(remaining, rel=1e-2)
    crank = np.linspace(-math.pi, math.pi, 121)  # no other configuration is closer
    along = np.array([articulated.posed(0, [x]) and tips(articulated)[0] for x in crank])
    assert np.linalg.norm(along - target[:3, 3], axis=-1).min() >= remaining - 1e-2


def test_a_motion_prevented_by_wheels_is_reported():
    articulated = articulated_scene_of("whipple-bicycle")
    names = [slider.name for slider in articulated.scene.actors[0].sliders]
    values = articulated.sliders.values(articulated.q)
    values[names.index("frame_z")] += 0.5
    assert articulated.posed(0, values).note == "the loops or wheels of the robot prevent this motion"


def test_a_leg_out_of_reach_is_named_and_the_mechanism_moves_as_far_as_possible():
    articulated = ArticulatedScene(ap.Dynamics(replace(ap.load("five-bar"), ranges=())))
    answer = articulated.posed(0, [0.0, 5.0])
    assert "cannot reach" in answer.note
    assert not articulated.system.out_of_reach(articulated.q.tolist())
    assert articulated.system.out_of_reach([0.0, articulated.q[1] + 1e-6])
    assert np.isfinite(answer.poses).all()


# ---- updates from Python


def test_python_moves_the_system_and_shows_other_scenes():
    articulated = articulated_scene_of("puma")
    q = np.full(6, 0.1)
    answer = articulated.shown(q)
    assert answer.values == q.tolist()
    assert articulated.shown(scene := Scene("else", ())) is scene
    again = articulated.shown(2 * q)  # its own scene is shown again
    assert isinstance(again, Scene)
    assert [slider.value for slider in again.actors[0].sliders] == [0.2] * 6


@pytest.mark.parametrize(
    ("name", "q", "words"),
    [
        ("puma", [0.0, 1.0], "its last axis must be 6 for robot 'puma'"),
        ("puma", "up", "q is 'up'"),
        ("puma", [np.nan] * 6, "6 finite numbers"),
        ("puma", np.zeros((2, 6)), "one configuration"),
        ("five-bar", [0.0, 9.0], "cannot reach"),
    ],
)
def test_an_invalid_configuration_is_named(name, q, words):
    articulated = articulated_scene_of(name)
    before = articulated.q.copy()
    with pytest.raises(ap.AppellError, match=words):
        articulated.shown(q)
    assert (articulated.q == before).all()


def test_a_start_outside_the_limits_is_clipped():
    text = GRIPPER.replace('lower="-2"', 'lower="0.3"')
    articulated = articulated_scene_of(text)
    assert articulated.system.limits.contain(articulated.q)
    assert not articulated.system.limits.contain(articulated.system.start)
