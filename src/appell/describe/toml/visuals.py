"""Read visual and collision shapes from TOML, on the link that contains them or on the link or frame given by `on`:

    [[link.visual]]                         # below its [[link]]
    shape = "box"                           # sphere, cylinder, capsule, ellipsoid, mesh
    size = [0.5, 0.1, 0.1]                  # radius and length of a cylinder; scale of a mesh (optional)
    xyz = [0.25, 0, 0]                      # and rpy or rotation
    color = [0.2, 0.4, 0.8]                 # red, green, blue, optionally opacity

    [[visual]]
    on = "tip"
    shape = "mesh"
    file = "meshes/tip.stl"                 # relative to this file, or package://...

    [[link.collision]]                      # and [[collision]], with the same keys except color
    shape = "capsule"                       # sphere, cylinder, box, plane, arc, ellipsoid, mesh
    size = [0.05, 0.4]                      # see `appell.Collision`

A visual that cannot be read is skipped with a warning; a collision shape that cannot be read is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from appell.describe.build import Builder
from appell.describe.toml.lines import KeyPath
from appell.describe.toml.tables import Tables, TomlTable
from appell.describe.visuals import MeshFiles, collision, visual
from appell.errors import AppellError, unknown_name


def read_visuals(tables: Tables, builder: Builder, top: TomlTable, files: MeshFiles) -> list[str]:
    """Add all shapes of a document.

    Parameters
    ----------
    tables, top : the document and its top-level table
    builder : receives the shapes
    files : finds mesh files

    Returns
    -------
    Notes about shapes that could not be read, for a warning.
    """
    notes: list[str] = []
    known = [*(part.name for part in builder.parts), *(frame.name for frame in builder.frames)]
    for on, entries, key_path in _entries(top):
        owner, error_count = f"a visual of link '{on}'" if on is not None else "a visual", len(tables.errors.collected)
        try:
            table = tables.table(entries, "visual", owner, key_path)
            on = table.get("on", builder.root) if on is None else on
            if on is not None and on not in known:
                raise tables.error(unknown_name("link or frame", on, known, "The robot"), key_path)
            pose, file = tables.pose(table, owner), files.find(table["file"]) if "file" in table else ""
            given = (table.get("shape", ""), table.get("size"), pose, table.get("color"))
            shape = visual(on, *given, file, table.get("name", on or ""), tables.where(table))
            builder.visuals += [shape] if len(tables.errors.collected) == error_count else []
        except AppellError as error:
            tables.errors.collected.append(error)
        for part in tables.errors.collected[error_count:]:
            notes.append(f"{owner} ({part.source or tables.at(key_path)}): {part.problem.rstrip('.')}")
        del tables.errors.collected[error_count:]
    return notes


def read_collisions(tables: Tables, builder: Builder, top: TomlTable, files: MeshFiles) -> None:
    """Add all collision shapes of a document, and collect the errors in them; see `read_visuals` for the arguments."""
    for on, entries, key_path in _entries(top, "collision"):
        owner = f"a collision shape of link '{on}'" if on is not None else "a collision shape"
        table = tables.table(entries, "collision", owner, key_path)
        pose, file = tables.pose(table, owner), files.find(table["file"]) if "file" in table else ""
        given = (table.get("on") if on is None else on, table.get("shape", ""), table.get("size"), pose, file)
        if not table.left_out:
            shape = tables.errors.attempt(None, collision, *given, table.get("name", ""), tables.where(table))
            if shape is not None:
                builder.collisions.append(replace(shape, link=table.get("link", shape.link)))


def _entries(top: TomlTable, kind: str = "visual") -> Iterator[tuple[str | None, Any, KeyPath]]:
    """Yield the link that contains a shape (None at the top level), the table of the shape, and its key path."""
    links, number = top.get("link", []), 0
    for link in links if isinstance(links, list) else []:
        inside = link.get(kind, []) if isinstance(link, dict) else []
        for entries in inside if isinstance(inside, list) else [inside]:
            number += 1
            yield str(link.get("name", "")), entries, ("link", kind, number)
    others = top.get(kind, [])
    for number, entries in enumerate(others if isinstance(others, list) else [others], start=1):
        yield None, entries, (kind, number)
