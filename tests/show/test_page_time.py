"""The time in the page: playing, seeking, marks on the timeline, and charts."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from appell.show.scene.scene import Mark
from page_scenes import scene, swing

LEFT, RIGHT = 46, 10  # margins of a chart in pixels


def test_the_page_starts_paused_at_the_first_time(opened):
    browser = opened(scene())
    assert browser.ask("[appell.time, appell.playing, appell.speed]") == [1.0, False, 1]
    assert browser.ask("[time.min, time.max].map(Number)") == [1.0, 3.0]
    assert browser.element("#clock").text == "1.000 / 3.000 s"


def test_playing_follows_the_speed_stops_at_the_end_and_restarts(opened):
    browser = opened(scene())
    browser.fill("#speed", "0.25", "change")
    browser.element("#play").click()
    browser.wait("document.querySelector('#play').ariaLabel == 'Pause'")
    browser.wait("appell.time > 1.02")
    moments = []
    for _ in range(2):
        moments.append(browser.ask("new Promise((done) => requestAnimationFrame((now) => done([now, appell.time])))"))
        time.sleep(0.8)
    (clock, t), (later, after) = moments
    assert (after - t) / ((later - clock) / 1000) == pytest.approx(0.25, rel=0.1)
    assert browser.ask("appell.frames_per_second()") > 0
    browser.element("#play").click()
    stopped = browser.ask("appell.time")
    time.sleep(0.2)
    assert browser.ask("[appell.time, appell.playing]") == [stopped, False]
    browser.do("appell.speed = 10; appell.play()")
    browser.wait("!appell.playing")
    assert browser.ask("appell.time") == 3.0
    browser.wait("document.querySelector('#play').ariaLabel == 'Play'")
    browser.do("appell.speed = 0.01; appell.play()")
    assert browser.ask("appell.time") < 2.0


def test_the_timeline_seeks_and_shows_the_time(opened):
    browser = opened(scene())
    browser.fill("#time", "2.25")
    assert browser.ask("appell.time") == 2.25
    assert browser.element("#now").text == "2.250"
    browser.do("appell.seek(99)")
    assert browser.ask("appell.time") == 3.0
    browser.do("appell.seek(-99); appell.seek(NaN)")
    assert browser.ask("appell.time") == 1.0
    browser.settled()
    assert browser.ask("Number(time.value)") == 1.0


def test_keys_control_the_time(opened):
    browser = opened(scene())
    times = np.unique(swing().motion.t)
    for key, expected in (
        (Keys.ARROW_RIGHT, times[1]),
        (Keys.ARROW_RIGHT, times[2]),
        (Keys.ARROW_LEFT, times[1]),
        (Keys.END, 3.0),
        ("[", 2.75),
        ("[", 2.5),
        (Keys.HOME, 1.0),
        ("]", 2.0),
    ):
        browser.press(key)
        assert browser.ask("appell.time") == pytest.approx(expected, abs=1e-12)
    browser.press(" ")
    assert browser.ask("appell.playing") is True
    browser.press(" ")
    assert browser.ask("appell.playing") is False
    browser.do("document.getElementById('time').focus()")
    browser.press(Keys.HOME, "#time")
    browser.press(Keys.ARROW_RIGHT, "#time")  # one frame, not the default action of the browser
    assert browser.ask("appell.time") == pytest.approx(times[1], abs=1e-12)
    browser.do("document.getElementById('play').focus()")
    browser.press(" ", "#play")  # once, not twice
    assert browser.ask("appell.playing") is True


def test_marks_are_at_their_times_and_seek_there(opened):
    browser = opened(scene())
    line = browser.ask("(({left, width}) => [left, width])(time.getBoundingClientRect())")
    marks = browser.ask(
        "[...document.querySelectorAll('.mark')].map((mark) => { const box = mark.getBoundingClientRect();"
        "return [Number(mark.dataset.time), mark.dataset.kind, mark.title, box.left + box.width / 2, mark.style.left,"
        "getComputedStyle(mark).getPropertyValue('--color')] })"
    )
    assert [mark[:3] for mark in marks] == [[m.time, m.kind, m.label] for m in swing().motion.marks]
    for t, _, _, x, left, _ in marks:
        share = (t - 1.0) / 2.0
        assert float(left.rstrip("%")) == pytest.approx(100 * share)
        assert x == pytest.approx(line[0] + share * line[1], abs=1.0)
    impact, stick, second = (mark[5] for mark in marks)
    assert impact == second == "#d55e00"
    assert stick != impact
    browser.element(".mark[data-time='2.5']").click()
    browser.settled()
    assert browser.ask("appell.time") == 2.5
    assert browser.element("#event").text == "sticks"
    thumb = browser.picture()[:, round(line[0] + 0.75 * line[1])].astype(int)
    top, bottom = browser.ask("(({top, bottom}) => [top, bottom])(time.getBoundingClientRect())")
    assert thumb[int(top) : int(bottom)].sum(axis=1).min() < 150  # the thumb is dark and below the mark


def test_thousands_of_marks_are_reduced_and_can_still_be_reached(opened):
    marks = tuple(Mark(1.0 + 2.0 * k / 9000, "impact", f"number {k}") for k in range(9000))
    browser = opened(scene(swing(motion=replace(swing().motion, marks=marks))))
    assert browser.ask("document.querySelectorAll('.mark').length") <= 2000
    browser.press("]")
    browser.settled()
    assert browser.element("#event").text.startswith("number 1")


def chart_values(browser) -> list[str]:
    return [value.text for value in browser.driver.find_elements("css selector", ".chart .legend output")]


def test_the_cursor_and_the_values_of_a_chart_follow_the_time(opened):
    browser = opened(scene())
    assert browser.element(".chart figcaption").text == "Energy [J]"
    left, width = browser.ask(
        "(({left, width}) => [left, width])(document.querySelector('.chart .plot').getBoundingClientRect())"
    )
    for t, expected in ((1.0, ["1", "−1"]), (1.5, ["1.5", "–"]), (2.0, ["7", "−2"]), (2.5, ["7.5", "−2.5"])):
        browser.do("appell.seek(arguments[0])", t)
        browser.settled()
        assert chart_values(browser) == expected
        x = browser.ask("document.querySelector('.chart .cursor').getBoundingClientRect().left")
        assert x == pytest.approx(left + LEFT + (t - 1.0) / 2.0 * (width - LEFT - RIGHT), abs=1.0)
    browser.do("appell.seek(arguments[0])", float(np.nextafter(2.0, 0.0)))
    browser.settled()
    assert chart_values(browser)[0] == "2"  # before the discontinuity


def test_a_click_on_a_chart_seeks(opened):
    browser = opened(scene())
    left, top, width = browser.ask(
        "(({left, top, width}) => [left, top, width])(document.querySelector('.chart .plot').getBoundingClientRect())"
    )
    x = left + LEFT + 0.25 * (width - LEFT - RIGHT)
    browser.mouse("mousePressed", x, top + 50)
    browser.mouse("mouseReleased", x, top + 50)
    assert browser.ask("appell.time") == pytest.approx(1.5, abs=2.0 / (width - LEFT - RIGHT))


def test_curves_have_gaps_at_unknown_values_and_steps_at_discontinuities(opened):
    browser = opened(scene())
    browser.do("appell.seek(3)")
    browser.settled()
    box = browser.ask(
        "(({left, top, width, height}) => [left, top, width, height])"
        "(document.querySelector('.chart .plot').getBoundingClientRect())"
    )
    left, top, width, height = map(round, box)
    plot = browser.picture()[top : top + height, left : left + width].astype(int)
    blue = (plot[..., 2] > plot[..., 0] + 90).sum(axis=0)
    orange = (plot[..., 0] > plot[..., 2] + 90).sum(axis=0)

    def column(t: float) -> int:
        return round(LEFT + (t - 1.0) / 2.0 * (width - LEFT - RIGHT))

    assert orange[column(1.2)] > 0
    assert orange[column(1.5)] == 0
    assert orange[column(1.8)] > 0
    assert blue[column(2.0) - 1 : column(2.0) + 2].max() > 20  # the discontinuity
    assert 0 < blue[column(1.5)] < 6
    browser.element(".chart .legend button").click()
    browser.settled()
    plot = browser.picture()[top : top + height, left : left + width].astype(int)
    assert ((plot[..., 2] > plot[..., 0] + 90).sum(axis=0)[LEFT:] == 0).all()


def test_charts_with_the_same_title_share_their_axes(opened):
    browser = opened(scene(swing("one"), swing("two", 1.0)))
    names = [name.text for name in browser.driver.find_elements("css selector", ".chart .legend .name")]
    assert names == ["kinetic, one", "potential, one", "kinetic, two", "potential, two"]
    assert browser.ask("document.querySelectorAll('.chart').length") == 1
