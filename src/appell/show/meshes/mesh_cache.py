"""The meshes of a whole robot, read and thinned to one budget, and kept for the next time.

A humanoid's files hold some hundred thousand triangles; to read and to thin them takes a second or two. `keep` is a
store by keys, such as `compile.cache.object_cache.fetch`: it is given the hash of all that the outcome depends on
(paths, times and sizes of files, scales, budget, ways) and a function that makes the bytes if there are none.
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

from appell.errors import AppellError
from appell.show.meshes.mesh_file import read_mesh
from appell.show.meshes.thinning import BUDGET, shares, thinned
from appell.show.scene.scene import Color, Mesh

FORMAT = "meshes 1"  # changes when the same files would give others

Wanted = Mesh | tuple[str, Sequence[float]]  # triangles, or the path and scale of a file
Colored = list[tuple[Mesh, Color | None]]
Keep = Callable[[str, Callable[[], bytes]], bytes]


def read_thinned(
    wanted: Sequence[Wanted], *, budget: int = BUDGET, keep: Keep | None = None
) -> tuple[list[Colored], list[str]]:
    """The meshes of each entry with `budget` triangles in all, and a sentence about each file that cannot be read.

    An entry that stands twice is read once. One that cannot be read has no meshes.
    """
    if keep is None or not wanted:
        return _made(wanted, budget)
    try:
        return _unpacked(keep(_key(wanted, budget), lambda: _packed(*_made(wanted, budget))))
    except (ValueError, KeyError, IndexError, OSError, zipfile.BadZipFile):  # what was kept is of no use
        return _made(wanted, budget)


def _made(wanted: Sequence[Wanted], budget: int) -> tuple[list[Colored], list[str]]:
    read: dict[object, Colored] = {}
    notes: list[str] = []
    for each in wanted:
        if _name(each) not in read:
            try:
                read[_name(each)] = [(each, None)] if isinstance(each, Mesh) else read_mesh(*each)
            except AppellError as error:
                read[_name(each)] = []
                notes.append(f"{error.problem.rstrip('.')} ({error.source})" if error.source else error.problem)
    parts = [(name, mesh, color) for name, found in read.items() for mesh, color in found]
    times = {name: sum(_name(each) == name for each in wanted) for name in read}
    whole = [mesh for name, mesh, _ in parts for _ in range(times[name])]  # what stands twice is drawn twice
    allowed = iter(shares(whole, budget))
    fewer: dict[object, Colored] = {name: [] for name in read}
    for name, mesh, color in parts:
        share = min(next(allowed) for _ in range(times[name]))
        fewer[name].append((thinned(mesh, share), color))
    return [fewer[_name(each)] for each in wanted], notes


def _name(each: Wanted) -> object:
    return id(each) if isinstance(each, Mesh) else (each[0], tuple(each[1]))


def _key(wanted: Sequence[Wanted], budget: int) -> str:
    told: list[object] = [FORMAT, budget, find_spec("fast_simplification") is not None]
    for each in wanted:
        if isinstance(each, Mesh):
            told += [hashlib.sha256(array.tobytes()).hexdigest() for array in (each.vertices, each.faces)]
        else:
            path = Path(each[0])
            state = os.stat(path) if path.is_file() else None
            told += [str(path.absolute()), list(map(float, each[1])), state and [state.st_mtime_ns, state.st_size]]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _packed(found: list[Colored], notes: list[str]) -> bytes:
    """All arrays one after the other, each mesh once, and a table that tells them apart."""
    meshes = {id(mesh): mesh for each in found for mesh, _ in each}
    number = {key: k for k, key in enumerate(meshes)}
    table = {
        "notes": notes,
        "sizes": [(len(mesh.vertices), len(mesh.faces), mesh.smooth) for mesh in meshes.values()],
        "entries": [[(number[id(mesh)], color) for mesh, color in each] for each in found],
    }
    vertices = np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in meshes.values())])
    faces = np.concatenate([np.zeros((0, 3), int), *(mesh.faces for mesh in meshes.values())])
    file = io.BytesIO()
    about = np.frombuffer(json.dumps(table).encode(), np.uint8)
    np.savez_compressed(file, about=about, vertices=vertices.astype(np.float32), faces=faces.astype(np.int32))
    return file.getvalue()


def _unpacked(data: bytes) -> tuple[list[Colored], list[str]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as kept:
        table = json.loads(kept["about"].tobytes())
        vertices, faces = kept["vertices"].astype(float), kept["faces"].astype(np.int64)
    meshes, v, f = [], 0, 0
    for points, triangles, smooth in table["sizes"]:
        meshes.append(Mesh(vertices[v : v + points], faces[f : f + triangles], bool(smooth)))
        v, f = v + points, f + triangles
    entries = [[(meshes[k], color and tuple(color)) for k, color in each] for each in table["entries"]]
    return entries, table["notes"]
