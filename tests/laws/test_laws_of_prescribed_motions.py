"""Laws of robots with prescribed motions and rotating planes, where w = N v + n(q, t) with n not zero.

Everything is compared with finite differences along the motion q(t), v(t), s(t) through one state. Central differences
with step H leave an error of H² times third derivatives, a few units here: 1e-7 with the tolerances below.
"""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.model.frame import Frame
from constrained_cases import constrained

H = 1e-4  # s


def driven_five_bar():
    """A loop with its first motor prescribed."""
    base = constrained("five-bar")
    motor = ap.Prescribed(ap.Gear({base.tree.velocity_names[0]: 1.0}, base.start[0]), name="motor")
    return base.tree.with_loops(*base.constraints, motor, home=base.start)


def driven_arm():
    """A chain with two prescribed joints."""
    arm = ap.load("puma")
    return arm.with_loops(*(ap.Prescribed(ap.Gear({name: 1.0})) for name in arm.velocity_names[:2]))


def rotating_plane():
    """A ball on a rotating plane."""
    return constrained("ball-on-turntable")


ROBOTS = {"loop": driven_five_bar, "arm": driven_arm, "plane": rotating_plane}


class State:
    """A robot at one instant, and its equations at others nearby."""

    def __init__(self, robot, rotors=False):
        rng = np.random.default_rng(3)
        self.robot, self.dyn = robot, Dynamics(robot, rotors=rotors, friction=True)
        self.s = np.array([[0.0, *rng.normal(size=2)] for _ in robot.prescribed]).reshape(-1, 3)
        self.q = robot.random_configuration(rng, within_limits=False)
        self.v, self.a = rng.normal(size=(2, robot.nv))
        self.w = np.array(self.equations(0.0).tree_velocity(self.q.tolist(), self.v.tolist()))

    def motions(self, t):
        """(s, ṡ, s̈) at time t, one motion after the other."""
        s, rate, acceleration = self.s.T
        moved = s + t * rate + 0.5 * t * t * acceleration
        return np.stack([moved, rate + t * acceleration, acceleration], axis=1).ravel()

    def equations(self, t=0.0):
        return self.dyn.equations_with((), self.motions(t).tolist())

    def at(self, t):
        """q and v at time t; the error of q is even in t, so that it cancels in central differences."""
        return self.robot.tree.integrate(self.q, t * self.w).tolist(), (self.v + t * self.a).tolist()

    def slope(self, function):
        """d/dt of function(equations, q, v) along the motion."""
        after, before = (np.array(function(self.equations(t), *self.at(t)), float) for t in (H, -H))
        return (after - before) / (2.0 * H)


@pytest.fixture(params=ROBOTS, scope="module")
def state(request):
    return State(ROBOTS[request.param]())


def close(ours, theirs, rtol=2e-6):
    ours, theirs = np.array(ours, float), np.array(theirs, float)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * max(1.0, np.abs(theirs).max()))


def test_the_rate_of_a_robot_agrees_with_its_equations_and_its_motion(state):
    q, v, prescribed = state.q.tolist(), state.v.tolist(), state.motions(0.0)
    rate = state.robot.rate(q, v, prescribed.tolist())
    np.testing.assert_array_equal(rate, state.equations().rate(q, v))
    close(rate, state.robot.tree.rate(q, state.w.tolist()), rtol=1e-13)
    given = (prescribed,) if len(prescribed) else ()
    close(rate, state.dyn.coordinate_rate(state.q, state.v, *given), rtol=1e-13)


def test_the_motion_satisfies_its_constraints(state):
    """Closing the loops at a later time moves the configuration by an amount of second order only."""
    corrections = []
    for t in (H, -H):
        q = np.array(state.at(t)[0])
        corrections.append(state.robot.tree.difference(q, state.robot.assembled(q, state.motions(t).tolist())))
    assert np.abs(corrections[0] - corrections[1]).max() / (2.0 * H) < 1e-6
    rates = state.equations().row_rates(state.q.tolist(), state.w.tolist())
    close(rates, np.zeros(len(rates)), rtol=1e-12)


