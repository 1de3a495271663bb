"""The methods by name: every way to inverse dynamics, inertia matrix and forward dynamics, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from appell.errors import ModelError
from appell.formulate import forward, gibbs_derivatives
from appell.formulate.gibbs_appell import hessian_loops, inertia, inverse, mixed_form, trace_form, vector
from appell.formulate.kane import inverse as kane
from appell.formulate.kane import orthogonal_complement
from appell.formulate.lagrange import hollerbach
from appell.formulate.newton_euler import (
    articulated_body,
    articulated_body_base,
    balafoutis_patel,
    crba,
    luh_walker_paul,
    walker_orin,
)
from appell.formulate.shafei import assembly
from appell.model.robot import Link, Robot


@dataclass(frozen=True)
class Need:
    """What a method may ask of every joint of a robot: what is wanted, what a joint does that lacks it, the test."""

    wanted: str
    breaks: str
    suits: Callable[[Robot, Link], bool]


NEEDS = {
    "chain": Need(
        "chains, where every link stands on the one before it",
        "branches off",
        lambda robot, link: link.parent == _before(robot, link),
    ),
    "one-axis": Need(
        "joints that turn or slide about one axis",
        "has more than one axis",
        lambda robot, link: link.joint.motion.nv == 1,
    ),
    "independent": Need(
        "joints that move independently",
        "mimics another",
        lambda robot, link: link.joint.mimic is None,
    ),
}


def _before(robot: Robot, link: Link) -> str | None:
    position = robot.link_names.index(link.name)
    return robot.link_names[position - 1] if position else None


@dataclass(frozen=True)
class Method:
    """One way to one quantity: called like the function it names."""

    name: str
    source: str
    function: Callable = field(repr=False)
    needs: tuple[str, ...] = ()
    regroup: bool = True  # whether base parameters, which have no centre of mass, do as well as the bodies themselves
    collect: bool = False  # whether its vector products gain by being collected by constants

    def __call__(self, *arguments):
        return self.function(*arguments)

    def obstacles(self, robot: Robot) -> Iterator[str]:
        """What in a robot the method cannot deal with, joint by joint, as the end of a sentence."""
        for need in self.needs:
            for link in robot.links:
                if not NEEDS[need].suits(robot, link):
                    yield f"joint '{link.joint.name}' {NEEDS[need].breaks}; it is for {NEEDS[need].wanted}"

    def check(self, robot: Robot, hint: str = "") -> None:
        for obstacle in self.obstacles(robot):
            raise ModelError(f"'{self.name}' does not suit robot '{robot.name}': {obstacle}.", hint=hint)


def _by_name(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


INVERSE_DYNAMICS = _by_name(
    Method("gibbs-appell", "Gibbs-Appell, tensor form; Mata et al. 2002", inverse.inverse_dynamics),
    Method(
        "gibbs-appell-vector", "Gibbs-Appell, vector form; Valera et al. 2003", vector.inverse_dynamics, collect=True
    ),
    Method("gibbs-appell-4x4", "Gibbs-Appell, 4x4 matrices in one pass over the tree", mixed_form.inverse_dynamics),
    Method("shafei", "3x3 and 4x4 matrices, branch by branch; Shafei, Shafei 2018", assembly.inverse_dynamics),
    Method(
        "gibbs-gradient",
        "the Gibbs function S, differentiated: ∂S/∂a",
        gibbs_derivatives.inverse_dynamics,
        collect=True,
    ),
    Method(
        "newton-euler",
        "Newton-Euler; Luh, Walker, Paul 1980",
        luh_walker_paul.inverse_dynamics,
        regroup=False,
        collect=True,
    ),
    Method("balafoutis-patel", "Newton-Euler with tensors; Balafoutis, Patel 1988", balafoutis_patel.inverse_dynamics),
    Method("kane", "Kane; Angeles, Ma, Rojas 1989", kane.inverse_dynamics, regroup=False, collect=True),
    Method("hollerbach", "Lagrange with 4x4 matrices; Hollerbach 1980", hollerbach.inverse_dynamics),
)

MASS_MATRIX = _by_name(
    Method("gibbs-appell", "Hessian of the Gibbs function, for any tree; Mata et al. 2002", inertia.mass_matrix),
    Method(
        "hessian-loops",
        "GAH, the loops as printed; Provenzano et al.",
        hessian_loops.mass_matrix,
        needs=("chain", "one-axis"),
    ),
    Method("gibbs-appell-4x4", "trace of 4x4 matrices, whole bodies in one pass over the tree", trace_form.mass_matrix),
    Method("shafei", "3x3 and 4x4 matrices, branch by branch; Shafei, Shafei 2018", assembly.mass_matrix),
    Method("hollerbach", "Lagrange with 4x4 matrices, one unit acceleration a column", hollerbach.mass_matrix),
    Method("gibbs-hessian", "the Gibbs function S, differentiated twice: ∂²S/∂a²", gibbs_derivatives.mass_matrix),
    Method("walker-orin", "composite bodies; Walker, Orin 1982", walker_orin.mass_matrix, regroup=False),
    Method("composite-bodies", "composite rigid bodies, spatial vectors (CRBA); Featherstone 2008", crba.mass_matrix),
    Method(
        "orthogonal-complement",
        "natural orthogonal complement; Angeles, Ma 1988",
        orthogonal_complement.mass_matrix,
        regroup=False,
    ),
)

FORWARD_DYNAMICS = _by_name(
    Method(
        "articulated-body",
        "articulated bodies in link coordinates (ABA); Featherstone 2008",
        articulated_body.forward_dynamics,
        needs=("independent",),
    ),
    Method(
        "articulated-body-base",
        "articulated bodies in base coordinates; Featherstone 1983",
        articulated_body_base.forward_dynamics,
        needs=("independent",),
    ),
)

SOLVERS = {
    "ldl": "M a = τ - bias by LDLᵀ, leaves first",
    "cholesky": "M a = τ - bias by Cholesky, leaves first",
    "gauss-jordan": "M a = τ - bias by Gauss-Jordan elimination",
}


@cache
def forward_method(name: str, inverse_dynamics: Method, mass_matrix: Method) -> Method:
    """The forward dynamics of a name: a method of its own, or a solver for the given bias and inertia matrix."""
    if name in FORWARD_DYNAMICS:
        return FORWARD_DYNAMICS[name]
    return Method(
        name,
        SOLVERS[name],
        forward.solved(inverse_dynamics, mass_matrix, name),
        regroup=inverse_dynamics.regroup and mass_matrix.regroup,
        collect=inverse_dynamics.collect,
    )
