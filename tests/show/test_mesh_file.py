"""Mesh files give the triangles that other libraries read, and malformed files give clear errors."""

from __future__ import annotations

import os
import re
import struct
import sys
from importlib.metadata import files
from pathlib import Path

import coal
import numpy as np
import pytest

from appell.describe.meshes import collada, mesh_file
from appell.describe.meshes.mesh_file import read_mesh
from appell.errors import ArgumentError, DescriptionError

trimesh = pytest.importorskip("trimesh")

MESHES = {
    Path(str(file)).as_posix().partition("robots/")[2]: Path(str(file.locate()))
    for file in files("example-robot-data") or []
    if file.suffix.lower() in (".stl", ".dae", ".obj")
}
PANDA = [f"link{k}" for k in range(8)] + ["hand", "finger"]
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # a tetrahedron, outwards


def binary_stl(corners=CORNERS, faces=FACES, count: int | None = None) -> bytes:
    records = [struct.pack("<12fH", 0, 0, 0, *corners[face].ravel(), 0) for face in faces]
    return b"solid but binary".ljust(80) + struct.pack("<I", len(faces) if count is None else count) + b"".join(records)


def text_stl(corners=CORNERS, faces=FACES) -> str:
    loops = "\n".join(
        "facet normal 0 0 0\n outer loop\n"
        + "\n".join("  vertex {} {} {}".format(*corners[i]) for i in face)
        + "\n endloop\nendfacet"
        for face in faces
    )
    return f"solid x\n{loops}\nendsolid x\n"


