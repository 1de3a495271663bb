"""How a section ends and how a paper ends: what was assumed, not reached and refuted; every item of the print."""

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
    Ruling.NOT_OF_DYNAMICS: "dim",
}


def end_section(page: Page, section: str) -> None:
    """The three lists of a section, each entry with its reason, and items that it promised but did not show."""
    assumed = [(book.paper, a) for book in LEDGERS for a in book.assumptions] + [("classics", a) for a in CHOICES]
    lists = {
        "assumed": [(paper, a.text, a.reason) for paper, a in assumed if a.section == section],
        "not reached": list(_found(section, Ruling.NOT_REACHABLE)),
        "refuted": list(_found(section, Ruling.REFUTED)),
    }
    for heading, entries in lists.items():
        page.listed(heading, entries)
    for paper, item in unshown(page, section):
        page.note(f"[red]{paper}, {item.name} was to be shown here, and was not: '{item.title}'[/]")
    page.console.print()


def _found(section: str, verdict: Ruling) -> Iterator[tuple[str, str, str]]:
    for book in LEDGERS:
        for item in book.items:
            if item.section == section and item.verdict is verdict:
                yield book.paper, f"{item.name}, {item.prints}", item.reason


def unshown(page: Page, section: str) -> list[tuple[str, Item]]:
    """Items that name this section but no title of its tables or figures."""
    return [
        (book.paper, item)
        for book in LEDGERS
        for item in book.items
        if item.section == section and not any(item.title in title for title in page.titles)
    ]


def end_papers(console: Console, papers: Iterable[str]) -> None:
    """For each paper every item of its print and what became of it."""
    for book in LEDGERS:
        if book.paper in papers:
            console.print(_closing_table(book))


def _closing_table(book: Ledger) -> Table:
    tally = book.tally()
    title = f"[bold]{book.paper}:[/] {len(book.items)} items in print, " + ", ".join(
        f"{tally[verdict]} {verdict}" for verdict in Ruling
    )
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    for heading in ("in print", "what", "verdict", "section"):
        table.add_column(heading, overflow="fold")
    for item in book.items:
        verdict = f"[{COLOURS[item.verdict]}]{item.verdict}[/]"
        table.add_row(item.name, escape(item.prints), verdict, item.section)
    return table
