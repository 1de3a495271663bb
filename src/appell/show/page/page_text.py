"""The page of a scene as one text with style sheet, program and scene, so that a file of it works offline.

The program is written as JavaScript modules. A file opened from disk may not import modules, so they are joined: each
module becomes a function that returns its exports, in the order of the imports. The content security policy in the head
of the page allows only this program to run and forbids network access, whatever the names in a scene contain.

A scene is encoded as a dictionary for JSON.

    scene = {format, title, up, notes, flat, floor, view, span, meshes, parts, actors, simulation}
    array = {type, shape, data}; vertices stored as integers k also have offset and scale: v = offset + scale k

`data` are the bytes of the numbers, little-endian, compressed with zlib and encoded in base64. All first bytes come
first, then all second bytes and so on, because similar bytes compress better side by side. A mesh that several parts
share is stored once.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
import zlib
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np

from appell.compile.wasm.source import runtime
from appell.errors import AppellError, ArgumentError
from appell.show.scene.scene import (
    Actor,
    Chart,
    Mark,
    Mesh,
    Scene,
    SceneMotion,
    ScenePart,
    SceneSimulation,
    SceneSlider,
    Strut,
)

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def page_text(scene: Scene, live: str = "") -> str:
    """Return the complete page; `live` is the address of the server of a live page, empty for a standalone page."""
    text = json.dumps(encoded(scene), ensure_ascii=False, allow_nan=False)
    return _page_of(text, scene.title, live, scene.simulation is not None)


def _page_of(scene: str, title: str, live: str, simulates: bool) -> str:
    program = joined_program()
    digest = base64.b64encode(sha256(program.encode()).digest()).decode("ascii")
    scripts = f"'sha256-{digest}'" + (" 'wasm-unsafe-eval'" if simulates else "")
    policy = f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:"
    fields = {
        "policy": policy + (f"; connect-src {_source(live)}" if live else ""),
        "title": html.escape(title or "appell"),
        "live": html.escape(live),
        "style": _text_of("style.css"),
        "scene": scene.replace("<", "\\u003c"),  # occurs inside strings only, where JSON decodes it
        "program": program,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _text_of("page.html"))


def _source(live: str) -> str:
    """Return the origin that the page may contact: that of an absolute address, or the server of the page."""
    match = re.match(r"https?://[\w.:\[\]-]+", live)
    return match[0] if match else "'self'"


@cache
def joined_program() -> str:
    """Return all modules joined into one script."""
    parts: dict[str, str] = {}
    _join("main", (), parts)
    return '"use strict";\n' + "\n".join(parts.values())


def _join(module: str, above: tuple[str, ...], parts: dict[str, str]) -> None:
    """Add a module to `parts` after the modules that it imports."""
    if module in above:
        raise AppellError(f"the modules of the page have circular imports: {' -> '.join((*above, module))}.")
    if module in parts:
        return
    text = _text_of(f"{module}.js")
    for _, needed in IMPORT.findall(text):
        _join(needed, (*above, module), parts)
    names = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(lambda match: f"const {{{match[1]}}} = {match[2]}_module;\n", text))
    parts[module] = f"const {module}_module = (() => {{\n{body}return {{ {names} }};\n}})();"


def _text_of(name: str) -> str:
    if name == "runtime.js":
        return runtime()
    return (files("appell.show.page") / "assets" / name).read_text(encoding="utf-8")


FORMAT = 1  # version of the dictionary; the page rejects other versions
MAX_UINT16 = 65535  # steps of a coordinate stored in 16 bits
MAX_FACE_ROTATION_RAD = 0.02  # by which rounding may rotate a face
MAX_ROTATED_AREA = 0.01  # share of the mesh's area whose faces may rotate by more
MAX_CURVE_ERROR = 1e-4  # relative to the range of a chart: less than a pixel


def encoded(scene: Scene) -> dict[str, Any]:
    """Return the scene as a dictionary for JSON; raise ArgumentError with the name of anything that is invalid."""
    parts = [*scene.parts, *(part for actor in scene.actors for part in actor.parts)]
    meshes = {id(part.mesh): part.mesh for part in parts}
    numbers = {key: number for number, key in enumerate(meshes)}
    return {
        "format": FORMAT,
        "title": str(scene.title),
        "up": _numbers("the direction 'up' of the scene", scene.up, 3),
        "flat": None if scene.flat is None else _numbers("the normal 'flat' of the scene", scene.flat, 3),
        "floor": None if scene.floor is None else _numbers("the floor of the scene", [scene.floor], 1)[0],
        "view": None if scene.view is None else _numbers("the view of the scene", scene.view, 2),
        "notes": [str(note) for note in scene.notes],
        "span": list(scene.span),
        "meshes": [_mesh(mesh) for mesh in meshes.values()],
        "parts": [_part(part, "the scene", 0, numbers) for part in scene.parts],
        "actors": [_actor(actor, numbers) for actor in scene.actors],
        "simulation": None if scene.simulation is None else _simulation(scene.simulation),
    }


def packed(values: np.ndarray, kind: str) -> dict[str, Any]:
    """Return an array as a dictionary for JSON; `kind` is a NumPy type such as "float32"."""
    array = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<"))
    planes = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, array.itemsize).T
    data = base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii")
    return {"type": kind, "shape": list(array.shape), "data": data}


def _mesh(mesh: Mesh) -> dict[str, Any]:
    vertices, faces = np.asarray(mesh.vertices, float), np.asarray(mesh.faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
        raise ArgumentError(
            "a mesh of the scene has invalid vertices.", expected="finite numbers of shape (vertices, 3)"
        )
    if faces.ndim != 2 or faces.shape[1] != 3 or (faces.size and not 0 <= faces.min() <= faces.max() < len(vertices)):
        raise ArgumentError(
            "a mesh of the scene has invalid faces.",
            expected=f"indices of its {len(vertices)} vertices, of shape (triangles, 3)",
        )
    return {
        "vertices": _vertices(vertices, faces),
        "faces": packed(faces, "uint16" if len(vertices) <= MAX_UINT16 else "uint32"),
        "smooth": bool(mesh.smooth),
    }


def _vertices(vertices: np.ndarray, faces: np.ndarray) -> dict[str, Any]:
    """Encode vertices in 16 bits if this rotates no visible face noticeably, else as float32."""
    if not len(faces):
        return packed(vertices, "float32")
    offset = vertices.min(axis=0)
    scale = (vertices.max(axis=0) - offset) / MAX_UINT16
    steps = np.rint((vertices - offset) / np.where(scale > 0.0, scale, 1.0))
    before, after = _normals(vertices, faces), _normals(offset + scale * steps, faces)
    area = np.linalg.norm(before, axis=1)
    sine = math.sin(MAX_FACE_ROTATION_RAD)
    rotated = np.linalg.norm(np.cross(before, after), axis=1) > sine * area * np.linalg.norm(after, axis=1)
    rotated |= (before * after).sum(axis=1) < 0.0
    if area[rotated].sum() > MAX_ROTATED_AREA * area.sum():
        return packed(vertices, "float32")
    return {**packed(steps, "uint16"), "offset": offset.tolist(), "scale": scale.tolist()}


def _normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return face normals whose length is twice the area of the face."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    return np.cross(b - a, c - a)


def _part(part: ScenePart, owner: str, bodies: int, numbers: dict[int, int]) -> dict[str, Any]:
    name = f"part '{part.name}' of {owner}"
    return {
        "mesh": numbers[id(part.mesh)],
        "body": _body(name, part.body, bodies),
        "pose": _numbers(f"the pose of {name}", part.pose, 7),
        "color": _numbers(f"the color of {name}", part.color, 4),
        "layer": str(part.layer),
        "name": str(part.name),
    }


def _strut(strut: Strut, owner: str, bodies: int) -> dict[str, Any]:
    name = f"strut '{strut.name}' of {owner}"
    return {
        "bodies": [_body(name, body, bodies) for body in strut.bodies],
        "ends": _numbers(f"the ends of {name}", np.ravel(strut.ends), 6),
        "radius": _numbers(f"the radius of {name}", [strut.radius], 1)[0],
        "color": _numbers(f"the color of {name}", strut.color, 4),
        "layer": str(strut.layer),
        "name": str(strut.name),
    }


def _actor(actor: Actor, numbers: dict[int, int]) -> dict[str, Any]:
    owner, bodies = f"actor '{actor.name}'", len(actor.bodies)
    poses = np.asarray(actor.poses, float).reshape(-1, 7) if bodies == 0 else np.asarray(actor.poses, float)
    _check_poses(owner, poses, (bodies, 7))
    return {
        "name": str(actor.name),
        "bodies": [str(name) for name in actor.bodies],
        "poses": packed(poses, "float32"),
        "parts": [_part(part, owner, bodies, numbers) for part in actor.parts],
        "struts": [_strut(strut, owner, bodies) for strut in actor.struts],
        "motion": None if actor.motion is None or not len(actor.motion.t) else _motion(actor.motion, owner, bodies),
        "sliders": [_slider(slider) for slider in actor.sliders],
        "handles": [
            {
                "name": str(handle.name),
                "body": _body(f"handle '{handle.name}' of {owner}", handle.body, bodies),
                "pose": _numbers(f"the pose of handle '{handle.name}' of {owner}", handle.pose, 7),
            }
            for handle in actor.handles
        ],
    }


def _motion(motion: SceneMotion, owner: str, bodies: int) -> dict[str, Any]:
    t, poses = np.asarray(motion.t, float), np.asarray(motion.poses, float)
    _check_times(f"the motion of {owner}", t)
    _check_poses(f"the motion of {owner}", poses, (len(t), bodies, 7))
    return {
        "t": packed(t, "float64"),  # exact, so that discontinuities stay at their marks
        "poses": packed(continuous(poses), "float32"),
        "marks": [_mark(mark) for mark in motion.marks],
        "charts": [_chart(chart) for chart in motion.charts],
    }


def continuous(poses: np.ndarray) -> np.ndarray:
    """Choose the signs of the quaternions in poses (frames, bodies, 7) so that they change continuously."""
    quaternions = poses[..., 3:]
    flips = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0.0
    signs = np.ones(poses.shape[:-1])
    signs[1:] = np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)
    return np.concatenate([poses[..., :3], quaternions * signs[..., None]], axis=-1)


def _mark(mark: Mark) -> dict[str, Any]:
    name = f"mark '{mark.label or mark.kind}'"
    return {
        "time": _numbers(f"the time of {name}", [mark.time], 1)[0],
        "kind": str(mark.kind),
        "label": str(mark.label),
        "arrows": [_numbers(f"an arrow of {name}", [*start, *vector], 6) for start, vector in mark.arrows],
    }


def _chart(chart: Chart) -> dict[str, Any]:
    t, values = np.asarray(chart.t, float), np.asarray(chart.values, float)
    _check_times(f"chart '{chart.title}'", t)
    if values.shape != (len(t), len(chart.names)):
        raise ArgumentError(
            f"chart '{chart.title}' has values of shape {values.shape}.",
            expected=f"{(len(t), len(chart.names))}: one row per time, one column per name",
        )
    return {
        "title": str(chart.title),
        "unit": str(chart.unit),
        "names": [str(name) for name in chart.names],
        "t": packed(t, "float64"),
        "values": packed(values, _curve_kind(values)),
    }


def _curve_kind(values: np.ndarray) -> str:
    """Return float32, or float64 if rounding would be visible in curves with a large offset or very large values."""
    known = values[np.isfinite(values)]
    if not known.size:
        return "float32"
    with np.errstate(over="ignore"):
        error = np.abs(known.astype(np.float32).astype(float) - known).max()
    return "float32" if error <= MAX_CURVE_ERROR * np.ptp(known) else "float64"


def _slider(slider: SceneSlider) -> dict[str, Any]:
    bounds = [float(bound) if math.isfinite(bound) else None for bound in (slider.lower, slider.upper)]
    value = _numbers(f"the value of slider '{slider.name}'", [slider.value], 1)[0]
    return {"name": str(slider.name), "unit": str(slider.unit), "lower": bounds[0], "upper": bounds[1], "value": value}


def _simulation(simulation: SceneSimulation) -> dict[str, Any]:
    modules = {name: np.frombuffer(getattr(simulation, name), np.uint8) for name in ("step", "energy", "poses")}
    return {
        **{name: packed(binary, "uint8") for name, binary in modules.items()},
        "q": _numbers("the initial configuration of the simulation", simulation.q, len(simulation.q)),
        "dt": float(simulation.dt),
        "mass": float(simulation.mass),
        "controllers": [str(name) for name in simulation.controllers],
        "settings": [_slider(slider) for slider in simulation.settings],
        "parameters": _numbers("the parameters of the loaded body", simulation.parameters, 10),
        "payload": _numbers("the parameters of the payload", simulation.payload, 10),
        "coordinates": [int(k) for k in simulation.coordinates],
        "movable": bool(simulation.movable),
    }


def _body(name: str, body: int, bodies: int) -> int:
    if not -1 <= body < bodies:
        raise ArgumentError(f"{name} is on body {body}.", expected=f"-1 for the world, or an index below {bodies}")
    return int(body)


def _numbers(name: str, values: Sequence[float] | np.ndarray, size: int) -> list[float]:
    numbers = np.asarray(values, float)
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} is {numbers.tolist()}.", expected=f"{size} finite number{'s' * (size > 1)}")
    return numbers.tolist()


def _check_times(owner: str, t: np.ndarray) -> None:
    if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
        raise ArgumentError(f"the times of {owner} are not ascending.", expected="finite times in ascending order")


def _check_poses(owner: str, poses: np.ndarray, shape: tuple[int, ...]) -> None:
    if poses.shape != shape:
        raise ArgumentError(f"the poses of {owner} have shape {poses.shape}.", expected=str(shape))
    if not np.isfinite(poses).all():
        raise ArgumentError(f"{owner} has non-finite poses.", hint="Show only the rows before the motion diverges.")
