"""From a system to its equations: which formulations suit it, and the parts of the one that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from appell.algebra.scalar import Vector
from appell.errors import ArgumentError, Hint, ModelError, unknown_name
from appell.formulate.actuation import ClosedFormActuation, TreeActuation
from appell.formulate.closed_form import ClosedFormBodies, Curves, Differentiate
from appell.formulate.equations import Equations
from appell.formulate.formulations import FORMULATIONS, NO_LOOPS, Formulation, Looping, choose, looping
from appell.formulate.spherical import SphericalRobot
from appell.formulate.tree import Tree
from appell.formulate.tree_bodies import TreeBodies
from appell.model.body import Inertia
from appell.model.robot import Robot
from appell.model.system import System

CLOSED_FORMS = {
    "differentiated": "poses differentiated by the compiler, for any mechanism in closed form",
    "explicit": "Abedloo et al. 2014: M, C, G written out, for spherical robots",
}
CONSTRAINED_SOLVERS = ("elimination", "schur")  # ways to the forward dynamics of a constrained robot


def formulation_names(system: System) -> tuple[str, ...]:
    """The formulations of systems of this kind."""
    return tuple(FORMULATIONS if system.tree else CLOSED_FORMS)


@dataclass(frozen=True)
class Choice:
    """What a catalogue was asked for; None: the usual formulation, loops where they pay."""

    formulation: str | None = None
    inertia: str | None = None
    forward: str | None = None
    friction: bool = False
    rotors: bool = False
    reference: str = "LOCAL"
    looped: bool | None = None


@final
class Maker:
    """Makes the equations of one system for one choice, with inertias as numbers or as scalars.

    `differentiate` is how poses of a mechanism in closed form are differentiated; trees need none.
    """

    name: str  # of the formulation
    looped: tuple[str, ...] = ()  # the functions that are written as loops over links
    structured: bool = False  # whether derivatives along the tree are those of the formulation

    def __init__(self, system: System, choice: Choice, differentiate: Differentiate | None = None):
        if not isinstance(system, System):
            raise ArgumentError(
                f"{system!r} has no equations of motion.",
                expected="a Robot or a Mechanism, such as ap.load('puma') or ap.load('delta')",
            )
        self.system, self.choice = system, choice
        self._methods: Mapping[str, Any] = {}  # of the functions that one method computes
        self._parts: Callable[..., Equations]
        if system.tree is None:
            self._parts = self._closed_form(system, differentiate)
        elif system.map.is_identity:
            self._parts = self._tree(system, choice.forward, choice.looped)
        else:
            self._parts = self._constrained(system, differentiate)

    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
        """`prescribed` are the motions of a system that are given, three numbers each."""
        return self._parts(inertias, prescribed)

    def collects(self, function: str) -> bool:
        """Whether a function gains by being collected by constants."""
        return function in self._methods and self._methods[function].collect

    @property
    def _switches(self) -> dict[str, Any]:
        return {"friction": self.choice.friction, "rotors": self.choice.rotors}

    def _formulation(self, robot: Robot, forward: str | None) -> Formulation:
        choice = self.choice
        formulation = choose(choice.formulation or "gibbs-appell", choice.inertia, forward)
        formulation.check(robot)
        self.name = formulation.name
        return formulation

    def _tree(self, robot: Any, forward: str | None, looped: bool | None) -> Callable[..., Equations]:
        formulation = self._formulation(robot, forward)
        loops = looping(robot, formulation, looped, asked=forward is not None)
        used = formulation.inverse_dynamics, formulation.mass_matrix
        self.looped, self.structured = loops.functions, all(method.name == "gibbs-appell" for method in used)
        self._methods = {
            "forward_dynamics": formulation.forward_dynamics,
            "mass_matrix": formulation.mass_matrix,
            **dict.fromkeys(("inverse_dynamics", "bias", "gravity"), formulation.inverse_dynamics),
        }

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            return self._of_tree(robot, formulation, loops, inertias)

        return parts

    def _of_tree(
        self, robot: Robot, formulation: Formulation, loops: Looping, inertias: Mapping[str, Inertia]
    ) -> Equations:
        links = Tree.of(robot).with_inertias(inertias)
        tree = links.with_rotors() if self.choice.rotors else links
        bodies = TreeBodies(tree, formulation, self.choice.reference, loops)
        return Equations(robot, bodies, robot.map, TreeActuation(tree, robot.owner), **self._switches)

    def _constrained(self, robot: Any, differentiate: Differentiate | None) -> Callable[..., Equations]:
        """The tree's bodies by a formulation, and how accelerations are solved for under constraints."""
        choice = self.choice
        if choice.looped:
            raise ArgumentError(f"{robot.owner} has straight code only.", expected="looped=None")
        if choice.forward not in (None, *CONSTRAINED_SOLVERS):
            raise ArgumentError(
                unknown_name("way to forward dynamics", str(choice.forward), CONSTRAINED_SOLVERS, robot.owner)
            )
        formulation = self._formulation(robot.tree, None)

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            tree = self._of_tree(robot.tree, formulation, NO_LOOPS, inertias)
            actuation = TreeActuation(tree.bodies.tree, robot.owner, robot.weights)  # type: ignore[union-attr]
            motions = robot.map.driven(prescribed, differentiate)
            return Equations(robot, tree.bodies, motions, actuation, tree=tree, solver=choice.forward, **self._switches)

        return parts

    def _closed_form(self, mechanism: Any, differentiate: Differentiate | None) -> Callable[..., Equations]:
        choice = self.choice
        self.name = choice.formulation or "differentiated"
        if self.name not in CLOSED_FORMS:
            raise ArgumentError(unknown_name("formulation", self.name, CLOSED_FORMS, mechanism.owner))
        if choice.looped:
            raise ArgumentError(f"{mechanism.owner} is in closed form: nothing to loop over.", expected="looped=None")
        for method in filter(None, (choice.inertia, choice.forward)):
            raise ArgumentError(
                f"{mechanism.owner} is in closed form; '{method}' is a method for trees.",
                expected="inertia and forward not given",
            )
        if self.name == "explicit" and mechanism.design is None:
            raise ModelError(
                f"'explicit' does not suit {mechanism.owner}: it is not spherical.",
                hint=Hint("{formulation}", formulation="differentiated"),
            )
        assert differentiate is not None
        curves = Curves(mechanism, differentiate)

        def parts(inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
            known = [inertias.get(part.name, part.body.about_origin) for part in mechanism.parts]
            explicit = None
            if self.name == "explicit":
                explicit = SphericalRobot.of(mechanism.design, known, mechanism.gravity)
            bodies = ClosedFormBodies(curves, known, explicit, choice.reference)
            actuation = ClosedFormActuation(curves, explicit)
            return Equations(mechanism, bodies, mechanism.map, actuation, **self._switches)

        return parts
