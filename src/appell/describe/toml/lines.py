"""Line numbers of the tables and keys of a TOML document, which the parser of the standard library does not report.

The document has been parsed before, so it is known to be valid. The contents of strings and comments are blanked out;
then every line outside brackets is a header, a key with its value, or empty.
"""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]  # ("link", 2, "axis") is a key of the second [[link]], ("root",) a table

_HIDDEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)


def lines_of(text: str) -> dict[KeyPath, int]:
    """Return the line of every table and key that is written without quotes."""
    bare = _HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), text)
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    depth = 0
    for number, line in enumerate(bare.split("\n"), start=1):
        line = line.strip()
        if depth == 0 and line.startswith("["):
            table = tuple(part.strip() for part in line.strip("[] ").split("."))
            if line.startswith("[["):
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
            continue
        key, equals, value = line.partition("=")
        if depth == 0 and equals:
            lines.setdefault((*table, *(part.strip() for part in key.split("."))), number)
            line = value
        depth += sum(line.count(bracket) for bracket in "[{") - sum(line.count(bracket) for bracket in "]}")
    return lines
