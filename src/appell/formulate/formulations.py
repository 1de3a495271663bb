"""Formulations by name: the methods for inverse dynamics, inertia matrix and forward dynamics, and what each needs.

Forward dynamics from an inertia matrix and a bias: M(q) a = τ - h(q, v), solved by one of three factorisations.

Any inverse dynamics gives the bias (at a = 0), any method the matrix. Mata et al. 2002, §4.3.

When a tree is written as loops over its links.

Straight code for one robot keeps all zeros of that robot, but grows with it: it leaves the caches of the processor,
and the time to compile grows too. A loop runs the same short code for every link and reads its numbers from a table.

    inverse dynamics     O(n) either way      loops for more than `LONG` links
    forward dynamics     straight code goes by the inertia matrix, loops by articulated bodies in O(n): loops where the
                         matrix couples more than `COUPLED` pairs of links

A humanoid of 33 links stays straight, a chain of 20 is solved by loops; decision 0024 has the measurements. Whoever
asks for another formulation, or for a forward dynamics by name, gets that and no loop. Articulated bodies take joints
that move independently, so forward dynamics of a tree with mimic joints stays straight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL, Cholesky, solve_gauss_jordan
from appell.errors import ArgumentError, Hint, ModelError, unknown_name
from appell.formulate import gibbs, kane, lagrange, shafei
from appell.formulate.gibbs_appell import hessian_loops, inertia, inverse, mixed_form, trace_form, vector
from appell.formulate.newton_euler import (
    articulated_body,
    articulated_body_base,
    balafoutis_patel,
    crba,
    luh_walker_paul,
    walker_orin,
)
from appell.formulate.tree import Tree
from appell.model.frame import WORLD
from appell.model.robot import Link, Robot


class LinearSolver(NamedTuple):
    """A way to solve M a = τ - bias, and where it comes from."""

    source: str
    solve: Callable[..., list[Scalar]]


SOLVERS: dict[str, LinearSolver] = {
    "ldl": LinearSolver("M a = τ - bias by LDLᵀ, leaves first", lambda matrix, right: LDL.of(matrix).solve(right)),
    "cholesky": LinearSolver(
        "M a = τ - bias by Cholesky, leaves first", lambda matrix, right: Cholesky.of(matrix).solve(right)
    ),
    "gauss-jordan": LinearSolver("M a = τ - bias by Gauss-Jordan elimination", solve_gauss_jordan),
}


def solved(inverse_dynamics: Callable, mass_matrix: Callable, solver: str) -> Callable:
    """The forward dynamics of a way to the bias, a way to the inertia matrix and a solver."""
    solve = SOLVERS[solver].solve

    def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches=None) -> list[Scalar]:
        """a(q, v, τ)."""
        bias = inverse_dynamics(tree, q, v, [0.0] * len(v), wrenches)
        return solve(tree.plus_rotors(mass_matrix(tree, q)), [force - h for force, h in zip(tau, bias, strict=True)])

    return forward_dynamics


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
    Method("shafei", "3x3 and 4x4 matrices, branch by branch; Shafei, Shafei 2018", shafei.inverse_dynamics),
    Method(
        "gibbs-gradient",
        "the Gibbs function S, differentiated: ∂S/∂a",
        gibbs.inverse_dynamics,
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
    Method("hollerbach", "Lagrange with 4x4 matrices; Hollerbach 1980", lagrange.inverse_dynamics),
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
    Method("shafei", "3x3 and 4x4 matrices, branch by branch; Shafei, Shafei 2018", shafei.mass_matrix),
    Method("hollerbach", "Lagrange with 4x4 matrices, one unit acceleration a column", lagrange.mass_matrix),
    Method("gibbs-hessian", "the Gibbs function S, differentiated twice: ∂²S/∂a²", gibbs.mass_matrix),
    Method("walker-orin", "composite bodies; Walker, Orin 1982", walker_orin.mass_matrix, regroup=False),
    Method("composite-bodies", "composite rigid bodies, spatial vectors (CRBA); Featherstone 2008", crba.mass_matrix),
    Method(
        "orthogonal-complement",
        "natural orthogonal complement; Angeles, Ma 1988",
        kane.mass_matrix,
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


@cache
def forward_method(name: str, inverse_dynamics: Method, mass_matrix: Method) -> Method:
    """The forward dynamics of a name: a method of its own, or a solver for the given bias and inertia matrix."""
    if name in FORWARD_DYNAMICS:
        return FORWARD_DYNAMICS[name]
    return Method(
        name,
        SOLVERS[name].source,
        solved(inverse_dynamics, mass_matrix, name),
        regroup=inverse_dynamics.regroup and mass_matrix.regroup,
        collect=inverse_dynamics.collect,
    )


@dataclass(frozen=True)
class Formulation:
    """One way to the equations of motion, and where it comes from."""

    name: str
    source: str
    inverse_dynamics: Method
    mass_matrix: Method
    forward_dynamics: Method

    def check(self, robot: Robot) -> None:
        """Raise if one of the methods cannot deal with a joint of the robot, and name the joint."""
        self.inverse_dynamics.check(robot)
        self.mass_matrix.check(robot, hint=Hint("{inertia}, or another that takes any tree", inertia="gibbs-appell"))
        self.forward_dynamics.check(robot, hint=Hint("{forward}, 'cholesky' or 'gauss-jordan'", forward="ldl"))


def _formulation(name: str, inverse_dynamics: str, mass_matrix: str, forward: str, source: str) -> Formulation:
    inverse, inertia = INVERSE_DYNAMICS[inverse_dynamics], MASS_MATRIX[mass_matrix]
    return Formulation(name, source, inverse, inertia, forward_method(forward, inverse, inertia))


#    name                     inverse dynamics         inertia matrix           forward dynamics
_TABLE = (
    ("gibbs-appell", "gibbs-appell", "gibbs-appell", "ldl", "Gibbs-Appell for any tree, economical throughout"),
    ("mata", "gibbs-appell", "hessian-loops", "cholesky", "Mata et al. 2002, as printed, for chains"),
    ("gibbs-appell-vector", "gibbs-appell-vector", "gibbs-appell", "cholesky", "Valera et al. 2003"),
    ("gibbs-appell-4x4", "gibbs-appell-4x4", "gibbs-appell-4x4", "gauss-jordan", "4x4 matrices, a tree in one pass"),
    ("shafei", "shafei", "shafei", "gauss-jordan", "Shafei, Shafei 2018, the Appendix as printed, by branches"),
    ("gibbs-gradient", "gibbs-gradient", "gibbs-hessian", "ldl", "the definition itself, differentiated"),
    ("newton-euler", "newton-euler", "composite-bodies", "articulated-body", "Luh, Walker, Paul; Featherstone"),
    ("walker-orin", "newton-euler", "walker-orin", "gauss-jordan", "Walker, Orin 1982: the papers' CRBA"),
    ("balafoutis-patel", "balafoutis-patel", "composite-bodies", "cholesky", "Balafoutis, Patel 1988"),
    ("kane", "kane", "orthogonal-complement", "cholesky", "Angeles, Ma, Rojas: Kane and orthogonal complement"),
    ("lagrange", "hollerbach", "hollerbach", "cholesky", "Hollerbach 1980: Lagrange with 4x4 matrices"),
)

FORMULATIONS = {row[0]: _formulation(*row) for row in _TABLE}


def choose(name: str, inertia: str | None = None, forward: str | None = None) -> Formulation:
    """A formulation, with another inertia matrix or forward dynamics if asked for."""
    _known("formulation", name, FORMULATIONS)
    found = FORMULATIONS[name]
    if inertia is None and forward is None:
        return found
    _known("inertia matrix", inertia or found.mass_matrix.name, MASS_MATRIX)
    _known("forward dynamics", forward or found.forward_dynamics.name, (*SOLVERS, *FORWARD_DYNAMICS))
    matrix = MASS_MATRIX[inertia or found.mass_matrix.name]
    way = forward_method(forward or found.forward_dynamics.name, found.inverse_dynamics, matrix)
    return Formulation(
        " + ".join([name, *filter(None, (inertia, forward))]), found.source, found.inverse_dynamics, matrix, way
    )


def _known(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ArgumentError(unknown_name(kind, name, known, "appell"))


LONG = 40  # links
COUPLED = 200  # pairs of a link and one at or inboard of it
LOOPED = "gibbs-appell"  # the formulation that loops are an economical form of
INVERSE = ("inverse_dynamics", "generalized_forces", "bias", "gravity", "energy")
FORWARD = ("forward_dynamics", "state_rate")


@dataclass(frozen=True)
class Looping:
    """What is written as loops."""

    inverse: bool
    forward: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of a catalogue that follow."""
        return INVERSE * self.inverse + FORWARD * self.forward


NO_LOOPS = Looping(False, False)


def looping(robot: Robot, formulation: Formulation, looped: bool | None, *, asked: bool) -> Looping:
    """What of a robot is written as loops: as `looped` says, or by the length of the robot if it is None.

    `asked`: whether the way to forward dynamics was asked for by name.
    """
    if looped not in (None, True, False):
        raise ArgumentError(f"looped is {looped!r}.", expected="True, False, or None to choose by the robot's length")
    suits = formulation.inverse_dynamics.name == LOOPED
    if looped and not suits:
        raise ArgumentError(
            f"'{formulation.name}' is not written as loops over links.",
            expected=f"formulation='{LOOPED}' with looped=True",
            hint="looped=None, which keeps to straight code for other formulations",
        )
    if not suits or looped is False:
        return NO_LOOPS
    independent = all(link.joint.mimic is None for link in robot.links)
    long, coupled = (True, True) if looped else (len(robot.links) > LONG, _pairs(robot) > COUPLED)
    return Looping(long, coupled and independent and not asked)


def _pairs(robot: Robot) -> int:
    """How many links stand at or inboard of each link, added up."""
    depth: dict[str | None, int] = {WORLD: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + 1
    return sum(depth.values())
