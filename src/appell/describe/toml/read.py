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
a base that moves. Shapes: see `describe.toml_visuals`. Loops and wheels: see `describe.constraints_toml`. A file that
starts with `mechanism = ...` is a mechanism: see `describe.mechanism_toml`.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.dh import DH, add_rows, check_row
from appell.describe.looks import MeshFiles
from appell.describe.toml.constraints import constrained
from appell.describe.toml.mechanism import read_mechanism
from appell.describe.toml.tables import KEYS, LIMITS, Tables, TomlTable
from appell.describe.toml.visuals import read_visuals
from appell.describe.urdf.leniency import warn_of
from appell.describe.values import number, vector
from appell.errors import DescriptionError
from appell.model.joints import KINDS, Motion
from appell.model.limits import Limits
from appell.model.robot import GRAVITY, Mimic
from appell.model.system import System


def read_toml(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
) -> System:
    """The robot or mechanism of a TOML document; `files` finds the meshes that it names."""
    tables, options = Tables(text, source), {"base": base, "physical": physical, "mimic": mimic}
    with tables.flaws:
        if "mechanism" in tables.document:
            return read_mechanism(tables, **options)
        return _read_robot(tables, files or MeshFiles(), **options)


def _read_robot(tables: Tables, files: MeshFiles, **options: Any) -> System:
    top, flaws = tables.top("robot"), tables.flaws
    if not top.get("name") and "name" not in top.left_out:
        problem, expected = "the robot has no name.", 'a line such as name = "arm" at the top'
        flaws.add(DescriptionError(problem, expected=expected, source=tables.source))
    root, base, tool = (tables.table(top.get(key, {}), key, f"[{key}]", (key,)) for key in ("root", "base", "tool"))
    standing = "dh" in top or "root" in top or options["base"] != "fixed"
    builder = Builder(
        top.get("name", "robot"),
        root=root.get("name", "base") if standing else None,
        at=tables.pose(root, "[root]") @ tables.pose(base, "[base]"),
        gravity=flaws.tried(GRAVITY, vector, top.get("gravity", GRAVITY), "gravity", tables.where(top, "gravity")),
        home=top.get("home"),
        description=top.get("description", ""),
        reference=top.get("reference", ""),
        source=tables.source,
        free=frozenset(top.get("free", ())),
        **options,
    )
    if "mass" in root:
        builder.root_body(**tables.matter(root, "[root]"), where=tables.where(root))
    if rows := tables.tables(top, "dh"):
        _add_table(tables, builder, rows, top, tables.pose(tool, "[tool]"))
    for link in tables.tables(top, "link"):
        _add_link(tables, builder, link)
    for frame in tables.tables(top, "frame"):
        if name := tables.name(frame):
            pose = tables.pose(frame, f"frame '{name}'")
            builder.frame(name, on=frame.get("on"), at=pose, where=tables.where(frame))
    notes = read_visuals(tables, builder, top, files)
    robot = flaws.tried(None, builder.build) if builder.parts or not flaws.found else None
    flaws.tell()
    assert robot is not None
    warn_of(notes, tables.source)
    return constrained(robot, tables, top)


def _add_table(tables: Tables, builder: Builder, rows: list[TomlTable], top: TomlTable, tool: Pose) -> None:
    before = len(tables.flaws.found)
    table = [_row(tables, row) for row in rows]
    convention, where = top.get("convention", "modified"), tables.where(top, "convention")
    for row, given in zip(table, rows, strict=True):
        tables.flaws.tried(None, check_row, row, given.who, tables.where(given))
    if len(tables.flaws.found) == before:
        places = [tables.where(row) for row in rows]
        tables.flaws.tried(None, add_rows, builder, table, convention, tool, where, places)


def _row(tables: Tables, row: TomlTable) -> DH:
    given = {key: value for key, value in row.items() if key in KEYS["dh"] and key not in (*LIMITS, "actuator")}
    return DH(limits=_limits(tables, row, row.who), actuator=tables.actuator(row, row.who), **given)


def _add_link(tables: Tables, builder: Builder, link: TomlTable) -> None:
    name, kind, flaws = tables.name(link), link.get("joint"), tables.flaws
    if not name:
        return
    who = f"link '{name}'"
    known = [*KINDS, "fixed"]
    if kind not in known:
        if "joint" not in link.left_out:
            problem = f"{who} stands on a joint of kind {kind!r}."
            flaws.add(tables.error(problem, (*link.place, "joint"), ", ".join(known)))
        kind = "continuous"
    shared: dict[str, Any] = {key: link.get(key) for key in ("parent", "joint_name")}
    shared |= {"at": tables.pose(link, who), "where": tables.where(link), **tables.matter(link, who)}
    if kind == "fixed":
        if moving := [key for key in ("axis", "mimic", "actuator", *LIMITS) if key in link]:
            flaws.add(tables.error(f"{who} is fixed, but has {', '.join(moving)}.", (*link.place, moving[0])))
        builder.fixed(name, **shared)
        return
    builder.link(
        name,
        flaws.tried(KINDS[kind](), _motion, tables, link, KINDS[kind], who),
        limits=_limits(tables, link, who),
        mimic=flaws.tried(None, _mimic, tables, link, who),
        actuator=tables.actuator(link, who),
        **shared,
    )


def _motion(tables: Tables, link: TomlTable, kind: type[Motion], who: str) -> Motion:
    if "axis" not in link:
        return kind()
    place = (*link.place, "axis")
    if not hasattr(kind, "axis"):
        raise tables.error(f"{who} stands on a {kind.name} joint, which has no axis to choose.", place)
    axis = vector(link["axis"], f"the axis of {who}", tables.at(place))
    if not any(axis):
        expected = "a non-zero 3-vector, for example [0, 0, 1]"
        raise tables.error(f"{who} has axis (0, 0, 0), which has no direction.", place, expected)
    return kind(axis)  # type: ignore[call-arg]


def _mimic(tables: Tables, link: TomlTable, who: str) -> Mimic | None:
    if "mimic" not in link:
        return None
    place = (*link.place, "mimic")
    mimic = tables.table(link["mimic"], "mimic", f"mimic of {who}", place)
    if "leader" not in mimic:
        if not mimic.left_out:
            expected = 'mimic = { leader = "another joint" }'
            raise tables.error(f"the mimic of {who} has no leader.", place, expected)
        return None
    given = [key for key in ("multiplier", "offset") if key in mimic]
    factors = {key: number(mimic[key], f"{key} of the mimic of {who}", tables.at(place)) for key in given}
    return Mimic(mimic["leader"], **factors)


def _limits(tables: Tables, table: TomlTable, who: str) -> Limits:
    def read(key: str) -> float | None:
        return number(table[key], f"{key} of {who}", tables.where(table, key))

    return Limits(**{key: tables.flaws.tried(None, read, key) for key in LIMITS if key in table})
