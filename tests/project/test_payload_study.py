"""The million payloads of examples and docs, with a few boxes, compared with robots that carry these boxes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import appell as ap

ROOT = Path(__file__).resolve().parents[2]
STUDY = runpy.run_path(str(ROOT / "examples" / "05_a_million_payloads.py"))


def test_peaks_equal_those_of_a_robot_with_the_box_as_payload():
    mass, sides, com = STUDY["boxes"](7)
    peaks = STUDY["peaks"](mass, sides, com, block=3)
    for k in range(7):
        loaded = ap.load("puma").with_payload(ap.shapes.box(mass[k], *sides[k], com=tuple(com[k])))
        tau = ap.Dynamics(loaded).inverse_dynamics(*STUDY["motion"]())
        np.testing.assert_allclose(peaks[k], np.abs(tau).max(axis=0), rtol=1e-11, atol=1e-11)


def test_the_motion_is_along_the_line_and_at_rest_at_its_ends():
    q, v, a = STUDY["motion"](instants=2001)
    h = 1.0 / 2000
    np.testing.assert_array_equal(v[[0, -1]], 0.0)
    np.testing.assert_array_equal(a[[0, -1]], 0.0)
    np.testing.assert_allclose(v[1:-1], (q[2:] - q[:-2]) / (2 * h), atol=1e-5)  # h² times a third derivative near 50
    np.testing.assert_allclose(a[1:-1], (v[2:] - v[:-2]) / (2 * h), atol=1e-3)
    positions = ap.Dynamics(STUDY["PUMA"]).pose("tool")(q)[:, :3, 3]
    start, end = np.array(STUDY["ENDS"])
    aside = np.cross(positions - start, (end - start) / np.linalg.norm(end - start))
    assert np.abs(aside).max() < 1e-12


def test_results_do_not_depend_on_blocks_and_threads():
    given = STUDY["boxes"](2000)
    one = STUDY["peaks"](*given)
    with ap.set_threads(3):
        assert STUDY["peaks"](*given, block=777).tobytes() == one.tobytes()


def test_the_picture_is_small_and_drawn_by_the_script(tmp_path):
    kept = ROOT / "docs" / "images" / "payloads.png"
    assert kept.stat().st_size < 150_000
    runpy.run_path(str(ROOT / "docs" / "payloads.py"))["payloads"](tmp_path, 2000)
    with Image.open(kept) as one, Image.open(tmp_path / "payloads.png") as other:
        assert one.size == pytest.approx(other.size, abs=2)  # versions of Matplotlib round the margins differently
