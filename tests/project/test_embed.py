"""Self-contained pages embedded in the documentation: copied, framed, and rejected if they would fetch anything."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "site"
spec = importlib.util.spec_from_file_location("embed", SITE / "embed.py")
embed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embed)

ALONE = '<!doctype html><html><body><img src="data:image/png;base64,AA=="><script>let x = 1 < 2;</script></body></html>'


@pytest.mark.parametrize(
    ("part", "address"),
    [
        ('<script src="https://cdn.example/three.js"></script>', "https://cdn.example/three.js"),
        ("<script type='module' src='./view.js'></script>", "./view.js"),
        ('<link rel="stylesheet" href="style.css">', "style.css"),
        ('<img alt="a" src=robot.png>', "robot.png"),
        ("<style>@import url('https://fonts.example/a.css');</style>", "https://fonts.example/a.css"),
    ],
)
def test_addresses_that_a_page_would_fetch_are_named(part, address):
    assert embed.fetched(part) == [address]


def test_a_self_contained_page_fetches_nothing():
    assert embed.fetched(ALONE + '<a href="https://example.org">a link does not fetch</a>') == []


def test_lines_write_the_page_in_a_temporary_folder():
    before = Path.cwd()
    lines = f"open('a.html', 'w').write({ALONE!r})\nassert ap.load('pendulum').nv == 1"
    assert embed.written(lines, "a.html") == ALONE
    assert Path.cwd() == before
    with pytest.raises(FileNotFoundError, match=r"did not write 'b\.html'"):
        embed.written("x = 1", "b.html")
    assert Path.cwd() == before


def build(folder: Path, page: str):
    """Build a site with one page in a subfolder; return its folder and the warnings."""
    application = pytest.importorskip("sphinx.application")
    (folder / "sub").mkdir(exist_ok=True)
    settings = f"import sys\nsys.path.insert(0, {str(SITE)!r})\nextensions = ['myst_parser', 'embed']\n"
    (folder / "conf.py").write_text(settings, encoding="utf-8")
    (folder / "index.md").write_text("# A\n\n```{toctree}\nsub/page\n```\n", encoding="utf-8")
    (folder / "sub" / "page.md").write_text(f"# B\n\n{page}\n", encoding="utf-8")
    out = folder / "out"
    warnings = io.StringIO()
    application.Sphinx(folder, folder, out, out / "doctrees", "html", status=None, warning=warnings).build()
    return out, warnings.getvalue()


def test_a_page_is_copied_and_framed(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "robot.html").write_text(ALONE, encoding="utf-8")
    lines = f"```{{embed}} made.html\nopen('made.html', 'w').write({ALONE!r})\n```\n"
    out, warnings = build(tmp_path, f"```{{embed}} robot.html\n:height: 300\n:title: A robot\n```\n\n{lines}")
    page = (out / "sub" / "page.html").read_text(encoding="utf-8")
    assert 'src="../_embedded/robot.html" title="A robot"' in page
    assert "height: 300px" in page
    for name in ("robot.html", "made.html"):
        assert (out / "_embedded" / name).read_text(encoding="utf-8") == ALONE
    assert warnings == ""


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("```{embed} none.html\n```", "none.html cannot be embedded"),
        ("```{embed} away.html\nopen('away.html', 'w').write('<script src=a.js></script>')\n```", "would fetch a.js"),
    ],
)
def test_a_page_that_is_missing_or_not_self_contained_is_an_error(page, words, tmp_path):
    out, warnings = build(tmp_path, page)
    assert words in warnings
    assert "<iframe" not in (out / "sub" / "page.html").read_text(encoding="utf-8")
