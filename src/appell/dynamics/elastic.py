"""Feedforward of a system with elastic joints: the motor torques of a given motion of its links.

The positions of the links are flat outputs. With the forces N(q, v, a) of the rigid link side at its actuators, the
positions p(q) of the elastic joints, and the spring force f(ε), a motion q(t) that can be differentiated four times
determines the motors without damping:

    ε = f⁻¹(N)      ε̇ = Ṅ / f'      ε̈ = (N̈ - f'' ε̇²) / f'                                                       (1)
    θ = p + ε       τ = N + B θ̈ + φ(θ̇)                                                                          (2)

N̈ is one Taylor expansion of the recursion of inverse dynamics along (q, v, a, jerk, snap). A damped spring has
d ε̇ + f(ε) = N, so that the deflection ε is a state of the feedforward:

    ε̇ = (N - f(ε)) / d                ε̈ = (Ṅ - f'(ε) ε̇) / d                                                     (3)

It forgets its initial value with the time constant d/k; `flat_state` gives the value without damping to start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra.scalar import Scalar, Vector, abs, exp, log, select, sqrt
from appell.compile.function import Function
from appell.compile.tape.taylor import Taylor
from appell.errors import ModelError
from appell.formulate.equations import Equations
from appell.formulate.systems import COMPLETE, EquationsFactory
from appell.model.actuator import Actuator, Elasticity
from appell.model.system import System

if TYPE_CHECKING:
    from appell.dynamics.dynamics import Dynamics

NEWTON_STEPS = 2  # that remove the rounding errors of the closed form of f⁻¹


class Spring(NamedTuple):
    """ε and its first two derivatives."""

    deflection: Scalar
    rate: Scalar
    second: Scalar


def deflection(spring: Elasticity, force: Scalar) -> Scalar:
    """ε = f⁻¹(force), without damping: the real root of k ε + k₃ ε³ = force by hyperbolic functions."""
    k, k3 = spring.stiffness, spring.hardening
    if not k3:
        return force * (1.0 / k)
    x = (1.5 / k) * (3.0 * k3 / k) ** 0.5 * force
    third = exp(log(abs(x) + sqrt(x * x + 1.0)) * (1.0 / 3.0))  # exp(arsinh |x| / 3)
    size = (k / (3.0 * k3)) ** 0.5 * (third - 1.0 / third)
    result = select(x, size, -size)
    for _ in range(NEWTON_STEPS):
        square = result * result
        result = result - (k * result + k3 * square * result - force) / (k + 3.0 * k3 * square)
    return result


class SpringMode(NamedTuple):
    """The fastest vibration of a system on the springs of its elastic joints."""

    frequency: float  # rad/s
    joint: str
    decay: float  # largest rate at which the dampers of the springs slow a motion, 1/s


def spring_mode(dyn: Dynamics, q: np.ndarray) -> SpringMode:
    """The fastest vibration at a configuration, on springs with their stiffness at zero deflection."""
    equations, at = dyn.equations, [float(x) for x in q]
    springs = [k for k, drive in enumerate(equations.drives) if drive.elasticity]
    rows = np.array(equations.drive_jacobian(at), float)[springs]
    strains = [equations.drives[k].elasticity for k in springs]
    slopes, dampers = (np.array([getattr(x, name) for x in strains]) for name in ("stiffness", "damping"))
    root = np.linalg.cholesky(np.array(equations.mass_matrix(at), float))
    rows = np.linalg.solve(root, rows.T).T  # of velocities with unit inertia
    values, vectors = np.linalg.eigh(rows.T @ (slopes[:, None] * rows))
    deflections = np.abs(rows @ vectors[:, -1]) * np.sqrt(slopes)
    joint = equations.drives[springs[int(np.argmax(deflections))]].name
    decay = np.linalg.eigvalsh(rows.T @ (dampers[:, None] * rows))[-1]
    return SpringMode(float(np.sqrt(max(values[-1], 0.0))), joint, float(max(decay, 0.0)))


def refuse_feedforward(system: System, function: str, rotors: bool | str) -> None:
    """Raise ModelError unless (1) to (3) apply to a system."""
    owner = system.owner
    if not system.elastic_joints:
        raise ModelError(
            f"{function} is for elastic joints; {owner} has none.",
            hint="Use inverse_dynamics(q, v, a), or add springs with with_elastic_joints(...).",
        )
    if rotors == COMPLETE:
        raise ModelError(
            f"{function} of {owner} is not available with rotors='{COMPLETE}': rotors outboard of a joint then act on "
            "it, and torques depend on higher derivatives than the snap.",
            hint="Pass rotors=True for the reduced model.",
        )
    if system.tree is not None and not system.tree.is_flat:
        raise ModelError(f"{function} needs joints of one axis; those of {owner} have several.")
    if system.free:
        raise ModelError(f"{function} of {owner} needs the inertia of all bodies; those of some are inputs.")
    if system.prescribed:
        raise ModelError(f"{function} of {owner} is not available: some of its motions are prescribed.")
    for name in system.elastic_joints:
        if name not in system.actuator_names:
            raise ModelError(f"{function} of {owner} is not available: its elastic joint '{name}' has no actuator.")
        if (spring := system.drives[name].elasticity) and spring.backlash:
            raise ModelError(
                f"{function} of {owner} is not available: joint '{name}' has a backlash of {spring.backlash:g}, within "
                "which no force determines the position of the motor.",
                hint="Use with_elastic_joints(...) without backlash for the feedforward.",
            )


class _Links:
    """The link side of a system along a motion: forces N at its actuators and positions p of these, with rates."""

    def __init__(self, dyn: Dynamics):
        self.system, choice = dyn.system, replace(dyn.choice, looped=False if dyn.system.tree else None)
        links = self.system.link_side
        self.equations: Equations = EquationsFactory(links, choice, Taylor)({})
        self.nq, self.nv = links.nq, links.nv
        n = self.nq + 2 * self.nv
        self._forces = Taylor("forces", n, lambda x: self.equations.tau(*self._split(x), {}))
        self._positions = Taylor("positions", self.nq, self.equations.actuator_positions)

    def _split(self, x: Vector) -> tuple[Vector, Vector, Vector]:
        return x[: self.nq], x[self.nq : self.nq + self.nv], x[self.nq + self.nv :]

    def forces(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.equations.tau(q, v, a, {})

    def force_rates(self, q: Vector, v: Vector, a: Vector, jerk: Vector) -> list[Scalar]:
        return self._forces.rate([*q, *v, *a], [*self.equations.rate(q, v), *a, *jerk])

    def force_second_rates(self, q: Vector, v: Vector, a: Vector, jerk: Vector, snap: Vector) -> list[Scalar]:
        rates = [*self.equations.rate(q, v), *a, *jerk]
        return self._forces.second_rate([*q, *v, *a], rates, [*self._tree_acceleration(q, v, a), *jerk, *snap])

    def _tree_acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """d²q/dt² of joints of one axis."""
        return self.equations.tree_acceleration(q, v, a)

    def motion(self, q: Vector, v: Vector, a: Vector) -> list[tuple[Scalar, Scalar, Scalar]]:
        """p, ṗ and p̈ of every actuator."""
        rates, seconds = self.equations.rate(q, v), self._tree_acceleration(q, v, a)
        p, second = self._positions.value(q), self._positions.second_rate(q, rates, seconds)
        return list(zip(p, self._positions.rate(q, rates), second, strict=True))


def _undamped(spring: Elasticity, N: Scalar, N_rate: Scalar, N_second: Scalar) -> Spring:
    """(1)."""
    x = deflection(spring, N)
    if not spring.hardening:
        return Spring(x, N_rate * (1.0 / spring.stiffness), N_second * (1.0 / spring.stiffness))
    slope = spring.stiffness + 3.0 * spring.hardening * (x * x)
    rate = N_rate / slope
    return Spring(x, rate, (N_second - 6.0 * spring.hardening * (x * rate * rate)) / slope)


def _damped(spring: Elasticity, x: Scalar, N: Scalar, N_rate: Scalar) -> Spring:
    """(3)."""
    slope = spring.stiffness + 3.0 * spring.hardening * (x * x)
    rate = (N - spring.force(x, 0.0)) * (1.0 / spring.damping)
    return Spring(x, rate, (N_rate - slope * rate) * (1.0 / spring.damping))


def _actuators(system: System) -> Sequence[tuple[str, Actuator]]:
    return list(zip(system.actuator_names, system.actuators, strict=True))


def feedforward(dyn: Dynamics) -> Function:
    """τ(q, v, a, jerk, snap), the motor torques of a motion of the links; see `Dynamics.feedforward`."""
    system, has_friction = dyn.system, dyn.choice.friction
    refuse_feedforward(system, "feedforward", dyn.choice.rotors)
    links = _Links(dyn)
    damped = [name for name, actuator in _actuators(system) if actuator.elasticity and actuator.elasticity.damping]
    undamped = [name for name in system.elastic_joints if name not in damped]
    sizes = {"q": links.nq, "v": links.nv, "a": links.nv, "jerk": links.nv}
    sizes |= {"snap": links.nv} if undamped else {}
    sizes |= {"deflection": len(damped)} if damped else {}

    def body(q, v, a, jerk, *others):
        given = dict(zip(list(sizes)[4:], others, strict=True))
        N, N_rate = links.forces(q, v, a), links.force_rates(q, v, a, jerk)
        N_second = links.force_second_rates(q, v, a, jerk, given["snap"]) if undamped else [0.0] * len(N)
        tau, rates, states = [], [], iter(given.get("deflection", ()))
        for k, ((_, actuator), (_, p_rate, p_second)) in enumerate(
            zip(_actuators(system), links.motion(q, v, a), strict=True)
        ):
            spring = actuator.elasticity
            if spring is None:
                tau.append(N[k])
                continue
            if spring.damping:
                x = _damped(spring, next(states), N[k], N_rate[k])
                rates.append(x.rate)
            else:
                x = _undamped(spring, N[k], N_rate[k], N_second[k])
            tau.append(N[k] + actuator.reflected_inertia * (p_second + x.second))
            if has_friction:
                tau[-1] = tau[-1] + actuator.friction.force(p_rate + x.rate) + actuator.offset
        return {"tau": tau} | ({"deflection_rate": rates} if damped else {})

    return Function.of("feedforward", sizes, body, feedforward.__doc__ or "", system.owner)


def flat_state(dyn: Dynamics) -> Function:
    """(q, v)(q, v, a, jerk), the state of links and motors on a motion of the links; see `Dynamics.flat_state`."""
    system = dyn.system
    refuse_feedforward(system, "flat_state", dyn.choice.rotors)
    links = _Links(dyn)
    sizes = {"q": links.nq, "v": links.nv, "a": links.nv, "jerk": links.nv}

    def body(q, v, a, jerk):
        N, N_rate, motion = links.forces(q, v, a), links.force_rates(q, v, a, jerk), links.motion(q, v, a)
        theta, theta_rate = [], []
        for k, (_, actuator) in enumerate(_actuators(system)):
            if actuator.elasticity is not None:
                x = _undamped(actuator.elasticity, N[k], N_rate[k], 0.0)
                theta.append(motion[k][0] + x.deflection)
                theta_rate.append(motion[k][1] + x.rate)
        order = [name for name, actuator in _actuators(system) if actuator.elasticity is not None]
        at = [order.index(name) for name in system.elastic_joints]
        return {"q_all": [*q, *(theta[k] for k in at)], "v_all": [*v, *(theta_rate[k] for k in at)]}

    return Function.of("flat_state", sizes, body, flat_state.__doc__ or "", system.owner)
