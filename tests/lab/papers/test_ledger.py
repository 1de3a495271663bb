"""The ledgers of the papers: all numbered items are listed, and their verdicts follow from measured quantities."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from appell_lab.papers import PAPERS, SECTIONS
from appell_lab.papers.closing import end_papers, end_section, unshown
from appell_lab.papers.ledger import LEDGERS, ItemKind, Ruling
from appell_lab.papers.ledger.classics import CLASSICS
from appell_lab.papers.ledger.item import Item, at_least, near, rounds_to
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
ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MEASURES = json.loads((DOCS / "paper_measures.json").read_text(encoding="utf-8"))  # of a complete run
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
def test_items_that_are_not_reproduced_state_why_and_others_have_a_section(book):
    for item in book.items:
        verdict = item.verdict(MEASURES)
        assert item.evidence(MEASURES) or verdict is Ruling.REPRODUCED, item.name
        assert item.section or verdict is Ruling.NOT_DYNAMICS, item.name
        assert bool(item.section) == bool(item.title), item.name


@BOOKS
def test_every_check_of_a_reproduced_item_changes_its_verdict_if_its_quantity_leaves_the_interval(book):
    for item in book.items:
        if item.verdict(MEASURES) is not Ruling.REPRODUCED:
            continue
        for check in item.checks:
            bounded = check.high < float("inf")
            beyond = check.high + abs(check.high) + 1.0 if bounded else check.low - abs(check.low) - 1.0
            for wrong in (beyond, float("nan")):
                measures = MEASURES | {item.section: MEASURES[item.section] | {check.quantity: wrong}}
                expected = Ruling.NOT_REACHABLE if item.missing else Ruling.REFUTED
                assert item.verdict(measures) is expected, (item.name, check.quantity)


@BOOKS
def test_an_item_that_failed_is_reproduced_once_all_its_quantities_are_in_their_intervals(book):
    for item in book.items:
        if item.checks and item.verdict(MEASURES) in (Ruling.REFUTED, Ruling.NOT_REACHABLE):
            inside = {check.quantity: max(check.low, min(check.high, 0.0)) for check in item.checks}
            measures = MEASURES | {item.section: MEASURES[item.section] | inside}
            assert item.verdict(measures) is Ruling.REPRODUCED, item.name


@BOOKS
def test_items_of_sections_that_were_not_run_count_as_not_run(book):
    only = {"stability": MEASURES["stability"]}
    for item in book.items:
        judged = item.verdict(only)
        assert (
            judged is item.verdict(MEASURES)
            if item.section == "stability"
            else judged
            in (
                Ruling.NOT_RUN,
                Ruling.NOT_DYNAMICS,
            )
        )


def test_larger_errors_of_gibbs_appell_refute_its_stability():
    """The run of the section `stability` with errors of GA twenty times as large."""
    values = dict(MEASURES["stability"])
    for quantity in values:
        if quantity.endswith("over that of GA, Gauss-Jordan"):
            values[quantity] /= 20.0
    (mata,) = (book for book in LEDGERS if book.paper == "Mata 2002")
    (claim,) = (item for item in mata.items if "more stable than CRBA" in item.prints)
    assert claim.verdict(MEASURES) is Ruling.REPRODUCED
    assert claim.verdict(MEASURES | {"stability": values}) is Ruling.REFUTED


def test_checks_are_intervals():
    assert rounds_to("x", "0.66").holds(0.6649)
    assert not rounds_to("x", "0.66").holds(0.666)
    assert near("x", -2.0, 0.1).holds(-2.2)
    assert not at_least("x", 1.0).holds(float("nan"))
    item = Item(ItemKind.TABLE, "1", "a number", "puma", "a table", (near("x", 2.0, 0.1),), missing="No data.")
    assert item.verdict({}) is item.verdict({"puma": {}}) is Ruling.NOT_RUN
    assert item.verdict({"puma": {"x": 3.0}}) is Ruling.NOT_REACHABLE
    assert item.evidence({"puma": {"x": 3.0}}) == "x: 3 (required: 1.8 to 2.2). No data."


@BOOKS
def test_the_section_of_an_item_is_about_its_paper(book):
    for entry in (*book.items, *book.assumptions):
        if entry.section:
            assert book.paper in SECTIONS[entry.section].papers, entry


@BOOKS
def test_the_counts_of_a_paper_add_up_to_its_items(book):
    screen = console()
    end_papers(screen, [book.paper], MEASURES)
    text = screen.file.getvalue()
    tally = book.tally(MEASURES)
    assert sum(tally.values()) == len(book.items)
    assert tally[Ruling.NOT_RUN] == 0
    assert all(f"{count} {verdict}" in text for verdict, count in tally.items())
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


def test_the_evidence_of_every_erratum_exists():
    """Titles of tables are checked by tests/lab/papers/test_sections.py as well, which runs the sections."""
    titles = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "lab/appell_lab/papers").glob("*.py"))
    for erratum in (*CLASSICS, *(erratum for book in LEDGERS for erratum in book.errata)):
        file, _, test = erratum.evidence.partition("::")
        section, _, title = erratum.evidence.partition(": ")
        if test:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), erratum
        else:
            assert section in SECTIONS, erratum
            assert title, erratum
            assert title in titles, erratum


def test_the_page_of_the_documentation_is_generated_from_the_ledgers():
    page = DOCS / "errata.md"
    assert page.read_text(encoding="utf-8") == markdown(MEASURES), "run: python docs/errata.py FOLDER"
