"""All figures, by the registry of the gallery: they keep the rules of the house, and none is left out."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from appell_lab.judges.figure_flaws import flaws
from appell_lab.papers import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def module(folder: str, name: str):
    """A module of docs/ or benchmarks/, which are no packages."""
    spec = importlib.util.spec_from_file_location(f"{name} of {folder}", ROOT / folder / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # where dataclasses look for it
    spec.loader.exec_module(found)
    return found


exhibits = module("docs/site", "exhibits")


@pytest.mark.parametrize("exhibit", exhibits.EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_what_the_lines_of_the_gallery_draw_keeps_the_rules(exhibit):
    assert flaws(exhibit.figure()) == []


class Drops(dict):
    """A few drops that never were, in place of a store of a hundred thousand."""

    def __init__(self, count: int = 400):
        rng = np.random.default_rng(0)
        impacts = rng.poisson(12, count)
        times = np.sort(rng.uniform(0.0, 1.5, (count, 32)), axis=1)
        super().__init__(impacts=impacts, times=times, largest_impulse=rng.gamma(4.0, 10.0, count))
        self.done = np.ones(count, bool)


def by_publish(path):
    publish = module("benchmarks", "publish")
    publish.draw(publish.Report.read(publish.RESULTS), path)


def by_formulations(path):
    formulations = module("benchmarks", "formulations")
    formulations.draw(json.loads(formulations.RESULTS.read_text(encoding="utf-8"))["ns_a_sample"], path)


SCRIPTS = {
    "speed.png": by_publish,
    "formulations.png": by_formulations,
    "drops.png": lambda path: module("benchmarks", "drops").draw(Drops(), path),
    "payloads.png": lambda path: module("docs", "payloads").payloads(path.parent, 5000),
    "ball.png": lambda path: module("docs", "pictures").ball(path.parent),
    "systems.png": lambda path: module("docs", "pictures").systems(path.parent),
}


@pytest.mark.parametrize("file", SCRIPTS)
def test_what_the_scripts_draw_keeps_the_rules(file, tmp_path, monkeypatch):
    found = []

    def looked_at(figure, path, **options):
        found.append(flaws(figure))
        Path(path).write_bytes(b"")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", looked_at)
    SCRIPTS[file](tmp_path / file)
    assert found == [[]]


def test_every_picture_of_the_documentation_is_in_the_registry():
    screens = set((DOCS / "images").glob("view-*.png"))  # the viewer's page, which is no figure
    kept = {path.name for path in set((DOCS / "images").glob("*.png")) - screens}
    assert {figure.file for figure in exhibits.SCRIPTS} == kept
    assert kept - set(SCRIPTS) == {"impacts.png", "fall.png"}  # of a section of `appell reproduce`, and of a film


def test_every_section_has_its_figures_in_the_gallery():
    """Which they are, and that they keep the rules, is told when the sections are run: test_sections."""
    for section in SECTIONS:
        assert list(exhibits.paper_figures(section)), f"run: python docs/paper_figures.py, for {section}"


def test_the_gallery_shows_all_chapters():
    shown = re.findall(r"```\{exhibits\} (\w+)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert shown == [*exhibits.CHAPTERS, "scripts", "papers"]


def test_one_file_owns_the_style():
    owner = "src/appell/show/plot/style.py"
    foreign = re.compile(r"rcParams|rc_context|plt\.style|Figure\(fig|fontsize=[\d.\"']|color=\"(?:#|C\d|k\b|black)")
    for folder in ("src", "benchmarks", "docs", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if name != owner and "_build" not in name:
                assert not foreign.search(path.read_text(encoding="utf-8")), name
