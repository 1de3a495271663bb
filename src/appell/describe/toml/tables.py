"""The tables of a TOML document, with known keys only.

Numbers may be written as strings such as "pi/2" or "90 deg". Every error names the table, the file and the line. An
entry that cannot be read is collected as an error and left out of its table, so that the rest is read as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.actuator_table import FLAT_KEYS as ACTUATOR
from appell.describe.actuator_table import SPRING_KEYS, actuator_from_table
from appell.describe.diagnostics import ErrorCollector
from appell.describe.toml.lines import KeyPath, lines_of
from appell.describe.values import NUMBER_FORMS, body_from, numbers, parse_quantity, shortened, vector
from appell.errors import DescriptionError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IDENTITY_POSE

POSE_KEYS = ("xyz", "rpy", "rotation")
BODY_KEYS = ("mass", "com", "inertia")
LIMITS = ("lower", "upper")
INFO_KEYS = ("name", "description", "reference", "gravity", "home", "free")
SHAPE_KEYS = ("visual", "collision", "ignored_pairs")
CONSTRAINT_KEYS = ("loop", "rolling", "skate", "gear", "actuated", "independent")
KEYS = {
    "robot": (*INFO_KEYS, "convention", "base", "tool", "root", "dh", "link", "frame", *SHAPE_KEYS, *CONSTRAINT_KEYS),
    "mechanism": ("mechanism", *INFO_KEYS, "options", "body", "actuator", "frame"),
    "root": ("name", *POSE_KEYS, *BODY_KEYS),
    "dh": ("name", "joint", "kind", "twist", "length", "offset", "angle", "actuator", *BODY_KEYS, *LIMITS),
    "link": (
        "name",
        "parent",
        "joint",
        "joint_name",
        "axis",
        "mimic",
        "actuator",
        "visual",
        "collision",
        "at",
        "beam",
        "modes",
        *POSE_KEYS,
        *BODY_KEYS,
        *LIMITS,
    ),
    "frame": ("name", "on", "at", *POSE_KEYS),
    "visual": ("name", "on", "shape", "size", "file", "color", *POSE_KEYS),
    "collision": ("name", "on", "link", "shape", "size", "file", *POSE_KEYS),
    "loop": ("type", "frames", "length", "name", "prescribed", *POSE_KEYS),
    "rolling": ("link", "radius", "axis", "ball", "on", "turning", "name", "prescribed"),
    "skate": ("link", "across", "on", "name", "prescribed"),
    "gear": ("ratios", "offset", "name", "prescribed"),
    "mimic": ("leader", "multiplier", "offset"),
    "base": POSE_KEYS,
    "tool": POSE_KEYS,
    "actuator of a joint": (*ACTUATOR, "elastic"),
    "actuator": ("name", *ACTUATOR, "elastic"),
    "elastic": SPRING_KEYS,
    "body": ("name", *BODY_KEYS),
}
STRING_KEYS = {
    *("mechanism", "name", "description", "reference", "convention"),
    *("joint", "joint_name", "kind", "parent", "on", "leader", "at", "modes"),
}
TABLE_STRINGS = {  # further keys of these tables that are strings
    "loop": {"type"},
    "rolling": {"link", "axis"},
    "skate": {"link", "across"},
    "visual": {"shape", "file"},
    "collision": {"link", "shape", "file"},
}
NAME_LIST_KEYS = {"free", "frames", "prescribed", "independent", "actuated"}
WEIGHT_KEYS = {"actuated", "ratios"}  # tables of numbers by name


class TomlTable(dict[str, Any]):
    """The entries of a table that could be read."""

    owner: str  # name of the table in messages, such as "[[link]] number 2"
    key_path: KeyPath  # location of the table in the document
    left_out: set[str]  # keys whose values could not be read


class Tables:
    """Read the tables of one document and collect its errors."""

    def __init__(self, text: str, source: str):
        self.source = source
        self.errors = ErrorCollector(source or "the text")
        try:
            self.document: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise DescriptionError(f"the text is not valid TOML: {error}.", source=source) from None
        self.lines = lines_of(text)

    def top(self, kind: str) -> TomlTable:
        """Return the top-level table; `kind` is "robot" or "mechanism"."""
        return self.table(self.document, kind, "the document", ())

    def table(self, entries: Any, kind: str, owner: str, key_path: KeyPath) -> TomlTable:
        """Return a table with checked keys, and strings such as "pi/2" converted to numbers.

        Parameters
        ----------
        entries : the parsed table
        kind : key of `KEYS`, which lists the keys of such a table
        owner : name of the table in messages
        key_path : its location in the document
        """
        table = TomlTable()
        table.owner, table.key_path, table.left_out = owner, key_path, set()
        if not isinstance(entries, Mapping):
            self.errors.add(self.error(f"{owner} is {shortened(entries)}.", key_path, "a table"))
            return table
        for key, value in entries.items():
            try:
                table[key] = self._entry(key, value, kind, owner, (*key_path, key))
            except DescriptionError as error:
                self.errors.add(error)
                table.left_out.add(key)
        return table

    def _entry(self, key: str, value: Any, kind: str, owner: str, key_path: KeyPath) -> Any:
        if key == "hysteresis" and kind == "elastic":
            raise self.error(f"{owner} has hysteresis, which is not supported.", key_path, ", ".join(KEYS[kind]))
        if key not in KEYS[kind]:
            raise self.error(unknown_name("key", key, KEYS[kind], owner), key_path)
        if key in ("visual", "collision", "elastic"):
            return value  # read by `toml.visuals` and `actuator_entries`
        if key == "ignored_pairs":
            texts = isinstance(value, list) and all(isinstance(pair, list) for pair in value)
            if not texts or not all(len(p) in (2, 3) and all(isinstance(name, str) for name in p) for p in value):
                expected = 'a list of pairs such as ["hand", "forearm"], with a reason as an optional third string'
                raise self.error(f"{key} of {owner} is {shortened(value)}.", key_path, expected)
            return value
        if key in STRING_KEYS or key in TABLE_STRINGS.get(kind, ()):
            if not isinstance(value, str):
                raise self.error(f"{key} of {owner} is {shortened(value)}.", key_path, "a string")
            return value
        if key in NAME_LIST_KEYS and not (key == "actuated" and isinstance(value, Mapping)):
            if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
                raise self.error(f"{key} of {owner} is {shortened(value)}.", key_path, "a list of names")
            return value
        return self.numeric(value, key, owner, key_path)

    def tables(self, top: TomlTable, kind: str) -> list[TomlTable]:
        """Return all [[kind]] tables."""
        entries = top.get(kind, [])
        if not isinstance(entries, list):
            self.errors.add(self.error(f"{kind} is not a list of tables.", (kind,), f"[[{kind}]]"))
            return []
        return [
            self.table(table, kind, f"[[{kind}]] number {i}", (kind, i)) for i, table in enumerate(entries, start=1)
        ]

    def numeric(self, value: Any, key: str, owner: str, key_path: KeyPath) -> Any:
        """Return a value with all strings in it converted to numbers; raise DescriptionError if one is not a number."""
        if isinstance(value, list):
            return [self.numeric(item, key, owner, key_path) for item in value]
        if key in WEIGHT_KEYS and isinstance(value, Mapping):
            return {name: self.numeric(item, key, owner, key_path) for name, item in value.items()}
        if not isinstance(value, str):
            return value
        result = parse_quantity(value)
        if result is None:
            raise self.error(f"{key} of {owner} is {shortened(value)}.", key_path, NUMBER_FORMS)
        return result

    def name(self, table: TomlTable) -> str:
        """Return the name of a table; if it has none, collect an error and return an empty string."""
        if not table.get("name") and "name" not in table.left_out:
            self.errors.add(self.error(f"{table.owner} has no name.", table.key_path))
        return table.get("name", "")

    # ---- contents of several kinds of tables; after an error a neutral value is returned

    def pose(self, table: TomlTable, owner: str) -> Pose:
        """Return the pose given by xyz and rpy or rotation; the identity after an error."""
        return self.errors.attempt(IDENTITY_POSE, self._pose, table, owner)

    def _pose(self, table: TomlTable, owner: str) -> Pose:
        xyz = vector(table.get("xyz", (0.0, 0.0, 0.0)), f"xyz of {owner}", self.where(table, "xyz"))
        if "rotation" not in table:
            rpy = vector(table.get("rpy", (0.0, 0.0, 0.0)), f"rpy of {owner}", self.where(table, "rpy"))
            return Pose.from_rpy(rpy, xyz)
        key_path = (*table.key_path, "rotation")
        if "rpy" in table:
            raise self.error(f"{owner} has two rotations, rpy and rotation.", key_path, "one of them")
        rows = table["rotation"]
        if not isinstance(rows, list) or len(rows) != 3:
            raise self.error(f"rotation of {owner} is {shortened(rows)}.", key_path, "three rows of three numbers")
        where = self.where(table, "rotation")
        return Pose(Mat3.of(numbers(row, 3, f"rotation of {owner}", where) for row in rows), xyz)

    def body_options(self, table: TomlTable, owner: str) -> dict[str, Any]:
        """Return the inertia of a table as options of `Builder.link`: `body`, or `mass` 0 if massless, or none."""
        if not table.left_out.isdisjoint(BODY_KEYS):
            return {"mass": 0.0}
        mass, com, inertia = (table.get(key) for key in BODY_KEYS)
        error_count, where = len(self.errors.collected), self.where(table, "inertia" if "inertia" in table else "mass")
        body: Body | None = self.errors.attempt(None, body_from, None, mass, com, inertia, owner, where)
        if body is not None:
            return {"body": body, "body_where": where}
        return {"mass": 0.0} if mass is not None or len(self.errors.collected) > error_count else {}

    def actuator(self, table: TomlTable, owner: str) -> Actuator:
        """Return the actuator of a [[link]] or [[dh]] table."""
        key_path = (*table.key_path, "actuator")
        entries = self.table(table.get("actuator", {}), "actuator of a joint", f"actuator of {owner}", key_path)
        flat = self.actuator_entries(entries, owner)
        return self.errors.attempt(IDEAL, actuator_from_table, flat, owner, self.where(table, "actuator"))

    def actuator_entries(self, table: TomlTable, owner: str) -> dict[str, Any]:
        """Return the entries of an actuator with those of its table `elastic` under their flat keys."""
        entries = {key: value for key, value in table.items() if key not in ("name", "elastic")}
        if "elastic" in table:
            path = (*table.key_path, "elastic")
            spring = self.table(table["elastic"], "elastic", f"elastic of the actuator of {owner}", path)
            entries |= {f"elastic_{key}": value for key, value in spring.items()}
        return entries

    # ---- locations in the file

    def where(self, table: TomlTable, key: str = "") -> str:
        """Return file and line of a table, or of one of its keys."""
        return self.at((*table.key_path, key) if key else table.key_path)

    def at(self, key_path: KeyPath) -> str:
        """Return file and line of a key, or of the table that contains it."""
        while key_path and key_path not in self.lines:
            key_path = key_path[:-1]
        source = self.source or "the text"
        return f"{source}, line {self.lines[key_path]}" if key_path else self.source

    def error(self, problem: str, key_path: KeyPath, expected: str = "") -> DescriptionError:
        """Return an error at the line of a key."""
        return DescriptionError(problem, expected=expected, source=self.at(key_path))
