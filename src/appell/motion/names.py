"""Names of a system's coordinates, velocities and actuators, as records and paths have them."""

from __future__ import annotations

from appell.model.system import System


def record_names(system: System) -> dict[str, tuple[str, ...]]:
    """The names by quantity: q, v, a, tau."""
    v = system.velocity_names
    return {"q": system.coordinate_names, "v": v, "a": v, "tau": system.actuator_names}
