"""Dynamics(robot): the catalogue of a robot's functions, and the one place where formulas meet the compiler.

Every entry is a `Function`: traced when it is asked for, compiled when it is first called, and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

from appell.algebra.scalar import Scalar, select
from appell.compile.differentiate import forward
from appell.compile.function import Function
from appell.compile.passes.collect import simplest
from appell.compile.tape import Array, Tape
from appell.compile.trace import trace
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate import energy as energies
from appell.formulate import gibbs, kinematics
from appell.formulate.formulations import Formulation, choose
from appell.formulate.gibbs_appell.coriolis import coriolis
from appell.formulate.methods import Method
from appell.formulate.regressor import regressor
from appell.formulate.regroup import regroup
from appell.formulate.tree import Tree
from appell.model.body import Inertia
from appell.model.robot import Robot

Results = Mapping[str, Any]


class Dynamics:
    """The equations of motion of a robot, as functions of NumPy arrays.

    `formulation` names a way to them (`appell formulations` lists all); `inertia` and `forward` choose another method
    for the inertia matrix and for forward dynamics. `wrenches` names frames on which outside forces act; inverse and
    forward dynamics then take one more argument of six numbers (force, moment) for each, expressed as `reference` says.
    `friction=True` applies the joints' damping and Coulomb friction. If the robot has free links, every function that
    needs inertia takes `parameters`, ten a free link.
    """

    def __init__(
        self,
        robot: Robot,
        formulation: str = "gibbs-appell",
        *,
        inertia: str | None = None,
        forward: str | None = None,
        wrenches: Iterable[str] = (),
        reference: str = "LOCAL",
        friction: bool = False,
    ):
        self.robot = robot
        self.formulation: Formulation = choose(formulation, inertia, forward)
        self.formulation.check(robot)
        self.wrenches = (wrenches,) if isinstance(wrenches, str) else tuple(wrenches)
        self.reference = _known_reference(reference)
        self.friction = friction
        for frame in self.wrenches:
            robot.frame(frame)

    def __repr__(self) -> str:
        return f"Dynamics({self.robot}, '{self.formulation.name}')"

    # ---- motion and forces

    @cached_property
    def gibbs_function(self) -> Function:
        """S(q, v, a), the acceleration energy less gravity: ∂S/∂a is the joint force, ∂²S/∂a² the inertia matrix."""
        return self._function("gibbs_function", "q v a", lambda t, q, v, a: {"S": gibbs.gibbs_function(t, q, v, a)})

    @cached_property
    def inverse_dynamics(self) -> Function:
        """tau(q, v, a), the joint forces of a motion."""
        method = self.formulation.inverse_dynamics

        def body(tree, q, v, a, *wrenches):
            tau = method(tree, q, v, a, self._on_links(tree, q, wrenches))
            return {"tau": [x + y for x, y in zip(tau, self._joint_friction(v), strict=True)]}

        return self._function("inverse_dynamics", "q v a", body, wrenches=True, method=method)

    @cached_property
    def forward_dynamics(self) -> Function:
        """a(q, v, tau), the motion that joint forces bring about."""
        method = self.formulation.forward_dynamics

        def body(tree, q, v, tau, *wrenches):
            net = [x - y for x, y in zip(tau, self._joint_friction(v), strict=True)]
            return {"a": method(tree, q, v, net, self._on_links(tree, q, wrenches))}

        return self._function("forward_dynamics", "q v tau", body, wrenches=True, method=method)

    @cached_property
    def mass_matrix(self) -> Function:
        """M(q), the inertia matrix."""
        method = self.formulation.mass_matrix
        return self._function("mass_matrix", "q", lambda t, q: {"M": method(t, q)}, method=method)

    @cached_property
    def bias(self) -> Function:
        """h(q, v), the joint forces at zero acceleration, gravity included."""
        method = self.formulation.inverse_dynamics
        return self._function("bias", "q v", lambda t, q, v: {"h": self._bias(t, q, v)}, method=method)

    @cached_property
    def gravity(self) -> Function:
        """g(q), the joint forces that hold the robot still."""
        rest, method = [0.0] * self.robot.nv, self.formulation.inverse_dynamics
        return self._function("gravity", "q", lambda t, q: {"g": self._bias(t, q, rest)}, method=method)

    @cached_property
    def coriolis(self) -> Function:
        """C(q, v), with C v = bias - gravity and dM/dt - 2C skew."""
        return self._function("coriolis", "q v", lambda t, q, v: {"C": coriolis(t, q, v)}, regrouped=True)

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a), with tau = Y parameters; ten columns a link, in the order of `robot.links`."""
        return self._function("regressor", "q v a", lambda t, q, v, a: {"Y": regressor(t, q, v, a)}, inertial=False)

    # ---- energy and momentum

    @cached_property
    def energy(self) -> Function:
        """(T, U)(q, v), kinetic and potential energy; U = 0 with the centre of mass level with the world's origin."""
        return self._function(
            "energy",
            "q v",
            lambda t, q, v: {"T": energies.kinetic_energy(t, q, v), "U": energies.potential_energy(t, q)},
        )

    @cached_property
    def momentum(self) -> Function:
        """Linear momentum, then angular momentum about the centre of mass, in world axes."""

        def body(tree, q, v):
            linear, angular = energies.momentum(tree, q, v)
            return {"momentum": [*linear, *angular]}

        return self._function("momentum", "q v", body)

    @cached_property
    def center_of_mass(self) -> Function:
        """The centre of mass in world coordinates."""
        return self._function("center_of_mass", "q", lambda t, q: {"com": list(energies.center_of_mass(t, q))})

    # ---- frames

    @lru_cache  # noqa: B019 - lives as long as the catalogue
    def pose(self, frame: str) -> Function:
        """The 4x4 pose of a frame in the world."""
        place = self.robot.frame(frame)
        return self._function(
            f"pose_{frame}", "q", lambda t, q: {"pose": kinematics.frame_pose(t, place, q)}, inertial=False
        )

    @lru_cache  # noqa: B019
    def jacobian(self, frame: str, reference: str = "LOCAL") -> Function:
        """J(q), with the frame's velocity (linear, angular) = J v."""
        place, reference = self.robot.frame(frame), _known_reference(reference)
        return self._function(
            f"jacobian_{frame}",
            "q",
            lambda t, q: {"J": kinematics.frame_jacobian(t, place, reference, q)},
            inertial=False,
        )

    @lru_cache  # noqa: B019
    def jacobian_rate(self, frame: str, reference: str = "LOCAL") -> Function:
        """dJ/dt (q, v), entry by entry, so that the frame's acceleration is J a + dJ/dt v in the same axes."""
        place, reference = self.robot.frame(frame), _known_reference(reference)
        still = self._function(
            f"jacobian_rate_{frame}",
            "q v",
            lambda t, q, v: {"J": kinematics.frame_jacobian(t, place, reference, q)},
            inertial=False,
        ).tape
        along = trace("along_v", still.inputs, lambda q, v: {"seed": [[x] for x in self._rate(q, v) + [0.0] * len(v)]})
        tape = forward(still, still.name, [along], [Array("Jdot", (6, self.robot.nv))])
        return Function(tape, "Time derivative of a frame's Jacobian.", self._owner, self._tangents)

    @cached_property
    def coordinate_rate(self) -> Function:
        """dq/dt for a given v; the same as v but for quaternions and planar joints."""
        return self._function("coordinate_rate", "q v", lambda t, q, v: {"rate": self._rate(q, v)}, inertial=False)

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
        regrouped: bool = False,
        wrenches: bool = False,
        method: Method | None = None,
    ) -> Function:
        """Trace `body(tree, *arguments)`; `regrouped` says that base parameters give the same results.

        A method of the formulation says so itself, and whether collecting by constants may pay.
        """
        regrouped = method.regroup if method else regrouped
        robot = self.robot
        sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nv}
        inputs = [Array(argument, (sizes[argument],)) for argument in arguments.split()]
        if wrenches:
            inputs += [Array(f"wrench_{frame}", (6,)) for frame in self.wrenches]
        free = [link.name for link in robot.links if link.name in robot.free] if inertial else []
        if free:
            inputs.append(Array("parameters", (10 * len(free),)))
        if inertial and robot.physical and (lacking := [name for name in robot.missing if name not in free]):
            raise ModelError(
                f"robot '{robot.name}' has moving links without inertia: {', '.join(lacking)}.",
                source=robot.source,
                hint="add <inertial> to them, or load with physical=False to take them as massless",
            )

        def traced(*arguments):
            tree, values = Tree.of(robot), list(arguments)
            if free:
                parameters = values.pop()
                tree = tree.with_inertias(
                    {link: Inertia.from_parameters(parameters[10 * k : 10 * k + 10]) for k, link in enumerate(free)}
                )
            return body(regroup(tree) if regrouped else tree, *values)

        tape = trace(name, inputs, traced)
        if method and method.collect:
            tape = simplest(tape)
        return Function(tape, getattr(type(self), name, self._function).__doc__ or "", self._owner, self._tangents)

    @property
    def _owner(self) -> str:
        return f"robot '{self.robot.name}'"

    @cached_property
    def _tangents(self) -> dict[str, Tape]:
        """The columns of N in q̇ = N(q) v, where that is more than the identity."""
        robot = self.robot
        if robot.nq == robot.nv and all(link.joint.motion.nv == 1 for link in robot.moving):
            return {}
        units = [[float(i == k) for i in range(robot.nv)] for k in range(robot.nv)]

        def columns(q):
            return {"N": [list(row) for row in zip(*(self._rate(q, unit) for unit in units), strict=True)]}

        return {"q": trace("tangent", [Array("q", (robot.nq,))], columns)}

    def _rate(self, q, v) -> list[Scalar]:
        robot = self.robot
        spans = [(link.joint.motion, *robot.span(link.joint)) for link in robot.moving]
        return [x for motion, sq, sv in spans for x in motion.rate(q[sq], v[sv])]

    def _bias(self, tree: Tree, q, v) -> list[Scalar]:
        return self.formulation.inverse_dynamics(tree, q, v, [0.0] * self.robot.nv, {})

    def _on_links(self, tree: Tree, q, wrenches):
        """The wrenches on frames as wrenches on their links' origins."""
        found: dict[str, Any] = {}
        for name, wrench in zip(self.wrenches, wrenches, strict=True):
            frame = self.robot.frame(name)
            if frame.link is None:
                continue
            force, moment = kinematics.frame_wrench(tree, frame, self.reference, q, wrench)
            if frame.link in found:
                force, moment = force + found[frame.link][0], moment + found[frame.link][1]
            found[frame.link] = force, moment
        return found

    def _joint_friction(self, v) -> list[Scalar]:
        """damping v + friction sign(v) of every joint, on its leader if it is a mimic; zero unless asked for."""
        tree = Tree.of(self.robot)
        along = {
            link.name: [_friction(link.joint, rate) if self.friction else 0.0 for rate in tree.velocity(link, v)]
            for link in tree.links
        }
        return tree.gather(along)


def _friction(joint, rate: Scalar) -> Scalar:
    return joint.damping * rate + joint.friction * select(rate, 1.0, select(-rate, -1.0, 0.0))


def _known_reference(reference: str) -> str:
    if reference not in kinematics.REFERENCES:
        raise ArgumentError(unknown_name("reference", reference, kinematics.REFERENCES, "a Jacobian"))
    return reference
