"""Exciting motions: exact gradients, satisfied limits, and well-determined parameters."""

import numpy as np
import pytest

import appell as ap
from appell.describe.robot_packages import examples
from appell.dynamics.margins import margin_of
from appell.errors import ArgumentError
from appell.identify import MotionBounds, condition_number, excite, select_parameters
from appell.identify.excitation import search
from appell.identify.excitation.bounds import envelope
from appell.identify.excitation.problem import ExcitationProblem
from appell_lab.papers.identification import LIMITS, random_spline


def small_problem(system=None, **extra):
    parameter_set = select_parameters(system or ap.load("puma"), friction=True, width=0.05)
    bounds = MotionBounds.of(parameter_set.system, **(extra if system else LIMITS | extra))
    problem = ExcitationProblem(parameter_set.base, bounds, 6.0, 4, 60)
    rng = np.random.default_rng(0)
    return problem, problem.feasible(rng.normal(size=problem.size)), rng


@pytest.mark.parametrize("criterion", ["condition", "logdet"])
def test_the_gradient_of_the_objective_is_exact(criterion):
    problem, x, rng = small_problem()
    direction, h = rng.normal(size=problem.size), 1e-5
    slope = problem.objective(x, criterion)[1] @ direction
    ahead, behind = (problem.objective(x + s * h * direction, criterion)[0] for s in (1, -1))
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


def test_the_gradients_of_all_limits_are_exact():
    box = {"tool": ((-0.9, -0.9, -0.3), (0.9, 0.9, 1.2))}
    problem, x, rng = small_problem(workspace={"link6": box["tool"]})
    direction, h = rng.normal(size=problem.size), 1e-5
    slopes = problem.slack_gradient(x) @ direction
    ahead, behind = (problem.slack(x + s * h * direction) for s in (1, -1))
    np.testing.assert_allclose(slopes, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-6)


def test_the_gradients_of_the_limits_of_a_mechanism_are_exact():
    driven = ap.Actuator(torque=20.0, speed=4.0)
    problem, x, rng = small_problem(ap.load("three-rrr").with_actuators(lambda *_: driven))
    direction, h = rng.normal(size=problem.size), 1e-6
    assert {what for what, _, _ in problem.loads(problem.motion(x))} >= {"reach", "speed", "torque"}
    slopes = problem.slack_gradient(x) @ direction
    ahead, behind = (problem.slack(x + s * h * direction) for s in (1, -1))
    np.testing.assert_allclose(slopes, (ahead - behind) / (2 * h), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["five-bar", "three-rrr", "agile-wrist", "delta"])
def test_a_mechanism_stays_in_reach_and_within_the_limits_of_its_actuators(name):
    driven = ap.Actuator(torque=60.0, speed=2.0)
    system = ap.load(name).with_actuators(lambda *_: driven)
    bounds = MotionBounds.of(system, clearance=0.2)
    plan = excite(system, bounds=bounds, starts=1, iterations=8, samples=100)
    assert plan.path.names == system.coordinate_names
    assert np.isfinite(plan.condition)
    q, v, a = plan.path(plan.path.times(2001))
    assert np.all((q >= bounds.lower - 0.01) & (q <= bounds.upper + 0.01))
    dyn = ap.Dynamics(system)
    assert np.abs(np.einsum("nij,nj->ni", dyn.actuator_jacobian(q), v)).max() <= 1.005 * 0.95 * 2.0
    assert np.abs(dyn.inverse_dynamics(q, v, a)).max() <= 1.005 * 0.95 * 60.0
    for margin, reach in zip(dyn.survey(q)[0].T, system.reaches, strict=True):
        _, least, most = reach.values(system.start.tolist())
        assert margin.min() >= 0.199 * 0.5 * (most - least)


def test_the_torque_limits_of_the_actuators_include_their_current_limits():
    arm = ap.load("planar-2r").with_actuators({"elbow": ap.Actuator(gear=50.0, current=4.0, torque_constant=0.1)})
    bounds = MotionBounds.of(arm, reserve=0.0)
    assert bounds.torque.tolist() == [ap.motion.WorkingLimits.of(arm).torque[0], 20.0]  # until issue 30: no limit


