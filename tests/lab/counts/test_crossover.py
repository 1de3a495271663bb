"""From how many joints on O(n) costs less than O(n³)."""

from __future__ import annotations

import pytest

from appell_lab.counts.crossover import Crossover, crossover
from appell_lab.counts.growth import Growth
from appell_lab.counts.measure import as_written
from appell_lab.counts.polynomial import polynomial


@pytest.fixture(scope="module")
def written():
    return crossover(as_written)


def test_nine_links_are_the_crossover_with_composite_bodies(written):
    assert written.first("ABA, link coordinates", "CRBA, Featherstone") == 9
    assert written.first("ABA, link coordinates", "Gibbs-Appell") == 10
    assert written.first("ABA, base coordinates", "CRBA, Featherstone") == 18


def test_a_crossover_is_where_polynomials_cross_for_good():
    line = Growth(polynomial(10), polynomial(), 2, {})
    curve = Growth(polynomial(0, 0, 1), polynomial(), 2, {})  # n² passes 10 at 4
    assert Crossover({"line": line, "curve": curve}).first("line", "curve") == 4
    assert Crossover({"line": line, "curve": curve}).first("curve", "line") is None