def test_a_step_of_zero_does_not_change_the_configuration(state):
    close(state.robot.integrate(state.q, np.zeros(state.robot.nv)), state.q, rtol=1e-12)


def test_integrate_follows_the_basis_at_fixed_time(state):
    N = np.array(state.equations().basis(state.q.tolist()))
    ends = [state.robot.integrate(state.q, t * state.v) for t in (H, -H)]
    close(state.robot.tree.difference(ends[1], ends[0]) / (2.0 * H), N @ state.v)


def test_difference_is_the_inverse_of_integrate_along_the_independent_velocities(state):
    """To second order in the step, because loops are closed along the shortest path; for rolling wheels, in part."""
    known = [state.robot.tree.velocity_names[k] for k in state.robot.map.positions]
    indices = [known.index(name) for name in state.robot.velocity_names]
    ends = [state.robot.integrate(state.q, t * state.v) for t in (H, -H)]
    close(state.robot.difference(ends[1], ends[0])[indices] / (2.0 * H), state.v)


def test_tangents_are_the_directions_of_integrate(state):
    tangents = np.array(state.robot.tangents(state.q.tolist()))
    np.testing.assert_array_equal(tangents, np.array(state.equations().tangents(state.q.tolist())))
    assert tangents.shape == (state.robot.nq, len(state.robot.map.positions))
    ends = [state.robot.integrate(state.q, t * state.v) for t in (H, -H)]
    moved = (ends[0] - ends[1]) / (2.0 * H)
    close(tangents @ np.linalg.lstsq(tangents, moved, rcond=None)[0], moved)


def test_accelerations_of_the_tree_are_the_rates_of_its_velocities(state):
    q, v, a = state.q.tolist(), state.v.tolist(), state.a.tolist()
    close(state.equations().tree_acceleration(q, v, a), state.slope(lambda e, q, v: e.tree_velocity(q, v)))


def test_accelerations_of_points_agree_with_their_drift(state):
    """p̈ = J a + drift, by the rates of their velocities; these by the rates of their positions."""
    off_origin = Pose(translation=Vec3(0.1, 0.2, 0.3))  # a point that the joint of its link moves
    frames = [Frame("point", name, off_origin) for name in state.robot.body_names]
    points = state.equations().point_motions(frames, state.q.tolist(), state.v.tolist())
    velocities = [list(point.velocity) for point in points]
    close(velocities, state.slope(lambda e, q, v: [list(x) for x in e.positions(frames, q)]))
    ours = [np.array(point.J) @ state.a + list(point.drift) for point in points]
    moved = state.slope(lambda e, q, v: [list(point.velocity) for point in e.point_motions(frames, q, v)])
    close(ours, moved)


@pytest.mark.parametrize("name", ["five-bar", "rod-leg", "snakeboard", "floating-fourbar"])
def test_accelerations_of_points_of_other_constrained_robots_agree_with_their_drift(name):
    test_accelerations_of_points_agree_with_their_drift(State(constrained(name)))


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_the_bias_is_the_sum_of_its_parts_and_the_coriolis_matrix_has_its_skew_property(name, rotors):
    """h = C v + g + f + d, and dM/dt - 2C is skew along the motion."""
    state = State(ROBOTS[name](), rotors)
    e, q, v = state.equations(), state.q.tolist(), state.v.tolist()
    C = np.array(e.coriolis(q, v))
    parts = C @ v + e.gravity(q) + e.friction_forces(q, v) + e.drift(q, v)
    close(e.bias(q, v), parts, rtol=1e-11)
    left = state.slope(lambda e, q, v: e.mass_matrix(q)) - 2.0 * C
    close(left + left.T, np.zeros_like(left), rtol=2e-6 * max(1.0, np.abs(C).max()))
    assert np.abs(e.drift(q, v)).max() > 1e-3  # the drift is not negligible in this test


