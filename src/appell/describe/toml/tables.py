"""The tables of a TOML document, each with keys that mean something only.

Numbers may be written as texts such as "pi/2" or "90 deg". Every complaint names the table and ends with the file and
the line. What cannot be read is told as a flaw and left out of its table, so that the rest is read as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.drives import KEYS as ACTUATOR
from appell.describe.drives import actuator_of
from appell.describe.flaws import Flaws
from appell.describe.toml.lines import Place, lines_of
from appell.describe.values import FORMS, matter, numbers, quantity, shortened, vector
from appell.errors import DescriptionError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IN_PLACE

PLACE = ("xyz", "rpy", "rotation")
MATTER = ("mass", "com", "inertia")
LIMITS = ("lower", "upper")
ABOUT = ("name", "description", "reference", "gravity", "home", "free")
HELD = ("loop", "rolling", "skate", "gear", "actuated", "independent")  # what constraints are told by
KEYS = {
    "robot": (*ABOUT, "convention", "base", "tool", "root", "dh", "link", "frame", "visual", *HELD),
    "mechanism": ("mechanism", *ABOUT, "options", "body", "actuator", "frame"),
    "root": ("name", *PLACE, *MATTER),
    "dh": ("name", "joint", "kind", "twist", "length", "offset", "angle", "actuator", *MATTER, *LIMITS),
    "link": ("name", "parent", "joint", "joint_name", "axis", "mimic", "actuator", "visual", *PLACE, *MATTER, *LIMITS),
    "frame": ("name", "on", *PLACE),
    "visual": ("name", "on", "shape", "size", "file", "color", *PLACE),
    "loop": ("type", "frames", "length", "name", "prescribed", *PLACE),
    "rolling": ("link", "radius", "axis", "ball", "on", "turning", "name", "prescribed"),
    "skate": ("link", "across", "on", "name", "prescribed"),
    "gear": ("ratios", "offset", "name", "prescribed"),
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
OWN_TEXTS = {  # of these tables alone
    "loop": {"type"},
    "rolling": {"link", "axis"},
    "skate": {"link", "across"},
    "visual": {"shape", "file"},
}
NAMES = {"free", "frames", "prescribed", "independent", "actuated"}
WEIGHTS = {"actuated", "ratios"}  # numbers by names


class TomlTable(dict[str, Any]):
    """The entries of a table that could be read, how a complaint calls it, and where it stands."""

    who: str
    place: Place
    left_out: set[str]  # keys that were there and could not be read


class Tables:
    """Walks the tables of one document and gathers its flaws."""

    def __init__(self, text: str, source: str):
        self.source = source
        self.flaws = Flaws(source or "the text")
        try:
            self.document: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise DescriptionError(f"this is not TOML: {error}.", source=source) from None
        self.lines = lines_of(text)

    def top(self, kind: str) -> TomlTable:
        return self.table(self.document, kind, "the document", ())

    def table(self, entries: Any, kind: str, who: str, place: Place) -> TomlTable:
        """A table with known keys, and its texts that stand for numbers made numbers."""
        table = TomlTable()
        table.who, table.place, table.left_out = who, place, set()
        if not isinstance(entries, Mapping):
            self.flaws.add(self.error(f"{who} is {shortened(entries)}.", place, "a table"))
            return table
        for key, value in entries.items():
            try:
                table[key] = self._entry(key, value, kind, who, (*place, key))
            except DescriptionError as error:
                self.flaws.add(error)
                table.left_out.add(key)
        return table

    def _entry(self, key: str, value: Any, kind: str, who: str, place: Place) -> Any:
        if key not in KEYS[kind]:
            raise self.error(unknown_name("key", key, KEYS[kind], who), place)
        if key == "visual":
            return value  # its reader passes over what is broken
        if key in TEXTS or key in OWN_TEXTS.get(kind, ()):
            if not isinstance(value, str):
                raise self.error(f"{key} of {who} is {shortened(value)}.", place, "a text")
            return value
        if key in NAMES and not (key == "actuated" and isinstance(value, Mapping)):
            if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
                raise self.error(f"{key} of {who} is {shortened(value)}.", place, "a list of names")
            return value
        return self.numeric(value, key, who, place)

    def tables(self, top: TomlTable, kind: str) -> list[TomlTable]:
        """The [[kind]] tables."""
        found = top.get(kind, [])
        if not isinstance(found, list):
            self.flaws.add(self.error(f"{kind} is not a list of tables.", (kind,), f"[[{kind}]]"))
            return []
        return [self.table(table, kind, f"[[{kind}]] number {i}", (kind, i)) for i, table in enumerate(found, start=1)]

    def numeric(self, value: Any, key: str, who: str, place: Place) -> Any:
        if isinstance(value, list):
            return [self.numeric(item, key, who, place) for item in value]
        if key in WEIGHTS and isinstance(value, Mapping):
            return {name: self.numeric(item, key, who, place) for name, item in value.items()}
        if not isinstance(value, str):
            return value
        result = quantity(value)
        if result is None:
            raise self.error(f"{key} of {who} is {shortened(value)}.", place, FORMS)
        return result

    def name(self, table: TomlTable) -> str:
        """The name of a table; empty if it has none, which is a flaw."""
        if not table.get("name") and "name" not in table.left_out:
            self.flaws.add(self.error(f"{table.who} has no name.", table.place))
        return table.get("name", "")

    # ---- what several kinds of tables hold; a flaw leaves the harmless value

    def pose(self, table: TomlTable, who: str) -> Pose:
        return self.flaws.tried(IN_PLACE, self._pose, table, who)

    def _pose(self, table: TomlTable, who: str) -> Pose:
        xyz = vector(table.get("xyz", (0.0, 0.0, 0.0)), f"xyz of {who}", self.where(table, "xyz"))
        if "rotation" not in table:
            rpy = vector(table.get("rpy", (0.0, 0.0, 0.0)), f"rpy of {who}", self.where(table, "rpy"))
            return Pose.from_rpy(rpy, xyz)
        place = (*table.place, "rotation")
        if "rpy" in table:
            raise self.error(f"{who} is turned twice, by rpy and by rotation.", place, "one of them")
        rows = table["rotation"]
        if not isinstance(rows, list) or len(rows) != 3:
            raise self.error(f"rotation of {who} is {shortened(rows)}.", place, "three rows of three numbers")
        where = self.where(table, "rotation")
        return Pose(Mat3.of(numbers(row, 3, f"rotation of {who}", where) for row in rows), xyz)

    def matter(self, table: TomlTable, who: str) -> dict[str, Any]:
        """The `body` of a table, or `mass` 0 if there is said to be none; neither if nothing is said."""
        if not table.left_out.isdisjoint(MATTER):
            return {"mass": 0.0}
        mass, com, inertia = (table.get(key) for key in MATTER)
        before, where = len(self.flaws.found), self.where(table, "inertia" if "inertia" in table else "mass")
        body: Body | None = self.flaws.tried(None, matter, None, mass, com, inertia, who, where)
        if body is not None:
            return {"body": body, "body_where": where}
        return {"mass": 0.0} if mass is not None or len(self.flaws.found) > before else {}

    def actuator(self, table: TomlTable, who: str) -> Actuator:
        """Of a link or a row."""
        place = (*table.place, "actuator")
        own = self.table(table.get("actuator", {}), "actuator of a joint", f"actuator of {who}", place)
        return self.flaws.tried(IDEAL, actuator_of, own, who, self.where(table, "actuator"))

    # ---- where things stand

    def where(self, table: TomlTable, key: str = "") -> str:
        return self.at((*table.place, key) if key else table.place)

    def at(self, place: Place) -> str:
        """File and line of a place, or of the table around it."""
        while place and place not in self.lines:
            place = place[:-1]
        source = self.source or "the text"
        return f"{source}, line {self.lines[place]}" if place else self.source

    def error(self, problem: str, place: Place, expected: str = "") -> DescriptionError:
        return DescriptionError(problem, expected=expected, source=self.at(place))
