"""Read and write mechanisms in TOML: the zoo's maker function, its options, and changes to the result.

mechanism = "five-bar"                  # poses are Python functions, so a file can only name their maker
name = "mine"                           # optional, like everything below
gravity = [0, 0, -9.81]
home = [0.0, 0.4]

[options]                               # arguments of the maker
base = 0.25

[[body]]                                # replaces that of the maker
name = "first_link_left"
mass = 0.5
com = [0.1, 0, 0]
inertia = [1e-4, 2e-3, 2e-3]

[[actuator]]                            # replaces that of the maker; keys as in `describe.actuator_table`
name = "theta_left"
gear = 50
viscous = 0.2
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from appell.describe.actuator_table import actuator_from_table
from appell.describe.robot_packages import makers
from appell.describe.toml.tables import Tables
from appell.describe.toml.write import actuator_entries, body_lines, frame_lines, list_text, text
from appell.describe.values import number, numbers, shortened, vector
from appell.errors import AppellError, DescriptionError, ModelError, unknown_name
from appell.model.actuator import IDEAL
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism, Recipe

NOT_IN_FILES = (
    "coordinates",
    "units",
    "ranges",
    "condition_limit",
    "body_names",
    "actuator_names",
)  # attributes that a file cannot change


def check_tree_options(name: str, source: str = "", *, base: str, mimic: bool, **others: Any) -> None:
    """Raise DescriptionError for options of `load` that apply to trees only."""
    is_given = {"base": base != "fixed", "mimic": not mimic}
    for option in (option for option, given in is_given.items() if given):
        problem = f"{option}= does not apply to '{name}', which is a mechanism in closed form."
        raise DescriptionError(problem, expected=f"a tree, or no {option}=", source=source)


# ---- reading


def dimensions_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked arguments of the function that makes a mechanism of the zoo."""
    for key, value in given.items():
        if key not in _dimension_names(name):
            raise DescriptionError(unknown_name("dimension", key, _dimension_names(name), f"mechanism '{name}'"))
        _check_numbers(value.tolist() if isinstance(value, np.ndarray) else value, f"{key} of '{name}'", "")
    return dict(given)


def _dimension_names(name: str) -> list[str]:
    return [key for key in inspect.signature(makers()[name]).parameters if key != "physical"]


def read_mechanism(tables: Tables, **options: Any) -> Mechanism:
    """Return the mechanism of a document."""
    top, errors = tables.top("mechanism"), tables.errors
    name = top.get("mechanism", "")
    if name not in makers():
        if "mechanism" not in top.left_out:
            errors.add(tables.error(unknown_name("mechanism", name, makers(), "The zoo"), ("mechanism",)))
        errors.raise_collected()
    errors.attempt(None, check_tree_options, name, tables.source, **options)
    arguments = _checked_options(tables, name, top.get("options", {}))
    bodies, actuators, frames = {}, {}, []
    for table in tables.tables(top, "body"):
        body = tables.name(table)
        bodies[body] = tables.body_options(table, f"body '{body}'" if body else table.owner).get("body")
    for table in tables.tables(top, "actuator"):
        actuator = tables.name(table)
        entries = tables.actuator_entries(table, f"'{actuator}'")
        actuators[actuator] = errors.attempt(IDEAL, actuator_from_table, entries, f"'{actuator}'", tables.where(table))
    for table in tables.tables(top, "frame"):
        frames.append(Frame(tables.name(table), table.get("on"), tables.pose(table, table.owner)))
    changes: dict[str, Any] = {key: top[key] for key in ("name", "description", "reference") if key in top}
    if "gravity" in top:
        changes["gravity"] = errors.attempt(None, vector, top["gravity"], "gravity", tables.where(top, "gravity"))
    errors.raise_collected()
    source = tables.source
    try:
        mechanism = makers()[name](**arguments, physical=options["physical"]).labelled(source=source)
        if "home" in top:
            home, where = f"the home of {mechanism.owner}", tables.where(top, "home")
            changes["home"] = numbers(top["home"], mechanism.nq, home, where)
        mechanism = replace(mechanism, **changes) if changes else mechanism
        mechanism = mechanism.with_bodies(bodies).with_actuators(actuators).with_frames(frames)
        return mechanism.with_free(*top["free"]) if top.get("free") else mechanism
    except AppellError as error:
        raise error if source in str(error) else type(error)(str(error), source=source) from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        problem = f"mechanism '{name}' cannot be created with {shortened(arguments)}: {error}."
        expected = "numbers and lists, as in the parameters of its maker"
        raise tables.error(problem, ("options",), expected) from None


