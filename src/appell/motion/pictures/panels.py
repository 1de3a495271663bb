"""Which columns of a record share a panel, and which panels share a row.

A panel has one quantity in one unit, and at most as many lines as there are colours. What is zero or at rest throughout
has no panel and is said in a note instead. Joints stand apart from a base that flies: their names are those of both q
and v, while a base has places and quaternions on one side and velocities on the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from appell.motion.pictures.look import COLORS
from appell.motion.record import Record
from appell.motion.titled import parse, titles

USUAL = ("q", "v", "a", "tau", "energy")
WORDS = {"q": "position q", "v": "velocity v", "a": "acceleration a", "tau": "force tau", "energy": "energy change"}
TURNS = {"q": "angle q", "tau": "torque tau"}  # where the unit says so
STILL = 1e-12  # of the largest value: what moves less is at rest
LENGTHS = ("m", "N")


@dataclass(frozen=True)
class Panel:
    """Columns of one quantity and unit; panels with the same `row` are about the same joints."""

    quantity: str
    columns: tuple[str, ...]
    unit: str
    row: tuple

    @property
    def names(self) -> tuple[str, ...]:
        """Of its lines; none if the quantity belongs to no joint."""
        return tuple(filter(None, (parse(title)[1] for title in self.columns)))

    @property
    def what(self) -> str:
        """The quantity in words."""
        if self.quantity == "q" and self.unit == "1":
            return "quaternion"
        turning = self.unit.startswith(("rad", "deg", "N m")) and " or " not in self.unit
        return (TURNS if turning and self.quantity in TURNS else WORDS).get(self.quantity, self.quantity)


def arranged(record: Record, quantities: Sequence[str]) -> tuple[list[Panel], list[str]]:
    """The panels of these quantities or columns, or of all usual ones that say something; and notes on the others."""
    if quantities:
        return _panels(record, quantities), []
    usual = [quantity for quantity in USUAL if quantity in record] or list(record.quantities[1:])
    panels = _panels(record, usual)
    said = {panel: sentence for panel in panels if (sentence := _silent(record, panel))}
    shown = [panel for panel in panels if panel not in said] or panels[:1]
    silent: dict[str, dict[str, None]] = {}
    for panel in (panel for panel in said if panel not in shown):
        silent.setdefault(said[panel], {})[f"{panel.what} [{panel.unit}]"] = None
    return shown, [f"{sentence}: {', '.join(whats)}" for sentence, whats in silent.items()]


def _panels(record: Record, keys: Sequence[str]) -> list[Panel]:
    """The columns of quantities, or single ones by their titles, by quantity and unit."""
    joints = set(record.names("q")) & set(record.names("v")) if "q" in record and "v" in record else None
    kinds: dict[tuple[str, bool, str], list[str]] = {}
    for key in keys:
        for title in (key,) if key in record.columns else titles(key, record.names(key)):
            quantity, name = parse(title)
            kinds.setdefault((quantity, joints is None or name in joints, record.unit(title)), []).append(title)
    panels = []
    for (quantity, joint, unit), members in kinds.items():
        way = unit.split("/")[0] in LENGTHS
        for k, share in enumerate(_shares(list(dict.fromkeys(members)))):
            row = (joint, way, k) if parse(share[0])[1] else (quantity,)
            panels.append(Panel(quantity, tuple(share), unit, row))
    return panels


def _shares(columns: list[str]) -> list[list[str]]:
    """Lines for several panels, none with more than there are colours; arm_left_1 ... arm_left_7 stay together."""
    most = len(COLORS)
    shares: list[list[str]] = [[]]
    for _, members in groupby(columns, lambda title: _family(parse(title)[1])):
        family = list(members)
        if len(shares[-1]) + len(family) <= most:
            shares[-1] += family
        else:
            shares += [part.tolist() for part in np.array_split(family, -(-len(family) // most))]
    return [share for share in shares if share]


def _family(name: str) -> str:
    """What joints of one limb have in common: what is before a number, or before the first underscore."""
    return re.split(r"\d", name)[0] if re.search(r"\d", name) else name.split("_")[0]


def _silent(record: Record, panel: Panel) -> str:
    """Why a panel would show nothing, as the beginning of a note; empty if it does show something."""
    values = np.array([record[title] for title in panel.columns])
    if not np.isfinite(values).any():
        return "without numbers"
    most = np.nanmax(np.abs(values))
    if panel.quantity not in ("q", "energy") and most == 0.0:
        return "zero throughout"
    if panel.unit == "1" and np.nanmax(np.ptp(values, axis=1)) <= STILL * most:
        return "does not change"
    return ""
