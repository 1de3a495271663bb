"""Convert the geoms of a compiled model to visual and collision shapes on links.

MuJoCo displays the groups 0 to 2; by convention, geoms for collisions only have a higher group. If a model has only
higher groups, those are used. Planes and height fields represent the ground and are skipped, and so are fully
transparent geoms. The compiler moves a mesh to its centre of mass and principal axes and may generate it from numbers
in the model, so the vertices of the compiled model are used instead of mesh files.

Geoms that can collide (contype or conaffinity is not 0) are collision shapes. Planes are half-spaces; height fields are
skipped with a warning. The pairs of bodies in <contact><exclude> are not checked.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from appell.algebra.mesh import Mesh
from appell.describe.build import Builder
from appell.describe.mjcf.compiler import enum_name
from appell.describe.mjcf.context import ReadContext
from appell.describe.mjcf.tree import ModelTree, quaternion_pose
from appell.describe.visuals import SIZE_FACTORS, clipped
from appell.model.collision import Collision
from appell.model.visual import Visual

LAST_VISIBLE_GROUP = 2
DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)  # of a geom without a colour


def read_visuals(context: ReadContext, tree: ModelTree, builder: Builder) -> None:
    """Add the visible shapes of all bodies to the builder."""
    model = context.model
    solid = [
        k for k in range(model.ngeom) if _shape(model, k) in (*SIZE_FACTORS, "mesh") and model.geom_rgba[k][3] > 0.0
    ]
    visible = [k for k in solid if model.geom_group[k] <= LAST_VISIBLE_GROUP] or solid
    triangles = cache(lambda mesh: _triangles(model, mesh))
    for k in visible:
        body, shape = int(model.geom_bodyid[k]), _shape(model, k)
        link, pose = tree.attach(body, quaternion_pose(model.geom_pos[k], model.geom_quat[k]))
        name = context.given_name("geom", k) or tree.body_names[body]
        color = _color(model, k)
        if shape == "mesh":
            mesh = triangles(int(model.geom_dataid[k]))
            builder.visuals.append(Visual(link, shape, (1.0, 1.0, 1.0), pose, color, name=name, triangles=mesh))
        else:
            factors = SIZE_FACTORS[shape]
            size = tuple(float(x) * f for x, f in zip(model.geom_size[k], factors, strict=False))
            builder.visuals.append(Visual(link, shape, size, pose, color, name=name))


def read_collisions(context: ReadContext, tree: ModelTree, builder: Builder) -> None:
    """Add the shapes of all bodies that can collide, and the excluded pairs, to the builder."""
    model = context.model
    triangles = cache(lambda mesh: _triangles(model, mesh))
    for k in np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist():
        body, shape = int(model.geom_bodyid[k]), _shape(model, k)
        name = context.given_name("geom", k) or tree.body_names[body]
        if shape not in (*SIZE_FACTORS, "mesh", "plane"):
            context.notes.append(f"geom '{name}': {shape}s are not supported as collision shapes")
            continue
        link, pose = tree.attach(body, quaternion_pose(model.geom_pos[k], model.geom_quat[k]))
        mesh = triangles(int(model.geom_dataid[k])) if shape == "mesh" else None
        factors = SIZE_FACTORS.get(shape, ())
        size = tuple(float(x) * f for x, f in zip(model.geom_size[k], factors, strict=False))
        owner = tree.body_names[body] if body else ""
        builder.collisions.append(Collision(link, shape, size, pose, name, owner, triangles=mesh))
    for signature in model.exclude_signature:
        one, other = (tree.body_names[body] for body in (int(signature) >> 16, int(signature) & 0xFFFF))
        builder.ignore_pair(one, other, "MJCF: excluded")


def _shape(model: Any, k: int) -> str:
    kind = enum_name("mjtGeom", model.geom_type[k])
    return "mesh" if kind == "sdf" else kind


def _color(model: Any, k: int) -> Any:
    """Return the colour of a geom, or that of its material; None if neither is given."""
    color, material = tuple(round(float(x), 6) for x in model.geom_rgba[k]), int(model.geom_matid[k])
    if color != DEFAULT_COLOR:
        return clipped(color)
    return clipped(float(x) for x in model.mat_rgba[material]) if material >= 0 else None


def _triangles(model: Any, mesh: int) -> Mesh:
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    start, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    vertices = np.array(model.mesh_vert[first : first + count], np.float32)  # the type of the model
    return Mesh(vertices, np.array(model.mesh_face[start : start + faces], np.int32))
