"""Stiffness and damping of elastic joints, and the motor side, from records of a motion.

The motor encoder (`motor_*`, rad before the gear) and the motor torque (`tau_*`, on the joint side of the gear) are
always needed. With θ the motor position divided by the gear ratio, q the link encoder (`q_*`) and
f the torque sensor after the gear (`spring_*`), the rows of least squares are

    link encoder and torque sensor    f = k ε + k₃ ε³ + d ε̇ + o              τ - f = B θ̈ + f_v θ̇ + f_c s(θ̇) + o      (1)
    link encoder                      τ = k ε + k₃ ε³ + d ε̇ + B θ̈ + f_v θ̇ + f_c s(θ̇) + o                           (2)
    torque sensor                     f = N(q, q̇, q̈; β)    q = θ - c f       τ - f as in (1)                        (3)

with ε = θ - q. The offset o contains the zero errors of the sensors. In (3) the position of the link is known only
through the compliance c = 1/k, which is estimated with the base parameters β of the links by Gauss-Newton steps, with
rows weighted by the residuals of their joints. A spring with damping deflects later than its force: f is replaced by f'
with f' + T ḟ' = f, and the delay T = d/k is estimated as well.

All signals pass the same zero-phase filter, which leaves linear rows valid. Dry friction is not linear: at a reversal
the motor sticks, and the filter mixes both directions. Rows of motors therefore leave out samples near reversals.

With neither sensor, the motor encoder shows the spring only through the resonances of the arm: a stiffness and the
inertia of the links could then be exchanged, and the fit of the joint is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter, lfilter_zi

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError
from appell.identify.processing import choose_band, process
from appell.model.actuator import direction
from appell.model.robot import Robot
from appell.model.system import System
from appell.motion.record import Record

DEFAULT_LIMIT = 0.05  # largest error of a stiffness relative to its value, with a probability of 95 %
CONFIDENCE = 2.0  # standard deviations of that probability
BAND_FACTOR = 4.0  # default cut-off frequency relative to that of `choose_band`: springs vibrate faster than arms move
MAX_BAND = 0.2  # largest default cut-off frequency relative to the sampling rate
SECOND_BAND = 0.6  # cut-off frequency of the fit for comparison, relative to that of the first
SIGN_WIDTH = 0.02  # rad/s or m/s within which dry friction changes its sign in the rows
GAUSS_NEWTON_STEPS = 12
STEP_TOLERANCE = 1e-6  # relative change of the compliances at which the Gauss-Newton steps end
REVERSAL_SPEED = 0.1  # of a motor's root mean square speed: slower samples, and those near them, are not rows of motors
MIN_DEFLECTIONS = 10.0  # smallest spread of a deflection relative to the standard deviation of its noise


@dataclass(frozen=True)
class JointFit:
    """The fit of one elastic joint, joint side: N m/rad, N m s/rad, kg m² (or N/m, N s/m, kg).

    Values that the sensors do not determine are NaN; `sensors` names those that were used, `sentence` the verdict.
    """

    joint: str
    sensors: tuple[str, ...]
    passed: bool
    sentence: str
    stiffness: float = np.nan
    stiffness_std: float = np.nan
    damping: float = np.nan
    hardening: float = np.nan
    motor_inertia: float = np.nan
    viscous: float = np.nan
    coulomb: float = np.nan
    offset: float = np.nan


@dataclass(frozen=True)
class ElasticFit:
    """The fits of all elastic joints of a robot, and the robot with the identified values."""

    system: System
    joints: tuple[JointFit, ...]
    band: float  # cut-off frequency of the filter, Hz

    @property
    def passed(self) -> bool:
        """Whether the stiffness of every elastic joint was identified."""
        return all(fit.passed for fit in self.joints)

    @property
    def robot(self) -> System:
        """The robot with the identified springs and motors; joints whose fit did not pass keep their description."""

        def changed(name: str, actuator):
            fit = next((fit for fit in self.joints if fit.joint == name and fit.passed), None)
            if fit is None:
                return actuator
            damping = actuator.elasticity.damping if np.isnan(fit.damping) else max(fit.damping, 0.0)
            hardening = actuator.elasticity.hardening if np.isnan(fit.hardening) else max(fit.hardening, 0.0)
            spring = replace(actuator.elasticity, stiffness=fit.stiffness, damping=damping, hardening=hardening)
            levels = {"viscous": max(fit.viscous, 0.0), "coulomb": max(fit.coulomb, 0.0), "static": None}
            inertia = max(fit.motor_inertia, 0.0) / actuator.gear**2 or actuator.rotor_inertia
            friction = replace(actuator.friction, **levels)
            return replace(actuator, elasticity=spring, rotor_inertia=inertia, friction=friction)

        return self.system.with_actuators(changed)

    def to_markdown(self) -> str:
        """Return the result as a table, with the verdict of every joint."""
        rows = ["| joint | stiffness | std | damping | motor inertia | verdict |", "|---|---|---|---|---|---|"]
        rows += [
            f"| {fit.joint} | {fit.stiffness:.5g} | {fit.stiffness_std:.2g} | {fit.damping:.3g} | "
            f"{fit.motor_inertia:.4g} | {fit.sentence} |"
            for fit in self.joints
        ]
        return "\n".join(rows)


def identify_elastic_joints(
    system: Robot, record: Record, *, band: float | None = None, limit: float = DEFAULT_LIMIT
) -> ElasticFit:
    """Identify the springs and motors of the elastic joints of a robot.

    Parameters
    ----------
    system : Robot
        A tree of one-axis joints with a description of its elastic joints: which joints, gear ratios, and whether the
        springs harden or have damping. Its numbers for springs and motors are not used.
    record : Record
        Columns motor_* (rad of the motor) and tau_* (N m at the joint), and q_* (link encoder), spring_* (torque
        sensor) of the joints that have them.
    band : float, optional
        Cut-off frequency of the filter in Hz; by default four times that of `process` for the motors.
    limit : float
        Largest error of a stiffness, relative to its value, with which a joint passes: twice its standard deviation.

    Returns
    -------
    ElasticFit
        `.joints` with a verdict per joint, which states what its sensors allow, and `.robot`.

    Raises
    ------
    ArgumentError
        If the record has no motor encoder or torque of an elastic joint.
    ModelError
        If the system has no elastic joints, or is not a tree of one-axis joints.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm = ap.load("planar-2r").with_actuators(lambda n, a: ap.Actuator(gear=50.0, rotor_inertia=1e-4))
    >>> arm = arm.with_elastic_joints({name: ap.Elasticity(500.0) for name in arm.joint_names})
    >>> push = lambda t, q, v: [20 + 9 * np.sin(9 * t), 5 + 4 * np.sin(13 * t)]
    >>> record = ap.simulate(arm, until=4.0, torque=push, t_eval=np.arange(0.0, 4.0, 1e-3))
    >>> fit = ap.identify.identify_elastic_joints(arm, record, band=30.0)
    >>> fit.passed, [round(joint.stiffness / 500.0, 2) for joint in fit.joints]
    (True, [1.0, 1.0])
    """
    if not system.elastic_joints:
        raise ModelError(f"{system.owner} has no elastic joints.", hint="Describe them: with_elastic_joints(...).")
    if not (system.rigid.is_tree and system.is_flat) or any(link.joint.mimic for link in system.tree.links):
        raise ModelError(
            f"the elastic joints of {system.owner} cannot be identified.", expected="a tree of joints with one axis"
        )
    signals = _Signals(system, record, band)
    fits = _fits(system, signals, limit)
    again = _fits(system, _Signals(system, record, SECOND_BAND * signals.band, signals.noise), limit)
    judged = [_explained(_consistent(fit, other, limit)) for fit, other in zip(fits, again, strict=True)]
    return ElasticFit(system, tuple(judged), signals.band)


def _fits(system: Robot, signals: _Signals, limit: float) -> list[JointFit]:
    by_torque = [name for name in system.elastic_joints if signals.has(name) == ("torque sensor",)]
    compliances = _by_torque_sensors(system, signals, by_torque) if by_torque else {}
    return [_fit(system, signals, name, compliances.get(name), limit) for name in system.elastic_joints]


def _consistent(fit: JointFit, other: JointFit, limit: float) -> JointFit:
    """Return a fit, which does not pass if the stiffness at another cut-off frequency differs by more than `limit`.

    Noise of the regressors, which least squares does not take into account, changes the result with the band.
    """
    change = abs(other.stiffness - fit.stiffness)
    if not fit.passed or change <= limit * fit.stiffness:
        return fit
    share = f"{100.0 * change / fit.stiffness:.2g} %"
    sentence = f"not identified: the stiffness changes by {share} with the cut-off frequency, because of noise"
    return replace(fit, passed=False, sentence=sentence)


def _explained(fit: JointFit) -> JointFit:
    """Return a fit whose sentence states why a torque sensor alone did not show the spring."""
    if fit.passed or fit.sensors[1:] != ("torque sensor",):
        return fit
    reason = (
        "; without a link encoder the spring shows only in the accelerations c f̈ by which the link differs from its "
        "motor, which are too small here: move faster, pass a larger band, or add a link encoder"
    )
    return replace(fit, sentence=fit.sentence + reason)


class _Signals:
    """Filtered positions, rates and second rates of motors, links and spring torques, and motor torques."""

    def __init__(self, system: Robot, record: Record, band: float | None, noise: dict[str, float] | None = None):
        titles = set(record.columns)
        for joint in system.elastic_joints:
            for title in (f"motor_{joint}", f"tau_{joint}"):
                if title not in titles:
                    raise ArgumentError(
                        f"the record has no column '{title}', which the identification of '{joint}' needs.",
                        expected="motor_* (rad of the motor) and tau_* (N m) of every elastic joint",
                    )
        gears = {name: actuator.gear for name, actuator in system.drives.items()}
        columns = {f"motor_{name}": record[f"motor_{name}"].ravel() / gears[name] for name in system.elastic_joints}
        others = [f"{kind}_{name}" for name in system.joint_names for kind in ("q", "spring")]
        columns |= {title: record[title].ravel() for title in others if title in titles}
        names = tuple(columns)
        tau = np.column_stack([record[f"tau_{name}"].ravel() for name in system.elastic_joints])
        blocks = {"q": np.column_stack(list(columns.values())), "tau": tau}
        raw = Record.of(record.t, blocks, {"q": names, "tau": system.elastic_joints})
        if band is None:
            motors = np.column_stack([columns[f"motor_{name}"] for name in system.elastic_joints])
            band = BAND_FACTOR * choose_band(Record.of(record.t, {"q": motors, "tau": tau}))
            band = min(band, MAX_BAND / record.period)
        done = process(raw, band=band, smooth=True)
        self.band, self.period = float(done.about["band"]), done.period
        self.noise = noise or dict(zip(names, done.about["noise"]["q"], strict=True))
        fourth = np.diff(np.column_stack(list(columns.values())), 4, axis=0).std(axis=0) / np.sqrt(70.0)
        self.white = dict(zip(names, fourth, strict=True))  # noise from fourth differences, which contain little motion
        at = {name: k for k, name in enumerate(names)}
        self._values = {name: (done.q[:, k], done.v[:, k], done.a[:, k]) for name, k in at.items()}
        self.tau = {name: done.tau[:, k] for k, name in enumerate(system.elastic_joints)}

    def has(self, joint: str) -> tuple[str, ...]:
        """Names of the sensors of a joint beside the motor encoder."""
        kinds = (("link encoder", "q"), ("torque sensor", "spring"))
        return tuple(name for name, kind in kinds if f"{kind}_{joint}" in self._values)

    def of(self, kind: str, joint: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._values[f"{kind}_{joint}"]

    def moving(self, joint: str) -> np.ndarray:
        """Return the indices of the samples that are not near a reversal of the motor."""
        rate = self.of("motor", joint)[1]
        width = 2 * int(0.5 / (self.band * self.period)) + 1
        slow = np.abs(rate) < REVERSAL_SPEED * np.sqrt(np.mean(rate**2))
        return np.flatnonzero(~maximum_filter1d(slow, width))

    def solve(
        self, columns: dict[str, np.ndarray], y: np.ndarray, every: int = 1
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Least squares y = Σ value column: values and standard deviations, corrected for filtered noise.

        The rows are those of every sample, or of every `every`-th one.
        """
        X = np.column_stack(list(columns.values()))
        scale = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
        Q, R = np.linalg.qr(X / scale)
        values = np.linalg.lstsq(R, Q.T @ y, rcond=None)[0]
        rest = y - (X / scale) @ values
        independent = max(min(2.0 * self.band * self.period * every, 1.0) * len(y) - X.shape[1], 1.0)
        variance = float(rest @ rest) / independent
        std = np.sqrt(variance * np.diag(np.linalg.pinv(R.T @ R))) / scale
        return dict(zip(columns, values / scale, strict=True)), dict(zip(columns, std, strict=True))


