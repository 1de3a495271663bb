"""Flexible bodies and beams: bad input, files, loads, locking and conversion to rigid links."""

import numpy as np
import pytest

import appell as ap
from appell.cli.info import facts
from appell.formulate.flexible.regressor import body_terms
from flexible_robots import one_beam, random_flexible_tree

ARRAYS = {
    "nodes": [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]],
    "masses": [0.1, 0.2, 0.1],
    "Phi": [[[0, 0], [0, 0], [0, 0]], [[0, 0], [0.25, 0.1], [0, 0]], [[0, 0], [1, -1], [0, 0]]],
    "Psi": [[[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [1, 0.2]], [[0, 0], [0, 0], [2, -3]]],
    "K": [40.0, 900.0],
}


def changed(**entries):
    return {key: np.array(value, float) for key, value in {**ARRAYS, **entries}.items()}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (changed(K=[[40.0, 1.0], [2.0, 900.0]]), "stiffness matrix that is not symmetric in modes 'm1' and 'm2'"),
        (changed(K=[40.0, 0.0]), r"stiffness matrix that is not positive definite \(smallest .* mode 'm2'\)"),
        (changed(K=[40.0, np.nan]), "not finite"),
        (changed(Phi=np.array(ARRAYS["Phi"], float)[:, :, [0, 0]]), "modal mass matrix .* linearly dependent"),
        (changed(Phi=np.array(ARRAYS["Phi"], float) + 0.1), "displaces node 'n1' at the origin"),
        (changed(masses=[0.1, 0.2]), r"masses of a flexible body has shape \(2,\)"),
        (changed(masses=[-0.1, -0.2, -0.1]), "not positive"),
        (changed(D=[-1.0, 1.0]), "negative eigenvalue .*'m1'"),
        ({"nodes": [[0, 0, 0]]}, "lack masses, Phi, Psi, K"),
    ],
)
def test_impossible_modes_are_refused(arrays, message):
    with pytest.raises(ap.ModelError, match=message):
        ap.FlexibleBody.from_modes(arrays)


def test_integrals_that_no_matter_has_are_refused():
    body = ap.FlexibleBody.from_modes(changed())
    P = np.array([[[list(row) for row in matrix.rows] for matrix in block] for block in body.second])
    P[0, 1] *= 10.0
    P[1, 0] *= 10.0
    wrong = ap.FlexibleBody.from_arrays(body.mass, [list(h) for h in body.first], P, body.stiffness, nodes=body.nodes)
    with pytest.raises(ap.ModelError, match="link 'beam' of robot 'beam' has integrals that no mass distribution has"):
        ap.Robot("beam", (ap.Link("beam", None, ap.Joint("hinge", ap.Revolute()), wrong),))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"EI": -1.0, "mass_per_length": 1.0}, "a beam has EI -1"),
        ({"EI": float("nan"), "mass_per_length": 1.0}, "a beam has EI nan"),
        ({"EI": 1.0}, "a beam has no mass"),
        ({"mass_per_length": 1.0}, "a beam has no EI"),
        ({"EI": 1.0, "mass_per_length": 1.0, "torsion": 1}, "no section"),
        ({"EI": 1.0, "mass_per_length": 1.0, "bending": (0, 0)}, r"bending=\(0, 0\)"),
        ({"EI": 1.0, "mass_per_length": 1.0, "bending": (1.5, 0)}, r"bending=\(1.5, 0\)"),
        ({"EI": 1.0, "mass_per_length": 1.0, "theory": "shell"}, "theory 'shell'"),
        ({"EI": 1.0, "mass_per_length": 1.0, "stiffening": "some"}, "stiffening 'some'"),
        ({"EI": 1.0, "mass_per_length": 1.0, "damping": -1.0}, "damping -1"),
    ],
)
def test_impossible_beams_are_refused(arguments, message):
    with pytest.raises(ap.ArgumentError, match=message):
        ap.shapes.beam(1.0, **arguments)


BEAM = ap.shapes.beam(1.0, EI=10.0, mass_per_length=1.0, bending=(1, 1))


def test_unknown_nodes_are_named():
    base = ap.Link("beam", None, ap.Joint("hinge", ap.Revolute()), BEAM)
    rod = ap.Link("rod", "beam", ap.Joint("elbow", ap.Revolute()), ap.shapes.rod(1.0, 1.0), at="tpi")
    with pytest.raises(ap.ModelError, match=r"has no node 'tpi'. Did you mean 'tip'\? It has: root, tip"):
        ap.Robot("arm", (base, rod))
    with pytest.raises(ap.ModelError, match=r"frame 'f' of robot 'arm' is at node 'x' of 'rod', which is not flexible"):
        ap.Robot("arm", (base, ap.Link("rod", "beam", rod.joint, rod.body)), frames=(ap.Frame("f", "rod", at="x"),))


