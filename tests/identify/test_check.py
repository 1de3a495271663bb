"""`ap.check` and `appell check`: every fault of a motion is found, with its times and names, and nothing else is."""

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.describe.robot_packages import example

ROBOT = ap.load("example-robot-data:ur5_robot")
NAMES = ROBOT.joint_names
MODEL = pin.buildModelFromUrdf(str(example("ur5_robot")))


def pinocchio_torques(q, v, a):
    data = MODEL.createData()
    return np.array([pin.rnea(MODEL, data, *row) for row in zip(q, v, a, strict=True)])


def motion(t, size=0.3):
    w, phase = np.array([1.1, 2.3]), np.random.default_rng(0).uniform(0.0, 6.0, (2, 6))
    angle = np.multiply.outer(t, w)[:, :, None] + phase
    q = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0]) + size * np.sin(angle).sum(axis=1)
    return q, size * (w[:, None] * np.cos(angle)).sum(axis=1), -size * (w[:, None] ** 2 * np.sin(angle)).sum(axis=1)


def log(edit=lambda t, q, tau: (t, q, tau)):
    t, rng = np.arange(0.0, 8.0, 0.005), np.random.default_rng(1)
    q, v, a = motion(t)
    tau = pinocchio_torques(q, v, a) + 0.05 * rng.normal(size=q.shape)
    t, q, tau = edit(t, q + 1e-6 * rng.normal(size=q.shape), tau)
    return ap.Record.of(t, {"q": q, "tau": tau}, NAMES)


def without(rows):
    def edit(t, q, tau):
        keep = np.setdiff1d(np.arange(len(t)), rows)
        return t[keep], q[keep], tau[keep]

    return edit


def changed(column, rows, value):
    def edit(t, q, tau):
        array = {"q": q, "tau": tau}[column[0]]
        array[rows, column[1]] = value(array[rows, column[1]])
        return t, q, tau

    return edit


FAULTS = {  # edit, kind, name, first time
    "gap": (without(np.arange(400, 480)), "gap", "", 1.995),
    "missing numbers": (changed(("q", 2), slice(100, 120), lambda x: np.nan), "missing numbers", f"q_{NAMES[2]}", 0.5),
    "outlier": (changed(("tau", 1), [700], lambda x: x + 90.0), "outliers", f"tau_{NAMES[1]}", 3.5),
    "position": (changed(("q", 0), slice(600, 602), lambda x: 7.0), "position limit", NAMES[0], 3.0),
    "torque": (changed(("tau", 3), slice(900, 903), lambda x: -40.0), "torque limit", NAMES[3], 4.5),
    "sign": (changed(("tau", 1), slice(None), lambda x: -x), "torques", NAMES[1], None),
    "scale": (changed(("tau", 2), slice(None), lambda x: 3.0 * x), "torques", NAMES[2], None),
}


def test_a_clean_log_has_no_problems():
    result = ap.check(ROBOT, log())
    assert result.ok
    assert not result.skipped
    assert str(result) == "no problems in 1600 rows over 7.995 s"


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_found_with_its_time_and_name(name):
    edit, kind, column, time = FAULTS[name]
    matching = [p for p in ap.check(ROBOT, log(edit)).problems if p.kind == kind and p.name == column]
    assert len(matching) == 1
    if time is not None:
        assert matching[0].times[0] == pytest.approx(time, abs=1e-9)


def test_wrong_units_are_found():
    degrees = ap.check(ROBOT, log(lambda t, q, tau: (t, np.degrees(q), tau)))
    assert [p.kind for p in degrees.problems] == ["units"]
    assert "read as deg" in degrees.problems[0].text
    t = np.arange(0.0, 2.0, 0.01)
    q, v, a = motion(t)
    contradiction = ap.check(ROBOT, ap.Record.of(t, {"q": q, "v": 10.0 * v, "a": a}, NAMES))
    assert any(p.kind == "units" and "times the integral of v_" in p.text for p in contradiction.problems)
    assert contradiction.skipped


def test_a_plan_beyond_speed_and_torque_limits_is_found_as_pinocchio_computes_it():
    t = np.linspace(0.0, 3.0, 601)
    q, v, a = motion(5.0 * t)
    plan = ap.Record.of(t, {"q": q, "v": 5.0 * v, "a": 25.0 * a}, NAMES)
    result = ap.check(ROBOT, plan)
    limits = ROBOT.limits
    tau = pinocchio_torques(q, 5.0 * v, 25.0 * a)
    for kind, values, limit in (("speed limit", 5.0 * v, limits.speed), ("torque limit", tau, limits.torque)):
        expected = {NAMES[k]: t[np.argmax(np.abs(values[:, k]) > limit[k])] for k in range(6) if
                    np.abs(values[:, k]).max() > limit[k]}  # fmt: skip
        assert {p.name: p.times[0] for p in result.problems if p.kind == kind} == expected
    assert {p.kind for p in result.problems} <= {"speed limit", "torque limit"}
    assert any(p.kind == "torque limit" for p in result.problems)
    path = plan.path()
    assert {(p.kind, p.name) for p in ap.check(ROBOT, path).problems} == {(p.kind, p.name) for p in result.problems}


