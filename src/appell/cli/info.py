"""`appell info ROBOT`: summary of a robot or mechanism and the operation counts of its equations."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

import appell as ap
from appell.cli import options
from appell.cli.input import collected
from appell.cli.options import LOOK, new_app, option
from appell.cli.output import Printer, table
from appell.progress import Bar

if TYPE_CHECKING:
    from appell.model.system import System

UNITS = {  # of values without a unit beside them
    "mass": "kg",
    "gravity": "m/s^2",
    "com": "m",
    "moments": "kg m^2",
    "at": "m",
    "home": "units of the coordinates",
    "limits": "position in the unit of the joint",
}
COUNTED_FLEXIBLE = ("generalized_forces", "mass_matrix", "bias", "gravity", "forward_dynamics")
COUNTED = ("inverse_dynamics", "mass_matrix", "bias", "gravity", "forward_dynamics", "regressor")
HEADINGS = {  # properties of an actuator and their units: F is N m or N, u is rad or m
    "gear": ("gear", ""),
    "rotor_inertia": ("rotor", "kg m²"),
    "viscous": ("viscous", "F s/u"),
    "coulomb": ("Coulomb", "F"),
    "static": ("static", "F"),
    "offset": ("offset", "F"),
    "torque": ("|τ| ≤", "F"),
    "speed": ("|v| ≤", "u/s"),
    "current": ("current ≤", "A"),
    "torque_constant": ("torque constant", "N m/A"),
    "no_load_speed": ("no-load speed", "u/s"),
    "elastic_stiffness": ("spring", "F/u"),
    "elastic_damping": ("its damping", "F s/u"),
    "elastic_hardening": ("its hardening", "F/u³"),
    "elastic_backlash": ("backlash", "u"),
}
MAX_FRAMES = 40  # in the table; --json has all

app = new_app()


@app.command(
    rich_help_panel=LOOK,
    epilog="Examples: [bold]appell info puma[/]; [bold]appell info my_robot.urdf --base floating --no-counts[/].",
)
def info(
    robot: options.RobotName,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    counts: Annotated[bool, option("Derive the equations of motion and count their operations.")] = True,
    json: options.Json = False,
) -> None:
    """Show joints, actuators, masses, frames and operation counts of a robot."""
    with collected() as remarks:
        system = ap.load(robot, base=base, physical=physical)
    data = facts(system, remarks, counts)
    Printer(json).answer(data, *shown(data))


# ---- data


def facts(system: System, warnings: list[str], counts: bool) -> dict[str, Any]:
    """Return the data that `appell info` shows."""
    from appell.describe.actuator_table import actuator_to_table

    tree = system.tree
    return {
        "name": system.name,
        "kind": system.kind,
        "description": system.description,
        "reference": system.reference,
        "source": system.source,
        "nq": system.nq,
        "nv": system.nv,
        "mass": sum(body.mass for body in system.bodies.values() if body is not None),
        "gravity": list(system.gravity),
        "home": None if system.is_tree and system.tree.home is None else system.start.tolist(),
        "coordinates": [
            {"name": name, "unit": unit, "lower": _finite(lower), "upper": _finite(upper)}
            for name, unit, (lower, upper) in zip(
                system.coordinate_names, system.coordinate_units, system.ranges, strict=True
            )
        ],
        "velocities": list(system.velocity_names),
        "links": [_link(tree, link) for link in tree.links] if tree is not None else [],
        "constraints": _constraints(system),
        "actuators": [
            {"name": name, "unit": _unit(system, name), **actuator_to_table(actuator)}
            for name, actuator in _actuators(system).items()
        ],
        "bodies": [_body(name, body) for name, body in system.bodies.items()],
        "frames": [
            {"name": frame.name, "body": frame.body, "at": list(frame.pose.translation)} for frame in system.frames
        ],
        "operations": _operations(system) if counts and not system.missing_inertias() else {},
        "warnings": [*warnings, *_lacking(system)],
        "units": UNITS,
    }


def _actuators(system: System) -> dict[str, ap.Actuator]:
    """Return the actuators of a tree's joints, mimics included, or of the actuated joints of another system."""
    if system.rigid.is_tree:
        return dict(system.drives)
    return dict(zip(system.actuator_names, system.actuators, strict=True))