def test_fixed_joints_and_mimics():
    rod = ap.Link("rod", None, ap.Joint("weld", ap.Fixed()), ap.shapes.rod(1.0, 1.0))
    with pytest.raises(ap.ModelError, match="joint 'weld' of robot 'arm' is fixed, but no link is flexible"):
        ap.Robot("arm", (rod,))
    first = ap.Link("rod", None, ap.Joint("one", ap.Revolute()), ap.shapes.rod(1.0, 1.0))
    second = ap.Link("beam", "rod", ap.Joint("two", ap.Revolute(), mimic=ap.Mimic("one")), BEAM)
    with pytest.raises(ap.ModelError, match=r"is flexible, but joint 'two' is a mimic"):
        ap.Robot("arm", (first, second))


def test_functions_that_flexible_links_do_not_have():
    robot = one_beam(BEAM)
    dyn = ap.Dynamics(robot)
    with pytest.raises(ap.ModelError, match=r"underactuated: 1 actuators for 3 degrees of freedom") as caught:
        _ = dyn.inverse_dynamics
    assert "quasi_static" in str(caught.value)
    with pytest.raises(ap.ArgumentError, match="formulation='newton-euler' does not support"):
        ap.Dynamics(robot, "newton-euler")
    with pytest.raises(ap.ModelError, match="inertial parameters of the flexible link 'beam'"):
        ap.Dynamics(robot.with_free("beam"))
    with pytest.raises(ap.ModelError, match="contacts does not support flexible links; robot 'beam' has 'beam'"):
        dyn.contacts(tip=ap.Touch("tip"))
    with pytest.raises(ap.ModelError, match="distances does not support flexible links"):
        ap.Dynamics(robot.with_collisions(ap.Collision("beam", "sphere", (0.1,), name="ball"))).distances()
    with pytest.raises(ap.ModelError, match="inverse kinematics does not support flexible links"):
        ap.kinematics.inverse.numerical(robot, "tip")
    with pytest.raises(ap.ModelError, match="for robots with flexible links"):
        _ = ap.Dynamics(ap.load("pendulum")).joint_inversion
    with pytest.raises(ap.ModelError, match="has no flexible link"):
        ap.quasi_static(ap.load("pendulum"))
    with pytest.raises(ap.ArgumentError, match=r"has no joint or velocity 'hnge'. Did you mean 'hinge'"):
        ap.frequencies(robot, held="hnge")


def test_a_load_is_a_rigid_child_and_equals_a_welded_link():
    robot = one_beam(BEAM)
    loaded = robot.with_payload(0.5, "tip").with_payload(0.25, "tip")
    assert loaded.link_names == ("beam", "load1", "load2")
    assert loaded.links[0].body is BEAM
    assert loaded.mass == pytest.approx(1.75)
    once = ap.Dynamics(robot.with_payload(0.75, "tip")).mass_matrix([0.3, 0.05, -0.04])
    np.testing.assert_allclose(ap.Dynamics(loaded).mass_matrix([0.3, 0.05, -0.04]), once, rtol=1e-13)


def test_rigid_copies_and_locked_joints():
    robot = random_flexible_tree(3, 3)
    rigid = robot.rigid
    assert not rigid.flexible
    assert rigid.mass == pytest.approx(robot.mass)
    q, full = rigid.random_configuration(1), robot.start
    for link in rigid.moving:
        full[robot.span(robot.joint(link.joint.name))[0]] = q[rigid.span(link.joint)[0]]
    ours, theirs = ap.Dynamics(robot), ap.Dynamics(rigid)
    np.testing.assert_allclose(ours.pose("tool", full), theirs.pose("tool", q), atol=1e-14)
    joints = [robot.velocity_names.index(name) for name in rigid.velocity_names]
    np.testing.assert_allclose(ours.mass_matrix(full)[np.ix_(joints, joints)], theirs.mass_matrix(q), atol=1e-13)
    locked = robot.locked(robot.joint_names[0])
    assert locked.nv == robot.nv - robot.links[0].joint.motion.nv
    kept = [robot.velocity_names.index(name) for name in locked.velocity_names]
    M = ap.Dynamics(robot).mass_matrix(robot.start)[np.ix_(kept, kept)]
    np.testing.assert_allclose(ap.Dynamics(locked).mass_matrix(locked.start), M, atol=1e-13)


