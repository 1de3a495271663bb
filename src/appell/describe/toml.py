"""Robots in TOML: one robot a file, readable and writable by people.

    name = "arm"
    gravity = [0, 0, -9.81]                 # world axes; this is also what is taken if nothing is said
    home = ["pi/2", 0.1]                    # numbers may be written as "pi/2" or "90 deg"

    [[link]]                                # on the world, or on the `parent` it names
    name = "upper"
    joint = "revolute"                      # continuous, prismatic, spherical, floating, planar; "fixed" is lumped
    axis = [0, 0, 1]
    xyz = [0, 0, 0.3]                       # place of the joint; `rpy` (rad) or `rotation` (three rows) turn it
    mass = 2.0                              # 0: no mass. Not given: the first dynamics call asks for it
    com = [0.1, 0, 0]
    inertia = [0.01, 0.02, 0.02]            # about the centre of mass: 3, 6 or 3x3 numbers
    lower = -3.1
    upper = 3.1

    [[frame]]
    name = "tip"
    on = "upper"
    xyz = [0.5, 0, 0]

A serial arm may be given by `convention` and [[dh]] rows (twist, length, offset, angle, kind) instead, with [base] and
[tool] places. [root] names the root link and gives it a mass, for a base that moves.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.dh import DH, add_rows
from appell.describe.quantity import FORMS, quantity
from appell.describe.values import number, numbers, shortened, vector
from appell.errors import DescriptionError, unknown_name
from appell.model.joints import KINDS, Motion
from appell.model.robot import GRAVITY, Limits, Mimic, Robot

PLACE = ("xyz", "rpy", "rotation")
MATTER = ("mass", "com", "inertia")
LIMITS = ("lower", "upper", "velocity", "effort")
SETTINGS = ("name", "description", "reference", "gravity", "home", "free", "convention")
KEYS = {
    "robot": (*SETTINGS, "base", "tool", "root", "dh", "link", "frame"),
    "root": ("name", *PLACE, *MATTER),
    "dh": ("name", "joint", "kind", "twist", "length", "offset", "angle", *MATTER, *LIMITS),
    "link": ("name", "parent", "joint", "joint_name", "axis", "mimic", "damping", "friction", *PLACE, *MATTER, *LIMITS),
    "frame": ("name", "on", *PLACE),
    "mimic": ("leader", "multiplier", "offset"),
    "base": PLACE,
    "tool": PLACE,
}
TEXTS = {"name", "description", "reference", "convention", "joint", "joint_name", "kind", "parent", "on", "leader"}
NAMES = {"free"}


def read_toml(text: str, *, base: str = "fixed", physical: bool = True, mimic: bool = True, source: str = "") -> Robot:
    """The robot of a TOML document."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"this is not TOML: {error}.", source=source) from None
    return _Reader(source).robot(document, base=base, physical=physical, mimic=mimic)


