"""Movie files: all frames at their times with the right pictures, and files that cannot be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import appell as ap
from appell.show.movie.movie import image, write_movie
from appell.show.scene.scene import ScenePart
from appell.show.scene.solids import sphere
from movie_scenes import RED, SIZE, at, impact, moving

BALL = moving(ScenePart(sphere(0.2), 0, color=RED), [0, 0.4], [at(0, 0, 0), at(1, 0, 0.5)], [impact(0.2)])


def test_a_gif_has_all_frames_with_their_colours(tmp_path):
    path = write_movie(BALL, tmp_path / "a.gif", size=SIZE, slower=1.0)
    with Image.open(path) as movie:
        assert movie.n_frames == 11  # 0, 0.04, ... 0.4
        assert movie.info["loop"] == 0
        for k in range(11):
            movie.seek(k)
            assert movie.info["duration"] == 40  # ms
            expected = image(BALL, 0.04 * k, SIZE).astype(float)
            apart = np.abs(np.asarray(movie.convert("RGB"), float) - expected).max(axis=-1)
            assert apart.mean() < 1.0
            assert np.quantile(apart, 0.999) < 24  # of 256: the palette has 255 colours for all frames
            np.testing.assert_array_equal(np.asarray(movie.convert("RGB"))[(expected == 255).all(axis=-1)], 255)
    assert list(tmp_path.iterdir()) == [path]


def test_equal_frames_are_written_as_well(tmp_path):
    still = moving(ScenePart(sphere(0.2), 0, color=RED), [0, 1e-4], [at(0, 0, 0), at(0, 0, 0)])
    with Image.open(write_movie(still, tmp_path / "a.gif", size=SIZE, slower=2000.0)) as movie:
        assert movie.n_frames == 6
        assert sum(_duration(movie, k) for k in range(6)) == 240


def _duration(movie, k):
    movie.seek(k)
    return movie.info["duration"]


def test_an_mp4_has_all_frames_with_their_colours(tmp_path, program):
    ffmpeg, ffprobe = program("ffmpeg"), program("ffprobe")
    path = write_movie(BALL, tmp_path / "a.mp4", size=SIZE, slower=1.0)
    command = [ffprobe, "-v", "error", "-show_streams", "-count_frames", "-of", "json", str(path)]
    (stream,) = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"]
    assert (stream["width"], stream["height"]) == SIZE
    assert (stream["codec_name"], stream["pix_fmt"], stream["color_space"]) == ("h264", "yuv420p", "bt709")
    assert (stream["nb_read_frames"], stream["r_frame_rate"]) == ("11", "25/1")
    assert float(stream["duration"]) == pytest.approx(0.44)
    raw = [ffmpeg, "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    frames = np.frombuffer(subprocess.run(raw, capture_output=True, check=True).stdout, np.uint8)
    frames = frames.reshape(11, SIZE[1], SIZE[0], 3).astype(float)
    for k in (0, 5, 10):
        apart = np.abs(frames[k] - image(BALL, 0.04 * k, SIZE))
        assert apart.mean() < 2.5
        assert apart.max(axis=-1).mean() < 5.0  # colours are stored for every second pixel
    assert np.abs(frames[0] - frames[10]).mean() > 5.0
    assert list(tmp_path.iterdir()) == [path]


def test_a_png_is_the_picture_at_its_time(tmp_path):
    for t, expected in ((None, 0.0), (0.22, 0.22)):
        path = write_movie(BALL, tmp_path / "a.png", size=SIZE, at=t, overwrite=True)
        np.testing.assert_array_equal(np.asarray(Image.open(path)), image(BALL, expected, SIZE))
    with pytest.raises(ap.ArgumentError, match=r"is a movie of all times(.|\n)*\.png"):
        write_movie(BALL, tmp_path / "a.gif", at=0.2)


def test_without_ffmpeg_a_gif_is_proposed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ap.ArgumentError, match=r"needs ffmpeg(.|\n)*\.gif"):
        write_movie(BALL, tmp_path / "a.mp4", size=SIZE)


@pytest.mark.skipif(os.name == "nt", reason="the program in place of ffmpeg is a script of a Unix shell")
@pytest.mark.parametrize("reads", ["", "cat > /dev/null; "])
def test_the_last_message_of_ffmpeg_is_reported(tmp_path, monkeypatch, reads):
    """ffmpeg may fail before it has read anything, or after everything."""
    (tmp_path / "ffmpeg").write_text(f"#!/bin/sh\n{reads}echo first >&2; echo 'Unknown encoder' >&2; exit 3\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "a.mp4").write_text("kept")
    with pytest.raises(ap.ArgumentError, match="could not write the movie: Unknown encoder"):
        write_movie(BALL, tmp_path / "a.mp4", size=SIZE, overwrite=True)
    assert (tmp_path / "a.mp4").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "ffmpeg"]


def test_an_interrupted_movie_leaves_no_process_and_no_file(tmp_path, monkeypatch, program):
    program("ffmpeg")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("appell.show.movie.renderer.Renderer.at", stop)
    with pytest.raises(KeyboardInterrupt):
        write_movie(BALL, tmp_path / "a.mp4", size=SIZE)
    assert not list(tmp_path.iterdir())


def test_invalid_options_of_a_movie_are_named(tmp_path, monkeypatch):
    for size in (3, (100,), (10, 600), (800.0, 600), (800, 100_000), ("a", 600)):
        with pytest.raises(ap.ArgumentError, match=r"(size|width|height) is"):
            image(BALL, 0.0, size)
    with pytest.raises(ap.ArgumentError, match=r"\(321, 240\)(.|\n)*even"):
        write_movie(BALL, tmp_path / "a.mp4", size=(321, 240))
    with pytest.raises(ap.ArgumentError, match=r"no layer 'link'\. Did you mean 'links'"):
        image(BALL, 0.0, SIZE, layers=("link",))
    with pytest.raises(ap.ArgumentError, match="the time is nan"):
        image(BALL, float("nan"), SIZE)
    with pytest.raises(ap.ArgumentError, match=r"\.gif, \.mp4, \.png"):
        write_movie(BALL, tmp_path / "a.avi")
    with pytest.raises(ap.ArgumentError, match="does not exist"):
        write_movie(BALL, tmp_path / "no" / "a.gif")
    (tmp_path / "b.gif").mkdir()
    with pytest.raises(ap.ArgumentError, match="is a folder"):
        write_movie(BALL, tmp_path / "b.gif")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ap.ArgumentError, match=r"a movie needs the package PIL(.|\n)*pip install 'appell\[plots\]'"):
        write_movie(BALL, tmp_path / "a.gif")
