"""The fastest motion along a path: limits kept densely, and no slower than a finer grid allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.optimize import linprog

import appell as ap
from appell import ArgumentError, Dynamics, SimulationError, load
from appell.motion import CartesianLine, Ramp, Spline, time_optimal, zyz

EFFORT = np.array([60.0, 100.0, 40.0, 3.0, 2.0, 1.0])
STRONG = np.array([150.0, 200.0, 100.0, 20.0, 20.0, 10.0])


def valera_line():
    return CartesianLine(load("puma"), "tool", [0.6, 0.175, 0.25], [0.018, 0.757, 0.0], zyz(45, 60, 90), 8.6, (1, 1, 1))


def random_spline(degree=3):
    return Spline(np.arange(6.0), np.random.default_rng(0).uniform(-1.5, 1.5, (6, 6)), degree)


def least_duration(fast, path, robot, intervals, velocity=np.inf, acceleration=np.inf, torque=np.inf):
    """A bound that no motion on a grid can beat, with limits kept at its points: a certificate by convexity.

    The duration T is convex in x = ṡ², and the motions that keep the limits are a polytope; so with any x̂ (here ours)
    T(x) ≥ T(x̂) + min ∇T(x̂)·(x - x̂), where the minimum over the polytope is a linear program.
    """
    s = np.linspace(0.0, path.duration, intervals + 1)
    step, (q, first, second) = s[1], path(s)
    dynamics = Dynamics(robot).inverse_dynamics
    zero = np.zeros_like(q)
    g = dynamics(q, zero, zero)
    m, c = dynamics(q, zero, first) - g, dynamics(q, first, second) - g
    rows, bounds = [], []
    unit = sparse.eye_array(intervals + 1, format="csr")
    left, right = unit[:-1], unit[1:]
    n = q.shape[1]
    most_a, most_tau = np.broadcast_to(acceleration, (len(s), n)), np.broadcast_to(torque, (len(s), n))
    for j in range(n):
        for A, B, top, bottom in ((first, second, most_a, most_a), (m, c, most_tau - g, most_tau + g)):
            if np.isfinite(top[0, j]):
                u = sparse.diags_array(A[:-1, j] / (2 * step)) @ (right - left)
                row = u + sparse.diags_array(B[:-1, j]) @ left
                rows += [row, -row]
                bounds += [top[:-1, j], bottom[:-1, j]]
    with np.errstate(divide="ignore"):
        fastest = np.min((velocity / np.abs(first)) ** 2, axis=1)
    fastest[[0, -1]] = 0.0
    here = np.interp(s, fast.s, fast.x)
    speed = np.sqrt(here)
    pace = 1.0 / (speed[:-1] + speed[1:])
    slope = np.zeros(len(s))
    slope[1:-1] = -step * (pace[:-1] ** 2 + pace[1:] ** 2) / speed[1:-1]
    limits = [(0.0, x if np.isfinite(x) else None) for x in fastest]
    solved = linprog(slope, sparse.vstack(rows), np.concatenate(bounds), bounds=limits, method="highs")
    assert solved.status == 0, solved.message
    return float(2 * step * pace.sum() + slope @ (solved.x - here))


def excess(fast, dyn, velocity=np.inf, acceleration=np.inf, torque=np.inf):
    """How far any limit is passed at a hundred thousand instants."""
    q, v, a = fast(np.linspace(0.0, fast.duration, 100_001))
    tau = dyn.inverse_dynamics(q, v, a)
    return max(float((np.abs(x) - limit).max()) for x, limit in ((v, velocity), (a, acceleration), (tau, torque)))


CASES = {
    "line, torques": (valera_line, {"velocity": np.inf, "torque": EFFORT}),
    "line, all": (valera_line, {"torque": EFFORT, "velocity": 1.0, "acceleration": 3.0}),
    "spline, torques and velocity": (random_spline, {"torque": STRONG, "velocity": 2.0}),
    "spline, velocity and acceleration": (random_spline, {"velocity": 2.0, "acceleration": 8.0, "torque": np.inf}),
}


@pytest.mark.parametrize("case", CASES)
def test_no_limit_is_passed_and_the_duration_is_that_of_a_fine_grid(case):
    make, limits = CASES[case]
    robot, path = load("puma"), make()
    fast = time_optimal(path, Dynamics(robot), **limits)
    assert excess(fast, Dynamics(robot), **limits) < 1e-6
    assert fast.duration <= 1.01 * least_duration(fast, path, robot, 3000, **limits)
    q, v, _ = fast(np.array([0.0, fast.duration]))
    np.testing.assert_allclose(q, path(np.array([0.0, path.duration]))[0], atol=1e-9)
    np.testing.assert_allclose(v, np.zeros_like(v), atol=1e-9)


def test_a_quintic_spline_that_starts_without_acceleration_is_followed():
    robot, path = load("puma"), random_spline(5)
    limits = {"torque": STRONG, "velocity": 2.0, "acceleration": 8.0}
    fast = time_optimal(path, robot, intervals=500, **limits)
    assert excess(fast, Dynamics(robot, friction=True, rotors=True), **limits) < 1e-6
    assert fast.duration == pytest.approx(time_optimal(path, robot, intervals=2000, **limits).duration, rel=2e-3)


def test_a_straight_ramp_under_acceleration_limits_is_the_shortest_ramp():
    robot = load("panda")
    slow = Ramp(robot.start, robot.start + 0.5, 0.3, 0.5)
    fast = time_optimal(slow, robot, velocity=1.0, acceleration=2.0, torque=np.inf)
    assert fast.duration == pytest.approx(Ramp(robot.start, robot.start + 0.5, 1.0, 2.0).duration, rel=2e-3)
    assert excess(fast, Dynamics(robot), velocity=1.0, acceleration=2.0) < 1e-6


def test_the_limits_of_the_description_are_the_default():
    robot = load("panda")
    slow = Ramp(robot.start, robot.start + 0.5, 0.3, 0.5)
    fast = time_optimal(slow, robot)
    torques = 0.8 * np.array([actuator.torque for actuator in robot.actuators])  # the rest is left to feedback
    speeds = 0.8 * np.array([actuator.speed for actuator in robot.actuators])
    assert excess(fast, Dynamics(robot, friction=True, rotors=True), velocity=speeds, torque=torques) < 1e-6
    assert fast.duration < 0.5 * slow.duration


def test_limits_that_are_not_described_are_those_of_a_control_loop_and_are_named():
    """Before issue 30 was solved, planning failed, or the plan was faster than the control loop permits."""
    robot = load("planar-2r")
    slow = Ramp(robot.start, robot.start + 0.5, 0.3, 0.5, names=robot.coordinate_names)
    with pytest.warns(ap.LimitWarning) as caught:
        fast = time_optimal(slow, robot)
    assert [str(w.message).split(" limit")[0] for w in caught] == [
        f"robot 'planar-2r' describes no {kind}" for kind in ("speed", "torque")
    ]
    torque = 0.8 * ap.motion.WorkingLimits.of(robot).torque
    assert excess(fast, Dynamics(robot), velocity=0.8 * 1.5, torque=torque) < 1e-6


def test_velocity_is_the_derivative_of_position_along_the_scaled_motion():
    fast = time_optimal(random_spline(), load("puma"), velocity=2.0, acceleration=8.0)
    t = np.linspace(0.1, fast.duration - 0.1, 50)
    h = 1e-6
    np.testing.assert_allclose((fast(t + h)[0] - fast(t - h)[0]) / (2 * h), fast(t)[1], atol=1e-4)


def test_limits_that_exclude_the_path_name_the_joint_and_the_time():
    robot, line = Dynamics(load("puma")), valera_line()
    with pytest.raises(
        SimulationError,
        match=r"torque limit of 'joint2' excludes the path at its start: .* takes 56\.\d+, and the limit is 50",
    ):
        time_optimal(line, robot, velocity=np.inf, torque=[60, 50, 40, 3, 2, 1])
    with pytest.raises(SimulationError, match=r"'joint2' excludes the path at t = 7\.\d+ s"):
        time_optimal(line, robot, velocity=np.inf, torque=[60, 75, 40, 3, 2, 1])


def test_wrong_limits_are_named_before_anything_is_computed():
    robot, line = load("puma"), valera_line()
    for problem, limits in {
        "torque limit of 'joint3' is 0": {"velocity": 1.0, "torque": [1, 1, 0, 1, 1, 1]},
        r"velocity limit has shape \(2,\)": {"velocity": [1.0, 2.0]},
        "intervals is 3": {"velocity": 1.0, "intervals": 3},
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            time_optimal(line, robot, **limits)
    planar = load("planar-2r")
    with pytest.raises(ArgumentError, match="all limits of robot 'planar-2r' are infinite"):
        time_optimal(Ramp(planar.start, planar.start + 0.5, 0.3, 0.5), planar, velocity=np.inf, torque=np.inf)
    with pytest.raises(ArgumentError, match="path has 6 coordinates; robot 'panda'"):
        time_optimal(line, load("panda"))


def test_a_mechanism_is_as_fast_as_its_actuators_permit():
    delta = load("delta").with_actuators(lambda name, actuator: ap.Actuator(torque=20.0, speed=3.0))
    dyn = ap.Dynamics(delta, friction=True, rotors=True)
    slow = Ramp(delta.start, delta.start + np.array([0.1, -0.05, 0.05]), 0.05, 0.2, names=delta.coordinate_names)
    fast = time_optimal(slow, delta, torque=20.0)
    q, v, a = fast(fast.times(2001))
    speed = np.abs(np.einsum("tij,tj->ti", dyn.actuator_jacobian(q), v)).max()
    torque = np.abs(dyn.inverse_dynamics(q, v, a)).max()
    assert speed < 0.8 * 3.0 * (1 + 1e-6)
    assert torque < 20.0 * (1 + 1e-6)
    assert max(speed / (0.8 * 3.0), torque / 20.0) > 0.99


def rubbing(**friction):
    """The PUMA with other friction; every value may be a function of the described one."""

    def drive(name, actuator):
        changed = {key: make(actuator.friction) for key, make in friction.items()}
        return replace(actuator, friction=replace(actuator.friction, **changed))

    return load("puma").with_actuators(drive)


FRICTIONS = {
    "as described": load("puma"),
    "strong viscous": rubbing(viscous=lambda described: 10.0 * described.viscous),
    "Stribeck": rubbing(static=lambda described: 1.5 * described.coulomb, stribeck=lambda described: 0.1),
    "smooth": rubbing(width=lambda described: 0.05),
    "offsets": load("puma").with_actuators(lambda name, actuator: replace(actuator, offset=0.5)),
}


@pytest.mark.parametrize("case", FRICTIONS)
def test_a_robot_keeps_its_torque_limits_with_its_friction_and_touches_them(case):
    robot = FRICTIONS[case]
    dyn = Dynamics(robot, friction=True, rotors=True)
    fast = time_optimal(random_spline(), robot, velocity=np.inf, torque=STRONG, intervals=500)
    assert excess(fast, dyn, torque=STRONG) < 1e-6
    q, v, a = fast(np.linspace(0.0, fast.duration, 5001))
    load = (np.abs(dyn.inverse_dynamics(q, v, a)) / STRONG).max(axis=1)
    assert (load > 0.99).mean() > 0.7  # 0.8 without friction: a limit is met at one end of an interval


def test_friction_and_rotors_make_the_fastest_motion_slower_and_can_be_switched_off():
    robot, path, limits = load("puma"), random_spline(), {"velocity": np.inf, "torque": STRONG, "intervals": 300}
    bare = time_optimal(path, robot, friction=False, rotors=False, **limits)
    assert bare.duration == time_optimal(path, Dynamics(robot), **limits).duration
    rotors = time_optimal(path, robot, friction=False, **limits)
    both = time_optimal(path, robot, **limits)
    assert both.duration == time_optimal(path, Dynamics(robot, friction=True, rotors=True), **limits).duration
    assert bare.duration < rotors.duration < both.duration


def test_a_path_on_which_friction_exceeds_the_torque_limit_is_refused():
    robot = rubbing(coulomb=lambda described: 200.0)
    with pytest.raises(SimulationError, match=r"torque limit of 'joint\d' excludes the path at .*: moving slowly"):
        time_optimal(random_spline(), robot, velocity=np.inf, torque=STRONG)


# ---- robots of example-robot-data, with friction


def rough(name):
    """A robot of example-robot-data with friction on its first four joints, and a path through its range."""
    robot = load(f"example-robot-data:{name}")
    strong = ap.Friction(viscous=8.0, coulomb=6.0)
    robot = robot.with_actuators({joint: {"friction": strong} for joint in robot.joint_names[:4]})
    points = np.random.default_rng(0).uniform(
        np.maximum(robot.limits.lower, -1.5), np.minimum(robot.limits.upper, 1.5), (5, robot.nq)
    )
    return robot, Spline(np.arange(5.0), points, names=robot.coordinate_names)


def loads(motion, robot, instants=20_001):
    """The largest fractions of the limits of speed and torque, and the jerk by differences of the acceleration."""
    t = np.linspace(0.0, motion.duration, instants)
    q, v, a = motion(t)
    tau = Dynamics(robot, friction=True, rotors=True).inverse_dynamics(q, v, a)
    limits = robot.limits
    return (
        float((np.abs(v) / (0.8 * limits.speed)).max()),
        float((np.abs(tau) / (0.8 * limits.torque)).max()),
        float(np.abs(np.diff(a, axis=0)).max() / t[1]),
    )


EXAMPLES = ("ur10_robot", "panda")


@pytest.mark.parametrize("name", EXAMPLES)
def test_jerk_limits_hold_with_all_others_and_vanish_if_they_are_large(name):
    robot, path = rough(name)
    free = time_optimal(path, robot)
    speed, torque, _ = loads(free, robot)
    assert max(speed, torque) < 1.0 + 1e-6
    durations = []
    for most in (50.0, 2e4):
        smooth = time_optimal(path, robot, jerk=most, intervals=600)
        speed, torque, jerk = loads(smooth, robot)
        assert max(speed, torque, jerk / most) < 1.0 + 1e-6
        durations.append(smooth.duration)
    assert durations[0] > 1.05 * free.duration
    assert free.duration < durations[1] < 1.004 * free.duration
    q, v, a = smooth(np.array([0.0, smooth.duration]))
    np.testing.assert_allclose(q, path(np.array([0.0, path.duration]))[0], atol=1e-12)
    np.testing.assert_allclose([v, a], 0.0, atol=1e-9)


def seven_segments(distance, velocity, acceleration, jerk):
    """The duration of the fastest motion of one joint from rest to rest, in closed form."""
    rise = acceleration / jerk + velocity / acceleration
    if velocity * jerk < acceleration**2:
        rise = 2.0 * np.sqrt(velocity / jerk)
    if velocity * rise <= distance:
        return rise + distance / velocity
    if distance >= 2.0 * acceleration**3 / jerk**2:
        corner = acceleration**2 / jerk
        peak = 0.5 * (-corner + np.sqrt(corner**2 + 4.0 * acceleration * distance))
        return 2.0 * (acceleration / jerk + peak / acceleration)
    return 4.0 * np.cbrt(distance / (2.0 * jerk))


@pytest.mark.parametrize(
    ("velocity", "acceleration", "jerk"),
    [(1.0, 2.0, 5.0), (10.0, 2.0, 5.0), (10.0, 100.0, 5.0), (0.3, 2.0, 50.0), (1.0, 2.0, 1e4)],
)
def test_one_joint_with_a_jerk_limit_moves_in_seven_segments(velocity, acceleration, jerk):
    path = Ramp([0.0], [1.0], 0.5, 1.0, names=["hinge"])
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk, "torque": np.inf}
    smooth = time_optimal(path, load("pendulum"), **limits)
    assert smooth.duration == pytest.approx(seven_segments(1.0, velocity, acceleration, jerk), rel=1e-3)
    assert smooth.duration >= seven_segments(1.0, velocity, acceleration, jerk)
    t = np.linspace(0.0, smooth.duration, 20_001)
    _, v, a = smooth(t)
    assert np.abs(v).max() <= velocity * (1 + 1e-6)
    assert np.abs(a).max() <= acceleration * (1 + 1e-6)
    assert np.abs(np.diff(a, axis=0)).max() / t[1] <= jerk * (1 + 1e-6)


def recorded_ramp():
    robot = load("panda")
    return Ramp(robot.start, robot.start + 0.5, 0.3, 0.5, names=robot.coordinate_names).record(201).path()


SMOOTH_CASES = {
    "line": (valera_line, "puma", {"torque": STRONG, "jerk": 50.0}),
    "ramp, sampled": (recorded_ramp, "panda", {"jerk": 100.0}),
    "reversal": (
        lambda: Spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]], names=["hinge"]),
        "pendulum",
        {"velocity": 2.0, "acceleration": 4.0, "torque": np.inf, "jerk": 50.0},
    ),
}


@pytest.mark.parametrize("case", SMOOTH_CASES)
def test_jerk_limits_hold_on_lines_sampled_ramps_and_where_a_path_reverses(case):
    make, name, limits = SMOOTH_CASES[case]
    path, robot = make(), load(name)
    smooth = time_optimal(path, robot, intervals=300, **limits)
    t = np.linspace(0.0, smooth.duration, 20_001)
    q, v, a = smooth(t)
    assert np.abs(np.diff(a, axis=0)).max() / t[1] <= limits["jerk"] * (1 + 1e-6)
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * t[1]), v[1:-1], atol=1e-5)
    rest = {key: limits[key] for key in ("velocity", "acceleration", "torque") if key in limits}
    assert excess(smooth, Dynamics(robot, friction=True, rotors=True), **rest) < 1e-6


class Corner(ap.Path):
    """A path along two axes, one after the other, in its own parameter without a stop."""

    duration, names, knots = 2.0, ("shoulder", "elbow"), np.array([0.0, 1.0, 2.0])

    def _at(self, t):
        first = (t < 1.0).astype(float)
        q = np.stack([np.minimum(t, 1.0), np.maximum(t - 1.0, 0.0)], axis=-1)
        return q, np.stack([first, 1.0 - first], axis=-1), np.zeros_like(q)


def test_a_jerk_limit_that_a_path_excludes_is_refused_by_name():
    with pytest.raises(ArgumentError, match="direction of the path jumps at t = 1 s"):
        time_optimal(Corner(), load("planar-2r"), velocity=1.0, jerk=5.0)
    with pytest.raises(ArgumentError, match=r"jerk limit of 'joint1' is -1"):
        time_optimal(valera_line(), load("puma"), jerk=[-1.0, 1, 1, 1, 1, 1])
    with pytest.raises(ArgumentError, match=r"jerk limit has shape \(2,\)"):
        time_optimal(valera_line(), load("puma"), jerk=[1.0, 1.0])
    with pytest.raises(ArgumentError, match="the jerk limit cannot be read as floating-point numbers"):
        time_optimal(valera_line(), load("puma"), jerk=10**400)


# ---- torque limits that fall with the speed


def falling_robot():
    robot, path = rough("ur10_robot")
    speeds = {name: {"no_load_speed": 1.5 * robot.actuators[k].speed} for k, name in enumerate(robot.joint_names)}
    return robot.with_actuators(speeds), path


@pytest.mark.parametrize("jerk", [None, 500.0])
def test_planned_torques_fall_with_the_speed_and_are_those_that_a_saturated_simulation_provides(jerk):
    robot, path = falling_robot()
    fast = time_optimal(path, robot, jerk=jerk, intervals=400)
    constant = time_optimal(path, rough("ur10_robot")[0], jerk=jerk, intervals=400)
    assert fast.duration > 1.01 * constant.duration
    dyn = Dynamics(robot, friction=True, rotors=True)
    q, v, a = fast(np.linspace(0.0, fast.duration, 10_001))
    tau = dyn.inverse_dynamics(q, v, a)
    no_load = np.array([actuator.no_load_speed for actuator in robot.actuators])
    planned = 0.8 * robot.limits.torque
    available = planned * (1.0 - np.maximum(np.sign(tau) * v, 0.0) / no_load)
    assert (np.abs(tau) / available).max() < 1.0 + 1e-6
    assert (np.abs(tau) / available).max() > 0.99
    provided = [
        [
            actuator.limited(*row)
            for actuator, *row in zip(robot.actuators, *rows, 0.8 * robot.limits.torque, strict=True)
        ]
        for rows in zip(tau[::100], v[::100], strict=True)
    ]
    np.testing.assert_allclose(provided, tau[::100], rtol=1e-6, atol=1e-6)


def test_a_path_for_a_robot_has_its_units():
    robot = load("puma")
    line = valera_line()
    fast = time_optimal(Spline([0.0, 1.0], [np.zeros(6), np.ones(6)]), robot, torque=STRONG, intervals=100)
    assert line.record(3).unit("v_joint2") == "rad/s"
    assert fast.record(3).unit("q_1") == "rad"
    assert fast.record(3).unit("a_6") == "rad/s²"
    labels = [axis.get_ylabel() for axis in fast.plot().axes]
    assert labels
    assert not any("or m" in label for label in labels)
