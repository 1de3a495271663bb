"""Motion through a crowd of events: steps of one length, at the level of velocities (Moreau 1988, Jean 1999).

A step of length h knows no events. What would have been many impacts, slips and releases is one set of impulses f at the
points that touch within it, at the configuration in its middle:

    qₘ = q + ½h q̇            v° = v + h a(qₘ, vₘ)                the midpoint rule, without contact                   (1)
    v⁺ = v° + M⁻¹Jᵀf          f ≥ 0 ⊥ J v⁺ - c ≥ 0, within the friction cones                                     (2)
    q⁺ = q + h N(qₘ) ½(v + v⁺)                                                                                    (3)

c = -e u⁻ for a point that arrives with u⁻ < 0 (zero for one that arrives no faster than it falls within a step), and
c = -2 d/h for one that is still at a distance d in the middle: it must not go further than to its wall. What is inside
a wall at q⁺ all the same is brought back by the shortest way in the metric of M. If energy has grown, by the error of
(1) or by the way back, by more than the inputs' work, v⁺ is made shorter until it has not; that keeps all signs of (2).

Accuracy: (1) and (3) are of second order, (2) moves every impact and every change of stick and slip by up to h, so that
a motion through impacts is of first order in h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.simulation.blocks import PUSH, Block, solve_blocks
from appell.simulation.complementarity import solve_complementarity
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry

SLOW = 2.0  # falls within a step: a point that arrives no faster does not bounce


@dataclass(frozen=True)
class Step:
    """Where a step leads, and what it found on its way."""

    y: np.ndarray
    touched: np.ndarray  # the contacts with impulses
    solved: bool


def take_step(flow: FreeMotion, geometry: Geometry, t: float, y: np.ndarray, h: float) -> Step:
    """(1) to (3) from (t, y)."""
    nq, v = flow.nq, y[flow.nq :]
    middle = y + 0.5 * h * flow(t, y)
    free = v + h * flow(t + 0.5 * h, middle)[nq:]
    work = 0.0
    after, touched, solved = _impulses(geometry.at(middle), v, free, h)
    mean = np.concatenate([middle[:nq], 0.5 * (v + after)])
    q = y[:nq] + h * flow(t + 0.5 * h, mean)[:nq]
    q = flow.normalised(q)
    for _ in range(3):
        d = geometry.at(np.concatenate([q, after])).distance()
        deep = np.flatnonzero(d < 0.0)
        if not len(deep) or d.min() > -1e-12:
            break
        rows = geometry.normal_rows(deep)
        R = np.linalg.solve(geometry.M, rows.T)
        f = solve_complementarity(rows @ R, d[deep])
        if f is None: break
        q = flow.system.integrate(q, R @ f)
    E0 = sum(flow.dyn.energy(y[:nq], v))
    T, U = flow.dyn.energy(q, after)
    excess = T + U - E0 - work
    if excess > 0:
        after = after * np.sqrt(max(0.0, 1 - excess / T)) if T > 0 else after
    return Step(np.concatenate([q, after]), touched, solved)


def _impulses(geometry: Geometry, v, free, h):
    d = geometry.distance()
    normals = geometry.normal_rows(slice(None))
    u, ufree = normals @ v, normals @ free
    near = np.flatnonzero(d + 0.5 * h * np.minimum(ufree, u) - 0.5*h*(np.abs(u)+1) <= 0.0)
    if not len(near) or (d + 0.5*h*ufree > 0).all():
        return free, near[:0], True
    frames = geometry.frames(near)
    mu = geometry.contacts.friction[near]
    J = geometry.rows(near, frames)
    u, d = u[near], d[near]
    fall = np.abs(ufree[near] - u)
    bounce = np.where((u < -SLOW * fall) & (d + 0.5 * h * ufree[near] <= 0), geometry.contacts.restitution[near], 0.0)
    blocks, rows, b0 = [], [], []
    for k in range(len(near)):
        own = J[k] if mu[k] > 0 else J[k, :1]
        blocks.append(Block("cone", mu[k]) if mu[k] > 0 else PUSH)
        rows += [*own]
    B = np.array(rows)
    R = np.linalg.solve(geometry.M, B.T)
    A = B @ R
    A = 0.5 * (A + A.T)
    first = np.cumsum([0] + [blk.size for blk in blocks])[:-1]
    for e in (bounce, 0 * bounce):
        b = B @ free
        b[first] -= np.where(e > 0, -e * u, -2 * np.maximum(d, 0) / h)
        s = solve_blocks(A, b, blocks)
        after = free + R @ s.f
        if after @ geometry.M @ after <= free @ geometry.M @ free * (1 + 1e-12) and s.solved:
            break
    return after, near[s.f[first] > 0], s.solved
