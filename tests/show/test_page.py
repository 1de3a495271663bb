"""The page in a real browser: the picture of a scene, from a file on disk."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from appell.show.scene.scene import Actor, Mesh, Scene, SceneMotion, ScenePart
from page_scenes import BLUE, RED, ball, box, scene, swing

NAMES = '<b>bold</b> & "quoted" \'</script><img src=x onerror=window.hacked=1>'


def at(browser, *point: float) -> tuple[int, int]:
    """Return the position of a world point in a screenshot: row and column."""
    x, y = browser.ask("appell.project(...arguments)", *map(float, point))
    return round(y), round(x)


def seen(browser) -> np.ndarray:
    """Return the screenshot after the page has drawn its final picture."""
    browser.wait("appell.still")
    browser.settled()
    return browser.picture().astype(int)


def count_calls(browser) -> None:
    """Record the number of indices of every draw call in `window.drawn`."""
    browser.do(
        "const kind = WebGL2RenderingContext.prototype, draw = kind.drawElements; window.drawn = [];"
        "kind.drawElements = function (...given) { drawn.push(given[1]); draw.apply(this, given) }"
    )


def poses_at(motion: SceneMotion, t: float) -> np.ndarray:
    """Return interpolated poses (bodies, 7) by SciPy; at a discontinuity the later ones."""
    frame = int(np.searchsorted(motion.t, t, side="right")) - 1
    if frame + 1 >= len(motion.t):
        return motion.poses[-1]
    a, b = motion.poses[frame], motion.poses[frame + 1]
    part = (t - motion.t[frame]) / (motion.t[frame + 1] - motion.t[frame])
    quaternions = [Slerp([0, 1], Rotation.from_quat([p[3:], q[3:]]))(part).as_quat() for p, q in zip(a, b, strict=True)]
    return np.hstack([a[:, :3] + part * (b[:, :3] - a[:, :3]), quaternions])


def test_the_robot_is_drawn_at_its_position_and_nowhere_else(opened):
    browser = opened(scene())
    full = seen(browser)
    bar = at(browser, *(Rotation.from_quat(swing().poses[1, 3:]).apply([0, -0.1, 0.3]) + swing().poses[1, :3]))
    assert full[bar][0] > 2 * full[bar][2]  # red
    browser.do("appell.show('links', false)")
    empty = seen(browser)
    assert np.abs(full[bar] - empty[bar]).sum() > 100
    changed = np.argwhere(np.abs(full - empty).sum(axis=2) > 60)
    assert len(changed) > 2000
    top, _ = at(browser, 0.0, 0.0, 1.3)  # above all parts
    assert changed[:, 0].min() > top
    assert browser.ask("appell.scene.triangles") == 4 * 12 + 24 * 2 * 11 + 80  # boxes, the ball, the rope


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_follows_the_light_or_dark_theme(opened, dark):
    picture = seen(opened(scene(), dark=dark))
    assert (picture[60, 20].mean() < 60) == dark  # the stage
    assert (picture[590, 5].mean() < 60) == dark  # the bar


def test_poses_in_the_page_are_interpolated_between_frames(opened):
    motion = swing().motion
    browser = opened(scene())
    times = [1.0, 1.013, 1.5, np.nextafter(2.0, 0.0), 2.0, 2.02, 2.987, 3.0]
    for t in times:
        browser.do("appell.seek(arguments[0])", t)
        browser.settled()
        np.testing.assert_allclose(browser.ask("appell.actors[0].poses"), poses_at(motion, t), atol=3e-7)


def test_bodies_rotate_along_the_shorter_way(opened):
    quats = Rotation.from_euler("z", [[170], [-170]], degrees=True).as_quat()
    poses = np.concatenate([np.zeros((2, 1, 3)), (quats * [[1], [-1]])[:, None]], axis=2)
    turning = Actor(
        "top", ("top",), poses[0], (ScenePart(box(1, 0.1, 0.1), 0),), motion=SceneMotion(np.array([0.0, 1.0]), poses)
    )
    browser = opened(scene(turning))
    browser.do("appell.seek(0.5)")
    browser.settled()
    rotation = Rotation.from_quat(browser.ask("appell.actors[0].poses")[0][3:])
    assert rotation.magnitude() == pytest.approx(np.pi, abs=1e-6)


def test_struts_reach_from_body_to_body(opened):
    browser = opened(scene(parts=()))
    bar = poses_at(swing().motion, 2.2)[1]
    end = bar[:3] + Rotation.from_quat(bar[3:]).apply([0, 0, 0.6])
    browser.do("appell.seek(2.2); appell.show('grid', false); appell.show('shadow', false); appell.set_view(-90, 0)")
    middle = at(browser, *(0.5 * (np.array([0.3, 0, 0]) + end)))
    with_rope = seen(browser)
    background = with_rope[60, 20]
    assert np.abs(with_rope[middle] - background).sum() > 60


def test_arrows_appear_at_their_mark_and_fade(opened):
    browser = opened(scene())
    middle, strength = (-0.43, -0.3, 1.03), []
    for t in (1.99, 2.0, 2.2, 2.4):
        browser.do("appell.seek(arguments[0]); appell.show('events', false)", t)
        without = seen(browser)
        browser.do("appell.show('events', true)")
        strength.append(np.abs(seen(browser) - without)[at(browser, *middle)].sum())
    assert strength[0] == strength[3] == 0
    assert strength[1] > 150
    assert 15 < strength[2] < 0.7 * strength[1]


def test_layers_are_shown_and_hidden_by_their_checkboxes(opened):
    browser = opened(scene())
    boxes = (
        "Object.fromEntries([...document.querySelectorAll('#layers input')].map((b) => [b.dataset.layer, b.checked]))"
    )
    assert browser.ask(boxes) == {
        "links": True, "walls": True, "frames": False, "events": True, "grid": True, "shadow": True,
    }  # fmt: skip
    before = seen(browser)
    browser.element("#layers input[data-layer=frames]").click()
    after = seen(browser)
    green = (after[..., 1] > after[..., 0] + 60) & (after[..., 1] > after[..., 2] + 60)
    assert green.sum() > 50
    browser.element("#layers input[data-layer=frames]").click()
    assert np.abs(seen(browser) - before).max() < 10
    browser.do("appell.show('walls', false)")
    assert browser.ask("document.querySelector('#layers input[data-layer=walls]').checked") is False


def test_two_actors_are_overlaid_and_can_be_hidden(opened):
    browser = opened(scene(swing("one"), swing("two", 1.2)))
    assert [label.text for label in browser.driver.find_elements("css selector", "#actors label")] == ["one", "two"]
    both = seen(browser)
    quat = poses_at(swing("two", 1.2).motion, 1.0)[1]
    ghost = at(browser, *(quat[:3] + Rotation.from_quat(quat[3:]).apply([0, -0.1, 0.35])))
    browser.element("#actors input[data-actor='1']").click()
    alone = seen(browser)
    assert np.abs(both[ghost] - alone[ghost]).sum() > 40
    assert browser.ask("appell.actors.map((a) => a.shown)") == [True, False]
    browser.element("#actors input[data-actor='0']").click()
    empty = seen(browser)
    strong = np.abs(alone - empty).sum(axis=2).max()
    assert np.abs(both - alone).sum(axis=2).max() < strong  # the second actor is fainter


def test_the_part_under_the_mouse_is_named(opened):
    browser = opened(scene())
    row, column = at(browser, 0.0, -0.1, 0.2)
    assert browser.ask("appell.pick(...arguments)", column, row) == "arm/post"
    assert browser.ask("appell.pick(15, 60)") is None


def test_names_are_never_markup(opened):
    actor = swing(NAMES, parts=(ScenePart(box(1, 1, 1), 0, name=NAMES, layer=NAMES),))
    browser = opened(scene(actor, swing(), title=NAMES, notes=(NAMES,)))
    assert browser.ask("document.title") == NAMES
    assert browser.element("#title").text == NAMES
    assert browser.element("#notes li").text == NAMES
    assert browser.element("#actors .name").text == NAMES
    assert browser.ask("window.hacked") is None
    assert browser.ask("document.images.length") == 0


EMPTY = {
    "nothing": Scene("", ()),
    "a wall": scene(actors=()),
    "no parts": scene(Actor("ghost", ("body",), np.array([[0, 0, 1, 0, 0, 0, 1.0]]))),
    "no bodies": scene(Actor("bodiless", (), np.zeros((0, 7)))),
    "one frame": scene(swing(motion=SceneMotion(np.zeros(1), swing().poses[None]))),
    "no frames": scene(swing(motion=SceneMotion(np.zeros(0), np.zeros((0, 2, 7))))),
    "no triangles": scene(swing(parts=(ScenePart(Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)), 0),), motion=None)),
}


@pytest.mark.parametrize("given", EMPTY.values(), ids=EMPTY)
def test_empty_scenes_are_shown_without_errors(opened, given):
    browser = opened(given)
    assert browser.ask("document.getElementById('transport').hidden")
    assert browser.ask("document.getElementById('stage').clientWidth") > 100
    browser.do("appell.play(); appell.seek(1); appell.fit()")
    assert browser.ask("appell.playing") is False


def test_planar_scenes_are_shown_face_on(opened):
    parts = (ScenePart(ball(0.1), 0, (1, 0, 0, 0, 0, 0, 1), RED), ScenePart(ball(0.1), 0, (0, 0, 1, 0, 0, 0, 1), BLUE))
    for normal in ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0)):
        actor = Actor("planar", ("body",), np.array([[0, 0, 0, 0, 0, 0, 1.0]]), parts)
        browser = opened(Scene("", (actor,), flat=normal))
        origin, x, z = (np.array(at(browser, *point)) for point in ((0, 0, 0), (1, 0, 0), (0, 0, 1)))
        assert x[1] - origin[1] > 100  # x to the right
        assert abs(x[0] - origin[0]) <= 1
        assert origin[0] - z[0] > 100  # z up
        assert abs(z[1] - origin[1]) <= 1
        assert at(browser, 0, 5, 0) == tuple(origin)  # parallel projection


def test_nothing_is_drawn_without_a_change(opened):
    browser = opened(scene())
    seen(browser)
    count_calls(browser)
    time.sleep(0.4)
    assert browser.ask("drawn.length") == 0
    browser.do("appell.seek(1.5)")
    seen(browser)
    assert browser.ask("drawn.length") > 0


def test_a_lost_graphics_context_is_restored(opened):
    browser = opened(scene())
    before = seen(browser)
    browser.do(
        "const e = document.getElementById('stage').getContext('webgl2').getExtension('WEBGL_lose_context');"
        "e.loseContext(); setTimeout(() => e.restoreContext(), 100)"
    )
    time.sleep(0.5)
    assert np.abs(seen(browser) - before).max() < 20


def test_without_webgl_a_message_is_shown_and_the_time_still_runs(browser, opened):
    script = (
        "const kind = HTMLCanvasElement.prototype, get = kind.getContext;"
        "kind.getContext = function (name, ...more) { return name === 'webgl2' ? null : get.call(this, name, ...more) }"
    )
    made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        opened(scene())
        assert "WebGL 2" in browser.element("#sentence").text
        browser.do("appell.seek(2.5)")
        browser.settled()
        np.testing.assert_allclose(browser.ask("appell.actors[0].poses"), poses_at(swing().motion, 2.5), atol=3e-7)
        assert browser.element(".chart .legend output").text == "7.5"
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


def test_moving_pictures_of_large_scenes_have_fewer_triangles_and_look_similar(opened):
    poses = np.tile([0, 0, 0, 0, 0, 0, 1.0], (2, 12, 1))
    poses[:, :, 0] = np.arange(12) % 4
    poses[:, :, 2] = np.arange(12) // 4
    parts = tuple(ScenePart(ball(0.6, 72), body, color=(0.7, 0.7, 0.2 + 0.06 * body, 1)) for body in range(12))
    actor = Actor("many", tuple("abcdefghijkl"), poses[0], parts, motion=SceneMotion(np.array([0.0, 1e3]), poses))
    browser = opened(Scene("", (actor,)), size=(640, 480))
    browser.do("appell.show('shadow', false)")
    still = seen(browser)
    count_calls(browser)
    assert browser.ask("appell.measure(1)") > 0
    assert browser.ask("appell.scene.triangles") > 60000
    drawn = browser.ask("drawn.reduce((sum, corners) => sum + corners, 0)") / 3
    assert 10_000 < drawn < 3 * 12_500  # two or three pictures
    browser.do("appell.play()")
    browser.settled()
    moving = browser.picture().astype(int)[60:400, :400]
    assert np.abs(moving - still[60:400, :400]).sum(axis=2).mean() < 12
    browser.do("appell.pause()")