def test_timoshenko_beams_are_softer_and_equal_euler_bernoulli_if_slender():
    def first(radius, theory):
        section = ap.Section.tube(radius)
        return ap.shapes.beam(1.0, section, E=7e10, rho=2700, bending=(1, 0), theory=theory).frequencies[0]

    ratios = [first(radius, "timoshenko") / first(radius, "euler-bernoulli") for radius in (0.001, 0.05, 0.1)]
    assert ratios[0] == pytest.approx(1.0, abs=1e-5)
    assert ratios[0] > ratios[1] > ratios[2]


def test_torsion_and_extension_have_the_frequencies_of_a_bar():
    """ω = π/2 √(G/ρ) / L for a circular section and π/2 √(E/ρ) / L."""
    beam = ap.shapes.beam(
        0.5, ap.Section.tube(0.01), E=7e10, rho=2700, G=2.6e10, bending=(0, 0), torsion=1, extension=1
    )
    expected = 0.25 * np.sqrt([2.6e10 / 2700, 7e10 / 2700]) / 0.5
    np.testing.assert_allclose(beam.frequencies, expected, rtol=1e-12)


def test_damping_ratios():
    beam = ap.shapes.beam(1.0, EI=1.0, mass_per_length=1.0, bending=(3, 0), damping_ratio=0.02)
    np.testing.assert_allclose(ap.frequencies(one_beam(beam), held="hinge").damping, 0.02, rtol=1e-9)


TOML = """
name = "arm"
[[link]]
name = "upper"
joint = "revolute"
axis = [0, 1, 0]
beam = { length = 0.8, section = { tube = [0.02, 0.018] }, E = 7e10, rho = 2700, modes = { y = 2, twist = 1 } }
[[link]]
name = "lower"
parent = "upper"
at = "tip"
joint = "revolute"
axis = [0, 1, 0]
modes = "lower.npz"
[[link]]
name = "gripper"
parent = "lower"
at = "n3"
joint = "fixed"
mass = 0.3
inertia = [1e-4, 1e-4, 1e-4]
[[frame]]
name = "tool"
on = "lower"
at = "n3"
xyz = [0.05, 0, 0]
"""


def test_robot_files(tmp_path):
    np.savez(tmp_path / "lower.npz", **changed())
    (tmp_path / "arm.toml").write_text(TOML, encoding="utf-8")
    robot = ap.load(tmp_path / "arm.toml")
    assert robot.coordinate_names == (
        "upper_joint",
        "upper.y1",
        "upper.y2",
        "upper.x1r",
        "lower_joint",
        "lower.m1",
        "lower.m2",
    )
    assert robot.actuator_names == ("upper_joint", "lower_joint")
    assert robot.link_names == ("upper", "lower", "gripper")
    (tmp_path / "again.toml").write_text(ap.to_toml(robot), encoding="utf-8")
    assert ap.load(tmp_path / "again.toml").links == robot.links
    with pytest.warns(
        ap.ModelWarning, match="URDF cannot express flexible links; 'upper', 'lower' are written as rigid"
    ):
        assert ap.load(ap.to_urdf(robot)).nv == 2
    with pytest.warns(ap.ModelWarning, match="MJCF cannot express flexible links"):
        ap.to_mjcf(robot)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("length = 0.8", "lenght = 0.8", "has no key 'lenght'. Did you mean 'length'"),
        ("E = 7e10", "E = -7e10", "a beam has E -70000000000"),
        ("twist = 1", "twits = 1", "has no kind of mode 'twits'. Did you mean 'twist'"),
        ('at = "tip"', 'at = "end"', "has no node 'end'"),
        ('modes = "lower.npz"', 'modes = "missing.npz"', r"missing.npz' .* does not exist"),
        ('modes = "lower.npz"', 'modes = "lower.npz"\nmass = 1', "has modes and mass"),
    ],
)
def test_errors_in_robot_files(tmp_path, old, new, message):
    np.savez(tmp_path / "lower.npz", **changed())
    (tmp_path / "arm.toml").write_text(TOML.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ap.AppellError, match=message) as caught:
        ap.load(tmp_path / "arm.toml")
    assert "arm.toml" in str(caught.value)


def test_the_summary_of_a_robot_counts_the_functions_it_has():
    data = facts(one_beam(BEAM).with_payload(0.1, "tip"), [], counts=True)
    assert list(data["operations"]) == ["generalized_forces", "mass_matrix", "bias", "gravity", "forward_dynamics"]
    assert "with flexible links" in repr(ap.Dynamics(one_beam(BEAM)))


