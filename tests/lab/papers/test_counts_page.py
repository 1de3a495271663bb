"""The section `counts`, with one of its tables at a time."""

from __future__ import annotations

from functools import partial

import pytest
from rich.console import Console

from appell_lab.counts import branches
from appell_lab.counts.growth import growth
from appell_lab.counts.published import MATA_2, TABLES, VALERA_3
from appell_lab.papers import counts
from appell_lab.papers.page import Page


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "growth", partial(growth, sizes=range(2, 10)))
    for part in (counts.counts_valera, counts.counts_crossover):
        monkeypatch.setattr(part, "show", lambda page: None)
    return Page(Console(record=True, width=160, file=(tmp_path / "page.txt").open("w", encoding="utf-8")), tmp_path)


def test_a_table_has_the_published_polynomials_beside_ours(page, monkeypatch):
    monkeypatch.setattr(counts, "TABLES", (VALERA_3,))
    counts.run(page)
    text = page.console.export_text()
    for printed in ("121n-136", "91n-116", "590", "430", "117n-148", "90n-123"):
        assert printed in text
    assert "gibbs-appell-4x4" in text  # the form that remains more expensive is named, with the reason
    assert "world coordinates" in text


def test_a_count_above_the_printed_one_is_explained(page, monkeypatch):
    monkeypatch.setattr(counts, "TABLES", (MATA_2,))
    counts.run(page)
    text = " ".join(page.console.export_text().split())
    assert "Angeles, Ma (NOC) needs more M than printed" in text
    assert "triangular factor" in text


def test_every_row_that_exceeds_the_printed_count_has_a_remark():
    from appell_lab.counts.growth import products
    from appell_lab.counts.measure import as_written

    for table in TABLES:
        for row in table.rows:
            if row.mul.coefficients:
                six = growth(as_written, row.method, row.quantity, sizes=range(2, 10)).counts[6]
                assert (products(six) <= row.mul(6) and six.add <= row.add(6)) or row.remark, row.label


def test_a_branched_robot_costs_least_with_3x3_matrices_and_most_with_lagrange():
    lagrange, small, appendix, one_pass = (branches.counter(counted)(4, 4) for counted, _ in branches.ROWS.values())
    assert small < one_pass < appendix < lagrange


def test_costs_grow_by_the_same_amount_for_every_branch():
    count = branches.counter(branches.ROWS["Gibbs-Appell, 3x3"][0])
    assert count(4, 3)[0] - count(3, 3)[0] == count(3, 3)[0] - count(2, 3)[0]
