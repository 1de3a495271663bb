"""Functions of motion, forces, energy and actuators: one formula per function of the catalogue.

The parameters of a formula after `equations` are the arguments of its function, under the same names. A parameter
`wrenches` stands for one argument of six numbers (force, moment) per frame that `Dynamics` was given. The docstring of
a formula is the documentation of its function, as `dyn.inverse_dynamics` has it: arguments are arrays whose last axis
has the given size and whose leading axes are the batch.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Vector, select
from appell.algebra.solve import LDL
from appell.errors import ModelError
from appell.formulate.equations import Equations, Wrenches
from appell.model.system import System

# ---- motion and forces


def gibbs_function(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """S(q, v, a), the Gibbs function (acceleration energy) including gravity.

    Its gradient with respect to a is the vector of generalised forces, its Hessian the inertia matrix.
    """
    return {"S": equations.gibbs_function(q, v, a)}


def inverse_dynamics(equations: Equations, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """Inverse dynamics: the actuator forces tau(q, v, a) of a motion.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    a : generalised accelerations, (..., nv), rad/s² or m/s²
    wrenches : with `Dynamics(wrenches=...)`, one argument (..., 6) per frame: external force (N) and moment (N m)

    Returns
    -------
    tau : forces at the actuators, (..., nu), N m or N; nu = nv for a tree

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.inverse_dynamics([0.3, -0.2], [1.0, 0.5], [0.0, 2.0]).round(3)
    array([20.709,  5.448])
    """
    return {"tau": equations.tau(q, v, a, wrenches)}


def forward_dynamics(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """Forward dynamics: the accelerations a(q, v, tau) caused by actuator forces.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    tau : forces at the actuators, (..., nu), N m or N
    wrenches : with `Dynamics(wrenches=...)`, one argument (..., 6) per frame: external force (N) and moment (N m)

    Returns
    -------
    a : generalised accelerations, (..., nv), rad/s² or m/s²

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.forward_dynamics([0.3, -0.2], [1.0, 0.5], [20.0, 5.0]).round(2)
    array([ 0.65, -0.94])
    """
    return {"a": equations.acceleration(q, v, tau, wrenches)}


def joint_inversion(equations: Equations, q: Vector, v: Vector, a_joints: Vector) -> dict[str, Any]:
    """Forces at the joints and accelerations of the modes for given accelerations of the joints of a flexible robot.

    The modal coordinates follow from their own equations, which are stable if the joints, not the tip, are the output.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    a_joints : accelerations along the velocities of the joints, (..., nu), rad/s² or m/s²

    Returns
    -------
    tau : forces at the joints, (..., nu), N m or N
    a : generalised accelerations, (..., nv), with those of the modes
    """
    system = equations.system
    joints = [system.velocity_names.index(name) for name in system.actuator_names]
    modes = [k for k in range(system.nv) if k not in joints]
    given = dict(zip(joints, a_joints, strict=True))
    M, h = equations.mass_matrix(q), equations.bias(q, v)

    def required(k: int, accelerations: dict[int, Any]) -> Any:
        return sum((M[k][i] * x for i, x in accelerations.items()), start=h[k])

    modal = LDL.of([[M[i][k] for k in modes] for i in modes]).solve([-required(k, given) for k in modes])
    every = given | dict(zip(modes, modal, strict=True))
    return {"tau": [required(k, every) for k in joints], "a": [every[k] for k in range(system.nv)]}


def state_rate(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """(dq/dt, a)(q, v, tau), the right-hand side of the equations of motion."""
    return {"rate": equations.rate(q, v), "a": equations.acceleration(q, v, tau, wrenches)}


def generalized_forces(equations: Equations, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """Q(q, v, a) = M a + h, the generalised forces of a motion, along the coordinates."""
    return {"Q": equations.forces(q, v, a, wrenches)}


def mass_matrix(equations: Equations, q: Vector) -> dict[str, Any]:
    """M(q), the inertia matrix along the coordinates.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m

    Returns
    -------
    M : symmetric matrices, (..., nv, nv), kg m², kg m or kg

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.mass_matrix([0.3, -0.2]).round(3)
    array([[2.647, 0.823],
           [0.823, 0.333]])
    """
    return {"M": equations.mass_matrix(q)}


def inverse_mass_matrix(equations: Equations, q: Vector) -> dict[str, Any]:
    """M(q)⁻¹, the inverse of the inertia matrix: accelerations caused by unit generalised forces."""
    return {"M_inverse": equations.inverse_mass_matrix(q)}


def bias(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """h(q, v), the generalised forces at zero acceleration, including gravity and springs.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s

    Returns
    -------
    h : forces along the coordinates, (..., nv), N m or N

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.bias([0.3, -0.2], [1.0, 0.5]).round(3)
    array([19.062,  4.781])
    """
    return {"h": equations.bias(q, v)}


def gravity(equations: Equations, q: Vector) -> dict[str, Any]:
    """g(q), the generalised forces that hold the system at rest, including springs.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m

    Returns
    -------
    g : forces along the coordinates, (..., nv), N m or N

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.gravity([[0.3, -0.2], [0.0, 0.0]]).round(3)  # two configurations
    array([[18.938,  4.88 ],
           [19.62 ,  4.905]])
    """
    return {"g": equations.gravity(q)}


def coriolis(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """C(q, v), the Coriolis matrix: C v = bias - gravity - friction - drift, and dM/dt - 2C is skew-symmetric.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s

    Returns
    -------
    C : matrices, (..., nv, nv)

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn.coriolis([0.3, -0.2], [1.0, 0.5]).round(3)
    array([[ 0.05 ,  0.149],
           [-0.099,  0.   ]])
    """
    return {"C": equations.coriolis(q, v)}


def drift(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """d(q, v), the generalised forces at a = 0 due to prescribed motions and rotating planes; zero without them."""
    return {"d": equations.drift(q, v)}


def friction(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """f(q, v), the friction forces contained in the bias, along the coordinates; zero with `friction=False`."""
    return {"f": equations.friction_forces(q, v)}


def regressor(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Y(q, v, a), the regressor: tau = Y parameters.

    The columns are those of `dyn.parameters`: ten per rigid body and those of the flexible ones, followed by those of
    the active actuators and the springs. With elastic joints or flexible bodies, the rows are those of the velocities.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s
    a : generalised accelerations, (..., nv), rad/s² or m/s²

    Returns
    -------
    Y : matrices, (..., nu or nv, number of parameters)

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> Y = dyn.regressor([0.3, -0.2], [1.0, 0.5], [0.0, 2.0])
    >>> Y.shape
    (2, 20)
    >>> (Y @ dyn.parameter_values).round(3)
    array([20.709,  5.448])
    """
    return {"Y": equations.regressor(q, v, a)}