def _checked_options(tables: Tables, name: str, given: Any) -> dict[str, Any]:
    errors, options = tables.errors, {}
    if not isinstance(given, Mapping):
        errors.add(tables.error(f"options is {shortened(given)}.", ("options",), "a table [options]"))
        return {}
    known = _dimension_names(name)
    for key, value in given.items():
        key_path = ("options", key)
        if key not in known:
            errors.add(tables.error(unknown_name("option", key, known, f"mechanism '{name}'"), key_path))
            continue
        value = errors.attempt(0.0, tables.numeric, value, key, "[options]", key_path)
        options[key] = errors.attempt(0.0, _check_numbers, value, f"{key} of [options]", tables.at(key_path))
    return options


def _check_numbers(value: Any, what: str, where: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [_check_numbers(item, what, where) for item in value]
    number(value, what, where)
    return value


# ---- writing


def mechanism_lines(mechanism: Mechanism) -> list[str]:
    """Return a mechanism as the lines of a TOML document."""
    recipe, original = _original(mechanism)
    lines = [f"mechanism = {text(recipe.maker)}"]
    for key in ("name", "description", "reference"):
        if getattr(mechanism, key) != getattr(original, key):
            lines.append(f"{key} = {text(getattr(mechanism, key))}")
    for key in ("gravity", "home"):
        if getattr(mechanism, key) != getattr(original, key):
            lines.append(f"{key} = {list_text(getattr(mechanism, key))}")
    if mechanism.free:
        lines.append(f"free = [{', '.join(map(text, sorted(mechanism.free)))}]")
    if recipe.options:
        lines += ["", "[options]", *(f"{key} = {_value(mechanism, key, x)}" for key, x in recipe.options.items())]
    for name, body in mechanism.bodies.items():
        if body != original.bodies[name]:
            lines += ["", "[[body]]", f"name = {text(name)}", *body_lines(body)]
    for joint, original_joint in zip(mechanism.driven, original.driven, strict=True):
        if joint.actuator != original_joint.actuator:
            lines += ["", "[[actuator]]", f"name = {text(joint.name)}", *actuator_entries(joint.actuator)]
    for frame in mechanism.frames[len(original.frames) :]:
        lines += ["", *frame_lines(frame)]
    return lines


def _original(mechanism: Mechanism) -> tuple[Recipe, Mechanism]:
    """Return the recipe of a mechanism, and the mechanism that it makes.

    Raises ModelError if the mechanism differs from that in more than a file can express.
    """
    recipe, owner = mechanism.recipe, mechanism.owner
    if recipe is None or recipe.maker not in makers():
        problem = f"{owner} cannot be written: its poses are Python functions, and it is not in the zoo."
        hint = "Keep the Python code that creates it."
        raise ModelError(problem, expected="one of " + ", ".join(makers()), hint=hint)
    original = makers()[recipe.maker](**recipe.options, physical=mechanism.physical)
    different = [what for what in NOT_IN_FILES if getattr(mechanism.rigid, what) != getattr(original, what)]
    if mechanism.frames[: len(original.frames)] != original.frames:
        different.append("frames")
    if different:
        what = " and ".join(different).replace("_", " ")
        problem = (
            f"{owner} cannot be written: its {what} differ from those of '{recipe.maker}', which a file cannot express."
        )
        raise ModelError(problem, expected="changes to options, bodies, actuators, gravity or home, or added frames")
    return recipe, original


def _value(mechanism: Mechanism, key: str, value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(mechanism, key, item) for item in value) + "]"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problem = f"{mechanism.owner} cannot be written: its option '{key}' is {shortened(value)}."
        raise ModelError(problem, expected="numbers and lists of numbers", hint="Use with_bodies() to replace bodies.")
    return repr(value)
