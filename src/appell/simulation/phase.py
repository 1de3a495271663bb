"""A phase of a run: some points rest on their walls, and forces keep them there.

    M a = τ - h + Fᵀλ            B a + β + 2κ B v + κ² φ/|g| = 0                                      (1)

The rows of B are the normals of the resting points, and two tangents more for each that sticks; β is their acceleration
at a = 0, and the terms in κ bring back what the integrator's error lets slip. F is B, but for a point that slides
with friction its row is (n - μ d)ᵀJ, d the direction of sliding. Several points may rest redundantly: λ is then the
solution of least norm, and a does not depend on the choice.

A phase holds as long as λ could be had by forces that push, within their friction cones, and no sliding point stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from appell.compile.stepper.stepper import Stepper
from appell.motion.curve import Piece
from appell.simulation.complementarity import least_norm
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry

RECALL = 30.0  # κ, 1/s
LOOKS = 12  # the degree at which a piece is sampled for straying points
SLOW = 1e-3  # m/s


@dataclass
class Rest:
    """One resting point: which contact, and how it moves along the wall."""

    index: int
    friction: float
    direction: np.ndarray | None = None  # of sliding, in the world; None: no friction, or it sticks

    @property
    def sticks(self) -> bool:
        return self.friction > 0.0 and self.direction is None


@dataclass(frozen=True)
class Reaction:
    """Forces on the resting points and the acceleration with them."""

    a: np.ndarray
    normal: np.ndarray  # (K)
    tangential: np.ndarray  # (K, 2), zero where a point does not stick
    unmet: float  # the part of the constraint that no force can meet


@dataclass
class Phase:
    """The equations of motion with these points at rest."""

    flow: FreeMotion
    geometry: Geometry | None = None
    rests: list[Rest] = field(default_factory=list)

    @cached_property
    def members(self) -> np.ndarray:
        """The contacts at rest."""
        return np.array([rest.index for rest in self.rests], int)

    @cached_property
    def free(self) -> np.ndarray:
        """All other contacts whose walls are there."""
        return np.setdiff1d(np.flatnonzero(self.geometry.active) if self.geometry else np.zeros(0, int), self.members)

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        rate = self.flow(t, y)
        if self.rests:
            rate[self.flow.nq :] = self.reaction(t, y, rate[self.flow.nq :]).a
        return rate

    def stepper(self, method: str) -> Stepper:
        """What integrates the phase: machine code around the compiled rate, or around this object."""
        return self.flow.stepper(method, self if self.rests else None)

    def reaction(self, t: float, y: np.ndarray, free: np.ndarray) -> Reaction:
        """(1), given the acceleration without contact forces."""
        assert self.geometry is not None
        geometry, which, v = self.geometry.at(y), self.members, y[self.flow.nq :]
        motion, count = geometry.motion, len(self.rests)
        normals = geometry.normal_rows(which)
        slip = motion.gap[which] / motion.slope[which]
        rows, pushes = [*normals], [*normals]
        drift = list(geometry.normal_drift(which) + 2.0 * RECALL * (normals @ v) + RECALL**2 * slip)
        sticking = [k for k, rest in enumerate(self.rests) if rest.sticks]
        for k, rest in enumerate(self.rests):
            if rest.direction is not None:
                J = motion.J[geometry.contacts.point[rest.index]]
                pushes[k] = normals[k] - rest.friction * (self._sliding(rest, J @ v) @ J)
        for k in sticking:
            index = self.rests[k].index
            tangents = geometry.frames([index])[0, 1:]
            J = tangents @ motion.J[geometry.contacts.point[index]]
            rows += [*J]
            pushes += [*J]
            drift += list(tangents @ motion.drift[geometry.contacts.point[index]] + 2.0 * RECALL * (J @ v))
        B, F = np.array(rows), np.array(pushes)
        response = np.linalg.solve(geometry.M, F.T)
        right = -(B @ free + drift)
        forces = np.linalg.lstsq(B @ response, right, rcond=1e-11)[0]
        tangential = np.zeros((count, 2))
        for j, k in enumerate(sticking):
            tangential[k] = forces[count + 2 * j : count + 2 * j + 2]
        unmet = float(np.abs(B @ response @ forces - right).max() / max(1.0, np.abs(right).max()))
        return Reaction(free + response @ forces, forces[:count], tangential, unmet)

    def _sliding(self, rest: Rest, velocity: np.ndarray) -> np.ndarray:
        """The direction of sliding, continued past a stop so that the equations stay smooth up to it.

        A point that has just begun to slide turns into the direction of its acceleration almost at once, which is
        stiff; below SLOW its direction is therefore held to the one in which it began.
        """
        assert self.geometry is not None
        assert rest.direction is not None
        n = self.geometry.motion.normal[rest.index]
        tangential = velocity - (n @ velocity) * n
        ahead = tangential @ rest.direction
        if ahead < 0.0:
            tangential = tangential - ahead * rest.direction
        tangential = tangential + SLOW**2 / (SLOW + np.linalg.norm(tangential)) * rest.direction
        return tangential / np.linalg.norm(tangential)

    def sag(self, piece: Piece) -> float:
        """How far resting points stray from their walls along a piece; an interpolant is worse than its step."""
        assert self.geometry is not None
        states = piece.over(piece.start, piece.end, LOOKS)[:, : self.flow.nq]
        gaps = self.geometry.contacts.gaps(states)[:, self.members]
        return float(np.abs(gaps / self.geometry.at(piece.at(piece.start)).motion.slope[self.members]).max())

    def pulled_back(self, y: np.ndarray) -> np.ndarray:
        """The state with the resting points back on their walls, by the shortest way in the metric of M."""
        assert self.geometry is not None
        nq = self.flow.nq
        geometry = self.geometry.at(y)
        rows = geometry.normal_rows(self.members)
        response = np.linalg.solve(geometry.M, rows.T)
        stray = geometry.motion.gap[self.members] / geometry.motion.slope[self.members]
        q = self.flow.system.integrate(y[:nq], -response @ least_norm(rows @ response, stray))
        return np.concatenate([q, y[nq:]])

    def refresh(self, y: np.ndarray) -> None:
        """Take the directions of sliding from the present state."""
        if any(rest.direction is not None for rest in self.rests):
            assert self.geometry is not None
            motion = self.geometry.at(y).motion
            for rest in self.rests:
                if rest.direction is not None:
                    velocity = motion.velocity[self.geometry.contacts.point[rest.index]]
                    if np.linalg.norm(velocity) > 10.0 * SLOW:
                        rest.direction = self._sliding(rest, velocity)
