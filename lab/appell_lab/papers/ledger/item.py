"""Entries of the ledgers: what a paper prints, and the checks that decide whether it was reproduced.

An `Item` is a numbered table or figure, or a claim of the text. If parts of a table have different verdicts, each part
is an item with the same number. An `Assumption` is a choice of ours where the paper is silent, an `Erratum` a misprint.
`section` is the section of `appell reproduce` that shows the item, `title` words of the table's title or the figure's
name there, by which a run checks that the item was shown.

The sections measure quantities (`Page.measure`), and each check of an item states the interval in which a quantity
supports what the paper prints. The verdict follows from the run:

    not run          the section was not run, or did not measure a quantity of the item
    reproduced       all checks hold
    not reachable    otherwise, if the paper does not print what is needed (`missing`)
    refuted          otherwise
    not dynamics     a drawing or a diagram, without checks
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

Measures = Mapping[str, Mapping[str, float]]  # section -> quantity -> value


class ItemKind(StrEnum):
    TABLE = "Table"
    FIGURE = "Figure"
    CLAIM = "Claim"


class Ruling(StrEnum):
    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    NOT_REACHABLE = "not reachable"
    NOT_DYNAMICS = "not dynamics"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Check:
    """A measured quantity, and the interval, ends included, in which it supports what the paper prints."""

    quantity: str
    low: float = -math.inf
    high: float = math.inf

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def interval(self) -> str:
        if self.low == self.high:
            return f"{self.low:g}"
        if math.isinf(self.low):
            return f"at most {self.high:.4g}"
        if math.isinf(self.high):
            return f"at least {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


def at_most(quantity: str, bound: float) -> Check:
    return Check(quantity, high=bound)


def at_least(quantity: str, bound: float) -> Check:
    return Check(quantity, low=bound)


def equals(quantity: str, value: float) -> Check:
    return Check(quantity, value, value)


def near(quantity: str, printed: float, relative: float) -> Check:
    """Return the check that a quantity is within a fraction of a printed number."""
    return Check(quantity, *sorted((printed * (1.0 - relative), printed * (1.0 + relative))))


def rounds_to(quantity: str, printed: str) -> Check:
    """Return the check that a quantity rounds to the printed digits."""
    half_unit = 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent) * (1.0 + 1e-9)
    return Check(quantity, float(printed) - half_unit, float(printed) + half_unit)


def drawn(figure: str) -> Check:
    """Return the check that a figure was drawn."""
    return equals(f"figure {figure}", 1.0)


@dataclass(frozen=True)
class Item:
    """A numbered table or figure, or a claim, which is identified by its section in the paper.

    `missing` states what the paper does not print, so that an item whose checks fail is not reachable rather than
    refuted. An item without checks and without `missing` is a drawing.
    """

    kind: ItemKind
    number: str
    prints: str
    section: str = ""
    title: str = ""
    checks: tuple[Check, ...] = ()
    missing: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}" if self.kind is not ItemKind.CLAIM else f"claim, {self.number}"

    def verdict(self, measures: Measures) -> Ruling:
        """Return the verdict for the quantities measured by the sections that were run."""
        if not self.checks and not self.missing:
            return Ruling.NOT_DYNAMICS
        values = measures.get(self.section)
        if values is None or any(check.quantity not in values for check in self.checks):
            return Ruling.NOT_RUN
        if self.checks and all(check.holds(values[check.quantity]) for check in self.checks):
            return Ruling.REPRODUCED
        return Ruling.NOT_REACHABLE if self.missing else Ruling.REFUTED

    def evidence(self, measures: Measures) -> str:
        """Return the measured quantities with the required intervals, the missing information and the reason."""
        values = measures.get(self.section, {})
        parts = [
            f"{check.quantity}: {values[check.quantity]:.4g} (required: {check.interval})."
            for check in self.checks
            if check.quantity in values and not check.quantity.startswith("figure ")
        ]
        return " ".join([*parts, *(text for text in (self.missing, self.reason) if text)])


@dataclass(frozen=True)
class Assumption:
    """A choice made for a section because the paper does not print it."""

    section: str
    text: str
    reason: str


@dataclass(frozen=True)
class Erratum:
    """A misprint: its location in the paper, what is wrong with the correction, and the evidence.

    `evidence` is a test, as "file::name", or words of the title of a table, as "section: title".
    """

    location: str
    text: str
    evidence: str


@dataclass(frozen=True)
class Ledger:
    """All items of one paper; `paper` is its name in `PAPERS`."""

    paper: str
    items: tuple[Item, ...]
    assumptions: tuple[Assumption, ...]
    errata: tuple[Erratum, ...]

    def tally(self, measures: Measures) -> Counter[Ruling]:
        return Counter(item.verdict(measures) for item in self.items)

    def numbers(self, kind: ItemKind) -> set[str]:
        return {item.number for item in self.items if item.kind is kind}
