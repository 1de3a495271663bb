"""The index page of `appell reproduce`: same content as the terminal, complete after single and interrupted runs."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from importlib import import_module
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from appell.cli.main import app
from appell.errors import ArgumentError
from appell_lab.papers import PAPERS, SECTIONS
from appell_lab.papers.index import index_html, marked
from appell_lab.papers.ledger import LEDGERS
from appell_lab.papers.live_robots import ROBOTS, write_live_pages
from appell_lab.papers.page import Page
from appell_lab.papers.run_files import check_folder, stored_runs
from appell_lab.papers.shown import Listed, Remark, SectionRun, ShownFigure, ShownTable, Tally

TITLE = "Numbers of <ours> & theirs"


def section(page: Page) -> None:
    """Show everything that a section can show, without computing anything."""
    page.note("[yellow]a remark[/] of 1 < 2\nand another line")
    page.compare(TITLE, [("one, m", 1.04, "1.0"), ("   two, m", 2.5, "2.0")], note="why [it] differs")
    page.figure("mata-figure-2", lambda figure: figure.subplots().set_axis_off())


def broken(page: Page) -> None:
    page.table("half a section", ["x"], [["1"]])
    raise KeyboardInterrupt


@pytest.fixture
def quick(monkeypatch):
    """Replace all sections by fast ones, and live pages by empty ones."""

    def replaced(run=section):
        monkeypatch.setattr("appell_lab.cli.reproduce.import_module", lambda name: SimpleNamespace(run=run))

    monkeypatch.setattr(
        "appell_lab.papers.live_robots.ap.live_page",
        lambda robot, path, **options: path.write_text(f"{robot.name} {options['title']}"),
    )
    replaced()
    return replaced


def reproduce(folder, *sections, code=0):
    result = CliRunner().invoke(app, ["reproduce", *sections, "--output", str(folder)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def text_of(folder) -> str:
    page = (folder / "index.html").read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def anchors(folder) -> tuple[set[str], set[str]]:
    """Return the targets of the links and sources of the page, and the anchors it defines."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    return set(re.findall(r'href="([^"]*)"', page)) | set(re.findall(r'src="([^"]*)"', page)), {
        f"#{name}" for name in re.findall(r'id="([^"]*)"', page)
    }


def test_the_page_contains_what_the_terminal_shows(quick, tmp_path):
    output = reproduce(tmp_path, "stability")
    assert output.endswith(f"paper by paper: {tmp_path / 'index.html'}") or "index.html" in output
    page = text_of(tmp_path)
    words = (TITLE, "one, m 1.04 1.0 agrees", "two, m 2.5 2.0 +25 %", "why [it] differs", "a remark of 1 < 2")
    assert [part for part in words if part not in page] == []
    assert "1 of 2 printed numbers agree to their last digit" in page
    for paper, cited in PAPERS.items():
        assert paper in page
        assert cited in page
    for book in LEDGERS:
        for item in book.items:
            assert f"{item.name} {item.prints}" in page
            assert " ".join(item.reason.split()) in page
    assert "Mata 2002, Figure 2: accelerations in single and double precision" in page  # the printed item of the figure


def test_links_lead_to_existing_anchors_and_files(quick, tmp_path):
    reproduce(tmp_path, "stability", "dynamics")
    links, names = anchors(tmp_path)
    assert {link for link in links if link.startswith("#")} <= names
    files = {link for link in links if not link.startswith("#")}
    assert files == {"mata-figure-2.png", "live/mata-2002.html", "live/shafei-2018.html"}
    assert all((tmp_path / file).exists() for file in files)


def test_sections_run_one_by_one_are_all_on_the_page(quick, tmp_path):
    reproduce(tmp_path, "stability")
    assert "dynamics: not in this folder yet; run appell reproduce dynamics" in text_of(tmp_path)
    reproduce(tmp_path, "dynamics")
    page = text_of(tmp_path)
    assert page.count(TITLE) >= 2 * 2  # a section and its line in the contents
    assert "dynamics: not in this folder yet" not in page
    assert list(stored_runs(tmp_path)[0]) == ["dynamics", "stability"]  # in the order of the command


