"""The commands `appell formulations` and `appell count`, with valid and invalid arguments."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell import Joint, Link, Revolute, Robot, shapes, to_toml
from appell.cli.main import app
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.formulate.formulations import FORMULATIONS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, SOLVERS


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


@pytest.mark.parametrize("command", ["formulations", "count"])
def test_the_help_has_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"appell {command}" in result.output


def test_formulations_lists_every_name():
    output = run("formulations").output
    for name in (*FORMULATIONS, *INVERSE_DYNAMICS, *MASS_MATRIX, *FORWARD_DYNAMICS, *SOLVERS):
        assert name in output


def test_count_compares_all_formulations_and_reports_unsuitable_ones():
    result = run("count", "tree10")
    assert result.exit_code == 0
    for name in FORMULATIONS:
        assert name in result.output or name == "mata"
    assert "joint 'q5' branches off" in result.output


def test_count_leaves_out_functions_that_a_robot_does_not_have(tmp_path):
    beam = shapes.beam(0.5, EI=200.0, mass_per_length=0.4, bending=(1, 1))
    to_toml(Robot("beam", (Link("beam", None, Joint("hinge", Revolute((0, 1, 0))), beam),)), tmp_path / "beam.toml")
    for options in ((), ("--formulation", "gibbs-appell")):
        result = run("count", str(tmp_path / "beam.toml"), *options)
        assert result.exit_code == 0
        assert "inverse_dynamics: robot 'beam' is underactuated" in result.output


def test_count_of_one_formulation_shows_every_kind_of_operation():
    result = run("count", "puma", "--formulation", "mata")
    count = Dynamics(load("puma"), "mata").forward_dynamics.count()
    row = next(line for line in result.output.splitlines() if "forward_dynamics" in line)
    assert row.split()[1:] == [
        str(x) for x in (count.mul, count.add, count.div, count.sqrt, count.trig, count.select, count.total)
    ]


def test_count_accepts_other_methods():
    result = run("count", "puma", "--inertia", "walker-orin", "--forward", "articulated-body")
    assert result.exit_code == 0
    assert "gibbs-appell + walker-orin + articulated-body" in " ".join(result.output.split())


def test_an_unknown_formulation_is_reported():
    result = run("count", "puma", "--formulation", "lagrang")
    assert result.exit_code == 1
    assert "Did you mean 'lagrange'" in result.stderr


def test_an_unsuitable_formulation_is_reported():
    result = run("count", "tree10", "--formulation", "mata")
    assert result.exit_code == 1
    assert "branches off" in result.stderr
