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
    actuator = { gear = 100, rotor_inertia = 1e-5, viscous = 0.1, coulomb = 0.5, torque = 40, speed = 3 }

    [[frame]]
    name = "tip"
    on = "upper"
    xyz = [0.5, 0, 0]

`describe.drives` lists what an actuator can say. A serial arm may be given by `convention` and [[dh]] rows (twist,
length, offset, angle, kind) instead, with [base] and [tool] places. [root] names the root link and gives it a mass, for
a base that moves. A file that starts with `mechanism = ...` is a mechanism: see `describe.mechanism_toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appell.describe.build import Builder
from appell.describe.dh import DH, add_rows
from appell.describe.mechanism_toml import read_mechanism
from appell.describe.tables import LIMITS, MATTER, Tables
from appell.describe.values import number, vector
from appell.model.joints import KINDS, Motion
from appell.model.limits import Limits
from appell.model.robot import GRAVITY, Mimic, Robot
from appell.model.system import System


def read_toml(text: str, *, base: str = "fixed", physical: bool = True, mimic: bool = True, source: str = "") -> System:
    """The robot or mechanism of a TOML document."""
    tables = Tables(text, source)
    read = read_mechanism if "mechanism" in tables.document else _read_robot
    return read(tables, base=base, physical=physical, mimic=mimic)


def _read_robot(tables: Tables, **options: Any) -> Robot:
    top, source = tables.top("robot"), tables.source
    if "name" not in top:
        raise tables.error("the robot has no name.", expected='a line such as name = "arm" at the top')
    rows, root = tables.tables(top, "dh"), tables.table(top.get("root", {}), "root", "[root]")
    base, tool = (tables.table(top.get(key, {}), key, f"[{key}]") for key in ("base", "tool"))
    standing = "dh" in top or "root" in top or options["base"] != "fixed"
    builder = Builder(
        top["name"],
        root=root.get("name", "base") if standing else None,
        at=tables.place(root, "[root]") @ tables.place(base, "[base]"),
        gravity=top.get("gravity", GRAVITY),
        home=top.get("home"),
        description=top.get("description", ""),
        reference=top.get("reference", ""),
        source=source,
        free=frozenset(top.get("free", ())),
        **options,
    )
    if "mass" in root:
        builder.root_body(root["mass"], root.get("com"), root.get("inertia"), where=source)
    if rows:
        table = [_row(tables, row, who) for row, who in rows]
        add_rows(builder, table, top.get("convention", "modified"), tables.place(tool, "[tool]"), source)
    for link, who in tables.tables(top, "link"):
        _add_link(tables, builder, link, who)
    for frame, who in tables.tables(top, "frame"):
        builder.frame(tables.name(frame, who), on=frame.get("on"), at=tables.place(frame, who), where=source)
    return builder.build()


def _row(tables: Tables, row: Mapping[str, Any], who: str) -> DH:
    given = {key: value for key, value in row.items() if key not in (*LIMITS, "actuator")}
    return DH(limits=_limits(tables, row, who), actuator=tables.actuator(row, who), **given)


def _add_link(tables: Tables, builder: Builder, link: Mapping[str, Any], who: str) -> None:
    name, kind = tables.name(link, who), link.get("joint")
    who = f"link '{name}'"
    known = [*KINDS, "fixed"]
    if kind not in known:
        raise tables.error(f"{who} stands on a joint of kind {kind!r}.", expected=", ".join(known))
    shared: dict[str, Any] = {key: link.get(key) for key in (*MATTER, "parent", "joint_name")}
    shared |= {"at": tables.place(link, who), "where": tables.source}
    if kind == "fixed":
        if moving := [key for key in ("axis", "mimic", "actuator", *LIMITS) if key in link]:
            raise tables.error(f"{who} is fixed, but has {', '.join(moving)}.")
        builder.fixed(name, **shared)
        return
    builder.link(
        name,
        _motion(tables, link, KINDS[kind], who),
        limits=_limits(tables, link, who),
        mimic=_mimic(tables, link, who),
        actuator=tables.actuator(link, who),
        **shared,
    )


def _motion(tables: Tables, link: Mapping[str, Any], kind: type[Motion], who: str) -> Motion:
    if "axis" not in link:
        return kind()
    if not hasattr(kind, "axis"):
        raise tables.error(f"{who} stands on a {kind.name} joint, which has no axis to choose.")
    axis = vector(link["axis"], f"the axis of {who}", tables.source)
    if not any(axis):
        expected = "a non-zero 3-vector, for example [0, 0, 1]"
        raise tables.error(f"{who} has axis (0, 0, 0), which has no direction.", expected)
    return kind(axis)  # type: ignore[call-arg]


def _mimic(tables: Tables, link: Mapping[str, Any], who: str) -> Mimic | None:
    if "mimic" not in link:
        return None
    mimic = tables.table(link["mimic"], "mimic", f"mimic of {who}")
    if "leader" not in mimic:
        raise tables.error(f"the mimic of {who} has no leader.", expected='mimic = { leader = "another joint" }')
    given = [key for key in ("multiplier", "offset") if key in mimic]
    factors = {key: number(mimic[key], f"{key} of the mimic of {who}", tables.source) for key in given}
    return Mimic(mimic["leader"], **factors)


def _limits(tables: Tables, table: Mapping[str, Any], who: str) -> Limits:
    return Limits(**{key: number(table[key], f"{key} of {who}", tables.source) for key in LIMITS if key in table})
