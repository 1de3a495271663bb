"""The tables of a TOML document, each with keys that mean something only.

Numbers may be written as texts such as "pi/2" or "90 deg". Every complaint names the table and ends with the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.drives import KEYS as ACTUATOR
from appell.describe.drives import actuator_of
from appell.describe.quantity import FORMS, quantity
from appell.describe.values import numbers, shortened, vector
from appell.errors import DescriptionError, unknown_name
from appell.model.actuator import Actuator

PLACE = ("xyz", "rpy", "rotation")
MATTER = ("mass", "com", "inertia")
LIMITS = ("lower", "upper")
ABOUT = ("name", "description", "reference", "gravity", "home", "free")
KEYS = {
    "robot": (*ABOUT, "convention", "base", "tool", "root", "dh", "link", "frame"),
    "mechanism": ("mechanism", *ABOUT, "options", "body", "actuator", "frame"),
    "root": ("name", *PLACE, *MATTER),
    "dh": ("name", "joint", "kind", "twist", "length", "offset", "angle", "actuator", *MATTER, *LIMITS),
    "link": ("name", "parent", "joint", "joint_name", "axis", "mimic", "actuator", *PLACE, *MATTER, *LIMITS),
    "frame": ("name", "on", *PLACE),
    "mimic": ("leader", "multiplier", "offset"),
    "base": PLACE,
    "tool": PLACE,
    "actuator of a joint": ACTUATOR,
    "actuator": ("name", *ACTUATOR),
    "body": ("name", *MATTER),
}
TEXTS = {
    *("mechanism", "name", "description", "reference", "convention"),
    *("joint", "joint_name", "kind", "parent", "on", "leader"),
}
NAMES = {"free"}


class Tables:
    """Walks the tables of one document; `source` ends every complaint."""

    def __init__(self, text: str, source: str):
        self.source = source
        try:
            self.document: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.error(f"this is not TOML: {error}.") from None

    def top(self, kind: str) -> dict[str, Any]:
        return self.table(self.document, kind, "the document")

    def table(self, table: Any, kind: str, who: str) -> dict[str, Any]:
        """A table with known keys, and its texts that stand for numbers made numbers."""
        if not isinstance(table, Mapping):
            raise self.error(f"{who} is {shortened(table)}.", expected="a table")
        for key, value in table.items():
            if key not in KEYS[kind]:
                raise self.error(unknown_name("key", key, KEYS[kind], who))
            if key in TEXTS and not isinstance(value, str):
                raise self.error(f"{key} of {who} is {shortened(value)}.", expected="a text")
            if key in NAMES and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
                raise self.error(f"{key} of {who} is {shortened(value)}.", expected="a list of names")
        verbatim = TEXTS | NAMES
        return {key: value if key in verbatim else self.numeric(value, key, who) for key, value in table.items()}

    def tables(self, top: Mapping[str, Any], kind: str) -> list[tuple[dict[str, Any], str]]:
        """The [[kind]] tables and how to call each in a complaint."""
        found = top.get(kind, [])
        if not isinstance(found, list):
            raise self.error(f"{kind} is not a list of tables.", expected=f"[[{kind}]]")
        labelled = [(table, f"[[{kind}]] number {i}") for i, table in enumerate(found, start=1)]
        return [(self.table(table, kind, who), who) for table, who in labelled]

    def numeric(self, value: Any, key: str, who: str) -> Any:
        if isinstance(value, list):
            return [self.numeric(item, key, who) for item in value]
        if not isinstance(value, str):
            return value
        result = quantity(value)
        if result is None:
            raise self.error(f"{key} of {who} is {shortened(value)}.", expected=FORMS)
        return result

    def name(self, table: Mapping[str, Any], who: str) -> str:
        if not table.get("name"):
            raise self.error(f"{who} has no name.")
        return table["name"]

    def place(self, table: Mapping[str, Any], who: str) -> Pose:
        xyz = vector(table.get("xyz", (0.0, 0.0, 0.0)), f"xyz of {who}", self.source)
        if "rotation" not in table:
            return Pose.from_rpy(vector(table.get("rpy", (0.0, 0.0, 0.0)), f"rpy of {who}", self.source), xyz)
        if "rpy" in table:
            raise self.error(f"{who} is turned twice, by rpy and by rotation.", expected="one of them")
        rows = table["rotation"]
        if not isinstance(rows, list) or len(rows) != 3:
            raise self.error(f"rotation of {who} is {shortened(rows)}.", expected="three rows of three numbers")
        return Pose(Mat3.of(numbers(row, 3, f"rotation of {who}", self.source) for row in rows), xyz)

    def actuator(self, table: Mapping[str, Any], who: str) -> Actuator:
        """Of a link or a row."""
        own = self.table(table.get("actuator", {}), "actuator of a joint", f"actuator of {who}")
        return actuator_of(own, who, self.source)

    def error(self, problem: str, expected: str = "") -> DescriptionError:
        return DescriptionError(problem, expected=expected, source=self.source)
