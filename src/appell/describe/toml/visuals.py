"""Shapes in TOML, on a link or, by `on`, on any link or frame, or on the world:

    [[link.visual]]                         # below its [[link]]
    shape = "box"                           # sphere, cylinder, capsule, ellipsoid, mesh
    size = [0.5, 0.1, 0.1]                  # radius and length of a cylinder; of a mesh its scale, if any
    xyz = [0.25, 0, 0]                      # and rpy or rotation
    color = [0.2, 0.4, 0.8]                 # red, green, blue, perhaps opacity

    [[visual]]
    on = "tip"
    shape = "mesh"
    file = "meshes/tip.stl"                 # beside this file, or package://...

One that cannot be read is passed over, and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appell.describe.build import Builder
from appell.describe.looks import MeshFiles, visual
from appell.describe.toml.lines import Place
from appell.describe.toml.tables import Tables, TomlTable
from appell.errors import AppellError, unknown_name


def read_visuals(tables: Tables, builder: Builder, top: TomlTable, files: MeshFiles) -> list[str]:
    """Add all shapes of a document; what is told of those that cannot be read."""
    notes: list[str] = []
    known = [*(part.name for part in builder.parts), *(frame.name for frame in builder.frames)]
    for on, entries, place in _entries(top):
        who, before = f"a visual of link '{on}'" if on is not None else "a visual", len(tables.flaws.found)
        try:
            table = tables.table(entries, "visual", who, place)
            on = table.get("on", builder.root) if on is None else on
            if on is not None and on not in known:
                raise tables.error(unknown_name("link or frame", on, known, "The robot"), place)
            pose, file = tables.pose(table, who), files.find(table["file"]) if "file" in table else ""
            given = (table.get("shape", ""), table.get("size"), pose, table.get("color"))
            found = visual(on, *given, file, table.get("name", on or ""), tables.where(table))
            builder.visuals += [found] if len(tables.flaws.found) == before else []
        except AppellError as error:
            tables.flaws.found.append(error)
        for flaw in tables.flaws.found[before:]:
            notes.append(f"{who} ({flaw.source or tables.at(place)}): {flaw.problem.rstrip('.')}")
        del tables.flaws.found[before:]
    return notes


def _entries(top: TomlTable) -> Iterator[tuple[str | None, Any, Place]]:
    """The tables of shapes, the links that they stand below, and where they are written."""
    links, number = top.get("link", []), 0
    for link in links if isinstance(links, list) else []:
        inside = link.get("visual", []) if isinstance(link, dict) else []
        for entries in inside if isinstance(inside, list) else [inside]:
            number += 1
            yield str(link.get("name", "")), entries, ("link", "visual", number)
    others = top.get("visual", [])
    for number, entries in enumerate(others if isinstance(others, list) else [others], start=1):
        yield None, entries, ("visual", number)
