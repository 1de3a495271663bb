"""Parameters of contacts from a record, against a law of springs that is coded here and integrated by SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap
from appell.identify import fit_contacts
from appell.simulation import SpringContacts

GANTRY = """<robot name="gantry"><link name="base"/>
<link name="carriage"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><link name="load"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="99" velocity="9"/></joint>
<joint name="z" type="prismatic"><parent link="carriage"/><child link="load"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="99" velocity="9"/></joint></robot>"""
CARRIAGE, MASS, STIFFNESS, RATIO, FRICTION = 1.0, 2.0, 4000.0, 0.3, 0.4
EFFECTIVE_MASS = 2.0 / (1.0 / (CARRIAGE + MASS) + 1.0 / MASS)  # of the load in both directions
FLOOR = ap.Contact("load", ap.Plane((0.0, 0.0, 1.0)), restitution=0.1, friction=0.2)


def force(t):
    return np.array([6.0 * np.sin(9.0 * t), 12.0 * np.sin(7.0 * t) + 3.0 * np.sin(17.0 * t) - 4.0])


def slope(t, state):
    """A mass over a floor: a spring and a damper that never pull, and friction that is smooth near rest."""
    _, z, u, w = state
    grip, normal, across = 2.0 * np.sqrt(STIFFNESS * EFFECTIVE_MASS), 0.0, 0.0
    if z < 0.0:
        normal = max(0.0, -STIFFNESS * z - RATIO * grip * w)
    if normal > 0.0:
        across = -grip * u / np.hypot(1.0, grip * u / (FRICTION * normal))
    f = force(t)
    return [u, w, (f[0] + across) / (CARRIAGE + MASS), (f[1] + normal) / MASS - 9.81]


@pytest.fixture(scope="module")
def gantry():
    return ap.load_text(GANTRY, "urdf")


@pytest.fixture(scope="module")
def clean():
    t = np.arange(0.0, 4.0, 4e-3)
    options = {"t_eval": t, "rtol": 1e-8, "atol": 1e-10, "max_step": 2e-3}
    return t, solve_ivp(slope, (0.0, 4.0), [0.0, 0.01, 0.0, 0.0], **options).y[:2].T


def recorded(t, q, seed, late=0.0):
    noise = 2e-5 * np.random.default_rng(seed).normal(size=q.shape)
    return ap.Record.of(t, {"q": q + noise, "tau": np.array([force(x - late) for x in t])}, ["x", "z"])


def test_stiffness_damping_and_friction_are_found_within_their_intervals(gantry, clean):
    truth, covered, errors = np.array([STIFFNESS, RATIO, FRICTION]), [], []
    for seed in range(4):
        fit = fit_contacts(gantry, recorded(*clean, seed), FLOOR, model=SpringContacts(stiffness=1500.0), segment=0.2)
        values, low, high = np.array([[p.value, p.low, p.high] for p in fit.parameters]).T
        errors.append(np.abs(values / truth - 1.0))
        covered.append((low <= truth) & (truth <= high))
    assert np.max(errors) < 0.01
    assert np.mean(covered) >= 0.8  # of 12 intervals of 95 %; fewer has a probability of 2 %
    assert fit.model.stiffness == fit.parameters[0].value
    assert fit.contacts[0].friction == fit.parameters[2].value
    np.testing.assert_allclose(fit.position_errors, 2e-5, rtol=0.1)


def test_a_delay_of_the_forces_is_found_with_the_contacts(gantry, clean):
    record = recorded(*clean, 0, late=3e-3)
    fit = fit_contacts(gantry, record, FLOOR, model=SpringContacts(stiffness=3000.0), segment=0.2, delay=True)
    assert fit.delay == pytest.approx(3e-3, rel=0.05)
    assert fit.parameters[0].value == pytest.approx(STIFFNESS, rel=0.01)


def test_bad_input_is_named(gantry, clean):
    record = recorded(*clean, 0)
    far = ap.Contact("load", ap.Plane((0.0, 0.0, 1.0), offset=-5.0))
    with pytest.raises(ap.ArgumentError, match=r"wall 0 \(Plane\) is touched in 0 of 1000 samples"):
        fit_contacts(gantry, record, far)
    with pytest.raises(ap.ArgumentError, match=r"contacts contains BodyContact\(pairs='all'"):
        fit_contacts(gantry, record, ap.BodyContact())
    with pytest.raises(ap.ArgumentError, match="7 coordinates, 6 velocities and 6 actuators"):
        fit_contacts(ap.load("box"), record, FLOOR)
