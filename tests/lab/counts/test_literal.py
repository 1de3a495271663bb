"""Counts that follow from the printed loops and sums of the papers."""

from __future__ import annotations

import pytest

from appell_lab.counts.literal import GAH_STEPS, INVERSE_STEPS, PRINTED_TABLES, agreeing, explained, operations
from appell_lab.counts.published import MATA_1, PROVENZANO_1


@pytest.mark.parametrize("n", range(2, 11))
def test_the_printed_loops_of_gah_add_up_to_the_printed_polynomials(n):
    row = PROVENZANO_1.rows[2]
    assert operations(GAH_STEPS, n) == (row.mul(n), row.add(n))
    assert operations(GAH_STEPS, 6) == (482, 426)  # as printed


def test_the_printed_steps_of_inverse_dynamics_have_the_printed_slopes():
    row, literal = MATA_1.rows[3], explained(MATA_1)[3][1].literal
    for n in range(2, 11):
        assert operations(INVERSE_STEPS, n) == tuple(p(n) for p in literal)
    assert [p(7) - p(6) for p in literal] == [row.mul(7) - row.mul(6), row.add(7) - row.add(6)] == [96, 84]


def test_all_printed_counts_are_explained_and_sixteen_follow_from_print():
    rows = [row for table in PRINTED_TABLES for row in explained(table)]
    assert 2 * len(rows) == 42
    assert all(explanation.text for _, explanation in rows)
    assert agreeing(rows) == 16
