"""Formulations by name: methods for inverse dynamics, inertia matrix and forward dynamics, and their requirements.

**Forward dynamics from an inertia matrix and a bias.** M(q) a = τ - h(q, v) is solved by one of three factorisations.
Any inverse dynamics gives the bias (at a = 0), any method the matrix. Mata et al. 2002, §4.3.

**Loops over links.** Straight-line code for one robot exploits all zeros of that robot, but its length grows with the
robot: it exceeds the caches of the processor and takes longer to compile. A loop runs the same short code for every
link and reads its numbers from a table.

    inverse dynamics     O(n) in both cases; the form with fewer operations, as far as the model shows it, and loops
                         from `MAX_STRAIGHT_OPERATIONS` on, which take long to compile
    forward dynamics     straight-line code uses the inertia matrix, loops use articulated bodies in O(n); loops if the
                         matrix couples more than `MAX_STRAIGHT_PAIRS` pairs of links

Humanoids use straight-line code, chains of 20 links with oblique axes use loops; decision 0024 has the measurements.
Other formulations, and a forward dynamics requested by name, never use loops. Articulated bodies require independent
joints, so the forward dynamics of a tree with mimic joints is straight-line code.
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
    """A solver for M a = τ - bias, and its description."""

    source: str
    solve: Callable[..., list[Scalar]]


SOLVERS: dict[str, LinearSolver] = {
    "ldl": LinearSolver("M a = τ - bias by LDLᵀ, leaves first", lambda matrix, right: LDL.of(matrix).solve(right)),
    "cholesky": LinearSolver(
        "M a = τ - bias by Cholesky, leaves first", lambda matrix, right: Cholesky.of(matrix).solve(right)
    ),
    "gauss-jordan": LinearSolver("M a = τ - bias by Gauss-Jordan elimination", solve_gauss_jordan),
}


def forward_from_matrix(inverse_dynamics: Callable, mass_matrix: Callable, solver: str) -> Callable:
    """Forward dynamics from methods for the bias and the inertia matrix and a linear solver."""
    solve = SOLVERS[solver].solve

    def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches=None) -> list[Scalar]:
        """a(q, v, τ)."""
        bias = inverse_dynamics(tree, q, v, [0.0] * len(v), wrenches)
        return solve(tree.plus_rotors(mass_matrix(tree, q)), [force - h for force, h in zip(tau, bias, strict=True)])

    return forward_dynamics


@dataclass(frozen=True)
class Requirement:
    """A requirement of a method on every joint: description, violation (as a predicate of the joint), and test."""

    description: str
    violation: str
    is_met: Callable[[Robot, Link], bool]


REQUIREMENTS = {
    "chain": Requirement(
        "chains, in which the parent of every link is the link before it",
        "branches off",
        lambda robot, link: link.parent == _before(robot, link),
    ),
    "one-axis": Requirement(
        "revolute and prismatic joints",
        "has more than one axis",
        lambda robot, link: link.joint.motion.nv == 1,
    ),
    "independent": Requirement(
        "independent joints",
        "mimics another joint",
        lambda robot, link: link.joint.mimic is None,
    ),
}


def _before(robot: Robot, link: Link) -> str | None:
    position = robot.link_names.index(link.name)
    return robot.link_names[position - 1] if position else None


@dataclass(frozen=True)
class Method:
    """A method for one quantity; calling it calls its function."""

    name: str
    source: str
    function: Callable = field(repr=False)
    needs: tuple[str, ...] = ()
    regroup: bool = True  # whether base parameters, which have no centre of mass, can replace the bodies
    collect: bool = False  # whether collecting terms by constants reduces the operations of its vector products

    def __call__(self, *arguments):
        return self.function(*arguments)

    def obstacles(self, robot: Robot) -> Iterator[str]:
        """Reasons why the method does not support a robot, joint by joint, as ends of sentences."""
        for requirement in map(REQUIREMENTS.__getitem__, self.needs):
            for link in robot.links:
                if not requirement.is_met(robot, link):
                    yield f"joint '{link.joint.name}' {requirement.violation}; it supports {requirement.description}"

    def check(self, robot: Robot, hint: str = "") -> None:
        """Raise a ModelError that names the joint if the method does not support a robot."""
        for obstacle in self.obstacles(robot):
            raise ModelError(f"'{self.name}' does not support robot '{robot.name}': {obstacle}.", hint=hint)


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
    Method("gibbs-appell-4x4", "trace of 4x4 matrices, in one pass over the tree", trace_form.mass_matrix),
    Method("shafei", "3x3 and 4x4 matrices, branch by branch; Shafei, Shafei 2018", shafei.mass_matrix),
    Method("hollerbach", "Lagrange with 4x4 matrices, one unit acceleration per column", lagrange.mass_matrix),
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
    """Forward dynamics by name: a dedicated method, or a solver for the given bias and inertia matrix."""
    if name in FORWARD_DYNAMICS:
        return FORWARD_DYNAMICS[name]
    return Method(
        name,
        SOLVERS[name].source,
        forward_from_matrix(inverse_dynamics, mass_matrix, name),
        regroup=inverse_dynamics.regroup and mass_matrix.regroup,
        collect=inverse_dynamics.collect,
    )


@dataclass(frozen=True)
class Formulation:
    """A set of methods for the equations of motion, and its source."""

    name: str
    source: str
    inverse_dynamics: Method
    mass_matrix: Method
    forward_dynamics: Method

    def check(self, robot: Robot) -> None:
        """Raise a ModelError that names the joint if one of the methods does not support the robot."""
        self.inverse_dynamics.check(robot)
        hint = Hint("Use {inertia} or another method for any tree.", inertia="gibbs-appell")
        self.mass_matrix.check(robot, hint=hint)
        self.forward_dynamics.check(robot, hint=Hint("Use {forward}, 'cholesky' or 'gauss-jordan'.", forward="ldl"))


def _formulation(name: str, inverse_dynamics: str, mass_matrix: str, forward: str, source: str) -> Formulation:
    inverse, inertia = INVERSE_DYNAMICS[inverse_dynamics], MASS_MATRIX[mass_matrix]
    return Formulation(name, source, inverse, inertia, forward_method(forward, inverse, inertia))


#    name                     inverse dynamics         inertia matrix           forward dynamics
_TABLE = (
    ("gibbs-appell", "gibbs-appell", "gibbs-appell", "ldl", "Gibbs-Appell for any tree, economical throughout"),
    ("mata", "gibbs-appell", "hessian-loops", "cholesky", "Mata et al. 2002, as printed, for chains"),
    ("gibbs-appell-vector", "gibbs-appell-vector", "gibbs-appell", "cholesky", "Valera et al. 2003"),
    (
        "gibbs-appell-4x4",
        "gibbs-appell-4x4",
        "gibbs-appell-4x4",
        "gauss-jordan",
        "4x4 matrices, one pass over the tree",
    ),
    ("shafei", "shafei", "shafei", "gauss-jordan", "Shafei, Shafei 2018, the Appendix as printed, by branches"),
    ("gibbs-gradient", "gibbs-gradient", "gibbs-hessian", "ldl", "the Gibbs function, differentiated"),
    ("newton-euler", "newton-euler", "composite-bodies", "articulated-body", "Luh, Walker, Paul; Featherstone"),
    ("walker-orin", "newton-euler", "walker-orin", "gauss-jordan", "Walker, Orin 1982: the papers' CRBA"),
    ("balafoutis-patel", "balafoutis-patel", "composite-bodies", "cholesky", "Balafoutis, Patel 1988"),
    ("kane", "kane", "orthogonal-complement", "cholesky", "Angeles, Ma, Rojas: Kane and orthogonal complement"),
    ("lagrange", "hollerbach", "hollerbach", "cholesky", "Hollerbach 1980: Lagrange with 4x4 matrices"),
)

FORMULATIONS = {row[0]: _formulation(*row) for row in _TABLE}


def choose(name: str, inertia: str | None = None, forward: str | None = None) -> Formulation:
    """Look up a formulation, and replace its inertia matrix or forward dynamics if requested."""
    _check_known("formulation", name, FORMULATIONS)
    base = FORMULATIONS[name]
    if inertia is None and forward is None:
        return base
    _check_known("inertia matrix", inertia or base.mass_matrix.name, MASS_MATRIX)
    _check_known("forward dynamics", forward or base.forward_dynamics.name, (*SOLVERS, *FORWARD_DYNAMICS))
    matrix = MASS_MATRIX[inertia or base.mass_matrix.name]
    forward_dynamics = forward_method(forward or base.forward_dynamics.name, base.inverse_dynamics, matrix)
    return Formulation(
        " + ".join([name, *filter(None, (inertia, forward))]),
        base.source,
        base.inverse_dynamics,
        matrix,
        forward_dynamics,
    )


def _check_known(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ArgumentError(unknown_name(kind, name, known, "appell"))


# Operations of inverse dynamics per link. Loops have the same number for all robots; straight-line code omits the zeros
# and ones of rotations and axes. The estimate chooses the shorter form of all robots of `tests/formulate/looped`.
LOOP_OPERATIONS = 166
STRAIGHT_OPERATIONS, OBLIQUE_PLACEMENT, OBLIQUE_AXIS = 95, 60, 90
MIN_LOOPED_LINKS = 16  # shorter trees use straight-line code
MAX_STRAIGHT_OPERATIONS = 20_000  # of inverse dynamics: more take seconds to compile
MAX_STRAIGHT_PAIRS = 200  # for straight-line forward dynamics: pairs of a link and one at or inboard of it
LOOP_FORMULATION = "gibbs-appell"  # the only formulation with loops
LOOPED_INVERSE = ("inverse_dynamics", "generalized_forces", "bias", "gravity", "energy")
LOOPED_FORWARD = ("forward_dynamics", "state_rate")


@dataclass(frozen=True)
class Looping:
    """Which functions are loops over links."""

    inverse: bool
    forward: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions of `Dynamics` that are loops."""
        return LOOPED_INVERSE * self.inverse + LOOPED_FORWARD * self.forward


