"""Equations of a system by a chosen formulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from appell.algebra.scalar import Vector
from appell.errors import ArgumentError, Hint, ModelError, unknown_name
from appell.formulate.actuation import ClosedFormActuation, TreeActuation
from appell.formulate.closed_form import ClosedFormBodies, Differentiate, PoseFunctions
from appell.formulate.elastic import ElasticBodies, rotors_of
from appell.formulate.equations import Equations
from appell.formulate.flexible.bodies import FORWARD, FlexibleBodies
from appell.formulate.formulations import FORMULATIONS, Formulation, Looping, choose, looping
from appell.formulate.spherical import SphericalRobot
from appell.formulate.tree import Tree
from appell.formulate.tree_bodies import TreeBodies
from appell.model.body import Inertia
from appell.model.robot import Robot
from appell.model.system import System

CLOSED_FORMS = {
    "differentiated": "poses differentiated by the compiler, for any mechanism in closed form",
    "explicit": "Abedloo et al. 2014: explicit M, C, G, for spherical robots",
}
FLEXIBLE = ("gibbs-appell", "gibbs-gradient")  # formulations for trees with flexible links
COMPLETE = "complete"  # value of `rotors` for rotors that also move with their carriers
CONSTRAINED_SOLVERS = ("elimination", "schur")  # methods for the forward dynamics of a constrained robot


def formulation_names(system: System) -> tuple[str, ...]:
    """Names of the formulations for systems of this kind."""
    if system.flexible and system.tree:
        return FLEXIBLE
    return tuple(FORMULATIONS if system.tree else CLOSED_FORMS)


@dataclass(frozen=True)
class FormulationChoice:
    """Options of `Dynamics` that determine its equations.

    None stands for the default formulation and its methods, and for loops where they are faster.
    """

    formulation: str | None = None
    inertia: str | None = None
    forward: str | None = None
    friction: bool = False
    rotors: bool | str = False
    reference: str = "LOCAL"
    looped: bool | None = None


@final
class EquationsFactory:
    """Creates the equations of a system for given options, with inertias as numbers or as scalars.

    `differentiate` differentiates the poses of a mechanism in closed form, and the rows of constraints.
    """

    name: str  # of the formulation
    looped: tuple[str, ...] = ()  # names of the functions that are loops over links
    structured: bool = False  # whether the recursive derivatives (`formulate.derivatives`) apply to the formulation

    def __init__(self, system: System, choice: FormulationChoice, differentiate: Differentiate | None = None):
        if not isinstance(system, System):
            raise ArgumentError(
                f"{system!r} is not a robot or mechanism.",
                expected="a Robot or a Mechanism, such as ap.load('puma') or ap.load('delta')",
            )
        self.system, self.choice = system, choice
        self._methods: Mapping[str, Any] = {}  # methods by the names of the functions that they compute
        self._parts: Callable[..., Equations]
        if system.tree is None:
            self._parts = self._closed_form(system, differentiate)
        elif not system.map.is_identity:
            self._parts = self._constrained(system, differentiate)
        elif system.flexible:
            self._parts = self._flexible(system, choice.forward)
        else:
            self._parts = self._tree(system, choice.forward, choice.looped)

    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
        """Create the equations. `prescribed` has (s, ṡ, s̈) of each prescribed motion."""
        return self._parts(inertias, prescribed)

    def collects(self, function: str) -> bool:
        """Whether a function needs fewer operations after collecting terms by constants."""
        return bool(self.system.flexible) or (function in self._methods and self._methods[function].collect)

    @property
    def _switches(self) -> dict[str, Any]:
        return {"friction": self.choice.friction, "rotors": bool(self.choice.rotors)}

    def _formulation(self, robot: Robot, forward: str | None) -> Formulation:
        choice = self.choice
        formulation = choose(choice.formulation or "gibbs-appell", choice.inertia, forward)
        formulation.check(robot)
        self.name = formulation.name
        return formulation

    def _tree(self, robot: Any, forward: str | None, looped: bool | None) -> Callable[..., Equations]:
        formulation = self._formulation(robot, forward)
        loops = looping(robot, formulation, looped, forward_given=forward is not None)
        used = formulation.inverse_dynamics, formulation.mass_matrix
        self.looped = loops.functions
        self.structured = all(method.name == "gibbs-appell" for method in used) and not robot.elastic_joints
        self._methods = {
            "forward_dynamics": formulation.forward_dynamics,
            "mass_matrix": formulation.mass_matrix,
            **dict.fromkeys(("inverse_dynamics", "bias", "gravity"), formulation.inverse_dynamics),
        }

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            return self._of_tree(robot, formulation, loops, inertias)

        return parts

    def _flexible(self, robot: Any, forward: str | None) -> Callable[..., Equations]:
        """Trees with flexible links: the recursion or the differentiated Gibbs function."""
        choice = self.choice
        self.name = choice.formulation or "gibbs-appell"
        known = {
            "formulation": (self.choice.formulation, FLEXIBLE),
            "forward": (forward, FORWARD),
            "inertia": (self.choice.inertia, ()),
            "looped": (self.choice.looped, ()),
        }
        for option, (value, names) in known.items():
            if value not in (None, False, *names):
                raise ArgumentError(
                    f"{option}={value!r} does not support {robot.owner}, which has flexible links.",
                    expected=" or ".join(map(repr, names)) or f"{option}=None",
                )
        if free := [link.name for link in robot.flexible if link.name in robot.free]:
            raise ModelError(
                f"the inertial parameters of the flexible link '{free[0]}' of {robot.owner} are inputs.",
                expected="rigid links as free bodies",
            )

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            links = Tree.of(robot.link_side).with_inertias(inertias)
            tree = links.with_rotors() if choice.rotors else links
            bodies = FlexibleBodies(tree, choice.reference, forward, differentiated=self.name == "gibbs-gradient")
            actuation = TreeActuation(Tree.of(robot), robot.owner, dict.fromkeys(robot.actuator_names, 1.0))
            return Equations(robot, self._with_motors(robot, bodies), robot.map, actuation, **self._switches)

        return parts

    def _of_tree(
        self, robot: Robot, formulation: Formulation, loops: Looping, inertias: Mapping[str, Inertia]
    ) -> Equations:
        links = Tree.of(robot.link_side).with_inertias(inertias)
        tree = links.with_rotors() if self.choice.rotors else links
        bodies = self._with_motors(robot, TreeBodies(tree, formulation, self.choice.reference, loops))
        return Equations(robot, bodies, robot.map, TreeActuation(Tree.of(robot), robot.owner), **self._switches)

    def _with_motors(self, system: System, links: TreeBodies | FlexibleBodies | ClosedFormBodies) -> Any:
        """Bodies of a system from those of its link side."""
        complete = self.choice.rotors == COMPLETE
        if complete and (system.flexible or not (system.elastic_joints and system.tree)):
            raise ModelError(
                f"rotors='{COMPLETE}' does not support {system.owner}.",
                expected="a tree with elastic joints and rigid links",
                hint="Pass rotors=True: the inertia of rotors at rigid joints is reflected to the joints.",
            )
        if not system.elastic_joints:
            return links
        return ElasticBodies(system, links, rotors_of(system.tree) if complete else None)

    def _constrained(self, robot: Any, differentiate: Differentiate | None) -> Callable[..., Equations]:
        """Bodies of the tree by a formulation, and a solver for accelerations under constraints."""
        choice = self.choice
        if choice.looped:
            raise ArgumentError(f"{robot.owner} cannot use loops over links.", expected="looped=None")
        if choice.forward not in (None, *CONSTRAINED_SOLVERS):
            raise ArgumentError(
                unknown_name("forward dynamics method", str(choice.forward), CONSTRAINED_SOLVERS, robot.owner)
            )
        of_tree = self._flexible(robot.tree, None) if robot.flexible else self._tree(robot.tree, None, False)
        self.structured = False
        self._methods = {}

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            tree = of_tree(inertias)
            actuation = TreeActuation(Tree.of(robot.tree), robot.owner, robot.weights)
            velocity_map = robot.map.driven(prescribed, differentiate)
            return Equations(
                robot, tree.bodies, velocity_map, actuation, tree=tree, solver=choice.forward, **self._switches
            )

        return parts

    def _closed_form(self, mechanism: Any, differentiate: Differentiate | None) -> Callable[..., Equations]:
        choice = self.choice
        self.name = choice.formulation or "differentiated"
        if self.name not in CLOSED_FORMS:
            raise ArgumentError(unknown_name("formulation", self.name, CLOSED_FORMS, mechanism.owner))
        if choice.looped:
            raise ArgumentError(
                f"{mechanism.owner} is in closed form and cannot use loops over links.", expected="looped=None"
            )
        for method in filter(None, (choice.inertia, choice.forward)):
            raise ArgumentError(
                f"'{method}' is a method for trees; {mechanism.owner} is in closed form.",
                expected="inertia=None and forward=None",
            )
        if self.name == "explicit" and mechanism.design is None:
            raise ModelError(
                f"'explicit' does not support {mechanism.owner}: it is not spherical.",
                hint=Hint("Use {formulation}.", formulation="differentiated"),
            )
        assert differentiate is not None
        pose_functions = PoseFunctions(mechanism.link_side, differentiate)

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            known = [inertias.get(part.name, part.body.about_origin) for part in mechanism.parts]
            explicit = None
            if self.name == "explicit":
                explicit = SphericalRobot.of(mechanism.design, known, mechanism.gravity)
            bodies = self._with_motors(mechanism, ClosedFormBodies(pose_functions, known, explicit, choice.reference))
            actuation = ClosedFormActuation(mechanism, pose_functions, explicit)
            return Equations(mechanism, bodies, mechanism.map, actuation, **self._switches)

        return parts
