"""Laws of mechanics on random trees with flexible links: beams with bending, torsion and extension by both theories, on
revolute, prismatic, spherical and floating joints, with joints and loads on their tips."""

import numpy as np
import pytest

import appell as ap
from answers import interpreted
from flexible_robots import random_flexible_tree

# seed, floating base, stiffening, number of links
TREES = [(0, False, True, 3), (1, True, "full", 3), (2, False, False, 4), (5, True, True, 3)]


@pytest.fixture(params=TREES, ids=str, scope="module")
def case(request):
    seed, floating, stiffening, links = request.param
    robot = random_flexible_tree(seed, links, floating, stiffening)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    return robot, ap.Dynamics(robot), q, 0.3 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def close(ours, theirs, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


def along_motion(robot, value, q, v, step=1e-6):
    """Rate of a function of q along v, by central differences."""
    return (value(robot.integrate(q, step * v)) - value(robot.integrate(q, -step * v))) / (2.0 * step)


def test_forces_are_the_gradient_of_the_gibbs_function(case):
    robot, dyn, q, v, a = case
    close(
        interpreted(dyn.generalized_forces, q, v, a),
        interpreted(ap.Dynamics(robot, "gibbs-gradient").generalized_forces, q, v, a),
    )


def test_the_inertia_matrix_is_the_hessian_and_positive_definite(case):
    _, dyn, q, v, a = case
    M, h = interpreted(dyn.mass_matrix, q), interpreted(dyn.bias, q, v)
    close(M @ a + h, interpreted(dyn.generalized_forces, q, v, a))
    assert np.linalg.eigvalsh(M)[0] > 0.0
    assert (M == M.T).all()


@pytest.mark.parametrize("forward", ["ldl", "articulated-body"])
def test_forward_dynamics_inverts_the_forces(case, forward):
    robot, _, q, v, _ = case
    dyn = ap.Dynamics(robot, forward=forward)
    tau = np.linspace(-1.0, 1.0, robot.nu)
    Q = interpreted(dyn.generalized_forces, q, v, interpreted(dyn.forward_dynamics, q, v, tau))
    expected = np.zeros(robot.nv)
    expected[[robot.velocity_names.index(name) for name in robot.actuator_names]] = tau
    np.testing.assert_allclose(Q, expected, atol=1e-10 * np.abs(interpreted(dyn.bias, q, v)).max())


def test_forces_are_linear_in_the_parameters_of_all_bodies(case):
    _, dyn, q, v, a = case
    Y = interpreted(dyn.regressor, q, v, a)
    close(Y @ dyn.parameter_values, interpreted(dyn.generalized_forces, q, v, a))
    chosen = [0, 3, len(dyn.parameters) - 1]
    some = dyn.equations.regressor(q.tolist(), v.tolist(), a.tolist(), chosen)
    np.testing.assert_allclose(some, Y[:, chosen], rtol=1e-12, atol=1e-15)


def test_the_coriolis_matrix(case):
    robot, dyn, q, v, _ = case
    C = interpreted(dyn.coriolis, q, v)
    h, g, f = interpreted(dyn.bias, q, v), interpreted(dyn.gravity, q), interpreted(dyn.friction, q, v)
    np.testing.assert_allclose(C @ v, h - g - f, atol=1e-12 * np.abs(h).max())
    M_rate = along_motion(robot, lambda x: interpreted(dyn.mass_matrix, x), q, v)
    np.testing.assert_allclose(C + C.T, M_rate, atol=1e-8 * np.abs(M_rate).max())


def test_energy_changes_by_the_work_of_forces(case):
    """T = ½ vᵀMv and dU/dt = gᵀv; with the law of C, dE/dt = vᵀ(Q - D v)."""
    robot, dyn, q, v, _ = case
    T, _ = interpreted(dyn.energy, q, v)
    assert pytest.approx(0.5 * v @ interpreted(dyn.mass_matrix, q) @ v, rel=1e-12) == T
    U_rate = along_motion(robot, lambda x: interpreted(dyn.energy, x, v)[1], q, v)
    g = interpreted(dyn.gravity, q)
    assert U_rate == pytest.approx(g @ v, abs=1e-7 * np.abs(g).max())
    assert v @ interpreted(dyn.friction, q, v) > 0.0


def test_momentum_is_conserved_by_a_floating_robot(case):
    robot, _, q, v, _ = case
    if not isinstance(robot.links[0].joint.motion, ap.Floating):
        pytest.skip("fixed base")
    dyn = ap.Dynamics(robot.with_gravity((0, 0, 0)))
    a = interpreted(dyn.forward_dynamics, q, v, np.zeros(robot.nu))
    step = 1e-6

    def momentum(t):
        return interpreted(dyn.momentum, robot.integrate(q, t * v), v + t * a)

    rate = (momentum(step) - momentum(-step)) / (2.0 * step)
    np.testing.assert_allclose(rate, 0.0, atol=1e-6 * max(1.0, np.abs(a).max()))
    close(interpreted(dyn.centroidal_matrix, q) @ v, interpreted(dyn.momentum, q, v))


def test_frames_on_nodes_move_with_their_jacobians(case):
    robot, dyn, q, v, _ = case
    for frame in ("tool", "bolt"):
        V = interpreted(dyn.velocity(frame, "LOCAL_WORLD_ALIGNED"), q, v)
        close(interpreted(dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED"), q) @ v, V)
        pose = interpreted(dyn.pose(frame), q)
        rate = along_motion(robot, lambda x, f=frame: interpreted(dyn.pose(f), x), q, v)
        spin = rate[:3, :3] @ pose[:3, :3].T
        np.testing.assert_allclose(rate[:3, 3], V[:3], atol=1e-8)
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], V[3:], atol=1e-8)
        np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-14)


