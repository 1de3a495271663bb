"""The table: which quantities of which robots, in which batches, and how many times faster than the best peer.

A peer gives the full regressor; ours gives the columns of base parameters without structural zeros, and is unfolded
to the full one before the two are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.function import Function
from appell.dynamics import Dynamics

ARGUMENTS = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "inverse_dynamics_derivatives": ("q", "v", "a"),
    "forward_dynamics_derivatives": ("q", "v", "tau"),
    "regressor": ("q", "v", "a"),
}
TITLES = {
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix": "inertia matrix",
    "inverse_dynamics_derivatives": "derivatives of inverse dynamics",
    "forward_dynamics_derivatives": "derivatives of forward dynamics",
    "regressor": "base regressor",
}
OURS: dict[str, Callable[[Dynamics], Function]] = {
    "inverse_dynamics": lambda d: d.inverse_dynamics,
    "forward_dynamics": lambda d: d.forward_dynamics,
    "mass_matrix": lambda d: d.mass_matrix,
    "inverse_dynamics_derivatives": lambda d: d.inverse_dynamics.jacobian("q", "v", "a"),
    "forward_dynamics_derivatives": lambda d: d.forward_dynamics.jacobian("q", "v", "tau"),
    "regressor": lambda d: d.base_regressor,
}


def driver_arguments(quantity: str) -> tuple[str, str, str]:
    """What every compiled driver is given: q, v, and a or tau."""
    return ("q", "v", ARGUMENTS[quantity][-1] if len(ARGUMENTS[quantity]) == 3 else "a")


def shapes(quantity: str, nv: int, links: int) -> list[tuple[int, ...]]:
    """Of the results for one sample."""
    if quantity in ("inverse_dynamics", "forward_dynamics"):
        return [(nv,)]
    if quantity == "regressor":
        return [(nv, 10 * links)]
    return [(nv, nv)] * (1 if quantity == "mass_matrix" else 3)


@dataclass(frozen=True)
class PeerRow:
    """One line of the table; `wide` is the aim where registers hold eight doubles, `narrow` where they hold fewer."""

    robot: str
    quantity: str
    batch: int
    wide: float
    narrow: float
    one_call: bool = False  # ours is called for every sample
    peak: float | None = None  # the fraction of the machine's peak that is aimed at

    @property
    def title(self) -> str:
        return TITLES[self.quantity] + (", one call" if self.one_call else "")

    @property
    def key(self) -> str:
        return f"{self.robot}/{self.quantity}{'/one_call' if self.one_call else ''}"


ROWS = (
    PeerRow("puma", "inverse_dynamics", 2000, 10, 10, peak=0.60),
    PeerRow("puma", "forward_dynamics", 2000, 12, 10),
    PeerRow("puma", "mass_matrix", 2000, 10, 8),
    PeerRow("puma", "inverse_dynamics_derivatives", 2000, 15, 15),
    PeerRow("puma", "forward_dynamics_derivatives", 2000, 15, 15),
    PeerRow("talos", "inverse_dynamics", 256, 10, 6, peak=0.50),
    PeerRow("talos", "forward_dynamics", 256, 8, 5),
    PeerRow("talos", "inverse_dynamics_derivatives", 256, 6, 6),
    PeerRow("talos", "forward_dynamics_derivatives", 256, 6, 6),
    PeerRow("talos", "forward_dynamics_derivatives", 64, 2, 2, one_call=True),
    PeerRow("puma", "regressor", 2000, 8, 8),
    PeerRow("talos", "regressor", 256, 5, 5),
)
