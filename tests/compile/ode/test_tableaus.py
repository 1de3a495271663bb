"""Coefficients of the methods: equal to those of SciPy, and consistent."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy import integrate

from appell.compile.ode.tableau import METHODS, chebyshev_factors

methods = pytest.mark.parametrize("tableau", [make() for make in METHODS.values()], ids=METHODS)
ORDER = {"DOP853": 8, "RK45": 5, "RK23": 3}


def dense(row, size):
    return np.array([row.get(j, 0.0) for j in range(size)])


@methods
def test_the_coefficients_are_those_of_scipy(tableau):
    theirs, size = getattr(integrate, tableau.name), tableau.last
    np.testing.assert_allclose([dense(row, size)[: theirs.A.shape[1]] for row in tableau.stages], theirs.A, rtol=1e-15)
    np.testing.assert_allclose(dense(tableau.weights, size), theirs.B, rtol=1e-15)
    np.testing.assert_allclose(tableau.nodes, theirs.C, rtol=1e-15)
    errors = [theirs.E5, theirs.E3] if tableau.name == "DOP853" else [theirs.E]
    np.testing.assert_allclose([dense(row, size + 1) for row in tableau.errors], errors, rtol=1e-14, atol=1e-17)
    if tableau.name == "DOP853":
        shapes, further = theirs.D, theirs.A_EXTRA
        np.testing.assert_allclose([dense(row, tableau.slopes) for row in tableau.further_stages], further, rtol=1e-15)
        np.testing.assert_allclose(tableau.further_nodes, theirs.C_EXTRA, rtol=1e-15)
        np.testing.assert_allclose([dense(row, tableau.slopes) for row in tableau.shapes], shapes, rtol=1e-15)


@methods
def test_a_polynomial_is_integrated_exactly_up_to_the_order(tableau):
    """Σ aᵢⱼ = cᵢ, Σ bⱼ cⱼᵏ = 1/(k + 1) for k < order, and the estimates of the error vanish for constants."""
    nodes = np.array(tableau.nodes)
    for node, row in zip(
        (*tableau.nodes, *tableau.further_nodes), (*tableau.stages, *tableau.further_stages), strict=True
    ):
        assert sum(row.values()) == pytest.approx(node, abs=1e-13)
    b = dense(tableau.weights, tableau.last)
    for k in range(ORDER[tableau.name]):
        assert b @ nodes**k == pytest.approx(1.0 / (k + 1), abs=1e-13)
    assert b @ nodes ** ORDER[tableau.name] != pytest.approx(1.0 / (ORDER[tableau.name] + 1), abs=1e-9)
    for row in (*tableau.errors, *tableau.shapes):
        assert sum(row.values()) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("degree", [3, 4, 7])
def test_the_factors_of_the_interpolant_are_its_nested_form(degree):
    R, x = np.random.default_rng(0).normal(size=degree), np.linspace(0.0, 1.0, 9)
    nested = np.zeros_like(x)
    for m in reversed(range(degree)):
        nested = (nested + R[m]) * (1.0 - x if m % 2 else x)
    series = chebyshev_factors(degree) @ R
    np.testing.assert_allclose(chebyshev.chebval(2.0 * x - 1.0, series), nested, rtol=1e-13, atol=1e-15)


def test_scipy_is_imported_only_when_its_coefficients_are_read():
    code = "import sys, appell.compile.ode.stepper; sys.exit('scipy.integrate' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_coefficients_are_imported_where_scipy_keeps_them_elsewhere(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr("appell.compile.ode.tableau.runpy.run_path", missing)
    imported, executed = METHODS["DOP853"].__wrapped__(), METHODS["DOP853"]()
    assert (imported.stages, imported.errors, imported.shapes) == (executed.stages, executed.errors, executed.shapes)
