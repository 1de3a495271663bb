"""Where in a TOML document its tables and keys stand, which the parser of the standard library does not tell.

The document has been parsed already, so that it is known to be whole. What strings and comments hold is blanked out;
then a line that is not inside brackets is a header, a key with its value, or nothing.
"""

from __future__ import annotations

import re

Place = tuple[str | int, ...]  # ("link", 2, "axis"): a key of the second [[link]]; ("root",): a table

_HIDDEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)


def lines_of(text: str) -> dict[Place, int]:
    """The line of every table and of every key in it, as far as they are written without quotes."""
    bare = _HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), text)
    found: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    depth = 0
    for number, line in enumerate(bare.split("\n"), start=1):
        line = line.strip()
        if depth == 0 and line.startswith("["):
            table = tuple(part.strip() for part in line.strip("[] ").split("."))
            if line.startswith("[["):
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
            continue
        key, equals, value = line.partition("=")
        if depth == 0 and equals:
            found.setdefault((*table, *(part.strip() for part in key.split("."))), number)
            line = value
        depth += sum(line.count(bracket) for bracket in "[{") - sum(line.count(bracket) for bracket in "]}")
    return found