def base_regressor(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Y(q, v, a), the linearly independent columns of the regressor: tau = Y base_parameters."""
    return {"Y": equations.base_regressor(q, v, a)}


# ---- energy, momentum, coordinates


def energy(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """T(q, v) and U(q), the kinetic and the potential energy.

    U is zero if the centre of mass is at the height of the world's origin and the springs are relaxed.

    Parameters
    ----------
    q : coordinates, (..., nq), rad or m
    v : generalised velocities, (..., nv), rad/s or m/s

    Returns
    -------
    T, U : energies, (...), J

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> T, U = dyn.energy([0.3, -0.2], [1.0, 0.5])
    >>> print(f"{T:.3f} {U:.3f}")
    1.777 4.838
    """
    return {"T": equations.kinetic_energy(q, v), "U": equations.potential_energy(q)}


def momentum(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """Linear momentum (N s), then angular momentum about the centre of mass (N m s), of all bodies, in world axes."""
    return {"momentum": [x for vector in equations.momentum(q, v) for x in vector]}


def centroidal_matrix(equations: Equations, q: Vector) -> dict[str, Any]:
    """A_g(q), the centroidal momentum matrix, (..., 6, nv): `momentum` is A_g v."""
    return {"A": equations.centroidal_matrix(q)}


def centroidal_matrix_rate(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """dA_g/dt (q, v), the rate of the centroidal momentum matrix; that of the momentum is A_g a + dA_g/dt v."""
    return {"A_rate": equations.centroidal_matrix(q)}


def center_of_mass(equations: Equations, q: Vector) -> dict[str, Any]:
    """The centre of mass of all bodies in world coordinates, m."""
    return {"com": list(equations.center_of_mass(q))}


def coordinate_rate(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """dq/dt as a function of (q, v); equal to v except for quaternions, planar joints and constraints."""
    return {"rate": equations.rate(q, v)}


# ---- actuators, and the legs of mechanisms


def actuator_positions(equations: Equations, q: Vector) -> dict[str, Any]:
    """θ(q), the positions of the actuators as their encoders measure them; NaN where a leg does not reach."""
    return {"theta": equations.actuator_positions(q)}


def actuator_jacobian(equations: Equations, q: Vector) -> dict[str, Any]:
    """J(q), the actuator Jacobian: velocities of the actuators θ̇ = J v, generalised forces Q = Jᵀ tau."""
    return {"J": equations.actuator_jacobian(q)}


def spring_torques(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """f(q, v), the forces of the springs of elastic joints on their joints: what torque sensors after the gear measure.

    Examples
    --------
    >>> import appell as ap
    >>> arm = ap.load("puma").with_elastic_joints({"joint2": ap.Elasticity(4e4)})
    >>> q = arm.configuration({"joint2": 0.1, "joint2_motor": 0.101})
    >>> ap.Dynamics(arm).spring_torques(q, [0.0] * arm.nv).round(6)
    array([40.])
    """
    return {"f": equations.spring_torques(q, v)}


def joint_motion(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """Positions, velocities and accelerations of a mechanism's joints, actuators first, then the passive ones."""
    joints = equations.bodies.pose_functions.joints  # type: ignore[union-attr]
    n = equations.system.link_nq
    q, v, a = q[:n], v[:n], a[:n]
    return {"position": joints.value(q), "velocity": joints.rate(q, v), "acceleration": joints.second_rate(q, v, a)}


def survey(equations: Equations, q: Vector) -> dict[str, Any]:
    """Margin of reach of every leg of a mechanism (m, negative if it does not reach), and the actuator Jacobian."""
    margins = [
        select((most - size) - (size - least), size - least, most - size)
        for size, least, most in equations.system.reach_sizes(q)
    ]
    return {"margin": margins, "J": equations.actuator_jacobian(q)}


# ---- checks


def refuse_rigid_joints(system: System, function: str) -> None:
    """Raise ModelError unless the system has elastic joints."""
    if not system.elastic_joints:
        raise ModelError(
            f"{function} is for elastic joints; {system.owner} has none.", hint="Use robot.with_elastic_joints(...)."
        )


def refuse_rigid_links(system: System, function: str) -> None:
    """Raise ModelError unless the system has flexible links and rigid joints."""
    if not system.flexible:
        raise ModelError(
            f"{function} is for robots with flexible links; {system.owner} has none.",
            hint="Use inverse_dynamics(q, v, a).",
        )
    if system.elastic_joints:
        raise ModelError(
            f"{function} needs rigid joints; joint '{system.elastic_joints[0]}' of {system.owner} is elastic.",
        )
    if system.is_constrained:
        raise ModelError(
            f"{function} is for trees; {system.owner} has constraints.",
            hint="Use robot.tree, or forward_dynamics of the constrained robot.",
        )


def refuse_tree(system: System, function: str) -> None:
    """Raise ModelError unless the system is a mechanism in closed form."""
    if not system.is_closed_form:
        raise ModelError(
            f"{function} is for mechanisms in closed form; {system.owner} is a tree, and its joint positions are q."
        )


def refuse_unknown_reach(system: System, function: str) -> None:
    """Raise ModelError unless the system is a mechanism whose legs have a known reach."""
    refuse_tree(system, function)
    if not getattr(system, "reaches", ()):
        raise ModelError(f"{system.owner} has legs of unknown reach.", hint="Pass Mechanism(reaches=[...]).")