def test_an_interrupted_run_leaves_a_complete_page(quick, tmp_path):
    reproduce(tmp_path, "stability")
    before = (tmp_path / "index.html").read_text(encoding="utf-8")
    quick(broken)
    result = CliRunner().invoke(app, ["reproduce", "stability", "--output", str(tmp_path)])
    assert result.exit_code != 0
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_invalid_file_is_reported_and_left_out(quick, tmp_path):
    reproduce(tmp_path, "stability")
    path = tmp_path / "sections" / "stability.json"
    for invalid in ("{", "[]", '{"name": "stability"}', path.read_text(encoding="utf-8").replace('"tally"', '"tales"')):
        path.write_text(invalid, encoding="utf-8")
        assert "stability.json was written by another version" in reproduce(tmp_path, "dynamics")
        assert "stability: not in this folder yet" in text_of(tmp_path)


def test_a_missing_picture_is_named_instead_of_shown(quick, tmp_path):
    reproduce(tmp_path, "stability")
    (tmp_path / "mata-figure-2.png").unlink()
    assert "mata-figure-2.png is not in this folder" in index_html(stored_runs(tmp_path)[0], tmp_path)


def test_the_page_is_written_without_matplotlib(quick, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    reproduce(tmp_path, "stability")
    assert "mata-figure-2.png is not drawn: pip install 'appell[plots]'" in text_of(tmp_path)


def test_a_folder_that_cannot_be_created_is_an_error_before_the_work(quick, tmp_path):
    (tmp_path / "file").write_text("")
    output = reproduce(tmp_path / "file" / "out", "stability", code=1)
    assert "cannot be created" in output
    with pytest.raises(ArgumentError, match="another --output"):
        check_folder(tmp_path / "file" / "out")


def test_the_content_of_a_section_survives_json():
    shown = (
        ShownTable("t", ("a", "b"), (("1", "[green]agrees[/]"),), "note"),
        ShownFigure("f", "f.png", (10, 20)),
        Remark("r"),
        Listed("assumed", (("paper", "what", "why"),)),
    )
    run = SectionRun("stability", shown, Tally(1, 2, 3, 4), 5.0, "now", {"cpu": "x"}, {"appell": "y"})
    assert SectionRun.from_json(json.loads(json.dumps(run.to_json()))) == run


def test_markup_becomes_classes():
    assert marked("a [green]b[/] <c>") == 'a <span class="green">b</span> &lt;c&gt;'
    assert marked("[bold]a [red]b[/][/]") == '<span class="bold">a </span><span class="bold red">b</span>'
    assert marked("\\[plots]") == "[plots]"


def test_a_real_section_is_on_the_page(tmp_path):
    """The cheapest section, with its own tables, figures and numbers."""
    output, name = reproduce(tmp_path, "dynamics"), "dynamics"
    run = stored_runs(tmp_path)[0][name]
    page = text_of(tmp_path)
    assert run.tally.tables == 4
    assert "energy, J 18.6579 18.66 agrees" in page
    for one in run.shown:
        if isinstance(one, ShownTable):
            assert one.title in output
            assert all(cell in page for row in one.rows for cell in row if "[" not in cell)
        if isinstance(one, ShownFigure):
            assert (tmp_path / one.file).exists()
    red = [one.text for one in run.shown if isinstance(one, Remark) and "[red]" in one.text]
    assert red == []  # no figure violates a rule
    assert import_module(SECTIONS[name].module).run


def test_the_index_shows_one_live_robot_per_paper(quick, tmp_path):
    reproduce(tmp_path)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    frames = re.findall(r'<iframe class="live" src="([^"]*)"', index)
    assert len(frames) == len(PAPERS)
    assert all((tmp_path / frame).exists() for frame in frames)
    (tmp_path / frames[0]).unlink()
    assert index_html(stored_runs(tmp_path)[0], tmp_path).count("<iframe") == len(PAPERS) - 1


def test_every_paper_has_a_live_robot(tmp_path):
    assert set(ROBOTS) == set(PAPERS)
    write_live_pages(tmp_path, ["Shafei 2018"])
    assert "wasm-unsafe-eval" in (tmp_path / "live" / "shafei-2018.html").read_text(encoding="utf-8")
