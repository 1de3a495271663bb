"""Scenes as text: what is packed is unpacked again within what nobody sees, and what cannot be drawn is named."""

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
    """The numbers of a packed array, by the words of the docstring."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(array["data"])), np.uint8)
    width = np.dtype(array["type"]).itemsize
    values = np.frombuffer(raw.reshape(width, -1).T.tobytes(), "<" + np.dtype(array["type"]).str[1:])
    values = values.reshape(array["shape"])
    return array["offset"] + np.array(array["scale"]) * values if "scale" in array else values


def test_everything_of_a_scene_travels():
    given = scene(swing("a"), swing("b", 1.0), view=(30.0, 10.0), flat=(0.0, 1.0, 0.0))
    found = json.loads(json.dumps(encoded(given), allow_nan=False))
    assert (found["title"], found["notes"], found["span"]) == ("Swing", ["a note"], [1.0, 3.0])
    assert (found["view"], found["flat"], found["up"]) == ([30.0, 10.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    for actor, sent in zip(given.actors, found["actors"], strict=True):
        assert np.array_equal(unpacked(sent["motion"]["t"]), actor.motion.t)
        np.testing.assert_allclose(unpacked(sent["motion"]["poses"]), actor.motion.poses, atol=1e-7)
        np.testing.assert_allclose(unpacked(sent["poses"]), actor.poses, atol=1e-7)
        values = actor.motion.charts[0].values
        np.testing.assert_allclose(unpacked(sent["motion"]["charts"][0]["values"]), values, rtol=1e-6)
        assert [mark["time"] for mark in sent["motion"]["marks"]] == [mark.time for mark in actor.motion.marks]
        assert sent["sliders"][1] == {"name": "rail", "unit": "m", "lower": None, "upper": None, "value": 0.0}
        for part, told in zip(actor.parts, sent["parts"], strict=True):
            mesh = found["meshes"][told["mesh"]]
            np.testing.assert_allclose(unpacked(mesh["vertices"]), part.mesh.vertices, atol=1e-5)
            assert np.array_equal(unpacked(mesh["faces"]), part.mesh.faces)


def test_a_mesh_that_parts_share_travels_once():
    shared = ball(0.1)
    actor = swing(parts=(ScenePart(shared, 0), ScenePart(shared, 1), ScenePart(ball(0.1), 1)))
    found = encoded(scene(actor, actor, parts=()))
    assert [part["mesh"] for part in found["actors"][1]["parts"]] == [0, 0, 1]
    assert len(found["meshes"]) == 2


def test_vertices_are_rounded_by_half_a_step_of_sixteen_bits():
    rng, mesh = np.random.default_rng(1), ball(1.0)
    mesh = Mesh(mesh.vertices * (1.0, 3.0, 0.2) + rng.normal(size=3), mesh.faces)
    found = encoded(scene(parts=(ScenePart(mesh),)))["meshes"][0]["vertices"]
    assert found["type"] == "uint16"
    step = np.ptp(mesh.vertices, axis=0) / 65535
    assert (np.abs(unpacked(found) - mesh.vertices) <= 0.5001 * step).all()


def test_vertices_stay_exact_where_rounding_would_turn_faces():
    tiny = ball(1e-4)  # beside a face that is a kilometre away: a step is larger than its triangles
    far = np.array([[1e3, 0, 0], [1e3, 1, 0], [1e3, 0, 1e-9]])
    mesh = Mesh(np.vstack([tiny.vertices, far]), np.vstack([tiny.faces, len(tiny.vertices) + np.arange(3)]))
    found = encoded(scene(parts=(ScenePart(mesh),)))["meshes"][0]["vertices"]
    assert found["type"] == "float32"
    np.testing.assert_allclose(unpacked(found), mesh.vertices, rtol=1e-7)


def test_quaternions_go_on_with_the_nearer_sign():
    rng = np.random.default_rng(2)
    poses = np.cumsum(rng.normal(size=(50, 3, 7)) * 0.2, axis=0) + 1.0
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], size=(50, 3, 1))
    mixed = np.concatenate([poses[..., :3], signs * poses[..., 3:]], axis=-1)
    found = continuous(mixed)
    assert ((found[1:, :, 3:] * found[:-1, :, 3:]).sum(axis=-1) >= 0.0).all()
    np.testing.assert_array_equal(np.abs(found), np.abs(mixed))
    np.testing.assert_array_equal(found[0], mixed[0])


def test_a_curve_that_is_flat_for_its_height_keeps_its_digits():
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
def test_what_cannot_be_drawn_is_named(given, said):
    with pytest.raises(ArgumentError, match=f"(?s){said}"):
        encoded(given())
