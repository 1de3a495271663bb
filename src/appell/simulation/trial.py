"""Forces against accelerations at one instant: what touching points and still drives would do.

A point that touches with next to no normal speed presses on its wall or leaves it, and sticks or slides if it presses;
a drive that stands still stays or moves. All are decided together: forces λ and accelerations u along their rows obey
the laws of `blocks` (Gauss' principle, with friction within cones and bounds).
"""

from __future__ import annotations

import numpy as np

from appell.simulation.blocks import PUSH, Block, solve_blocks
from appell.simulation.geometry import Geometry
from appell.simulation.phase import RECALL
from appell.simulation.status import Status, Stop


class Trial:
    """Some contacts and some drives of a geometry, at its present state."""

    def __init__(
        self, geometry: Geometry, contacts: np.ndarray, drives: np.ndarray, free: np.ndarray, rest_speed: float
    ):
        self.geometry, self.contacts, self.drives = geometry, contacts, drives
        self.mu = geometry.contacts.friction[contacts]
        rows: list[int] = []
        pushes: list[np.ndarray] = []
        self.blocks: list[Block] = []
        self.slides: list[np.ndarray | None] = []  # in the world
        self.normals = np.zeros(len(contacts), int)
        for j, k in enumerate(contacts):
            own = list(range(3 * k, 3 * k + 3))
            along = geometry.speed[own[1:]]
            speed = float(np.hypot(*along))
            slides = self.mu[j] > 0.0 and speed > rest_speed
            self.slides.append(along / speed @ geometry.motion.frame[k, 1:] if slides else None)
            self.normals[j] = len(rows)
            if self.mu[j] > 0.0 and not slides:
                self.blocks.append(Block("cone", float(self.mu[j])))
                rows += own
                pushes += [*geometry.B[own]]
            else:
                self.blocks.append(PUSH)
                rows.append(own[0])
                rubbing = self.mu[j] * (along / speed @ geometry.B[own[1:]]) if slides else 0.0
                pushes.append(geometry.B[own[0]] - rubbing)
        self.places = len(rows) + np.arange(len(drives))
        for row in geometry.of_drives(drives):
            rows.append(int(row))
            pushes.append(geometry.B[row])
        self.blocks += [Block("box", float(level)) for level in geometry.drives.level[drives]]
        self.A = geometry.B[rows] @ geometry.response(np.array(pushes))
        self.b = geometry.B[rows] @ free + geometry.drift[rows]
        if len(contacts):
            motion = geometry.motion
            self.b[self.normals] += RECALL**2 * motion.gap[contacts] / motion.slope[contacts]  # as in a phase
        self.tiny = 1e-7 * max(1.0, float(np.abs(self.b).max(initial=0.0)))  # accelerations below this are none

    def solve(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Normal forces and normal accelerations."""
        found = solve_blocks(self.A, self.b, self.blocks)
        if not found.solved:
            names = [self.geometry.contacts.names[k] for k in self.contacts]
            names += [self.geometry.drives.names[k] for k in self.drives]
            raise Stop(Status.UNSOLVED, f"They concern {', '.join(names)} at t = {t:.9g}.")
        self.u = found.u
        return found.f[self.normals], self.u[self.normals]

    def sliding(self, j: int) -> np.ndarray | None:
        """Where a point slides, or is about to; None if it sticks or has no friction."""
        if self.blocks[j].kind != "cone":
            return self.slides[j]
        n = self.normals[j]
        along = self.u[n + 1 : n + 3]
        length = float(np.hypot(*along))
        return along @ self.geometry.motion.frame[self.contacts[j], 1:] / length if length > self.tiny else None

    def moving(self, j: int) -> float:
        """The direction in which a drive is about to move, 0 if it stays; what moves takes along what is tied to it."""
        accelerations = self.u[self.places]
        least = self.tiny if np.abs(accelerations).max() <= self.tiny else 1e-2 * self.tiny
        return float(np.sign(accelerations[j])) if abs(accelerations[j]) > least else 0.0
