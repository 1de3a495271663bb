"""Exact polynomials through counts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from appell.errors import ArgumentError
from appell_lab.counts.polynomial import eventually_through, polynomial, through


@pytest.mark.parametrize(
    ("coefficients", "text"),
    [
        ((-101, 96), "96n-101"),
        ((-49, 19.5, 11.5), "11.5n²+19.5n-49"),
        ((-157, Fraction(695, 6), 13, Fraction(1, 6)), "1/6n³+13n²+695/6n-157"),
        ((5, -16, 14, 1), "n³+14n²-16n+5"),
        ((7,), "7"),
        ((), "0"),
    ],
)
def test_a_polynomial_is_recovered_from_its_values_and_written_as_in_the_papers(coefficients, text):
    expected = polynomial(*coefficients)
    recovered = through({n: expected(n) for n in range(2, 13)})
    assert recovered == expected
    assert str(recovered) == text


def test_too_few_points_do_not_confirm_a_polynomial():
    assert through({n: n**3 for n in range(2, 8)}) is None
    assert str(through({n: n**3 for n in range(2, 9)})) == "n³"


def test_first_links_that_fold_differently_are_left_out():
    counts = {n: 96 * n - 127 for n in range(2, 13)} | {2: 60}
    fitted, first = eventually_through(counts)
    assert (str(fitted), first) == ("96n-127", 3)


def test_counts_without_a_polynomial_are_an_error():
    with pytest.raises(ArgumentError, match="no polynomial"):
        eventually_through({n: 2**n for n in range(2, 13)})
