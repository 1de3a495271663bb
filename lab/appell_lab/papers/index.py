"""The index page of `appell reproduce`: all tables and figures of a folder on one page, by paper and by section.

It is made from the stored content of the sections and from the ledgers, with one live robot per paper. It contains
every section that was run into the folder, and names the others with the command that adds them. Links are relative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise
from pathlib import Path

from rich.text import Text

from appell.files import write_text
from appell.show.page.document import document, html_table
from appell_lab.papers import PAPERS, SECTIONS
from appell_lab.papers.closing import COLOURS, measures_of
from appell_lab.papers.ledger import LEDGERS, Item, Ledger, Ruling
from appell_lab.papers.live_robots import ROBOTS, page_of
from appell_lab.papers.shown import Listed, Remark, SectionRun, Shown, ShownFigure, ShownTable

INDEX = "index.html"
HEAD = "Reproduced results of the papers"
STYLE = """
nav ul { columns: 2 22rem; column-gap: 2.5rem; padding: 0; margin: .3rem 0 1rem; list-style: none; }
nav li { break-inside: avoid; margin: .12rem 0; }
nav details ul { columns: 1; font-size: .9rem; padding-left: 1.2rem; }
nav b { display: block; margin-top: .8rem; }
summary { cursor: pointer; }
.live { width: 100%; height: 30rem; border: 1px solid var(--line); }
.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem; margin: 1rem 0; }
.small figure { margin: 0; }
.small img { border: 1px solid var(--line); }
dl { margin: .6rem 0; } dt { font-weight: 600; margin-top: .6rem; } dd { margin: .2rem 0 .2rem 1.2rem; }
.reason { display: block; color: var(--soft); }
.text td:nth-child(2) { min-width: 13rem; }
"""
Runs = Mapping[str, SectionRun]


def write_index(output: Path, runs: Runs) -> Path:
    """Write the page atomically and return its path."""
    path = output / INDEX
    write_text(path, index_html(runs, output), "the index")
    return path


def index_html(runs: Runs, folder: Path) -> str:
    """Return the page; pictures that are missing in the folder are named instead of shown."""
    body = [f"<h1>{HEAD}</h1>", *_introduction(runs), *_contents(runs), *_summary(runs)]
    body.append('<h2 id="papers">Printed items and verdicts</h2>')
    for book in LEDGERS:
        body += _paper(book, runs, folder)
    for run in runs.values():
        body += _section(run, folder)
    return document(HEAD, body, STYLE)


def marked(text: str) -> str:
    """Convert markup of rich to HTML: a style becomes a class of the same name."""
    read = Text.from_markup(text)
    edges = sorted({0, len(read.plain), *(edge for span in read.spans for edge in (span.start, span.end))})
    parts = []
    for start, end in pairwise(edges):
        styles = " ".join(str(span.style) for span in read.spans if span.start <= start and end <= span.end)
        piece = escape(read.plain[start:end])
        parts.append(f'<span class="{escape(styles)}">{piece}</span>' if styles else piece)
    return "".join(parts)


def _introduction(runs: Runs) -> Iterator[str]:
    yield (
        '<p>Computed numbers are beside printed ones: <span class="green">agrees</span> if a computed number rounds to '
        'the printed one, else <span class="yellow">the difference</span>, which a note explains.</p>'
    )
    machines = {" · ".join(_machine(run)): run.finished for run in runs.values()}
    for machine, finished in machines.items():
        yield f'<p class="note">Computed on {escape(machine)}, last on {escape(finished)} UTC.</p>'


def _machine(run: SectionRun) -> list[str]:
    here = run.machine
    words = [f"{here.get('cpu')}, {here.get('cores')} cores", f"{here.get('system')}", f"Python {here.get('python')}"]
    return words + [f"{name} {number}" for name, number in run.versions.items() if number != "not installed"]


def _contents(runs: Runs) -> Iterator[str]:
    yield '<nav aria-label="Contents"><a href="#summary">Summary</a><b>Papers</b><ul>'
    for book in LEDGERS:
        yield f'<li><a href="#{_anchor(book.paper)}">{escape(book.paper)}</a>: {_tally(book, runs)}</li>'
    yield "</ul><b>Sections</b><ul>"
    for name, section in SECTIONS.items():
        if name in runs:
            yield f'<li><details><summary><a href="#{name}">{name}</a>: {escape(section.shows)}</summary><ul>'
            for k, one in enumerate(runs[name].shown):
                if isinstance(one, (ShownTable, ShownFigure)):
                    yield f'<li><a href="#{name}-{k}">{_title(one)}</a></li>'
            yield "</ul></details></li>"
        else:
            yield f'<li class="dim">{name}: not in this folder yet; run <code>appell reproduce {name}</code></li>'
    yield "</ul></nav>"


def _summary(runs: Runs) -> Iterator[str]:
    yield '<h2 id="summary">Summary</h2>'
    rows, tallies = [], [run.tally for run in runs.values()]
    for name, run in runs.items():
        counts = (run.tally.tables, run.tally.agreed, run.tally.differed, run.tally.figures)
        numbers = (*map(str, counts), f"{run.seconds:.0f}", f"{run.finished} UTC")
        rows.append((f'<a href="#{name}">{name}</a>', escape(", ".join(SECTIONS[name].papers)), *numbers))
    sums = [sum(getattr(tally, part) for tally in tallies) for part in ("tables", "agreed", "differed", "figures")]
    seconds = sum(run.seconds for run in runs.values())
    columns = ("section", "papers", "tables", "digits agree", "differ", "figures", "seconds", "finished")
    yield html_table(columns, rows, ("total", "", *map(str, sums), f"{seconds:.0f}", ""), "left2")
    if sums[1] + sums[2]:
        others = "; notes explain the others" if sums[2] else ""
        yield f"<p>{sums[1]} of {sums[1] + sums[2]} printed numbers agree to their last digit{others}.</p>"


def _paper(book: Ledger, runs: Runs, folder: Path) -> Iterator[str]:
    yield f'<h3 id="{_anchor(book.paper)}">{escape(book.paper)}</h3>'
    yield f'<p class="note">{escape(PAPERS[book.paper])}</p>'
    yield f"<p>{len(book.items)} printed items: {_tally(book, runs)}.</p>"
    rows, pictures, measures = [], [], measures_of(runs)
    for item in book.items:
        targets = _targets(item, runs)
        evidence, ruling = item.evidence(measures), item.verdict(measures)
        reason = f'<span class="reason">{escape(evidence)}</span>' if evidence else ""
        verdict = f'<span class="{COLOURS[ruling]}">{ruling}</span>'
        links = [f'<a href="#{anchor}">{_title(one)}</a>' for anchor, one in targets] or [escape(item.section)]
        rows.append((escape(item.name), escape(item.prints) + reason, verdict, ", ".join(links)))
        pictures += [(anchor, one) for anchor, one in targets if isinstance(one, ShownFigure)]
    yield html_table(("item", "content", "verdict", "shown in"), rows, kind="text")
    yield from _live(book.paper, folder)
    if pictures:
        yield '<div class="small">'
        for anchor, one in dict(pictures).items():
            caption = f"<figcaption>{_title(one)}</figcaption>"
            yield f'<figure><a href="#{anchor}">{_image(one, folder)}</a>{caption}</figure>'
        yield "</div>"


def _live(paper: str, folder: Path) -> Iterator[str]:
    """Show the live page of a paper's robot, if it is in the folder."""
    if not (folder / (file := page_of(paper))).exists():
        return
    shows = escape(ROBOTS[paper].shows)
    yield f'<iframe class="live" src="{escape(file)}" title="{shows}" loading="lazy"></iframe>'
    yield f'<p class="note">{shows} Simulated in this page: <a href="{escape(file)}">open it alone</a>.</p>'