def _unit(system: System, actuator: str) -> str:
    """Return the unit of an actuator's position: rad, m, or both for a joint of several axes."""
    if system.rigid.is_tree:
        units = tuple(unit for _, unit in system.tree.joint(actuator).motion.velocities)
    else:
        units = (system.actuator_units[system.actuator_names.index(actuator)],)
    return " or ".join(dict.fromkeys(units))


def _link(robot: ap.Robot, link: ap.Link) -> dict[str, Any]:
    joint = link.joint
    axis = getattr(joint.motion, "axis", None)
    span = robot.span(joint)[1]
    return {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "type": joint.motion.name,
        "axis": None if axis is None else list(axis),
        "v": [span.start, span.stop],
        "unit": _unit(robot, joint.name),
        "limits": asdict(joint.limits),
        "mimic": None if joint.mimic is None else asdict(joint.mimic),
    }


def _constraints(system: Any) -> list[dict[str, Any]]:
    """Return the constraints of a robot with their numbers of rows, and of rows with constraint forces."""
    if not system.is_constrained:
        return []
    idle = {name: sum(row.startswith(f"{name}.") for row in system.idle_rows) for name in system.constraint_names}
    return [
        {"name": each.name, "kind": each.kind, "rows": each.rows, "forces": each.rows - idle[each.name]}
        for each in system.constraints
    ]


def _body(name: str, body: ap.Body | None) -> dict[str, Any]:
    if body is None:
        return {"name": name, "mass": None, "com": None, "moments": None}
    moments = np.linalg.eigvalsh([list(row) for row in body.inertia.rows]).tolist()
    return {"name": name, "mass": body.mass, "com": list(body.com), "moments": moments}


