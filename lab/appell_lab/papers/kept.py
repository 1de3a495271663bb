"""Sections that were run, kept in the folder of their figures: a file a section, so that none is lost by another."""

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
    """Make the folder that everything is written to, or raise before the work."""
    try:
        (output / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"the folder '{output}' cannot be made: {error.strerror or error}.", hint="another --output"
        ) from None


def keep(page: Page, name: str, seconds: float) -> SectionRun:
    """Write what a section has shown, in the place of what it showed before."""
    finished = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    run = SectionRun(name, tuple(page.shown), page.tally, seconds, finished, machine(), versions())
    text = json.dumps(run.to_json(), indent=1, ensure_ascii=False) + "\n"
    write_text(page.folder / FOLDER / f"{name}.json", text, "the results of the section")
    return run


def kept(output: Path) -> tuple[dict[str, SectionRun], list[str]]:
    """All sections that were run into a folder, in the order of the command; and files that are of something else."""
    found, foreign = {}, []
    for name in SECTIONS:
        path = output / FOLDER / f"{name}.json"
        if not path.exists():
            continue
        try:
            found[name] = SectionRun.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            foreign.append(str(path))
    return found, foreign
