"""The number of joints from which O(n) methods need fewer operations than O(n³) methods."""

from __future__ import annotations

import pytest

from appell_lab.counts.crossover import Crossover, crossover
from appell_lab.counts.growth import Growth
from appell_lab.counts.measure import as_written
from appell_lab.counts.polynomial import polynomial


@pytest.fixture(scope="module")
def written():
    return crossover(as_written)


def test_the_crossover_with_composite_bodies_is_at_nine_links(written):
    assert written.first("ABA, link coordinates", "CRBA, Featherstone") == 9
    assert written.first("ABA, link coordinates", "Gibbs-Appell") == 10
    assert written.first("ABA, base coordinates", "CRBA, Featherstone") == 18


def test_a_crossover_is_the_last_crossing_of_two_polynomials():
    line = Growth(polynomial(10), polynomial(), 2, {})
    curve = Growth(polynomial(0, 0, 1), polynomial(), 2, {})  # n² passes 10 at 4
    assert Crossover({"line": line, "curve": curve}).first("line", "curve") == 4
    assert Crossover({"line": line, "curve": curve}).first("curve", "line") is None
