"""Mechanisms in TOML: which one of the zoo, made with which numbers, and what is different about it.

mechanism = "five-bar"                  # poses are Python functions, so a file can only name their maker
name = "mine"                           # this and everything below may be left out
gravity = [0, 0, -9.81]
home = [0.0, 0.4]

[options]                               # handed to the maker
base = 0.25

[[body]]                                # in place of the maker's
name = "first_link_left"
mass = 0.5
com = [0.1, 0, 0]
inertia = [1e-4, 2e-3, 2e-3]

[[actuator]]                            # in place of the maker's; keys as in `describe.drives`
name = "theta_left"
gear = 50
viscous = 0.2
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from appell.describe.catalogues import makers
from appell.describe.drives import actuator_of
from appell.describe.toml.tables import Tables
from appell.describe.toml.write import actuator_entries, body_lines, frame_lines, listed, text
from appell.describe.values import number, numbers, shortened, vector
from appell.errors import AppellError, DescriptionError, ModelError, unknown_name
from appell.model.actuator import IDEAL
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism, Recipe

UNSAID = ("coordinates", "units", "ranges", "condition_limit", "body_names", "actuator_names")  # by a file


def refuse_options(name: str, source: str = "", *, base: str, mimic: bool, **others: Any) -> None:
    """What may be asked of a tree only."""
    asked = {"base": base != "fixed", "mimic": not mimic}
    for option in (option for option, given in asked.items() if given):
        problem = f"'{name}' is a mechanism in closed form, for which {option}= means nothing."
        raise DescriptionError(problem, expected=f"no {option}=, or a tree", source=source)


# ---- reading


def read_mechanism(tables: Tables, **options: Any) -> Mechanism:
    """The mechanism of a document."""
    top, flaws = tables.top("mechanism"), tables.flaws
    name = top.get("mechanism", "")
    if name not in makers():
        if "mechanism" not in top.left_out:
            flaws.add(tables.error(unknown_name("mechanism", name, makers(), "The zoo"), ("mechanism",)))
        flaws.tell()
    flaws.tried(None, refuse_options, name, tables.source, **options)
    made = _checked_options(tables, name, top.get("options", {}))
    bodies, actuators, frames = {}, {}, []
    for table in tables.tables(top, "body"):
        body = tables.name(table)
        bodies[body] = tables.matter(table, f"body '{body}'" if body else table.who).get("body")
    for table in tables.tables(top, "actuator"):
        actuator = tables.name(table)
        told = {key: value for key, value in table.items() if key != "name"}
        actuators[actuator] = flaws.tried(IDEAL, actuator_of, told, f"'{actuator}'", tables.where(table))
    for table in tables.tables(top, "frame"):
        frames.append(Frame(tables.name(table), table.get("on"), tables.pose(table, table.who)))
    changes: dict[str, Any] = {key: top[key] for key in ("name", "description", "reference") if key in top}
    if "gravity" in top:
        changes["gravity"] = flaws.tried(None, vector, top["gravity"], "gravity", tables.where(top, "gravity"))
    flaws.tell()
    source = tables.source
    try:
        mechanism = makers()[name](**made, physical=options["physical"]).labelled(source=source)
        if "home" in top:
            home, where = f"the home of {mechanism.owner}", tables.where(top, "home")
            changes["home"] = numbers(top["home"], mechanism.nq, home, where)
        mechanism = replace(mechanism, **changes) if changes else mechanism
        mechanism = mechanism.with_bodies(bodies).with_actuators(actuators).with_frames(frames)
        return mechanism.with_free(*top["free"]) if top.get("free") else mechanism
    except AppellError as error:
        raise error if source in str(error) else type(error)(str(error), source=source) from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        problem = f"mechanism '{name}' cannot be made with {shortened(made)}: {error}."
        expected = "numbers and lists as its maker takes them"
        raise tables.error(problem, ("options",), expected) from None


def _checked_options(tables: Tables, name: str, given: Any) -> dict[str, Any]:
    flaws, options = tables.flaws, {}
    if not isinstance(given, Mapping):
        flaws.add(tables.error(f"options is {shortened(given)}.", ("options",), "a table [options]"))
        return {}
    known = [key for key in inspect.signature(makers()[name]).parameters if key != "physical"]
    for key, value in given.items():
        place = ("options", key)
        if key not in known:
            flaws.add(tables.error(unknown_name("option", key, known, f"mechanism '{name}'"), place))
            continue
        value = flaws.tried(0.0, tables.numeric, value, key, "[options]", place)
        options[key] = flaws.tried(0.0, _of_numbers, value, f"{key} of [options]", tables.at(place))
    return options


def _of_numbers(value: Any, what: str, where: str) -> Any:
    if isinstance(value, list):
        return [_of_numbers(item, what, where) for item in value]
    number(value, what, where)
    return value


# ---- writing


def mechanism_lines(mechanism: Mechanism) -> list[str]:
    """A mechanism as the lines of a TOML document."""
    recipe, own = _made_anew(mechanism)
    lines = [f"mechanism = {text(recipe.maker)}"]
    for key in ("name", "description", "reference"):
        if getattr(mechanism, key) != getattr(own, key):
            lines.append(f"{key} = {text(getattr(mechanism, key))}")
    for key in ("gravity", "home"):
        if getattr(mechanism, key) != getattr(own, key):
            lines.append(f"{key} = {listed(getattr(mechanism, key))}")
    if mechanism.free:
        lines.append(f"free = [{', '.join(map(text, sorted(mechanism.free)))}]")
    if recipe.options:
        lines += ["", "[options]", *(f"{key} = {_value(mechanism, key, x)}" for key, x in recipe.options.items())]
    for name, body in mechanism.bodies.items():
        if body != own.bodies[name]:
            lines += ["", "[[body]]", f"name = {text(name)}", *body_lines(body)]
    for joint, original in zip(mechanism.driven, own.driven, strict=True):
        if joint.actuator != original.actuator:
            lines += ["", "[[actuator]]", f"name = {text(joint.name)}", *actuator_entries(joint.actuator)]
    for frame in mechanism.frames[len(own.frames) :]:
        lines += ["", *frame_lines(frame)]
    return lines


def _made_anew(mechanism: Mechanism) -> tuple[Recipe, Mechanism]:
    """How a mechanism was made, and what its maker makes of that; an error if a file cannot say the difference."""
    recipe, owner = mechanism.recipe, mechanism.owner
    if recipe is None or recipe.maker not in makers():
        problem = f"{owner} cannot be written: its poses are Python functions, and it is none of the zoo."
        raise ModelError(problem, expected="one of " + ", ".join(makers()), hint="keep the Python that makes it")
    own = makers()[recipe.maker](**recipe.options, physical=mechanism.physical)
    different = [what for what in UNSAID if getattr(mechanism, what) != getattr(own, what)]
    if mechanism.frames[: len(own.frames)] != own.frames:
        different.append("frames")
    if different:
        what = " and ".join(different).replace("_", " ")
        problem = f"{owner} cannot be written: its {what} are not those of a {recipe.maker}, and a file cannot say so."
        raise ModelError(problem, expected="other options, bodies, actuators, gravity, home or more frames")
    return recipe, own


def _value(mechanism: Mechanism, key: str, value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(mechanism, key, item) for item in value) + "]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problem = f"{mechanism.owner} cannot be written: its option '{key}' is {shortened(value)}."
        raise ModelError(problem, expected="numbers and lists of them", hint="with_bodies() gives it other bodies")
    return repr(value)
