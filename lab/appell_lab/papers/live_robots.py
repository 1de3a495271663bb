"""One live robot per paper for the index page of `appell reproduce`: pages that simulate it in the browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import appell as ap

FOLDER = "live"


@dataclass(frozen=True)
class LiveRobot:
    """A robot of the zoo, what the page shows, and the arguments of `ap.live_page`."""

    robot: str
    shows: str
    wall: tuple[Any, ...] = ()  # arguments of `ap.Contact`


ROBOTS = {  # by paper
    "Provenzano": LiveRobot("puma", "The PUMA, held by the controller of your choice."),
    "Mata 2002": LiveRobot("two-body", "Two bodies of very unequal size, simulated in double precision."),
    "Valera 2003": LiveRobot("puma", "The PUMA under computed torque or PD control; load it and push it."),
    "Abedloo 2014": LiveRobot("agile-wrist", "The Agile Wrist in closed form."),
    "Shafei 2018": LiveRobot(
        "tree10", "Ten rods inside a round wall; choose no controller to drop them.", ("all", ap.Circle(2.5), 1.0, 0.0)
    ),
}


def page_of(paper: str) -> str:
    """Return the name of a paper's page, relative to the folder of the index."""
    return f"{FOLDER}/{paper.lower().replace(' ', '-')}.html"


def write_live_pages(output: Path, papers: Iterable[str]) -> None:
    """Write the pages of papers into a subfolder, replacing earlier ones."""
    (output / FOLDER).mkdir(exist_ok=True)
    for paper in papers:
        live = ROBOTS[paper]
        contacts = [ap.Contact(*live.wall)] if live.wall else None
        title = f"{live.robot} ({paper})"
        ap.live_page(ap.load(live.robot), output / page_of(paper), contacts=contacts, title=title, overwrite=True)
