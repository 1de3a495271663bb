"""Eighty random drops of random trees into random walls; `appell fuzz --only motions` continues with more."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from drops import KINDS, deepest, random_start, wall_around
from robots import random_tree

TREES, WALLS, DROPS = 10, 2, 4
TOLERANCE = 1e-7  # the default of simulate


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(TREES))
def test_random_drops_neither_penetrate_nor_gain_energy_nor_hang(seed):
    rng = np.random.default_rng(seed)
    links = int(rng.integers(1, 4))
    robot = random_tree(seed, links, base=("floating", "fixed")[seed % 2], kinds=KINDS).with_gravity((0, 0, -9.81))
    dyn = ap.Dynamics(robot)
    for _ in range(WALLS):
        surface, seen = wall_around(robot, 0.6 * (links + 1), rng)
        for _ in range(DROPS):
            restitution = float((0.0, 0.5, 1.0, rng.uniform(0, 1))[rng.integers(4)])
            friction = float((0.0, 0.0, rng.uniform(0, 0.8))[rng.integers(3)])
            contact = ap.Contact("all", surface, restitution, friction)
            q0, v0 = random_start(robot, seen.gaps, rng), rng.normal(size=robot.nv)
            motion = ap.simulate(dyn, q0, v0, until=0.8, contacts=contact, solver=ap.Solver(max_steps=20_000))
            assert motion.finished, motion
            assert deepest(motion, seen) <= TOLERANCE
            latest = np.maximum.accumulate(motion.energy[::-1])[::-1]
            assert (latest - motion.energy).max() <= 1e-6 * max(1.0, np.abs(motion.energy).max())