def _finite(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None


def _lacking(system: System) -> list[str]:
    lacking = system.missing_inertias()
    if not lacking:
        return []
    return [
        f"moving links without inertia: {', '.join(lacking)}. Kinematic functions work, but dynamics raise an error; "
        "--no-physical treats these links as massless."
    ]


def _operations(system: System) -> dict[str, dict[str, int]]:
    dyn, counts = ap.Dynamics(system), {}
    counted = COUNTED_FLEXIBLE if system.flexible else COUNTED
    names = ["feedforward", *COUNTED[1:]] if system.elastic_joints and not system.flexible else [*counted]
    with Bar("deriving", len(names), "functions") as bar:
        for name in names:
            bar.say(f"deriving {name}")
            counts[name] = asdict(getattr(dyn, name).count())
            bar.advance()
    return counts


# ---- tables


def shown(facts: dict[str, Any]) -> list[RenderableType]:
    """Return the data as tables and lines for the terminal."""
    frames, operations = facts["frames"], facts["operations"]
    parts: list[RenderableType] = [*_head(facts), _joints(facts["links"]) if facts["links"] else _coordinates(facts)]
    if facts["constraints"]:
        heads = {"name": "constraint", "kind": "kind", "rows": ("rows", ""), "forces": ("with forces", "")}
        parts += [table(facts["constraints"], heads, "Constraints")]
        parts += [f"  independent velocities  {', '.join(facts['velocities'])}", ""]
    if any(_properties(each) for each in facts["actuators"]) or not facts["links"]:
        parts.append(_actuator_table(facts["actuators"]))
    bodies = [
        {"name": body["name"], "mass": _number(body["mass"]) or "none", "com": _vector(body["com"])}
        | {"moments": _vector(body["moments"])}
        for body in facts["bodies"]
    ]
    heads = {"name": "body", "mass": ("mass, kg", ""), "com": "centre of mass, m"}
    parts.append(table(bodies, heads | {"moments": "principal moments, kg m²"}, "Bodies", hide_empty=True))
    if frames:
        named = ", ".join(f"{frame['name']} on {frame['body'] or 'world'}" for frame in frames[:MAX_FRAMES])
        more = f", and {len(frames) - MAX_FRAMES} more" if len(frames) > MAX_FRAMES else ""
        parts += [Text("Frames", style="bold"), Text(f"  {named}{more}\n")]
    if operations:
        rows = [
            {"function": name.replace("_", " ")}
            | {kind: str(n or "") for kind, n in counts.items()}
            | {"total": str(sum(counts.values()))}
            for name, counts in operations.items()
        ]
        heads = {key: (key, "") if key != "function" else key for key in rows[0]}
        parts.append(table(rows, heads, "Operations of one evaluation", hide_empty=True))
    return parts + [Text.assemble(("warning ", "yellow"), warning) for warning in facts["warnings"]]


def _head(facts: dict[str, Any]) -> list[RenderableType]:
    units = {coordinate["unit"] for coordinate in facts["coordinates"]}
    unit = units.pop() if len(units) == 1 else ""
    rows = {
        "source": facts["source"],
        "data": facts["reference"],
        "size": f"nq = {facts['nq']}, nv = {facts['nv']}, bodies: {len(facts['bodies'])}, {facts['mass']:.6g} kg",
        "gravity": f"{_vector(facts['gravity'])} m/s²",
        "home": f"{_vector(facts['home'])} {unit}".strip() if facts["home"] else "",
    }
    title = Text.assemble((facts["name"], "bold"), "  ", facts["description"])
    return [title, *(f"  {name:8} {text}" for name, text in rows.items() if text), ""]


def _joints(links: list[dict[str, Any]]) -> RenderableType:
    rows = [
        {
            "v": _entries(link),
            "joint": link["joint"],
            "motion": f"{link['type']} {_axis(link['axis'])}".strip(),
            "range": _joint_range(link),
            "carries": link["name"],
            "on": link["parent"] or "world",
        }
        for link in links
    ]
    return table(rows, {"v": ("v", "")} | {key: key for key in list(rows[0])[1:]}, "Joints", hide_empty=True)


def _coordinates(facts: dict[str, Any]) -> RenderableType:
    rows = [each | {"range": _range(each["lower"], each["upper"], each["unit"])} for each in facts["coordinates"]]
    heads = {"name": "coordinate", "unit": "unit", "range": "range"}
    return table(rows, heads, "Coordinates", hide_empty=True)


def _properties(actuator: dict[str, Any]) -> dict[str, str]:
    """Return the properties in which an actuator differs from an ideal one."""
    from appell.describe.actuator_table import actuator_to_table
    from appell.model.actuator import IDEAL

    ideal = actuator_to_table(IDEAL)
    return {key: _number(x) for key, x in actuator.items() if key in HEADINGS and x != ideal[key]}


def _actuator_table(actuators: list[dict[str, Any]]) -> RenderableType:
    """Return the table of actuators, with units in the headings if all are equal, otherwise in a column."""
    from appell.motion.titles import FORCES

    units = dict.fromkeys(actuator["unit"] for actuator in actuators)
    unit = next(iter(units)) if len(units) == 1 else ""
    rows = [
        {"name": each["name"], "F, u": "" if unit else f"{FORCES.get(each['unit'], 'N m or N')}, {each['unit']}"}
        | _properties(each)
        for each in actuators
    ]
    heads: dict[str, Any] = {"name": "actuator", "F, u": "F, u"}
    for key, (name, form) in HEADINGS.items():
        named = form.replace("F", FORCES[unit]).replace("u", unit) if unit in FORCES else form
        heads[key] = (f"{name}\n{named}" if named else name, "")
    return table(rows, heads, "Actuators", hide_empty=True)


def _entries(link: dict[str, Any]) -> str:
    """Return the entries of v that belong to a joint; a mimic joint has none."""
    start, stop = link["v"]
    return "" if link["mimic"] or start == stop else str(start) if stop == start + 1 else f"{start}…{stop - 1}"


def _axis(axis: list[float] | None) -> str:
    """Return the letter of a coordinate axis, or the components of any other axis."""
    if axis is None:
        return ""
    for letter, unit in zip("xyz", ([1, 0, 0], [0, 1, 0], [0, 0, 1]), strict=True):
        if axis == unit:
            return letter
        if [-x for x in axis] == unit:
            return f"-{letter}"
    return _vector(axis)


def _joint_range(link: dict[str, Any]) -> str:
    """Return the range of a joint, or for a mimic joint its dependence on the leader."""
    mimic, limits = link["mimic"], link["limits"]
    if mimic is not None:
        return f"= {mimic['multiplier']:g} {mimic['leader']}" + (f" {mimic['offset']:+g}" if mimic["offset"] else "")
    return _range(limits["lower"], limits["upper"], link["unit"])


def _range(lower: float | None, upper: float | None, unit: str) -> str:
    if lower is None and upper is None:
        return ""
    return f"{'-∞' if lower is None else _number(lower)} … {'∞' if upper is None else _number(upper)} {unit}"


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def _vector(numbers: list[float] | None) -> str:
    return "" if numbers is None else "(" + ", ".join(map(_number, numbers)) + ")"
