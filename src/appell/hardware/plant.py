"""The plant: a system under held torques, with friction that can stick.

Between samples, the smooth part is integrated by one step of the fourth-order Runge-Kutta method,

    M a = B (τ - D θ̇) - h(q, v)                θ̇ = Bᵀv                                                        (1)

with rotors in M, viscous friction and offsets in h, and the damping D of short-circuited motors. Dry friction and
brakes then act as a bounded force λ along each drive, with rate θ̇ = J v, which is constant over the step and brings
the drive to rest if its bound allows:

    v⁺ = v + dt A Jᵀλ,   A = M⁻¹               |λₖ| ≤ Fₖ,   θ̇⁺ₖ = 0 or λₖ = -Fₖ sign(θ̇⁺ₖ)                    (2)

solved by Gauss-Seidel sweeps over the drives, starting from the λ of the previous step. A drive at rest stays at rest,
up to rounding, as long as the bound can hold it: it does not creep, and brakes do not require smaller steps. On a tree
without mimic joints J = 1. For systems with loops, every step ends with one Newton step that closes them.

Dry friction with a width changes its sign smoothly and cannot hold a drive; only brakes contribute to its Fₖ. It acts
as a damping c = F / √(θ̇² + width²) on θ̇⁺, with θ̇ of the sweep before:

    λₖ = βₖ - cₖ θ̇⁺ₖ                           |βₖ| ≤ Fₖ,   θ̇⁺ₖ = 0 or βₖ = -Fₖ sign(θ̇⁺ₖ)                    (3)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar, clamp, dot, sqrt
from appell.algebra.solve import LDL
from appell.compile.function import Function
from appell.control.axes import per_axis
from appell.control.blocks import Blocks
from appell.control.friction_parts import FrictionParts
from appell.dynamics.elastic import spring_mode
from appell.kinematics.assembly import close_loops
from appell.kinematics.mechanisms import check_pose
from appell.model.system import System
from appell.model.variations import with_stiction

MAX_VIBRATION = 1.0  # rad of the fastest vibration on springs per step; Runge-Kutta steps are stable up to 2.8
MAX_DECAY = 1.4  # largest product of a step and the decay rate of a damper; Runge-Kutta steps are stable up to 2.8
STICTION = 1.2  # ratio of static to Coulomb friction of a plant without a described static level
FRICTION_SWEEPS = 8
MIN_DENOMINATOR = 1e-30  # avoids a division by zero in a step of length zero

State = tuple[list[Scalar], list[Scalar], list[Scalar]]  # q, v, λ


def plant_step(parts: FrictionParts, state: State, tau: Sequence, dt: Scalar, damping: Sequence, brake) -> State:
    """Return q, v and λ after dt seconds, over abstract scalars.

    Parameters
    ----------
    parts : FrictionParts
    state : q (nq), v (nv) and λ (drives)
    tau : torques of the actuators (nu)
    dt : in s
    damping : diagonal of D (nu)
    brake : bounds on the forces of the brakes (nu), in addition to dry friction
    """
    q, v, hold = state
    equations = parts.equations
    first = LDL.of(equations.mass_matrix(q))

    def acceleration(q, v, factors: LDL | None = None) -> list[Scalar]:
        rows = zip(tau, damping, equations.actuator_rates(q, v), strict=True)
        pushed = equations.along_coordinates(q, [force - coefficient * rate for force, coefficient, rate in rows])
        net = [force - h for force, h in zip(pushed, equations.bias(q, v), strict=True)]
        return (factors or LDL.of(equations.mass_matrix(q))).solve(net)

    J = equations.drive_jacobian(q)
    brakes = dict(zip(parts.system.actuator_names, brake, strict=True))
    levels = [dry.level(dot(row, v)) for dry, row in zip(parts.dry, J, strict=True)]
    rows = zip(equations.drives, parts.dry, levels, strict=True)
    bounds = [(0.0 if dry.width else level) + brakes.get(drive.name, 0.0) for drive, dry, level in rows]
    smooth = [(level, dry.width) for level, dry in zip(levels, parts.dry, strict=True)]
    q, free = _runge_kutta(q, v, dt, acceleration, equations.rate, first)
    if all(isinstance(x, float) and x == 0.0 for x in (*bounds, *levels)):
        return equations.closed(q), free, list(hold)
    hold, slowed = _friction(free, hold, bounds, smooth, J, [first.solve(row) for row in J], dt)
    correction = equations.rate(q, [after - before for after, before in zip(slowed, free, strict=True)])
    return equations.closed([x + 0.5 * dt * rate for x, rate in zip(q, correction, strict=True)]), slowed, hold


def _runge_kutta(q, v, dt: Scalar, acceleration: Callable, rate: Callable, first: LDL):
    half, sixth = 0.5 * dt, dt * (1.0 / 6.0)
    a1, r1 = acceleration(q, v, first), rate(q, v)
    q2, v2 = _moved(q, r1, half), _moved(v, a1, half)
    a2, r2 = acceleration(q2, v2), rate(q2, v2)
    q3, v3 = _moved(q, r2, half), _moved(v, a2, half)
    a3, r3 = acceleration(q3, v3), rate(q3, v3)
    q4, v4 = _moved(q, r3, dt), _moved(v, a3, dt)
    a4, r4 = acceleration(q4, v4), rate(q4, v4)

    def combined(x, k1, k2, k3, k4):
        return [s + sixth * (a + 2.0 * (b + c) + d) for s, a, b, c, d in zip(x, k1, k2, k3, k4, strict=True)]

    return combined(q, r1, r2, r3, r4), combined(v, a1, a2, a3, a4)


def _moved(x, rate, dt: Scalar) -> list[Scalar]:
    return [a + dt * b for a, b in zip(x, rate, strict=True)]


def _friction(free, hold, bounds, smooth, J, response, dt: Scalar):
    """Return λ and v⁺ of (2) and (3); `smooth` has levels and widths, `response` the columns of A Jᵀ."""
    most = [bound + level if width else bound for bound, (level, width) in zip(bounds, smooth, strict=True)]
    hold = [clamp(before, -bound, bound) for before, bound in zip(hold, most, strict=True)]
    v = [rate + dt * dot(column, hold) for rate, column in zip(free, zip(*response, strict=True), strict=True)]
    stiffness = [1.0 / (dt * dot(row, column) + MIN_DENOMINATOR) for row, column in zip(J, response, strict=True)]
    for _ in range(FRICTION_SWEEPS):
        for k, row in enumerate(J):
            rate, (level, width) = dot(row, v), smooth[k]
            resting = hold[k] - rate * stiffness[k]  # force that brings the drive to rest
            new = clamp(resting, -bounds[k], bounds[k])
            if width:
                damping = level / sqrt(rate * rate + width * width)  # (3)
                new = resting + (new - resting) * (stiffness[k] / (stiffness[k] + damping))
            change = dt * (new - hold[k])
            v = [rate + change * entry for rate, entry in zip(v, response[k], strict=True)]
            hold[k] = new
    return hold, v


def plant_blocks(parts: FrictionParts) -> dict[str, int]:
    """Return the sizes of the blocks of the state: q, v, and λ as `hold`."""
    return {"q": parts.system.nq, "v": parts.system.nv, "hold": len(parts.equations.drives)}


def plant_function(parts: FrictionParts) -> Function:
    """Return the step (state, tau, dt, damping, brake) -> state_next; the state is q, v and λ in one array."""
    blocks, nu = Blocks(**plant_blocks(parts)), parts.system.nu
    inputs = {"state": blocks.size, "tau": nu, "dt": (), "damping": nu, "brake": nu}

    def body(state, tau, dt, damping, brake):
        after = plant_step(parts, tuple(blocks.split(state)), tau, dt, damping, brake)
        return {"state_next": [x for part in after for x in part]}

    return Function.of("plant_step", inputs, body, "The system after dt seconds.", parts.system.owner)


def real_system(system: System, payload: float = 0.0) -> System:
    """Return a system with static friction and, optionally, a payload in kg, which the model of a controller lacks."""
    real = with_stiction(system, STICTION)
    return real.with_payload(payload, com=(0.0, 0.0, 0.1)) if payload else real


class Plant:
    """A simulated system with friction that can stick, moved by torques that are held for a time.

    Parameters
    ----------
    system : a controllable system
    longest_step : largest integration step, in s; shorter where the springs of elastic joints require it

    Examples
    --------
    >>> import appell as ap
    >>> plant = ap.hardware.Plant(ap.load("pendulum"))
    >>> plant.set_state([0.5])
    >>> plant([0.0], 0.1)  # no torque for 0.1 s
    >>> bool(plant.q[0] < 0.5), bool(plant.v[0] < 0.0)
    (True, True)
    """

    def __init__(self, system: System, longest_step: float = 1e-3):
        self.system, self.longest_step = system, longest_step
        self.spring_step = np.inf  # largest step that the springs at the configuration of `set_state` allow, in s
        self.parts = FrictionParts(system)
        self.bound: Any = plant_function(self.parts).bind()
        self.set_state(system.start)

    def set_state(self, q, v=0.0) -> None:
        """Set the configuration q and the velocity v (one number, or one per coordinate)."""
        nq, nv, state = self.system.nq, self.system.nv, self.bound.state_next
        elastic = bool(self.system.elastic_joints)
        q = per_axis(self.system, "coordinate", "q", q) if nq == nv and not elastic else self.system.sized("q", q, nq)
        check_pose(self.parts.smooth, q)
        q = close_loops(self.parts.smooth, np.array(q))
        v = np.broadcast_to(v, nv) if elastic else per_axis(self.system, "coordinate", "v", v)
        state[:nq], state[nq : nq + nv], state[nq + nv :] = q, v, 0.0
        if elastic:
            mode = spring_mode(self.parts.smooth, q)
            self.spring_step = 1.0 / max(mode.frequency / MAX_VIBRATION, mode.decay / MAX_DECAY, 1e-9)

    @property
    def q(self) -> np.ndarray:
        """Current configuration, of shape (nq,)."""
        return self.bound.state_next[: self.system.nq].copy()

    @property
    def v(self) -> np.ndarray:
        """Current velocity, of shape (nv,)."""
        nq = self.system.nq
        return self.bound.state_next[nq : nq + self.system.nv].copy()

    @property
    def actuator_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the actuators, each (nu,): what encoders at the motors measure."""
        dyn, q = self.parts.smooth, self.q
        return dyn.actuator_positions(q), dyn.actuator_jacobian(q) @ self.v

    @property
    def spring_torque(self) -> np.ndarray:
        """Torques of the springs of elastic joints, (elastic joints,), N m or N: what torque sensors measure."""
        return self.parts.smooth.spring_torques(self.q, self.v)

    def __call__(self, tau, duration: float) -> None:
        """Simulate `duration` seconds with constant torques `tau`, of shape (nu,), in N m or N."""
        bound = self.bound
        steps = max(1, int(np.ceil(duration / min(self.longest_step, self.spring_step) - 1e-9)))
        bound.tau[:], bound.dt[...] = tau, duration / steps
        for _ in range(steps):
            bound.state[:] = bound.state_next
            bound()
