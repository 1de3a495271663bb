"""The two bodies of Mata 2002, §5.1, in double and single precision."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from appell_lab.papers.stability import PRINTED, double_precision, positions, single_precision

REFERENCE = json.loads((Path(__file__).parents[2] / "references" / "two_body_stability.json").read_text())


@pytest.fixture(scope="module")
def double():
    return double_precision()


@pytest.fixture(scope="module")
def single():
    return single_precision()


def test_there_are_180_positions_of_two_degrees():
    assert positions().shape == (180, 2)
    assert np.allclose(np.diff(np.degrees(positions()[:, 1])), 2.0)


@pytest.mark.parametrize("row", REFERENCE["rows"], ids=lambda row: f"q2={row['q2_deg']}")
def test_double_precision_reproduces_the_reference(double, row):
    acceleration, condition = double
    k = row["q2_deg"] // 2
    assert acceleration[k] == pytest.approx([row["qdd1"], row["qdd2"]], rel=1e-9)
    assert condition[k] == pytest.approx(row["cond"], rel=1e-9)


def test_the_condition_numbers_span_those_of_the_reference(double):
    assert double[1].min() == pytest.approx(REFERENCE["cond_min"], rel=1e-9)
    assert double[1].max() == pytest.approx(REFERENCE["cond_max"], rel=1e-9)


def test_single_precision_errors_have_the_printed_size(double, single):
    """Within a factor of three: rounding errors depend on the order of every operation."""
    exact, _ = double
    worst = {name: np.abs(exact - result)[:, 1].max() for name, result in single.items()}
    assert all(result.dtype == np.float32 for result in single.values())
    assert worst["ABA, link coordinates"] < 1e-3
    for name, (printed, _) in PRINTED.items():
        assert printed / 3 < worst[name] < 3 * printed, name
