"""Whether a system can stand at a pose and its actuators hold it there: a number, or an error that says why not."""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.mechanism import Mechanism


def condition(dyn: Dynamics, q) -> np.ndarray:
    """The condition number of the actuator Jacobian, infinite where a leg does not reach; q may be a batch."""
    with np.errstate(invalid="ignore"):
        J = dyn.actuator_jacobian(q)
    finite = np.isfinite(J).all(axis=(-2, -1))
    numbers = np.linalg.cond(np.where(finite[..., None, None], J, 0.0))
    return np.where(finite & np.isfinite(numbers), numbers, np.inf)


def check_pose(dyn: Dynamics, q, limit: float | None = None) -> float:
    """The condition number at one pose; an error if a leg does not reach or it is above the limit, the system's own."""
    system, q = dyn.system, dyn.system.sized("q", q, dyn.system.nq)
    if q.shape != (system.nq,):
        listed = ", ".join(system.coordinate_names)
        raise ArgumentError(f"{system.owner}: one pose has shape {q.shape}.", expected=f"({system.nq},): {listed}")
    where = f"{system.owner} at q = ({', '.join(f'{x:g}' for x in q)})"
    if not np.isfinite(q).all():
        raise ArgumentError(f"{where} is nowhere.", expected="finite numbers")
    if not isinstance(system, Mechanism):
        return 1.0
    if sentence := system.out_of_reach(q.tolist()):
        raise ArgumentError(f"{where}: {sentence}.", hint="a pose nearer to home")
    limit, number = system.condition_limit if limit is None else limit, float(condition(dyn, q))
    if not number <= limit:
        raise ArgumentError(
            f"{where} is singular: its actuator Jacobian has condition number {number:.3g}.",
            expected=f"at most {limit:.3g}",
            hint="another pose, or a Mechanism with a larger condition_limit; torques grow with it",
        )
    return number
