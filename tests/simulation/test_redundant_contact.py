"""Contact problems with more rows than freedoms: solved, as their own laws judge."""

from __future__ import annotations

import numpy as np
import pytest

from appell.simulation.contact.blocks import Block, solve_blocks


def redundant(seed):
    """Cones on a system of few freedoms: A = B Bᵀ is singular, and every point meets its wall at some speed."""
    rng = np.random.default_rng(seed)
    points, freedoms = int(rng.integers(3, 8)), int(rng.integers(3, 8))
    B = rng.normal(size=(3 * points, freedoms))
    B[0::3, 0] = np.abs(B[0::3, 0]) + 1.0  # one motion leaves all walls: they can be kept
    return B @ B.T, B @ rng.normal(size=freedoms), rng.uniform(0.1, 0.8, points)


@pytest.mark.parametrize("seed", range(60))
def test_forces_obey_every_law_of_contact_and_friction(seed):
    A, b, mu = redundant(seed)
    solution = solve_blocks(A, b, [Block("cone", float(m)) for m in mu])
    assert solution.solved
    f, u = solution.f.reshape(-1, 3), (A @ solution.f + b).reshape(-1, 3)
    force, speed = max(np.abs(f).max(), 1e-9), max(np.abs(b).max(), 1e-9)
    assert f[:, 0].min() >= 0.0
    assert u[:, 0].min() > -1e-6 * speed
    assert np.abs(f[:, 0] * u[:, 0]).max() < 1e-6 * force * speed
    rubbing, sliding = np.hypot(*f[:, 1:].T), np.hypot(*u[:, 1:].T)
    assert (rubbing <= mu * f[:, 0] + 1e-9 * force).all()
    power = np.einsum("ki,ki->k", f[:, 1:], u[:, 1:])
    assert np.abs(power + mu * f[:, 0] * sliding).max() < 1e-6 * force * speed  # as much as it can, against the slip
