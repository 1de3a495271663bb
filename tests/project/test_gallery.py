"""All figures in the registry of the gallery: they follow the style rules, and none is left out."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from appell_lab.papers import SECTIONS
from appell_lab.references.figure_flaws import flaws

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def module(folder: str, name: str):
    """Import a module of docs/ or benchmarks/, which are not packages."""
    spec = importlib.util.spec_from_file_location(f"{name} of {folder}", ROOT / folder / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # needed by dataclasses
    spec.loader.exec_module(loaded)
    return loaded


exhibits = module("docs/site", "exhibits")


@pytest.mark.parametrize("exhibit", exhibits.EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_figures_of_the_gallery_follow_the_rules(exhibit):
    assert flaws(exhibit.figure()) == []


class Drops(dict):
    """Random drops in place of a store of a hundred thousand."""

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
def test_figures_of_the_scripts_follow_the_rules(file, tmp_path, monkeypatch):
    results = []

    def inspect(figure, path, **options):
        results.append(flaws(figure))
        Path(path).write_bytes(b"")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", inspect)
    SCRIPTS[file](tmp_path / file)
    assert results == [[]]


def test_every_picture_of_the_documentation_is_in_the_registry():
    screens = set((DOCS / "images").glob("view-*.png"))  # screenshots of the viewer, which are not figures
    kept = {path.name for path in set((DOCS / "images").glob("*.png")) - screens}
    assert {figure.file for figure in exhibits.SCRIPTS} == kept
    assert kept - set(SCRIPTS) == {"impacts.png", "fall.png"}  # of a section of `appell reproduce`, and of a movie


def test_every_section_has_its_figures_in_the_gallery():
    """tests/lab/papers/test_sections.py runs the sections and checks which figures they draw."""
    for section in SECTIONS:
        assert list(exhibits.paper_figures(section)), f"run: python docs/paper_figures.py, for {section}"


def test_the_gallery_shows_all_chapters():
    shown = re.findall(r"```\{exhibits\} (\w+)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert shown == [*exhibits.CHAPTERS, "scripts", "papers"]


def test_one_module_defines_the_style():
    owner = "src/appell/show/plot/style.py"
    foreign = re.compile(r"rcParams|rc_context|plt\.style|Figure\(fig|fontsize=[\d.\"']|color=\"(?:#|C\d|k\b|black)")
    for folder in ("src", "benchmarks", "docs", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if name != owner and "_build" not in name:
                assert not foreign.search(path.read_text(encoding="utf-8")), name
