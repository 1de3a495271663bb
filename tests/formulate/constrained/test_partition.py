"""Which rows carry forces and which velocities are independent, on matrices whose answer is known."""

import numpy as np
import pytest

from appell.formulate.constrained.partition import implied_rows, partition

RNG = np.random.default_rng(5)
FLAT, OWN = [0] * 5, ["loop"] * 5


def samples(make, count: int = 4) -> np.ndarray:
    return np.array([make(np.random.default_rng(seed)) for seed in range(count)])


def test_a_row_that_earlier_ones_imply_at_every_sample_is_found():
    def rows(rng):
        K = rng.normal(size=(3, 5))
        return np.vstack([K, rng.normal(size=3) @ K, np.zeros(5)])

    assert implied_rows(samples(rows)) == (3, 4)


def test_a_row_that_is_implied_at_one_sample_alone_is_kept():
    K = samples(lambda rng: rng.normal(size=(2, 5)))
    K[0, 1] = 2.0 * K[0, 0]
    assert implied_rows(K) == ()
    assert len(partition(K, FLAT, OWN).independent) == 3


def test_kept_rows_and_independent_velocities_make_a_regular_matrix_of_its_blocks():
    K = samples(lambda rng: rng.normal(size=(3, 5)))
    split = partition(K, FLAT, OWN)
    E = np.vstack([K[0], np.eye(5)[list(split.independent)]])
    assert sorted(k for block in split.blocks for k in block.rows) == [*range(5)]
    assert sorted(k for block in split.blocks for k in block.columns) == [*range(5)]
    assert np.linalg.cond(E) < 1e3


def test_loops_that_share_no_velocity_are_blocks_of_their_own_and_a_chain_of_them_is_ordered():
    def chain(rng):
        K = np.zeros((4, 6))
        K[:2, :3] = rng.normal(size=(2, 3))  # a loop of three joints
        K[2:, 2:] = rng.normal(size=(2, 4))  # one that needs the third
        return K

    split = partition(samples(chain), [3, 4, 4, 1, 2, 2], ["a", "a", "b", "b"], independent=(0, 3))
    assert [set(block.rows) for block in split.blocks[2:]] == [{0, 1}, {2, 3}]


def test_what_is_asked_for_stays_independent():
    K = samples(lambda rng: rng.normal(size=(2, 5)))
    for asked in ([0, 1, 2], [2, 3, 4], [0, 4]):
        assert set(asked) <= set(partition(K, FLAT, OWN, independent=asked).independent)


def test_velocities_that_do_not_determine_the_others_are_refused():
    K = np.zeros((3, 1, 3))
    K[:, 0, 0] = 1.0  # the first velocity is zero
    assert partition(K, [0] * 3, OWN, independent=[0]) is None


def test_velocities_near_the_root_are_independent_where_nothing_else_speaks():
    K = samples(lambda rng: rng.normal(size=(2, 4)))
    assert partition(K, [1, 1, 2, 3], OWN).independent == (0, 1)


@pytest.mark.parametrize("preferred", [(3,), (2, 3)])
def test_what_somebody_would_like_is_independent_where_it_can_be(preferred):
    K = samples(lambda rng: rng.normal(size=(2, 4)))
    assert set(preferred) <= set(partition(K, [1, 1, 2, 3], OWN, preferred=preferred).independent)


def test_a_velocity_that_all_loops_share_is_independent():
    def legs(rng):
        K = np.zeros((4, 5))
        K[:2, 1:3], K[2:, 3:], K[:, 0] = rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), rng.normal(size=4)
        return K

    assert partition(samples(legs), [9, 1, 1, 1, 1], ["left", "left", "right", "right"]).independent == (0,)
