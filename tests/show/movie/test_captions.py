"""Captions of a picture: title and time at the top, marks at their times on the timeline at the bottom."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from appell.show.movie import captions
from appell.show.movie.movie import image
from appell.show.scene.scene import Actor, Scene, ScenePart, palette_color
from appell.show.scene.solids import box
from movie_scenes import BLUE, SIZE, at, impact, moving

BLOCK = ScenePart(box(0.5, 0.5, 0.5), 0, color=BLUE)
FRAMES = [at(0, 0, 0), at(0, 0, 0.01)]


def written(title="", t=0.5, slower=1.0, marks=(), size=SIZE):
    scene = moving(BLOCK, [0, 1], FRAMES, marks)
    return captions.Captions(Scene(title, scene.actors), size, None, slower).write(
        np.full((*size[::-1], 3), 255, np.uint8), t
    )


def test_marks_are_at_their_times_and_the_knob_at_the_current_time():
    picture = written(t=0.25, marks=[impact(0.0), impact(0.7), impact(1.0)]).astype(int)
    red, _, blue = np.moveaxis(picture[-30:], -1, 0)
    columns = np.flatnonzero((red > blue + 100).sum(axis=0) > 5)
    left, right = 14, SIZE[0] - 14
    expected = [left, left + 0.7 * (right - left), right]
    assert all(np.abs(columns - x).min() <= 1 for x in expected)
    assert all(min(abs(x - column) for x in expected) <= 2 for column in columns)
    knob = np.flatnonzero(((red < 60) & (blue < 60)).sum(axis=0) > 5)
    assert abs(knob.mean() - (left + 0.25 * (right - left))) < 1


def test_time_and_speed_are_on_the_right_and_the_title_on_the_left():
    plain, named, slow = written(), written("arm"), written(slower=2.0)
    assert (plain[:40, :100] == 255).all()
    assert (named[:40, :100] < 120).any()
    np.testing.assert_array_equal(plain[:40, 100:], named[:40, 100:])
    widths = [SIZE[0] - np.flatnonzero((image[:40] < 120).any(axis=(0, 2))).min() for image in (plain, slow)]
    assert widths[1] > widths[0] + 40
    assert (written(t=0.5) != written(t=0.501))[:40].any()


def test_a_long_title_ends_before_the_time():
    long, short = written("a name without end " * 9), written()
    start = np.flatnonzero((short[:40] < 120).any(axis=(0, 2))).min()
    np.testing.assert_array_equal(long[:40, start - 5 :], short[:40, start - 5 :])
    assert (long[:40, start - 60 : start - 10] < 120).any()


def test_several_actors_are_listed_with_their_palette_colours():
    part = ScenePart(box(1, 1, 1), color=(0.5, 0.5, 0.5, 1.0))
    actors = tuple(Actor(f"number {k}", (), np.empty((0, 7)), (part,)) for k in range(30))

    def patches(count):
        corner = image(Scene("", actors[:count]), 0.0, SIZE)[30:120, 14:24]
        return [(np.abs(corner - 255 * np.array(palette_color(k)[:3])).max(axis=-1) < 2).sum() for k in range(3)]

    assert patches(1) == [0, 0, 0]
    assert min(patches(2)[:2]) > 80
    assert patches(2)[2] == 0
    assert min(patches(30)) > 80


@pytest.mark.parametrize("missing", [False, True])
def test_text_is_drawn_with_and_without_matplotlib(missing, monkeypatch):
    if missing:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    captions._font.cache_clear()
    assert (written("arm")[:40, :100] < 120).sum() > 20
    captions._font.cache_clear()
