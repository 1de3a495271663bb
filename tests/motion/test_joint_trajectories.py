"""Ramps, splines and Fourier series: derivatives, limits, ends, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from appell import ArgumentError, DescriptionError
from appell.motion import Fourier, Interpolated, Ramp, Record, Spline

POINTS = np.array([[0.0, 1.0], [1.0, -0.5], [0.3, 0.2], [0.8, 0.0]])
TIMES = [0.0, 0.7, 1.5, 2.0]


def assert_derivatives(trajectory, t):
    h = 1e-5
    _, v, a = trajectory(t)
    before, after = trajectory(t - h), trajectory(t + h)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), a, atol=1e-6)


def test_a_ramp_keeps_its_limits_and_touches_one_of_each():
    ramp = Ramp([0, 1, 2], [3, -1, 2], velocity=[1.0, 2.0, 1.0], acceleration=[4.0, 2.0, 1.0])
    q, v, a = ramp(ramp.times(2001))
    np.testing.assert_allclose(q[[0, -1]], [[0, 1, 2], [3, -1, 2]], atol=1e-14)
    np.testing.assert_array_equal(v[[0, -1]], np.zeros((2, 3)))
    assert (np.abs(v) <= np.array([1, 2, 1]) * (1 + 1e-12)).all()
    assert (np.abs(a) <= np.array([4, 2, 1]) * (1 + 1e-12)).all()
    assert np.abs(v).max(axis=0)[0] == pytest.approx(1.0)
    assert np.abs(a).max(axis=0)[1] == pytest.approx(2.0)
    assert ramp.duration == pytest.approx(3.0 + 1.0 / 3.0)  # cruise at 1 rad/s, reached at 3 rad/s² of the first joint
    assert_derivatives(ramp, np.array([0.1, 1.0, 3.1]))


def test_a_short_ramp_is_a_triangle_and_a_stretched_one_keeps_its_shape():
    short = Ramp([0.0], [0.5], velocity=10.0, acceleration=2.0)
    assert short.duration == pytest.approx(1.0)
    assert np.abs(short(short.times(1001))[1]).max() == pytest.approx(1.0)
    slow = Ramp([0.0], [0.5], 10.0, 2.0, duration=2.0)
    np.testing.assert_allclose(slow(slow.times(51))[0], short(short.times(51))[0], atol=1e-14)


@pytest.mark.parametrize("degree", [3, 5])
def test_a_spline_passes_its_points_from_rest_to_rest(degree):
    spline = Spline(TIMES, POINTS, degree)
    np.testing.assert_allclose(spline(TIMES)[0], POINTS, atol=1e-12)
    np.testing.assert_allclose(spline([0.0, 2.0])[1], np.zeros((2, 2)), atol=1e-11)
    if degree == 5:
        np.testing.assert_allclose(spline([0.0, 2.0])[2], np.zeros((2, 2)), atol=1e-10)
    assert_derivatives(spline, np.array([0.1, 0.9, 1.9]))


def test_a_fourier_series_is_the_integral_of_its_velocity():
    rng = np.random.default_rng(0)
    series = Fourier(0.2, rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), [0.1, 0.2, 0.3])
    assert series.duration == pytest.approx(5.0)
    start, end = series(0.0), series(5.0)
    for one, other in zip(start, end, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    t = np.linspace(0.0, 5.0, 1001)[:-1]
    np.testing.assert_allclose(series(t)[0].mean(axis=0), [0.1, 0.2, 0.3], atol=1e-12)
    assert_derivatives(series, np.array([0.3, 2.2, 4.9]))


def test_csv_stores_a_motion_completely(tmp_path):
    spline = Spline(TIMES, POINTS, 5, names=("one", "two"))
    path = tmp_path / "motion.csv"
    spline.record(101).write(path)
    again = Record.read(path).path()
    assert again.names == ("one", "two")
    t = np.linspace(0.0, 2.0, 101)
    for one, other in zip(again(t), spline(t), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    between = np.linspace(0.0, 2.0, 777)
    np.testing.assert_allclose(again(between)[0], spline(between)[0], atol=1e-7)


def test_csv_of_positions_alone_is_a_spline(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("t,q_a,q_b\n" + "\n".join(f"{t},{x},{y}" for t, (x, y) in zip(TIMES, POINTS, strict=True)))
    again = Record.read(path).path()
    assert isinstance(again, Spline)
    np.testing.assert_allclose(again(0.9)[0], Spline(TIMES, POINTS)(0.9)[0], atol=1e-14)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "first line"),
        ("when,q_a\n0,1\n", "first line"),
        ("t,q_a\n0,1\n1\n", r"row has 1 cells, the heading 2(.|\n)*line 3"),
        ("t,q_a\n0,1\n1,one\n", "line 3"),
    ],
)
def test_files_that_are_not_records_are_refused_with_their_line(tmp_path, text, problem):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DescriptionError, match=problem):
        Record.read(path).path()


def test_a_record_without_coordinates_is_not_a_path(tmp_path):
    (tmp_path / "x.csv").write_text("t,x\n0,1\n")
    with pytest.raises(ArgumentError, match="no column 'q'"):
        Record.read(tmp_path / "x.csv").path()


def test_a_missing_or_binary_file_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match="cannot be read"):
        Record.read(tmp_path / "nowhere.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(DescriptionError):
        Record.read(tmp_path / "bytes.csv")


def test_wrong_way_points_are_named():
    for problem, make in {
        r"way-point 2 at t = 0\.5 s does not come after way-point 1 at t = 0\.7 s": lambda: Spline(
            [0, 0.7, 0.5, 2], POINTS
        ),
        "way-point 1 at t = 0 s does not come after": lambda: Spline([0, 0, 1, 2], POINTS),
        "first way-point is at t = 0.5": lambda: Spline([0.5, 0.7, 1, 2], POINTS),
        "time of way-point 1 is not finite": lambda: Spline([0, np.nan, 1, 2], POINTS),
        r"way-points have shape \(4, 2\)": lambda: Spline([0, 1, 2], POINTS),
        "coordinate 1 of way-point 0 is not finite": lambda: Spline(
            TIMES, np.where(POINTS == 1, np.nan, POINTS)[:, ::1]
        ),
        "degree of the spline is 4": lambda: Spline(TIMES, POINTS, 4),
        "3 names are given for 2": lambda: Spline(TIMES, POINTS, names=("a", "b", "c")),
        "velocity limit is 0": lambda: Ramp([0], [1], 0.0, 1.0),
        "acceleration limit is": lambda: Ramp([0], [1], 1.0, [1.0, 1.0]),
        "start and end of the ramp are equal": lambda: Ramp([1], [1], 1.0, 1.0),
        "duration of the ramp is 0.1 s": lambda: Ramp([0], [1], 1.0, 1.0, duration=0.1),
        "duration is 0 s": lambda: Ramp([0], [1], 1.0, 1.0, duration=0.0),
        "frequency is 0 Hz": lambda: Fourier(0.0, [[1]], [[1]], [0]),
        "names are given": lambda: Fourier(1.0, [[1, 2]], [[1, 2]], [0]),
        r"shape \(1, 2\)": lambda: Interpolated(TIMES, POINTS, POINTS[:1], POINTS),
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            make()


def test_a_plot_shows_every_joint():
    figure = Spline(TIMES, POINTS, names=("one", "two")).plot()
    assert len(figure.axes) == 3
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["one", "two"]


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: Ramp([0.0], [10**400], 1.0, 1.0), "the way-points cannot be read"),
        (lambda: Ramp([0.0], [1.0], 10**400, 1.0), "the velocity limit cannot be read"),
        (lambda: Ramp([0.0], [1.0], 1.0, 1.0, duration=10**400), "the duration is beyond the range of floats"),
        (lambda: Spline([0.0, 10**400], [[0.0], [1.0]]), "the times of the way-points cannot be read"),
        (lambda: Spline([0.0, 1.0], [[0.0], [10**400]]), "the way-points cannot be read"),
        (lambda: Spline([0.0, 1.0], [[0.0], ["x"]]), "the way-points cannot be read"),
        (lambda: Spline([0.0, 1.0], [[0.0], [1.0]])(10**400), "the times cannot be read"),
        (lambda: Record.of([0.0, 10**400], {"q": [[0.0], [1.0]]}), "column t cannot be read"),
        (lambda: Record.of([0.0, 1.0], {"q": [[0.0], [10**400]]}), "block 'q' cannot be read"),
    ],
)
def test_integers_beyond_the_range_of_floats_are_named(make, culprit):
    with pytest.raises(ArgumentError, match=culprit):
        make()