def test_the_envelope_is_never_below_the_largest_value():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 4))
    top, weights = envelope(values)
    assert np.all(top >= values.max(axis=0))
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)


@pytest.mark.slow
def test_an_optimised_motion_is_ten_times_better_conditioned_than_random_splines():
    model = select_parameters(ap.load("puma"))
    base, bounds = model.base, MotionBounds.of(model.system, **LIMITS)
    calls = []
    plan = excite(model, bounds=bounds, starts=1, iterations=100, progress=lambda *step: calls.append(step))
    rng = np.random.default_rng(0)
    splines = [condition_number(base, random_spline(model.system, bounds, 10.0, rng)) for _ in range(15)]
    assert plan.condition < 0.1 * np.median(splines)
    assert plan.condition < min(splines) / 4.0
    assert calls
    assert plan.path.duration == 10.0


def test_the_motion_satisfies_all_limits_between_the_samples_and_rests_at_its_ends():
    robot = ap.load("panda")
    box = {"tool": ((-0.8, -0.8, 0.05), (0.8, 0.8, 1.3))}
    bounds = MotionBounds.of(robot, workspace=box)
    plan = excite(robot, bounds=bounds, starts=1, iterations=25, samples=100)
    q, v, a = plan.path(plan.path.times(2001))
    dyn = ap.Dynamics(robot)
    slack = 1.005  # limits may be exceeded slightly between the samples of the optimiser
    assert np.all(np.abs(v) <= slack * bounds.velocity)
    assert np.all(np.abs(a) <= slack * bounds.acceleration)
    assert np.all(q >= bounds.lower - 0.01)
    assert np.all(q <= bounds.upper + 0.01)
    assert np.all(np.abs(dyn.inverse_dynamics(q, v, a)) <= slack * bounds.torque)
    position = dyn.pose("tool")(q)[:, :3, 3]
    assert np.all(position >= np.array(box["tool"][0]) - 0.01)
    assert np.all(position <= np.array(box["tool"][1]) + 0.01)
    for rate in (v, a):
        np.testing.assert_allclose(rate[[0, -1]], 0.0, atol=1e-10)


def test_the_limits_of_the_robot_are_the_default():
    bounds = MotionBounds.of(ap.load("panda"), reserve=0.0)
    assert bounds.velocity[0] == 2.175
    assert bounds.torque[0] == 87.0
    assert bounds.upper[0] == 2.8973


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "beauty"}, "'beauty' is not a criterion"),
        ({"harmonics": 2}, "cannot start and end at rest"),
        ({"velocity": -1.0}, "velocity limit -1"),
        ({"velocity": float("nan")}, "velocity limit nan"),
        ({"torque": float("nan")}, "torque limit nan"),
        ({"lower": float("nan")}, "the range of '.*' is nan"),
        ({"duration": float("nan")}, "the duration is nan s"),
        ({"duration": -3.0}, "the duration is -3 s"),
        ({"duration": float("inf")}, "the duration is inf s"),
        ({"samples": 3}, "samples is 3"),
        ({"iterations": 0}, "iterations is 0"),
        ({"starts": 0}, "starts is 0"),
        ({"seed": -1}, "the seed is -1"),
        ({"starts": 2.5}, "starts is 2.5"),
        ({"iterations": -3}, "iterations is -3"),
        ({"time_limit": -1.0}, "time_limit is -1.0 s"),
        ({"checked_samples": 10}, "checked_samples is 10"),
        ({"speed": 0.0}, "speed limit 0"),
        ({"clearance": 1.0}, "the clearance is 1"),
        ({"lower": 1.0, "upper": 0.5}, "is 1 to 0.5"),
        ({"velocity": [1.0, 2.0]}, "velocity has shape"),
        ({"torque": 1.0}, "exceeds its limits even at rest"),
        ({"workspace": {"link6": ((0, 0, 0), (0, 1, 1))}}, "the workspace of frame 'link6'"),
        ({"workspace": {"hand": ((0, 0, 0), (1, 1, 1))}}, "no frame 'hand'"),
    ],
)
def test_limits_that_cannot_be_satisfied_are_rejected(options, message):
    with pytest.raises(ap.AppellError, match=message):
        excite(ap.load("puma"), **options)