def test_the_state_of_rest_can_be_linearised():
    robot = one_beam(ap.shapes.beam(1.0, EI=50.0, mass_per_length=1.0, bending=(0, 2)), (0, 1, 0), (0, 0, -9.81))
    with pytest.raises(ap.ArgumentError, match="quasi_static"):
        ap.control.linearize(robot, robot.start)
    system = ap.control.linearize(robot, ap.quasi_static(robot).q)
    assert system.A.shape == (6, 6)
    assert system.B.shape == (6, 1)


def test_bodies_from_arrays_cannot_be_written():
    body = ap.FlexibleBody.from_modes(changed())
    with pytest.raises(ap.ModelError, match="created from arrays"):
        ap.to_toml(ap.Robot("beam", (ap.Link("beam", None, ap.Joint("hinge", ap.Revolute()), body),)))


def integrals(body):
    second = [[[list(row) for row in P.rows] for P in block] for block in body.second]
    return body.mass, [list(h) for h in body.first], second, body.stiffness, body.damping


BODIES = {
    "section": ap.shapes.beam(
        0.8, ap.Section.tube(0.02, 0.018), E=7e10, rho=2700, bending=(2, 1), torsion=1, damping=1e-3
    ),
    "Timoshenko": ap.shapes.beam(
        0.8, ap.Section.rectangle(0.02, 0.03), E=7e10, rho=2700, theory="timoshenko", extension=1, damping_ratio=0.02
    ),
    "constants": ap.shapes.beam(0.8, EI=(20.0, 30.0), mass_per_length=0.5, bending=(1, 1), stiffening="full"),
    "modes": ap.FlexibleBody.from_modes(changed(D=[0.1, 0.2])),
    "coupled modes": ap.FlexibleBody.from_modes(changed(K=[[40.0, 3.0], [3.0, 900.0]]), damping=1e-3),
}
KINDS = {
    "section": ["rho", "EIy", "EIz", "GJ", "damping"],
    "Timoshenko": ["rho", "EIy", "EIz", "EA", "GA", "damping_ratio"],
    "constants": ["mass_per_length", "EIy", "EIz", "damping"],
    "modes": ["mass", "stiffness_m1", "stiffness_m2", "damping_m1", "damping_m2"],
    "coupled modes": ["mass", "stiffness", "damping"],
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_the_sum_of_its_terms(name):
    body = BODIES[name]
    terms = body_terms(body)
    assert [term.kind for term in terms] == KINDS[name]
    for expected, *parts in zip(integrals(body), *(integrals(term.unit) for term in terms), strict=True):
        total = sum(term.value * np.array(part) for term, part in zip(terms, parts, strict=True))
        np.testing.assert_allclose(total, expected, atol=1e-12 * np.abs(expected).max())


def test_stiffness_mass_and_load_of_another_arm_are_fitted_from_its_motion():
    """The modes of both beams are the same, so that rows of the described arm fit the motion of the other one."""

    def arm(EI, mass_per_length, load):
        beam = ap.shapes.beam(0.8, EI=EI, mass_per_length=mass_per_length, bending=(0, 2), damping=1e-3)
        return one_beam(beam, (0, 1, 0), (0, 0, -9.81)).with_payload(load, "tip")

    described, other = ap.Dynamics(arm(20.0, 0.5, 0.1)), ap.Dynamics(arm(26.0, 0.4, 0.17))
    record = ap.simulate(
        other, until=0.5, torque=lambda t, q, v: [4.0 + 3.0 * np.sin(20.0 * t)], t_eval=np.linspace(0.0, 0.5, 100)
    )
    Y = described.base_regressor(record.q, record.v, other.forward_dynamics(record.q, record.v, record.tau))
    forces = np.zeros_like(record.v)
    forces[:, 0] = record.tau[:, 0]
    columns = Y.reshape(-1, Y.shape[-1])
    size = np.linalg.norm(columns, axis=0)
    values = np.linalg.lstsq(columns / size, forces.ravel())[0] / size
    fit = dict(zip((p.name for p in described.base_parameters), values, strict=True))
    expected = {p.name: p.value for p in other.base_parameters}
    for name in ("mass_per_length1", "EIz1", "m2"):
        assert fit[name] == pytest.approx(expected[name], rel=1e-6)
    with pytest.raises(ap.ModelError, match="body 'beam' is flexible"):
        ap.identify.select_parameters(described.system)
