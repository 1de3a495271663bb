"""From a system to its equations: which formulations suit it, and the equations of the one that was chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

from appell.algebra.scalar import Vector
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate.constrained.equations import SOLVERS, ConstrainedEquations
from appell.formulate.constrained.manifold import TreeManifold
from appell.formulate.constrained.tree_motion import TreeMotion
from appell.formulate.equations import Equations
from appell.formulate.formulations import FORMULATIONS, Formulation, choose
from appell.formulate.looped.choice import Looping, looping
from appell.formulate.mechanism_equations import Curves, Differentiate, MechanismEquations
from appell.formulate.spherical.explicit import SphericalEquations
from appell.formulate.tree_equations import TreeEquations
from appell.model.body import Inertia
from appell.model.constrained import ConstrainedRobot
from appell.model.mechanism import Mechanism
from appell.model.robot import Robot
from appell.model.system import System

CLOSED_FORMS = {
    "differentiated": "poses differentiated by the compiler, for any mechanism in closed form",
    "explicit": "Abedloo et al. 2014: M, C, G written out, for spherical robots",
}


def formulation_names(system: System) -> tuple[str, ...]:
    """The formulations of systems of this kind."""
    return tuple(CLOSED_FORMS if isinstance(system, Mechanism) else FORMULATIONS)


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

    @property
    def switches(self) -> dict[str, Any]:
        return {"friction": self.friction, "rotors": self.rotors, "reference": self.reference}


class Maker(ABC):
    """Makes the equations of one system for one choice, with inertias as numbers or as scalars."""

    name: str  # of the formulation

    @abstractmethod
    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
        """`prescribed` are the motions of a system that are given, three numbers each."""

    @property
    def looped(self) -> tuple[str, ...]:
        """The functions that are written as loops over links."""
        return ()

    def collects(self, function: str) -> bool:
        """Whether a function gains by being collected by constants."""
        return False


@singledispatch
def maker(system: System, choice: Choice, differentiate: Differentiate) -> Maker:
    """The maker of a system's equations."""
    raise ArgumentError(
        f"{system!r} has no equations of motion.",
        expected="a Robot or a Mechanism, such as ap.load('puma') or ap.load('delta')",
    )


@maker.register
def _(system: Robot, choice: Choice, differentiate: Differentiate) -> Maker:
    return TreeMaker(system, choice)


@maker.register
def _(system: Mechanism, choice: Choice, differentiate: Differentiate) -> Maker:
    return _MechanismMaker(system, choice, differentiate)


@maker.register
def _(system: ConstrainedRobot, choice: Choice, differentiate: Differentiate) -> Maker:
    return ConstrainedMaker(system, choice, differentiate)


class TreeMaker(Maker):
    """`structured`: whether derivatives along the tree are those of the formulation."""

    def __init__(self, robot: Robot, choice: Choice):
        self.formulation: Formulation = choose(choice.formulation or "gibbs-appell", choice.inertia, choice.forward)
        self.formulation.check(robot)
        self.robot, self.choice, self.name = robot, choice, self.formulation.name
        self.looping: Looping = looping(robot, self.formulation, choice.looped, asked=choice.forward is not None)
        used = self.formulation.inverse_dynamics, self.formulation.mass_matrix
        self.structured = all(method.name == "gibbs-appell" for method in used)

    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> TreeEquations:
        return TreeEquations(self.robot, self.formulation, inertias, looping=self.looping, **self.choice.switches)

    @property
    def looped(self) -> tuple[str, ...]:
        return self.looping.functions

    def collects(self, function: str) -> bool:
        methods = {
            "forward_dynamics": self.formulation.forward_dynamics,
            "mass_matrix": self.formulation.mass_matrix,
            **dict.fromkeys(("inverse_dynamics", "bias", "gravity"), self.formulation.inverse_dynamics),
        }
        return function in methods and methods[function].collect


class ConstrainedMaker(Maker):
    """The tree's equations by a formulation, and how accelerations are solved for under constraints."""

    def __init__(self, robot: ConstrainedRobot, choice: Choice, differentiate: Differentiate):
        if choice.looped:
            raise ArgumentError(f"{robot.owner} has straight code only.", expected="looped=None")
        if choice.forward not in (None, *SOLVERS):
            raise ArgumentError(unknown_name("way to forward dynamics", str(choice.forward), SOLVERS, robot.owner))
        self.robot, self.differentiate, self.solver = robot, differentiate, choice.forward
        self.tree = TreeMaker(robot.tree, replace(choice, forward=None, looped=False))
        self.name = self.tree.name

    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> ConstrainedEquations:
        manifold = self.robot.manifold
        assert isinstance(manifold, TreeManifold)
        under = TreeMotion(self.tree(inertias), manifold, self.differentiate, prescribed)
        return ConstrainedEquations(self.robot, under, self.solver)


class _MechanismMaker(Maker):
    def __init__(self, mechanism: Mechanism, choice: Choice, differentiate: Differentiate):
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
                f"'explicit' does not suit {mechanism.owner}: it is not spherical.", hint="formulation='differentiated'"
            )
        self.mechanism, self.choice = mechanism, choice
        self.curves = Curves(mechanism, differentiate)

    def __call__(self, inertias: Mapping[str, Inertia], prescribed: Vector = ()) -> Equations:
        kind = SphericalEquations if self.name == "explicit" else MechanismEquations
        return kind(self.mechanism, self.curves, inertias, **self.choice.switches)
