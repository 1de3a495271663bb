"""Base parameters: their number, their definitions, and the torques that they predict."""

import numpy as np
import pytest

import appell as ap
from appell.identify import base_parameters, select_parameters
from appell.identify.base.reduce import structural_kernel
from robots import random_chain, random_tree, random_trees

TREES = [ap.load(name) for name in ap.tree_names()]


def random_motions(parameter_set, count=60, seed=3):
    return parameter_set.sample(count, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("name", "gravity", "known"),
    [
        ("puma", None, 36),
        ("panda", None, 43),
        ("planar-2r", None, 6),
        ("planar-2r", (0, 0, 0), 4),
        ("pendulum", None, 3),
    ],
)
def test_the_number_of_inertial_base_parameters_is_the_published_one(name, gravity, known):
    robot = ap.load(name) if gravity is None else ap.load(name).with_gravity(gravity)
    base = base_parameters(robot)
    assert base.count == base.inertial_count == base.structural == base.rank == known


@pytest.mark.parametrize("robot", [*TREES, *random_trees(6, 8), *(random_chain(s, 6) for s in range(3))], ids=str)
def test_structure_and_sampled_rank_agree_on_every_tree(robot):
    parameter_set = select_parameters(robot)
    Y = parameter_set.regressor(*random_motions(parameter_set, 250)).reshape(-1, len(parameter_set.parameters))
    null = structural_kernel(parameter_set)
    size = np.linalg.norm(Y, axis=0)
    assert np.abs(Y @ null).max(initial=0.0) < 1e-11 * size.max()  # a free-flying body has an empty null space
    Y = Y / np.where(size > 1e-9 * size.max(), size, size.max())
    assert np.linalg.matrix_rank(Y, tol=1e-8 * np.linalg.norm(Y, 2)) == len(parameter_set.parameters) - null.shape[1]


@pytest.mark.parametrize(
    "options", [{}, {"friction": True, "rotor": True, "width": 0.1}], ids=["inertial", "joints too"]
)
@pytest.mark.parametrize("robot", [ap.load("puma"), ap.load("tree10"), random_tree(5, 6, base="floating")], ids=str)
def test_base_columns_and_base_parameters_give_the_same_torques(robot, options):
    parameter_set = select_parameters(robot, **options)
    base = base_parameters(parameter_set)
    motion = random_motions(parameter_set)
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=len(parameter_set.parameters))
    full = parameter_set.regressor(*motion) @ parameters
    reduced = parameter_set.regressor.columns(base.columns)(*motion) @ base.values(parameters)
    np.testing.assert_allclose(reduced, full, atol=1e-11 * np.abs(full).max())


def test_friction_and_rotor_columns_of_the_regressor_have_the_expected_values():
    parameter_set = select_parameters(ap.load("planar-2r"), friction=True, rotor=True)
    q, v, a = np.zeros(2), np.array([0.5, -2.0]), np.array([3.0, 4.0])
    Y = parameter_set.regressor(q, v, a)
    by_name = {column.name: Y[:, k] for k, column in enumerate(parameter_set.parameters)}
    assert list(by_name["Ia1"]) == [3.0, 0.0]
    assert list(by_name["fc2"]) == [0.0, -1.0]
    assert list(by_name["fv2"]) == [0.0, -2.0]
    assert list(by_name["fo1"]) == [1.0, 0.0]
    smooth = select_parameters(ap.load("planar-2r"), friction="coulomb", width=0.5).regressor(q, v, a)
    assert smooth[0, 20] == pytest.approx(0.5 / np.hypot(0.5, 0.5))


def test_the_definitions_match_those_in_textbooks():
    text = base_parameters(ap.load("planar-2r")).describe()
    assert "Izz1 = Izz1 + a2² m2" in text
    assert "mcx1 = mcx1 + a2 m2" in text
    puma = base_parameters(ap.load("puma")).describe()
    assert "Ixx2 = Ixx2 - Iyy2 - a3² (m3 + m4 + m5 + m6)" in puma
    assert "Izz1 = Izz1 + Iyy2 + Iyy3 + (a3² + d3²) m3 + 2 d3 mcz3 + (a3² + d3² + a4²) (m4 + m5 + m6)" in puma
    assert "no effect on any joint: m1, mcx1" in puma


