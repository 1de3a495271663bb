"""The aim of each figure: a minimum speedup, or a maximum number of seconds or operations."""

from __future__ import annotations

AIMS = {
    "puma/batch/inverse_dynamics": 50.0,
    "puma/batch/mass_matrix": 40.0,
    "puma/batch/forward_dynamics": 65.0,
    "puma/batch/inverse_dynamics_derivatives": 30.0,
    "puma/batch/float32": 1.6,
    "talos/batch/inverse_dynamics": 16.0,
    "talos/batch/mass_matrix": 6.0,
    "talos/batch/forward_dynamics": 8.0,
    "puma/call/ufunc": 1.0,
    "puma/call/bound": 4.0,
    "appell/start/import": 0.3,
    "puma/start/inverse_dynamics": 0.3,
    "puma/start/inverse_dynamics_cached": 0.03,
    "talos/start/inverse_dynamics": 3.0,
    "talos/start/forward_dynamics": 15.0,
    "puma/counts/inverse_dynamics_mul": 173,
    "puma/counts/inverse_dynamics_add": 145,
    "agile-wrist/parallel/sample": 150e-9,
    "talos/start/two_feet": 5.0,
    "talos/start/inverse_dynamics_payload": 0.2,
    "talos/start/forward_dynamics_derivatives": 2.0,
    "four-bar/loops/forward_dynamics": 150.0,
    "stewart-gough/loops/forward_dynamics": 80.0,
    "talos/loops/forward_dynamics": 25.0,
    "puma/rollouts/forward_dynamics": 4.5,
    "puma/rollouts/casadi": 8.0,
    "puma/rollouts/mujoco": 60.0,
    "puma/rollouts/threads": 1.8,
    "puma/control/compiled": 2e-6,
    "puma/control/step": 20e-6,
    "puma/control/tick": 20e-6,
}


def aim(part: str, robot: str, name: str) -> float | None:
    """Return the aim of a figure; None if it has none."""
    return AIMS.get(f"{robot}/{part}/{name}")
