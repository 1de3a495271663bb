"""The tree robot of Shafei 2018 inside a round wall, against an independent implementation."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.formulate.formulations import FORMULATIONS
from appell.model.robot import Joint, Link

REFERENCE = json.loads((Path(__file__).parent.parent / "references" / "tree_robot_impacts.json").read_text())
WALL = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
TIGHT = {"solver": ap.Solver(rtol=1e-11, atol=1e-12)}


@pytest.fixture(scope="module")
def motion():
    return ap.simulate(ap.Dynamics(ap.load("tree10")), until=1.5, contacts=WALL, impact_law="newton", **TIGHT)


def test_the_five_impacts_come_at_the_reference_times_with_the_reference_impulses(motion):
    assert motion.finished
    assert len(motion.events) == len(REFERENCE["events"]) == 5
    for event, expected in zip(motion.events, REFERENCE["events"], strict=True):
        assert event.kind == "impact"
        assert list(event.points) == expected["points"]
        assert event.time == pytest.approx(expected["t"], abs=1e-8)
        np.testing.assert_allclose(event.impulses, expected["impulse"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(2 * event.normal_speeds, expected["rel_normal_speed"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(event.angles, expected["angle_of_attack_deg"], rtol=0, atol=1e-6)


def test_the_states_between_impacts_are_those_of_the_reference(motion):
    for time, expected in REFERENCE["state_samples"].items():
        q, v = motion(float(time))  # the reference lists q1 ... q10, X1, X2
        np.testing.assert_allclose(np.roll(q, -2), expected["q_X"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(np.roll(v, -2), expected["qd_Xd"], rtol=0, atol=1e-8)


def test_energy_is_constant_through_all_impacts(motion):
    assert motion.energy[0] == pytest.approx(REFERENCE["energy_J"], abs=1e-12)
    assert np.ptp(motion.energy) < 1e-9


def test_impacts_satisfy_newtons_law_and_the_impulse_momentum_balance(motion):
    robot = ap.load("tree10")
    dyn = ap.Dynamics(robot)
    for event in motion.events:
        q = motion(event.time)[0]
        J = np.array([dyn.jacobian(name, "LOCAL_WORLD_ALIGNED")(q)[:3] for name in event.points])
        x = np.array([dyn.pose(name)(q)[:3, 3] for name in event.points])
        normals = -x / np.linalg.norm(x, axis=1, keepdims=True)
        rows = np.einsum("ki,kin->kn", normals, J)
        np.testing.assert_allclose(rows @ event.v_after, -(rows @ event.v_before), atol=1e-9)
        change = dyn.mass_matrix(q) @ (event.v_after - event.v_before)
        np.testing.assert_allclose(change, rows.T @ event.impulses, atol=1e-9)


def formulations_for_trees():
    """All but those that are for chains only."""
    robot, names = ap.load("tree10"), []
    for name, formulation in FORMULATIONS.items():
        with contextlib.suppress(ap.ModelError):
            formulation.check(robot)
            names.append(name)
    return names


def test_most_formulations_are_for_trees():
    assert len(formulations_for_trees()) >= 8


@pytest.mark.parametrize("formulation", formulations_for_trees())
def test_every_formulation_gives_the_same_motion(formulation, motion):
    dyn = ap.Dynamics(ap.load("tree10"), formulation)
    other = ap.simulate(dyn, until=1.2, contacts=WALL, impact_law="newton", **TIGHT)
    assert [e.points for e in other.events] == [e.points for e in motion.events[:4]]
    for ours, theirs in zip(motion.events, other.events, strict=False):
        assert theirs.time == pytest.approx(ours.time, abs=1e-9)
        np.testing.assert_allclose(theirs.impulses, ours.impulses, atol=1e-7)
    for ours, theirs in zip(motion(1.2), other(1.2), strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-7)


def test_a_planar_joint_as_base_gives_the_same_motion_as_two_prismatic_ones(motion):
    sliding = ap.load("tree10")
    rod1 = sliding.link("rod1")
    first = Link("rod1", None, Joint("base", ap.Planar()), rod1.body)
    frames = tuple(replace(f, body="rod1") if f.body in ("slide_x", "slide_y") else f for f in sliding.frames)
    planar = replace(sliding, name="planar", links=(first, *sliding.links[3:]), frames=frames)
    other = ap.simulate(ap.Dynamics(planar), until=1.5, contacts=WALL, impact_law="newton", **TIGHT)
    assert [e.points for e in other.events] == [e.points for e in motion.events]
    for ours, theirs in zip(motion.events, other.events, strict=True):
        assert theirs.time == pytest.approx(ours.time, abs=1e-9)
        np.testing.assert_allclose(theirs.impulses, ours.impulses, atol=1e-8)
    for t in (0.3, 0.8, 1.5):
        np.testing.assert_allclose(other(t)[0], motion(t)[0], atol=1e-8)


def test_points_solved_together_keep_the_symmetry_of_the_figure(motion):
    q, _ = motion(1.3)
    dyn = ap.Dynamics(ap.load("tree10"))
    for left, right in (("O1", "O5"), ("O2", "O4"), ("O7", "O10"), ("O8", "O11")):
        a, b = (dyn.pose(name)(q)[:2, 3] for name in (left, right))
        np.testing.assert_allclose(a, [-b[0], b[1]], atol=1e-8)