def _tally(book: Ledger, runs: Runs) -> str:
    tally = book.tally(measures_of(runs))
    return ", ".join(f"{count} {verdict}" for verdict in Ruling if (count := tally[verdict]))


def _targets(item: Item, runs: Runs) -> list[tuple[str, ShownTable | ShownFigure]]:
    """Return the anchors of the tables and figures that show an item, matched by its title."""
    if item.section not in runs:
        return []
    return [
        (f"{item.section}-{k}", one)
        for k, one in enumerate(runs[item.section].shown)
        if isinstance(one, (ShownTable, ShownFigure)) and item.title in one.title
    ]


def _section(run: SectionRun, folder: Path) -> Iterator[str]:
    section = SECTIONS[run.name]
    of = f"{', '.join(section.papers)}. " if section.papers else ""
    yield f'<h2 id="{run.name}">{run.name}: {escape(section.shows)}</h2>'
    yield f'<p class="note">{escape(of)}Run time {run.seconds:.0f} s, finished {escape(run.finished)} UTC.</p>'
    for k, one in enumerate(run.shown):
        yield from _html(one, f"{run.name}-{k}", run.name, folder)


def _html(one: Shown, anchor: str, section: str, folder: Path) -> Iterator[str]:
    if isinstance(one, ShownTable):
        yield f'<h3 id="{anchor}">{_title(one)}</h3>'
        yield html_table([marked(cell) for cell in one.columns], ([marked(cell) for cell in row] for row in one.rows))
        if one.note:
            yield f'<p class="note">{escape(one.note)}</p>'
    elif isinstance(one, ShownFigure):
        caption = "; ".join([_title(one), *_in_print(one, section)])
        yield f'<figure id="{anchor}"><a href="{escape(one.file)}">{_image(one, folder)}</a>'
        yield f"<figcaption>{caption}</figcaption></figure>"
    elif isinstance(one, Remark):
        yield from (f"<p>{line}</p>" for line in marked(one.text).split("\n"))
    elif isinstance(one, Listed):
        yield from _list(one)


def _list(one: Listed) -> Iterator[str]:
    if not one.entries:
        yield f"<p><b>{escape(one.heading.capitalize())}</b>: none.</p>"
        return
    yield f"<dl><dt>{escape(one.heading.capitalize())}</dt>"
    for paper, text, reason in one.entries:
        yield f'<dd>{escape(paper)}: {escape(text)}. <span class="dim">{escape(reason)}</span></dd>'
    yield "</dl>"


def _title(one: ShownTable | ShownFigure) -> str:
    return marked(one.title) if isinstance(one, ShownTable) else escape(one.file)


def _in_print(one: ShownFigure, section: str) -> list[str]:
    """Return the items of the ledgers that a figure shows."""
    return [
        f"{escape(book.paper)}, {escape(item.name)}: {escape(item.prints)}"
        for book in LEDGERS
        for item in book.items
        if item.section == section and item.title in one.title
    ]


def _image(one: ShownFigure, folder: Path) -> str:
    if not (folder / one.file).exists():
        return f"{escape(one.file)} is not in this folder"
    size = f' width="{one.size[0]}" height="{one.size[1]}"' if one.size else ""
    return f'<img src="{escape(one.file)}" alt="{escape(one.title)}" loading="lazy"{size}>'


def _anchor(paper: str) -> str:
    return paper.lower().replace(" ", "-")
