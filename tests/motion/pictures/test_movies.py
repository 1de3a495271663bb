"""Movies of records: a frame for every instant, at a speed that is said, of every kind of record and system."""

from __future__ import annotations

import os
import pickle
import re

import numpy as np
import pytest
from PIL import Image

import appell as ap
from appell.motion.pictures import movie as film
from free_bodies import box, free_body


def frames(path):
    image = Image.open(path)
    found = []
    for k in range(image.n_frames):
        image.seek(k)
        found.append(np.asarray(image.convert("RGB"), float))
    return np.array(found)


@pytest.fixture(scope="module")
def swing():
    return ap.simulate(ap.Dynamics(ap.load("pendulum")), until=0.3)


def test_a_movie_has_a_frame_for_every_instant(swing, tmp_path):
    path = swing.movie(tmp_path / "a.gif", slower=1.0)
    assert Image.open(path).n_frames == 9  # 0, 0.04, ... 0.28, and the end
    assert Image.open(path).info["duration"] == 1000 // film.FRAMES_A_SECOND
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("gravity", "hanging"), [((0, 0, -9.81), 0.0), ((0, 0, 9.81), np.pi), ((9.81, 0, 0), -np.pi / 2), ((0, 0, 0), 0.0)]
)
def test_a_pendulum_swings_below_its_joint(gravity, hanging, tmp_path):
    """The tip is lowest in the picture where gravity would let it hang; without gravity, where z is lowest."""
    robot = ap.load("pendulum").with_gravity(gravity)
    assert abs(ap.Dynamics(robot).gravity([hanging])[0]) < 1e-12
    q = hanging + np.array([[1.0], [0.0], [-1.0]])
    record = ap.Record.of([0.0, 0.04, 0.08], {"q": q}, robot.coordinate_names)
    left, middle, right = (_lowest(frame) for frame in frames(record.movie(tmp_path / "a.gif", robot, slower=1.0)))
    assert middle > left + 50  # pixels, counted from the top
    assert middle > right + 50


def _lowest(frame):
    """The last line of pixels in which there is something of the blue rod."""
    red, green, blue = np.moveaxis(frame, -1, 0)
    return np.flatnonzero(((blue > 150) & (red < 40) & (green < 140)).any(axis=1)).max()


def test_the_time_of_a_short_motion_is_stretched_and_a_long_one_shortened(swing, tmp_path):
    assert film._factor(swing, None) == 10.0
    long = ap.Record.of(np.linspace(0, 300, 11), {"q": np.zeros((11, 1))}, swing.names("q"))
    assert film._factor(long, None) == 1 / 20
    assert len(film._times(long, 1 / 20)) == 1 + 15 * film.FRAMES_A_SECOND
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ap.ArgumentError, match="slower is"):
            swing.movie(tmp_path / "a.gif", slower=bad)
    with pytest.raises(ap.ArgumentError, match="frames"):
        swing.movie(tmp_path / "a.gif", slower=1e5)


@pytest.mark.parametrize("name", ["puma", "delta", "agile-wrist", "tree10"])
def test_every_kind_of_system_moves_in_its_movie(name, tmp_path):
    record = ap.simulate(ap.Dynamics(ap.load(name)), until=0.12)
    first, *_, last = frames(record.movie(tmp_path / "a.gif", slower=1.0))
    below = slice(80, None)  # below the title, whose time changes in any case
    assert (np.abs(first[below] - last[below]).max(axis=-1) > 60).sum() > 200


def test_a_free_body_and_the_floor_that_it_falls_on_are_seen(tmp_path):
    robot = box()
    q0 = robot.neutral
    q0[2] = 0.4
    record = ap.simulate(ap.Dynamics(robot), q0, until=0.1, contacts=ap.Contact("all", ap.Plane()))
    assert record.walls == (ap.Plane(),)
    with_floor = frames(record.movie(tmp_path / "a.gif", slower=1.0))
    far = frames(record.movie(tmp_path / "b.gif", walls=[ap.Plane((1, 0, 0), -0.6)], slower=1.0))
    assert with_floor.shape != far.shape or np.abs(with_floor - far).max() > 50
    free = ap.simulate(ap.Dynamics(free_body([], gravity=(0, 0, 0))), v0=[1, 0, 0, 0, 1, 0], until=0.1)
    assert len(frames(free.movie(tmp_path / "c.gif", slower=1.0))) == 4  # 0, 0.04, 0.08, 0.1


