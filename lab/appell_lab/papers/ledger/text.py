"""The ledgers as a Markdown page: printed items with verdicts, assumptions and errata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from appell_lab.papers import PAPERS
from appell_lab.papers.ledger import LEDGERS, Assumption, Erratum, Ledger, Ruling
from appell_lab.papers.ledger.classics import CHOICES, CLASSICS

HEAD = """# What the papers print: verdicts, assumptions, errata

Every numbered table and figure and every main claim of the five papers that `appell reproduce` computes, with a verdict
and the section that shows it:

- *reproduced*: the computed result agrees, by the measure in the last column if one is named;
- *refuted*: the computed result contradicts the paper, for the reason given;
- *not reachable*: the result cannot be computed from what is printed;
- *not dynamics*: a drawing or a diagram.

The verdicts are entered by hand after inspecting a run. Assumptions are our choices where a paper is silent.
`python docs/errata.py` generates this page from `appell_lab.papers.ledger`; a test compares the two.
"""


def markdown() -> str:
    """Return the page."""
    papers = (line for book in LEDGERS for line in _paper(book))
    return "\n".join([HEAD, *_summary(), *papers, *_classics()])


def _summary() -> Iterator[str]:
    yield from _table(
        ("paper", "printed items", *Ruling),
        ((book.paper, len(book.items), *(book.tally()[verdict] for verdict in Ruling)) for book in LEDGERS),
    )


def _paper(book: Ledger) -> Iterator[str]:
    yield from (f"## {book.paper}", "", PAPERS[book.paper], "")
    yield from _table(
        ("item", "content", "verdict", "section", "measure or reason"),
        ((item.name, item.prints, item.verdict, item.section, item.reason) for item in book.items),
    )
    yield from _ending(book.assumptions, book.errata)


def _classics() -> Iterator[str]:
    yield from ("## Classics of constrained motion", "", "Linkages, wheels and skates, by other authors.", "")
    yield from _ending(CHOICES, CLASSICS)


def _ending(assumptions: Iterable[Assumption], errata: Iterable[Erratum]) -> Iterator[str]:
    yield from ("**Assumed**", "")
    yield from (f"- {a.section}: {a.text}. {a.reason}" for a in assumptions)
    yield from ("", "**Errata**", "")
    yield from (f"- {erratum.location}: {erratum.text}" for erratum in errata)
    yield ""


def _table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    for cells in (columns, ["---"] * len(columns), *rows):
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
    yield ""
