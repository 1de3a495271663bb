"""Names of a system's coordinates, velocities and actuators, as records and paths have them."""

from __future__ import annotations

from typing import Any


def record_names(system: Any) -> dict[str, tuple[str, ...]]:
    """The names by quantity: q, v, a, tau. A joint of several axes has a number behind its name."""
    if hasattr(system, "nu"):
        return {"q": system.coordinates, "v": system.coordinates, "a": system.coordinates, "tau": system.actuator_names}
    q, v = (
        tuple(
            link.joint.name if link.joint.motion.nv == 1 else f"{link.joint.name}_{k + 1}"
            for link in system.moving
            for k in range(getattr(link.joint.motion, size))
        )
        for size in ("nq", "nv")
    )
    return {"q": q, "v": v, "a": v, "tau": v}
