"""Samples and options that a fit rejects, and the error messages."""

import numpy as np
import pytest

import appell as ap
from appell.identify import (
    InstrumentalVariables,
    LeastSquares,
    Payload,
    Ridge,
    Robust,
    TotalLeastSquares,
    select_parameters,
)
from identify.records import clean

PUMA = ap.load("puma")


def test_too_few_samples_raise_an_error_with_their_number():
    q, v, a, tau = clean(PUMA, 5)
    with pytest.raises(ap.ArgumentError, match=r"5 samples of 6 actuators give 30 equations for 36 unknowns"):
        LeastSquares(PUMA).fit(q, v, a, tau)


def test_empty_samples_are_rejected():
    empty = np.zeros((0, 6))
    with pytest.raises(ap.ArgumentError, match="no samples"):
        LeastSquares(PUMA).fit(empty, empty, empty, empty)


def test_a_joint_that_never_moves_is_named():
    q, v, a, tau = clean(PUMA)
    v[:, 3] = a[:, 3] = 0.0
    with pytest.raises(ap.ArgumentError, match="'joint4' never moves"):
        LeastSquares(PUMA).fit(q, v, a, tau)


def test_values_that_are_not_finite_are_reported_with_their_rows():
    q, v, a, tau = clean(PUMA)
    v[17:20, 2] = np.nan
    with pytest.raises(
        ap.ArgumentError, match=r"v is not finite in 3 of 400 rows, rows 17-19 \(column 2 first, 'joint3'"
    ):
        LeastSquares(PUMA).fit(q, v, a, tau)


def test_wrong_shapes_and_unequal_lengths_are_reported():
    q, v, a, tau = clean(PUMA)
    with pytest.raises(ap.ArgumentError, match=r"v has shape \(400, 5\)"):
        LeastSquares(PUMA).fit(q, v[:, :5], a, tau)
    with pytest.raises(ap.ArgumentError, match="a has 399"):
        LeastSquares(PUMA).fit(q, v, a[1:], tau)


def test_a_motion_that_leaves_parameters_undetermined_names_them():
    t = np.linspace(0.0, 10.0, 500)[:, None]
    q = np.tile([0.3, -0.4, 0.5, 0.2, 0.7, 0.1], (500, 1))  # q is constant, inconsistent with v and a
    v, a = np.sin(t) * [1, 2, 3, 4, 5, 6], np.cos(t) * [1, 2, 3, 4, 5, 6]
    tau = ap.Dynamics(PUMA).inverse_dynamics(q, v, a)
    with pytest.raises(ap.ArgumentError, match=r"these samples determine \d+ of 36 base parameters") as caught:
        LeastSquares(PUMA).fit(q, v, a, tau)
    assert "Izz1" in str(caught.value)
    fit = LeastSquares(PUMA, solver="svd").fit(q, v, a, tau)  # keeps the prior for the undetermined parameters
    np.testing.assert_allclose(fit.predict(q, v, a), tau, atol=1e-8 * np.abs(tau).max())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LeastSquares(PUMA, solver="lu"), "no solver 'lu'"),
        (lambda: LeastSquares(PUMA, weighting="colour"), "weighting is 'colour'"),
        (lambda: LeastSquares(PUMA, weighting=[1, 1, 1, 1, 1, -1]), "the weights are"),
        (lambda: Robust(PUMA, loss="cubic"), "no loss 'cubic'"),
        (lambda: Ridge(PUMA, towards="moon"), "towards is 'moon'"),
        (lambda: TotalLeastSquares(PUMA, column_errors=[1.0]), "column_errors has shape"),
        (lambda: InstrumentalVariables(PUMA), "no motion without noise"),
        (lambda: InstrumentalVariables(PUMA, simulate=lambda base, beta: None, iterations=0), "iterations is 0"),
        (lambda: Robust(PUMA, iterations=0), "iterations is 0"),
        (lambda: Payload(PUMA, body="link9"), "no body 'link9'"),
        (lambda: LeastSquares(select_parameters(PUMA), friction=True), "together with a ParameterSet"),
    ],
)
def test_invalid_options_are_rejected(make, message):
    with pytest.raises(ap.AppellError, match=message):
        make().fit(*clean(PUMA))


def test_a_prior_of_the_wrong_length_is_rejected():
    with pytest.raises(ap.ArgumentError, match=r"prior has shape \(3,\)"):
        LeastSquares(PUMA, prior=[1.0, 2.0, 3.0]).fit(*clean(PUMA))
