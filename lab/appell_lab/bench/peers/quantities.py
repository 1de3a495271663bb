"""The rows of the table: quantities, robots, batch sizes, and the required speedup over the best peer.

Peers compute the full regressor; appell computes the columns of base parameters without structural zeros, which are
expanded to the full regressor before the results are compared.
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
    """Return the arguments of a compiled driver: q, v, and a or tau."""
    return ("q", "v", ARGUMENTS[quantity][-1] if len(ARGUMENTS[quantity]) == 3 else "a")


def shapes(quantity: str, nv: int, links: int) -> list[tuple[int, ...]]:
    """Return the shapes of the results for one sample."""
    if quantity in ("inverse_dynamics", "forward_dynamics"):
        return [(nv,)]
    if quantity == "regressor":
        return [(nv, 10 * links)]
    return [(nv, nv)] * (1 if quantity == "mass_matrix" else 3)


@dataclass(frozen=True)
class PeerRow:
    """One row of the table; `wide` is the aim if registers hold eight doubles, `narrow` if they hold fewer."""

    robot: str
    quantity: str
    batch: int
    wide: float
    narrow: float
    one_call: bool = False  # appell is called once per sample
    peak: float | None = None  # aim for the fraction of the peak of the machine

    @property
    def title(self) -> str:
        """Title in tables."""
        return TITLES[self.quantity] + (", one call" if self.one_call else "")

    @property
    def key(self) -> str:
        """Key in lists of missed aims."""
        return f"{self.robot}/{self.quantity}{'/one_call' if self.one_call else ''}"


ROWS = (
    PeerRow("puma", "inverse_dynamics", 2000, 13, 12, peak=0.60),
    PeerRow("puma", "forward_dynamics", 2000, 13, 12),
    PeerRow("puma", "mass_matrix", 2000, 13, 11),
    PeerRow("puma", "inverse_dynamics_derivatives", 2000, 15, 15),
    PeerRow("puma", "forward_dynamics_derivatives", 2000, 20, 13),
    PeerRow("talos", "inverse_dynamics", 256, 11, 10, peak=0.50),
    PeerRow("talos", "forward_dynamics", 256, 11, 9),
    PeerRow("talos", "mass_matrix", 256, 6, 6),
    PeerRow("talos", "inverse_dynamics_derivatives", 256, 11, 13),
    PeerRow("talos", "forward_dynamics_derivatives", 256, 8, 8),
    PeerRow("talos", "forward_dynamics_derivatives", 64, 3, 3, one_call=True),
    PeerRow("puma", "regressor", 2000, 8, 6),
    PeerRow("talos", "regressor", 256, 5, 4),
)
