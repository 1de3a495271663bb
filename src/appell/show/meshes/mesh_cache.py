"""The meshes of a complete robot, simplified to a common budget of triangles and cached.

The files of a humanoid contain several hundred thousand triangles; reading and simplifying them takes 1 to 2 seconds.
`keep` is a cache by key, such as `compile.cache.object_cache.fetch`. It receives a hash of everything that the result
depends on (paths, times and sizes of files, scales, budget, method) and a function that creates the bytes if they are
not cached.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from appell.describe.meshes.mesh_file import read_mesh
from appell.errors import AppellError
from appell.show.meshes.simplify import BUDGET, simplified, triangle_shares
from appell.show.scene.scene import Color, Mesh

FORMAT = "meshes 2"  # change this if the same files give different meshes

MeshSource = Mesh | tuple[str, Sequence[float]]  # a mesh in memory, or the path and scale of a file
Colored = list[tuple[Mesh, Color | None]]
Keep = Callable[[str, Callable[[], bytes]], bytes]


def read_simplified(
    wanted: Sequence[MeshSource], *, budget: int = BUDGET, keep: Keep | None = None
) -> tuple[list[Colored], list[str]]:
    """Read and simplify the meshes of a robot.

    Parameters
    ----------
    wanted : sequence of MeshSource
        Meshes in memory, or paths and scales of files. Equal entries are read once.
    budget : number of triangles of all meshes together
    keep : cache: `keep(key, make)` returns the bytes stored for a key, or stores and returns those of `make()`

    Returns
    -------
    meshes : list
        Meshes with colours for each entry; an empty list for a file that cannot be read.
    notes : list of str
        One sentence per file that cannot be read.
    """
    if keep is None or not wanted:
        return _read_all(wanted, budget)
    try:
        return _unpacked(keep(_key(wanted, budget), lambda: _packed(*_read_all(wanted, budget))))
    except (ValueError, KeyError, IndexError, OSError, zipfile.BadZipFile):  # the cached data are invalid
        return _read_all(wanted, budget)


def _read_all(wanted: Sequence[MeshSource], budget: int) -> tuple[list[Colored], list[str]]:
    read: dict[object, Colored] = {}
    notes: list[str] = []
    for each in wanted:
        if _name(each) not in read:
            try:
                read[_name(each)] = [(each, None)] if isinstance(each, Mesh) else read_mesh(*each)
            except AppellError as error:
                read[_name(each)] = []
                notes.append(f"{error.problem.rstrip('.')} ({error.source})" if error.source else error.problem)
    parts = [(name, mesh, color) for name, meshes in read.items() for mesh, color in meshes]
    times = {name: sum(_name(each) == name for each in wanted) for name in read}
    drawn = [mesh for name, mesh, _ in parts for _ in range(times[name])]  # repeated entries are drawn repeatedly
    allowed = iter(triangle_shares(drawn, budget))
    fewer: dict[object, Colored] = {name: [] for name in read}
    for name, mesh, color in parts:
        share = min(next(allowed) for _ in range(times[name]))
        fewer[name].append((simplified(mesh, share), color))
    return [fewer[_name(each)] for each in wanted], notes


def _name(each: MeshSource) -> object:
    return id(each) if isinstance(each, Mesh) else (each[0], tuple(each[1]))


def _key(wanted: Sequence[MeshSource], budget: int) -> str:
    inputs: list[object] = [FORMAT, budget, find_spec("fast_simplification") is not None]
    for each in wanted:
        if isinstance(each, Mesh):
            inputs += [hashlib.sha256(array.tobytes()).hexdigest() for array in (each.vertices, each.faces)]
        else:
            path = Path(each[0])
            state = os.stat(path) if path.is_file() else None
            inputs += [str(path.absolute()), list(map(float, each[1])), state and [state.st_mtime_ns, state.st_size]]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _packed(entries: list[Colored], notes: list[str]) -> bytes:
    """Concatenate the arrays of all meshes, each mesh once, with a table of their sizes."""
    meshes = {id(mesh): mesh for each in entries for mesh, _ in each}
    number = {key: k for k, key in enumerate(meshes)}
    table = {
        "notes": notes,
        "sizes": [(len(mesh.vertices), len(mesh.faces), mesh.smooth) for mesh in meshes.values()],
        "entries": [[(number[id(mesh)], color) for mesh, color in each] for each in entries],
    }
    vertices = np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in meshes.values())])
    faces = np.concatenate([np.zeros((0, 3), int), *(mesh.faces for mesh in meshes.values())])
    file = io.BytesIO()
    about = np.frombuffer(json.dumps(table).encode(), np.uint8)
    np.savez_compressed(file, about=about, vertices=vertices.astype(np.float32), faces=faces.astype(np.int32))
    return file.getvalue()


def _unpacked(data: bytes) -> tuple[list[Colored], list[str]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        table = json.loads(archive["about"].tobytes())
        vertices, faces = archive["vertices"].astype(float), archive["faces"].astype(np.int64)
    meshes, v, f = [], 0, 0
    for points, triangles, smooth in table["sizes"]:
        meshes.append(Mesh(vertices[v : v + points], faces[f : f + triangles], bool(smooth)))
        v, f = v + points, f + triangles
    entries = [[(meshes[k], color and tuple(color)) for k, color in each] for each in table["entries"]]
    return entries, table["notes"]