class _Reader:
    """Walks the tables of one document; `source` ends every complaint."""

    def __init__(self, source: str):
        self.source = source

    def robot(self, document: Mapping[str, Any], **options: Any) -> Robot:
        top = self.table(document, "robot", "the document")
        if "name" not in top:
            raise self.error("the robot has no name.", expected='a line such as name = "arm" at the top')
        rows, root = self.tables(top, "dh"), self.table(top.get("root", {}), "root", "[root]")
        standing = "dh" in top or "root" in top or options["base"] != "fixed"
        builder = Builder(
            top["name"],
            root=root.get("name", "base") if standing else None,
            at=self.place(root, "[root]") @ self.place(self.table(top.get("base", {}), "base", "[base]"), "[base]"),
            gravity=top.get("gravity", GRAVITY),
            home=top.get("home"),
            description=top.get("description", ""),
            reference=top.get("reference", ""),
            source=self.source,
            free=frozenset(top.get("free", ())),
            **options,
        )
        if "mass" in root:
            builder.root_body(root["mass"], root.get("com"), root.get("inertia"), where=self.source)
        if rows:
            tool = self.place(self.table(top.get("tool", {}), "tool", "[tool]"), "[tool]")
            table = [self.row(row, who) for row, who in rows]
            add_rows(builder, table, top.get("convention", "modified"), tool, self.source)
        for link, who in self.tables(top, "link"):
            self.link(builder, link, who)
        for frame, who in self.tables(top, "frame"):
            builder.frame(self.name(frame, who), on=frame.get("on"), at=self.place(frame, who), where=self.source)
        return builder.build()

    def row(self, row: Mapping[str, Any], who: str) -> DH:
        return DH(limits=self.limits(row, who), **{key: value for key, value in row.items() if key not in LIMITS})

    def link(self, builder: Builder, link: Mapping[str, Any], who: str) -> None:
        name, kind = self.name(link, who), link.get("joint")
        who, where = f"link '{name}'", self.source
        known = [*KINDS, "fixed"]
        if kind not in known:
            raise self.error(f"{who} stands on a joint of kind {kind!r}.", expected=", ".join(known))
        shared: dict[str, Any] = {key: link.get(key) for key in (*MATTER, "parent", "joint_name")}
        shared |= {"at": self.place(link, who), "where": where}
        if kind == "fixed":
            if moving := [key for key in ("axis", "mimic", "damping", "friction", *LIMITS) if key in link]:
                raise self.error(f"{who} is fixed, but has {', '.join(moving)}.")
            builder.fixed(name, **shared)
            return
        builder.link(
            name,
            self.motion(link, KINDS[kind], who),
            limits=self.limits(link, who),
            mimic=self.mimic(link, who),
            damping=link.get("damping", 0.0),
            friction=link.get("friction", 0.0),
            **shared,
        )

    def motion(self, link: Mapping[str, Any], kind: type[Motion], who: str) -> Motion:
        if "axis" not in link:
            return kind()
        if not hasattr(kind, "axis"):
            raise self.error(f"{who} stands on a {kind.name} joint, which has no axis to choose.")
        axis = vector(link["axis"], f"the axis of {who}", self.source)
        if not any(axis):
            expected = "a non-zero 3-vector, for example [0, 0, 1]"
            raise self.error(f"{who} has axis (0, 0, 0), which has no direction.", expected)
        return kind(axis)  # type: ignore[call-arg]

    def mimic(self, link: Mapping[str, Any], who: str) -> Mimic | None:
        if "mimic" not in link:
            return None
        mimic = self.table(link["mimic"], "mimic", f"mimic of {who}")
        if "leader" not in mimic:
            raise self.error(f"the mimic of {who} has no leader.", expected='mimic = { leader = "another joint" }')
        given = [key for key in ("multiplier", "offset") if key in mimic]
        factors = {key: number(mimic[key], f"{key} of the mimic of {who}", self.source) for key in given}
        return Mimic(mimic["leader"], **factors)

    def limits(self, table: Mapping[str, Any], who: str) -> Limits:
        where = self.source
        return Limits(**{key: number(table[key], f"{key} of {who}", where) for key in LIMITS if key in table})

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

    def name(self, table: Mapping[str, Any], who: str) -> str:
        if not table.get("name"):
            raise self.error(f"{who} has no name.")
        return table["name"]

    def tables(self, top: Mapping[str, Any], kind: str) -> list[tuple[dict[str, Any], str]]:
        """The [[kind]] tables and how to call each in a complaint."""
        found = top.get(kind, [])
        if not isinstance(found, list):
            raise self.error(f"{kind} is not a list of tables.", expected=f"[[{kind}]]")
        labelled = [(table, f"[[{kind}]] number {i}") for i, table in enumerate(found, start=1)]
        return [(self.table(table, kind, who), who) for table, who in labelled]

    def table(self, table: Any, kind: str, who: str) -> dict[str, Any]:
        """A table with keys that mean something only, and its texts that stand for numbers made numbers."""
        if not isinstance(table, Mapping):
            raise self.error(f"{who} is {shortened(table)}.", expected="a table")
        for key, value in table.items():
            if key not in KEYS[kind]:
                raise self.error(unknown_name("key", key, KEYS[kind], who))
            if key in TEXTS and not isinstance(value, str):
                raise self.error(f"{key} of {who} is {shortened(value)}.", expected="a text")
            if key in NAMES and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
                raise self.error(f"{key} of {who} is {shortened(value)}.", expected="a list of names of links")
        verbatim = TEXTS | NAMES
        return {key: value if key in verbatim else self.numeric(value, key, who) for key, value in table.items()}

    def numeric(self, value: Any, key: str, who: str) -> Any:
        if isinstance(value, list):
            return [self.numeric(item, key, who) for item in value]
        if not isinstance(value, str):
            return value
        result = quantity(value)
        if result is None:
            raise self.error(f"{key} of {who} is {shortened(value)}.", expected=FORMS)
        return result

    def error(self, problem: str, expected: str = "") -> DescriptionError:
        return DescriptionError(problem, expected=expected, source=self.source)
