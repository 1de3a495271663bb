"""docs/pictures.md: its pictures are those that docs/pictures.py draws."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "pictures.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", re.findall(r"images/(\w+)\.png", PAGE))
def test_a_picture_of_the_page_is_small_and_drawn_by_the_script(name, tmp_path):
    kept = DOCS / "images" / f"{name}.png"
    assert kept.stat().st_size < 150_000
    runpy.run_path(str(DOCS / "pictures.py"))[name](tmp_path)
    with Image.open(kept) as one, Image.open(tmp_path / f"{name}.png") as other:
        assert one.size == pytest.approx(other.size, abs=2)  # versions of Matplotlib round the margins differently
