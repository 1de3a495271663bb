"""What a fit is given, checked before any work: every fault is named with its argument, joint and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError, rows_text
from appell.identify.sought import QVA, Sought
from appell.model.system import System
from appell.motion.names import record_names
from appell.motion.record import Record

STILL = 1e-9  # a coordinate whose velocity and acceleration never exceed this does not move


@dataclass(frozen=True, eq=False)
class Evidence:
    """q (samples, nq), v, a (samples, nv) and tau (samples, nu), all finite."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    @property
    def motion(self) -> QVA:
        return self.q, self.v, self.a

    def part(self, rows) -> Evidence:
        return Evidence(self.q[rows], self.v[rows], self.a[rows], self.tau[rows])


def columns_of(record: Record, system: System) -> Evidence:
    """The motion and torques of a record, in the order of the system's names."""
    return Evidence(*(record.block(quantity, names) for quantity, names in record_names(system).items()))


def checked(sought: Sought, q, v, a, tau, unknowns: int) -> Evidence:
    """The samples of a fit with so many unknowns, or an ArgumentError."""
    system = sought.system
    sizes = {"q": system.nq, "v": system.nv, "a": system.nv, "tau": system.nu}
    arrays = {}
    for name, value in zip(sizes, (q, v, a, tau), strict=True):
        array = np.ascontiguousarray(value, dtype=float)
        if array.ndim != 2 or array.shape[1] != sizes[name]:
            expected = f"(samples, {sizes[name]}) for {system.owner}, one row a sample"
            raise ArgumentError(f"{name} has shape {array.shape}.", expected=expected)
        if len(array) == 0:
            raise ArgumentError(f"{name} has no samples.", expected=f"at least {unknowns} for {unknowns} unknowns")
        arrays[name] = array
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ArgumentError(
            f"the arrays differ in their number of samples: {told}.", expected="one row a sample in each"
        )
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            rows, columns = np.nonzero(~np.isfinite(array))
            raise ArgumentError(
                f"{name} is not finite in {len(set(rows.tolist()))} of {len(array)} rows, {rows_text(rows)}"
                f" (column {columns[0]} first, '{record_names(system)[name][columns[0]]}').",
                hint="leave those rows out, or take motion.measured(record, ...), which reports and cuts them",
            )
    _check_content(system, found := Evidence(**arrays), unknowns)
    return found


def _check_content(system: System, found: Evidence, unknowns: int) -> None:
    if len(found) * system.nu < unknowns:
        raise ArgumentError(
            f"{len(found)} samples of {system.nu} actuators give {len(found) * system.nu} equations"
            f" for {unknowns} unknowns.",
            expected=f"at least {-(-unknowns // system.nu)} samples, and better a hundred times that",
        )
    if not np.any(found.tau):
        raise ArgumentError(
            "tau is zero throughout: nothing can be found from it, and its range never changes.",
            hint="the columns of the measured torques, or currents times the torque constants",
        )
    moves = (np.abs(found.v).max(axis=0) >= STILL) | (np.abs(found.a).max(axis=0) >= STILL)
    if not moves.all():
        still = [repr(name) for name, flag in zip(system.velocity_names, moves, strict=True) if not flag]
        raise ArgumentError(
            f"{', '.join(still)} never moves in these samples, so its parameters cannot be found.",
            hint="record a motion of all coordinates (appell excite plans one), or check the columns of v and a",
        )
