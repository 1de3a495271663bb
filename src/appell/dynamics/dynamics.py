"""`Dynamics(system)`: the functions of a system. This is the only module that passes formulas to the compiler.

Formulas are plain Python functions over abstract scalars in `motion`, `frames` and `constraints`. Each of them becomes
a `Function`, which is traced at first access, compiled at its first call, and stored on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from inspect import cleandoc, signature
from typing import Any, final, overload

import numpy as np

from appell.algebra.scalar import Vector
from appell.compile.cache.content_hash import content_hash
from appell.compile.cache.trace_cache import cached_trace
from appell.compile.function import Function
from appell.compile.native.build_lock import locked_cached_property
from appell.compile.program.roll import roll
from appell.compile.tape.collect import simplest
from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.taylor import Taylor
from appell.compile.tape.trace import trace
from appell.dynamics import constraints, elastic, frames, motion
from appell.dynamics.contacts import ContactSet
from appell.dynamics.derivatives import FORCES, MOTIONS, DerivativeRule, along_motion, wrench_name
from appell.dynamics.distances import checked_pairs, distance_function, robot_of, sampled_pairs
from appell.errors import ArgumentError, Hint, ModelError, unknown_name
from appell.formulate.equations import Equations, Parameter
from appell.formulate.systems import COMPLETE, EquationsFactory, FormulationChoice
from appell.model.body import inertias_of
from appell.model.collision import CollisionPairs
from appell.model.contact import Sole, Touch
from appell.model.frame import Frame
from appell.model.robot import refuse_immobile, refuse_unconstrained
from appell.model.system import System

Body = Callable[..., dict[str, Any]]  # a formula: (equations, *arguments) -> results by name
Refuse = Callable[[System, str], None]  # (system, name of a function): raises if the system does not have the function
MAX_UNCACHED_NV = 3  # number of velocities up to which tracing a function is as fast as reading its trace from disk


def traced(
    formula: Body, *, inertial: bool = True, refuse: Refuse | None = None, along: bool = False
) -> locked_cached_property[Function]:
    """Return the property of `Dynamics` that traces a formula at first access.

    Parameters
    ----------
    formula : function (equations, *arguments) -> results by name; the property takes over its name and docstring
    inertial : whether it depends on inertial parameters, so that those of free bodies are an argument
    refuse : raises for systems that do not have the function
    along : whether the function is the derivative of the formula along the motion
    """
    doc = cleandoc(formula.__doc__ or "")

    def make(dyn: Dynamics) -> Function:
        if refuse is not None:
            refuse(dyn.system, formula.__name__)
        subject = dyn._subject(formula)
        function = dyn.function(formula.__name__, formula, doc, inertial=inertial, subject=subject)
        return dyn.rate_along_motion(function) if along else function

    make.__doc__ = doc
    return locked_cached_property(make)


@final
class Dynamics:
    """The equations of motion of a robot or mechanism as compiled functions of NumPy arrays.

    Every function is compiled at its first call. Leading axes of its arguments are the batch; they broadcast. `tau`
    holds the forces at the actuators; all other forces act along the coordinates (for a tree, the two are the same).
    By default the equations contain rigid-body terms and springs; `friction` and `rotors` add the other terms.

    If the system has free bodies, every function that depends on inertia has one more argument, `parameters`: ten
    numbers per free body. If motions are prescribed, every function has one more argument, `prescribed`: position,
    velocity and acceleration of each motion.

    Parameters
    ----------
    system : Robot, ConstrainedRobot or Mechanism
        System to formulate the equations of.
    formulation : str, optional
        Derivation of the equations, "gibbs-appell" by default for a tree; `appell formulations` lists all.
    inertia, forward : str, optional
        Other methods for the inertia matrix and for forward dynamics of a tree.
    wrenches : names of frames
        Frames on which external forces act. Inverse and forward dynamics have one more argument of six numbers per
        frame: force (N) and moment (N m).
    reference : {"LOCAL", "LOCAL_WORLD_ALIGNED", "WORLD"}
        Axes in which wrenches are expressed.
    friction : bool
        Whether all functions include friction and offsets of the actuators.
    rotors : bool or "complete"
        Whether all functions include the inertia of the actuators' rotors. That of the motors of elastic joints is
        always included; "complete" also includes their motion with the links that carry them.
    looped : bool, optional
        Whether inverse and forward dynamics of a tree run as loops over its links (True) or as straight code (False).
        By default long trees run as loops, whose compile time does not depend on the number of links. `dyn.looped`
        lists the functions that run as loops.

    Examples
    --------
    >>> import appell as ap
    >>> dyn = ap.Dynamics(ap.load("planar-2r"))
    >>> dyn
    Dynamics(planar-2r (2 links, nq=2, nv=2), 'gibbs-appell', rigid bodies only)
    >>> dyn.inverse_dynamics([0.3, -0.2], [1.0, 0.5], [0.0, 2.0]).round(3)
    array([20.709,  5.448])
    >>> dyn.mass_matrix([[0.3, -0.2], [0.0, 0.0], [1.0, 1.0]]).shape  # three configurations at once
    (3, 2, 2)
    >>> dyn.inverse_dynamics.jacobian("q")([0.3, -0.2], [1.0, 0.5], [0.0, 2.0]).shape  # any derivative
    (2, 2)
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
        rotors: bool | str = False,
        looped: bool | None = None,
    ):
        if rotors not in (True, False, COMPLETE):
            raise ArgumentError(f"rotors is {rotors!r}.", expected=f"True, False or '{COMPLETE}'")
        axes = frames.known_reference(reference)
        names = (wrenches,) if isinstance(wrenches, str) else tuple(wrenches)
        self._set(system, FormulationChoice(formulation, inertia, forward, friction, rotors, axes, looped), names)

    def _set(self, system: System, choice: FormulationChoice, wrenches: tuple[str, ...]) -> None:
        self.system, self.choice, self.wrenches = system, choice, wrenches
        self._make = EquationsFactory(system, choice, Taylor)
        self._wrench_frames = tuple(system.frame(name) for name in wrenches)
        if twice := [name for name in wrenches if wrenches.count(name) > 1]:
            raise ArgumentError(
                f"wrenches of {system.owner} names frame '{twice[0]}' {wrenches.count(twice[0])} times.",
                expected="each frame once",
                hint="Add up wrenches that act on the same frame before the call.",
            )
        self._named: dict[tuple[str, ...], Function] = {}  # functions accessed by `named` so far

    def __repr__(self) -> str:
        springs = any(drive.stiffness for drive in self.system.drives.values())
        terms = {
            "flexible links": bool(self.system.flexible),
            "elastic joints": bool(self.system.elastic_joints),
            "springs": springs,
            "friction": self.choice.friction,
            "rotors": self.choice.rotors,
        }
        *first, last = [name for name, counts in terms.items() if counts] or [""]
        content = f"with {', '.join(first)}{' and ' * bool(first)}{last}" if last else "rigid bodies only"
        return f"Dynamics({self.system}, '{self.formulation}', {content}{', in loops' * bool(self.looped)})"

    def __getstate__(self) -> tuple:
        """Return what defines the object, and the functions traced so far, which are pickled as tapes."""
        made = {name: value for name, value in vars(self).items() if isinstance(value, Function)}
        return self.system, self.choice, self.wrenches, made, self._named

    def __setstate__(self, state: tuple) -> None:
        system, choice, wrenches, made, named = state
        self._set(system, choice, wrenches)
        vars(self).update(made)
        self._named.update(named)

    # ---- motion and forces

    gibbs_function = traced(motion.gibbs_function)
    inverse_dynamics = traced(motion.inverse_dynamics)
    forward_dynamics = traced(motion.forward_dynamics)
    state_rate = traced(motion.state_rate)
    generalized_forces = traced(motion.generalized_forces)
    mass_matrix = traced(motion.mass_matrix)
    inverse_mass_matrix = traced(motion.inverse_mass_matrix)
    bias = traced(motion.bias)
    gravity = traced(motion.gravity)
    coriolis = traced(motion.coriolis)
    drift = traced(motion.drift)
    friction = traced(motion.friction, inertial=False)
    regressor = traced(motion.regressor, inertial=False)
    base_regressor = traced(motion.base_regressor, inertial=False)

    # ---- elastic joints

    spring_torques = traced(motion.spring_torques, inertial=False, refuse=motion.refuse_rigid_joints)

    @locked_cached_property
    def feedforward(self) -> Function:
        """Feedforward of a system with elastic joints: the motor torques tau(q, v, a, jerk, snap) of a motion.

        The motion is that of the links; the positions of the motors follow from it. If springs have damping, their
        deflections are states: the function has one more argument and one more result, and `snap` is absent if all
        springs have damping. The reduced model of the rotors applies.

        Parameters
        ----------
        q : coordinates of the bodies, (..., link_nq), rad or m
        v, a, jerk, snap : their velocities and the next three derivatives, (..., link_nv)
        deflection : deflections of the damped springs, (..., number of these springs), rad or m

        Returns
        -------
        tau : forces at the actuators, (..., nu), N m or N
        deflection_rate : rates of the deflections, rad/s or m/s, to be integrated

        Examples
        --------
        >>> import appell as ap
        >>> arm = ap.load("puma").with_elastic_joints({"joint2": ap.Elasticity(4e4), "joint3": ap.Elasticity(2e4)})
        >>> dyn, rest = ap.Dynamics(arm), [0.0] * 6
        >>> q = [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
        >>> dyn.feedforward(q, rest, rest, rest, rest).round(2)  # at rest: the torques of gravity
        array([  0.  , -73.22, -12.49,   0.  ,  -0.1 ,   0.  ])
        """
        return elastic.feedforward(self)

    @locked_cached_property
    def flat_state(self) -> Function:
        """State of links and motors on a motion of the links, from q, v, a and jerk, without damping of the springs.

        Parameters
        ----------
        q : coordinates of the bodies, (..., link_nq), rad or m
        v, a, jerk : their velocities and the next two derivatives, (..., link_nv)

        Returns
        -------
        q_all, v_all : coordinates (..., nq) and velocities (..., nv) of the system

        Examples
        --------
        >>> import appell as ap
        >>> arm = ap.load("pendulum").with_actuators({"hinge": {"gear": 50.0, "rotor_inertia": 1e-4}})
        >>> dyn = ap.Dynamics(arm.with_elastic_joints({"hinge": ap.Elasticity(100.0)}))
        >>> q, v = dyn.flat_state([0.5], [0.0], [0.0], [0.0])
        >>> bool(abs(100.0 * (q[1] - q[0]) - dyn.gravity([0.5, 0.5])[0]) < 1e-9)  # the spring carries the link
        True
        """
        return elastic.flat_state(self)

    # ---- flexible links

    @cached_property
    def joint_inversion(self) -> Function:
        """Forces at the joints and modal accelerations for given accelerations of the joints of a flexible robot."""
        motion.refuse_rigid_links(self.system, "joint_inversion")
        formula = motion.joint_inversion
        return self.function(formula.__name__, formula, cleandoc(formula.__doc__ or ""), subject=self._subject(formula))

    @property
    def rnea(self) -> Function:
        """Alias of `inverse_dynamics`: the recursive Newton-Euler algorithm of other libraries."""
        return self.inverse_dynamics

    @property
    def aba(self) -> Function:
        """Alias of `forward_dynamics`: the articulated-body algorithm of other libraries."""
        return self.forward_dynamics

    @property
    def crba(self) -> Function:
        """Alias of `mass_matrix`: the composite-rigid-body algorithm of other libraries."""
        return self.mass_matrix

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The columns of the regressor: name, kind, owner and value of each parameter."""
        return self.equations.parameters

    @property
    def parameter_values(self) -> np.ndarray:
        """The values of `parameters`, by which the regressor is multiplied."""
        return np.array([parameter.value for parameter in self.parameters])

    @property
    def base_parameters(self) -> tuple[Parameter, ...]:
        """The columns of the base regressor: for each, the parameter that names it and the value of its combination.

        `base_matrix` holds the combinations. Units are those of the naming parameter.
        """
        refuse_immobile(self.system, "base_parameters")
        return self.equations.base.parameters

    @property
    def base_matrix(self) -> np.ndarray:
        """B, with base_parameters = B parameters and regressor = base_regressor B."""
        refuse_immobile(self.system, "base_matrix")
        return self.equations.base.matrix

    # ---- energy, momentum, coordinates

    energy = traced(motion.energy)
    momentum = traced(motion.momentum)
    centroidal_matrix = traced(motion.centroidal_matrix)
    centroidal_matrix_rate = traced(motion.centroidal_matrix_rate, along=True)
    center_of_mass = traced(motion.center_of_mass)
    coordinate_rate = traced(motion.coordinate_rate, inertial=False)

    # ---- actuators, and the legs of mechanisms

    actuator_positions = traced(motion.actuator_positions, inertial=False)
    actuator_jacobian = traced(motion.actuator_jacobian, inertial=False)
    joint_motion = traced(motion.joint_motion, inertial=False, refuse=motion.refuse_tree)
    survey = traced(motion.survey, inertial=False, refuse=motion.refuse_unknown_reach)

    # ---- constraints

    tree_velocity = traced(constraints.tree_velocity, inertial=False, refuse=refuse_unconstrained)
    tree_acceleration = traced(constraints.tree_acceleration, inertial=False, refuse=refuse_unconstrained)
    independent_velocity = traced(constraints.independent_velocity, inertial=False, refuse=refuse_unconstrained)
    basis = traced(constraints.basis, inertial=False, refuse=refuse_unconstrained)
    gap = traced(constraints.gap, inertial=False, refuse=refuse_unconstrained)
    row_jacobian = traced(constraints.row_jacobian, inertial=False, refuse=refuse_unconstrained)
    row_rates = traced(constraints.row_rates, inertial=False, refuse=refuse_unconstrained)
    witness = traced(constraints.witness, inertial=False, refuse=refuse_unconstrained)
    constrained_acceleration = traced(constraints.constrained_acceleration, refuse=refuse_unconstrained)
    constraint_multipliers = traced(constraints.constraint_multipliers, refuse=refuse_unconstrained)
    constraint_forces = traced(constraints.constraint_forces, refuse=refuse_unconstrained)
    mobility = traced(constraints.mobility, refuse=refuse_unconstrained)

    def constraint_wrench(self, name: str) -> Function:
        """Return the Function of (q, v, tau) that computes the wrench of a constraint.

        The wrench is the force (N) and moment (N m) on the first side of the constraint, at its origin, in world axes.
        """
        refuse_unconstrained(self.system, "constraint_wrench")
        formula = constraints.constraint_wrench
        doc = (formula.__doc__ or "").format(constraint=name)
        return self.named(
            (formula.__name__, name), lambda: self.function(f"wrench_{name}", partial(formula, constraint=name), doc)
        )

    # ---- frames
    #
    #     dyn.pose("tool")          Function of q               dyn.pose("tool", q)            4x4 matrices
    #     dyn.velocity("tool")      Function of (q, v)          dyn.velocity("tool", q, v)     (linear, angular)
    #
    # `reference`, right after the name of the frame or by keyword, selects the axes described in `frames`.

    @overload
    def pose(self, frame: str) -> Function: ...
    @overload
    def pose(self, frame: str, q: Any) -> np.ndarray: ...
    def pose(self, frame, *at):
        """Return the pose of a frame in the world as homogeneous matrices.

        Parameters
        ----------
        frame : str
            Name of the frame.
        q : array_like, (..., nq), optional
            Coordinates.

        Returns
        -------
        Function or ndarray
            Without q, the Function of q; with q, the matrices, (..., 4, 4).

        Examples
        --------
        >>> import appell as ap
        >>> dyn = ap.Dynamics(ap.load("planar-2r"))
        >>> dyn.pose("tool", [0.3, -0.2]).round(3)
        array([[ 0.995, -0.1  ,  0.   ,  1.95 ],
               [ 0.1  ,  0.995,  0.   ,  0.395],
               [ 0.   ,  0.   ,  1.   ,  0.   ],
               [ 0.   ,  0.   ,  0.   ,  1.   ]])
        """
        return self._of_frame(frames.pose, frame, at, "LOCAL")

    @overload
    def jacobian(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def jacobian(self, frame: str, q: Any, *, reference: str = ...) -> np.ndarray: ...
    def jacobian(self, frame, *at, reference="LOCAL"):
        """Return the Jacobian J(q) of a frame: its velocity (linear, angular) is J v.

        Parameters
        ----------
        frame : str
            Name of the frame.
        q : array_like, (..., nq), optional
            Coordinates.
        reference : {"LOCAL", "LOCAL_WORLD_ALIGNED", "WORLD"}
            Axes of the velocity: those of the frame, those of the world at the frame's origin, or those of the world
            at the world's origin.

        Returns
        -------
        Function or ndarray
            Without q, the Function of q; with q, the matrices, (..., 6, nv), linear rows first.

        Examples
        --------
        >>> import appell as ap
        >>> dyn = ap.Dynamics(ap.load("planar-2r"))
        >>> dyn.jacobian("tool", [0.3, -0.2], reference="LOCAL_WORLD_ALIGNED").round(3)
        array([[-0.395, -0.1  ],
               [ 1.95 ,  0.995],
               [ 0.   ,  0.   ],
               [ 0.   ,  0.   ],
               [ 0.   ,  0.   ],
               [ 1.   ,  1.   ]])
        >>> dyn.jacobian("tool")  # without q, a function
        <Function jacobian_tool(q[2]) -> J[6, 2] of robot 'planar-2r'>
        """
        return self._of_frame(frames.jacobian, frame, at, reference)

    @overload
    def jacobian_rate(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def jacobian_rate(self, frame: str, q: Any, v: Any, *, reference: str = ...) -> np.ndarray: ...
    def jacobian_rate(self, frame, *at, reference="LOCAL"):
        """Return dJ/dt (q, v), entry by entry: a Function, or its value at q and v."""
        return self._of_frame(frames.jacobian_rate, frame, at, reference)

    @overload
    def velocity(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def velocity(self, frame: str, q: Any, v: Any, *, reference: str = ...) -> np.ndarray: ...
    def velocity(self, frame, *at, reference="LOCAL"):
        """Return the velocity (linear, angular) of a frame in m/s and rad/s: a Function of (q, v), or its value."""
        return self._of_frame(frames.velocity, frame, at, reference)

    @overload
    def acceleration(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def acceleration(self, frame: str, q: Any, v: Any, a: Any, *, reference: str = ...) -> np.ndarray: ...
    def acceleration(self, frame, *at, reference="LOCAL"):
        """Return the rate of `velocity`: a Function of (q, v, a), or its value.

        It is J a + dJ/dt v, plus further terms if motions are prescribed or planes rotate. With LOCAL_WORLD_ALIGNED
        its first three numbers are the acceleration of the frame's origin in m/s², without gravity.
        """
        return self._of_frame(frames.acceleration, frame, at, reference)

    def _of_frame(self, formula: Body, frame: Any, at: tuple, reference: str) -> Any:
        """Return the function of a frame, which is created once, or its value if arrays are given."""
        system, kind = self.system, formula.__name__
        if not isinstance(frame, str):
            names, arguments = system.frame_names, ", ".join(_arguments(formula))
            raise ArgumentError(
                f"frame of {kind} of {system.owner} is a {type(frame).__name__}, not the name of a frame.",
                expected=f'dyn.{kind}("{names[-1]}", {arguments}), with one of the frames {", ".join(names)}',
            )
        if at and isinstance(at[0], str):
            reference, *rest = at
            at = tuple(rest)
        key = kind, frame, frames.known_reference(reference)
        function = self.named(key, lambda: self._make_of_frame(formula, system.frame(frame), reference))
        return function(*at) if at else function

    def _make_of_frame(self, formula: Body, frame: Frame, axes: str) -> Function:
        name, doc = f"{formula.__name__}_{frame.name}", (formula.__doc__ or "").format(frame=frame.name, axes=axes)
        function = self.function(name, partial(formula, frame=frame, axes=axes), doc, inertial=False)
        return self.rate_along_motion(function) if formula in frames.ALONG_MOTION else function

    def rate_along_motion(self, function: Function) -> Function:
        """Return the rate of the results of a function of q and v (and a) along the motion."""
        rate = along_motion(function.tape, function.name, lambda prescribed: self.equations_with((), prescribed))
        return Function(rate, function.__doc__ or "", self.system.owner, self.tangents)

    # ---- distances

    def distance(
        self, one: str, other: str, *, witnesses: bool = True, gradient: bool = True, smooth: float = 0.0
    ) -> Function:
        """Return the Function of q for the distance of two collision shapes or links.

        Parameters
        ----------
        one, other : str
            Names of shapes, or of links; the distance of a link is the smallest one of its shapes.
        witnesses, gradient, smooth : as in `distances`

        Returns
        -------
        Function
            distance, point1 (3), point2 (3), normal (3) and J (nv), as in `distances`.

        Examples
        --------
        >>> import appell as ap
        >>> ball = ap.Collision("lower", "sphere", (0.1,), name="ball")
        >>> wall = ap.Collision(None, "plane", name="wall")
        >>> dyn = ap.Dynamics(ap.load("planar-2r").with_collisions(ball, wall))
        >>> dyn.distance("ball", "wall", witnesses=False, gradient=False)([0.3, -0.2]).item()
        -0.1
        """
        name = f"distance_{one}_{other}"
        return self._of_pairs(((one, other),), name, witnesses, gradient, smooth, single=True)

    def distances(
        self,
        pairs: Iterable[tuple[str, str]] | None = None,
        *,
        witnesses: bool = True,
        gradient: bool = True,
        smooth: float = 0.0,
    ) -> Function:
        """Return the Function of q for the distances of pairs of collision shapes.

        Spheres, capsules, boxes, half-spaces, and cylinders and arcs against spheres and half-spaces have closed forms.
        In other pairs, cylinders, ellipsoids, arcs and the hulls of meshes are covered by capsules (`ap.cover`).
        Normals and closest points jump where two shapes have several closest points; the distance is continuous.

        Parameters
        ----------
        pairs : iterable of (str, str), optional
            Names of shapes or links; by default those of `robot.collision_pairs`.
        witnesses : bool
            Whether to return closest points and normals.
        gradient : bool
            Whether to return the gradients.
        smooth : float
            Number p from 0 to 1. If it is positive, all shapes except half-spaces are covered by capsules, and the
            distance is replaced by one with a continuous gradient, which is larger by at most
            p √(h₁² + h₂² + (r₁ + r₂)²) for capsules of half lengths h and radii r.

        Returns
        -------
        Function
            distance (pairs), negative inside; point1, point2 (pairs, 3), the closest points on both shapes in the
            world; normal (pairs, 3), from the second shape to the first; J (pairs, nv), the derivative of each
            distance along v.

        Raises
        ------
        ArgumentError
            If a shape or link does not exist, or both shapes of a pair are fixed to each other.
        DescriptionError
            If a mesh cannot be read.
        """
        chosen = checked_pairs(robot_of(self), pairs)
        return self._of_pairs(chosen, "distances", witnesses, gradient, smooth, single=False)

    def collision_pairs(self, samples: int = 1000, seed: int = 0) -> CollisionPairs:
        """Return the pairs of collision shapes that touch in some, but not in all, of random configurations.

        Parameters
        ----------
        samples : int
            Number of random configurations within the limits; 0 keeps all pairs of `robot.collision_pairs`.
        seed : int
            Seed of the configurations.

        Returns
        -------
        CollisionPairs
            `pairs`, and `ignored` with the reason of each pair that is left out.
        """
        return sampled_pairs(self, samples, seed)

    def _of_pairs(self, pairs: tuple, name: str, *options: Any, single: bool) -> Function:
        witnesses, gradient, smooth = options
        key = ("distances", str(pairs), str(options), str(single))
        return self.named(
            key,
            lambda: distance_function(
                self, pairs, name, witnesses=witnesses, gradient=gradient, smooth=smooth, single=single
            ),
        )

    # ---- contacts

    def contacts(self, **contacts: Touch | Sole) -> ContactSet:
        """Return the functions of the robot on contacts whose footholds and active sets are arguments.

        Parameters
        ----------
        **contacts : Touch or Sole
            Frames that may touch, by names of your choice: a point (three rows) or a sole (six rows), in the world
            or, with `on`, on another link.

        Returns
        -------
        ContactSet
            Forward and inverse dynamics, impulses, derivatives, and contact quantities. Which contacts touch, and
            where, are arguments: no change of them compiles anything.

        Examples
        --------
        >>> import appell as ap
        >>> dyn = ap.Dynamics(ap.load("planar-2r"))
        >>> con = dyn.contacts(tip=ap.Touch("tool"))
        >>> q, v = [0.3, -0.2], [0.0, 0.0]
        >>> a, force, flag = con.forward_dynamics(q, v, dyn.gravity(q), con.poses(q), con.mask(), (0.0, 0.0))
        >>> bool(abs(a).max() < 1e-9), force.tolist()
        (True, [[0.0, 0.0, 0.0]])
        """
        return ContactSet(self, contacts)

    # ---- functions and equations

    @property
    def formulation(self) -> str:
        """The name of the derivation of the equations."""
        return self._make.name

    @property
    def looped(self) -> tuple[str, ...]:
        """The names of the functions that run as loops over the links, so that their code does not grow with them."""
        return self._make.looped

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions of motion, forces, coordinates and constraints; those of frames are methods."""
        return FUNCTIONS

    @cached_property
    def system_hash(self) -> str:
        """The content hash of the system, 16 hexadecimal digits; empty if its description has Python functions."""
        return (content_hash(self.system) or "")[:16]

    @cached_property
    def equations(self) -> Equations:
        """The equations of motion over abstract scalars, for your own formulas: see `Dynamics.function`."""
        return self._make({})

    def equations_with(self, parameters: Vector = (), prescribed: Vector = ()) -> Equations:
        """Return the equations with scalars for the inertial parameters of free bodies and for prescribed motions."""
        if not (len(parameters) or len(prescribed)):  # lists or arrays
            return self.equations
        return self._make(inertias_of(self.free_bodies, parameters) if len(parameters) else {}, prescribed)

    @property
    def free_bodies(self) -> list[str]:
        """The bodies whose inertial parameters are arguments; ModelError if another moving body has no inertia."""
        system = self.system
        if lacking := system.missing_inertias():
            raise ModelError(
                f"{system.owner} has moving links without inertia: {', '.join(lacking)}.",
                source=system.source,
                hint=Hint("Add <inertial> to them, or load with {physical} to treat them as massless.", physical=False),
            )
        return [name for name in system.body_names if name in system.free]

    @cached_property
    def tangents(self) -> dict[str, Tape]:
        """The columns of N in q̇ = N(q) v, by argument; empty if N is the identity."""
        system = self.system
        if system.is_flat:
            return {}
        return {"q": trace("tangent", [Array("q", (system.nq,))], lambda q: {"N": self.equations.tangents(q)})}

    def named(self, key: tuple[str, ...], make: Callable[[], Function]) -> Function:
        """Return the function with this key, which is created on first use and shared by all later users."""
        if key not in self._named:
            self._named[key] = make()
        return self._named[key]

    def function(
        self,
        name: str,
        formula: Body,
        doc: str = "",
        *,
        inertial: bool = True,
        subject: str | None = None,
        loops: bool = False,
    ) -> Function:
        """Make a Function of your own formula, `formula(equations, *arguments)`, which returns results by name.

        Parameters
        ----------
        name : str
            Name of the function.
        formula : callable
            Its positional parameters after `equations` are the arguments, identified by their names: q, v, a, tau; s,
            the directions of the actuators with dry friction; w and force, along the tree of a constrained robot;
            wrenches, a mapping from frames to wrenches, one argument per frame.
        doc : str
            Documentation of the function.
        inertial : bool
            Whether the formula depends on inertial parameters.
        subject : str, optional
            Content hash under which a long trace is stored on disk; None: it is not stored.
        loops : bool
            Pass `formula` the keyword argument `loops`: `appell.algebra.loops.Loops`, whose loops are not unrolled.

        Examples
        --------
        >>> import appell as ap
        >>> dyn = ap.Dynamics(ap.load("planar-2r"))
        >>> def power(equations, q, v, a):
        ...     tau = equations.tau(q, v, a, {})
        ...     return {"power": sum(x * y for x, y in zip(tau, v))}
        >>> f = dyn.function("power", power)
        >>> f
        <Function power(q[2], v[2], a[2]) -> power of robot 'planar-2r'>
        >>> print(f"{f([0.3, -0.2], [1.0, 0.5], [0.0, 2.0]):.3f}")
        23.433
        """
        names = _arguments(formula)
        if "a" in names and formula is not constraints.tree_acceleration:
            refuse_immobile(self.system, name)
        wrench_frames = self._wrench_frames if "wrenches" in names else ()
        free = self.free_bodies if inertial else []
        sizes = {argument: self._size(argument) for argument in names if argument != "wrenches"}
        if not self.system.nv:  # functions have no empty arguments
            sizes = {argument: size for argument, size in sizes.items() if argument not in ("v", "a")}
        sizes |= {wrench_name(frame): 6 for frame in wrench_frames}
        if free:
            sizes["parameters"] = 10 * len(free)
        if self.system.prescribed:
            sizes["prescribed"] = 3 * len(self.system.prescribed)
        inputs = [Array(argument, (size,)) for argument, size in sizes.items()]

        def body(values, run_by=None, **tables):
            given = dict(zip(sizes, values, strict=True))
            equations = self.equations_with(given.get("parameters", ()), given.get("prescribed", ()))
            given["wrenches"] = {frame: given[wrench_name(frame)] for frame in wrench_frames}
            arguments = [given.get(argument, ()) for argument in names]
            return formula(equations.run_by(run_by) if run_by else equations, *arguments, **tables)

        def make() -> Tape:
            tape = trace(name, inputs, lambda *values: body(values))
            return simplest(tape) if self._make.collects(name) else tape

        made: Formula
        if loops:
            made = cached_trace(
                subject, lambda: roll(name, inputs, lambda *values: body(values[:-1], None, loops=values[-1]))
            )
        elif name in self.looped:
            made = roll(name, inputs, lambda *values: body(values[:-1], values[-1]))
        else:
            made = cached_trace(subject, make)
        if not all(array.size for array in made.outputs):
            refuse_immobile(self.system, name)
        return Function(made, doc, self.system.owner, self.tangents, self._rule(made, wrench_frames, free))

    def _size(self, argument: str) -> int:
        """Return the size of an argument of a formula."""
        if argument == "s":
            return len(self.equations.dry_drives)
        sizes = self.system.sizes
        if argument not in sizes:
            raise ArgumentError(unknown_name("argument", argument, [*sizes, "s", "wrenches"], self.system.owner))
        return sizes[argument]

    def _rule(self, formula: Formula, wrench_frames: tuple[Frame, ...], free: list[str]) -> DerivativeRule | None:
        """Return the rule for derivatives of a function, or None if only its tape can be differentiated."""
        if formula.name not in FORCES | MOTIONS or not self._make.structured:
            return None
        given = formula.inputs, formula.outputs, wrench_frames, tuple(free), self.tangents
        return DerivativeRule(self.system.tree, self.choice, formula.name, *given)

    def _subject(self, formula: Body) -> str | None:
        """Return the content hash of a function, or None if the system is small or has no hash."""
        if self.system.nv <= MAX_UNCACHED_NV:
            return None
        return content_hash(self.system, self.choice, self.wrenches, (formula.__module__, formula.__name__))


FUNCTIONS = tuple(name for name, member in vars(Dynamics).items() if isinstance(member, locked_cached_property))


def _arguments(formula: Body) -> list[str]:
    """Return the names of a formula's arguments: its positional parameters after `equations`."""
    parameters = signature(formula).parameters.values()
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD][1:]
