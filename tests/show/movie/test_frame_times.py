"""Playback speed of a movie: a duration of some seconds, a round factor, and a frame at the end."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.show.movie.video import frame_times, slowdown


@pytest.mark.parametrize(
    ("span", "slower"), [(0.3, 10.0), (2.0, 1.0), (0.0, 1.0), (19.0, 1.0), (20.5, 0.5), (100.0, 0.2), (0.004, 500.0)]
)
def test_short_motions_are_stretched_and_long_ones_shortened(span, slower):
    assert slowdown(span, None) == pytest.approx(slower)
    assert slowdown(span, 3) == 3.0


def test_an_invalid_speed_is_rejected():
    for wrong in (0.0, -1.0, np.nan, np.inf, "slow"):
        with pytest.raises(ap.ArgumentError, match="slower is"):
            slowdown(1.0, wrong)
    with pytest.raises(ap.ArgumentError, match=r"25000 frames(.|\n)*at most 10000"):
        slowdown(10.0, 100.0)


def test_the_last_frame_is_at_the_end():
    np.testing.assert_allclose(frame_times(1.0, 1.1, 1.0), [1.0, 1.04, 1.08, 1.1])
    np.testing.assert_allclose(frame_times(0.0, 0.08, 2.0), [0.0, 0.02, 0.04, 0.06, 0.08])
    np.testing.assert_allclose(frame_times(5.0, 5.0, 1.0), [5.0])
