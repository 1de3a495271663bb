"""Where a system is held."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.load import zoo_names
from appell.show.stage.dragging import handle_frames, handles
from grippers import GRIPPER


def held(system):
    return [grip.name for grip in handle_frames(ap.Dynamics(system))]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("puma", ["tool"]),
        ("pendulum", ["tip"]),
        ("tree10", ["O5", "O8", "O9", "O11"]),
        ("four-bar", ["coupler tip", "rocker tip"]),
        ("delta", ["platform"]),
    ],
)
def test_the_ends_of_chains_are_held(name, expected):
    assert held(ap.load(name)) == expected


def test_a_hand_is_held_and_not_its_fingers():
    assert held(ap.load(GRIPPER)) == ["palm"]


@pytest.mark.warns("massless")
def test_a_base_that_moves_is_held_too():
    assert held(ap.load("planar-2r", base="floating", physical=False)) == ["base", "tool"]


@pytest.mark.parametrize("name", zoo_names())
def test_every_handle_sits_on_its_body_where_its_frame_is(name):
    system = ap.load(name)
    dyn, bodies = ap.Dynamics(system), tuple(system.body_names)
    found = handles(handle_frames(dyn), bodies)
    assert found
    for handle in found:
        if handle.name in [frame.name for frame in system.frames]:
            own = dyn.pose(handle.name)(system.start)
            carrier = dyn.pose(bodies[handle.body])(system.start)
            assert np.allclose(carrier @ [*handle.pose[:3], 1.0], own[:, 3], atol=1e-12)


def test_a_wrist_is_held_where_it_can_be_moved():
    """Its middle stands still; the handle is elsewhere on the platform."""
    dyn = ap.Dynamics(ap.load("agile-wrist"))
    (grip,) = handle_frames(dyn)
    point = np.array([*grip.pose.translation, 1.0])
    before, after = (dyn.pose("platform")(np.array(q)) @ point for q in ([0.0, 0.0, 0.0], [0.1, 0.2, 0.1]))
    assert np.linalg.norm(after - before) > 1e-3
