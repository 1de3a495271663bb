"""Active rows and independent velocities of matrices with known partitions."""

import numpy as np
import pytest

from appell.formulate.constrained.partition import implied_rows, partition

RNG = np.random.default_rng(5)
EQUAL_DEPTHS, OWNERS = [0] * 5, ["loop"] * 5


def samples(make, count: int = 4) -> np.ndarray:
    return np.array([make(np.random.default_rng(seed)) for seed in range(count)])


def test_rows_that_earlier_rows_imply_at_every_sample_are_redundant():
    def rows(rng):
        K = rng.normal(size=(3, 5))
        return np.vstack([K, rng.normal(size=3) @ K, np.zeros(5)])

    assert implied_rows(samples(rows)) == (3, 4)


def test_a_row_that_is_implied_only_at_one_sample_is_active():
    K = samples(lambda rng: rng.normal(size=(2, 5)))
    K[0, 1] = 2.0 * K[0, 0]
    assert implied_rows(K) == ()
    assert len(partition(K, EQUAL_DEPTHS, OWNERS).independent) == 3


def test_active_rows_and_independent_velocities_form_a_regular_matrix_with_complete_blocks():
    K = samples(lambda rng: rng.normal(size=(3, 5)))
    split = partition(K, EQUAL_DEPTHS, OWNERS)
    E = np.vstack([K[0], np.eye(5)[list(split.independent)]])
    assert sorted(k for block in split.blocks for k in block.rows) == [*range(5)]
    assert sorted(k for block in split.blocks for k in block.columns) == [*range(5)]
    assert np.linalg.cond(E) < 1e3


def test_loops_form_separate_blocks_in_the_order_of_their_dependence():
    def chain(rng):
        K = np.zeros((4, 6))
        K[:2, :3] = rng.normal(size=(2, 3))  # a loop of three joints
        K[2:, 2:] = rng.normal(size=(2, 4))  # one that needs the third
        return K

    split = partition(samples(chain), [3, 4, 4, 1, 2, 2], ["a", "a", "b", "b"], independent=(0, 3))
    assert [set(block.rows) for block in split.blocks[2:]] == [{0, 1}, {2, 3}]


def test_requested_velocities_are_independent():
    K = samples(lambda rng: rng.normal(size=(2, 5)))
    for requested in ([0, 1, 2], [2, 3, 4], [0, 4]):
        assert set(requested) <= set(partition(K, EQUAL_DEPTHS, OWNERS, independent=requested).independent)


def test_requested_velocities_that_do_not_determine_the_others_are_rejected():
    K = np.zeros((3, 1, 3))
    K[:, 0, 0] = 1.0  # the first velocity is zero
    assert partition(K, [0] * 3, OWNERS, independent=[0]) is None


def test_velocities_near_the_root_are_independent_by_default():
    K = samples(lambda rng: rng.normal(size=(2, 4)))
    assert partition(K, [1, 1, 2, 3], OWNERS).independent == (0, 1)


@pytest.mark.parametrize("preferred", [(3,), (2, 3)])
def test_preferred_velocities_are_independent_where_possible(preferred):
    K = samples(lambda rng: rng.normal(size=(2, 4)))
    assert set(preferred) <= set(partition(K, [1, 1, 2, 3], OWNERS, preferred=preferred).independent)


def test_a_velocity_that_all_loops_share_is_independent():
    def legs(rng):
        K = np.zeros((4, 5))
        K[:2, 1:3], K[2:, 3:], K[:, 0] = rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), rng.normal(size=4)
        return K

    assert partition(samples(legs), [9, 1, 1, 1, 1], ["left", "left", "right", "right"]).independent == (0,)
