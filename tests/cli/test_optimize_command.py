"""`appell optimize`: the motion of Python, within limits, on robots of others; errors name what is wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.cli.optimize import reaching
from appell_lab.campaigns.reaching import reach


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["optimize", *arguments])


def test_the_command_gives_the_motion_of_python(tmp_path):
    path = tmp_path / "motion.npz"
    result = run("planar-2r", "--to", "0.8,-0.5", "--steps", "30", "--duration", "0.6", "--json", "--output", str(path))
    assert result.exit_code == 0
    robot = ap.load("planar-2r")
    dyn = ap.Dynamics(robot, rotors=True)
    given = reaching(dyn, robot.start, "0.8,-0.5", "effort", 0.6, 30, True)
    motion = ap.optimize(dyn, robot.start, steps=30, **given)
    np.testing.assert_array_equal(ap.Record.read(path).tau, motion.tau)
    data = json.loads(result.stdout)
    assert data["solved"]
    assert data["cost"] == motion.cost
    np.testing.assert_allclose(data["goal"], [0.8, -0.5], atol=1e-8)


def test_joints_that_the_goal_does_not_name_stay_where_they_start():
    dyn = ap.Dynamics(ap.load("planar-2r"))
    given = reaching(dyn, np.array([0.3, 0.4]), f"{dyn.system.coordinate_names[1]}=0", "effort", 0.6, 30, True)
    np.testing.assert_allclose(given["guess"]["q"][-1], [0.3, 0.0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5_robot", "kinova"])  # the second has joints without limits
def test_a_robot_of_others_reaches_a_pose(name):
    reached = reach(name, "--steps", "40")
    assert reached.solved, reached.message
    assert reached.miss < 1e-6
    assert reached.exceeded <= 1.0


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("planar-2r", "--to", "1,2,3"), "3"),
        (("planar-2r", "--to", "tip:1,2"), "has 2 numbers"),
        (("puma", "--to", "tool:5,0,0"), "no configuration of robot 'puma' brings 'tool' to 5,0,0"),
        (("planar-2r", "--to", "1,2", "--least", "pain"), "pain"),
        (("planar-2r", "--to", "1,2", "--least", "time"), "not limited"),
        (("planar-2r", "--to", "1,2", "--duration", "-1"), "--duration"),
    ],
)
def test_errors_name_the_culprit(arguments, culprit):
    result = run(*arguments)
    assert result.exit_code != 0
    assert culprit in result.output
