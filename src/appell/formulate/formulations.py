"""The formulations by name: which method answers for inverse dynamics, inertia matrix and forward dynamics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from appell.errors import ArgumentError, unknown_name
from appell.formulate.methods import (
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    SOLVERS,
    Method,
    forward_method,
)
from appell.model.robot import Robot


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
        self.mass_matrix.check(robot, hint="inertia='gibbs-appell', or another that takes any tree")
        self.forward_dynamics.check(robot, hint="forward='ldl', 'cholesky' or 'gauss-jordan'")


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
