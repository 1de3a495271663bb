"""Layout of the page: no overlaps, nothing outside the window, and accessible names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appell.show.scene.scene import SceneSlider
from page_scenes import scene, swing

# bounding boxes of all visible elements without visible children, clipped to the scrolling panel
BOXES = """(() => {
  const found = [];
  for (const e of document.querySelectorAll("header *, footer *, #panel *, #stage")) {
    if (e.closest("svg, details dl, option, select *, .plot *, #marks") || !e.checkVisibility()) continue;
    if ([...e.children].some((child) => child.checkVisibility() && !child.closest("svg, option"))) continue;
    let { left, top, right, bottom } = e.getBoundingClientRect();
    const holder = e.closest("#panel");
    if (holder) bottom = Math.min(bottom, holder.getBoundingClientRect().bottom);
    if (right - left > 0.5 && bottom - top > 0.5) {
      found.push([e.id || e.className || e.textContent.trim() || e.tagName, left, top, right, bottom]);
    }
  }
  return found;
})()"""


@pytest.mark.parametrize("size", [(640, 480), (1280, 800), (390, 720)], ids=str)
def test_no_element_overlaps_another_or_leaves_the_page(opened, size):
    actors = swing("a first run with a rather long name"), swing("second", 1.0)
    browser = opened(scene(*actors, title="A title that is too long for a narrow window " * 4), size=size)
    browser.do(
        "appell.seek(2.0); document.querySelectorAll('#joints, #handles').forEach((part) => { part.hidden = false })"
    )
    browser.settled()
    boxes = browser.ask(BOXES)
    assert len(boxes) > 30
    for name, left, top, right, bottom in boxes:
        assert -0.5 <= left <= right <= size[0] + 0.5, name
        assert -0.5 <= top <= bottom <= size[1] + 0.5, name
    for k, (name, left, top, right, bottom) in enumerate(boxes):
        for other, l, t, r, b in boxes[:k]:
            apart = right <= l + 1 or r <= left + 1 or bottom <= t + 1 or b <= top + 1
            assert apart, f"{name} overlaps {other}"
    stage = next(box for box in boxes if box[0] == "stage")
    assert (stage[3] - stage[1]) * (stage[4] - stage[2]) > 0.3 * size[0] * size[1]
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", [(640, 480), (960, 600)], ids=str)
def test_long_joint_names_are_shown_completely(opened, size):
    names = ("shoulder_pan_joint", "shoulder_lift_joint", "gripper_left_motor_double_joint", "j" * 45)
    sliders = tuple(SceneSlider(name, "rad", -1.0, 1.0, 0.0) for name in names)
    browser = opened(scene(replace(swing("arm"), sliders=sliders)), size=size)
    browser.do("document.querySelector('#joints').hidden = false")
    rows = browser.ask(
        "[...document.querySelectorAll('.slider .joint')].map((e) => [e.textContent, e.title,"
        " e.scrollWidth <= e.clientWidth + 1, e.scrollHeight <= e.clientHeight + 1, getComputedStyle(e).textOverflow])"
    )
    assert rows == [[name, name, True, True, "clip"] for name in names]


def test_the_panel_can_be_hidden_and_the_stage_grows(opened):
    browser = opened(scene(), size=(640, 480))
    width = "document.getElementById('stage').clientWidth"
    before = browser.ask(width)
    browser.element("#fold").click()
    browser.settled()
    assert browser.ask(width) == 640 > before
    assert browser.element("#fold").get_attribute("aria-expanded") == "false"


def test_every_control_has_a_name_and_can_be_focused(opened):
    browser = opened(scene(swing("one"), swing("two")))
    browser.do("document.querySelectorAll('#joints, #handles').forEach((part) => { part.hidden = false })")
    nameless = browser.ask(
        "[...document.querySelectorAll('button, input, select, summary, canvas, [role]')].filter((e) =>"
        "!(e.ariaLabel || e.labels?.[0]?.textContent.trim() || e.textContent.trim())).map((e) => e.outerHTML)"
    )
    assert [text for text in nameless if "notes" not in text and 'role="alert"' not in text] == []
    untabbed = browser.ask(
        "[...document.querySelectorAll('button, input, select, summary, #stage')]"
        ".filter((e) => e.tabIndex < 0 && !e.classList.contains('mark')).length"
    )
    assert untabbed == 0
    browser.do("document.getElementById('play').focus()")
    outline = browser.ask("getComputedStyle(document.getElementById('play')).outlineStyle")
    assert outline in ("solid", "none")  # :focus-visible decides; check that the rule exists
    assert browser.ask("[...document.styleSheets[0].cssRules].some((rule) => rule.selectorText === ':focus-visible')")


def test_rotating_panning_and_zooming_move_the_picture(opened):
    browser = opened(scene(), size=(800, 600))
    position = "appell.project(0, 0, 1)"
    start = browser.ask(position)
    browser.drag((200, 300), (260, 300))
    turned = browser.ask(position)
    assert browser.ask("appell.project(0.9, 0, 0.3)") != start
    browser.drag((200, 300), (230, 280), button="right", buttons=2)
    shifted = browser.ask(position)
    assert shifted[0] - turned[0] == pytest.approx(30, abs=6)  # points nearer than the target move slightly more
    assert shifted[1] - turned[1] == pytest.approx(-20, abs=6)
    browser.mouse("mouseWheel", *shifted, deltaX=0, deltaY=-200)
    browser.settled()
    bigger = [browser.ask(f"appell.project(0, 0, {z})") for z in (0.0, 1.0)]
    assert bigger[0][1] - bigger[1][1] > 100
    assert bigger[1] == pytest.approx(shifted, abs=25)  # the point under the mouse stays there
    browser.element("#fit").click()
    browser.settled()
    assert browser.ask(position) == pytest.approx(start, abs=0.01)
    row = browser.ask("appell.project(0, -0.1, 0.2)")
    for count in (1, 2):
        browser.mouse("mousePressed", *row, clickCount=count)
        browser.mouse("mouseReleased", *row, clickCount=count)
    middle = "(({left, top, width, height}) => [left + width / 2, top + height / 2])(stage.getBoundingClientRect())"
    assert browser.ask("appell.project(0, -0.1, 0.2)") == pytest.approx(browser.ask(middle), abs=12)
