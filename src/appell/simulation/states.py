"""Where the states of a run belong, and how they are kept there.

y = (q, w): coordinates, and the velocities in which the motion is integrated. For most systems these are v, and every
pair is a state: nothing has to be kept. What else may be so is in `constrained_states`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from appell.compile.function import Function
from appell.compile.native.bound import Bound
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.motion.curve import Piece
from appell.simulation.prescribed import PrescribedMotions


class States:
    """The states of a system whose velocities are free: all pairs (q, v)."""

    keeps = False  # whether states have to be led back after a step

    def __init__(self, dyn: Dynamics, moving: Dynamics, motions: PrescribedMotions):
        self.dyn, self.moving, self.motions = dyn, moving, motions  # `moving`: the catalogue in which w is the velocity
        self.nq, self.nw = moving.system.nq, moving.system.nv

    def rate(self, slides: bool) -> Function:
        """(q̇, ẇ) of q, w, tau, and the directions s of dry drives if some slide."""
        if not slides:
            return self.dyn.state_rate

        def body(equations, q, v, tau, s, wrenches):
            return {"rate": equations.rate(q, v), "a": equations.acceleration(q, v, tau, wrenches, s)}

        doc = "The equations of motion with the directions of dry friction given as -1, 0 or 1, a drive each."
        return self.dyn.function("sliding_state_rate", "q v tau s", body, doc, pushed=True)

    def velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """v of states, any batch."""
        return w

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The configuration after a step along w."""
        return self.moving.system.integrate(q, step)

    def start(self, t: float, q: np.ndarray, v, project: bool) -> np.ndarray:
        """The state of a start, checked."""
        return np.concatenate([q, numbers(v, self.nw, "v0", self.dyn.system.owner)])

    def kept(self, t: float, y: np.ndarray) -> np.ndarray:
        """The state that is meant by one that a step has led to."""
        return y

    def actuator_rates(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """θ̇ of the actuators."""
        return self.dyn.actuator_jacobian(q) @ w

    def groups(self, q: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
        """What a record has of states, any batch."""
        return {"q": q, "v": w}

    @property
    def units(self) -> dict[str, dict[str, str]]:
        """Names and units of groups that only these states have."""
        return {}

    def shown(self, piece: Piece) -> Piece:
        """A step as a record keeps it: (q, v)."""
        return piece

    def volume(self, q: np.ndarray) -> np.ndarray:
        """How independent rows are at configurations, a batch; of systems without, as ever."""
        return np.zeros(len(q))

    def blamed(self, q: np.ndarray) -> str:
        """The constraint that is about to say nothing."""
        return "It is no constraint"

    # ---- impulses

    @cached_property
    def mass(self) -> Bound:
        """The inertia matrix; of a long robot that touches nothing it would take long to compile, for nothing."""
        return self.moving.mass_matrix.bind()

    def place(self, q: np.ndarray) -> None:
        """Evaluate the inertia at a configuration, for `response`."""
        self.mass.q[:] = q
        self.mass()

    def response(self, rows: np.ndarray) -> np.ndarray:
        """M⁻¹ rowsᵀ, (nw, rows)."""
        _, found, failed = lapack.dposv(self.mass.M, rows.T, lower=1)
        return np.linalg.solve(self.mass.M, rows.T) if failed else found

    def stands(self, rows: np.ndarray) -> bool:
        """Whether nothing moves if these rows do not."""
        return int(np.linalg.matrix_rank(rows, tol=1e-9)) == self.nw


def numbers(given, size: int, name: str, owner: str) -> np.ndarray:
    """As many finite numbers, or an error that names them."""
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {given!r}.", expected=f"{size} numbers") from None
    if found.shape != (size,):
        raise ArgumentError(f"{name} has shape {found.shape}.", expected=f"({size},) for {owner}")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name} holds a value that is not finite: {found}.", expected="finite numbers")
    return found