def test_a_floating_base_is_rejected():
    from robots import random_tree

    with pytest.raises(ap.ArgumentError, match="joints with several axes"):
        excite(random_tree(0, 3, base="floating"))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--duration", "nan", "--duration, in s, is nan"),
        ("--duration", "-1", "--duration, in s, is -1"),
        ("--duration", "1e300", "which is too many"),
        ("--rate", "0", "--rate, in Hz, is 0"),
        ("--rate", "nan", "--rate, in Hz, is nan"),
        ("--range", "inf", "--range is inf"),
        ("--velocity", "nan", "velocity limit nan"),
        ("--starts", "0", "starts is 0"),
    ],
)
def test_invalid_numbers_are_reported_on_the_command_line(option, value, message):
    from typer.testing import CliRunner

    from appell.cli.main import app

    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["excite", "planar-2r", option, value])
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert message in result.output


def rough_ur10(**fields):
    """The UR10 of example-robot-data with strong friction."""
    robot = ap.load("example-robot-data:ur10_robot")
    changes = {"friction": ap.Friction(viscous=8.0, coulomb=6.0), "torque": 60.0} | fields
    wrists = changes | {"torque": 30.0}
    arm = dict.fromkeys(robot.joint_names[3:], wrists)
    return robot.with_actuators(arm | {robot.joint_names[0]: changes})


@pytest.mark.parametrize("estimated", [False, True])
def test_a_motion_of_a_robot_with_strong_friction_never_exceeds_the_limits_of_the_robot_as_it_is_simulated(estimated):
    robot = rough_ur10(no_load_speed=4.0)
    bounds = MotionBounds.of(robot, reserve=0.0)
    options = {"friction": True, "width": 0.05} if estimated else {}
    plan = excite(robot, bounds=bounds, starts=1, iterations=15, samples=100, **options)
    q, v, a = plan.path(plan.path.times(20_001))
    tau = ap.Dynamics(robot, friction=True, rotors=True).inverse_dynamics(q, v, a)
    no_load = np.array([actuator.no_load_speed or np.inf for actuator in robot.actuators])
    available = robot.limits.torque * (1.0 - np.maximum(np.sign(tau) * v, 0.0) / no_load)
    assert (np.abs(tau) / available).max() <= 1.0
    assert (np.abs(v) / robot.limits.speed).max() <= 1.0
    assert (np.abs(tau) / available).max() > 0.5


def test_a_search_that_no_longer_improves_stops_early_and_loses_little():
    steps = []
    options = {"starts": 1, "duration": 4.0, "harmonics": 4, "velocity": 3.0, "acceleration": 12.0, "iterations": 300}
    early = excite(ap.load("planar-2r"), progress=lambda k, n, c: steps.append(k), **options)
    full = excite(ap.load("planar-2r"), early_stop=False, **options)
    assert not early.interrupted
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) < 300
    assert early.condition < 1.02 * full.condition


def test_a_time_limit_and_ctrl_c_end_a_search_with_the_best_motion_so_far():
    options = {"velocity": 3.0, "acceleration": 12.0, "duration": 4.0, "harmonics": 4}
    plan = excite(ap.load("planar-2r"), time_limit=1e-9, **options)
    assert plan.interrupted
    assert np.isfinite(plan.condition)

    def interrupt(at):
        def progress(step, steps, condition):
            if step == at:
                raise KeyboardInterrupt

        return progress

    plan = excite(ap.load("planar-2r"), progress=interrupt(12), **options)
    assert plan.interrupted
    assert max(load.max() for load in plan.load.values()) <= 1.0 + 1e-9


