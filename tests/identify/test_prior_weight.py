"""The weight of the description in the physically consistent estimator."""

import numpy as np
import pytest

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.vector import Vec3
from appell.identify import PhysicallyConsistent, flaws, process, select_parameters, split
from appell.identify.estimators.nearest import Description, nearest_physical
from appell.identify.estimators.physical import description
from appell.model.body import Body, Inertia
from appell_lab.campaigns.iiwa import LINKS, NOISE, Case, described, identified

MASSES = np.array([link[0] for link in LINKS])


def consistent(case):
    parameter_set = select_parameters(described(case.seed), friction=True, width=0.02)
    return PhysicallyConsistent(parameter_set).fit_record(split(process(case.log()))[0])


def worse(fit, prior):
    """Return by how much the errors of the masses exceed those of the description, relative to the masses."""
    return (np.abs(fit.parameters_[:70:10] - MASSES) - np.abs(prior - MASSES)) / MASSES


@pytest.mark.parametrize("excitation", ["strong", "weak"])
def test_masses_of_an_iiwa_stay_near_their_description(excitation):
    """With a constant prior weight far below the noise, estimated masses were up to thirty times too large."""
    fit = consistent(Case(excitation, "high", 0))
    prior = np.array([body.mass for body in described(0).bodies.values()])
    assert worse(fit, prior).max() < 0.015
    assert not flaws(fit.parameter_set_, fit.parameters_)


def test_the_prior_weight_estimates_the_error_of_the_description():
    """Bodies are drawn around the described ones with a known spread, in the metric of the divergence."""
    parameter_set = select_parameters(ap.load("panda"))
    rng = np.random.default_rng(1)
    q, v, a = parameter_set.sample(2000, rng)
    known = description(parameter_set.base, parameter_set.nominal, np.zeros(0))
    for spread in (0.02, 0.1, 0.3):
        truth = parameter_set.nominal.copy()
        for k, metric in enumerate(known.metrics()):
            truth[10 * k : 10 * k + 10] += np.linalg.solve(metric.T, spread * rng.normal(size=10))
        tau = parameter_set.regressor(q, v, a) @ truth
        fit = PhysicallyConsistent(parameter_set).fit(q, v, a, tau + 0.1 * rng.normal(size=tau.shape))
        # 43 numbers determine their spread to about 15 %
        assert fit.description_error_ == pytest.approx(spread, rel=0.5)


def test_determined_parameters_are_not_biased_and_others_keep_their_described_values():
    """The data determine only the mass of one body."""
    body = Body(2.0, Vec3(0.1, 0.2, 0.3), Mat3.symmetric(0.2, 0.0, 0.0, 0.25, 0.0, 0.3))
    known = Description(np.array(body.parameters), [False], np.zeros(0))
    row = np.zeros((1, 10))
    row[0, 0] = 1e4  # mass 3 to a tenth of a gram
    parameters = nearest_physical(row, np.array([3e4]), known, 10.0).parameters
    assert parameters[0] == pytest.approx(3.0, abs=1e-3)
    # for the nearest body of that mass by (2), Σ⁻¹ - Σ⁰⁻¹ has only the measured component; the rest is unchanged
    before, after = (np.linalg.inv(_sigma(x)) for x in (known.prior, parameters))
    np.testing.assert_allclose(after[:3], before[:3], rtol=1e-6, atol=1e-9)
    without_data = nearest_physical(np.zeros((1, 10)), np.zeros(1), known, 10.0).parameters
    np.testing.assert_allclose(without_data, known.prior, rtol=1e-9)


def _sigma(parameters):
    return np.array(Inertia.from_parameters(list(parameters)).pseudo, float)


def test_a_mass_that_the_data_determine_is_not_held():
    """The force of a slider depends on the mass of its load; the masses of a rotating arm are not separable."""
    text = """<robot name="slide"><link name="base"/><link name="cart"><inertial><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
    <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    parameter_set = select_parameters(ap.load_text(text, "urdf"))
    rng = np.random.default_rng(0)
    q, v, a = parameter_set.sample(300, rng)
    fit = PhysicallyConsistent(parameter_set).fit(q, v, a, 5.0 * a + 0.1 * rng.normal(size=a.shape))
    assert fit.parameters_[0] == pytest.approx(5.0, abs=4.0 * fit.std_[0])
    assert description(parameter_set.base, parameter_set.nominal, np.zeros(0)).stiffness.tolist() == [0.0]
    panda = select_parameters(ap.load("panda"))
    assert description(panda.base, panda.nominal, np.zeros(0)).stiffness.all()


@pytest.mark.slow
@pytest.mark.parametrize("excitation", ["strong", "weak"])
def test_an_identified_iiwa_is_never_worse_than_its_description(excitation):
    """A small part of benchmarks/iiwa_identification.py."""
    outcomes = [identified(Case(excitation, noise, seed)) for noise in NOISE for seed in (101, 102)]
    assert max(outcome.worst_ratio for outcome in outcomes) < 1.1
    assert max(outcome.error / outcome.error_described for outcome in outcomes) < 1.0
    assert np.mean([list(outcome.covered.values()) for outcome in outcomes]) >= 0.9