def _rows(signals: _Signals, joint: str, columns: dict[str, np.ndarray], y: np.ndarray) -> Any:
    """Least squares of columns and those of the motor, at samples that are not near a reversal."""
    at = signals.moving(joint)
    return signals.solve({key: x[at] for key, x in (columns | _motor_columns(signals, joint)).items()}, y[at])


def _motor_columns(signals: _Signals, joint: str) -> dict[str, np.ndarray]:
    _, rate, acceleration = signals.of("motor", joint)
    s = np.array([float(direction(float(x), SIGN_WIDTH)) for x in rate])
    return {"motor_inertia": acceleration, "viscous": rate, "coulomb": s, "offset": np.ones_like(rate)}


def _fit(
    system: Robot, signals: _Signals, joint: str, compliance: tuple[float, float] | None, limit: float
) -> JointFit:
    sensors = signals.has(joint)
    if not sensors:
        sentence = (
            "refused: without a link encoder or a torque sensor the motor encoder shows the spring only through "
            "resonances, in which its stiffness and the inertia of the links cannot be separated"
        )
        return JointFit(joint, ("motor encoder",), False, sentence)
    used, spring = ("motor encoder", *sensors), system.drives[joint].elasticity
    assert spring is not None
    tau = signals.tau[joint]
    if compliance is not None:
        c, deviation = compliance
        values, _ = _rows(signals, joint, {}, tau - signals.of("spring", joint)[0])
        values["stiffness"] = 1.0 / c
        return _judged(joint, used, values, abs(deviation / c) / c, limit)
    theta, q = signals.of("motor", joint), signals.of("q", joint)
    strain = spring.columns(1.0, 1.0)  # which terms the spring has
    x, rate = theta[0] - q[0], theta[1] - q[1]
    terms = {"stiffness": x - x.mean(), "damping": rate, "hardening": x**3}
    noise = float(np.hypot(signals.noise[f"motor_{joint}"], signals.noise[f"q_{joint}"]))
    noise *= float(np.sqrt(2.0 * signals.band * signals.period))  # within the band
    if not x.std() > MIN_DEFLECTIONS * noise:
        return JointFit(
            joint,
            used,
            False,
            f"refused: the deflections have a standard deviation of {x.std():.2g} rad, too small for the noise of the "
            f"encoders of {noise:.2g} rad",
        )
    columns = {kind: terms[kind] for kind in strain}
    if "torque sensor" in sensors:
        values, std = signals.solve(columns | {"zero": np.ones_like(x)}, signals.of("spring", joint)[0])
        values |= _rows(signals, joint, {}, tau - signals.of("spring", joint)[0])[0]
    else:
        values, std = _rows(signals, joint, columns, tau)
    return _judged(joint, used, values, std["stiffness"], limit)


