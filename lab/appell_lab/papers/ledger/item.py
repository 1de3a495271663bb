"""Entries of the ledgers: what a paper prints, and whether it was reproduced.

An `Item` is a numbered table or figure, or a claim of the text. If only a part of a table is reproduced, the table is
two items with the same number. An `Assumption` is a choice of ours where the paper is silent, an `Erratum` a misprint.
`section` is the section of `appell reproduce` that shows the item, `title` words of the table's title or the figure's
name there, by which a run checks that the item was shown.

Verdicts are entered by hand after inspecting a run; no run recomputes them.
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
    NOT_DYNAMICS = "not dynamics"


COUNTS_MEASURE = (  # how tables of operation counts are compared
    "Compared by algorithm and by growth with n, not digit by digit: the papers do not state which products with 0 and "
    "1 they leave out, so that nearly all numbers for six joints differ."
)


@dataclass(frozen=True)
class Item:
    """A numbered table or figure, or a claim, which is identified by its section in the paper."""

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
    """A choice made for a section because the paper does not print it."""

    section: str
    text: str
    reason: str


@dataclass(frozen=True)
class Erratum:
    """A misprint: its location in the paper, what is wrong, and the correction."""

    location: str
    text: str


@dataclass(frozen=True)
class Ledger:
    """All items of one paper; `paper` is its name in `PAPERS`."""

    paper: str
    items: tuple[Item, ...]
    assumptions: tuple[Assumption, ...]
    errata: tuple[Erratum, ...]

    def tally(self) -> Counter[Ruling]:
        return Counter(item.verdict for item in self.items)

    def numbers(self, kind: ItemKind) -> set[str]:
        return {item.number for item in self.items if item.kind is kind}