def test_a_record_of_rows_is_told_its_robot(swing, tmp_path):
    swing.to_csv(tmp_path / "a.csv")
    rows = ap.Record.read(tmp_path / "a.csv")
    with pytest.raises(ap.ArgumentError, match=r"which robot moved(.|\n)*ap\.load\('pendulum'\)"):
        rows.movie(tmp_path / "a.gif")
    with pytest.raises(ap.ArgumentError, match=r"moves 1 coordinates: hinge(.|\n)*the 6 of robot 'puma'"):
        rows.movie(tmp_path / "a.gif", ap.load("puma"))
    assert rows.movie(tmp_path / "a.gif", ap.load("pendulum"), slower=1.0).exists()


def test_between_rows_a_quaternion_goes_the_short_way():
    """q and -q are the same attitude: half way between them nothing has turned."""
    robot = free_body([(1, 0, 0)])
    rows = np.tile(robot.neutral, (2, 1))
    rows[1, 3:] *= -1.0
    record = ap.Record.of([0.0, 1.0], {"q": rows}, robot.coordinate_names)
    middle = film._configurations(record, np.array([0.5]), robot)[0]
    assert abs(middle[6]) == 1.0


def test_a_name_that_is_no_movie_is_refused(swing, tmp_path, monkeypatch):
    with pytest.raises(ap.ArgumentError, match=r"\.gif, \.mp4"):
        swing.movie(tmp_path / "a.jpg")
    with pytest.raises(ap.ArgumentError, match="no folder"):
        swing.movie(tmp_path / "no" / "a.gif")
    monkeypatch.setattr("matplotlib.animation.FFMpegWriter.isAvailable", classmethod(lambda cls: False))
    with pytest.raises(ap.ArgumentError, match=r"no ffmpeg(.|\n)*\.gif"):
        swing.movie(tmp_path / "a.mp4")
    with pytest.raises(ap.ArgumentError, match="no rows"):
        swing.part(slice(0, 0)).movie(tmp_path / "a.gif")


def test_video_is_handed_to_ffmpeg_frame_by_frame(swing, tmp_path, monkeypatch):
    """A stand-in for ffmpeg keeps the raw frames that it is given: four bytes a pixel, even numbers of pixels."""
    (tmp_path / "ffmpeg").write_text('#!/bin/sh\nfor last; do :; done\necho "$*" > "$last.told"\ncat > "$last"\n')
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    path = swing.movie(tmp_path / "a.mp4", slower=1.0)
    told = next(tmp_path.glob("*.told")).read_text()
    width, height = map(int, re.search(r"-s (\d+)x(\d+)", told).groups())
    assert width % 2 == height % 2 == 0
    assert path.stat().st_size == 9 * width * height * 4


def test_a_bar_is_shown_for_long_movies_on_a_terminal(monkeypatch):
    hidden = []
    monkeypatch.setattr("rich.progress.track", lambda frames, *_, disable, **__: hidden.append(disable) or frames)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    for frames, progress in ((10, None), (200, None), (10, True), (200, False)):
        film._counted(frames, progress)
    assert hidden == [True, False, False, True]


def test_a_movie_that_fails_leaves_what_was_there(swing, tmp_path, monkeypatch):
    (tmp_path / "a.gif").write_text("kept")
    monkeypatch.setattr(film, "_gif", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(ap.ArgumentError, match="disk full"):
        swing.movie(tmp_path / "a.gif")
    assert (tmp_path / "a.gif").read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_record_is_pickled_without_its_robot():
    record = ap.simulate(ap.Dynamics(ap.load("delta")), until=0.02)
    again = pickle.loads(pickle.dumps(record))
    assert again.dynamics is None
    np.testing.assert_array_equal(again.data, record.data)
    np.testing.assert_array_equal(again(0.01)[0], record(0.01)[0])