def volume(mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def box_of(meshes) -> np.ndarray:
    points = np.concatenate([mesh.vertices for mesh, _ in meshes])
    return np.array([points.min(axis=0), points.max(axis=0)])


def surface(meshes) -> float:
    total = 0.0
    for mesh, _ in meshes:
        a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
        total += 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
    return total


def assert_as_coal_reads_it(path: Path) -> None:
    """Compare the bounding box with that of coal, with which Pinocchio reads meshes."""
    theirs = coal.MeshLoader().load(str(path), np.ones(3))
    points = np.array(theirs.vertices())
    ours = box_of(read_mesh(path))
    size = np.linalg.norm(ours[1] - ours[0])
    np.testing.assert_allclose(
        ours, [points.min(axis=0), points.max(axis=0)], atol=1e-5 * size
    )  # coal uses single precision


# ---- formats


@pytest.mark.parametrize("name", PANDA)
def test_collada_meshes_of_the_panda_have_the_size_of_its_collision_meshes(name):
    folder = "panda_description/meshes"
    fine = box_of(read_mesh(MESHES[f"{folder}/visual/{name}.dae"]))
    coarse = box_of(read_mesh(MESHES[f"{folder}/collision/{name}.stl"]))
    np.testing.assert_allclose(fine, coarse, atol=0.011)  # collision meshes are coarse hulls, up to a centimetre off


@pytest.mark.parametrize(
    "name", ["panda_description/meshes/visual/link0.dae", "panda_description/meshes/visual/link6.dae"]
)
def test_collada_has_the_triangles_and_colours_that_trimesh_reads(name):
    meshes, scene = read_mesh(MESHES[name]), trimesh.load(MESHES[name], force="scene")
    assert surface(meshes) == pytest.approx(float(scene.area), rel=1e-6)
    theirs = {tuple(np.round(np.array(x.visual.material.main_color) / 255.0, 2)) for x in scene.geometry.values()}
    assert {tuple(np.round(color, 2)) for _, color in meshes} == theirs


def test_the_up_axis_is_ignored_as_in_other_robot_software():
    path = MESHES["hextilt_description/meshes/link_1.dae"]
    assert b"Y_UP" in path.read_bytes()
    assert_as_coal_reads_it(path)


@pytest.mark.parametrize("kind", ["obj", "STL"])
def test_example_files_are_read_as_coal_reads_them(kind):
    small = sorted(path for path in MESHES.values() if path.suffix == f".{kind}" and path.stat().st_size < 300_000)
    for path in small[:: max(len(small) // 4, 1)]:
        assert_as_coal_reads_it(path)


@pytest.mark.slow
def test_a_fifth_of_all_example_meshes_is_read_as_coal_reads_them():
    for path in [path for path in sorted(MESHES.values()) if path.stat().st_size < 2_000_000][::5]:
        assert_as_coal_reads_it(path)


@pytest.mark.parametrize("text", [False, True])
def test_stl_is_read_in_binary_and_text_form(tmp_path, text):
    path = tmp_path / "a.stl"
    path.write_bytes(text_stl().encode() if text else binary_stl())
    ((mesh, color),) = read_mesh(path)
    assert color is None
    assert mesh.faces.shape == (4, 3)
    assert volume(mesh) == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize("scale", [(2.0, 1.0, 0.5), (-1.0, 1.0, 1.0), (-1.0, -2.0, -3.0), (0.001, 0.001, 0.001)])
def test_a_scale_that_mirrors_keeps_the_outside_outside(tmp_path, scale):
    path = tmp_path / "a.stl"
    path.write_bytes(binary_stl())
    ((mesh, _),) = read_mesh(path, scale)
    assert volume(mesh) == pytest.approx(abs(np.prod(scale)) / 6.0)
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), np.abs(scale))


def test_obj_with_materials_negative_indices_and_polygons_is_read(tmp_path):
    (tmp_path / "look.mtl").write_text("newmtl red\nKd 1 0 0\nd 0.5\nnewmtl blue\nKd 0 0 1\n")
    (tmp_path / "a.obj").write_text(
        "mtllib look.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1 0.5 0.5 0.5\n"
        "usemtl red\nf 1/1/1 2/2/2 3//3 4\nusemtl blue\nf -5 -4 -1\n# a comment\nl 1 2\n"
    )
    (square, red), (triangle, blue) = read_mesh(tmp_path / "a.obj")
    assert (red, blue) == ((1.0, 0.0, 0.0, 0.5), (0.0, 0.0, 1.0, 1.0))
    assert (len(square.faces), len(triangle.faces)) == (2, 1)
    assert surface([(square, None)]) == pytest.approx(1.0)
    np.testing.assert_allclose(triangle.vertices, [[0, 0, 0], [1, 0, 0], [0, 0, 1]])


DAE = """<?xml version="1.0"?><COLLADA><asset><unit meter="{unit}"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>0 0.5 1 1</color></diffuse>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 1 1 0 0 1 0
</float_array><technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{primitive}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>1 2 3</translate><rotate>0 0 1 90</rotate>
<node><scale>2 1 1</scale><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="look" target="#m"/></technique_common></bind_material></instance_geometry></node></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
PRIMITIVES = {
    "triangles": '<triangles material="look" count="2"><input semantic="VERTEX" source="#v" offset="0"/>'
    '<input semantic="NORMAL" source="#p" offset="1"/><p>0 0 1 0 2 0 0 0 2 0 3 0</p></triangles>',
    "polylist": '<polylist material="look" count="1"><input semantic="VERTEX" source="#v" offset="0"/>'
    "<vcount>4</vcount><p>0 1 2 3</p></polylist>",
    "polygons": '<polygons material="look"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 3</p></polygons>',
    "tristrips": '<tristrips material="look"><input semantic="VERTEX" source="#v" offset="0"/>'
    "<p>0 1 3 2</p></tristrips>",
    "trifans": '<trifans material="look"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 3</p></trifans>',
}


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_collada_units_nodes_and_primitives_of_all_kinds_are_read(tmp_path, kind):
    path = tmp_path / "a.dae"
    path.write_text(DAE.format(unit="0.01", primitive=PRIMITIVES[kind]))
    ((mesh, color),) = read_mesh(path)
    assert color == (0.0, 0.5, 1.0, 1.0)
    # (x, y) of the square is mapped to (1 - y, 2 + 2 x) in centimetres
    np.testing.assert_allclose(box_of([(mesh, None)]), [[0.0, 0.02, 0.03], [0.01, 0.04, 0.03]], atol=1e-15)
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    np.testing.assert_allclose(normals, [[0, 0, 2e-4]] * 2, atol=1e-15)  # both on the same side, with the full area


@pytest.mark.parametrize("ending", ["ply", "glb", "off"])
def test_other_formats_are_read_through_trimesh(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    trimesh.Trimesh(CORNERS, FACES, process=False).export(path)
    ((mesh, _),) = read_mesh(path)
    assert volume(mesh) == pytest.approx(1.0 / 6.0)


def test_degenerate_and_non_finite_triangles_are_dropped(tmp_path):
    corners = np.vstack([CORNERS, [np.nan, 0, 0], [np.inf, 0, 0], [2.0, 0, 0]])
    faces = np.vstack([FACES, [0, 1, 4], [0, 1, 5], [0, 1, 1], [0, 1, 6]])
    (tmp_path / "a.stl").write_bytes(binary_stl(corners, faces))
    ((mesh, _),) = read_mesh(tmp_path / "a.stl")
    assert len(mesh.faces) == 4
    assert np.isfinite(mesh.vertices).all()


# ---- malformed files

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
MALFORMED = {
    "empty.stl": (b"", "has only 0 bytes"),
    "short.stl": (binary_stl()[:-10], "truncated: it declares 4 triangles and contains 3"),
    "huge.stl": (b"x" * 80 + struct.pack("<I", 2**32 - 1) + b"y" * 100, "truncated"),
    "text.stl": (text_stl().encode()[:-40], "truncated after"),
    "words.stl": (text_stl().replace("vertex 0.0 1.0", "vertex zero 1.0").encode(), "is not a number"),
    "nothing.stl": (binary_stl(faces=FACES[:0]), "contains no triangles"),
    "far.obj": (b"v 0 0 0\nv 1 0 0\nf 1 2 99\n", "has vertex index 98"),
    "words.obj": (b"v 0 0 0\nf 1 two 3\n", "read the line b'f 1 two 3'"),
    "few.obj": (b"v 0 0\nf 1 1 1\n", "fewer than three numbers"),
    "none.obj": (b"v 0 zero 0\nv 1 1 1\nv 2 1 0\nf 1 2 3\n", "is not a number"),
    "laughs.dae": (f"<?xml version='1.0'?>{LAUGHS}<COLLADA>&b;</COLLADA>".encode(), "declares a document type"),
    "wide.dae": (f"<?xml version='1.0' encoding='utf-16'?>{LAUGHS}<COLLADA/>".encode("utf-16"), "declares a document"),
    "deep.dae": (b"<a>" * 300 + b"</a>" * 300, "nested more than 100 levels deep"),
    "cut.dae": (DAE.format(unit=1, primitive="").encode()[:600], "line 6 is not XML|is not XML"),
    "circle.dae": (
        b'<COLLADA><library_visual_scenes><visual_scene id="s"><node id="n"><instance_node url="#n"/></node>'
        b"</visual_scene></library_visual_scenes></COLLADA>",
        "nested more than 100 levels deep",
    ),
    "far.dae": (
        DAE.format(unit=1, primitive=PRIMITIVES["trifans"].replace("1 2 3", "1 2 77")).encode(),
        "vertex index 77",
    ),
    "odd.dae": (
        DAE.format(unit=1, primitive=PRIMITIVES["polylist"].replace(">4<", ">400<")).encode(),
        "need 400 corners",
    ),
    "offset.dae": (
        DAE.format(unit=1, primitive=re.sub('offset="[0-9]"', 'offset="-1"', PRIMITIVES["polylist"])).encode(),
        "offset -1",
    ),
    "unit.dae": (DAE.format(unit="one", primitive=PRIMITIVES["trifans"]).encode(), "is malformed"),
    "matrix.dae": (
        DAE.format(unit=1, primitive=PRIMITIVES["trifans"]).replace("1 2 3</t", "1 2</t").encode(),
        "malformed",
    ),
    "bad.ply": (
        b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n",
        "PLY|ply|trimesh",
    ),
    "bad.glb": (b"glTF" + b"\xff" * 40, "trimesh cannot read"),
    "shape.step": (b"", "'.step' are not supported"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_rejected_with_their_name(tmp_path, name):
    data, message = MALFORMED[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DescriptionError, match=message) as caught:
        read_mesh(tmp_path / name)
    assert name in str(caught.value)


def test_files_that_cannot_be_opened_are_named(tmp_path):
    with pytest.raises(DescriptionError, match="does not exist"):
        read_mesh(tmp_path / "a.stl")
    with pytest.raises(DescriptionError, match="is not a file"):
        read_mesh(tmp_path.rename(tmp_path.with_suffix(".stl")))
    with pytest.raises(DescriptionError, match="does not exist"):
        read_mesh("package://nowhere/a.stl")
    os.mkfifo(pipe := tmp_path.with_suffix(".stl") / "pipe.stl")
    with pytest.raises(DescriptionError, match="is not a file"):
        read_mesh(pipe)


def test_bytes_and_triangles_of_a_file_are_limited(tmp_path, monkeypatch):
    (tmp_path / "a.stl").write_bytes(binary_stl())
    monkeypatch.setattr(mesh_file, "MAX_TRIANGLES", 3)
    with pytest.raises(DescriptionError, match=r"has 4 triangles or more\.\n  expected  at most 3"):
        read_mesh(tmp_path / "a.stl")
    monkeypatch.setattr(mesh_file, "MAX_FILE_BYTES", 100)
    with pytest.raises(DescriptionError, match="the mesh file has 0 MB"):
        read_mesh(tmp_path / "a.stl")


def test_a_mesh_repeated_many_times_is_rejected_before_it_is_read(tmp_path, monkeypatch):
    many = '<instance_geometry url="#g"/>' * 2000
    text = DAE.format(unit=1, primitive=PRIMITIVES["triangles"]).replace("<scale>", f"{many}<scale>")
    (tmp_path / "a.dae").write_text(text)
    monkeypatch.setattr(mesh_file, "MAX_TRIANGLES", 100)
    made, real = [], collada._Document.positions
    monkeypatch.setattr(collada._Document, "positions", lambda *given: made.append(1) or real(*given))
    with pytest.raises(DescriptionError, match="102 triangles or more"):
        read_mesh(tmp_path / "a.dae")
    assert len(made) == 51


@pytest.mark.parametrize("scale", [(1.0, 2.0), (1.0, 1.0, np.nan), ("a", 1, 1)])
def test_an_invalid_scale_is_rejected(tmp_path, scale):
    (tmp_path / "a.stl").write_bytes(binary_stl())
    with pytest.raises((ArgumentError, DescriptionError), match="the scale of a mesh"):
        read_mesh(tmp_path / "a.stl", scale)


def test_without_trimesh_a_ply_names_the_package_and_an_stl_is_read(tmp_path, monkeypatch):
    (tmp_path / "a.ply").write_bytes(b"ply\n")
    (tmp_path / "a.stl").write_bytes(binary_stl())
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ArgumentError, match=r"(?s)needs the package trimesh.*pip install 'appell\[view\]'"):
        read_mesh(tmp_path / "a.ply")
    assert len(read_mesh(tmp_path / "a.stl")) == 1
