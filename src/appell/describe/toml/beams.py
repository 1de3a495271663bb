"""Flexible links in the TOML file of a robot: beams, and modal bodies from a file of arrays.

beam = { length = 0.8, EI = [20, 30], mass_per_length = 0.5, modes = { y = 2, z = 1 }, damping = 1e-3 }
beam = { length = 0.8, section = { tube = [0.02, 0.018] }, E = 7e10, rho = 2700, modes = { y = 2 } }
modes = "link.npz"                      # relative to the robot file; keys as in `FlexibleBody.from_modes`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from appell.describe.toml.tables import Tables, TomlTable
from appell.errors import AppellError, ModelError, unknown_name
from appell.model.beam import Section, beam
from appell.model.flexible import FlexibleBody

MODE_ARGUMENTS = {"y": "bending", "z": "bending", "twist": "torsion", "stretch": "extension"}
BEAM_KEYS = (
    "length",
    "E",
    "rho",
    "section",
    "modes",
    *(name for name in beam.__kwdefaults__ or () if name not in MODE_ARGUMENTS.values()),
)
SECTIONS: dict[str, Any] = {"tube": Section.tube, "rectangle": Section.rectangle, "general": Section}


def flexible_body(tables: Tables, link: TomlTable, owner: str) -> FlexibleBody | None:
    """Return the flexible body of a [[link]] table, or None if it has none."""
    if given := [key for key in ("beam", "modes") if key in link]:
        key, others = given[0], [other for other in ("beam", "modes", "mass") if other in link]
        where = (*link.key_path, key)
        if len(others) > 1:
            raise tables.error(f"{owner} has {' and '.join(others)}.", where, "one of beam, modes and mass")
        try:
            return _beam(tables, link["beam"], owner, where) if key == "beam" else _modal(tables, link["modes"])
        except AppellError as error:
            raise tables.error(f"{owner}: {error.problem}", where, error.expected) from None
    return None


def _beam(tables: Tables, entries: Any, owner: str, where: tuple) -> FlexibleBody:
    if not isinstance(entries, Mapping):
        raise tables.error(f"beam of {owner} is {entries!r}.", where, "a table such as { length = 0.8, ... }")
    for key in entries:
        if key not in BEAM_KEYS:
            raise tables.error(unknown_name("key", key, BEAM_KEYS, f"the beam of {owner}"), where)
    options = dict(entries)
    if "modes" in options:
        modes = options.pop("modes")
        unknown = [name for name in modes if name not in MODE_ARGUMENTS] if isinstance(modes, Mapping) else ["?"]
        if unknown:
            raise tables.error(unknown_name("kind of mode", unknown[0], MODE_ARGUMENTS, f"the beam of {owner}"), where)
        options["bending"] = modes.get("y", 0), modes.get("z", 0)
        options |= {
            argument: modes[name] for name, argument in MODE_ARGUMENTS.items() if name in modes and name not in "yz"
        }
    if "section" in options:
        section = options["section"]
        if not isinstance(section, Mapping) or len(section) != 1 or next(iter(section)) not in SECTIONS:
            raise tables.error(
                f"the section of the beam of {owner} is {section!r}.", where, "{ tube = [outer, inner] }"
            )
        ((kind, sizes),) = section.items()
        options["section"] = SECTIONS[kind](*sizes if isinstance(sizes, list) else [sizes])
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    if "length" not in options:
        raise tables.error(f"the beam of {owner} has no length.", where, "length, in m")
    return beam(options.pop("length"), **options)


def _modal(tables: Tables, file: str) -> FlexibleBody:
    path = Path(file) if Path(file).is_absolute() or not tables.source else Path(tables.source).parent / file
    return FlexibleBody.from_modes(path)


def flexible_lines(body: FlexibleBody, owner: str) -> list[str]:
    """Return the lines of a flexible body; raise ModelError if it was made from arrays."""
    if not body.description:
        raise ModelError(
            f"{owner} cannot be written: its flexible body was created from arrays.",
            expected="a beam, or a body from a file of modes",
            hint="Save the arrays with numpy.savez and create the body with FlexibleBody.from_modes(path).",
        )
    ((kind, given),) = body.description
    if kind == "modes":
        return [f"modes = {_text(given)}"]
    options = dict(given)
    counts = {"y": options.get("bending", (2, 1))[0], "z": options.get("bending", (2, 1))[1]}
    counts |= {"twist": options.pop("torsion", 0), "stretch": options.pop("extension", 0)}
    options.pop("bending", None)
    options["modes"] = {name: count for name, count in counts.items() if count}
    return ["beam = " + _text(options)]


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Section():
            return "{ general = " + _text(tuple(vars(value).values())) + " }"
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_text(item)}" for key, item in value.items()) + " }"
        case tuple() | list():
            return "[" + ", ".join(map(_text, value)) + "]"
        case int():
            return str(value)
    return repr(float(value))