NO_LOOPS = Looping(False, False)


def looping(robot: Robot, formulation: Formulation, looped: bool | None, *, forward_given: bool) -> Looping:
    """Decide which functions of a robot are loops: as `looped` requests or, if it is None, by the size of the robot.

    `forward_given` states whether the forward dynamics was requested by name.
    """
    if looped not in (None, True, False):
        raise ArgumentError(f"looped is {looped!r}.", expected="True, False, or None to choose by the robot's length")
    suits = formulation.inverse_dynamics.name == LOOP_FORMULATION
    if looped and not suits:
        raise ArgumentError(
            f"'{formulation.name}' cannot use loops over links.",
            expected=f"formulation='{LOOP_FORMULATION}' with looped=True",
            hint="Pass looped=None for straight-line code.",
        )
    if not suits or looped is False:
        return NO_LOOPS
    independent = all(link.joint.mimic is None for link in robot.links)
    inverse, forward = (True, True) if looped else (_is_looped(robot), _pairs(robot) > MAX_STRAIGHT_PAIRS)
    return Looping(inverse, forward and independent and not forward_given)


def _is_looped(robot: Robot) -> bool:
    """Whether inverse dynamics is shorter in loops, or too long in straight-line code, by an estimate of operations."""
    operations = sum(_straight_operations(link) for link in robot.links)
    shorter = operations > LOOP_OPERATIONS * len(robot.links) and len(robot.links) >= MIN_LOOPED_LINKS
    return shorter or operations > MAX_STRAIGHT_OPERATIONS


def _straight_operations(link: Link) -> int:
    rotation = [x for row in link.joint.placement.rotation.rows for x in row]
    axes = [x for partial in link.joint.motion.partials for x in (*partial.angular, *partial.linear)]
    folds = (0.0, 1.0, -1.0)
    oblique_placement = not any(x in folds for x in rotation)
    return (
        STRAIGHT_OPERATIONS + OBLIQUE_PLACEMENT * oblique_placement + OBLIQUE_AXIS * any(x not in folds for x in axes)
    )


def _pairs(robot: Robot) -> int:
    """Number of pairs of a link and one at or inboard of it."""
    depth: dict[str | None, int] = {WORLD: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + 1
    return sum(depth.values())
