"""Simulated records on disk, as data sets, as figures, and from the command line."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from free_bodies import free_body


@pytest.fixture(scope="module")
def bouncing():
    robot = free_body([(0, 0, 0)])
    q0 = robot.neutral
    q0[2] = 1.0
    return ap.simulate(ap.Dynamics(robot), q0, until=1.5, contacts=ap.Contact("all", ap.Plane(), 0.5, friction=0.0))


def test_a_run_is_read_back_completely_from_npz(bouncing, tmp_path):
    bouncing.write(tmp_path / "motion.npz")
    again = ap.Record.read(tmp_path / "motion.npz")
    t = np.linspace(0, 1.5, 50)
    for name in ("t", "q", "v", "tau", "energy"):
        assert (again[name] == bouncing[name]).all()
    assert all((a == b).all() for a, b in zip(again(t), bouncing(t), strict=True))
    assert [event.plain() for event in again.events] == [event.plain() for event in bouncing.events]
    assert (again.events[0].v_after == bouncing.events[0].v_after).all()
    assert again.finished
    assert repr(again) == repr(bouncing)


def test_normal_speeds_are_those_of_approach_and_positive(bouncing):
    """A body that falls from 1 m meets the floor at √(2g), whatever the sign of its velocity."""
    hit = bouncing.impacts[0]
    assert hit.v_before[2] == pytest.approx(-np.sqrt(2 * 9.81), rel=1e-8)  # downwards, against the normal
    assert hit.normal_speeds == pytest.approx([np.sqrt(2 * 9.81)], rel=1e-8)
    assert hit.impulses[0] > 0.0
    assert all((event.normal_speeds >= 0.0).all() for event in bouncing.events)


def test_xarray_gets_samples_over_time(bouncing):
    data = bouncing.to_xarray()
    assert data.sizes["time"] == len(bouncing.t)
    assert (data["q"].values == bouncing.q).all()
    assert data.attrs["status"] == "FINISHED"


def test_the_state_at_an_event_is_the_one_after_it(bouncing):
    event = bouncing.impacts[0]
    np.testing.assert_allclose(bouncing(event.time)[1], event.v_after, atol=1e-9)
    k = np.flatnonzero(bouncing.t == event.time)
    np.testing.assert_allclose(bouncing.v[k[0]], event.v_before, atol=1e-9)
    np.testing.assert_allclose(bouncing.v[k[-1]], event.v_after, atol=1e-9)


def test_the_command_line_simulates_and_reports_impacts(tmp_path):
    arguments = ["simulate", "tree10", "--wall", "circle:2.5", "--until", "0.6", "--output", str(tmp_path / "m.npz")]
    result = CliRunner().invoke(app, [*arguments, "--plot", str(tmp_path / "m.png")])
    assert result.exit_code == 0, result.output
    assert "0.385191984" in result.output
    assert "O1, O5" in result.output
    assert ap.Record.read(tmp_path / "m.npz").t[-1] == 0.6
    assert (tmp_path / "m.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--wall", "cone:1"], "no wall 'cone'"),
        (["--wall", "circle:x"], "--wall circle is 'x'"),
        (["--wall", "plane:1,0"], "plane:nx,ny,nz,offset"),
        (["--q", "1,2"], "--q is '1,2'"),
        (["--restitution", "2", "--wall", "circle:2.5"], "restitution 2"),
        (["--wall", "circle:1"], "starts inside a wall"),
    ],
)
def test_the_command_line_names_invalid_options(arguments, message):
    result = CliRunner().invoke(app, ["simulate", "tree10", *arguments])
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
