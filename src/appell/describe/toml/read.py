"""Read robots from TOML, one robot per file.

    name = "arm"
    gravity = [0, 0, -9.81]                 # world axes; this is the default
    home = ["pi/2", 0.1]                    # numbers may be written as "pi/2" or "90 deg"

    [[link]]                                # on the world, or on its `parent`
    name = "upper"
    joint = "revolute"                      # continuous, prismatic, spherical, floating, planar; "fixed" is lumped
    axis = [0, 0, 1]
    xyz = [0, 0, 0.3]                       # position of the joint; `rpy` (rad) or `rotation` (three rows)
    mass = 2.0                              # 0 for a massless link; without it, the first dynamics call raises
    com = [0.1, 0, 0]
    inertia = [0.01, 0.02, 0.02]            # about the centre of mass: 3, 6 or 3x3 numbers
    lower = -3.1
    upper = 3.1
    actuator = { gear = 100, rotor_inertia = 1e-5, viscous = 0.1, coulomb = 0.5, torque = 40, speed = 3 }

    [[frame]]
    name = "tip"
    on = "upper"
    xyz = [0.5, 0, 0]

`describe.actuator_table` lists the keys of an actuator. A serial arm may be given by `convention` and [[dh]] rows
(twist, length, offset, angle, kind) instead, with [base] and [tool] poses. [root] gives the root link a name and a
mass, for a base that moves. For shapes see `describe.toml.visuals`, for loops and wheels `describe.toml.constraints`. A
file with `mechanism = ...` describes a mechanism: see `describe.toml.mechanism`.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.dh import DH, add_rows, check_row
from appell.describe.diagnostics import warn_ignored
from appell.describe.toml.beams import flexible_body
from appell.describe.toml.constraints import constrained
from appell.describe.toml.mechanism import read_mechanism
from appell.describe.toml.tables import KEYS, LIMITS, Tables, TomlTable
from appell.describe.toml.visuals import read_collisions, read_visuals
from appell.describe.values import number, vector
from appell.describe.visuals import MeshFiles
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
    """Return the robot or mechanism of a TOML document.

    Parameters
    ----------
    text : the document
    base, physical, mimic : as in `load`
    source : name of the text in messages
    files : finds mesh files
    """
    tables, options = Tables(text, source), {"base": base, "physical": physical, "mimic": mimic}
    with tables.errors:
        if "mechanism" in tables.document:
            return read_mechanism(tables, **options)
        return _read_robot(tables, files or MeshFiles(), **options)


def _read_robot(tables: Tables, files: MeshFiles, **options: Any) -> System:
    top, errors = tables.top("robot"), tables.errors
    if not top.get("name") and "name" not in top.left_out:
        problem, expected = "the robot has no name.", 'a line such as name = "arm" at the top of the file'
        errors.add(DescriptionError(problem, expected=expected, source=tables.source))
    root, base, tool = (tables.table(top.get(key, {}), key, f"[{key}]", (key,)) for key in ("root", "base", "tool"))
    has_root = "dh" in top or "root" in top or options["base"] != "fixed"
    builder = Builder(
        top.get("name", "robot"),
        root=root.get("name", "base") if has_root else None,
        at=tables.pose(root, "[root]") @ tables.pose(base, "[base]"),
        gravity=errors.attempt(GRAVITY, vector, top.get("gravity", GRAVITY), "gravity", tables.where(top, "gravity")),
        home=top.get("home"),
        description=top.get("description", ""),
        reference=top.get("reference", ""),
        source=tables.source,
        free=frozenset(top.get("free", ())),
        **options,
    )
    if "mass" in root:
        builder.root_body(**tables.body_options(root, "[root]"), where=tables.where(root))
    if rows := tables.tables(top, "dh"):
        _add_dh_rows(tables, builder, rows, top, tables.pose(tool, "[tool]"))
    for link in tables.tables(top, "link"):
        _add_link(tables, builder, link)
    for frame in tables.tables(top, "frame"):
        if name := tables.name(frame):
            pose = tables.pose(frame, f"frame '{name}'")
            builder.frame(name, on=frame.get("on"), at=pose, node=frame.get("at"), where=tables.where(frame))
    notes = read_visuals(tables, builder, top, files)
    read_collisions(tables, builder, top, files)
    for pair in top.get("ignored_pairs", ()):
        builder.ignore_pair(*pair)
    robot = errors.attempt(None, builder.build) if builder.parts or not errors.collected else None
    errors.raise_collected()
    assert robot is not None
    warn_ignored(notes, tables.source)
    return constrained(robot, tables, top)


def _add_dh_rows(tables: Tables, builder: Builder, rows: list[TomlTable], top: TomlTable, tool: Pose) -> None:
    error_count = len(tables.errors.collected)
    dh_rows = [_row(tables, row) for row in rows]
    convention, where = top.get("convention", "modified"), tables.where(top, "convention")
    for dh_row, row in zip(dh_rows, rows, strict=True):
        tables.errors.attempt(None, check_row, dh_row, row.owner, tables.where(row))
    if len(tables.errors.collected) == error_count:
        row_sources = [tables.where(row) for row in rows]
        tables.errors.attempt(None, add_rows, builder, dh_rows, convention, tool, where, row_sources)


def _row(tables: Tables, row: TomlTable) -> DH:
    given = {key: value for key, value in row.items() if key in KEYS["dh"] and key not in (*LIMITS, "actuator")}
    return DH(limits=_limits(tables, row, row.owner), actuator=tables.actuator(row, row.owner), **given)


def _add_link(tables: Tables, builder: Builder, link: TomlTable) -> None:
    name, kind, errors = tables.name(link), link.get("joint"), tables.errors
    if not name:
        return
    owner = f"link '{name}'"
    known = [*KINDS, "fixed"]
    if kind not in known:
        if "joint" not in link.left_out:
            problem = f"the joint of {owner} has kind {kind!r}."
            errors.add(tables.error(problem, (*link.key_path, "joint"), ", ".join(known)))
        kind = "continuous"
    shared: dict[str, Any] = {key: link.get(key) for key in ("parent", "joint_name")}
    shared |= {"at": tables.pose(link, owner), "node": link.get("at"), "where": tables.where(link)}
    flexible = errors.attempt(None, flexible_body, tables, link, owner)
    shared |= {"body": flexible} if flexible else tables.body_options(link, owner)
    if kind == "fixed":
        if extra := [key for key in ("axis", "mimic", "actuator", *LIMITS) if key in link]:
            errors.add(tables.error(f"{owner} is fixed, but has {', '.join(extra)}.", (*link.key_path, extra[0])))
        builder.fixed(name, **shared)
        return
    builder.link(
        name,
        errors.attempt(KINDS[kind](), _motion, tables, link, KINDS[kind], owner),
        limits=_limits(tables, link, owner),
        mimic=errors.attempt(None, _mimic, tables, link, owner),
        actuator=tables.actuator(link, owner),
        **shared,
    )


def _motion(tables: Tables, link: TomlTable, kind: type[Motion], owner: str) -> Motion:
    if "axis" not in link:
        return kind()
    key_path = (*link.key_path, "axis")
    if not hasattr(kind, "axis"):
        raise tables.error(f"{owner} has an axis, but its {kind.name} joint does not take one.", key_path)
    axis = vector(link["axis"], f"the axis of {owner}", tables.at(key_path))
    if not any(axis):
        expected = "a non-zero 3-vector, for example [0, 0, 1]"
        raise tables.error(f"{owner} has axis (0, 0, 0), which has no direction.", key_path, expected)
    return kind(axis)  # type: ignore[call-arg]


def _mimic(tables: Tables, link: TomlTable, owner: str) -> Mimic | None:
    if "mimic" not in link:
        return None
    key_path = (*link.key_path, "mimic")
    mimic = tables.table(link["mimic"], "mimic", f"mimic of {owner}", key_path)
    if "leader" not in mimic:
        if not mimic.left_out:
            expected = 'mimic = { leader = "another joint" }'
            raise tables.error(f"the mimic of {owner} has no leader.", key_path, expected)
        return None
    given = [key for key in ("multiplier", "offset") if key in mimic]
    factors = {key: number(mimic[key], f"{key} of the mimic of {owner}", tables.at(key_path)) for key in given}
    return Mimic(mimic["leader"], **factors)


def _limits(tables: Tables, table: TomlTable, owner: str) -> Limits:
    def read(key: str) -> float | None:
        return number(table[key], f"{key} of {owner}", tables.where(table, key))

    return Limits(**{key: tables.errors.attempt(None, read, key) for key in LIMITS if key in table})
