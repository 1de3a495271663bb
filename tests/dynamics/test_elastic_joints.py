"""Elastic joints: rotors as bodies, the rigid limit, feedforward, bad input, files, exports and simulation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import appell as ap
from appell.algebra.matrix import IDENTITY
from appell.errors import ArgumentError, DescriptionError, ModelError, ModelWarning
from appell.model.body import welded
from served_robots import ur5


def geared(system, names=None, **fields):
    """Return the system with rotors at its actuators."""
    given = {"gear": 50.0, "rotor_inertia": 2e-4} | fields
    return system.with_actuators(dict.fromkeys(names or system.actuator_names, given))


def springs(system, stiffness=2e3, **options):
    return {name: ap.Elasticity(stiffness, **options) for name in system.actuator_names}


def elastic(system, stiffness=2e3, **options):
    return geared(system).with_elastic_joints(springs(system, stiffness, **options))


SYSTEMS = {
    "ur5": lambda: elastic(ur5(), damping=3.0),
    "delta": lambda: elastic(ap.load("delta"), damping=3.0),
    "four-bar": lambda: elastic(ap.load("four-bar"), damping=3.0),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]()


def test_the_complete_model_is_that_of_rotors_as_bodies_of_their_own():
    """Every rotor is a link of its own on its carrier; in the elastic arm its locked inertia belongs to the carrier."""
    rng, k = np.random.default_rng(2), 300.0
    axes, positions = ((0, 0, 1), (0, 1, 0), (1, 0, 0)), ((0, 0, 0), (0.3, 0.1, 0), (0.2, 0, 0.1))
    gears, J = np.array([30.0, -20.0, 15.0]), (3e-4, 2e-4, 4e-4)
    rotors = [
        ap.Body(0.5, (0, 0, 0), np.where(np.array(axis) == 1, j, 0.7 * j).tolist())
        for axis, j in zip(axes, J, strict=True)
    ]
    links_and_rotors, elastic_links = [], []
    for i, (axis, xyz) in enumerate(zip(axes, positions, strict=True)):
        parent, placement = f"link{i - 1}" if i else None, ap.Pose(IDENTITY, ap.Vec3(*xyz))
        body = ap.Body(1.0 + i, (0.1, 0.02, 0.03), (0.02, 0.03, 0.04))
        links_and_rotors.append(ap.Link(f"link{i}", parent, ap.Joint(f"joint{i}", ap.Revolute(axis), placement), body))
        if i < 2:
            carried = rotors[i + 1].moved(ap.Pose(IDENTITY, ap.Vec3(*positions[i + 1])))
            body = welded(body, carried)
        motor = ap.Actuator(gear=gears[i], rotor_inertia=J[i], elasticity=ap.Elasticity(k))
        joint = ap.Joint(f"joint{i}", ap.Revolute(axis), placement, actuator=motor)
        elastic_links.append(ap.Link(f"link{i}", parent, joint, body))
    for i, (axis, xyz, rotor) in enumerate(zip(axes, positions, rotors, strict=True)):
        joint = ap.Joint(f"motor{i}", ap.Revolute(axis), ap.Pose(IDENTITY, ap.Vec3(*xyz)))
        links_and_rotors.append(ap.Link(f"rotor{i}", f"link{i - 1}" if i else None, joint, rotor))
    theirs = ap.Dynamics(ap.Robot("whole", tuple(links_and_rotors)))
    ours = ap.Dynamics(ap.Robot("elastic", tuple(elastic_links)), rotors="complete")
    spin = np.array([1.0, 1.0, 1.0, *gears])
    for _ in range(3):
        q, v, a = rng.normal(size=(3, 6))
        f = k * (q[3:] - q[:3])
        expected = spin * theirs.generalized_forces(spin * q, spin * v, spin * a) + np.concatenate([-f, f])
        np.testing.assert_allclose(
            ours.generalized_forces(q, v, a), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max()
        )
        assert ours.energy(q, v)[0] == pytest.approx(theirs.energy(spin * q, spin * v)[0], rel=1e-12)


@pytest.mark.filterwarnings("ignore:the spring of joint .* moves at a rate:appell.errors.StepWarning")
def test_errors_against_the_rigid_robot_fall_with_the_stiffness():
    """Both have the same rotors; after 0.3 s the positions of the links differ in proportion to the compliance."""
    robot = geared(ur5())
    start = np.array([0.0, -1.0, 0.7, 0.0, 0.3, 0.0])
    rigid = ap.simulate(robot, start, until=0.3, friction=False)(0.3)[0]
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        arm = robot.with_elastic_joints(springs(robot, stiffness, damping=0.01 * stiffness))
        zero = np.zeros(6)
        undamped = ap.Dynamics(robot.with_elastic_joints(springs(robot, stiffness)))
        a = ap.Dynamics(robot, rotors=True).forward_dynamics(start, zero, zero)
        q0 = undamped.flat_state(start, zero, a, zero)[0]
        errors.append(np.abs(ap.simulate(arm, q0, until=0.3, friction=False)(0.3)[0][:6] - rigid).max())
    rates = np.array(errors[:-1]) / errors[1:]
    assert np.all((rates > 8.0) & (rates < 12.5)), errors


def test_operation_counts_of_forward_dynamics_and_feedforward_relative_to_the_rigid_arm():
    puma = ap.load("puma")
    arm = ap.Dynamics(puma.with_elastic_joints(springs(puma, 1e4, damping=5.0)))
    rigid, undamped = ap.Dynamics(puma), ap.Dynamics(puma.with_elastic_joints(springs(puma, 1e4)))

    def operations(function):
        return function.count().mul + function.count().add

    assert operations(arm.forward_dynamics) <= 1.25 * operations(rigid.forward_dynamics)
    assert operations(undamped.feedforward) <= 5.5 * operations(rigid.inverse_dynamics)


@pytest.mark.parametrize("name", ["ur5", "delta", "four-bar"])
def test_feedforward_moves_the_links_as_requested(name):
    """Forward dynamics at the state of the feedforward gives its accelerations; hardening springs, with friction."""
    bare = {"ur5": ur5, "delta": lambda: ap.load("delta"), "four-bar": lambda: ap.load("four-bar")}[name]()
    robot = geared(bare, friction=ap.Friction(viscous=0.3, coulomb=0.2, width=0.1))
    robot = robot.with_elastic_joints(springs(robot, hardening=3e5))
    dyn, rng = ap.Dynamics(robot, friction=True, rotors=True), np.random.default_rng(1)
    links, h = robot.link_side, 1e-4
    q, (v, a, jerk, snap) = links.random_configuration(rng), rng.normal(size=(4, links.nv))

    def state(t):
        moved = links.integrate(q, v * t + a * t**2 / 2 + jerk * t**3 / 6)
        return dyn.flat_state(
            moved, v + a * t + jerk * t**2 / 2 + snap * t**3 / 6, a + jerk * t + snap * t**2 / 2, jerk + snap * t
        )

    tau = dyn.feedforward(q, v, a, jerk, snap)
    acceleration = dyn.forward_dynamics(*state(0.0), tau)
    np.testing.assert_allclose(acceleration[: links.nv], a, rtol=0, atol=1e-10)
    motors = (state(h)[1] - state(-h)[1])[links.nv :] / (2 * h)
    np.testing.assert_allclose(acceleration[links.nv :], motors, rtol=0, atol=1e-5 * np.abs(motors).max())


def test_damped_springs_make_the_deflections_states_of_the_feedforward():
    robot = geared(ur5())
    dyn = ap.Dynamics(robot.with_elastic_joints(springs(robot, damping=5.0, hardening=1e5)))
    rng = np.random.default_rng(4)
    (q, v, a, jerk), deflection = rng.normal(size=(4, 6)), 1e-3 * rng.normal(size=6)
    tau, rate = dyn.feedforward(q, v, a, jerk, deflection)
    ours = dyn.forward_dynamics([*q, *(q + deflection)], [*v, *(v + rate)], tau)[:6]
    np.testing.assert_allclose(ours, a, rtol=0, atol=1e-10)


def test_inverse_dynamics_and_feedforward_are_refused_by_name_where_they_do_not_apply():
    robot = geared(ap.load("planar-2r"))
    arm = robot.with_elastic_joints(springs(robot))
    with pytest.raises(ModelError, match=r"underactuated[\s\S]*feedforward"):
        _ = ap.Dynamics(arm).inverse_dynamics
    with pytest.raises(ModelError, match="feedforward is for elastic joints"):
        _ = ap.Dynamics(robot).feedforward
    with pytest.raises(ModelError, match="rotors='complete'"):
        _ = ap.Dynamics(arm, rotors="complete").feedforward
    with pytest.raises(ModelError, match=r"backlash of 0.01"):
        _ = ap.Dynamics(robot.with_elastic_joints(springs(robot, backlash=0.01))).feedforward
    with pytest.raises(ModelError, match="expected  a tree with elastic joints"):
        _ = ap.Dynamics(robot, rotors="complete").mass_matrix
    with pytest.raises(ArgumentError, match="rotors is 'whole'"):
        ap.Dynamics(arm, rotors="whole")
    with pytest.raises(ModelError, match="spring_torques is for elastic joints"):
        _ = ap.Dynamics(robot).spring_torques


@pytest.mark.parametrize(
    ("spring", "message"),
    [
        (ap.Elasticity(0.0), "'elbow' .* has elastic stiffness 0, which is not positive"),
        (ap.Elasticity(-3.0), "elastic stiffness -3, which is not positive"),
        (ap.Elasticity(1.0, damping=-1.0), "elastic damping -1, which is negative"),
        (ap.Elasticity(1.0, hardening=-2.0), "elastic hardening -2, which is negative"),
        (ap.Elasticity(float("nan")), "elastic stiffness nan, which is not a finite number"),
        (5.0, "elasticity 5.0, which is not an Elasticity"),
        ({"stiffness": 5.0, "hysteresis": 1.0}, "'elbow' .* hysteresis, which is not supported"),
        ({"stifness": 5.0}, "no parameter 'stifness'. Did you mean 'stiffness'"),
        ({"damping": 5.0}, "the elasticity of joint 'elbow' .* has no stiffness"),
    ],
)
def test_impossible_springs_are_named_with_their_joint(spring, message):
    with pytest.raises(ModelError, match=message):
        geared(ap.load("planar-2r")).with_elastic_joints({"elbow": spring})


def test_joints_that_cannot_be_elastic_are_named():
    arm = ap.load("planar-2r")
    with pytest.raises(ModelError, match=r"'elbow' .* is elastic, but its motor has no rotor inertia"):
        arm.with_elastic_joints({"elbow": ap.Elasticity(1.0)})
    with pytest.raises(ModelError, match="no joint 'wrist'"):
        arm.with_elastic_joints({"wrist": ap.Elasticity(1.0)})
    sprung = geared(arm, stiffness=3.0)
    with pytest.raises(ModelError, match=r"a spring to the link .* and one to the motor"):
        sprung.with_elastic_joints({"elbow": ap.Elasticity(1.0)})
    for motor in (ap.Actuator(elasticity=ap.Elasticity(1.0), rotor_inertia=x) for x in (1e-3, 0.0)):
        floating = ap.Joint("base", ap.Floating(), actuator=motor)
        with pytest.raises(ModelError, match=r"'base' .* is floating, but elastic"):
            ap.Robot("free", (ap.Link("body", None, floating, ap.Body(1.0, (0, 0, 0), (1, 1, 1))),))
    links = [ap.Link("one", None, ap.Joint("lead", ap.Revolute((0, 0, 1))), ap.Body(1.0, (0, 0, 0), (1, 1, 1)))]
    mimic = ap.Joint("follow", ap.Revolute((0, 0, 1)), mimic=ap.Mimic("lead"), actuator=motor)
    with pytest.raises(ModelError, match=r"'follow' .* mimics 'lead', but is elastic"):
        ap.Robot("pair", (*links, ap.Link("two", "one", mimic, ap.Body(1.0, (0, 0, 0), (1, 1, 1)))))


def test_a_state_that_the_springs_do_not_hold_is_refused_with_the_one_that_they_hold():
    puma = ap.load("puma")
    arm = puma.with_elastic_joints(springs(puma, 1e4, damping=5.0))
    with pytest.raises(ArgumentError, match="flat_state"):
        ap.control.linearize(arm, arm.start)
    rest = ap.Dynamics(arm).flat_state(puma.start, *np.zeros((3, 6)))[0]
    assert ap.control.linearize(arm, rest).A.shape == (24, 24)


def test_rounding_errors_of_motions_without_a_restoring_force_are_not_frequencies():
    """The vertical axis turns freely: its double eigenvalue of zero splits by rounding errors."""
    puma = ap.load("puma")
    damped = ap.frequencies(puma.with_elastic_joints(springs(puma, 1e4, damping=5.0)))
    undamped = ap.frequencies(puma.with_elastic_joints(springs(puma, 1e4)))
    assert damped.hertz.min() > 0.01
    assert 0.0 in undamped.hertz


def test_backlash_transmits_no_force_and_keeps_the_energy():
    spring = ap.Elasticity(100.0, damping=1.0, hardening=1e3, backlash=0.02)
    assert [spring.force(x, 1.0) for x in (0.005, -0.005)] == [0.0, 0.0]
    assert spring.force(0.03, 0.0) == pytest.approx(100.0 * 0.02 + 1e3 * 0.02**3)
    robot = geared(ap.load("planar-2r")).with_gravity((0, 0, 0))
    arm = robot.with_elastic_joints(springs(robot, 50.0, backlash=0.05))
    record = ap.simulate(arm, arm.start, [1.0, -0.5, 1.0, -0.5], until=1.0, friction=False)
    assert np.ptp(record.energy) < 1e-7 * record.energy[0]
    assert np.abs(record["spring"]).min() == 0.0
    assert np.abs(record["spring"]).max() > 1.0


@pytest.mark.parametrize(("rtol", "error"), [(1e-6, 3e-5), (1e-9, 3e-8)])
def test_steps_pass_the_edges_of_a_backlash_within_their_tolerance(rtol, error):
    """Without gravity the deflection moves freely for b / ε̇ and touches for half a period, π / ω, again and again."""
    motor = ap.Actuator(gear=50.0, rotor_inertia=1e-4)
    robot = ap.load("pendulum").with_actuators(lambda name, _: motor).with_gravity((0, 0, 0))
    (joint,), k, play, rate, until = robot.joint_names, 80.0, 0.02, 1.5, 1.0
    arm = robot.with_elastic_joints({joint: ap.Elasticity(k, backlash=play)})
    dyn = ap.Dynamics(arm)
    link, rotor = np.diag(dyn.mass_matrix(arm.start))
    record = ap.simulate(dyn, v0=[0.0, rate], until=until, solver=ap.Solver(rtol=rtol, atol=1e-2 * rtol))
    free, omega = play / rate, np.sqrt(k * (1.0 / link + 1.0 / rotor))
    halves, rest = divmod(until + 0.5 * free, free + np.pi / omega)
    deflection = rate * rest - 0.5 * play if rest < free else 0.5 * play + rate / omega * np.sin(omega * (rest - free))
    assert halves > 5
    np.testing.assert_allclose(record.q[-1, 1] - record.q[-1, 0], (-1.0) ** halves * deflection, atol=error)


def test_configurations_have_relaxed_springs_unless_motors_are_named(system):
    q = system.start
    deflections = ap.Dynamics(system).spring_torques(q, np.zeros(system.nv))
    np.testing.assert_allclose(deflections, 0.0, atol=1e-9)
    name = system.coordinate_names[0]
    moved = system.configuration({name: q[0] + 0.05})
    np.testing.assert_allclose(ap.Dynamics(system).spring_torques(moved, np.zeros(system.nv)), 0.0, atol=1e-8)
    stretched = system.configuration({system.motor_names[0]: q[system.link_nq] + 0.01})
    assert ap.Dynamics(system).spring_torques(stretched, np.zeros(system.nv))[0] == pytest.approx(20.0)


def test_files_and_pickles_contain_the_springs(system, tmp_path):
    path = tmp_path / "elastic.toml"
    path.write_text(ap.to_toml(system))
    for read in (ap.load(str(path)), pickle.loads(pickle.dumps(system))):
        assert read.drives == system.drives
        assert read.coordinate_names == system.coordinate_names
        np.testing.assert_array_equal(read.start, system.start)
    assert "elastic = { stiffness = 2000.0, damping = 3.0 }" in path.read_text()


def test_a_urdf_keeps_springs_in_tags_of_its_own_with_a_warning():
    robot = SYSTEMS["ur5"]()
    with pytest.warns(ModelWarning, match="elastic stiffness 2000"):
        text = ap.to_urdf(robot)
    assert ap.load(text).drives == robot.drives


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("elastic = { stiffness = 5, hysteresis = 1 }", "hysteresis, which is not supported"),
        ("elastic = { damping = 5 }", "no stiffness"),
        ("elastic = { stiffness = 5, dampng = 1 }", "Did you mean 'damping'"),
        ("elastic = 5", "is 5"),
    ],
)
def test_mistakes_in_a_toml_file_are_named(entry, message):
    text = f"""
        name = "arm"
        [[link]]
        name = "rod"
        joint = "revolute"
        mass = 1.0
        inertia = [1, 1, 1]
        actuator = {{ rotor_inertia = 1e-3, {entry} }}
    """
    with pytest.raises((DescriptionError, ModelError), match=message):
        ap.load(text)


def test_rigid_and_link_side_variants_have_no_motors(system):
    assert system.rigid.nq == system.link_side.nq == system.link_nq
    assert system.rigid.actuators[0].rotor_inertia > 0.0 == system.link_side.actuators[0].rotor_inertia
    again = system.rigid.with_elastic_joints({name: system.drives[name].elasticity for name in system.elastic_joints})
    assert again.drives == system.drives


def test_simulation_and_rollout_agree_and_record_the_sensors(system):
    q0 = system.start
    record = ap.simulate(system, q0, until=0.1, friction=False)
    assert record.status == "FINISHED"
    joints = system.elastic_joints
    gears = np.array([system.drives[name].gear for name in joints])
    np.testing.assert_allclose(record["motor"], gears * record.q[:, system.link_nq :], rtol=1e-12)
    w = record["w"] if system.is_constrained else record.v
    torques = ap.Dynamics(system.tree if system.is_constrained else system).spring_torques(record.q, w)
    np.testing.assert_allclose(record["spring"], torques, rtol=1e-12)
    assert {f"motor_{joints[0]}", f"spring_{joints[0]}"} <= set(record.columns)
    rolled = ap.rollout(system, q0, steps=400, dt=2.5e-4, friction=False)
    np.testing.assert_allclose(rolled.q[0, -1], record(0.1)[0], atol=1e-6)


def test_steps_too_long_for_the_springs_are_refused_with_one_that_suffices(system):
    with pytest.raises(ArgumentError, match=r"vibrates at .* Hz on its springs[\s\S]*dt of at most"):
        ap.rollout(system, system.start, steps=3, dt=0.05)


def test_the_functions_are_exported_to_c_jax_and_casadi(system, program):
    import casadi

    dyn, rng = ap.Dynamics(system), np.random.default_rng(0)
    q, v, tau = system.random_configuration(rng), rng.normal(size=system.nv), rng.normal(size=system.nu)
    a = dyn.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(casadi.DM(dyn.forward_dynamics.to_casadi()(q, v, tau)).full().ravel(), a, rtol=1e-9)
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    np.testing.assert_allclose(dyn.forward_dynamics.to_jax()(q, v, tau), a, rtol=1e-9)
    assert "forward_dynamics" in dyn.forward_dynamics.to_c().source


def test_distances_and_inverse_kinematics_use_the_coordinates_of_the_links():
    arm = SYSTEMS["ur5"]()
    frame = "ee_link"
    pose = ap.Dynamics(arm).pose(frame, arm.random_configuration(3))
    q = ap.kinematics.inverse.numerical(arm, frame)(pose).q
    np.testing.assert_allclose(ap.Dynamics(arm).pose(frame, arm.with_relaxed_springs(q)), pose, atol=1e-6)
    floor, tip = ap.Collision(None, "plane", name="floor"), ap.Collision("wrist_3_link", "sphere", (0.05,), name="tip")
    distance = ap.Dynamics(arm.with_collisions(floor, tip)).distance("tip", "floor", witnesses=False)
    J = distance(arm.start)[-1]
    assert J.shape == (arm.nv,)
    assert not J[arm.link_nv :].any()


def test_contact_sets_solve_the_equations_of_links_and_motors():
    puma = ap.load("puma")
    dyn, rng = ap.Dynamics(puma.with_elastic_joints(springs(puma))), np.random.default_rng(0)
    contacts = dyn.contacts(tip=ap.Touch("tool"))
    q, v, tau = dyn.system.random_configuration(rng), rng.normal(size=12), rng.normal(size=6)
    a = contacts.forward_dynamics(q, v, tau, contacts.poses(q), contacts.mask("tip"), (0.0, 0.0))[0]
    axes = "LOCAL_WORLD_ALIGNED"
    J, drift = dyn.jacobian("tool", axes)(q)[:3], dyn.jacobian_rate("tool", axes)(q, v)[:3] @ v
    forces = dyn.actuator_jacobian(q).T @ tau - dyn.bias(q, v)
    system = np.block([[dyn.mass_matrix(q), -J.T], [J, np.zeros((3, 3))]])
    expected = np.linalg.solve(system, [*forces, *-drift])[:12]
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
