"""Dynamics(system): the catalogue of a system's functions, and the one place where formulas meet the compiler.

Every entry is a `Function`: traced when it is asked for, compiled when it is first called, and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from appell.algebra.scalar import select
from appell.compile.collect import simplest
from appell.compile.differentiate import forward
from appell.compile.function import Function
from appell.compile.tape import Array, Tape
from appell.compile.taylor import Taylor
from appell.compile.trace import trace
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate.equations import Equations, Parameter
from appell.formulate.kinematics import REFERENCES
from appell.formulate.systems import Choice, Maker, maker
from appell.model.body import Inertia
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism
from appell.model.system import System

Results = Mapping[str, Any]


class Dynamics:
    """The equations of motion of a robot or a mechanism, as functions of NumPy arrays.

    dyn = ap.Dynamics(ap.load("puma"))
    tau = dyn.inverse_dynamics(q, v, a)

    `formulation` names a way to them (`appell formulations` lists all); `inertia` and `forward` choose another method
    for the inertia matrix and for forward dynamics of a tree. `friction=True` counts friction and offsets of the
    actuators, `rotors=True` the inertia of their rotors: in every function. `wrenches` names frames on which outside
    forces act; inverse and forward dynamics then take one more argument of six numbers (force, moment) for each,
    expressed as `reference` says. If bodies are free, every function that needs inertia takes `parameters`, ten a body.
    `tau` are forces at the actuators, all others along the coordinates; for a tree the two are the same.
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
    ):
        choice = Choice(formulation, inertia, forward, friction, rotors, _known_reference(reference))
        self.system = system
        self._make: Maker = maker(system, choice, Taylor)
        self.wrenches = (wrenches,) if isinstance(wrenches, str) else tuple(wrenches)
        self._pushed = [system.frame(name) for name in self.wrenches]
        self._kept: dict[tuple[str, ...], Function] = {}  # functions of a frame

    def __repr__(self) -> str:
        return f"Dynamics({self.system}, '{self.formulation}')"

    @property
    def formulation(self) -> str:
        """The name of the way to the equations."""
        return self._make.name

    @cached_property
    def equations(self) -> Equations:
        """The same over abstract scalars, for functions of one's own: see `Function.of`."""
        return self._make({})

    # ---- motion and forces

    @cached_property
    def gibbs_function(self) -> Function:
        """S(q, v, a), the acceleration energy less gravity: ∂S/∂a are the forces, ∂²S/∂a² the inertia matrix."""
        return self._function("gibbs_function", "q v a", lambda e, q, v, a: {"S": e.gibbs_function(q, v, a)})

    @cached_property
    def inverse_dynamics(self) -> Function:
        """tau(q, v, a), the actuator forces of a motion."""

        def body(e, q, v, a, *wrenches):
            return {"tau": e.tau(q, v, a, self._on_frames(wrenches))}

        return self._function("inverse_dynamics", "q v a", body, wrenches=True)

    @cached_property
    def generalized_forces(self) -> Function:
        """Q(q, v, a), the forces of a motion along the coordinates: M a + h."""

        def body(e, q, v, a, *wrenches):
            return {"Q": e.forces(q, v, a, self._on_frames(wrenches))}

        return self._function("generalized_forces", "q v a", body, wrenches=True)

    @cached_property
    def forward_dynamics(self) -> Function:
        """a(q, v, tau), the motion that actuator forces bring about."""

        def body(e, q, v, tau, *wrenches):
            return {"a": e.acceleration(q, v, tau, self._on_frames(wrenches))}

        return self._function("forward_dynamics", "q v tau", body, wrenches=True)

    @cached_property
    def mass_matrix(self) -> Function:
        """M(q), the inertia matrix along the coordinates."""
        return self._function("mass_matrix", "q", lambda e, q: {"M": e.mass_matrix(q)})

    @cached_property
    def bias(self) -> Function:
        """h(q, v), the forces along the coordinates at zero acceleration, gravity included."""
        return self._function("bias", "q v", lambda e, q, v: {"h": e.bias(q, v)})

    @cached_property
    def gravity(self) -> Function:
        """g(q), the forces along the coordinates that hold the robot still."""
        return self._function("gravity", "q", lambda e, q: {"g": e.bias(q, [0.0] * self.system.nv)})

    @cached_property
    def coriolis(self) -> Function:
        """C(q, v), with C v = bias - gravity - friction and dM/dt - 2C skew."""
        return self._function("coriolis", "q v", lambda e, q, v: {"C": e.coriolis(q, v)})

    @cached_property
    def friction(self) -> Function:
        """The share of friction in the bias, along the coordinates; zero if it is switched off."""
        return self._function("friction", "q v", lambda e, q, v: {"f": e.friction_forces(q, v)}, inertial=False)

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a), with tau = Y parameters: ten columns a body, then those of rotors and friction if they count."""
        return self._function("regressor", "q v a", lambda e, q, v, a: {"Y": e.regressor(q, v, a)}, inertial=False)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The columns of the regressor: name, kind, owner and value of each parameter."""
        return self.equations.parameters

    @property
    def parameter_values(self) -> np.ndarray:
        """The numbers that the regressor is multiplied with."""
        return np.array([parameter.value for parameter in self.parameters])

    # ---- energy and momentum

    @cached_property
    def energy(self) -> Function:
        """(T, U)(q, v), kinetic and potential energy; U = 0 with the centre of mass level with the world's origin."""
        return self._function(
            "energy", "q v", lambda e, q, v: {"T": e.kinetic_energy(q, v), "U": e.potential_energy(q)}
        )

    @cached_property
    def momentum(self) -> Function:
        """Linear momentum of the bodies, then angular momentum about the centre of mass, in world axes."""

        def body(e, q, v):
            linear, angular = e.momentum(q, v)
            return {"momentum": [*linear, *angular]}

        return self._function("momentum", "q v", body)

    @cached_property
    def center_of_mass(self) -> Function:
        """The centre of mass in world coordinates."""
        return self._function("center_of_mass", "q", lambda e, q: {"com": list(e.center_of_mass(q))})

    # ---- frames

    def pose(self, frame: str) -> Function:
        """The 4x4 pose of a frame in the world."""

        def made(place: Frame) -> Function:
            return self._function(
                f"pose_{frame}", "q", lambda e, q: {"pose": e.pose(place, q).matrix}, inertial=False, doc=Dynamics.pose
            )

        return self._of_frame(("pose", frame), made)

    def jacobian(self, frame: str, reference: str = "LOCAL") -> Function:
        """J(q), with the frame's velocity (linear, angular) = J v."""
        axes = _known_reference(reference)

        def made(place: Frame) -> Function:
            return self._function(
                f"jacobian_{frame}",
                "q",
                lambda e, q: {"J": e.jacobian(place, axes, q)},
                inertial=False,
                doc=Dynamics.jacobian,
            )

        return self._of_frame(("jacobian", frame, axes), made)

    def jacobian_rate(self, frame: str, reference: str = "LOCAL") -> Function:
        """dJ/dt (q, v), entry by entry, so that the frame's acceleration is J a + dJ/dt v in the same axes."""
        axes, system = _known_reference(reference), self.system

        def made(place: Frame) -> Function:
            still = self._function(
                f"jacobian_rate_{frame}", "q v", lambda e, q, v: {"J": e.jacobian(place, axes, q)}, inertial=False
            ).tape
            along = trace(
                "along_v", still.inputs, lambda q, v: {"seed": [[x] for x in system.rate(q, v) + [0.0] * len(v)]}
            )
            tape = forward(still, still.name, [along], [Array("Jdot", (6, system.nv))])
            return Function(tape, Dynamics.jacobian_rate.__doc__ or "", system.owner, self._tangents)

        return self._of_frame(("jacobian_rate", frame, axes), made)

    @cached_property
    def coordinate_rate(self) -> Function:
        """dq/dt for a given v; the same as v but for quaternions and planar joints."""
        return self._function(
            "coordinate_rate", "q v", lambda e, q, v: {"rate": self.system.rate(q, v)}, inertial=False
        )

    # ---- actuators and legs

    @cached_property
    def actuator_positions(self) -> Function:
        """θ(q), what the actuators' encoders would show; NaN where a leg does not reach."""
        return self._function(
            "actuator_positions", "q", lambda e, q: {"theta": e.actuator_positions(q)}, inertial=False
        )

    @cached_property
    def actuator_jacobian(self) -> Function:
        """J(q), with the actuators' velocities θ̇ = J v and Q = Jᵀ tau."""
        return self._function("actuator_jacobian", "q", lambda e, q: {"J": e.actuator_jacobian(q)}, inertial=False)

    @cached_property
    def joint_motion(self) -> Function:
        """Positions, velocities and accelerations of a mechanism's joints, actuators first, then the passive ones."""
        self._mechanism("joint_motion")

        def body(e, q, v, a):
            joints = e.curves.joints
            return {
                "position": joints.value(q),
                "velocity": joints.rate(q, v),
                "acceleration": joints.second_rate(q, v, a),
            }

        return self._function("joint_motion", "q v a", body, inertial=False)

    @cached_property
    def survey(self) -> Function:
        """By how much every leg of a mechanism reaches, negative if it does not, and the actuator Jacobian."""
        reaches = self._mechanism("survey").reaches

        def margin(size, least, most):
            return select((most - size) - (size - least), size - least, most - size)

        def body(e, q):
            margins = [margin(*reach.values(q)) for reach in reaches] or [np.inf]
            return {"margin": margins, "J": e.actuator_jacobian(q)}

        return self._function("survey", "q", body, inertial=False)

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

    # ---- how an entry is made

    def _function(
        self,
        name: str,
        arguments: str,
        body: Callable[..., Results],
        *,
        inertial: bool = True,
        wrenches: bool = False,
        doc: Any = None,
    ) -> Function:
        """Trace `body(equations, *arguments)`."""
        system = self.system
        sizes = {"q": system.nq, "v": system.nv, "a": system.nv, "tau": system.nu}
        inputs = [Array(argument, (sizes[argument],)) for argument in arguments.split()]
        if wrenches:
            inputs += [Array(f"wrench_{frame}", (6,)) for frame in self.wrenches]
        free = [name for name in system.body_names if name in system.free] if inertial else []
        if free:
            inputs.append(Array("parameters", (10 * len(free),)))
        if inertial and (lacking := system.lacking()):
            raise ModelError(
                f"{system.owner} has moving links without inertia: {', '.join(lacking)}.",
                source=system.source,
                hint="add <inertial> to them, or load with physical=False to take them as massless",
            )

        def traced(*arguments):
            if not free:
                return body(self.equations, *arguments)
            *values, parameters = arguments
            own = {body: parameters[10 * k : 10 * k + 10] for k, body in enumerate(free)}
            return body(self._make({name: Inertia.from_parameters(ten) for name, ten in own.items()}), *values)

        tape = trace(name, inputs, traced)
        if self._make.collects(name):
            tape = simplest(tape)
        text = (doc or getattr(Dynamics, name, self._function)).__doc__ or ""
        return Function(tape, text, system.owner, self._tangents)

    def _of_frame(self, key: tuple[str, ...], made: Callable[[Frame], Function]) -> Function:
        """A function of a frame, made once."""
        if key not in self._kept:
            self._kept[key] = made(self.system.frame(key[1]))
        return self._kept[key]

    def _on_frames(self, wrenches) -> dict[Frame, Any]:
        return dict(zip(self._pushed, wrenches, strict=True))

    @cached_property
    def _tangents(self) -> dict[str, Tape]:
        """The columns of N in q̇ = N(q) v, where that is more than the identity."""
        system = self.system
        if system.is_flat:
            return {}
        units = [[float(i == k) for i in range(system.nv)] for k in range(system.nv)]

        def columns(q):
            return {"N": [list(row) for row in zip(*(system.rate(q, unit) for unit in units), strict=True)]}

        return {"q": trace("tangent", [Array("q", (system.nq,))], columns)}

    def _mechanism(self, what: str) -> Mechanism:
        if not isinstance(self.system, Mechanism):
            raise ModelError(f"{what} is for mechanisms; {self.system.owner} is a tree, whose joints are its q.")
        return self.system


def _known_reference(reference: str) -> str:
    if reference not in REFERENCES:
        raise ArgumentError(unknown_name("reference", reference, REFERENCES, "a Jacobian"))
    return reference
