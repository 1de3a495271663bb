"""Functions of motion, forces, energy and actuators: one formula per function of the catalogue.

The parameters of a formula after `equations` are the arguments of its function, under the same names. A parameter
`wrenches` stands for one argument of six numbers (force, moment) per frame that `Dynamics` was given. The docstring of
a formula is the documentation of its function.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Vector, select
from appell.errors import ModelError
from appell.formulate.equations import Equations, Wrenches
from appell.model.system import System

# ---- motion and forces


def gibbs_function(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """S(q, v, a), the acceleration energy less gravity: ∂S/∂a are the forces, ∂²S/∂a² the inertia matrix."""
    return {"S": equations.gibbs_function(q, v, a)}


def inverse_dynamics(equations: Equations, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """tau(q, v, a), the actuator forces of a motion."""
    return {"tau": equations.tau(q, v, a, wrenches)}


def forward_dynamics(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """a(q, v, tau), the motion that actuator forces bring about."""
    return {"a": equations.acceleration(q, v, tau, wrenches)}


def state_rate(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """(dq/dt, a)(q, v, tau), the right-hand side of the equations of motion."""
    return {"rate": equations.rate(q, v), "a": equations.acceleration(q, v, tau, wrenches)}


def generalized_forces(equations: Equations, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """Q(q, v, a), the forces of a motion along the coordinates: M a + h."""
    return {"Q": equations.forces(q, v, a, wrenches)}


def mass_matrix(equations: Equations, q: Vector) -> dict[str, Any]:
    """M(q), the inertia matrix along the coordinates."""
    return {"M": equations.mass_matrix(q)}


def inverse_mass_matrix(equations: Equations, q: Vector) -> dict[str, Any]:
    """M(q)⁻¹, the accelerations of unit forces along the coordinates."""
    return {"M_inverse": equations.inverse_mass_matrix(q)}


def bias(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """h(q, v), the forces along the coordinates at zero acceleration, gravity and springs included."""
    return {"h": equations.bias(q, v)}


def gravity(equations: Equations, q: Vector) -> dict[str, Any]:
    """g(q), the forces along the coordinates that hold the system still, springs included."""
    return {"g": equations.gravity(q)}


def coriolis(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """C(q, v), with C v = bias - gravity - friction - drift and dM/dt - 2C skew."""
    return {"C": equations.coriolis(q, v)}


def drift(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """Forces along the coordinates due to prescribed motions and turning planes at a = 0; zero without any."""
    return {"d": equations.drift(q, v)}


def friction(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """Friction forces contained in the bias, along the coordinates; zero if friction is switched off."""
    return {"f": equations.friction_forces(q, v)}


def regressor(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Y(q, v, a), with tau = Y parameters: ten columns per body, then those of the active actuators and of springs."""
    return {"Y": equations.regressor(q, v, a)}


def base_regressor(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Y(q, v, a), with tau = Y base_parameters: the linearly independent columns of the regressor."""
    return {"Y": equations.base_regressor(q, v, a)}


# ---- energy, momentum, coordinates


def energy(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """(T, U)(q, v), kinetic and potential energy; U = 0 with springs slack, centre of mass level with the origin."""
    return {"T": equations.kinetic_energy(q, v), "U": equations.potential_energy(q)}


def momentum(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """Linear momentum of the bodies, then angular momentum about the centre of mass, in world axes."""
    return {"momentum": [x for vector in equations.momentum(q, v) for x in vector]}


def center_of_mass(equations: Equations, q: Vector) -> dict[str, Any]:
    """The centre of mass in world coordinates."""
    return {"com": list(equations.center_of_mass(q))}


def coordinate_rate(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """dq/dt for a given v; the same as v except for quaternions, planar joints and constraints."""
    return {"rate": equations.rate(q, v)}


# ---- actuators, and the legs of mechanisms


def actuator_positions(equations: Equations, q: Vector) -> dict[str, Any]:
    """θ(q), the readings of encoders at the actuators; NaN where a leg does not reach."""
    return {"theta": equations.actuator_positions(q)}


def actuator_jacobian(equations: Equations, q: Vector) -> dict[str, Any]:
    """J(q), with the actuators' velocities θ̇ = J v and Q = Jᵀ tau."""
    return {"J": equations.actuator_jacobian(q)}


def joint_motion(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Positions, velocities and accelerations of a mechanism's joints, actuators first, then the passive ones."""
    joints = equations.curves.joints
    return {"position": joints.value(q), "velocity": joints.rate(q, v), "acceleration": joints.second_rate(q, v, a)}


def survey(equations: Equations, q: Vector) -> dict[str, Any]:
    """Margin of reach of every leg of a mechanism, negative if it does not reach, and the actuator Jacobian."""
    margins = [
        select((most - size) - (size - least), size - least, most - size)
        for size, least, most in (reach.values(q) for reach in equations.system.reaches)
    ]
    return {"margin": margins, "J": equations.actuator_jacobian(q)}


# ---- refusals


def refuse_tree(system: System, function: str) -> None:
    """Raise unless the system is a mechanism in closed form."""
    if not system.is_closed_form:
        raise ModelError(f"{function} is for mechanisms; {system.owner} is a tree, whose joints are its q.")


def refuse_unknown_reach(system: System, function: str) -> None:
    """Raise unless the system is a mechanism whose legs have a known reach."""
    refuse_tree(system, function)
    if not getattr(system, "reaches", ()):
        raise ModelError(f"{system.owner} was not told how far its legs reach.", hint="Mechanism(reaches=[...])")
