"""Constraints in the TOML file of a robot: loops, rolling bodies, skates and gears.

docs/robot-files.md lists the keys. Any of these tables may name rows whose motion is a given function of time:
prescribed = ["length"]. Surfaces and rows defined in Python cannot be written to a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from appell.algebra.rotation import Pose
from appell.describe.toml.tables import POSE_KEYS, Tables, TomlTable
from appell.describe.toml.write import list_text, number_text, pose_lines, text
from appell.describe.values import number, shortened
from appell.errors import AppellError, ModelError, unknown_name
from appell.model.constraint import Closure, Constraint, Distance, Gear, Prescribed, Rolling, Skate
from appell.model.robot import ConstrainedRobot, Robot

KINDS = ("loop", "rolling", "skate", "gear")
CLOSURES: dict[str, type[Closure]] = {kind.kind: kind for kind in Closure.__subclasses__()}

# ---- reading


def constrained(robot: Robot, tables: Tables, top: TomlTable) -> Robot | ConstrainedRobot:
    """Return the robot with the constraints of its document, if there are any."""
    errors = tables.errors
    described = list(_constraints(tables, top))
    errors.raise_collected()
    if not described:
        for key in ("actuated", "independent"):
            if key in top:
                expected = " or ".join(f"[[{kind}]]" for kind in KINDS)
                errors.add(tables.error(f"{key} applies to robots with constraints only.", (key,), expected))
        errors.raise_collected()
        return robot
    constraints = [constraint for constraint, _ in described]
    lines = {(constraint.kind, constraint.name): where for constraint, where in described}
    try:
        chosen = tuple(top["independent"]) if "independent" in top else None
        return robot.with_loops(*constraints, actuated=top.get("actuated"), independent=chosen)
    except AppellError as error:
        for part in error.parts or (error,):
            where = lines.get(part.culprit) or tables.source
            errors.add(type(part)(part.problem, expected=part.expected, source=where, hint=part.hint))
        errors.raise_collected()
        raise


def _constraints(tables: Tables, top: TomlTable) -> Iterator[tuple[Constraint, str]]:
    """Yield the constraints with their lines, in the order of lines: of redundant rows, the first one counts."""
    read = {"loop": _closure, "rolling": _rolling, "skate": _skate, "gear": _gear}
    described = [(kind, table) for kind in KINDS for table in tables.tables(top, kind) if not table.left_out]
    for kind, table in sorted(described, key=lambda each: tables.lines.get(each[1].key_path, 0)):
        constraint = tables.errors.attempt(None, read[kind], tables, table)
        if constraint is not None:
            if "prescribed" in table:
                constraint = Prescribed(constraint, tuple(table["prescribed"]))
            yield constraint, tables.where(table)


def _closure(tables: Tables, table: TomlTable) -> Constraint:
    kind, frames = table.get("type"), table.get("frames")
    if kind not in CLOSURES:
        raise tables.error(unknown_name("type of loop", str(kind), CLOSURES, "appell"), (*table.key_path, "type"))
    if not isinstance(frames, list) or len(frames) not in (1, 2):
        problem, expected = (
            f"{table.owner} has frames {shortened(frames)}.",
            'two names, such as ["tip", "pin"], or one',
        )
        raise tables.error(problem, (*table.key_path, "frames"), expected)
    has_pose = any(key in table for key in POSE_KEYS)
    if has_pose and len(frames) == 2:
        raise tables.error(f"{table.owner} has two frames and a pose.", table.key_path, "one frame, tied to that pose")
    length = {}
    if "length" in table:
        if kind != "distance":
            problem = f"{table.owner} is a {kind}, which has no length."
            raise tables.error(problem, (*table.key_path, "length"), 'type = "distance"')
        length["length"] = number(table["length"], f"length of {table.owner}", tables.where(table, "length"))
    pose = tables.pose(table, table.owner) if has_pose else None
    return CLOSURES[kind](frames[0], frames[1] if len(frames) == 2 else pose, name=table.get("name", ""), **length)


def _rolling(tables: Tables, table: TomlTable) -> Constraint:
    ball = table.get("ball", False)
    if not isinstance(ball, bool):
        raise tables.error(f"ball of {table.owner} is {shortened(ball)}.", (*table.key_path, "ball"), "true or false")
    numbers = {key: _number(tables, table, key) for key in ("radius", "turning") if key in table}
    given = {key: table[key] for key in ("axis", "on", "name") if key in table}
    radius = numbers.pop("radius", None)
    return Rolling(_link(tables, table), radius, ball=ball, **given, **numbers)  # type: ignore[arg-type]


def _skate(tables: Tables, table: TomlTable) -> Constraint:
    return Skate(_link(tables, table), **{key: table[key] for key in ("across", "on", "name") if key in table})


def _gear(tables: Tables, table: TomlTable) -> Constraint:
    ratios = table.get("ratios", {})
    if not isinstance(ratios, Mapping):
        expected = "{ roll = 1.0, yaw = -0.5 }"
        raise tables.error(f"ratios of {table.owner} is {shortened(ratios)}.", (*table.key_path, "ratios"), expected)
    where = tables.where(table, "ratios")
    checked_ratios = {
        joint: number(x, f"the ratio of '{joint}' in {table.owner}", where) for joint, x in ratios.items()
    }
    offset = _number(tables, table, "offset") if "offset" in table else 0.0
    return Gear(checked_ratios, offset, name=table.get("name", ""))


def _link(tables: Tables, table: TomlTable) -> str:
    if "link" not in table:
        raise tables.error(f"{table.owner} has no link.", table.key_path, "the name of a link or frame")
    return table["link"]


def _number(tables: Tables, table: TomlTable, key: str) -> float:
    return number(table[key], f"{key} of {table.owner}", tables.where(table, key))


# ---- writing


def settings_lines(system: ConstrainedRobot) -> list[str]:
    """Return the lines for the top-level table: motors and independent velocities."""
    lines = []
    if system.motors:
        if set(system.weights.values()) == {1.0}:
            lines.append(f"actuated = {_names(system.weights)}")
        else:
            weights = ", ".join(f"{text(name)} = {number_text(x)}" for name, x in system.weights.items())
            lines.append(f"actuated = {{ {weights} }}")
    if isinstance(system.chosen, Constraint):
        raise _unwritten(system, system.chosen)
    if system.chosen is not None:
        lines.append(f"independent = {_names(system.chosen)}")
    return lines


def constraint_lines(system: ConstrainedRobot) -> list[str]:
    """Return the lines of the tables of all constraints."""
    lines = []
    for constraint in system.constraints:
        lines += ["", *_table(system, constraint)]
    return lines


def _table(system: ConstrainedRobot, constraint: Constraint) -> list[str]:
    inner = constraint.constraint if isinstance(constraint, Prescribed) else constraint
    lines = _entries(system, inner)
    if constraint.motions:
        lines.append(f"prescribed = {_names(constraint.motions)}")
    return lines if constraint.name == inner.default_name else [*lines, f"name = {text(constraint.name)}"]


def _entries(system: ConstrainedRobot, constraint: Constraint) -> list[str]:
    match constraint:
        case Closure(a=a, b=b):
            frames = [a, b] if isinstance(b, str) else [a]
            lines = ["[[loop]]", f"type = {text(constraint.kind)}", f"frames = {_names(frames)}"]
            if isinstance(b, Pose):
                lines += pose_lines(b) or [f"xyz = {list_text(b.translation)}"]
            if isinstance(constraint, Distance) and constraint.length is not None:
                lines.append(f"length = {number_text(constraint.length)}")
        case Rolling() if constraint.wall is None and not isinstance(constraint.on, Pose):
            lines = ["[[rolling]]", f"link = {text(constraint.frame)}", f"radius = {number_text(constraint.radius)}"]
            lines += ["ball = true"] if constraint.ball else [f"axis = {text(constraint.axis)}"]
            lines += [f"on = {text(str(constraint.on))}"] if constraint.on is not None else []
            lines += [f"turning = {number_text(constraint.turning)}"] if constraint.turning else []
        case Skate() if not isinstance(constraint.on, Pose):
            lines = ["[[skate]]", f"link = {text(constraint.frame)}", f"across = {text(constraint.across)}"]
            lines += [f"on = {text(constraint.on)}"] if constraint.on is not None else []
        case Gear():
            ratios = ", ".join(f"{text(name)} = {number_text(x)}" for name, x in constraint.ratios.items())
            lines = ["[[gear]]", f"ratios = {{ {ratios} }}", f"offset = {number_text(constraint.offset)}"]
        case _:
            raise _unwritten(system, constraint)
    return lines


def _unwritten(system: ConstrainedRobot, constraint: Constraint) -> ModelError:
    problem = f"{system.owner} cannot be written: a file cannot express {constraint.owner}."
    expected = "planes given by frames, and no Python functions"
    return ModelError(problem, expected=expected, hint="Keep the Python code that creates the robot.")


def _names(names: Any) -> str:
    return "[" + ", ".join(map(text, names)) + "]"
