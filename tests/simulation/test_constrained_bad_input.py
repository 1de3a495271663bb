"""Starts that violate constraints, missing prescribed motions and singular configurations are named."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.model.constraint import Gear, Prescribed
from appell_lab.references.plain_closures import constraints
from constrained_cases import CASES, constrained, state, tree

QUIET = {"progress": False}


def test_a_start_off_the_manifold_is_refused_with_its_loop_and_size():
    system = constrained("fourbar-grashof")
    q = system.start + np.array([0.1, 0.0, 0.0])
    gap = np.linalg.norm(ap.Dynamics(system).gap(q))
    with pytest.raises(ArgumentError, match=rf"leaves constraint 'closure 0' open by {gap:.4g} m") as caught:
        ap.simulate(system, q, **QUIET)
    assert "project=True" in str(caught.value)
    run = ap.simulate(system, q, until=0.01, project=True, **QUIET)
    assert np.abs(ap.Dynamics(system).gap(run.q)).max() <= 1e-12


def test_velocities_of_the_tree_that_violate_a_row_are_refused_with_its_size():
    system = constrained("chaplygin-sleigh")
    with pytest.raises(
        ArgumentError, match=r"v0 of .* violates constraint 'closure 0': its row 'across' has a velocity of 0\.25"
    ):
        ap.simulate(system, [0, 0, 0], [1.0, 0.25, 0.0], **QUIET)
    run = ap.simulate(system, [0, 0, 0], [1.0, 0.25, 0.0], until=0.01, project=True, **QUIET)
    assert abs(run["w"][0, 1]) <= 1e-15


def test_projection_never_adds_energy():
    system, q = constrained("stewart-loops"), state("stewart-loops")["q"]
    w = np.random.default_rng(5).normal(size=system.tree.nv)
    run = ap.simulate(ap.Dynamics(system), q, w, until=1e-4, project=True, **QUIET)
    M = ap.Dynamics(system.tree).mass_matrix(q)
    assert run["w"][0] @ M @ run["w"][0] <= w @ M @ w


def test_a_wrong_number_of_velocities_lists_the_two_valid_numbers():
    with pytest.raises(ArgumentError, match=r"1 independent velocities \(crank\), or all 3 of the tree"):
        ap.simulate(constrained("fourbar-grashof"), v0=[1.0, 2.0], **QUIET)
    with pytest.raises(ArgumentError, match="not finite"):
        ap.simulate(constrained("fourbar-grashof"), v0=[np.nan], **QUIET)


def test_a_parallelogram_that_gets_flat_ends_the_run_with_the_name_of_its_loop():
    """Beyond this point it may continue as a parallelogram or as an antiparallelogram, also with contacts."""
    model = CASES["singular-and-impossible"]["parallelogram"]["model"]
    system = tree(model).with_loops(*constraints(model["closures"]), home=[0.5, -0.5, 0.5])
    wall = ap.Contact("coupler", ap.Plane((0, 1, 0), -5.0))
    for given in ({}, {"contacts": wall}):
        run = ap.simulate(system, v0=[-3.0], until=1.0, **given, **QUIET)
        assert run.status == "SINGULAR"
        assert "constraint 'closure 0' of constrained robot 'parallelogram'" in run.message
        assert np.abs(run.q[-1]).max() <= 1e-3
        assert run.t[-1] < 0.2
        assert len(run) >= 3


def test_a_start_in_a_singular_configuration_is_refused():
    model = CASES["singular-and-impossible"]["parallelogram"]["model"]
    system = tree(model).with_loops(*constraints(model["closures"]), home=[0.5, -0.5, 0.5])
    with pytest.raises(ArgumentError, match=r"q0 of constrained robot 'parallelogram' is singular\. The row is"):
        ap.simulate(system, [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], project=True, **QUIET)


def driven():
    case = CASES["five-bar"]
    q0 = case["states"][0]["q"]
    drive = Prescribed(Gear({"left1": 1.0}, offset=q0[0]), name="motor")
    return tree(case["model"]).with_loops(*constraints(case["model"]["closures"]), drive, home=q0)


def test_missing_and_invalid_prescribed_motions_are_named():
    robot = driven()
    with pytest.raises(ArgumentError, match="no motion is given for motor"):
        ap.simulate(robot, **QUIET)
    with pytest.raises(ArgumentError, match=r"has no prescribed motion 'mottor'\. Did you mean 'motor'"):
        ap.simulate(robot, prescribed={"mottor": lambda t: (0, 0, 0)}, **QUIET)
    with pytest.raises(ArgumentError, match=r"The motion of 'motor' returned 0\.0 at t = 0"):
        ap.simulate(robot, prescribed={"motor": lambda t: 0.0}, **QUIET)
    with pytest.raises(ArgumentError, match="the motion of 'motor' is 3"):
        ap.simulate(robot, prescribed={"motor": 3}, **QUIET)


def test_a_motion_that_stops_being_a_number_keeps_the_record():
    def motor(t):
        return (0.0, 0.0, 0.0) if t < 0.1 else (np.nan, 0.0, 0.0)

    with pytest.raises(ap.simulation.Interrupted, match="The motion of 'motor' returned") as caught:
        ap.simulate(driven(), until=1.0, prescribed={"motor": motor}, solver=ap.Solver(max_step=0.01), **QUIET)
    assert caught.value.record.t[-1] >= 0.05
