"""The command line and Python give the same numbers.

Every case runs a command with `--json` on a robot of the zoo and on a URDF of example-robot-data, and compares the
answer with the same computation in Python, bit for bit. Options that differ from their defaults only make runs short.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.info import COUNTED
from appell.cli.main import COMMANDS, app
from appell.cli.optimize import inner_start, reaching
from appell.cli.output import as_data
from appell.describe.robot_packages import example
from appell.hardware.loop.summary import summarize
from appell.motion.titles import record_names

URDF = example("ur5_robot")
ROBOTS = ["puma", *([str(URDF)] if URDF else [])]
CHECKED: dict[str, object] = {}  # command -> its check
NO_NUMBERS = {
    "robots",
    "formulations",
    "view",
    "control cabinet",
    "control replay",
    "control serve",
}  # lists, pages, servers


def checks(command: str):
    """Register the check of a command."""

    def registered(check):
        CHECKED[command] = check
        return check

    return registered


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def answer(*arguments: object, codes: tuple[int, ...] = (0,)):
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"], env={"COLUMNS": "200"})
    assert result.exit_code in codes, result.output
    return json.loads(result.stdout)


def ramp(robot) -> ap.Path:
    """Return a short motion of all joints."""
    return ap.motion.Ramp(robot.start, robot.start + 0.3, 1.0, 2.0, names=record_names(robot)["q"])


def extremes(path: ap.Path) -> dict[str, np.ndarray]:
    q, v, a = path(path.times(1001))
    columns = {"start": q[0], "end": q[-1], "lowest": q.min(axis=0), "highest": q.max(axis=0)}
    return columns | {"fastest": np.abs(v).max(axis=0), "hardest": np.abs(a).max(axis=0)}


def assert_path(result: dict, path: ap.Path) -> None:
    assert result["duration"] == path.duration
    for key, values in extremes(path).items():
        assert [row[key] for row in result["joints"]] == values.tolist(), key


@checks("info")
def info(name, robot):
    result, dyn = answer("info", name), ap.Dynamics(robot)
    assert result["mass"] == robot.mass
    assert result["operations"] == {key: asdict(getattr(dyn, key).count()) for key in COUNTED}


@checks("count")
def count(name, robot):
    result = answer("count", name, "--formulation", "newton-euler")
    expected = ap.Dynamics(robot, "newton-euler").inverse_dynamics.count()
    assert result["counts"][0] == {"function": "inverse_dynamics", **asdict(expected), "total": expected.total}


@checks("simulate")
def simulate(name, robot):
    result, expected = answer("simulate", name, "--until", 0.2), ap.simulate(robot, until=0.2)
    assert result["samples"] == len(expected)
    assert result["energy"] == {"start": expected.energy[0], "end": expected.energy[-1]}
    assert [event["time"] for event in result["events"]] == [event.time for event in expected.events]


@checks("rollout")
def rollout(name, robot):
    result = answer("rollout", name, "--members", 3, "--steps", 20)
    rng = np.random.default_rng(0)
    starts = robot.integrate(robot.start, 0.1 * rng.normal(size=(3, robot.nv)))
    expected = ap.rollout(robot, starts, steps=20)
    for title in (title for title in expected.columns if title.startswith(("q_", "v_"))):
        ends = np.quantile(expected[title][:, -1], (0.0, 0.5, 1.0))
        assert result["end"][title] == dict(zip(("least", "median", "most"), ends.tolist(), strict=True))


@checks("torques")
def torques(name, robot):
    ramp(robot).record(51).write("ramp.csv")
    result = answer("torques", name, "ramp.csv")
    moved = ap.Record.read("ramp.csv").path(record_names(robot)["q"]).record(201)
    tau = ap.Dynamics(robot, friction=True, rotors=True).inverse_dynamics(moved.q, moved.v, moved.a)
    assert [row["highest"] for row in result["actuators"]] == tau.max(axis=0).tolist()
    assert [row["lowest"] for row in result["actuators"]] == tau.min(axis=0).tolist()


@checks("trajectory ramp")
def trajectory_ramp(name, robot):
    goal = robot.start + 0.3
    result = answer("trajectory", "ramp", name, "--to", ",".join(map(repr, goal.tolist())))
    assert_path(result, ap.motion.Ramp(robot.start, goal, 1.0, 2.0))


@checks("trajectory line")
def trajectory_line(name, robot):
    ends = {"--from": (0.5, 0.2, 0.3), "--to": (0.4, 0.3, 0.3)}
    options = [word for key, point in ends.items() for word in (key, ",".join(map(str, point)))]
    result = answer("trajectory", "line", name, *options, "--zyz", "45,60,90", "--duration", 2, codes=(0,))
    frame = "tool" if "tool" in robot.frame_names else last_frame(robot)
    assert_path(result, ap.motion.CartesianLine(robot, frame, *ends.values(), ap.motion.zyz(45, 60, 90), 2.0))


def last_frame(robot) -> str:
    from appell.kinematics.inverse.numerical_solver import default_frame

    return default_frame(robot)


@checks("trajectory spline")
def trajectory_spline(name, robot):
    ramp(robot).record(5).write("points.csv")
    given = ap.Record.read("points.csv")
    assert_path(
        answer("trajectory", "spline", "points.csv"), ap.motion.Spline(given.t, given.q, names=given.names("q"))
    )


@checks("trajectory fastest")
def trajectory_fastest(name, robot):
    ramp(robot).record(51).write("ramp.csv")
    result = answer("trajectory", "fastest", name, "ramp.csv", "--intervals", 100)
    path = ap.Record.read("ramp.csv").path(record_names(robot)["q"])
    assert_path(result, ap.motion.time_optimal(path, robot, intervals=100))


@checks("workspace")
def workspace(name, robot):
    result = answer("workspace", "five-bar", "--points", 9, "--over", "x=-0.6:0.6", "--over", "y=0:0.7")
    axes = {"x": np.linspace(-0.6, 0.6, 9), "y": np.linspace(0.0, 0.7, 9)}
    expected = ap.kinematics.workspace(ap.Dynamics(ap.load("five-bar")), axes)
    assert (result["share"], result["least_condition"]) == (expected.share, expected.condition.min())


@checks("excite")
def excite(name, robot):
    result = answer("excite", name, "--duration", 3, "--harmonics", 3, "--iterations", 1, "--starts", 1)
    expected = ap.identify.excite(robot, duration=3.0, harmonics=3, iterations=1, starts=1)
    assert result["condition"] == expected.condition
    assert [row["position"] for row in result["shares"]["coordinates"]] == expected.load["position"].tolist()


@checks("identify")
def identify(name, robot):
    rng = np.random.default_rng(1)
    points = robot.start + 0.5 * rng.normal(size=(12, robot.nv))
    moved = ap.motion.Spline(0.5 * np.arange(12.0), points, 5, record_names(robot)["q"]).record(1101)
    tau = ap.Dynamics(robot).inverse_dynamics(moved.q, moved.v, moved.a)
    ap.Record.of(moved.t, {"q": moved.q, "tau": tau}, record_names(robot)).write("log.csv")
    result = answer("identify", "log.csv", "--robot", name, codes=(0, 3))
    record = ap.motion.measured(ap.Record.read("log.csv"), robot.coordinate_names, robot.actuator_names)
    verdict = ap.identify.identify_record(ap.identify.LeastSquares(robot), record)
    assert result["passed"] == verdict.passed
    assert [row["value"] for row in result["parameters"]] == as_data(verdict.best.estimator.base_parameters_)


@checks("check")
def check(name, robot):
    ramp(robot).record(101).write("plan.csv")
    result = answer("check", name, "plan.csv", codes=(0, 3))
    expected = ap.check(robot, "plan.csv")
    assert result["rows"] == expected.rows
    assert [row["text"] for row in result["problems"]] == [problem.text for problem in expected.problems]


@checks("optimize")
def optimize(name, robot):
    start, dyn = inner_start(robot), ap.Dynamics(robot, rotors=True)
    goal = ",".join(map(str, start + 0.01))
    result = answer("optimize", name, f"--to={goal}", "--steps", 10, "--duration", 0.5)
    expected = ap.optimize(dyn, start, steps=10, **reaching(dyn, start, goal, "effort", 0.5, 10, limited=True))
    assert (result["cost"], result["iterations"]) == (expected.cost, expected.iterations)


@checks("calibrate")
def calibrate(name, robot):
    frame = robot.link_names[5]
    planned = answer("calibrate", name, "--frame", frame, "--plan", 15, "--candidates", 50, "--output", "poses.csv")
    geometry = ap.identify.geometric_parameters(robot, frame)
    plan = ap.identify.plan_poses(geometry, 15, candidates=50)
    assert (planned["q"], planned["index"]) == (as_data(plan.q), plan.index)
    record = ap.Record.read("poses.csv")
    rng = np.random.default_rng(1)
    points = geometry.pose(record.q, 1e-3 * rng.normal(size=len(geometry.names)))[:, :3, 3]
    ap.Record.of(record.t, {"q": record.q, "position": points}, {"q": record.names("q"), "position": "xyz"}).write(
        "p.csv"
    )
    result = answer("calibrate", name, "p.csv", "--frame", frame)
    fit = ap.identify.calibrate(robot, record.q, points, frame=frame)
    assert [row["value"] for row in result["parameters"]] == as_data(fit.parameters[list(fit.columns)])
    assert [row["interval"] for row in result["parameters"]] == as_data(fit.intervals)


@checks("control run")
def control_run(name, robot):
    ramp(robot).record(51).write("ramp.csv")
    result = answer("control", "run", name, "--no-calibrate", "--reference", "ramp.csv", codes=(0, 2))
    assert result == answer("control", "show", "out/control.log")
    assert result["coordinates"] == control_errors(robot)


@checks("control show")
def control_show(name, robot):
    """Compared with `control run` above."""


def control_errors(robot) -> list[dict]:
    hw = ap.hardware
    clock = hw.VirtualClock()
    arm = hw.make_device("simulated", robot, clock)
    loop = hw.Loop(arm, hw.standard_servo(robot, arm.info), clock, log="python.log")
    path = ap.Record.read("ramp.csv").path(record_names(robot)["q"])
    hw.run_task(loop, lambda q: hw.Reference.approached(path, 1e-3, q)[0], calibrate=False)
    loop.close()
    summary = summarize(ap.Record.read("python.log"))
    rows = zip(summary.coordinates, summary.largest_error, summary.final_error, strict=True)
    return [{"name": name, "largest_error": most, "final_error": last} for name, most, last in rows]


@checks("export")
def export(name, robot):
    result = answer("export", name, "gravity", "--output", "gravity.c")
    code = ap.Dynamics(robot).gravity.to_c("gravity")
    assert Path("gravity.c").read_text() == code.source
    assert result["written"][0]["bytes"] == len(code.source.encode())


@checks("convert")
def convert(name, robot):
    CliRunner().invoke(app, ["convert", name, "again.toml"])
    ap.to_toml(robot, "python.toml")
    assert Path("again.toml").read_text() == Path("python.toml").read_text()


@checks("sweep")
def sweep(name, robot):
    pytest.importorskip("zarr", reason="a sweep stores its results with zarr, an extra")
    Path("study.py").write_text("table = {'x': [1.0, 2.0]}\ndef study(x):\n    return {'y': x * x}\n")
    result = answer("sweep", "study.py", "--out", "command.zarr")
    expected = ap.sweep(lambda x: {"y": x * x}, {"x": [1.0, 2.0]}, "python.zarr")
    assert result["results"][0]["most"] == expected["y"].max()


def names_of_commands() -> set[str]:
    from terminals import all_commands

    commands = {name: command for name, command in all_commands().items() if name in COMMANDS}
    return {
        f"{name} {subcommand}".strip()
        for name, command in commands.items()
        for subcommand in getattr(command, "commands", {"": None})
    }


def test_every_command_that_computes_is_compared():
    assert names_of_commands() == set(CHECKED) | NO_NUMBERS


@pytest.mark.parametrize("name", ROBOTS, ids=lambda name: Path(name).stem)
@pytest.mark.parametrize("command", CHECKED)
def test_a_command_gives_the_numbers_of_python(command, name):
    CHECKED[command](name, ap.load(name))


def test_simulate_has_the_friction_and_rotors_of_the_description_unless_they_are_switched_off():
    options = ("simulate", "puma", "--until", 0.5)
    assert answer(*options)["energy"]["end"] == pytest.approx(16.75, abs=0.005)
    assert answer(*options, "--no-friction", "--no-rotors")["energy"]["end"] == pytest.approx(26.98, abs=0.005)


def test_the_suffix_of_a_reference_may_be_upper_case():
    robot = ap.load("pendulum")
    ramp(robot).record(51).write("ramp.csv")
    Path("ramp.csv").rename("M.CSV")
    result = answer("control", "run", "pendulum", "--no-calibrate", "--reference", "M.CSV")
    assert result["fault"] == "no fault"


def test_simulate_with_shapes_that_touch_is_that_of_python(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(
        """
