"""Texts of the project: examples run, links have targets, published numbers are the measured ones."""

from __future__ import annotations

import ast
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
MAX_EXAMPLE_LINES = 60
FAST_ARGUMENTS = {"05_a_million_payloads": ["20000"]}  # for examples that take long by default


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_examples_are_numbered():
    assert len(EXAMPLES) >= 6
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(path, capsys, monkeypatch, tmp_path):
    assert len(read(path).splitlines()) <= MAX_EXAMPLE_LINES
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), *FAST_ARGUMENTS.get(path.stem, [])])
    monkeypatch.setattr(THREAD_COUNT, "count", None)  # an example may set it
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_links_have_targets():
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(page))]
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_the_tape_shown_in_how_it_works_is_the_printed_one():
    result = doctest.testfile(str(ROOT / "docs" / "how-it-works.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/how-it-works.md"])
def test_files_and_folders_named_in_a_page_exist(page):
    """Paths with a slash, relative to the repository or to one of its packages."""
    names = set(re.findall(r"`([\w.]+/[\w./]*?)`", read(ROOT / page)))
    folders = [ROOT, ROOT / "src" / "appell", ROOT / "lab" / "appell_lab", ROOT / "src" / "appell" / "describe"]
    assert len(names) > 20
    assert sorted(name for name in names if not any((folder / name).exists() for folder in folders)) == []


PUBLISH = runpy.run_path(str(ROOT / "benchmarks" / "publish.py"))


@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page, parts in PUBLISH["published"]().items() for name in parts]
)
def test_published_numbers_are_the_measured_ones(page, name):
    figures = PUBLISH["published"]()[page][name]
    text = read(ROOT / page)
    assert PUBLISH["between_markers"](text, name, figures) == text, "run: python benchmarks/publish.py"


def test_published_numbers_are_not_from_a_quick_run():
    assert not Report.read(RESULTS).quick


def test_every_decision_is_listed_with_its_title_and_has_context_decision_and_cost():
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    listed = read(ROOT / "docs" / "decisions" / "README.md")
    for page in pages:
        number, _, title = read(page).splitlines()[0].removeprefix("# ").partition(" ")
        assert f"| [{number}]({page.name}) | {title} |" in listed
        assert all(f"**{part}.**" in read(page) for part in ("Context", "Decision", "Cost")), page.name


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert appell.__version__ == project["version"]
    changes = read(ROOT / "CHANGELOG.md")
    assert "## [Unreleased]" in changes or f"## [{appell.__version__}]" in changes


@pytest.mark.parametrize("name", zoo_names())
def test_a_robot_of_the_zoo_has_a_description_and_a_reference(name):
    robot = load(name)
    assert robot.description
    assert robot.reference


def test_library_messages_do_not_name_options_of_the_command_line():
    """A hint spells parameters as keywords; the command line spells the same `Hint` as options."""
    flag = re.compile(r"""(?<![\w-])--[a-z][a-z-]+""")
    for path in sorted((ROOT / "src" / "appell").rglob("*.py")):
        if "cli" in path.relative_to(ROOT).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")).endswith(
                ("Error", "Hint", "warn", "Stop")
            ):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        assert not flag.search(part.value), f"{path}:{part.lineno}: {part.value}"
