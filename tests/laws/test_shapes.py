"""Arrays of any shape, layout and size give the right result or an error that names the argument."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError

ROBOT = load("puma")
FUNCTION = Dynamics(ROBOT).inverse_dynamics
POOL = np.random.default_rng(8).normal(size=20000)


def laid_out(draw, shape):
    """Return random numbers in a random memory layout."""
    size = int(np.prod(shape))
    kind = draw(st.sampled_from(["plain", "strided", "reversed", "fortran", "swapped", "unaligned"]))
    flat = POOL[:size] if kind != "strided" else POOL[: 3 * size : 3]
    array = flat.reshape(shape)
    match kind:
        case "reversed":
            return array[..., ::-1]
        case "fortran":
            return np.asfortranarray(array)
        case "swapped":
            return array.astype(">f8")
        case "unaligned":
            return np.frombuffer(b"x" + array.tobytes(), offset=1).reshape(shape)
    return array


@settings(max_examples=60, deadline=None)
@given(st.data(), mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=5))
def test_a_batch_gives_the_same_bits_as_its_samples(data, shapes):
    arrays = [laid_out(data.draw, (*shape, 6)) for shape in shapes.input_shapes]
    result = FUNCTION(*arrays)
    assert result.shape == (*shapes.result_shape, 6)
    full = [np.ascontiguousarray(np.broadcast_to(x, result.shape), dtype=float).reshape(-1, 6) for x in arrays]
    alone = [FUNCTION(*(x[k].copy() for x in full)) for k in range(len(full[0]))]
    np.testing.assert_array_equal(result.reshape(-1, 6), np.reshape(alone, (-1, 6)))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from("qva"), st.lists(st.integers(0, 4), max_size=2), st.integers(0, 12).filter(lambda n: n != 6))
def test_a_wrong_last_axis_is_rejected_with_the_name_of_the_argument(name, batch, size):
    arguments = {key: np.zeros(6) for key in "qva"} | {name: np.zeros((*batch, size))}
    with pytest.raises(ArgumentError, match=rf"argument {name} has shape .* ?"):
        FUNCTION(*arguments.values())


def test_a_non_finite_sample_does_not_affect_the_others():
    q, v, a = np.zeros((3, 9, 6))
    expected = FUNCTION(q, v, a)
    q[4, 0] = np.nan  # although the equations do not depend on the angle of the first joint
    a[7, 5] = np.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in inverse_dynamics"):
        result = FUNCTION(q, v, a)
    assert np.isnan(result[[4, 7]]).all()
    good = [0, 1, 2, 3, 5, 6, 8]
    np.testing.assert_array_equal(result[good], expected[good])
