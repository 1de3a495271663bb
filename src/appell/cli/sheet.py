"""The facts of a robot or a mechanism on the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from appell.describe.drives import table_of
from appell.model.actuator import IDEAL
from appell.motion.names import FORCES

HEADINGS = {  # of what an actuator says, and in which units: F is N m or N, u is rad or m
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
}
MOST_FRAMES = 40  # names beyond these are only counted; --json has all


def show(facts: dict[str, Any], console: Console) -> None:
    _head(facts, console)
    console.print(_joints(facts["links"]) if facts["links"] else _coordinates(facts["coordinates"]))
    if facts["constraints"]:
        console.print(_constraints(facts["constraints"]))
        console.print(f"  independent velocities  {escape(', '.join(facts['velocities']))}\n", highlight=False)
    if any(told := [_drive(actuator) for actuator in facts["actuators"]]) or not facts["links"]:
        console.print(_drives(facts["actuators"], told))
    console.print(_bodies(facts["bodies"]))
    _frames(facts["frames"], console)
    if facts["operations"]:
        console.print(_operations(facts["operations"]))
    for warning in facts["warnings"]:
        console.print(f"[yellow]warning[/] {escape(warning)}", highlight=False)


def _head(facts: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{escape(facts['name'])}[/]  {escape(facts['description'])}", highlight=False)
    rows = {
        "source": facts["source"],
        "numbers": facts["reference"],
        "size": f"nq = {facts['nq']}, nv = {facts['nv']}, bodies: {len(facts['bodies'])}, {facts['mass']:.6g} kg",
        "gravity": f"{_vector(facts['gravity'])} m/s²",
        "home": _home(facts),
    }
    for name, text in rows.items():
        if text:
            console.print(f"  [dim]{name:8}[/] {escape(text)}", highlight=False, soft_wrap=True)
    console.print()


def _home(facts: dict[str, Any]) -> str:
    """The start, in the units of its coordinates if these are all the same."""
    units = {coordinate["unit"] for coordinate in facts["coordinates"]}
    return f"{_vector(facts['home'])} {units.pop() if len(units) == 1 else ''}".strip() if facts["home"] else ""


def _joints(links: list[dict[str, Any]]) -> Table:
    columns = {
        "v": [_span(link) for link in links],
        "joint": [link["joint"] for link in links],
        "motion": [f"{link['type']} {_axis(link['axis'])}".strip() for link in links],
        "range": [_range(link) for link in links],
        "carries": [link["name"] for link in links],
        "on": [link["parent"] or "world" for link in links],
    }
    return _table("Joints", columns, right=("v",))


def _constraints(constraints: list[dict[str, Any]]) -> Table:
    """Rows that carry no force follow from others."""
    columns = {
        "constraint": [each["name"] for each in constraints],
        "kind": [each["kind"] for each in constraints],
        "rows": [str(each["rows"]) for each in constraints],
        "with forces": [str(each["forces"]) for each in constraints],
    }
    return _table("Constraints", columns, right=("rows", "with forces"))


def _coordinates(coordinates: list[dict[str, Any]]) -> Table:
    columns = {
        "coordinate": [each["name"] for each in coordinates],
        "unit": [each["unit"] for each in coordinates],
        "range": [_span_of(each["lower"], each["upper"], each["unit"]) for each in coordinates],
    }
    return _table("Coordinates", columns, right=())


def _drive(actuator: dict[str, Any]) -> dict[str, str]:
    """What tells an actuator from an ideal one."""
    ideal = table_of(IDEAL)
    return {key: _number(x) for key, x in actuator.items() if key in HEADINGS and x != ideal[key]}


def _drives(actuators: list[dict[str, Any]], told: list[dict[str, str]]) -> Table:
    """With units in the headings if all actuators have the same, else F and u there and a column that says them."""
    units = dict.fromkeys(actuator["unit"] for actuator in actuators)
    alike = next(iter(units)) if len(units) == 1 else ""
    columns = {_heading(key, alike): [each.get(key, "") for each in told] for key in HEADINGS}
    names = {"actuator": [actuator["name"] for actuator in actuators]}
    if not alike:
        names["F, u"] = [f"{FORCES.get(x['unit'], 'N m or N')}, {x['unit']}" for x in actuators]
    return _table("Actuators", names | columns, right=tuple(columns))


def _heading(key: str, unit: str) -> str:
    name, units = HEADINGS[key]
    if unit in FORCES:
        units = units.replace("F", FORCES[unit]).replace("u", unit)
    return f"{name}\n{units}" if units else name


def _bodies(bodies: list[dict[str, Any]]) -> Table:
    columns = {
        "body": [body["name"] for body in bodies],
        "mass, kg": [_number(body["mass"]) or "none" for body in bodies],
        "centre of mass, m": [_vector(body["com"]) for body in bodies],
        "principal moments, kg m²": [_vector(body["moments"]) for body in bodies],
    }
    return _table("Bodies", columns, right=("mass, kg",))


def _operations(operations: dict[str, dict[str, int]]) -> Table:
    columns = {"function": [name.replace("_", " ") for name in operations]}
    for kind in next(iter(operations.values())):
        columns[kind] = [str(count[kind] or "") for count in operations.values()]
    columns["total"] = [str(sum(count.values())) for count in operations.values()]
    return _table("Operations of one evaluation", columns, right=tuple(columns)[1:])


def _table(title: str, columns: dict[str, list[str]], right: tuple[str, ...]) -> Table:
    """A table without the columns that say nothing."""
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in shown:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for cells in zip(*shown.values(), strict=True):
        table.add_row(*map(escape, cells))
    return table


def _span(link: dict[str, Any]) -> str:
    """Which entries of v are the joint's own; a mimic joint has none."""
    start, stop = link["v"]
    return "" if link["mimic"] else str(start) if stop == start + 1 else f"{start}…{stop - 1}"


def _axis(axis: list[float] | None) -> str:
    """A coordinate axis by its letter, any other by its numbers."""
    if axis is None:
        return ""
    for letter, unit in zip("xyz", ([1, 0, 0], [0, 1, 0], [0, 0, 1]), strict=True):
        if axis == unit:
            return letter
        if [-x for x in axis] == unit:
            return f"-{letter}"
    return _vector(axis)


def _range(link: dict[str, Any]) -> str:
    """From where to where the joint goes; a mimic joint goes where its leader does."""
    mimic, lower, upper = link["mimic"], link["limits"]["lower"], link["limits"]["upper"]
    if mimic is not None:
        return f"= {mimic['multiplier']:g} {mimic['leader']}" + (f" {mimic['offset']:+g}" if mimic["offset"] else "")
    return _span_of(lower, upper, link["unit"])


def _span_of(lower: float | None, upper: float | None, unit: str) -> str:
    if lower is None and upper is None:
        return ""
    return f"{'-∞' if lower is None else _number(lower)} … {'∞' if upper is None else _number(upper)} {unit}"


def _frames(frames: list[dict[str, Any]], console: Console) -> None:
    if not frames:
        return
    named = ", ".join(f"{frame['name']} on {frame['body'] or 'world'}" for frame in frames[:MOST_FRAMES])
    more = f", and {len(frames) - MOST_FRAMES} more" if len(frames) > MOST_FRAMES else ""
    console.print(f"[italic]Frames[/]\n  {escape(named)}{more}\n", highlight=False)


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def _vector(numbers: list[float] | None) -> str:
    return "" if numbers is None else "(" + ", ".join(map(_number, numbers)) + ")"
