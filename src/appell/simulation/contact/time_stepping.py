"""Time stepping at velocity level without events (Moreau 1988, Jean 1999), for motion with many events.

All impacts, slips and releases within a step of length h are represented by one set of impulses f at the points that
touch during the step, at the configuration in its middle:

    qₘ = q + ½h q̇            v° = v + h a(qₘ, ½(v + ṽ))         the midpoint rule, free of walls and dry friction   (1)
    v⁺ = v° + M⁻¹Bᵀf          f and B v⁺ - c obey the laws of `blocks`: pushes, cones, boxes of ±h F                (2)
    q⁺ = q + h N(qₘ) ½(v + v⁺)                                                                                     (3)

ṽ estimates the velocity after the step: the result of (2) for v° = v + h a(q, v). Without it, damping would act against
a motion that the contacts prevent.

c = -e u⁻ (Newton's law) for a point that arrives with u⁻ < 0, faster than BOUNCE_RATIO times the speed that it gains in
a step. Of the others, a point at a distance d in the middle may move up to its wall, c = -2d/h, and a point inside must
not move deeper, c = 0. If e > 0 creates energy (Kane's paradox), e is halved, then zero. Points that are still inside a
wall at q⁺ are moved back by the smallest displacement in the metric of M. If the energy then exceeds its previous value
plus the work of the inputs, through the error of (1) or through this correction, v⁺ is scaled down until it does not,
which preserves the signs of all laws (2); if that is not sufficient, the correction is left to a later step.

Accuracy: (1) and (3) are of second order in h. (2) shifts every impact and every change of contact by up to h, so that
a motion with impacts is of first order. A point at rest keeps its position exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.simulation.contact.blocks import PUSH, Block, ContactForces, solve_blocks
from appell.simulation.contact.complementarity import solve_complementarity
from appell.simulation.contact.geometry import Geometry
from appell.simulation.flow import FreeMotion

MIN_REACH_M = 1e-3  # features of shapes that are farther apart do not take part in a step
BOUNCE_RATIO = 2.0  # of the speed gained in a step: slower points do not bounce
MAX_CONTACT_ROUNDS = 6  # repetitions of (2) with contacts closed by the impulses of others
MAX_CORRECTIONS = 4  # iterations that move points back to their walls
RESTITUTION_PARTS = (1.0, 0.5, 0.0)  # tried in order until no energy is created
ENERGY_TOLERANCE = 1e-12  # of the kinetic energy
TARGET_RESIDUAL, MAX_RESIDUAL = 1e-9, 1e-6  # of (2), relative to the largest impulse: aim, and accepted as solved


@dataclass(frozen=True)
class StepResult:
    """State after a step, indices of the contacts that pushed, whether one bounced, and whether (2) was solved."""

    y: np.ndarray
    touched: tuple[int, ...]
    bounced: bool
    solved: bool


class TimeStepping:
    """Time steps of one system with its contacts and dry drives; `max_depth` is the accepted penetration, m."""

    def __init__(self, flow: FreeMotion, geometry: Geometry, max_depth: float):
        self.flow, self.geometry, self.max_depth = flow, geometry, max_depth
        self.nq = flow.nq
        self.directions = np.zeros(len(flow.drives))  # dry friction is among the impulses
        has_friction = flow.dyn.equations.friction
        self.offsets = np.array([actuator.offset * has_friction for actuator in flow.states.moving.system.actuators])
        self.forces = np.zeros((len(geometry.contacts), 3))  # impulses of the last step, the first guess of the next
        self.box_forces = np.zeros(len(geometry.drives))  # the same for dry drives
        self.mean_forces: dict[int, np.ndarray] = {}  # normal force and friction in world axes (4,) in the last step, N

    def take(self, t: float, y: np.ndarray, h: float) -> StepResult:
        """Return the step (1) to (3) of length h from (t, y)."""
        nq, flow, v = self.nq, self.flow, y[self.nq :]
        slope = flow(t, y, self.directions)
        middle = y + 0.5 * h * slope
        estimate = self._impulses(middle, v, v + h * slope[nq:], h)[0]
        middle[nq:] = 0.5 * (v + estimate)
        free = v + h * flow(t + 0.5 * h, middle, self.directions)[nq:]
        after, touched, bounced, solved = self._impulses(middle, v, free, h)
        mean = np.concatenate([middle[:nq], 0.5 * (v + after)])
        straight = flow.normalised(y[:nq] + h * flow(t + 0.5 * h, mean, self.directions)[:nq])
        allowed = self._energy(y)[1] + h * self._power(middle, mean[nq:])
        for q in (self._corrected(straight), straight):
            y_end = flow.projected(t + h, np.concatenate([q, after]))
            kinetic, energy = self._energy(y_end)
            if energy - allowed <= kinetic:
                break
        if energy > allowed:
            y_end[nq:] *= np.sqrt(max(0.0, 1.0 - (energy - allowed) / max(kinetic, 1e-300)))
        return StepResult(y_end, touched, bounced, solved)

    def _impulses(self, middle: np.ndarray, v: np.ndarray, free: np.ndarray, h: float):
        """Return v⁺ of (2), the contacts that pushed, whether one bounced, and whether (2) was solved."""
        geometry = self.geometry.at(middle)
        d = geometry.distance()
        near = geometry.distinct(np.flatnonzero(d <= self._reach(v, h)))
        geometry.keep(near)
        d, normals = d[near], geometry.B[geometry.normal_rows(near)]
        restitution, friction = geometry.contacts.restitution[near], geometry.contacts.friction[near]
        before, gained = normals @ v, normals @ (free - v)
        closing = d + 0.5 * h * (before + gained) <= 0.0
        hit = closing & (before < -BOUNCE_RATIO * np.abs(gained))
        after, solved, impulses = free, True, np.zeros((len(near), 3))
        for part in RESTITUTION_PARTS:
            c = np.where(hit & (restitution > 0.0), -part * restitution * before, 0.0)
            c = np.where(c > 0.0, c, -2.0 * np.maximum(d, 0.0) / h)
            solved_contacts = closing.copy()
            for _ in range(MAX_CONTACT_ROUNDS):
                impulses[:] = 0.0
                chosen = np.flatnonzero(solved_contacts)
                after, solved, impulses[chosen] = self._solve(near[chosen], free, c[chosen], friction[chosen], h)
                closed = d + 0.5 * h * (normals @ after) < -self.max_depth
                if not (closed & ~solved_contacts).any():
                    break
                solved_contacts |= closed
            if not (c > 0.0).any() or self._kinetic(after) <= self._kinetic(free) * (1.0 + ENERGY_TOLERANCE):
                break
        self.forces[:] = 0.0
        self.forces[near] = impulses
        pushed = np.flatnonzero(impulses[:, 0] > 0.0)
        friction_forces = np.einsum("ki,kij->kj", impulses[:, 1:], geometry.axes(near)[:, 1:]) / h
        self.mean_forces = {int(near[k]): np.array([impulses[k, 0] / h, *friction_forces[k]]) for k in pushed}
        return after, tuple(near[pushed].tolist()), bool((c[pushed] > 0.0).any()), solved

    def _reach(self, v: np.ndarray, h: float) -> float:
        """Return the distance beyond which nothing touches during a step; infinite for points, which are few."""
        shapes = self.geometry.contacts.shapes
        if not len(shapes):
            return np.finfo(float).max
        state = self.geometry.bodies.state
        with np.errstate(invalid="ignore"):
            turning = np.nan_to_num(np.linalg.norm(state[:, 15:18], axis=1) * shapes.reach, posinf=0.0)
        return MIN_REACH_M + 4.0 * h * float((np.linalg.norm(state[:, 12:15], axis=1) + turning).max())

    def _solve(self, contacts: np.ndarray, free: np.ndarray, c: np.ndarray, friction: np.ndarray, h: float):
        """Return the velocity with the impulses of these contacts and all dry drives, whether solved, and impulses."""
        geometry, drives = self.geometry, np.arange(len(self.geometry.drives))
        blocks: list[Block] = []
        rows: list[int] = []
        normals: list[int] = []
        guess: list[float] = []
        for contact_rows, impulse, mu in zip(
            geometry.contact_rows(contacts).tolist(), self.forces[contacts].tolist(), friction.tolist(), strict=True
        ):
            normals.append(len(rows))
            size = 3 if mu > 0.0 else 1
            rows += contact_rows[:size]
            guess += impulse[:size]
            blocks.append(Block("cone", mu) if mu > 0.0 else PUSH)
        rows += geometry.drive_rows(drives).tolist()
        guess += self.box_forces.tolist()
        blocks += [Block("box", h * float(level)) for level in geometry.drives.levels(geometry.rates())]
        impulses = np.zeros((len(contacts), 3))
        if not rows:
            return free, True, impulses
        B = geometry.B[rows]
        response = geometry.response(B)
        b = B @ free
        b[normals] -= c
        solution: ContactForces = solve_blocks(B @ response, b, blocks, np.array(guess), TARGET_RESIDUAL)
        for k, n in enumerate(normals):
            size = blocks[k].size
            impulses[k, :size] = solution.f[n : n + size]
        self.box_forces = solution.f[len(rows) - len(drives) :]
        return free + response @ solution.f, solution.residual <= MAX_RESIDUAL, impulses

    def _corrected(self, q: np.ndarray) -> np.ndarray:
        """Return the nearest configuration, in the metric of M, without points inside walls.

        A contact that has been moved stays among those of the following iterations: the corner of a tilted box cannot
        touch while another one is lower, but must not be pushed into the floor by lifting that one.
        """
        zero, moved = np.zeros(self.flow.nw), np.zeros(len(self.geometry.contacts), bool)
        for _ in range(MAX_CORRECTIONS):
            geometry = self.geometry.at(np.concatenate([q, zero]))
            d = geometry.distance()
            if not (d < -self.max_depth).any():
                break
            moved |= d < -10.0 * d.min()
            near = geometry.distinct(np.flatnonzero(moved))
            normals = geometry.normal_rows(near)
            rows = geometry.B[normals]
            response = geometry.response(rows)
            A = rows @ response
            pushes = solve_complementarity(0.5 * (A + A.T), geometry.offsets(near))
            if pushes is None:
                break
            q = self.flow.normalised(self.flow.states.moved(q, response @ pushes))
        return q

    def _kinetic(self, v: np.ndarray) -> float:
        """Return twice the kinetic energy at the configuration in the middle of the step."""
        return float(v @ self.geometry.M @ v)

    def _energy(self, y: np.ndarray) -> tuple[float, float]:
        """Return the kinetic and the total energy of a state, J."""
        kinetic, potential = self.flow.states.moving.energy(y[: self.nq], y[self.nq :])
        return float(kinetic), float(kinetic + potential)

    def _power(self, middle: np.ndarray, mean: np.ndarray) -> float:
        """Return the power of the inputs at a velocity, minus the power of the actuators' friction offsets, W."""
        states, inputs = self.flow.states, self.flow.inputs
        q, w = self.flow.split(middle)
        power = 0.0
        if inputs.tau.any():
            power += float(inputs.tau @ states.actuator_rates(q, mean))
        if self.offsets.any():
            power -= float(self.offsets @ states.moving.actuator_jacobian(q) @ mean)
        if inputs.wrench.any():
            zero, wrenches = np.zeros_like(w), inputs.wrench.reshape(-1, 6)
            forces = states.moving.generalized_forces
            power += float((forces(q, w, zero, *np.zeros_like(wrenches)) - forces(q, w, zero, *wrenches)) @ mean)
        return power
