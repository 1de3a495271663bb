"""The command `appell rollout`."""

from __future__ import annotations

import json

import numpy as np
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["rollout", *arguments], env={"COLUMNS": "160"})


def test_records_and_plots_are_written_and_final_values_printed(tmp_path):
    out, plot = tmp_path / "fan.npz", tmp_path / "fan.png"
    options = ("--members", "30", "--steps", "40", "--every", "20", "--spread", "0.2", "--out", str(out))
    result = run("planar-2r", *options, "--plot", str(plot))
    assert result.exit_code == 0, result.output
    assert "30 motions, 40 steps of 0.001 s with rk4" in result.output
    assert "q_elbow" in result.output
    records = ap.Records.read(out)
    assert records.q.shape == (30, 3, 2)
    assert 0.1 < records.q[:, 0].std(axis=0).mean() < 0.3
    assert plot.exists()
    again = ap.rollout(
        ap.Dynamics(ap.load("planar-2r")), records.q[:, 0], steps=40, output=ap.simulation.Output(every=20)
    )
    assert np.array_equal(again.q, records.q)


def test_json_has_the_spread_and_the_same_seed_gives_the_same_numbers():
    results = [
        json.loads(run("pendulum", "--members", "5", "--steps", "10", "--seed", "3", "--json").stdout) for _ in "ab"
    ]
    assert results[0]["end"] == results[1]["end"]
    assert results[0]["finished"] == results[0]["members"] == 5
    end = next(iter(results[0]["end"].values()))
    assert end["least"] <= end["median"] <= end["most"]


def test_constrained_robots_start_with_closed_loops():
    result = run("four-bar", "--members", "5", "--steps", "10", "--json")
    assert json.loads(result.stdout)["finished"] == 5


def test_modes_and_motors_start_near_the_mean(tmp_path):
    """A spread of 0.1 rad of the joints neither bends links by 0.1 m nor deflects springs by 0.1 rad."""
    beam = ap.shapes.beam(0.5, EI=200.0, mass_per_length=0.4, bending=(1, 1))
    motor = ap.Actuator(gear=100.0, rotor_inertia=1e-5, elasticity=ap.Elasticity(1e4))
    joint = ap.Joint("hinge", ap.Revolute((0, 1, 0)), actuator=motor)
    ap.to_toml(ap.Robot("beam", (ap.Link("beam", None, joint, beam),)), tmp_path / "beam.toml")
    given = "--members", "50", "--steps", "10", "--dt", "1e-5", "--spread", "0.1", "--json"
    result = json.loads(run(str(tmp_path / "beam.toml"), *given).stdout)
    assert result["finished"] == 50
    assert result["end"]["energy"]["most"] < 1.0  # springs of 1e4 N m/rad deflected by 0.1 rad store 50 J


def test_invalid_options_are_reported(tmp_path):
    for arguments, message in (
        (("puma", "--method", "rk5"), "rollout has no method 'rk5'"),
        (("puma", "--dt", "-1"), "the length of a step"),
        (("puma", "--members", "0"), "--members is 0"),
        (("puma", "--spread", "nan"), "--spread is nan"),
        (("puma", "--members", "1000000000", "--steps", "100000000"), "which cannot be allocated"),
        (("puma", "--steps", "7"), "every is 10 and steps is 7"),
        (("puma", "--out", str(tmp_path / "a.csv")), "cannot be written"),
        (("puma", "--q", "1,2"), "--q is '1,2'"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert message in result.output.replace("\n", " "), result.output


def test_the_help_has_an_example():
    result = run("--help")
    assert "appell rollout puma --members" in result.output