name = "scene"

[[link]]
name = "ball"
joint = "floating"
mass = 1.0
inertia = [0.004, 0.004, 0.004]
xyz = [0.0, 0.0, 0.5]

[[link.collision]]
shape = "sphere"
size = [0.1]

[[collision]]
name = "floor"
shape = "plane"
"""
    )
    options = ("--until", 0.5, "--touch", "all", "--restitution", 0.4, "--impact-order", "in_turn", "--contact-forces")
    result = answer("simulate", path, *options, "--output", tmp_path / "ball.csv")
    contacts = ap.BodyContact(restitution=0.4)
    expected = ap.simulate(ap.load(path), until=0.5, contacts=contacts, impact_order="in_turn", contact_forces=True)
    assert ap.Record.read(tmp_path / "ball.csv").columns == expected.columns
    assert [event["time"] for event in result["events"]] == [event.time for event in expected.events]
    assert result["events"][0]["points"] == ["ball center - floor face"]


def test_an_ellipsoid_is_covered_by_an_option_that_the_error_names(tmp_path):
    egg = ap.Collision("lower", "ellipsoid", (0.1, 0.1, 0.2), name="egg")
    robot = ap.load("planar-2r").with_collisions(egg, ap.Collision(None, "plane", name="floor", pose=[0.0, 0.0, -1.0]))
    robot = robot.with_gravity((0.0, 0.0, -9.81))
    ap.to_toml(robot, tmp_path / "egg.toml")
    options = "egg.toml", "--until", 0.05, "--touch", "egg:floor"
    refused = CliRunner().invoke(app, ["simulate", *map(str, options)], env={"COLUMNS": "200"})
    assert refused.exit_code == 1
    assert "Replace meshes and ellipsoids by capsules: --cover." in refused.stderr
    result = answer("simulate", *options, "--cover", "--output", "egg.csv")
    expected = ap.simulate(
        ap.cover(ap.load("egg.toml")), until=0.05, contacts=ap.BodyContact([("egg", "floor")], restitution=0.0)
    )
    assert result["events"] == []
    np.testing.assert_array_equal(ap.Record.read("egg.csv").q, expected.q)
