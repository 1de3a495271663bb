"""Dynamics(system): the catalogue of a system's functions, the one place where formulas meet the compiler.

Every entry is a `Function`: traced when it is asked for, compiled when it is first called, and kept on disk.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from appell.algebra.scalar import select
from appell.catalogue import Entry
from appell.compile.function import Function
from appell.constrained_catalogue import ConstrainedCatalogue
from appell.errors import ModelError
from appell.formulate.equations import Parameter
from appell.formulate.systems import Choice
from appell.frame_catalogue import known_reference
from appell.model.mechanism import Mechanism
from appell.model.system import System


class Dynamics(ConstrainedCatalogue):
    """The equations of motion of a robot, constrained or not, or of a mechanism, as functions of NumPy arrays.

        dyn = ap.Dynamics(ap.load("puma"))
        tau = dyn.inverse_dynamics(q, v, a)

    `formulation` names a way to them (`appell formulations` lists all); `inertia` and `forward` choose another method
    for the inertia matrix and for forward dynamics of a tree. `friction=True` counts friction and offsets of the
    actuators, `rotors=True` the inertia of their rotors: in every function. `wrenches` names frames on which outside
    forces act; inverse and forward dynamics then take one more argument of six numbers (force, moment) for each,
    expressed as `reference` says. If bodies are free, every function that needs inertia takes `parameters`, ten a body.
    `tau` are forces at the actuators, all others along the coordinates; for a tree the two are the same.

    Inverse and forward dynamics of a long tree run as loops over its links, which compile in the same time however long
    it is; `looped` asks for them (True) or for straight code (False), and `dyn.looped` names the functions that do.
    """

    def __init__(
        self,
        system: System,
        formulation: str | None = None,
        *,
        inertia: str | None = None,
        forward: str | None = None,
        wrenches: Iterable[str] = (),
        reference: str = "LOCAL",
        friction: bool = False,
        rotors: bool = False,
        looped: bool | None = None,
    ):
        choice = Choice(formulation, inertia, forward, friction, rotors, known_reference(reference), looped)
        super().__init__(system, choice, wrenches)

    def __repr__(self) -> str:
        return f"Dynamics({self.system}, '{self.formulation}'{', in loops' * bool(self.looped)})"

    # ---- motion and forces

    gibbs_function = Entry(
        "q v a",
        lambda e, q, v, a: {"S": e.gibbs_function(q, v, a)},
        "S(q, v, a), the acceleration energy less gravity: ∂S/∂a are the forces, ∂²S/∂a² the inertia matrix.",
    )
    inverse_dynamics = Entry(
        "q v a",
        lambda e, q, v, a, wrenches: {"tau": e.tau(q, v, a, wrenches)},
        "tau(q, v, a), the actuator forces of a motion.",
        pushed=True,
    )
    forward_dynamics = Entry(
        "q v tau",
        lambda e, q, v, tau, wrenches: {"a": e.acceleration(q, v, tau, wrenches)},
        "a(q, v, tau), the motion that actuator forces bring about.",
        pushed=True,
    )
    state_rate = Entry(
        "q v tau",
        lambda e, q, v, tau, wrenches: {
            "rate": e.rate(q, v),
            "a": e.acceleration(q, v, tau, wrenches),
        },
        "(dq/dt, a)(q, v, tau), the right-hand side of the equations of motion.",
        pushed=True,
    )
    generalized_forces = Entry(
        "q v a",
        lambda e, q, v, a, wrenches: {"Q": e.forces(q, v, a, wrenches)},
        "Q(q, v, a), the forces of a motion along the coordinates: M a + h.",
        pushed=True,
    )
    mass_matrix = Entry(
        "q",
        lambda e, q: {"M": e.mass_matrix(q)},
        "M(q), the inertia matrix along the coordinates.",
    )
    inverse_mass_matrix = Entry(
        "q",
        lambda e, q: {"M_inverse": e.inverse_mass_matrix(q)},
        "M(q)⁻¹, the accelerations of unit forces along the coordinates.",
    )
    bias = Entry(
        "q v",
        lambda e, q, v: {"h": e.bias(q, v)},
        "h(q, v), the forces along the coordinates at zero acceleration, gravity and springs included.",
    )
    gravity = Entry(
        "q",
        lambda e, q: {"g": e.bias(q, [0.0] * e.system.nv)},
        "g(q), the forces along the coordinates that hold the system still, springs included.",
    )
    coriolis = Entry(
        "q v",
        lambda e, q, v: {"C": e.coriolis(q, v)},
        "C(q, v), with C v = bias - gravity - friction and dM/dt - 2C skew.",
    )
    friction = Entry(
        "q v",
        lambda e, q, v: {"f": e.friction_forces(q, v)},
        "The share of friction in the bias, along the coordinates; zero if it is switched off.",
        inertial=False,
    )
    regressor = Entry(
        "q v a",
        lambda e, q, v, a: {"Y": e.regressor(q, v, a)},
        "Y(q, v, a), with tau = Y parameters: ten columns a body, then those of drives that count, and of springs.",
        inertial=False,
    )

    base_regressor = Entry(
        "q v a",
        lambda e, q, v, a: {"Y": e.base_regressor(q, v, a)},
        "Y(q, v, a), with tau = Y base_parameters: those columns of the regressor that are no combination of others.",
        inertial=False,
    )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The columns of the regressor: name, kind, owner and value of each parameter."""
        return self.equations.parameters

    @property
    def parameter_values(self) -> np.ndarray:
        """The numbers that the regressor is multiplied with."""
        return np.array([parameter.value for parameter in self.parameters])

    @property
    def base_parameters(self) -> tuple[Parameter, ...]:
        """The columns of the base regressor: the kept parameter of each, and the value it has with all it stands for.

        `base_matrix` says what that is; units are those of the kept parameter.
        """
        return self.equations.base.parameters

    @property
    def base_matrix(self) -> np.ndarray:
        """B, with base_parameters = B parameters and regressor = base_regressor B."""
        return self.equations.base.matrix

    # ---- energy and momentum

    energy = Entry(
        "q v",
        lambda e, q, v: {"T": e.kinetic_energy(q, v), "U": e.potential_energy(q)},
        "(T, U)(q, v), kinetic and potential energy; U = 0 with springs slack, centre of mass level with the origin.",
    )
    momentum = Entry(
        "q v",
        lambda e, q, v: {"momentum": [x for vector in e.momentum(q, v) for x in vector]},
        "Linear momentum of the bodies, then angular momentum about the centre of mass, in world axes.",
    )
    center_of_mass = Entry(
        "q",
        lambda e, q: {"com": list(e.center_of_mass(q))},
        "The centre of mass in world coordinates.",
    )

    # ---- coordinates; for frames see FrameCatalogue

    coordinate_rate = Entry(
        "q v",
        lambda e, q, v: {"rate": e.rate(q, v)},
        "dq/dt for a given v; the same as v but for quaternions and planar joints.",
        inertial=False,
    )

    # ---- actuators, and the legs of mechanisms

    actuator_positions = Entry(
        "q",
        lambda e, q: {"theta": e.actuator_positions(q)},
        "θ(q), what encoders at the actuators would show; NaN where a leg does not reach.",
        inertial=False,
    )
    actuator_jacobian = Entry(
        "q",
        lambda e, q: {"J": e.actuator_jacobian(q)},
        "J(q), with the actuators' velocities θ̇ = J v and Q = Jᵀ tau.",
        inertial=False,
    )
    joint_motion = Entry(
        "q v a",
        lambda e, q, v, a: _joint_motion(e, q, v, a),
        "Positions, velocities and accelerations of a mechanism's joints, actuators first, then the passive ones.",
        inertial=False,
    )
    survey = Entry(
        "q",
        lambda e, q: _survey(e, q),
        "By how much every leg of a mechanism reaches, negative if it does not, and the actuator Jacobian.",
        inertial=False,
    )

    # ---- the names that users of other libraries look for

    @property
    def rnea(self) -> Function:
        return self.inverse_dynamics

    @property
    def aba(self) -> Function:
        return self.forward_dynamics

    @property
    def crba(self) -> Function:
        return self.mass_matrix


def _joint_motion(equations, q, v, a):
    _mechanism(equations.system, "joint_motion")
    joints = equations.curves.joints
    return {"position": joints.value(q), "velocity": joints.rate(q, v), "acceleration": joints.second_rate(q, v, a)}


def _survey(equations, q):
    mechanism = _mechanism(equations.system, "survey")
    if not mechanism.reaches:
        raise ModelError(f"{mechanism.owner} was not told how far its legs reach.", hint="Mechanism(reaches=[...])")
    margins = [
        select((most - size) - (size - least), size - least, most - size)
        for size, least, most in (reach.values(q) for reach in mechanism.reaches)
    ]
    return {"margin": margins, "J": equations.actuator_jacobian(q)}


def _mechanism(system: System, what: str) -> Mechanism:
    if not isinstance(system, Mechanism):
        raise ModelError(f"{what} is for mechanisms; {system.owner} is a tree, whose joints are its q.")
    return system