def test_the_command_gives_the_same_result_and_an_exit_code(tmp_path):
    def scrambled(t, q, tau):
        t = t.copy()
        t[[300, 301]] = t[[301, 300]]
        return (np.insert(x, 1000, x[1000], axis=0) for x in (t, q, tau))

    record = log()
    rows = np.column_stack(list(scrambled(record.t, record.q, record.tau)))
    file = tmp_path / "log.csv"
    np.savetxt(file, rows, delimiter=",", header=",".join(record.columns), comments="")
    answer = CliRunner().invoke(app, ["check", "example-robot-data:ur5_robot", str(file), "--json"])
    assert answer.exit_code == 3, answer.output
    shown, result = json.loads(answer.stdout), ap.check(ROBOT, file)
    assert [(p["kind"], p["name"], tuple(p["times"])) for p in shown["problems"]] == [
        (p.kind, p.name, p.times) for p in result.problems
    ]
    assert {p.kind for p in result.problems} == {"time out of order", "repeated time"}
    record.write(tmp_path / "log.mcap")
    good = CliRunner().invoke(app, ["check", "example-robot-data:ur5_robot", str(tmp_path / "log.mcap")])
    assert good.exit_code == 0, good.output
    assert "no problems" in good.output
    half = (tmp_path / "log.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(half[: len(half) // 2])
    cut = ap.check(ROBOT, tmp_path / "cut.mcap")
    assert [p.kind for p in cut.problems] == ["file"]


def test_bad_arguments_are_named():
    with pytest.raises(ap.ArgumentError, match="the motion is a list"):
        ap.check(ROBOT, [1.0])
    with pytest.raises(ap.DescriptionError, match="column 'q_"):
        ap.check(ROBOT, ap.Record.of([0.0, 1.0], {"q": np.zeros((2, 2))}, ["a", "b"]))


def test_a_collision_is_reported_with_its_pair_and_time():
    ball = ap.Collision("lower", "sphere", (0.1,), name="ball")
    post = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])
    stand = ap.Collision(None, "sphere", (5.0,), name="stand")
    robot = ap.load("planar-2r").with_collisions(ball, post, stand)
    plan = ap.motion.Spline([0.0, 1.0], [[0.0, 0.0], [1.2, 0.0]]).record(101)
    result = ap.check(robot, plan)
    collisions = [problem for problem in result.problems if problem.kind == "collision"]
    rows = ap.collisions(robot, plan, pairs=[("ball", "post")])
    assert [problem.name for problem in collisions] == ["ball and post"]
    assert collisions[0].times == (rows.intervals[0].start,)
    assert f"touch in {len(rows.rows)} of 101 rows" in collisions[0].text
    assert any("ball and stand" in text and "touch in all rows" in text for text in result.skipped)


def test_collisions_of_an_excitation_without_a_margin_are_those_of_pinocchio_and_coal(tmp_path):
    """The motion that an earlier version planned for a Panda by default, in which the hand passes through the base."""
    robot = ap.load("example-robot-data:panda")
    plan = json.loads((Path(__file__).parent / "data" / "panda-excitation.json").read_text())
    series = plan["cosine"], plan["sine"], plan["offset"]
    path = ap.motion.Fourier(1.0 / plan["duration"], *series, plan["duration"], names=robot.coordinate_names)
    record = path.record(2001)
    urdf = example("panda")
    model = pin.buildModelFromUrdf(str(urdf), mimic=True)
    folder = str(urdf).partition("/example-robot-data/")[0]
    geometry = pin.buildGeomFromUrdf(model, str(urdf), pin.GeometryType.COLLISION, package_dirs=[folder])
    numbers = {}
    for shape in robot.collisions:  # Pinocchio counts the shapes of a link from 0
        numbers[shape.name] = sum(other.link == shape.link for other in list(robot.collisions)[: len(numbers)])
    link = {shape.name: shape.link for shape in robot.collisions}
    for pair in robot.collision_pairs.pairs:
        ids = (geometry.getGeometryId(f"{link[name]}_{numbers[name]}") for name in pair)
        geometry.addCollisionPair(pin.CollisionPair(*ids))
    data, results = model.createData(), geometry.createData()
    expected = [pin.computeCollisions(model, data, geometry, results, row, True) for row in record["q"]]
    assert sum(expected) > 500
    assert ap.collisions(robot, record).rows.tolist() == np.flatnonzero(expected).tolist()
    record.write(tmp_path / "motion.csv")
    result = CliRunner().invoke(app, ["check", "example-robot-data:panda", str(tmp_path / "motion.csv"), "--json"])
    assert result.exit_code == 3
    touching = {problem["name"] for problem in json.loads(result.stdout)["problems"] if problem["kind"] == "collision"}
    assert "panda_link0 and panda_hand" in touching
