"""A step that knows no events, at the level of velocities (Moreau 1988, Jean 1999): motion through a crowd of them.

Whatever impacts, slips and releases there are within a step of length h, they are one set of impulses f at the points
that touch in it, at the configuration in its middle:

    qₘ = q + ½h q̇            v° = v + h a(qₘ, vₘ)               the midpoint rule, free of walls and dry friction   (1)
    v⁺ = v° + M⁻¹Bᵀf          f and B v⁺ - c obey the laws of `blocks`: pushes, cones, boxes of ±h F                (2)
    q⁺ = q + h N(qₘ) ½(v + v⁺)                                                                                     (3)

c = -e u⁻ for a point that arrives at u⁻ < 0 and at SLOW times the speed that it gains in a step or more; for others, a
point at a distance d in the middle may go as far as to its wall, c = -2d/h, and one inside must not go deeper, c = 0.
If e > 0 makes energy out of nothing (Kane's paradox), it is halved, then zero. What is inside a wall at q⁺ all the same
goes back by the shortest way in the metric of M. If the energy is then above what it was and the work of the inputs, by
the error of (1) or by the way back, v⁺ is made shorter until it is not, which keeps the signs of all laws (2); if that
is not enough, the way back waits for a later step.

Accuracy: (1) and (3) are of second order in h. (2) moves every impact and every change of contact by up to h, so that a
motion through impacts is of first order. A point at rest stays where it is, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.simulation.contact.blocks import PUSH, Balance, Block, solve_blocks
from appell.simulation.contact.complementarity import solve_complementarity
from appell.simulation.contact.geometry import Geometry
from appell.simulation.flow import FreeMotion

SLOW = 2.0
ROUNDS = 6  # of contacts that the impulses of others close
RETURNS = 4  # of points to their walls
BOUNCES = (1.0, 0.5, 0.0)  # parts of the restitution, until no energy is made
ROUNDING = 1e-12  # of kinetic energy
AIM, SOLVED = 1e-9, 1e-6  # of the largest impulse: the residual of (2) to aim for, and to be content with


@dataclass(frozen=True)
class Stride:
    """Where a step leads, the contacts that pushed, whether they bounced, and whether (2) was solved."""

    y: np.ndarray
    touched: tuple[int, ...]
    bounced: bool
    solved: bool


class TimeStepping:
    """Steps of one system with its contacts and dry drives."""

    def __init__(self, flow: FreeMotion, geometry: Geometry, deepest: float):
        self.flow, self.geometry, self.deepest = flow, geometry, deepest
        self.nq = flow.nq
        self.directions = np.zeros(len(flow.drives))  # dry friction is among the impulses
        counted = flow.dyn.equations.friction
        self.offsets = np.array([actuator.offset * counted for actuator in flow.states.moving.system.actuators])
        self.forces = np.zeros(len(geometry.B))  # of the last step, by row: where the next one starts

    def take(self, t: float, y: np.ndarray, h: float) -> Stride:
        """(1) to (3)."""
        nq, flow, v = self.nq, self.flow, y[self.nq :]
        middle = y + 0.5 * h * flow(t, y, self.directions)
        free = v + h * flow(t + 0.5 * h, middle, self.directions)[nq:]
        after, touched, bounced, solved = self._impulses(middle, v, free, h)
        mean = np.concatenate([middle[:nq], 0.5 * (v + after)])
        straight = flow.normalised(y[:nq] + h * flow(t + 0.5 * h, mean, self.directions)[:nq])
        allowed = self._energy(y)[1] + h * self._power(middle, mean[nq:])
        for q in (self._brought_back(straight), straight):
            found = flow.kept(t + h, np.concatenate([q, after]))
            kinetic, energy = self._energy(found)
            if energy - allowed <= kinetic:
                break
        if energy > allowed:
            found[nq:] *= np.sqrt(max(0.0, 1.0 - (energy - allowed) / max(kinetic, 1e-300)))
        return Stride(found, touched, bounced, solved)

    def _impulses(self, middle: np.ndarray, v: np.ndarray, free: np.ndarray, h: float):
        """v⁺ of (2), which contacts pushed, whether any bounced, and whether it is a solution."""
        geometry = self.geometry.at(middle)
        d, normals = geometry.distance(), geometry.B[: 3 * len(geometry.contacts) : 3]
        before, gained = normals @ v, normals @ (free - v)
        closing = d + 0.5 * h * (before + gained) <= 0.0
        hit = closing & (before < -SLOW * np.abs(gained))
        after, solved, kept = free, True, np.zeros(len(geometry.B))
        for part in BOUNCES:
            c = np.where(
                hit & (geometry.contacts.restitution > 0.0), -part * geometry.contacts.restitution * before, 0.0
            )
            c = np.where(c > 0.0, c, -2.0 * np.maximum(d, 0.0) / h)
            which = closing.copy()
            for _ in range(ROUNDS):
                after, solved, kept = self._solve(np.flatnonzero(which), free, c, h)
                closed = d + 0.5 * h * (normals @ after) < -self.deepest
                if not (closed & ~which & geometry.active).any():
                    break
                which |= closed & geometry.active
            if not (c > 0.0).any() or self._kinetic(after) <= self._kinetic(free) * (1.0 + ROUNDING):
                break
        self.forces = kept
        pushed = np.flatnonzero(kept[: 3 * len(geometry.contacts) : 3] > 0.0)
        return after, tuple(pushed.tolist()), bool((c[pushed] > 0.0).any()), solved

    def _solve(self, which: np.ndarray, free: np.ndarray, c: np.ndarray, h: float):
        """The velocity with the impulses of these contacts and of all dry drives, and the impulses by row."""
        geometry, kept = self.geometry, np.zeros(len(self.geometry.B))
        friction, drives = geometry.contacts.friction, np.arange(len(geometry.drives))
        blocks: list[Block] = []
        rows: list[int] = []
        normals: list[int] = []
        for k in which:
            normals.append(len(rows))
            rows += range(3 * k, 3 * k + 3) if friction[k] > 0.0 else [3 * k]
            blocks.append(Block("cone", float(friction[k])) if friction[k] > 0.0 else PUSH)
        rows += geometry.of_drives(drives).tolist()
        blocks += [Block("box", h * float(level)) for level in geometry.drives.levels(geometry.rates())]
        if not rows:
            return free, True, kept
        B = geometry.B[rows]
        response = geometry.response(B)
        b = B @ free
        b[normals] -= c[which]
        found: Balance = solve_blocks(B @ response, b, blocks, self.forces[rows], AIM)
        kept[rows] = found.f
        return free + response @ found.f, found.residual <= SOLVED, kept

    def _brought_back(self, q: np.ndarray) -> np.ndarray:
        """The configuration without what is inside walls, by the shortest way in the metric of M."""
        rest = np.zeros(self.flow.nw)
        for _ in range(RETURNS):
            geometry = self.geometry.at(np.concatenate([q, rest]))
            d = geometry.distance()
            if not (d < -self.deepest).any():
                break
            near = np.flatnonzero(d < -10.0 * d.min())
            rows = geometry.B[3 * near]
            response = geometry.response(rows)
            A = rows @ response
            pushes = solve_complementarity(0.5 * (A + A.T), d[near])
            if pushes is None:
                break
            q = self.flow.normalised(self.flow.states.integrate(q, response @ pushes))
        return q

    def _kinetic(self, v: np.ndarray) -> float:
        """In the middle of the step."""
        return float(v @ self.geometry.M @ v)

    def _energy(self, y: np.ndarray) -> tuple[float, float]:
        """Kinetic energy, and all of it."""
        kinetic, potential = self.flow.states.moving.energy(y[: self.nq], y[self.nq :])
        return float(kinetic), float(kinetic + potential)

    def _power(self, middle: np.ndarray, mean: np.ndarray) -> float:
        """Of inputs at a velocity, less what offsets of the actuators take."""
        states, inputs = self.flow.states, self.flow.inputs
        q, w = self.flow.split(middle)
        power = 0.0
        if inputs.tau.any():
            power += float(inputs.tau @ states.actuator_rates(q, mean))
        if self.offsets.any():
            power -= float(self.offsets @ states.moving.actuator_jacobian(q) @ mean)
        if inputs.wrench.any():
            still, wrenches = np.zeros_like(w), inputs.wrench.reshape(-1, 6)
            forces = states.moving.generalized_forces
            power += float((forces(q, w, still, *np.zeros_like(wrenches)) - forces(q, w, still, *wrenches)) @ mean)
        return power
