"""Lists at the end of a section (assumed, not reached, refuted) and of a paper (all printed items with verdicts).

The verdicts follow from the quantities that the sections measured in this run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from appell_lab.papers.ledger import LEDGERS, Item, Ledger, Measures, Ruling
from appell_lab.papers.ledger.classics import CHOICES
from appell_lab.papers.page import Page
from appell_lab.papers.shown import SectionRun

COLOURS = {
    Ruling.REPRODUCED: "green",
    Ruling.REFUTED: "red",
    Ruling.NOT_REACHABLE: "yellow",
    Ruling.NOT_DYNAMICS: "dim",
    Ruling.NOT_RUN: "dim",
}


def measures_of(runs: Mapping[str, SectionRun]) -> Measures:
    """Return the quantities that sections measured."""
    return {name: run.measures for name, run in runs.items()}


def end_section(page: Page, section: str) -> None:
    """Show the three lists of a section, each entry with its reason, and items that the section failed to show."""
    assumed = [(book.paper, a) for book in LEDGERS for a in book.assumptions] + [("classics", a) for a in CHOICES]
    measures = {section: page.measures}
    lists = {
        "assumed": [(paper, a.text, a.reason) for paper, a in assumed if a.section == section],
        "not reached": list(_entries(section, measures, Ruling.NOT_REACHABLE)),
        "refuted": list(_entries(section, measures, Ruling.REFUTED)),
    }
    for heading, entries in lists.items():
        page.listed(heading, entries)
    for paper, item in unshown(page, section):
        page.note(f"[red]{paper}, {item.name} is missing in this section: '{item.title}'[/]")
    for paper, item, quantity in unmeasured(page, section):
        page.note(f"[red]{paper}, {item.name}: the section did not measure '{quantity}'[/]")
    page.console.print()


def _entries(section: str, measures: Measures, verdict: Ruling) -> Iterator[tuple[str, str, str]]:
    for book in LEDGERS:
        for item in book.items:
            if item.section == section and item.verdict(measures) is verdict:
                yield book.paper, f"{item.name}, {item.prints}", item.evidence(measures)


def unshown(page: Page, section: str) -> list[tuple[str, Item]]:
    """Return the items of this section whose title matches none of its tables and figures."""
    return [
        (book.paper, item)
        for book in LEDGERS
        for item in book.items
        if item.section == section and not any(item.title in title for title in page.titles)
    ]


def unmeasured(page: Page, section: str) -> list[tuple[str, Item, str]]:
    """Return the items of this section with a quantity that it did not measure; figures need matplotlib."""
    return [
        (book.paper, item, check.quantity)
        for book in LEDGERS
        for item in book.items
        for check in item.checks
        if item.section == section and check.quantity not in page.measures and not check.quantity.startswith("figure ")
    ]


def end_papers(console: Console, papers: Iterable[str], measures: Measures) -> None:
    """Print every item of each paper with the verdict of this run."""
    for book in LEDGERS:
        if book.paper in papers:
            console.print(_closing_table(book, measures))


def _closing_table(book: Ledger, measures: Measures) -> Table:
    tally = book.tally(measures)
    title = f"[bold]{book.paper}:[/] {len(book.items)} printed items, " + ", ".join(
        f"{tally[verdict]} {verdict}" for verdict in Ruling if tally[verdict]
    )
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    for heading in ("item", "content", "verdict", "section"):
        table.add_column(heading, overflow="fold")
    for item in book.items:
        ruling = item.verdict(measures)
        verdict = f"[{COLOURS[ruling]}]{ruling}[/]"
        table.add_row(item.name, escape(item.prints), verdict, item.section)
    return table
