"""Counts of the Appendix of Shafei with full matrices, compared with counts by hand and with the printed ones."""

from __future__ import annotations

import numpy as np
import pytest

from appell_lab.counts.appendix import STEPS, UNSPECIFIED_STEP, appendix_steps
from appell_lab.counts.branches import ROWS


@pytest.fixture(scope="module")
def steps():
    return appendix_steps()


@pytest.mark.parametrize("n", [4, 7, 20])
def test_steps_1_and_2_cost_a_full_product_for_every_pair(steps, n):
    """T: two 4x4 products per pair that is not adjacent; T~: one per pair; Tᵢ and T^ᵢ: one per link. R: one 3x3."""
    beyond, pairs = n * (n - 1) // 2, n * (n + 1) // 2
    products = 2 * beyond + pairs + 2 * n
    assert [p(n) for p in steps[STEPS[0]]] == [64 * products, 48 * products]
    assert [p(n) for p in steps[STEPS[1]]] == [27 * (n - 1) * (n - 2) // 2, 18 * (n - 1) * (n - 2) // 2]


@pytest.mark.parametrize("n", [4, 7, 20])
def test_step_6_costs_a_product_of_each_size_for_every_pair_and_link(steps, n):
    products = n * (n - 1) // 2 + (n - 1)
    assert [p(n) for p in steps[STEPS[6]]] == [91 * products, 66 * products + (16 + 9) * (n - 1)]


def test_the_sums_are_sums(steps):
    for n in (3, 10):
        for k in (0, 1):
            every = [steps[step][k](n) for step in STEPS]
            assert steps["all steps"][k](n) == sum(every)
            assert steps["all but (30)"][k](n) == sum(every) - steps[UNSPECIFIED_STEP][k](n)


def test_additions_of_full_matrices_have_the_printed_leading_term_and_are_close_to_the_printed_count(steps):
    _, (_, printed) = ROWS["Appendix, 3x3 and 4x4"]
    ours = steps["all but (30)"][1]
    assert ours.coefficients[2] == printed.coefficients[2] == 146
    assert all(abs(ours(n) / printed(n) - 1) < 0.05 for n in range(2, 40))


def test_multiplications_of_full_matrices_are_below_the_printed_count(steps):
    _, (printed, _) = ROWS["Appendix, 3x3 and 4x4"]
    ratios = np.array([float(steps["all but (30)"][0](n) / printed(n)) for n in range(2, 40)])
    assert (ratios < 1.0).all()
    assert (ratios > 0.75).all()