def test_motions_keep_a_margin_from_shapes_of_the_robot_and_of_the_world():
    floor = ap.Collision(None, "plane", name="floor", pose=[0.0, 0.0, -0.2])
    wall = ap.Collision(
        None, "plane", name="wall", pose=np.array([[0, 0, -1, 0.6], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    )
    hand = ap.Collision("link6", "sphere", (0.05,), name="hand")
    robot = ap.load("puma").with_collisions(floor, wall, hand)
    options = {"starts": 1, "iterations": 15, "velocity": 2.0, "acceleration": 8.0}
    free, kept = excite(robot, **options, margin=None), excite(robot, **options, margin=0.03)
    assert "margin" not in free.load
    assert kept.load["margin"].max() <= 1.0
    assert kept.unchecked == ()
    assert len(ap.collisions(robot, free.path).rows) > 0
    assert not len(ap.collisions(robot, kept.path, margin=0.03).rows)
    one = excite(robot, **options, margin=0.03, pairs=[("hand", "floor")])
    assert not len(ap.collisions(robot, one.path, pairs=[("hand", "floor")], margin=0.03).rows)
    with pytest.raises(ArgumentError, match="no collision shape or link 'table'"):
        excite(robot, **options, pairs=[("hand", "table")])
    with pytest.raises(ArgumentError, match="margin, in m, is -1"):
        excite(robot, **options, margin=-1.0)


def test_the_gradient_of_the_margin_is_exact():
    post = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])
    balls = [ap.Collision("lower", "sphere", (0.1,), name=f"ball{k}", pose=[0.4 * k, 0.0, 0.0]) for k in range(3)]
    model = select_parameters(ap.load("planar-2r").with_collisions(post, *balls))
    bounds = MotionBounds.of(model.system, velocity=3.0, acceleration=12.0, torque=np.inf)
    problem = ExcitationProblem(model.base, bounds, 10.0, 3, 60)
    x = 0.3 * np.random.default_rng(0).normal(size=problem.size)
    rows = problem.slack_gradient(x)[-1]
    step = 1e-6 * np.eye(problem.size)
    differences = [(problem.slack(x + each)[-1] - problem.slack(x - each)[-1]) / 2e-6 for each in step]
    assert np.abs(rows).max() > 0.01
    assert np.allclose(rows, differences, atol=1e-6)


def test_the_motion_of_a_ur3_keeps_the_margin_on_its_meshes_by_coal():
    path = examples().get("ur3_robot")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    robot = ap.load(path)
    margin = margin_of(robot, 0.02)
    free, kept = (excite(robot, starts=1, iterations=20, margin=each) for each in (None, 0.02))
    assert len(ap.collisions(robot, free.path).rows) > 0
    assert not len(ap.collisions(robot, kept.path, pairs=margin.pairs, margin=margin.least).rows)
    assert not len(ap.collisions(robot, kept.path).rows)
    assert kept.condition < 10.0 * free.condition


def test_a_search_that_ends_far_outside_of_the_limits_returns_its_best_iterate_within_them(monkeypatch):
    ball = ap.Collision("lower", "sphere", (0.05,), name="ball", pose=[0.5, 0.0, 0.0])
    post = ap.Collision(None, "sphere", (0.2,), name="post", pose=[-0.9, 0.0, 0.0])
    robot = ap.load("planar-2r").with_collisions(ball, post)
    options = dict(velocity=3.0, acceleration=12.0, starts=1, iterations=30, checked_samples=160)
    expected = excite(robot, **options)
    original = search.minimize

    def diverging(*args, **given):
        result = original(*args, **given)
        given["constraints"]["fun"](result.x)
        given["callback"](result.x)
        result.x = 1e3 * result.x[::-1]
        return result

    monkeypatch.setattr(search, "minimize", diverging)
    assert excite(robot, **options).condition < 1.01 * expected.condition
