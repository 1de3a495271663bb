"""The samples of a fit and their validation.

Shapes, lengths, non-finite values and coordinates that do not move are errors that name the argument, the joint and the
rows. `torque_problems` checks whether the sign and the unit of measured torques are plausible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from appell.errors import ArgumentError, rows_text
from appell.identify.parameter_set import QVA, ParameterSet
from appell.identify.processing import smoothed
from appell.model.system import System
from appell.motion.record import Record
from appell.motion.titles import record_names

MIN_MOTION = 1e-9  # a coordinate whose velocity and acceleration never exceed this does not move
MIN_CORRELATION = 0.8  # between measured and expected torque, from which sign and unit of a joint are checked
UNIT_FACTOR = 15.0  # ratio of measured to expected torque, or its inverse, from which the unit counts as wrong
POSITION_UNITS = {
    np.pi / 180.0: "the positions look like degrees; declare them with the unit deg for q",
    180.0 / np.pi: "the positions look like radians that were read as degrees; remove the unit deg of q",
}
UNITS = {1e3: "mN m or mN", 1e-3: "kN m or kN", 100.0: "N cm", 1e6: "µN m"}
CLIPPING = 10.0  # torques are clipped at this multiple of the median of |τ - median|


@dataclass(frozen=True, eq=False)
class FitSamples:
    """q (samples, nq), v, a (samples, nv) and tau (samples, nu), all finite."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    @property
    def motion(self) -> QVA:
        """q, v and a."""
        return self.q, self.v, self.a

    def part(self, rows) -> FitSamples:
        return FitSamples(self.q[rows], self.v[rows], self.a[rows], self.tau[rows])


def samples_of(record: Record, system: System) -> FitSamples:
    """Return the motion and torques of a record, in the order of the system's names."""
    return FitSamples(*(record.block(quantity, names) for quantity, names in record_names(system).items()))


def checked_samples(parameter_set: ParameterSet, q, v, a, tau, unknowns: int) -> FitSamples:
    """Return the samples of a fit as arrays of floats, or raise an ArgumentError.

    Parameters
    ----------
    parameter_set : ParameterSet
    q, v, a, tau : of shapes (samples, nq), (samples, nv), (samples, nv) and (samples, nu)
    unknowns : number of parameters to estimate
    """
    system = parameter_set.system
    sizes = {"q": system.nq, "v": system.nv, "a": system.nv, "tau": system.nu}
    arrays = {}
    for name, value in zip(sizes, (q, v, a, tau), strict=True):
        array = np.ascontiguousarray(value, dtype=float)
        if array.ndim != 2 or array.shape[1] != sizes[name]:
            expected = f"(samples, {sizes[name]}) for {system.owner}, one row per sample"
            raise ArgumentError(f"{name} has shape {array.shape}.", expected=expected)
        if len(array) == 0:
            raise ArgumentError(f"{name} has no samples.", expected=f"at least {unknowns} for {unknowns} unknowns")
        arrays[name] = array
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ArgumentError(
            f"the arrays differ in their number of samples: {listed}.", expected="one row per sample in each array"
        )
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            rows, columns = np.nonzero(~np.isfinite(array))
            raise ArgumentError(
                f"{name} is not finite in {len(set(rows.tolist()))} of {len(array)} rows, {rows_text(rows)}"
                f" (column {columns[0]} first, '{record_names(system)[name][columns[0]]}').",
                hint="Remove these rows, or use motion.measured(record, ...), which reports and removes them.",
            )
    _check_content(system, samples := FitSamples(**arrays), unknowns)
    return samples


def _check_content(system: System, samples: FitSamples, unknowns: int) -> None:
    if len(samples) * system.nu < unknowns:
        raise ArgumentError(
            f"{len(samples)} samples of {system.nu} actuators give {len(samples) * system.nu} equations"
            f" for {unknowns} unknowns.",
            expected=f"at least {-(-unknowns // system.nu)} samples, preferably a hundred times as many",
        )
    if not np.any(samples.tau):
        raise ArgumentError(
            "tau is zero in all samples, so no parameters can be estimated from it.",
            hint="Pass the measured torques, or the motor currents times the torque constants.",
        )
    moves = (np.abs(samples.v).max(axis=0) >= MIN_MOTION) | (np.abs(samples.a).max(axis=0) >= MIN_MOTION)
    if not moves.all():
        resting = [repr(name) for name, flag in zip(system.velocity_names, moves, strict=True) if not flag]
        raise ArgumentError(
            f"{', '.join(resting)} never moves in these samples, so its parameters cannot be estimated.",
            hint="Record a motion of all coordinates (identify.excite plans one), or check the columns of v and a.",
        )


