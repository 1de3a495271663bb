"""Positions of the handles of a system."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.load import zoo_names
from appell.show.stage.dragging import handle_frames, handles
from grippers import GRIPPER


def names_of(system):
    return [frame.name for frame in handle_frames(ap.Dynamics(system))]


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
def test_handles_are_at_the_ends_of_chains(name, expected):
    assert names_of(ap.load(name)) == expected


def test_a_gripper_has_one_handle_and_its_fingers_none():
    assert names_of(ap.load(GRIPPER)) == ["palm"]


@pytest.mark.warns("massless")
def test_a_floating_base_has_a_handle():
    assert names_of(ap.load("planar-2r", base="floating", physical=False)) == ["base", "tool"]


@pytest.mark.parametrize("name", zoo_names())
def test_every_handle_is_at_its_frame(name):
    system = ap.load(name)
    dyn, bodies = ap.Dynamics(system), tuple(system.body_names)
    placed = handles(handle_frames(dyn), bodies)
    assert placed
    for handle in placed:
        if handle.name in [frame.name for frame in system.frames]:
            expected = dyn.pose(handle.name)(system.start)
            carrier = dyn.pose(bodies[handle.body])(system.start)
            assert np.allclose(carrier @ [*handle.pose[:3], 1.0], expected[:, 3], atol=1e-12)


def test_the_handle_of_a_wrist_is_where_it_can_move():
    """The centre of the wrist does not move; the handle is elsewhere on the platform."""
    dyn = ap.Dynamics(ap.load("agile-wrist"))
    (frame,) = handle_frames(dyn)
    point = np.array([*frame.pose.translation, 1.0])
    before, after = (dyn.pose("platform")(np.array(q)) @ point for q in ([0.0, 0.0, 0.0], [0.1, 0.2, 0.1]))
    assert np.linalg.norm(after - before) > 1e-3
