"""The documentation site: every public name is on it, docstrings are converted correctly, all pages are listed."""

from __future__ import annotations

import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path

import appell

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def part(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


chapters, prose = part("chapters"), part("prose")
LISTED = [pair for _, module, origins in chapters.CHAPTERS.values() for pair in chapters.names_of(module, origins)]


def test_every_public_name_is_in_a_chapter_of_the_reference():
    shown = {id(getattr(import_module(home), name)) for home, name in LISTED}
    for name in appell.__all__:
        value = getattr(appell, name)
        if inspect.ismodule(value):
            assert value.__name__ in {module for _, module, _ in chapters.CHAPTERS.values()}, name
        else:
            assert id(value) in shown, name


def test_every_name_of_the_reference_has_a_docstring():
    values = {name: getattr(import_module(home), name) for home, name in LISTED}
    named = {name: value for name, value in values.items() if callable(value)}
    generated = [name for name, value in named.items() if (value.__doc__ or f"{name}(").startswith(f"{name}(")]
    assert generated == []  # a dataclass without a docstring gets its signature


def test_a_docstring_becomes_restructured_text():
    lines = ["The force `f` of *all*:", "", "    f = m a", "", "    f = 0", "Then text_.", ">>> 1 + 1", "2", "", "End."]
    assert prose.restructured(lines) == [
        "The force ``f`` of \\*all\\*:",
        "",
        "",
        ".. code-block:: text",
        "",
        "       f = m a",
        "",
        "       f = 0",
        "",
        "Then text\\_.",
        "",
        ".. code-block:: python",
        "",
        "   >>> 1 + 1",
        "   2",
        "",
        "",
        "End.",
    ]


def test_a_docstring_in_numpy_style_becomes_restructured_text():
    lines = ["Sum.", "", "Parameters", "----------", "x : array of `n`", "    The *values*.", "", "Returns", "-------"]
    lines += ["float", "    The sum.", "", "Examples", "--------", ">>> print(1)", "1", "2", "", "End."]
    assert prose.restructured(lines) == [
        "Sum.",
        "",
        "",
        "**Parameters**",
        "",
        "``x`` : array of ``n``",
        "   The \\*values\\*.",
        "",
        "",
        "**Returns**",
        "",
        "float",
        "   The sum.",
        "",
        "",
        "**Examples**",
        "",
        "",
        ".. code-block:: python",
        "",
        "   >>> print(1)",
        "   1",
        "   2",
        "",
        "",
        "End.",
    ]


def test_every_page_is_in_a_table_of_contents():
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md") if "_build" not in p.parts}
    listed = {"index"}
    for page in DOCS.rglob("*.md"):
        if "_build" in page.parts:
            continue
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    targets = page.parent.glob(f"{line}.md") if "*" in line else [page.parent / f"{line}.md"]
                    listed |= {p.resolve().relative_to(DOCS).with_suffix("").as_posix() for p in targets}
    assert pages - listed == set()
