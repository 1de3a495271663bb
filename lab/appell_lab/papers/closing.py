"""Lists at the end of a section (assumed, not reached, refuted) and of a paper (all printed items with verdicts)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from appell_lab.papers.ledger import LEDGERS, Item, Ledger, Ruling
from appell_lab.papers.ledger.classics import CHOICES
from appell_lab.papers.page import Page

COLOURS = {
    Ruling.REPRODUCED: "green",
    Ruling.REFUTED: "red",
    Ruling.NOT_REACHABLE: "yellow",
    Ruling.NOT_DYNAMICS: "dim",
}


def end_section(page: Page, section: str) -> None:
    """Show the three lists of a section, each entry with its reason, and items that the section failed to show."""
    assumed = [(book.paper, a) for book in LEDGERS for a in book.assumptions] + [("classics", a) for a in CHOICES]
    lists = {
        "assumed": [(paper, a.text, a.reason) for paper, a in assumed if a.section == section],
        "not reached": list(_entries(section, Ruling.NOT_REACHABLE)),
        "refuted": list(_entries(section, Ruling.REFUTED)),
    }
    for heading, entries in lists.items():
        page.listed(heading, entries)
    for paper, item in unshown(page, section):
        page.note(f"[red]{paper}, {item.name} is missing in this section: '{item.title}'[/]")
    page.console.print()


def _entries(section: str, verdict: Ruling) -> Iterator[tuple[str, str, str]]:
    for book in LEDGERS:
        for item in book.items:
            if item.section == section and item.verdict is verdict:
                yield book.paper, f"{item.name}, {item.prints}", item.reason


def unshown(page: Page, section: str) -> list[tuple[str, Item]]:
    """Return the items of this section whose title matches none of its tables and figures."""
    return [
        (book.paper, item)
        for book in LEDGERS
        for item in book.items
        if item.section == section and not any(item.title in title for title in page.titles)
    ]


def end_papers(console: Console, papers: Iterable[str]) -> None:
    """Print every item of each paper with its verdict."""
    for book in LEDGERS:
        if book.paper in papers:
            console.print(_closing_table(book))


def _closing_table(book: Ledger) -> Table:
    tally = book.tally()
    title = f"[bold]{book.paper}:[/] {len(book.items)} printed items, " + ", ".join(
        f"{tally[verdict]} {verdict}" for verdict in Ruling
    )
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    for heading in ("item", "content", "verdict", "section"):
        table.add_column(heading, overflow="fold")
    for item in book.items:
        verdict = f"[{COLOURS[item.verdict]}]{item.verdict}[/]"
        table.add_row(item.name, escape(item.prints), verdict, item.section)
    return table
