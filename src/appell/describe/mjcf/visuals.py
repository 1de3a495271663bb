"""The geoms of a compiled model, as shapes on links.

MuJoCo shows the groups 0 to 2, and by convention what collides and is not meant to be seen has a higher one; a model
with higher ones only is shown by these. Planes and height fields are grounds, no parts of a robot, and what is wholly
transparent is not seen. The compiler moves a mesh to its centre of mass and principal axes, and may make it out of
numbers in the model, so meshes are taken from the compiled model: their vertices, not their files.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from appell.describe.build import Builder
from appell.describe.looks import HALVES, within
from appell.describe.mjcf.engine import word
from appell.describe.mjcf.findings import Findings
from appell.describe.mjcf.tree import ModelTree, quaternion_pose
from appell.model.visual import Visual, VisualMesh

SHOWN = 2  # the last group that is
UNSAID = (0.5, 0.5, 0.5, 1.0)  # the colour of what nobody coloured


def read_visuals(found: Findings, tree: ModelTree, builder: Builder) -> None:
    """Add the shapes of all bodies."""
    model = found.model
    solid = [k for k in range(model.ngeom) if _shape(model, k) in (*HALVES, "mesh") and model.geom_rgba[k][3] > 0.0]
    seen = [k for k in solid if model.geom_group[k] <= SHOWN] or solid
    triangles = cache(lambda mesh: _triangles(model, mesh))
    for k in seen:
        body, shape = int(model.geom_bodyid[k]), _shape(model, k)
        link, pose = tree.place(body, quaternion_pose(model.geom_pos[k], model.geom_quat[k]))
        name = found.known("geom", k) or tree.body_names[body]
        color = _color(model, k)
        if shape == "mesh":
            mesh = triangles(int(model.geom_dataid[k]))
            builder.visuals.append(Visual(link, shape, (1.0, 1.0, 1.0), pose, color, name=name, triangles=mesh))
        else:
            factors = HALVES[shape]
            size = tuple(float(x) * f for x, f in zip(model.geom_size[k], factors, strict=False))
            builder.visuals.append(Visual(link, shape, size, pose, color, name=name))


def _shape(model: Any, k: int) -> str:
    kind = word("mjtGeom", model.geom_type[k])
    return "mesh" if kind == "sdf" else kind


def _color(model: Any, k: int) -> Any:
    """A geom's own colour, or that of its material."""
    own, material = tuple(round(float(x), 6) for x in model.geom_rgba[k]), int(model.geom_matid[k])
    if own != UNSAID:
        return within(own)
    return within(float(x) for x in model.mat_rgba[material]) if material >= 0 else None


def _triangles(model: Any, mesh: int) -> VisualMesh:
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    start, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    vertices = np.array(model.mesh_vert[first : first + count], np.float32)  # as the model has them
    return VisualMesh(vertices, np.array(model.mesh_face[start : start + faces], np.int32))
