"""`--margin` and `--floor` of commands give the results of Python."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.cli.optimize import reaching

ARM = """
name = "arm"
[[link]]
name = "upper"
joint = "revolute"
axis = [0, 1, 0]
mass = 1.0
com = [0.25, 0, 0]
inertia = [0.01, 0.02, 0.02]
[[link]]
name = "lower"
parent = "upper"
joint = "revolute"
axis = [0, 1, 0]
xyz = [0.5, 0, 0]
mass = 1.0
com = [0.25, 0, 0]
inertia = [0.01, 0.02, 0.02]
[[link.collision]]
name = "tip"
shape = "sphere"
size = [0.05]
xyz = [0.5, 0, 0]
[[collision]]
name = "post"
shape = "sphere"
size = [0.2]
xyz = [0.7, 0, 0.5]
"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.toml").write_text(ARM)
    return tmp_path / "arm.toml"


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.filterwarnings("ignore::appell.errors.LimitWarning")
def test_excite_keeps_the_margin_of_python_with_a_floor(arm, tmp_path):
    given = ["--starts", 1, "--iterations", 5, "--velocity", 2, "--acceleration", 8, "--torque", 50, "--rate", 50]
    target = tmp_path / "motion.csv"
    result = run("excite", arm, *given, "--margin", 0.05, "--floor", -0.4, "--output", target, "--json")
    assert result.exit_code == 0, result.output
    floor = ap.Collision(None, "plane", name="floor", pose=[0.0, 0.0, -0.4])
    robot = ap.load(arm).with_collisions(floor)
    record = ap.Record.read(target)
    assert not len(ap.collisions(robot, record, margin=0.05).rows)
    limits = {"velocity": 2.0, "acceleration": 8.0, "torque": 50.0}
    plan = ap.identify.excite(robot, starts=1, iterations=5, margin=0.05, **limits)
    assert np.array_equal(record.q, plan.path(record.t)[0])
    assert json.loads(result.stdout.partition("\n}")[0] + "\n}")["condition"] == plan.condition


def test_paths_that_do_not_keep_the_margin_are_refused_on_the_command_line(arm):
    through = ["trajectory", "ramp", arm, "--from", "0,0", "--to", "-1.5,0"]
    assert run(*through).exit_code == 0
    result = run(*through, "--margin", 0.02)
    assert result.exit_code == 1
    assert "'tip' and 'post' of robot 'arm' are too near each other from" in " ".join(result.output.split())
    assert run("trajectory", "ramp", arm, "--from", "0,0", "--to", "0.5,0", "--margin", 0.02).exit_code == 0
    floored = run("trajectory", "ramp", arm, "--from", "0,0", "--to", "0.5,0", "--margin", 0.02, "--floor", -0.3)
    assert "'floor'" in floored.output
    assert run(*through, "--margin", "-1").exit_code == 1
    assert run(*through, "--margin", "wide").exit_code == 1


def test_optimize_keeps_the_margin_and_gives_the_numbers_of_python(arm):
    arguments = ["optimize", str(arm), "--to=-1.2,0", "--duration=1", "--steps=20", "--json"]
    plain, kept = (json.loads(CliRunner().invoke(app, [*arguments, *more]).stdout) for more in ([], ["--margin=0.05"]))
    robot = ap.load(arm)
    dyn = ap.Dynamics(robot, rotors=True)
    for result, margin in ((plain, None), (kept, 0.05)):
        given = reaching(dyn, robot.start, "-1.2,0", "effort", 1.0, 20, True, margin)
        motion = ap.optimize(dyn, robot.start, steps=20, **given)
        assert result["solved"]
        assert (result["cost"], result["iterations"]) == (motion.cost, motion.iterations)
        assert (ap.collisions(robot, motion).rows.size == 0) == (margin is not None)
