"""Kinds of arrays that a function accepts: precision, labels and masks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from appell.compile.function import Function
from appell.errors import ArgumentError

SUM = Function.of("total", {"q": 2, "v": 2}, lambda q, v: {"total": [q[0] + v[0], q[1] * v[1]]}, owner="robot 'r'")
KINDS = (bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16, np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_are_not_all_float32_are_computed_in_float64(kind):
    q = np.ones((3, 2))
    assert SUM(q.astype(kind), q.astype(kind)).dtype == np.float64
    assert SUM(q.astype(kind), q.astype(np.float32)).dtype == np.float64
    assert SUM(q.astype(np.float32), q.astype(np.float32)).dtype == np.float32
    assert SUM(q.astype(kind), q.astype(kind), dtype=np.float64).dtype == np.float64


def test_integers_beyond_the_precision_of_float32_are_exact():
    q = np.array([[32767, 32767]], np.int16)
    np.testing.assert_array_equal(SUM(q, q), [[65534.0, 32767.0**2]])


@pytest.mark.parametrize("kind", ["DataFrame", "Series"])
def test_labelled_arrays_are_rejected(kind):
    frame = pd.DataFrame({"elbow": [1.0, 2.0], "shoulder": [3.0, 4.0]})
    given = frame if kind == "DataFrame" else frame.iloc[0]
    with pytest.raises(ArgumentError, match=rf"argument v is a pandas {kind}; its labels would be ignored"):
        SUM(np.ones(2), given)
    with pytest.raises(ArgumentError, match="argument q is a pandas"):
        SUM(q=given, v=np.ones(2))
    np.testing.assert_array_equal(SUM(frame[["shoulder", "elbow"]].to_numpy(), np.ones(2)), [[4.0, 1.0], [5.0, 2.0]])


def test_masked_entries_are_rejected_and_an_empty_mask_is_ignored():
    with pytest.raises(ArgumentError, match="argument q has masked entries"):
        SUM(np.ma.array([1.0, 2.0], mask=[False, True]), np.ones(2))
    result = SUM(np.ma.array([1.0, 2.0]), np.ones(2))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, [2.0, 2.0])
