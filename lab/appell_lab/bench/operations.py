"""Number of operations of the compiled inverse dynamics, by `Function.count`."""

from __future__ import annotations

from collections.abc import Callable

from appell_lab.bench.aims import aim
from appell_lab.bench.figure import Figure
from appell_lab.bench.subject import Subject


def measure(subject: Subject, tick: Callable[[], object]) -> list[Figure]:
    """Count multiplications and additions."""
    count = subject.dynamics.inverse_dynamics.count()
    tick()
    return [
        Figure("counts", subject.name, name, title, value, "operations", aim("counts", subject.name, name))
        for name, title, value in (
            ("inverse_dynamics_mul", "inverse dynamics, multiplications", count.mul),
            ("inverse_dynamics_add", "inverse dynamics, additions", count.add),
        )
    ]
