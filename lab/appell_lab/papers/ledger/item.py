"""What a paper prints, and what became of it: the records that the lists of `ledger/` are made of.

An `Item` is a numbered table or figure, or a claim of the text. If only a part of a table comes out, the table is two
items with the same number. An `Assumption` is a choice of ours where the paper is silent, an `Erratum` a misprint that
a reader with the paper in hand stumbles over. `section` is the part of `appell reproduce` that shows it, `title` words
of the table's title or the figure's name there, so that a run can tell whether it was shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class ItemKind(StrEnum):
    TABLE = "Table"
    FIGURE = "Figure"
    CLAIM = "Claim"


class Ruling(StrEnum):
    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    NOT_REACHABLE = "not reachable"
    NOT_OF_DYNAMICS = "not of dynamics"


@dataclass(frozen=True)
class Item:
    """A numbered table or figure, or a claim, which is found by the section or page it stands in."""

    kind: ItemKind
    number: str
    prints: str
    verdict: Ruling
    section: str = ""
    title: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}" if self.kind is not ItemKind.CLAIM else f"claim, {self.number}"


@dataclass(frozen=True)
class Assumption:
    """What had to be chosen for a section because the paper does not print it."""

    section: str
    text: str
    reason: str


@dataclass(frozen=True)
class Erratum:
    """A misprint: where it stands, what is wrong with it, and what is right."""

    place: str
    text: str


@dataclass(frozen=True)
class Ledger:
    """All that one paper prints; `paper` is its name in `PAPERS`."""

    paper: str
    items: tuple[Item, ...]
    assumptions: tuple[Assumption, ...]
    errata: tuple[Erratum, ...]

    def tally(self) -> Counter[Ruling]:
        return Counter(item.verdict for item in self.items)

    def numbers(self, kind: ItemKind) -> set[str]:
        return {item.number for item in self.items if item.kind is kind}
