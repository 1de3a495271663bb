"""A phase of a run: some points rest on their walls, some drives are stuck, and forces keep them there.

    M a = τ - h + Fᵀλ            B a + β + 2κ B v + κ² φ/|g| = 0                                      (1)

The rows of B are the normals of the resting points (and of joints at their stops), two tangents more for each point
that sticks, and the rows θ̇ = D v of drives that dry friction holds still; β is their acceleration at a = 0, and the
terms in κ bring back what the integrator's error lets slip. F is B, but for a point that slides with friction its row
is (n - μ d)ᵀJ, d the direction of sliding. Drives that slide have their friction in h, with the direction s of the
phase. Rows may be redundant: λ is then the solution of least norm, and a does not depend on the choice.

A phase holds as long as λ could be had by forces that push, within their friction cones and below the friction at rest
of the drives, and nothing that slides stops. If the rows leave no motion at all, the phase is still: v and a are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from appell.compile.ode.stepper import Stepper
from appell.motion.curve import Piece
from appell.simulation.contact.complementarity import least_norm
from appell.simulation.contact.geometry import Geometry
from appell.simulation.flow import FreeMotion

RECALL = 30.0  # κ, 1/s
LOOKS = 12  # the degree at which a piece is sampled for straying points
SLOW = 1e-3  # m/s
RANK = 1e-11  # a matrix of a worse condition than this is taken as singular


@dataclass
class Rest:
    """One resting contact: which, and how it moves along the wall."""

    index: int
    friction: float
    direction: np.ndarray | None = None  # of sliding, in the world; None: no friction, or it sticks

    @property
    def sticks(self) -> bool:
        return self.friction > 0.0 and self.direction is None


class Reaction(NamedTuple):
    """The acceleration with the forces of (1), which stand in the order of the phase's rows."""

    a: np.ndarray
    forces: np.ndarray
    A: np.ndarray
    right: np.ndarray

    @property
    def unmet(self) -> float:
        """The part of the constraint that no force can meet."""
        return float(np.abs(self.A @ self.forces - self.right).max() / max(1.0, np.abs(self.right).max()))


