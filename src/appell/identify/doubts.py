"""Whether measured torques can be those of the described system at all: their sign and their unit.

The torque of a joint is regressed on what the description expects of it, beside friction and an offset:

    τ = b τ⁰(q, v, a) + fc sign θ̇ + fv θ̇ + fo                                                                     (1)

A description may be off by half, and friction may outweigh it; but b near -1 is a sign, b near 1000 or 0.001 a unit,
and no repair of the parameters should hide them. Only joints are asked whose torque, friction and offset taken off,
follows what is expected with a correlation of at least `FOLLOWS`, be it against it; single rows that stand out are
clipped.
"""

from __future__ import annotations

import numpy as np

from appell.identify.evidence import columns_of
from appell.identify.sought import Sought
from appell.motion.record import Record

FOLLOWS = 0.8
UNIT = 15.0  # times too large or too small
UNITS = {1e3: "mN m or mN", 1e-3: "kN m or kN", 100.0: "N cm", 1e6: "µN m"}
OUTSTANDING = 10.0  # times the median of |τ|


def torque_doubts(sought: Sought, record: Record) -> tuple[str, ...]:
    """What is wrong with the torques of a processed record, in sentences; none if nothing is."""
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