def test_the_acceleration_of_a_point_is_jacobian_times_a_plus_drift(case):
    robot, dyn, q, v, a = case
    frame = robot.frame("tool")
    point = dyn.equations.point_motions([frame], q.tolist(), v.tolist())[0]
    A = interpreted(dyn.acceleration("tool", "LOCAL_WORLD_ALIGNED"), q, v, a)
    np.testing.assert_allclose(np.array(point.J) @ a + list(point.drift), A[:3], atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(
        list(point.velocity), interpreted(dyn.velocity("tool", "LOCAL_WORLD_ALIGNED"), q, v)[:3], atol=1e-13
    )


def test_derivatives_of_forward_dynamics(case):
    robot, dyn, q, v, _ = case
    if robot.nv > 12:
        pytest.skip("the smaller trees suffice")
    tau = np.ones(robot.nu)
    direction = np.linspace(-1.0, 1.0, robot.nv)
    J = interpreted(dyn.forward_dynamics.jacobian("q"), q, v, tau) @ direction
    step = 1e-7
    ends = [interpreted(dyn.forward_dynamics, robot.integrate(q, s * step * direction), v, tau) for s in (1.0, -1.0)]
    np.testing.assert_allclose(J, (ends[0] - ends[1]) / (2.0 * step), atol=1e-5 * np.abs(J).max())


def test_wrenches_on_nodes_act_through_the_jacobian(case):
    robot, dyn, q, v, a = case
    loaded = ap.Dynamics(robot, wrenches=["tool"])
    wrench = np.arange(1.0, 7.0)
    J = interpreted(dyn.jacobian("tool"), q)
    Q = interpreted(dyn.generalized_forces, q, v, a)
    close(interpreted(loaded.generalized_forces, q, v, a, wrench), Q - J.T @ wrench)


def test_joint_inversion(case):
    robot, dyn, q, v, _ = case
    tau, a = interpreted(dyn.joint_inversion, q, v, np.ones(robot.nu))
    close(interpreted(dyn.forward_dynamics, q, v, tau), a, rtol=1e-8)
    joints = [robot.velocity_names.index(name) for name in robot.actuator_names]
    np.testing.assert_array_equal(a[joints], 1.0)