def _judged(joint: str, sensors: tuple[str, ...], values: dict[str, float], std: float, limit: float) -> JointFit:
    stiffness = values["stiffness"]
    passed = bool(stiffness > 0.0 and CONFIDENCE * std <= limit * stiffness)
    known = {key: float(x) for key, x in values.items() if key in JointFit.__dataclass_fields__}
    listed = " and ".join(sensors[1:])
    known_part = std < abs(stiffness)
    share = f"a standard deviation of {100.0 * std / stiffness:.2g} %" if known_part else "a deviation above its value"
    sentence = f"identified with the {listed}, {share}" if passed else f"not identified: the stiffness has {share}"
    return JointFit(joint, sensors, passed, sentence, stiffness_std=float(std), **known)


def _by_torque_sensors(system: Robot, signals: _Signals, joints: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Compliances and their standard deviations by (3), of joints with a torque sensor but without a link encoder."""
    if lacking := [name for name in system.joint_names if name not in system.elastic_joints]:
        raise ModelError(
            f"joint '{lacking[0]}' of {system.owner} is rigid; without link encoders all joints must be elastic.",
            expected="link encoders, or elastic joints with torque sensors",
        )
    if blind := [name for name in system.joint_names if "torque sensor" not in signals.has(name)]:
        raise ArgumentError(
            f"joint '{blind[0]}' has no torque sensor (column 'spring_{blind[0]}'): the forces of the links are "
            f"unknown and the compliance of '{joints[0]}' cannot be estimated.",
            expected="torque sensors at all joints, or a link encoder at this joint",
        )
    links = Dynamics(system.link_side)
    slopes = links.inverse_dynamics.jacobian("q", "v", "a")
    names, every = system.joint_names, max(1, int(0.25 / (signals.band * signals.period)))

    def block(kind: str) -> list[np.ndarray]:
        return [np.column_stack([signals.of(kind, name)[k] for name in names]) for k in range(3)]

    theta, f = [x[::every] for x in block("motor")], block("spring")
    free = [k for k, name in enumerate(names) if name in joints]
    springs = [system.drives[name].elasticity for name in names]
    damped = [k for k in free if (spring := springs[k]) and spring.damping]
    measured = {
        name: [x[::every] for x in signals.of("q", name)] for name in names if "link encoder" in signals.has(name)
    }
    c = np.array([1.0 / spring.stiffness for spring in springs if spring])
    lag, std, weight = np.zeros(len(names)), np.full(len(names), np.nan), np.ones(len(names))
    beta = np.array([parameter.value for parameter in links.base_parameters])
    for _ in range(GAUSS_NEWTON_STEPS):
        late = [_lagged(x, lag, signals.period) for x in f]
        by_lag = [_lagged(np.gradient(x, signals.period, axis=0), lag, signals.period)[::every] for x in late]
        late = [x[::every] for x in late]
        motion = [x - c * y for x, y in zip(theta, late, strict=True)]
        for name, values in measured.items():
            for x, y in zip(motion, values, strict=True):
                x[:, names.index(name)] = y
        Y, matrices = links.base_regressor(*motion), slopes(*motion)
        by_c = -sum(matrix[..., free] * y[:, None, free] for matrix, y in zip(matrices, late, strict=True))
        by_T = sum(matrix[..., damped] * (c * y)[:, None, damped] for matrix, y in zip(matrices, by_lag, strict=True))
        rest = f[0][::every] - Y @ beta
        weight = 1.0 / np.maximum(rest.std(axis=0), 1e-300) if np.isfinite(std[free]).all() else weight
        rows = np.concatenate([Y, by_c, by_T], axis=-1) * weight[:, None]
        columns = {str(k): column for k, column in enumerate(rows.reshape(-1, rows.shape[-1]).T)}
        step, deviation = signals.solve(columns, (weight * rest).ravel(), every)
        change = np.array([step[str(k)] for k in range(len(columns))])
        at, last = len(beta), len(beta) + len(free)
        std[free] = [deviation[str(k)] for k in range(at, last)]
        beta = beta + change[:at]
        c[free] = np.clip(c[free] + change[at:last], 1e-3 * c[free], 1e3 * c[free])
        lag[damped] = np.clip(lag[damped] + change[last:], 0.0, 1.0 / signals.band)
        if np.abs(change[at:last]).max() <= STEP_TOLERANCE * c[free].max():
            break
    std[free] = np.hypot(std[free], c[free] * _noise_share(signals, rows, at, weight, matrices[2], names, free))
    return {name: (float(c[k]), float(std[k])) for k, name in enumerate(names) if k in free}


def _noise_share(
    signals: _Signals,
    rows: np.ndarray,
    first: int,
    weight: np.ndarray,
    inertia: np.ndarray,
    names: Sequence[str],
    free: Sequence[int],
) -> np.ndarray:
    """Share of the noise of f̈ in what the columns of the compliances do not have in common with other columns.

    Least squares makes the compliances too small by this share. The columns of `rows` from `first` on are those of the
    `free` joints; `weight` is that of the rows of every joint.
    """
    scale = np.maximum(np.linalg.norm(rows, axis=(0, 1)), 1e-300)
    inverse = np.linalg.pinv(np.einsum("sji,sjk->ik", rows / scale, rows / scale))
    at = slice(first, first + len(free))
    independent = scale[at] ** 2 / np.diag(inverse)[at]
    in_band = np.sqrt(2.0 * signals.band * signals.period / 5.0) * (2.0 * np.pi * signals.band) ** 2
    noise = in_band * np.array([signals.white[f"spring_{names[k]}"] for k in free])
    return np.sum((inertia[..., free] * weight[:, None]) ** 2, axis=(0, 1)) * noise**2 / independent


def _lagged(x: np.ndarray, lag: np.ndarray, period: float) -> np.ndarray:
    """Solve y + lag ẏ = x for signals (samples, joints), from rest, by the trapezoidal rule."""
    y = x.copy()
    for k in np.flatnonzero(lag):
        a = 2.0 * lag[k] / period
        gains, poles = [1.0 / (1.0 + a), 1.0 / (1.0 + a)], [1.0, (1.0 - a) / (1.0 + a)]
        y[:, k] = lfilter(gains, poles, x[:, k], zi=lfilter_zi(gains, poles) * x[0, k])[0]
    return y
