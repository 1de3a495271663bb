"""The documentation page on sweeps: its figures are the measured ones."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_figures_on_the_page_are_the_measured_ones():
    drops = runpy.run_path(str(ROOT / "benchmarks" / "drops.py"))
    page = (ROOT / "docs" / "sweeps.md").read_text("utf-8")
    shown = page.split(drops["BEGIN"])[1].split(drops["END"])[0]
    assert shown == drops["text"](), "run: python benchmarks/drops.py"