def torque_problems(parameter_set: ParameterSet, record: Record) -> tuple[str, ...]:
    """Return sentences on implausible torques of a processed record; an empty tuple if there are none.

    The sign and the unit of the measured torques are compared with the description. The torque of every joint is
    regressed on the torque τ⁰ that the description predicts, together with friction and an offset:

        τ = b τ⁰(q, v, a) + fc sign θ̇ + fv θ̇ + fo                                                                  (1)

    The parameters of a description may be wrong by 50 %, and friction may exceed τ⁰. But b near -1 indicates a wrong
    sign, and b near 0.001 or 1000 indicates a wrong unit, which a fit must not hide. A joint is checked only if its
    torque, without friction and offset, has a correlation with τ⁰ of absolute value `MIN_CORRELATION` or more; outliers
    are clipped.

    Positions in degrees, or positions in radians that were read as degrees, make τ⁰ wrong instead. They are named if
    τ⁰ with positions in the other unit agrees with the measured torques and τ⁰ itself does not.
    """
    samples = samples_of(record, parameter_set.system)
    if not record.about.get("smooth"):
        samples = replace(samples, tau=smoothed(record, samples.tau))
    names = parameter_set.system.actuator_names
    slopes = _checked_slopes(parameter_set, samples)
    if wrong_positions := _wrong_position_unit(parameter_set, samples, slopes):
        return tuple(filter(None, (_constant_torques(samples.tau, names), wrong_positions)))
    return tuple(filter(None, (_constant_torques(samples.tau, names), _wrong_signs(slopes), _wrong_unit(slopes))))


def _checked_slopes(parameter_set: ParameterSet, samples: FitSamples, scale: float = 1.0) -> dict[str, float]:
    """Return b of (1) for every joint with a sufficient correlation; angles are multiplied by `scale`."""
    angles = [unit == "rad" for unit in parameter_set.system.velocity_units]
    q, v, a = (x * np.where(angles, scale, 1.0) for x in samples.motion)
    expected = np.asarray(parameter_set.regressor(q, v, a)) @ _inertial_only(parameter_set)
    rates, slopes = parameter_set.rates(q, v), {}
    for j, name in enumerate(parameter_set.system.actuator_names):
        b, correlation = _slope(samples.tau[:, j], expected[:, j], rates[:, j])
        if abs(correlation) >= MIN_CORRELATION:
            slopes[name] = b
    return slopes


def _wrong_position_unit(parameter_set: ParameterSet, samples: FitSamples, slopes: dict[str, float]) -> str:
    """Return a sentence if the torques agree with the description only with positions in another unit."""
    agreeing = _plausible(slopes)
    for scale, text in POSITION_UNITS.items():
        other = _checked_slopes(parameter_set, samples, scale)
        if _plausible(other) == len(other) > max(agreeing, len(samples.tau[0]) // 2 - 1, 0):
            return f"{text}: only then do the torques agree with those that the description predicts"
    return ""


def _plausible(slopes: dict[str, float]) -> int:
    """Return the number of joints whose b is positive and of the right magnitude."""
    return sum(1.0 / UNIT_FACTOR < b < UNIT_FACTOR for b in slopes.values())


def _inertial_only(parameter_set: ParameterSet) -> np.ndarray:
    """Return the described parameters with those of the actuators set to zero."""
    known = parameter_set.nominal.copy()
    known[10 * len(parameter_set.system.bodies) :] = 0.0
    return known


def _slope(tau: np.ndarray, expected: np.ndarray, rate: np.ndarray) -> tuple[float, float]:
    """Return b of (1) and the correlation of both torques; zeros if no torque is expected."""
    limit = CLIPPING * np.median(np.abs(tau - np.median(tau)))
    tau = np.clip(tau, np.median(tau) - limit, np.median(tau) + limit)
    columns = np.column_stack([np.sign(rate), rate, np.ones_like(rate)])
    both = np.column_stack([tau, expected])
    both = both - columns @ np.linalg.lstsq(columns, both, rcond=1e-8)[0]
    size = np.linalg.norm(both, axis=0)
    if size[1] <= 1e-6 * np.linalg.norm(expected) or size[0] <= 1e-12 * np.linalg.norm(tau) or not size.all():
        return 0.0, 0.0
    correlation = float(both[:, 0] @ both[:, 1] / (size[0] * size[1]))
    return correlation * float(size[0] / size[1]), correlation


def _constant_torques(tau: np.ndarray, names: tuple[str, ...]) -> str:
    constant = [name for name, column in zip(names, tau.T, strict=True) if not np.ptp(column) > 0.0]
    return f"the torque of {_listed(constant)} is constant; is it the right column?" if constant else ""


def _wrong_signs(slopes: dict[str, float]) -> str:
    wrong = [name for name, b in slopes.items() if b < 0.0]
    if not wrong:
        return ""
    return (
        f"the torque of {_listed(wrong)} is opposite to the torque that the description predicts"
        f" ({', '.join(f'{slopes[name]:.2g}' for name in wrong)} times it): its sign seems to be wrong"
    )


def _wrong_unit(slopes: dict[str, float]) -> str:
    if not slopes:
        return ""
    size = float(np.median(np.abs(list(slopes.values()))))
    if 1.0 / UNIT_FACTOR < size < UNIT_FACTOR:
        return ""
    guess = next((f", as if in {unit}" for factor, unit in UNITS.items() if 1 / 3 < size / factor < 3), "")
    more = guess or ", as if on the motor side of a gear" * (size < 1.0)
    return f"the torques are {size:.3g} times those that the description predicts{more}; give N m or N at the joint"


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