@dataclass
class Phase:
    """The equations of motion with these contacts at rest and the dry drives in these directions, 0 if stuck."""

    flow: FreeMotion
    geometry: Geometry
    directions: np.ndarray
    rests: list[Rest] = field(default_factory=list)
    still: bool = False  # nothing moves
    redundant: bool = False  # found out when a force is first asked for

    @cached_property
    def members(self) -> np.ndarray:
        """The contacts at rest."""
        return np.array([rest.index for rest in self.rests], int)

    @cached_property
    def free(self) -> np.ndarray:
        """All other contacts whose walls are there."""
        return np.setdiff1d(np.flatnonzero(self.geometry.active), self.members)

    @cached_property
    def sticking(self) -> list[int]:
        """Which of the rests stick."""
        return [k for k, rest in enumerate(self.rests) if rest.sticks]

    @cached_property
    def sliding(self) -> list[tuple[int, Rest]]:
        return [(k, rest) for k, rest in enumerate(self.rests) if rest.direction is not None]

    @cached_property
    def stuck(self) -> np.ndarray:
        """The drives that friction holds."""
        return np.flatnonzero(self.directions == 0.0)

    @cached_property
    def rows(self) -> np.ndarray:
        """Where the rows of B stand among those of the geometry: normals, tangents, drives."""
        place = self.geometry
        return np.concatenate(
            [place.normal(self.members), place.tangents(self.members[self.sticking]), place.of_drives(self.stuck)]
        )

    @cached_property
    def locked(self) -> np.ndarray:
        """The velocities that stuck drives keep at zero alone."""
        axes = self.geometry.drives.axis[self.stuck] if len(self.stuck) else np.zeros(0, int)
        return axes[axes >= 0]

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        rate = self.flow(t, y, self.directions)
        if len(self.rows):
            nq = self.flow.nq
            rate[nq:] = self.reaction(y, rate[nq:]).a
        return rate

    def stepper(self, method: str) -> Stepper:
        """What integrates the phase: machine code around the compiled rate, or around this object."""
        self.flow.slide(self.directions)
        return self.flow.stepper(method, self if len(self.rows) else None)

    def reaction(self, y: np.ndarray, free: np.ndarray) -> Reaction:
        """(1), given the acceleration without these forces."""
        geometry, rows, count = self.geometry.at(y), self.rows, len(self.rests)
        B = geometry.B.take(rows, axis=0)
        right = B.dot(free)
        right += geometry.drift.take(rows)
        right += (2.0 * RECALL) * geometry.speed.take(rows)
        if count:
            motion, which = geometry.motion, self.members
            right[:count] += RECALL**2 * motion.gap.take(which) / motion.slope.take(which)
        F = B
        if self.sliding:
            F = B.copy()
            for k, rest in self.sliding:
                along, across = self._sliding(rest)
                i = 3 * rest.index
                F[k] -= (rest.friction * along) * geometry.B[i + 1] + (rest.friction * across) * geometry.B[i + 2]
        response = geometry.response(F)
        A = B.dot(response)
        right = -right
        forces = self._solved(A, right)
        a = response.dot(forces)
        a += free
        if len(self.locked):
            a[self.locked] = 0.0
        return Reaction(a, forces, A, right)

    def _solved(self, A: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right; the shortest of all solutions if the rows are redundant."""
        if not self.redundant:
            lu, _, found, failed = lapack.dgesv(A, right)
            pivots = [abs(x) for x in lu.diagonal().tolist()]
            if not failed and min(pivots) > RANK * max(pivots):
                return found
            self.redundant = True
        return np.linalg.lstsq(A, right, rcond=RANK)[0]

    def _sliding(self, rest: Rest) -> tuple[float, float]:
        """The direction of sliding along the two tangents, continued past a stop so that (1) stays smooth up to it.

        A point that has just begun to slide turns into the direction of its acceleration almost at once, which is
        stiff; below SLOW its direction is therefore held to the one in which it began.
        """
        assert rest.direction is not None
        i = 3 * rest.index
        x, y = self.geometry.speed[i + 1 : i + 3].tolist()
        begun_x, begun_y = (self.geometry.motion.frame[rest.index, 1:] @ rest.direction).tolist()
        ahead = x * begun_x + y * begun_y
        if ahead < 0.0:
            x, y = x - ahead * begun_x, y - ahead * begun_y
        share = SLOW**2 / (SLOW + math.hypot(x, y))
        x, y = x + share * begun_x, y + share * begun_y
        length = math.hypot(x, y)
        return x / length, y / length

    def sag(self, piece: Piece) -> float:
        """How far resting points stray from their walls along a piece; an interpolant is worse than its step."""
        states = piece.over(piece.start, piece.end, LOOKS)[:, : self.flow.nq]
        gaps = self.geometry.contacts.gaps(states)[:, self.members]
        return float(np.abs(gaps / self.geometry.at(piece.at(piece.start)).motion.slope[self.members]).max())

    @property
    def keeps(self) -> bool:
        """Whether states have to be led back after a step."""
        return self.flow.states.keeps

    def kept(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.flow.kept(t, y)

    def pulled_back(self, t: float, y: np.ndarray) -> np.ndarray:
        """The state with the resting points back on their walls, by the shortest way in the metric of M."""
        nq, geometry = self.flow.nq, self.geometry.at(y)
        rows = geometry.B[geometry.normal(self.members)]
        response = geometry.response(rows)
        stray = geometry.motion.gap[self.members] / geometry.motion.slope[self.members]
        q = self.flow.states.integrate(y[:nq], -response @ least_norm(rows @ response, stray))
        return self.flow.kept(t, np.concatenate([q, y[nq:]]))

    def refresh(self, y: np.ndarray) -> None:
        """Take the directions of sliding from the present state."""
        if self.sliding:
            geometry = self.geometry.at(y)
            for _, rest in self.sliding:
                i = 3 * rest.index
                if np.hypot(*geometry.speed[i + 1 : i + 3]) > 10.0 * SLOW:
                    rest.direction = np.array(self._sliding(rest)) @ geometry.motion.frame[rest.index, 1:]