def test_other_robots_have_no_drift():
    for robot in (constrained("five-bar"), ap.load("puma"), constrained("rolling-disk")):
        rng, e = np.random.default_rng(0), Dynamics(robot).equations
        q, v = robot.random_configuration(rng).tolist(), rng.normal(size=robot.nv).tolist()
        close(e.drift(q, v), np.zeros(robot.nv), rtol=1e-11)
        close(e.gravity(q), e.bias(q, [0.0] * robot.nv), rtol=1e-12)


def test_the_mass_matrix_is_the_second_derivative_of_the_gibbs_function(state):
    e, q, v, a = state.equations(), state.q.tolist(), state.v.tolist(), state.a.tolist()
    M, n = np.array(e.mass_matrix(q)), state.robot.nv
    at_zero = np.array(e.forces(q, v, [0.0] * n, {}))
    columns = [np.array(e.forces(q, v, unit, {})) - at_zero for unit in np.eye(n).tolist()]
    close(np.transpose(columns), M, rtol=1e-10)
    S = [e.gibbs_function(q, v, (state.a + H * unit).tolist()) for unit in (*np.eye(n), *-np.eye(n))]
    close((np.array(S[:n]) - S[n:]) / (2.0 * H), e.forces(q, v, a, {}))


def test_the_power_of_actuators_and_moving_constraints_is_the_rate_of_energy(state):
    """dE/dt = w·(B τ - f) - b·λ, with b·λ the power of prescribed motions and rotating planes."""
    e, q, v = state.equations(), state.q.tolist(), state.v.tolist()
    tau = np.random.default_rng(7).normal(size=state.robot.nu)
    state.a = np.array(e.acceleration(q, v, tau.tolist(), {}))
    try:
        gained = state.slope(lambda e, q, v: [e.kinetic_energy(q, v) + e.potential_energy(q)])[0]
    finally:
        state.a = np.random.default_rng(8).normal(size=state.robot.nv)
    multipliers = np.array(e.constraint_forces(q, v, tau.tolist(), {}))
    b = np.array(e.row_rates(q, [0.0] * len(state.w)))
    passive = np.array(e.actuation.at_joints(e.passive(q, v)))
    given = np.array(e.actuation.on_bodies(q, tau.tolist()))
    assert np.abs(b).max() > 0.1
    close([gained], [state.w @ (given - passive) - b @ multipliers])


def test_prescribed_motions_have_names():
    assert driven_arm().prescribed == tuple(ap.load("puma").velocity_names[:2])
    arm = ap.load("puma")
    position = Dynamics(arm).pose(arm.link_names[-1], arm.start)[:3, 3]
    tip = arm.with_loops(ap.Prescribed(ap.Point(arm.link_names[-1], Pose(translation=Vec3.of(position))), name="tip"))
    assert tip.prescribed == ("tip.x", "tip.y", "tip.z")


@pytest.mark.parametrize("name", ["five-bar", "fourbar-grashof", "slider-crank"])
def test_the_witness_of_a_row_is_the_distance_of_its_block_from_singularity(name):
    """1 / (|A⁻¹| |A| at the samples) in Frobenius' norm, by NumPy."""
    robot = constrained(name)
    dyn, motions = Dynamics(robot), robot.map
    q = robot.random_configuration(np.random.default_rng(2), within_limits=False)
    K = dyn.row_jacobian(q)[list(motions.partition.active)]
    E = np.vstack([K, np.eye(robot.tree.nv)[list(motions.partition.independent)]])
    expected = np.zeros(robot.rank)
    for block in motions.partition.blocks:
        A = E[np.ix_(block.rows, block.columns)]
        for row in block.rows:
            if row < robot.rank:
                expected[row] = 1.0 / (np.linalg.norm(np.linalg.inv(A)) * block.size)
    np.testing.assert_allclose(dyn.witness(q), expected, rtol=1e-9)
    assert (expected > 0.0).all()
