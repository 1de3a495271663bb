"""Group `reproduce`: every section of `appell reproduce`: its JSON, its content, and the pixels of its figures.

Some sections measure times. Only the items listed below are masked: columns and rows of tables, one sentence of a note,
and the figure `crossover`, half of which shows times.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from digest_commands import without_clocks
from digest_internals import command_line
from digests import masked

Entry = tuple[str, Callable[[], Any]]
SECTIONS = (
    "dynamics",
    "puma",
    "counts",
    "branch-by-branch",
    "stability",
    "impacts",
    "agile-wrist",
    "constraints",
    "identification",
    "control",
)
CLOCK_COLUMNS = ("ns", "by the clock", "time, ABA / LDLᵀ")
CLOCK_ROWS = ("time, s",)  # first cell of a row
CLOCK_TABLES = ("Time of one control step, ms",)  # rows of appell itself
CLOCK_NOTES = re.compile(r"The run took \S+ s of processor time")
CLOCK_FIGURES = ("crossover.png",)
OF_THE_RUN = ("seconds", "finished", "machine", "versions")  # when, where and how long a section ran


def cases() -> Iterator[Entry]:
    """Yield three keys per section."""
    for section in SECTIONS:
        for part in ("json", "shown", "figures"):
            yield f"{section} ({part})", lambda section=section, part=part: parts(section)[part]


@cache
def parts(section: str) -> dict[str, Any]:
    """Run a section and return its JSON, the content of its file and its figures."""
    from PIL import Image
    from typer.testing import CliRunner

    with tempfile.TemporaryDirectory(prefix="appell-reproduce-") as folder:
        arguments = ["reproduce", section, "--output", folder, "--json"]
        result = CliRunner().invoke(command_line(), arguments, env={"COLUMNS": "100", "NO_COLOR": "1"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        kept = json.loads((Path(folder) / "sections" / f"{section}.json").read_text(encoding="utf-8"))
        figures = {}
        for path in sorted(Path(folder).rglob("*.png")):
            with Image.open(path) as image:
                drawn = np.array(image.convert("RGBA"))
            figures[path.name] = drawn.shape if path.name in CLOCK_FIGURES else drawn
        data = without_clocks(json.loads(masked(result.stdout, folder)))
        shown = {key: value for key, value in kept.items() if key not in OF_THE_RUN}
        shown["shown"] = [without_times(each) for each in shown["shown"]]
        return {"json": [result.exit_code, data], "shown": shown, "figures": figures}


def without_times(shown: dict[str, Any]) -> dict[str, Any]:
    """Return a table, figure or remark of a section without measured times."""
    if shown["kind"] != "table":
        return shown
    rows = []
    for name, *cells in shown["rows"]:
        timed = name in CLOCK_ROWS or (shown["title"] in CLOCK_TABLES and name.startswith("appell"))
        columns = shown["columns"][1:]
        masks = ["<clock>" if timed or column in CLOCK_COLUMNS else None for column in columns]
        rows.append([name, *(mask or cell for mask, cell in zip(masks, cells, strict=True))])
    return shown | {"rows": rows, "note": CLOCK_NOTES.sub("The run took <clock> s of processor time", shown["note"])}
