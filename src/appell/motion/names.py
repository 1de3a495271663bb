"""Names and units of a system's coordinates, velocities and actuators, as records and paths have them."""

from __future__ import annotations

from appell.model.system import System

FORCES = {"rad": "N m", "m": "N"}


def record_names(system: System) -> dict[str, tuple[str, ...]]:
    """The names by quantity: q, v, a, tau."""
    v = system.velocity_names
    return {"q": system.coordinate_names, "v": v, "a": v, "tau": system.actuator_names}


def record_units(system: System) -> dict[str, str]:
    """The units by title: rad for q_elbow, N m for tau_elbow."""
    lengths, forces = system.velocity_units, [FORCES[unit] for unit in system.actuator_units]
    units = {
        "q": system.coordinate_units,
        "v": [f"{unit}/s" for unit in lengths],
        "a": [f"{unit}/s²" for unit in lengths],
        "tau": forces,
    }
    return {
        f"{quantity}_{name}": unit
        for quantity, names in record_names(system).items()
        for name, unit in zip(names, units[quantity], strict=True)
    }
