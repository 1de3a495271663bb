"""Standalone HTML documents with text and tables, with light and dark themes, for print and for small screens.

The style sheet is part of the document and nothing is fetched from the network. Wide tables scroll horizontally.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #22262b; --soft: #5b636d; --line: #dde1e6; --paper: #ffffff; --tint: #f5f7f9;
  --link: #005b8f; --green: #00704f; --yellow: #8f5a00; --red: #b3360a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e6ea; --soft: #a2abb6; --line: #363d46; --paper: #14171b; --tint: #1d2228;
    --link: #7cc4f2; --green: #4ecba0; --yellow: #e8b04a; --red: #f58a5e; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .8rem; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 3rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; line-height: 1.35; margin: 2rem 0 .4rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--link); text-underline-offset: .15em; }
code, pre { font: .9em/1.5 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; }
pre { overflow-x: auto; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
figure { margin: 1.2rem 0; }
figcaption { color: var(--soft); font-size: .87rem; margin-top: .3rem; }
.scroll { overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; line-height: 1.4; }
th, td { padding: .22rem .8rem .22rem 0; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top;
  white-space: pre-wrap; }
td > span { white-space: nowrap; } td > span.reason { white-space: normal; }
th { font-weight: 600; border-bottom-color: var(--soft); }
th:first-child, td:first-child { text-align: left; }
table.text th, table.text td, .left2 :is(th, td):nth-child(2) { text-align: left; }
table.text :is(th, td):first-child { white-space: nowrap; }
tfoot td { border-bottom: 0; font-weight: 600; }
.note, .dim { color: var(--soft); }
.note { font-size: .92rem; }
.bold { font-weight: 600; }
.green { color: var(--green); } .yellow { color: var(--yellow); } .red { color: var(--red); }
@media print { body { max-width: none; } h2, h3, tr, figure { break-inside: avoid; } }
"""


def document(title: str, body: Iterable[str], style: str = "") -> str:
    """Return a complete HTML document; the parts of the body are HTML, the title is plain text."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}{style}</style></head>",
            "<body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], footer: Sequence[str] = (), kind: str = ""
) -> str:
    """Return an HTML table.

    Parameters
    ----------
    columns : column titles, as HTML
    rows : cells, as HTML
    footer : cells of the last row, set in bold
    kind : str
        Alignment. Cells are right-aligned except in the first column; "left2" also left-aligns the second column,
        "text" all columns.
    """
    name = f' class="{kind}"' if kind else ""
    head = "".join(f"<th>{cell}</th>" for cell in columns)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    foot = f"<tfoot><tr>{''.join(f'<td>{cell}</td>' for cell in footer)}</tr></tfoot>" if footer else ""
    inside = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>{foot}"
    return f'<div class="scroll"><table{name}>{inside}</table></div>'
