"""The ledgers of the papers: all numbered items are listed, with a section and a reason."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from appell_lab.papers import PAPERS, SECTIONS
from appell_lab.papers.closing import end_papers, end_section, unshown
from appell_lab.papers.ledger import LEDGERS, ItemKind, Ruling
from appell_lab.papers.ledger.text import markdown
from appell_lab.papers.page import Page

# numbers of tables and figures in each paper, counted in the papers themselves
IN_PRINT = {
    "Provenzano": (2, 2),
    "Mata 2002": (7, 4),
    "Valera 2003": (7, 5),
    "Abedloo 2014": (0, 7),
    "Shafei 2018": (3, 19),
}
BOOKS = pytest.mark.parametrize("book", LEDGERS, ids=lambda book: book.paper)


def console() -> Console:
    return Console(file=io.StringIO(), width=120)


def test_every_paper_has_a_ledger():
    assert [book.paper for book in LEDGERS] == list(PAPERS) == list(IN_PRINT)


@BOOKS
def test_every_numbered_table_and_figure_is_in_the_ledger_and_no_other(book):
    tables, figures = IN_PRINT[book.paper]
    assert book.numbers(ItemKind.TABLE) == {str(k) for k in range(1, tables + 1)}
    assert book.numbers(ItemKind.FIGURE) == {str(k) for k in range(1, figures + 1)}
    assert book.numbers(ItemKind.CLAIM)


@BOOKS
def test_items_that_are_not_reproduced_have_a_reason_and_others_a_section(book):
    for item in book.items:
        assert item.reason or item.verdict is Ruling.REPRODUCED, item.name
        assert item.section or item.verdict is Ruling.NOT_DYNAMICS, item.name
        assert bool(item.section) == bool(item.title), item.name


@BOOKS
def test_the_section_of_an_item_is_about_its_paper(book):
    for entry in (*book.items, *book.assumptions):
        if entry.section:
            assert book.paper in SECTIONS[entry.section].papers, entry


@BOOKS
def test_the_counts_of_a_paper_add_up_to_its_items(book):
    screen = console()
    end_papers(screen, [book.paper])
    text = screen.file.getvalue()
    assert sum(book.tally().values()) == len(book.items)
    for verdict in Ruling:
        assert f"{book.tally()[verdict]} {verdict}" in text
    for kind in (ItemKind.TABLE, ItemKind.FIGURE):
        assert all(f"{kind} {number} " in text for number in book.numbers(kind))


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_ends_with_the_lists_assumed_not_reached_and_refuted(section, tmp_path):
    page = Page(console(), tmp_path)
    end_section(page, section)
    text = page.console.file.getvalue()
    assert [word for word in ("assumed", "not reached", "refuted") if f"\n{word}" not in f"\n{text}"] == []


def test_an_item_missing_in_a_section_is_named(tmp_path):
    page = Page(console(), tmp_path)
    page.table("Energy of the robot, J", ["x"], [])
    missing = {item.name for _, item in unshown(page, "impacts")}
    assert "Figure 19" in missing
    assert not any(item.title == "Energy of the robot" for _, item in unshown(page, "impacts"))
    end_section(page, "impacts")
    assert "Shafei 2018, Figure 19 is missing in this section" in page.console.file.getvalue()


def test_the_page_of_the_documentation_is_generated_from_the_ledgers():
    page = Path(__file__).parents[3] / "docs" / "errata.md"
    assert page.read_text(encoding="utf-8") == markdown(), "run: python docs/errata.py"
