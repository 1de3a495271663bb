"""Movies of records: frames, speed, and every kind of record and system."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from PIL import Image

import appell as ap
from appell.show.stage.scenes import configurations
from free_bodies import box, free_body

SIZE = (320, 240)
PICTURE = slice(40, 190)  # rows between the captions


def frames(path):
    with Image.open(path) as movie:
        pictures = []
        for k in range(movie.n_frames):
            movie.seek(k)
            pictures.append(np.asarray(movie.convert("RGB"), float))
        return np.array(pictures)


@pytest.fixture(scope="module")
def swing():
    return ap.simulate(ap.Dynamics(ap.load("pendulum")), until=0.3)


def test_a_movie_has_all_frames(swing, tmp_path):
    path = swing.movie(tmp_path / "a.gif", slower=1.0, size=SIZE)
    with Image.open(path) as movie:
        assert movie.n_frames == 9  # 0, 0.04, ... 0.28, and the end
        assert movie.size == SIZE
        assert movie.info["duration"] == 40
    assert list(tmp_path.iterdir()) == [path]
    with Image.open(swing.movie(tmp_path / "b.gif")) as movie:
        assert movie.n_frames == 76  # ten times slower than real time, so that it lasts 3 s
        assert movie.size == (800, 600)


@pytest.mark.parametrize(
    ("gravity", "hanging"), [((0, 0, -9.81), 0.0), ((0, 0, 9.81), np.pi), ((9.81, 0, 0), -np.pi / 2), ((0, 0, 0), 0.0)]
)
def test_a_pendulum_swings_below_its_joint(gravity, hanging, tmp_path):
    """The tip is lowest in the picture where it hangs under gravity; without gravity, where z is lowest."""
    robot = ap.load("pendulum").with_gravity(gravity)
    assert abs(ap.Dynamics(robot).gravity([hanging])[0]) < 1e-12
    q = hanging + np.array([[1.0], [0.0], [-1.0]])
    record = ap.Record.of([0.0, 0.04, 0.08], {"q": q}, robot.coordinate_names)
    path = record.movie(tmp_path / "a.gif", robot, slower=1.0, size=SIZE)
    left, middle, right = (_lowest(frame) for frame in frames(path))
    assert middle > left + 8  # pixels, counted from the top
    assert middle > right + 8


def _lowest(frame):
    """Return the lowest row of pixels with a part of the blue rod."""
    red, _, blue = np.moveaxis(frame, -1, 0)
    return np.flatnonzero((blue > red + 60).any(axis=1)).max()


@pytest.mark.parametrize("name", ["puma", "delta", "agile-wrist", "tree10"])
def test_every_kind_of_system_moves_in_its_movie(name, tmp_path):
    record = ap.simulate(ap.Dynamics(ap.load(name)), until=0.12)
    first, *_, last = frames(record.movie(tmp_path / "a.gif", slower=1.0, size=SIZE))
    assert (np.abs(first - last)[PICTURE].max(axis=-1) > 60).sum() > 50


def test_a_free_body_and_its_floor_are_visible(tmp_path):
    robot = box()
    q0 = robot.neutral
    q0[2] = 0.4
    record = ap.simulate(
        ap.Dynamics(robot), q0, until=0.1, contacts=ap.Contact("all", ap.Plane(), restitution=1.0, friction=0.0)
    )
    assert record.walls == (ap.Plane(),)
    with_floor = frames(record.movie(tmp_path / "a.gif", slower=1.0, size=SIZE))
    far = frames(record.movie(tmp_path / "b.gif", walls=[ap.Plane((1, 0, 0), -0.6)], slower=1.0, size=SIZE))
    assert (np.abs(with_floor - far)[0].max(axis=-1) > 15).sum() > 1000  # pixels
    free = ap.simulate(ap.Dynamics(free_body([], gravity=(0, 0, 0))), v0=[1, 0, 0, 0, 1, 0], until=0.1)
    assert len(frames(free.movie(tmp_path / "c.gif", slower=1.0, size=SIZE))) == 4  # 0, 0.04, 0.08, 0.1


def test_view_and_inertia_change_the_movie(swing, tmp_path):
    plain, turned, heavy = (
        frames(swing.movie(tmp_path / "a.gif", slower=1.0, size=SIZE, overwrite=True, **options))[0, PICTURE]
        for options in ({}, {"view": (30, 60)}, {"inertia": True})
    )
    assert np.abs(plain - turned).max() > 50
    assert np.abs(plain - heavy).max() > 50
    with pytest.raises(ap.ArgumentError, match=r"view is 'above'(.|\n)*azimuth, elevation"):
        swing.movie(tmp_path / "a.gif", view="above", overwrite=True)


def test_a_record_from_a_file_needs_its_robot(swing, tmp_path):
    swing.to_csv(tmp_path / "a.csv")
    rows = ap.Record.read(tmp_path / "a.csv")
    with pytest.raises(ap.ArgumentError, match=r"does not contain its robot(.|\n)*ap\.load\('pendulum'\)"):
        rows.movie(tmp_path / "a.gif")
    with pytest.raises(ap.ArgumentError, match=r"record are hinge(.|\n)*the 6 coordinates of robot 'puma'"):
        rows.movie(tmp_path / "a.gif", ap.load("puma"))
    assert rows.movie(tmp_path / "a.gif", ap.load("pendulum"), slower=1.0, size=SIZE).exists()


def test_quaternions_are_interpolated_along_the_shorter_rotation():
    """q and -q are the same orientation: nothing rotates halfway between them."""
    robot = free_body([(1, 0, 0)])
    rows = np.tile(robot.neutral, (2, 1))
    rows[1, 3:] *= -1.0
    record = ap.Record.of([0.0, 1.0], {"q": rows}, robot.coordinate_names)
    middle = configurations(record, np.array([0.5]), robot)[0]
    assert abs(middle[6]) == 1.0


def test_invalid_targets_of_a_movie_are_rejected(swing, tmp_path, monkeypatch):
    for name in ("a.jpg", "a.png"):
        with pytest.raises(ap.ArgumentError, match=r"\.gif, \.mp4$"):
            swing.movie(tmp_path / name)
    with pytest.raises(ap.ArgumentError, match="does not exist"):
        swing.movie(tmp_path / "no" / "a.gif")
    with pytest.raises(ap.ArgumentError, match="no rows"):
        swing.part(slice(0, 0)).movie(tmp_path / "a.gif")
    with pytest.raises(ap.ArgumentError, match="the width is 0"):
        swing.movie(tmp_path / "a.gif", size=(0, 100))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ap.ArgumentError, match=r"needs ffmpeg(.|\n)*\.gif"):
        swing.movie(tmp_path / "a.mp4")


def test_a_movie_is_written_as_mp4(swing, tmp_path, program):
    program("ffmpeg")
    path = swing.movie(tmp_path / "a.mp4", slower=1.0, size=SIZE)
    assert path.read_bytes()[4:8] == b"ftyp"


def test_a_movie_needs_no_matplotlib(swing, tmp_path, monkeypatch):
    for module in ("matplotlib", "contourpy"):
        monkeypatch.setitem(sys.modules, module, None)
    assert swing.movie(tmp_path / "a.gif", slower=1.0, size=SIZE).exists()


def test_a_failed_movie_keeps_the_existing_file(swing, tmp_path, monkeypatch):
    (tmp_path / "a.gif").write_text("kept")
    monkeypatch.setattr("appell.show.movie.movie.write_gif", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(ap.ArgumentError, match="disk full"):
        swing.movie(tmp_path / "a.gif", size=SIZE, overwrite=True)
    assert (tmp_path / "a.gif").read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_record_is_pickled_without_its_robot():
    record = ap.simulate(ap.Dynamics(ap.load("delta")), until=0.02)
    again = pickle.loads(pickle.dumps(record))
    assert again.dynamics is None
    np.testing.assert_array_equal(again.data, record.data)
    np.testing.assert_array_equal(again(0.01)[0], record(0.01)[0])
