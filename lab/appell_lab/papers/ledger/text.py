"""The ledgers as a Markdown page: printed items with verdicts, assumptions and errata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from appell_lab.papers import PAPERS
from appell_lab.papers.ledger import LEDGERS, Assumption, Erratum, Ledger, Measures, Ruling
from appell_lab.papers.ledger.classics import CHOICES, CLASSICS

HEAD = """# What the papers print: verdicts, assumptions, errata

Every numbered table and figure and every main claim of the five papers that `appell reproduce` computes, with a verdict
and the section that shows it:

- *reproduced*: every quantity in the last column is in its required interval;
- *refuted*: a quantity is outside, so that the computed result contradicts the paper;
- *not reachable*: a quantity is outside or absent because the paper does not print what is needed;
- *not dynamics*: a drawing or a diagram.

The verdicts follow from the quantities that a run of `appell reproduce` measured (`docs/paper_measures.json`); tests
measure them again. Assumptions are our choices where a paper is silent. `python docs/errata.py FOLDER` generates this
page from the sections that were run into a folder.
"""


def markdown(measures: Measures) -> str:
    """Return the page for the quantities measured by a run of all sections."""
    papers = (line for book in LEDGERS for line in _paper(book, measures))
    return "\n".join([HEAD, *_summary(measures), *papers, *_classics()])


def _summary(measures: Measures) -> Iterator[str]:
    rulings = [ruling for ruling in Ruling if ruling is not Ruling.NOT_RUN]
    yield from _table(
        ("paper", "printed items", *rulings),
        ((book.paper, len(book.items), *(book.tally(measures)[ruling] for ruling in rulings)) for book in LEDGERS),
    )


def _paper(book: Ledger, measures: Measures) -> Iterator[str]:
    yield from (f"## {book.paper}", "", PAPERS[book.paper], "")
    yield from _table(
        ("item", "content", "verdict", "section", "measured quantities and reasons"),
        (
            (item.name, item.prints, item.verdict(measures), item.section, item.evidence(measures))
            for item in book.items
        ),
    )
    yield from _ending(book.assumptions, book.errata)


def _classics() -> Iterator[str]:
    yield from ("## Classics of constrained motion", "", "Linkages, wheels and skates, by other authors.", "")
    yield from _ending(CHOICES, CLASSICS)


def _ending(assumptions: Iterable[Assumption], errata: Iterable[Erratum]) -> Iterator[str]:
    yield from ("**Assumed**", "")
    yield from (f"- {a.section}: {a.text}. {a.reason}" for a in assumptions)
    yield from ("", "**Errata**", "")
    yield from (f"- {erratum.location}: {erratum.text} Evidence: {_evidence(erratum)}." for erratum in errata)
    yield ""


def _evidence(erratum: Erratum) -> str:
    file, _, test = erratum.evidence.partition("::")
    if test:
        return f"`{test}` in `{file}`"
    section, _, title = erratum.evidence.partition(": ")
    return f"section {section}, table '{title}'"


def _table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    for cells in (columns, ["---"] * len(columns), *rows):
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
    yield ""
