"""A phase of a run: a set of points that rest on their walls and of drives that stick, held there by forces.

    M a = τ - h + Fᵀλ            B a + β + 2κ B v + κ² φ/|g| = 0                                      (1)

The rows of B are the normals of the resting points (and of joints at their stops), two tangents for each point that
sticks, and the rows θ̇ = D v of drives that dry friction holds; β is their acceleration at a = 0, and the terms in κ
correct the drift of the integrator (Baumgarte stabilisation). F equals B, except that the row of a point that slides
with friction is (n - μ d)ᵀJ, where d is the direction of sliding. The friction of sliding drives is part of h, with the
direction s of the phase. Rows may be redundant: λ is then the solution of least norm, and a does not depend on the
choice.

A phase lasts as long as λ can be realised by forces that push, within their friction cones and below the static
friction of the drives, and nothing that slides stops. If the rows leave no motion, the phase is still: v and a are
zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.compile.ode.stepper import Stepper
from appell.motion.curve import Piece, value_matrix
from appell.simulation.contact.complementarity import least_norm
from appell.simulation.contact.geometry import Geometry
from appell.simulation.events.phase_rate import SLOW_SLIDING_M_S, STABILISATION, PhaseRate, sliding_kernel
from appell.simulation.flow import FreeMotion

MAX_UNMET = 1e-3  # residual of (1) above which a phase is singular
MAX_PUSH_M = 1e-10  # by which moving resting points onto their walls may push other contacts into theirs
DRIFT_SAMPLES = 12  # degree at which a piece is sampled to measure the drift of resting points
RANK_TOLERANCE = 1e-11  # ratio of pivots or singular values below which a matrix counts as singular


@dataclass
class Rest:
    """One resting contact and its motion along the wall."""

    index: int
    friction: float
    direction: np.ndarray | None = None  # of sliding, world axes; None: the point sticks, or has no friction

    @property
    def sticks(self) -> bool:
        return self.friction > 0.0 and self.direction is None


class Reaction(NamedTuple):
    """Acceleration and forces of (1), the forces in the order of the phase's rows."""

    a: np.ndarray
    forces: np.ndarray
    A: np.ndarray
    right: np.ndarray

    def is_met(self, limit: float) -> bool:
        """Return whether the residual that no force can remove is below a limit, relative to the right-hand side."""
        residual = self.A.dot(self.forces) - self.right
        if residual.dot(residual) <= limit * limit:
            return True
        return bool(np.abs(residual).max() <= limit * max(1.0, np.abs(self.right).max()))


