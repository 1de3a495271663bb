"""Samples of a fit, checked before any work: faults are named with argument, joint and rows; torques are judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError, rows_text
from appell.identify.sought import QVA, Sought
from appell.model.system import System
from appell.motion.record import Record
from appell.motion.titles import record_names

STILL = 1e-9  # a coordinate whose velocity and acceleration never exceed this does not move
FOLLOWS = 0.8
UNIT = 15.0  # times too large or too small
UNITS = {1e3: "mN m or mN", 1e-3: "kN m or kN", 100.0: "N cm", 1e6: "µN m"}
OUTSTANDING = 10.0  # times the median of |τ|


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


def torque_doubts(sought: Sought, record: Record) -> tuple[str, ...]:
    """What is wrong with the torques of a processed record, in sentences; none if nothing is.

    Whether measured torques can be those of the described system at all: their sign and their unit.

    The torque of a joint is regressed on what the description expects of it, beside friction and an offset:

        τ = b τ⁰(q, v, a) + fc sign θ̇ + fv θ̇ + fo                                                                  (1)

    A description may be off by half, and friction may outweigh it; but b near -1 is a sign, b near 1000 or 0.001 a
    unit, and no repair of the parameters should hide them. Only joints are asked whose torque, friction and offset
    taken off, follows what is expected with a correlation of at least `FOLLOWS`, be it against it; single rows that
    stand out are clipped.
    """
    seen = columns_of(record, sought.system)
    expected = np.asarray(sought.regressor(*seen.motion)) @ _bodies_alone(sought)
    rates, names = sought.rates(seen.q, seen.v), sought.system.actuator_names
    slopes = {}
    for j, name in enumerate(names):
        b, correlation = _slope(seen.tau[:, j], expected[:, j], rates[:, j])
        if abs(correlation) >= FOLLOWS:
            slopes[name] = b
    return tuple(filter(None, (_silent(seen.tau, names), _sign(slopes), _unit(slopes))))


def _bodies_alone(sought: Sought) -> np.ndarray:
    known = sought.nominal.copy()
    known[10 * len(sought.system.bodies) :] = 0.0
    return known


def _slope(tau: np.ndarray, expected: np.ndarray, rate: np.ndarray) -> tuple[float, float]:
    """b of (1), and the correlation by which it is known; nothing where nothing is expected."""
    most = OUTSTANDING * np.median(np.abs(tau - np.median(tau)))
    tau = np.clip(tau, np.median(tau) - most, np.median(tau) + most)
    columns = np.column_stack([np.sign(rate), rate, np.ones_like(rate)])
    both = np.column_stack([tau, expected])
    both = both - columns @ np.linalg.lstsq(columns, both, rcond=1e-8)[0]
    size = np.linalg.norm(both, axis=0)
    if size[1] <= 1e-6 * np.linalg.norm(expected) or size[0] <= 1e-12 * np.linalg.norm(tau) or not size.all():
        return 0.0, 0.0
    correlation = float(both[:, 0] @ both[:, 1] / (size[0] * size[1]))
    return correlation * float(size[0] / size[1]), correlation


def _silent(tau: np.ndarray, names: tuple[str, ...]) -> str:
    silent = [name for name, column in zip(names, tau.T, strict=True) if not np.ptp(column) > 0.0]
    return f"the torque of {_listed(silent)} never changes; is it the right column?" if silent else ""


def _sign(slopes: dict[str, float]) -> str:
    wrong = [name for name, b in slopes.items() if b < 0.0]
    if not wrong:
        return ""
    return (
        f"the torque of {_listed(wrong)} runs against what the description expects"
        f" ({', '.join(f'{slopes[name]:.2g}' for name in wrong)} times it): its sign seems to be wrong"
    )


def _unit(slopes: dict[str, float]) -> str:
    if not slopes:
        return ""
    size = float(np.median(np.abs(list(slopes.values()))))
    if 1.0 / UNIT < size < UNIT:
        return ""
    guess = next((f", as if in {unit}" for factor, unit in UNITS.items() if 1 / 3 < size / factor < 3), "")
    more = guess or ", as if at the motor's side of a gear" * (size < 1.0)
    return f"the torques are {size:.3g} times what the description expects{more}; N m or N at the joint are needed"


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
