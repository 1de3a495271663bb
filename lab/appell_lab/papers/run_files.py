"""Sections that were run, stored in the folder of their figures: one file per section."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from appell.errors import ArgumentError
from appell.files import write_text
from appell_lab.bench.machine import machine, versions
from appell_lab.papers import SECTIONS
from appell_lab.papers.page import Page
from appell_lab.papers.shown import SectionRun

FOLDER = "sections"


def check_folder(output: Path) -> None:
    """Create the output folder, or raise before any work is done."""
    try:
        (output / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"the folder '{output}' cannot be created: {error.strerror or error}.", hint="Choose another --output."
        ) from None


def store_run(page: Page, name: str, seconds: float) -> SectionRun:
    """Write the content of a section, replacing an earlier run of it."""
    finished = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    run = SectionRun(name, tuple(page.shown), page.tally, page.measures, seconds, finished, machine(), versions())
    text = json.dumps(run.to_json(), indent=1, ensure_ascii=False) + "\n"
    write_text(page.folder / FOLDER / f"{name}.json", text, "the results of the section")
    return run


def stored_runs(output: Path) -> tuple[dict[str, SectionRun], list[str]]:
    """Return the sections stored in a folder, in the order of the command, and the paths of invalid files."""
    runs, invalid = {}, []
    for name in SECTIONS:
        path = output / FOLDER / f"{name}.json"
        if not path.exists():
            continue
        try:
            runs[name] = SectionRun.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            invalid.append(str(path))
    return runs, invalid