@dataclass
class Phase:
    """The equations of motion with given contacts at rest and given directions of the dry drives (0: stuck)."""

    flow: FreeMotion
    geometry: Geometry
    directions: np.ndarray
    rests: list[Rest] = field(default_factory=list)
    still: bool = False  # whether nothing can move
    redundant: bool = False  # whether the rows are dependent; set when forces are first computed
    _positions: tuple[int, np.ndarray, np.ndarray] | None = None  # version of the geometry, rows, slots of the members

    @cached_property
    def members(self) -> np.ndarray:
        """Indices of the contacts at rest."""
        return np.array([rest.index for rest in self.rests], int)

    @cached_property
    def free(self) -> np.ndarray:
        """Indices of all other points and stops whose walls are active."""
        is_free = self.geometry.active.copy()
        is_free[self.members] = False
        return np.flatnonzero(is_free[: self.geometry.contacts.fixed])

    @cached_property
    def touching(self) -> np.ndarray:
        """Indices of the features of shapes at rest."""
        return self.members[self.members >= self.geometry.contacts.fixed]

    @cached_property
    def sticking(self) -> list[int]:
        """Indices into `rests` of the contacts that stick."""
        return [k for k, rest in enumerate(self.rests) if rest.sticks]

    @cached_property
    def cones(self) -> list[tuple[int, int, float]]:
        """Of each contact that sticks: index of its normal force, of its first tangential force, and friction."""
        first = len(self.rests)
        return [(k, first + 2 * j, self.rests[k].friction) for j, k in enumerate(self.sticking)]

    @cached_property
    def sliding(self) -> list[tuple[int, Rest]]:
        """Contacts that slide with friction, each with its index into `rests`."""
        return [(k, rest) for k, rest in enumerate(self.rests) if rest.direction is not None]

    @cached_property
    def stuck(self) -> np.ndarray:
        """Indices of the drives that friction holds."""
        return np.flatnonzero(self.directions == 0.0)

    @property
    def rows(self) -> np.ndarray:
        """Indices of the rows of B among those of the geometry: normals, tangents, drives."""
        return self._located()[0]

    @property
    def slots(self) -> np.ndarray:
        """Positions of the members among the evaluated contacts of the geometry."""
        return self._located()[1]

    def _located(self) -> tuple[np.ndarray, np.ndarray]:
        """Return `rows`, and the positions of the members among the evaluated contacts."""
        geometry = self.geometry
        if self._positions is None or self._positions[0] != geometry.version:
            slots = geometry.slots(self.members)
            rows = [
                geometry.normal_rows(self.members),
                geometry.tangent_rows(self.members[self.sticking]),
                geometry.drive_rows(self.stuck),
            ]
            self._positions = (geometry.version, np.concatenate(rows), slots)
        return self._positions[1:]

    @cached_property
    def locked(self) -> np.ndarray:
        """Indices of the velocities that are zero because a single stuck drive determines them."""
        axes = self.geometry.drives.axis[self.stuck] if len(self.stuck) else np.zeros(0, int)
        return axes[axes >= 0]

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return ẏ with the forces of this phase."""
        rate = self.flow(t, y, self.directions)
        if len(self.rows):
            nq = self.flow.nq
            rate[nq:] = self.reaction(y, rate[nq:]).a
        return rate

    def stepper(self, method: str) -> Stepper:
        """Return the stepper of this phase: in machine code, or around this object if there are rows of constraints."""
        self.flow.set_directions(self.directions)
        if not len(self.rows):
            return self.flow.stepper(method)
        return self.flow.stepper(method, self if self.projects else self.compiled().rate)

    def compiled(self) -> PhaseRate:
        """Return the machine code of the rate, loaded with the rows of this phase; not for constrained systems."""
        flow = self.flow
        if flow.phase_rate is None:
            flow.phase_rate = PhaseRate(flow, self.geometry)
        flow.phase_rate.load(self)
        return flow.phase_rate

    def forces(self, t: float, y: np.ndarray) -> list[float] | None:
        """Return the forces of (1) in the order of the rows, and evaluate the geometry; None if none satisfy (1)."""
        if not self.projects and not self.redundant:
            compiled = self.compiled()
            rate = compiled(t, y)
            if compiled.rank == len(compiled.forces) and math.isfinite(rate.dot(rate)):
                return compiled.forces.tolist()
        reaction = self.reaction(y, self.flow(t, y, self.directions)[self.flow.nq :])
        return reaction.forces.tolist() if reaction.is_met(MAX_UNMET) else None

    def contact_forces(self, t: float, y: np.ndarray) -> dict[int, np.ndarray]:
        """Return normal force and friction in world axes (4,), N, of every resting contact; NaN if none satisfy (1)."""
        if not self.rests:
            return {}
        solution = self.forces(t, y)
        if solution is None:
            return {rest.index: np.full(4, np.nan) for rest in self.rests}
        rows, slots = self._located()
        frame, normal = self.geometry.frame, solution[: len(self.rests)]
        friction = np.zeros((len(self.rests), 3))
        for j, k in enumerate(self.sticking):
            first = len(self.rests) + 2 * j
            friction[k] = solution[first : first + 2] @ frame[slots[k], 1:]
        for k, rest in self.sliding:
            direction = self._sliding_direction(rest, rows[k], slots[k])
            friction[k] = -rest.friction * normal[k] * (direction @ frame[slots[k], 1:])
        return {rest.index: np.array([f, *t]) for rest, f, t in zip(self.rests, normal, friction, strict=True)}

    def reaction(self, y: np.ndarray, free: np.ndarray) -> Reaction:
        """Solve (1), given the acceleration `free` without the forces of this phase."""
        geometry, count = self.geometry.at(y), len(self.rests)
        rows, slots = self._located()
        B = geometry.B.take(rows, axis=0)
        right = B.dot(free)
        right += geometry.drift.take(rows)
        right += (2.0 * STABILISATION) * geometry.speed.take(rows)
        if count:
            right[:count] += STABILISATION**2 * geometry.gap.take(slots) / geometry.slope.take(slots)
        F = B
        if self.sliding:
            F = B.copy()
            for k, rest in self.sliding:
                along, across = self._sliding_direction(rest, rows[k], slots[k])
                i = rows[k]
                F[k] -= (rest.friction * along) * geometry.B[i + 1] + (rest.friction * across) * geometry.B[i + 2]
        response = geometry.response(F)
        A = B.dot(response)
        right = -right
        forces = self._solve(A, right)
        a = response.dot(forces)
        a += free
        if len(self.locked):
            a[self.locked] = 0.0
        return Reaction(a, forces, A, right)

    def _solve(self, A: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return A⁻¹ right; the solution of least norm if the rows are redundant."""
        if not self.redundant:
            lu, _, forces, failed = scipy.linalg.lapack.dgesv(A, right)
            pivots = [abs(x) for x in lu.diagonal().tolist()]
            if not failed and min(pivots) > RANK_TOLERANCE * max(pivots):
                return forces
            self.redundant = True
        return np.linalg.lstsq(A, right, rcond=RANK_TOLERANCE)[0]

    def _sliding_direction(self, rest: Rest, row: int, slot: int) -> np.ndarray:
        """Return the direction of sliding in the two tangents, by `sliding_kernel`."""
        assert rest.direction is not None
        speed, tangents = self.geometry.speed[row + 1 : row + 3], self.geometry.frame[slot, 1:]
        return sliding_kernel()(speed, tangents, rest.direction, 1.0)

    def drift(self, piece: Piece) -> float:
        """Return the largest distance of a resting point from its wall along a piece, m.

        The interpolant is less accurate than the ends of the step.
        """
        states = value_matrix(len(piece.series) - 1, DRIFT_SAMPLES) @ piece.series[:, : self.flow.nq]
        contacts, largest = self.geometry.contacts, 0.0
        points = len(self.members) - len(self.touching)
        if points:
            slope = self.geometry.slope[self.slots[:points]]  # where the rate was evaluated last
            largest = float(np.abs(contacts.gaps(states)[:, self.members[:points]] / slope).max())
        if len(self.touching):
            gaps = contacts.shapes.gaps(states, self.touching - contacts.fixed)[0]
            largest = max(largest, float(np.abs(gaps).max()))
        return largest

    @property
    def varies(self) -> bool:
        """Whether the rate changes from step to step: directions of sliding are updated after every step."""
        return bool(self.sliding)

    @property
    def projects(self) -> bool:
        """Whether states have to be projected after a step."""
        return self.flow.states.projects

    def projected(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the state at the end of a step, projected onto the constraints if there are any."""
        return self.flow.projected(t, y)

    def on_walls(self, t: float, y: np.ndarray, closed: Sequence[int] | np.ndarray = ()) -> np.ndarray:
        """Return the state with the resting points on their walls: the nearest one in the metric of M.

        Other closed contacts are not pushed into their walls by this. The rows change with the configuration, so their
        velocities are removed there once more.
        """
        nq, geometry = self.flow.nq, self.geometry.at(y)
        others = np.array([k for k in closed if k not in self.members], int)
        distances, limits = geometry.offsets(self.members), geometry.offsets(others)
        moved, other_rows = geometry.normal_rows(self.members), geometry.normal_rows(others)
        for _ in range(len(others) + 1):
            rows = geometry.B[moved]
            response = geometry.response(rows)
            step = -response @ least_norm(rows @ response, distances)
            pushed = limits + geometry.B[other_rows] @ step < np.minimum(limits, 0.0) - MAX_PUSH_M
            if not pushed.any() or not (pushed := pushed & ~np.isin(other_rows, moved)).any():
                break
            moved = np.concatenate([moved, other_rows[pushed]])
            distances = np.concatenate([distances, np.maximum(limits[pushed], 0.0)])
        q = self.flow.normalised(self.flow.states.moved(y[:nq], step))
        geometry.at(np.concatenate([q, y[nq:]]))
        v = geometry.without_components(geometry.B[self.rows], y[nq:]).copy()
        v[self.locked] = 0.0
        return self.flow.projected(t, np.concatenate([q, v]))

    def refresh(self, y: np.ndarray) -> None:
        """Update the directions of sliding from a state."""
        if self.sliding:
            geometry = self.geometry.at(y)
            rows, slots = self._located()
            for k, rest in self.sliding:
                if math.hypot(*geometry.speed[rows[k] + 1 : rows[k] + 3].tolist()) > 10.0 * SLOW_SLIDING_M_S:
                    rest.direction = self._sliding_direction(rest, rows[k], slots[k]) @ geometry.frame[slots[k], 1:]
            if not self.projects:
                self.compiled().turn(self)
