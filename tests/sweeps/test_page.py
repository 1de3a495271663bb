"""The documentation page on sweeps: its examples run, and its figures are the measured ones."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "docs" / "sweeps.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_figures_on_the_page_are_the_measured_ones():
    drops = runpy.run_path(str(ROOT / "benchmarks" / "drops.py"))
    page = (ROOT / "docs" / "sweeps.md").read_text("utf-8")
    shown = page.split(drops["BEGIN"])[1].split(drops["END"])[0]
    assert shown == drops["text"](), "run: python benchmarks/drops.py"
