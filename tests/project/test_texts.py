"""The texts keep their word: examples run, links lead somewhere, figures are the measured ones."""

from __future__ import annotations

import doctest
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import appell
from appell.compile.native.threads import THREAD_COUNT
from appell.describe.load import load, zoo_names
from appell_lab.bench.report import Report

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "against-pinocchio.json"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST_EXAMPLE = 60
SMALLER = {"05_a_million_payloads": ["20000"]}  # arguments with which an example takes a moment


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_example_of_the_readme_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", read(ROOT / "README.md"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "mul" in capsys.readouterr().out


def test_there_are_examples_and_they_are_numbered():
    assert len(EXAMPLES) >= 6
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(path, capsys, monkeypatch, tmp_path):
    assert len(read(path).splitlines()) <= LONGEST_EXAMPLE
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), *SMALLER.get(path.stem, [])])
    monkeypatch.setattr(THREAD_COUNT, "count", None)  # an example may set it for itself
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_links_lead_somewhere():
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(page))]
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", ["how-it-works.md", "batches.md"])
def test_what_the_documentation_shows_is_what_happens(page):
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


PUBLISH = runpy.run_path(str(ROOT / "benchmarks" / "publish.py"))


@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page, own in PUBLISH["published"]().items() for name in own]
)
def test_figures_in_the_texts_are_those_that_were_measured(page, name):
    figures = PUBLISH["published"]()[page][name]
    text = read(ROOT / page)
    assert PUBLISH["between_markers"](text, name, figures) == text, "run: python benchmarks/publish.py"


def test_published_figures_were_not_measured_in_a_hurry():
    assert not Report.read(RESULTS).quick


def test_every_decision_is_listed_and_says_context_decision_and_cost():
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    listed = read(ROOT / "docs" / "decisions" / "README.md")
    for page in pages:
        assert page.name in listed
        assert all(f"**{part}.**" in read(page) for part in ("Context", "Decision", "Cost")), page.name


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert appell.__version__ == project["version"]
    changes = read(ROOT / "CHANGELOG.md")
    assert "## [Unreleased]" in changes or f"## [{appell.__version__}]" in changes


@pytest.mark.parametrize("name", zoo_names())
def test_a_robot_of_the_zoo_says_what_it_is_and_where_its_numbers_come_from(name):
    robot = load(name)
    assert robot.description
    assert robot.reference
