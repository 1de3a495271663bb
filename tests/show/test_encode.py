"""Encoded scenes: decoding gives the same values within invisible rounding, and invalid scenes are rejected by name."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.show.page.page_text import continuous, encoded
from appell.show.scene.scene import Chart, Mark, Mesh, SceneMotion, ScenePart, SceneSlider
from page_scenes import ball, box, scene, swing


def unpacked(array: dict) -> np.ndarray:
    """Decode an array as the docstring of `page_text` describes it."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(array["data"])), np.uint8)
    width = np.dtype(array["type"]).itemsize
    values = np.frombuffer(raw.reshape(width, -1).T.tobytes(), "<" + np.dtype(array["type"]).str[1:])
    values = values.reshape(array["shape"])
    return array["offset"] + np.array(array["scale"]) * values if "scale" in array else values


def test_all_parts_of_a_scene_are_encoded():
    given = scene(swing("a"), swing("b", 1.0), view=(30.0, 10.0), flat=(0.0, 1.0, 0.0))
    data = json.loads(json.dumps(encoded(given), allow_nan=False))
    assert (data["title"], data["notes"], data["span"]) == ("Swing", ["a note"], [1.0, 3.0])
    assert (data["view"], data["flat"], data["up"]) == ([30.0, 10.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    for actor, sent in zip(given.actors, data["actors"], strict=True):
        assert np.array_equal(unpacked(sent["motion"]["t"]), actor.motion.t)
        np.testing.assert_allclose(unpacked(sent["motion"]["poses"]), actor.motion.poses, atol=1e-7)
        np.testing.assert_allclose(unpacked(sent["poses"]), actor.poses, atol=1e-7)
        values = actor.motion.charts[0].values
        np.testing.assert_allclose(unpacked(sent["motion"]["charts"][0]["values"]), values, rtol=1e-6)
        assert [mark["time"] for mark in sent["motion"]["marks"]] == [mark.time for mark in actor.motion.marks]
        assert sent["sliders"][1] == {"name": "rail", "unit": "m", "lower": None, "upper": None, "value": 0.0}
        for part, entry in zip(actor.parts, sent["parts"], strict=True):
            mesh = data["meshes"][entry["mesh"]]
            np.testing.assert_allclose(unpacked(mesh["vertices"]), part.mesh.vertices, atol=1e-5)
            assert np.array_equal(unpacked(mesh["faces"]), part.mesh.faces)


def test_a_shared_mesh_is_encoded_once():
    shared = ball(0.1)
    actor = swing(parts=(ScenePart(shared, 0), ScenePart(shared, 1), ScenePart(ball(0.1), 1)))
    data = encoded(scene(actor, actor, parts=()))
    assert [part["mesh"] for part in data["actors"][1]["parts"]] == [0, 0, 1]
    assert len(data["meshes"]) == 2


def test_vertices_are_rounded_by_half_a_step_of_sixteen_bits():
    rng, mesh = np.random.default_rng(1), ball(1.0)
    mesh = Mesh(mesh.vertices * (1.0, 3.0, 0.2) + rng.normal(size=3), mesh.faces)
    data = encoded(scene(parts=(ScenePart(mesh),)))["meshes"][0]["vertices"]
    assert data["type"] == "uint16"
    step = np.ptp(mesh.vertices, axis=0) / 65535
    assert (np.abs(unpacked(data) - mesh.vertices) <= 0.5001 * step).all()


def test_vertices_are_not_rounded_where_this_would_rotate_faces():
    tiny = ball(1e-4)  # next to a face a kilometre away: a rounding step is larger than its triangles
    far = np.array([[1e3, 0, 0], [1e3, 1, 0], [1e3, 0, 1e-9]])
    mesh = Mesh(np.vstack([tiny.vertices, far]), np.vstack([tiny.faces, len(tiny.vertices) + np.arange(3)]))
    data = encoded(scene(parts=(ScenePart(mesh),)))["meshes"][0]["vertices"]
    assert data["type"] == "float32"
    np.testing.assert_allclose(unpacked(data), mesh.vertices, rtol=1e-7)


def test_quaternion_signs_are_continuous():
    rng = np.random.default_rng(2)
    poses = np.cumsum(rng.normal(size=(50, 3, 7)) * 0.2, axis=0) + 1.0
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], size=(50, 3, 1))
    mixed = np.concatenate([poses[..., :3], signs * poses[..., 3:]], axis=-1)
    smooth = continuous(mixed)
    assert ((smooth[1:, :, 3:] * smooth[:-1, :, 3:]).sum(axis=-1) >= 0.0).all()
    np.testing.assert_array_equal(np.abs(smooth), np.abs(mixed))
    np.testing.assert_array_equal(smooth[0], mixed[0])


def test_a_curve_with_a_large_offset_keeps_its_digits():
    t = np.linspace(0.0, 1.0, 9)
    values = 1e6 + 1e-3 * np.sin(t)[:, None]
    chart = Chart("E", "J", ("e",), t, values)
    actor = swing(motion=replace(swing().motion, charts=(chart, replace(chart, values=np.sin(t)[:, None]))))
    steep, flat = (c["values"]["type"] for c in encoded(scene(actor))["actors"][0]["motion"]["charts"][::-1])
    assert (steep, flat) == ("float32", "float64")


def broken(**more):
    return scene(swing(**more))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: broken(parts=(ScenePart(box(1, 1, 1), 5, name="hand"),)), "part 'hand' of actor 'arm' is on body 5"),
        (lambda: broken(parts=(ScenePart(box(1, 1, 1), 0, (0, 0, 0), name="hand"),)), "pose of part 'hand' .*7 finite"),
        (
            lambda: broken(
                parts=(
                    ScenePart(
                        Mesh(np.ones((3, 3)), np.array([[0, 1, 3]])),
                    ),
                )
            ),
            "invalid faces",
        ),
        (
            lambda: broken(
                parts=(
                    ScenePart(
                        Mesh(np.full((3, 3), np.nan), np.array([[0, 1, 2]])),
                    ),
                )
            ),
            "invalid vertices",
        ),
        (
            lambda: broken(motion=SceneMotion(np.array([1.0, 0.0]), np.zeros((2, 2, 7)))),
            "motion of actor 'arm' are not asc",
        ),
        (lambda: broken(motion=SceneMotion(np.array([0.0, 1.0]), np.zeros((2, 3, 7)))), r"shape \(2, 3, 7\)"),
        (lambda: broken(motion=SceneMotion(np.zeros(1), np.full((1, 2, 7), np.inf))), "has non-finite poses"),
        (lambda: broken(motion=replace(swing().motion, marks=(Mark(np.nan, "impact"),))), "time of mark 'impact'"),
        (
            lambda: broken(motion=replace(swing().motion, charts=(Chart("E", "J", ("a",), np.zeros(2), np.zeros(2)),))),
            r"chart 'E' has values of shape \(2,\)",
        ),
        (lambda: broken(sliders=(SceneSlider("elbow", "rad", -1, 1, np.nan),)), "value of slider 'elbow'"),
        (lambda: scene(up=(0.0, np.nan, 1.0)), "'up' of the scene"),
    ],
)
def test_invalid_parts_of_a_scene_are_named(given, said):
    with pytest.raises(ArgumentError, match=f"(?s){said}"):
        encoded(given())
