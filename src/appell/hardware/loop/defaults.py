"""Default settings of a control loop, by rules from the limits, the inertia and the ranges of a robot.

range       the limits of the description (`WorkingLimits`), widened by 1 % of the range, at most 0.02 rad or m      (1)
velocity    1.1 times the described speed of the actuator; without one, 3 rad/s or m/s                              (2)
following   the distance in 0.05 s at the limit of velocity; at least 0.05 rad or m, at most a quarter of the range (3)
torque      that of the device, and of the actuator                                                                 (4)
gains       all poles of the error at -20/s; on joints with little inertia, fast enough that half of the following
            limit demands half of the dry friction, at least 1 % of the torque; at most 0.2/period. Gains of laws
            that command torques are scaled by the inertia, or such that half a radian demands the full torque      (5)
stop        damping Ks at which 90 % of the torque suffices to brake all joints from half of their speed in half of
            all poses, between 4/s and 25/s                                                                         (6)
motion      towards the middle of the range by at most 0.5 rad or m, and at most 20 % of the range, in 3 s; slower
            if otherwise a joint would exceed half of its speed, or an actuator 80 % of its torque. Joints whose dry
            friction is at least 80 % of the torque are not moved, with a `LimitWarning`                            (7)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from appell.control.axes import PerAxis, axis_word, controllable
from appell.control.design import Design
from appell.control.gains import Gains, critical
from appell.control.laws import find_law
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, LimitWarning
from appell.hardware.device import DeviceInfo
from appell.hardware.devices.simulated import arm_info
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Guard
from appell.model.system import System
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.spline import Spline
from appell.motion.record import Record
from appell.motion.working_limits import JUMP_SHARE, WorkingLimits, reachable_poses

RANGE_MARGIN, MAX_RANGE_MARGIN = 0.01, 0.02  # fraction of the range; rad or m, (1)
VELOCITY_MARGIN, UNKNOWN_VELOCITY = 1.1, 3.0  # over the described speed; rad/s or m/s, (2)
FOLLOWING_TIME_S, MIN_FOLLOWING, FOLLOWING_SHARE = 0.05, 0.05, 0.25  # s; rad or m; fraction of the range, (3)
FREQUENCY, PERIOD_SHARE = 20.0, 0.2  # 1/s; largest frequency times period, (5)
FRICTION_SHARE, UNKNOWN_FRICTION = 0.5, 0.02  # of the dry friction that feedback overcomes; of the torque, (5)
MAX_ERROR = 0.5  # rad or m at which the law commands the full torque, (5)
STOP_TORQUE, MIN_STOP_DAMPING, MAX_STOP_DAMPING = 0.9, 4.0, 25.0  # fraction of the torque; 1/s, (6)
STOP_POSES = 50
SPEED_SHARE = 0.5  # of the limits, used by the default motion, (7)
MOTION_SAMPLES, SLOWER, MAX_SLOWING = 61, 1.25, 10.0
REFERENCES = ("ramp", "spline", "target")


def standard_servo(
    system: System,
    info: DeviceInfo | None = None,
    *,
    law: Any = "tracking-integral",
    frequency: float | None = None,
    period: float = 1e-3,
    model: System | None = None,
    mode: str = "torque",
    stop_damping: float | None = None,
    velocity: PerAxis = None,
    following: PerAxis = None,
    margin: float | None = None,
    start: Any = None,
) -> Servo:
    """Return a servo with default gains and limits, by the rules (1) to (6).

    Parameters
    ----------
    system : the system behind the device
    info : what the device declares; by default that of a `SimulatedArm`
    law : a control law or its name; see `control.LAWS`
    frequency : all poles of the error are at -frequency, in 1/s; by default they follow from (5), joint by joint
    period : in s
    model : the model of the controller; by default the system itself
    mode : mode of the device: torque, position, velocity or impedance
    stop_damping : Ks of a safe stop, in 1/s; by default (6)
    velocity, following : float or sequence, optional
        Limits in rad/s or m/s, and rad or m; by default (2) and (3).
    margin : least distance in m between collision shapes after a stop; None: not monitored
    start : configuration whose inertia scales the gains of laws that command torques; by default `system.start`

    Examples
    --------
    >>> import appell as ap
    >>> servo = ap.hardware.standard_servo(ap.load("puma"), law="tracking", frequency=15.0)
    >>> servo.design.law.name, servo.mode
    ('tracking', 'torque')
    """
    known = find_law(law) if isinstance(law, str) else law
    modelled = controllable(system) if model is None else controllable(model)
    for kind in ("coordinate_names", "actuator_names"):
        if getattr(system, kind) != getattr(modelled, kind):
            raise ArgumentError(
                f"the model has {kind.replace('_', ' ')} {', '.join(getattr(modelled, kind))}; {system.owner} has "
                f"{', '.join(getattr(system, kind))}.",
                expected="a description of the same system",
            )
    limits = WorkingLimits.of(system)
    info = arm_info(system, limits) if info is None else info
    guard = replace(standard_guard(system, info, velocity=velocity, following=following), margin=margin)
    torque, integral = np.array(guard.torque), getattr(known, "integral", False)
    dyn = Design(modelled, Gains(1.0, 1.0), "tracking", period, torque_limit=torque).parts.smooth
    start = np.clip(system.start, limits.lower, limits.upper) if start is None else np.asarray(start, float)
    inertia = np.diag(dyn.mass_matrix(start))
    if frequency is None:
        gains = _friction_gains(modelled, inertia, guard, period, integral)
    else:
        gains = critical(frequency, period, integral=integral)
    if getattr(known, "model", "motion") != "motion":
        reach = np.abs(dyn.actuator_jacobian(start)).T @ torque
        scale = np.maximum(inertia, reach / (MAX_ERROR * np.asarray(gains.kp)))
        gains = Gains(*(tuple((gain * scale).tolist()) for gain in (gains.kp, gains.kd, gains.ki)))
    stop_damping = standard_stop_damping(dyn, limits, torque) if stop_damping is None else stop_damping
    design = Design(modelled, gains, known, period, torque, integral_limit=0.1, stop_damping=stop_damping)
    return Servo(design, info, guard, mode=mode)


def _friction_gains(model: System, inertia: np.ndarray, guard: Guard, period: float, integral: bool) -> Gains:
    """Return the gains (5): with kp = n ω² (n = 3 with integral action), n ω² inertia · following/2 = friction/2."""
    fastest = PERIOD_SHARE / period
    frequency = np.full(model.nv, min(FREQUENCY, fastest))
    if model.actuator_names == model.velocity_names:
        dry = np.array([max(a.friction.coulomb, a.friction.static or 0.0) for a in model.actuators])
        dry = np.maximum(dry, UNKNOWN_FRICTION * np.array(guard.torque))
        error = np.broadcast_to(guard.following, dry.shape)
        needed = np.sqrt(2.0 * FRICTION_SHARE * dry / ((3.0 if integral else 1.0) * inertia * error))
        frequency = np.clip(needed, frequency, fastest)
    rows = [critical(float(w), period, integral=integral) for w in frequency]
    return Gains(*(tuple(getattr(row, name) for row in rows) for name in ("kp", "kd", "ki")))


def logged_servo(log: Record, system: System, **options: Any) -> Servo:
    """Return the servo of a logged run, with its device, mode, period and limits; `options` are of `standard_servo`."""
    about = log.about
    declared: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in about["device"].items()
    }
    info = DeviceInfo(**declared)
    servo = standard_servo(
        system, info, period=about["period"], mode=about["mode"], stop_damping=about["stop_damping"], **options
    )
    return Servo(servo.design, info, Guard(**about["guard"]), mode=servo.mode)


def standard_guard(system: System, info: DeviceInfo, *, velocity: PerAxis = None, following: PerAxis = None) -> Guard:
    """Return the limits (1) to (4) of a system on a device; given limits replace those of the rules."""
    limits = WorkingLimits.of(system)
    lower, upper = limits.lower, limits.upper
    if info.lower is not None and info.upper is not None and not system.is_closed_form:
        lower, upper = np.array(info.lower), np.array(info.upper)
    margin = np.minimum(RANGE_MARGIN * (upper - lower), MAX_RANGE_MARGIN)
    if velocity is None:
        described = (
            system.limits.speed if system.actuator_names == system.velocity_names else np.full(system.nv, np.inf)
        )
        known = (described > 0.0) & np.isfinite(described)
        velocity = np.where(known, VELOCITY_MARGIN * np.where(known, described, 1.0), UNKNOWN_VELOCITY)
    if following is None:
        following = np.maximum(FOLLOWING_TIME_S * np.broadcast_to(velocity, lower.shape), MIN_FOLLOWING)
        following = np.minimum(following, FOLLOWING_SHARE * (upper - lower))
    torque = np.array(info.torque) if info.torque is not None else limits.torque
    return Guard(lower - margin, upper + margin, velocity, following, torque.tolist())


def standard_stop_damping(dyn: Dynamics, limits: WorkingLimits, torque: np.ndarray) -> float:
    """Return Ks by rule (6)."""
    poses = reachable_poses(limits.system)[0][:STOP_POSES]
    rest = np.zeros_like(poses)
    with np.errstate(invalid="ignore", divide="ignore"):
        gravity = dyn.inverse_dynamics(poses, rest, rest)
        demand = np.zeros_like(gravity)
        for k, speed in enumerate(SPEED_SHARE * limits.velocity):
            unit = rest.copy()
            unit[:, k] = speed
            demand += np.abs(dyn.inverse_dynamics(poses, rest, unit) - gravity)
        possible = ((STOP_TORQUE * torque - np.abs(gravity)) / demand).min(axis=1)
    possible = possible[np.isfinite(possible)]
    damping = float(np.median(possible)) if possible.size else MAX_STOP_DAMPING
    return min(max(damping, MIN_STOP_DAMPING), MAX_STOP_DAMPING)


def standard_motion(servo: Servo, kind: str = "spline") -> Callable[[np.ndarray], Reference]:
    """Return a function of the configuration: the default motion (7) from there.

    Parameters
    ----------
    servo : Servo
    kind : {"spline", "ramp", "target"}
        A spline through three points, a ramp with constant speed, or a constant target for the point-to-point law.
    """
    system, guard, period = servo.system, servo.guard, servo.design.period
    names, lower, upper = system.coordinate_names, np.array(guard.lower), np.array(guard.upper)
    size = np.minimum(0.5 / (1.0 + np.arange(len(names)) // 3), 0.2 * (upper - lower))
    if system.actuator_names == system.velocity_names:
        dry = np.array([actuator.friction.level(0.0) for actuator in system.actuators])
        for k in np.flatnonzero((dry > 0.0) & (dry >= JUMP_SHARE * np.array(guard.torque))):
            size[k] = 0.0
            text = f"{axis_word(system, 'actuator')} '{names[k]}' is not moved: its torque limit of {guard.torque[k]:g}"
            text += f" N m or N leaves too little beyond its dry friction of {dry[k]:g}. Correct one of them."
            warnings.warn(text, LimitWarning, stacklevel=2)

    def motion(q: np.ndarray) -> Reference:
        displacement = np.where(0.5 * (lower + upper) > q, size, -size)
        if kind == "target":
            return Reference.hold(q + 0.4 * displacement, period, 2.0)
        slowing = 1.0
        while True:
            path = _default_path(kind, q, displacement, slowing, names)
            excess = _excess(servo, path)
            if excess <= 1.0:
                return Reference.sampled(path, period)
            if slowing >= MAX_SLOWING:
                _refuse(servo, path)
                return Reference.sampled(path, period)
            slowing *= min(max(SLOWER, excess), 2.0)

    return motion


def _default_path(kind: str, q: np.ndarray, displacement: np.ndarray, slowing: float, names: tuple[str, ...]) -> Any:
    if kind == "ramp":
        return Ramp(q, q + displacement, 0.8 / slowing, 3.0 / slowing**2, names=names)
    points = [q, q + displacement, q + 0.3 * displacement, q + 0.8 * displacement]
    return Spline([0.0, slowing, 2.0 * slowing, 3.0 * slowing], points, degree=5, names=names)


def _excess(servo: Servo, path: Any) -> float:
    """Return the largest speed or torque along a path, over the share of its limit that the default motion may use."""
    q, v, a = path(np.linspace(0.0, path.duration, MOTION_SAMPLES))
    tau = servo.design.parts.smooth.inverse_dynamics(q, v, a)
    speed = np.abs(v).max(axis=0) / (SPEED_SHARE * np.array(servo.guard.velocity))
    torque = np.abs(tau).max(axis=0) / (JUMP_SHARE * np.array(servo.guard.torque))
    return float(max(speed.max(), torque.max()))


def _refuse(servo: Servo, path: Any) -> None:
    """Raise an ArgumentError if an actuator cannot hold the system along a path."""
    q = path(np.linspace(0.0, path.duration, MOTION_SAMPLES))[0]
    tau = np.abs(servo.design.parts.smooth.inverse_dynamics(q, 0.0 * q, 0.0 * q)).max(axis=0)
    limit = np.array(servo.guard.torque)
    if (tau <= limit).all():
        return
    k = int(np.argmax(tau / limit))
    raise ArgumentError(
        f"{axis_word(servo.system, 'actuator')} '{servo.info.actuators[k]}' needs {tau[k]:.3g} N m or N to hold the "
        f"arm along the default motion, more than its limit of {limit[k]:.3g}.",
        expected="a motion whose torques are within the limits",
        hint="Start from another configuration, pass another reference, or correct the torque limit.",
    )