def test_a_length_of_one_metre_is_not_mistaken_for_the_number_one():
    text = base_parameters(ap.load("tree10")).describe()
    assert "Izz4  = Izz4 + a5² (m5 + m6) + a7² (" in text


def test_a_lifted_estimate_has_the_base_parameters_it_was_lifted_from():
    base = base_parameters(ap.load("puma"))
    beta = base.values() * 1.3
    np.testing.assert_allclose(base.values(base.lift(beta)), beta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(base.lift(base.values()), base.parameter_set.nominal, rtol=1e-12, atol=1e-12)


def test_the_rotor_of_the_first_joint_is_lumped_with_the_inertia_of_its_link():
    base = base_parameters(ap.load("puma"), rotor=True)
    row = base.names.index("Izz1")
    columns = [column.name for column in base.parameter_set.parameters]
    assert base.matrix[row, columns.index("Ia1")] == pytest.approx(1.0)
    assert (
        base.count == 36 + 4
    )  # Ia1 is lumped with Izz1, and Ia2 with Izz2, because the first two axes are perpendicular


@pytest.mark.parametrize(
    ("name", "inertial", "all_together"),
    [("five-bar", 11, 17), ("three-rrr", 13, 22), ("agile-wrist", 33, 42), ("delta", 34, 43)],
)
def test_a_mechanism_has_base_parameters_with_friction_and_rotors(name, inertial, all_together):
    parameter_set = select_parameters(ap.load(name), friction=True, rotor=True, width=0.1)
    base = parameter_set.base
    assert base.structural is None
    assert base.count == base.rank == all_together
    assert base_parameters(ap.load(name)).count == inertial
    motion = random_motions(parameter_set)
    Y = parameter_set.regressor(*motion)
    np.testing.assert_allclose(base.regressor(*motion) @ base.matrix, Y, atol=1e-9 * np.abs(Y).max())


def test_the_bodies_and_drives_of_a_mechanism_keep_their_names():
    parameter_set = select_parameters(ap.load("five-bar"), friction=True, rotor=True)
    owners = [parameter.owner for parameter in parameter_set.parameters]
    links = ("first_link_left", "second_link_left", "first_link_right", "second_link_right")
    assert tuple(dict.fromkeys(owners)) == (*links, "theta_left", "theta_right")
    text = parameter_set.base.describe()
    assert "bodies  1 first_link_left, 2 second_link_left, 3 first_link_right, 4 second_link_right" in text
    assert "drives  1 theta_left, 2 theta_right" in text
    assert "17 base parameters of mechanism 'five-bar'" in text


def test_a_static_level_is_estimated_where_the_law_has_one_or_on_request():
    sticky = ap.Actuator(friction=ap.Friction(coulomb=1.0, static=1.5, stribeck=0.2))
    arm = ap.load("planar-2r").with_actuators({"elbow": sticky})

    def names(**options):
        return [parameter.name for parameter in select_parameters(arm, **options).parameters[20:]]

    assert names(friction=True) == ["fc1", "fv1", "fo1", "fc2", "fs2", "fv2", "fo2"]
    assert names(friction="coulomb") == ["fc1", "fc2", "fs2"]
    assert names(friction=("static", "viscous")) == ["fc1", "fs1", "fv1", "fc2", "fs2", "fv2"]
    assert names(friction="viscous", rotor=True) == ["Ia1", "fv1", "Ia2", "fv2"]


@pytest.mark.parametrize("options", [{"friction": "sticky"}, {"width": -1.0}])
def test_invalid_options_are_rejected(options):
    with pytest.raises(ap.ArgumentError):
        select_parameters(ap.load("puma"), **options)


def test_an_object_that_is_not_a_system_is_rejected():
    with pytest.raises(ap.ArgumentError, match="cannot be identified"):
        base_parameters(3.0)
