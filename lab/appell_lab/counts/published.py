"""The operation counts printed in the papers, each with the method of appell that it is compared with.

They are polynomials in the number n of revolute joints, constant first. M includes divisions and square roots, as in
the papers (Cholesky's n³/6 + n²/2 + n/3 does).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from appell.algebra.solve import Cholesky
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX, Method, forward_method
from appell_lab.counts.measure import BACK, BIAS, FACTOR, FORWARD, INERTIA, INVERSE, Counted
from appell_lab.counts.polynomial import Polynomial, polynomial


@dataclass(frozen=True)
class PublishedCount:
    """One row of a table: a label, the quantity and the method, and the printed counts."""

    label: str
    quantity: Counted
    method: Method
    mul: Polynomial
    add: Polynomial
    remark: str = ""  # why the count of appell is higher, where it is


@dataclass(frozen=True)
class Table:
    """A table of published counts."""

    title: str
    rows: tuple[PublishedCount, ...]


def _inverse(label: str, name: str, mul: Polynomial, add: Polynomial, remark: str = "") -> PublishedCount:
    return PublishedCount(label, INVERSE, INVERSE_DYNAMICS[name], mul, add, remark)


def _inertia(label: str, name: str, mul: Polynomial, add: Polynomial, remark: str = "") -> PublishedCount:
    return PublishedCount(label, INERTIA, MASS_MATRIX[name], mul, add, remark)


def _forward(
    label: str, inverse: str, inertia: str, solver: str, mul: Polynomial, add: Polynomial, remark: str = ""
) -> PublishedCount:
    method = forward_method(solver, INVERSE_DYNAMICS[inverse], MASS_MATRIX[inertia])
    return PublishedCount(label, FORWARD, method, mul, add, remark)


def _factor(matrix):
    factor = Cholesky.of(matrix)
    return [factor.inverse, *factor.rows]


_NOC_REMARK = (
    "NOC: the paper multiplies by the triangular factor of each inertia tensor (6 M), which does not exist for a link "
    "without inertia; appell multiplies by the tensor (9 M) and computes the velocity of the centre of mass separately "
    "(3 M and 3 A)."
)
_CRBA = ("Walker, Orin (CRBA)", "walker-orin", polynomial(-27, 56, 12))
_NOC = ("Angeles, Ma (NOC)", "orthogonal-complement", polynomial(8, -21, 17, 1), polynomial(5, -16, 14, 1), _NOC_REMARK)
_GAH = ("Gibbs-Appell (GAH)", "hessian-loops", polynomial(-49, 19.5, 11.5), polynomial(-69, 31.5, 8.5))
_TOTAL = (
    polynomial(-157, Fraction(695, 6), 13, Fraction(1, 6)),
    polynomial(-174, Fraction(683, 6), 10, Fraction(1, 6)),
)

MATA_1 = Table(
    "Mata 2002, Table 1: inverse dynamics",
    (
        _inverse("Luh, Walker, Paul (N-E)", "newton-euler", polynomial(-48, 150), polynomial(-48, 131)),
        _inverse("Angeles, Ma, Rojas (Kane)", "kane", polynomial(-109, 105), polynomial(-105, 90)),
        _inverse("Balafoutis, Patel (N-E)", "balafoutis-patel", polynomial(-69, 93), polynomial(-66, 81)),
        _inverse("Gibbs-Appell, tensor", "gibbs-appell", polynomial(-101, 96), polynomial(-100, 84)),
    ),
)
MATA_2 = Table(
    "Mata 2002, Table 2: inertia matrix",
    (_inertia(*_CRBA, polynomial(-56, 67, 7)), _inertia(*_NOC), _inertia(*_GAH)),
)
_FACTORED = polynomial(0, Fraction(1, 3), Fraction(1, 2), Fraction(1, 6))
_CHOLESKY = PublishedCount(
    "Cholesky",
    FACTOR,
    Method("cholesky", "H = Lᵀ L", _factor),
    _FACTORED,
    _FACTORED,
    "appell computes the reciprocal of each diagonal entry once (n M) and multiplies by it; the printed count has a "
    "root per row and a division per element, and as many A as M, although the factorisation needs n³/6 - n/6.",
)
_BACK = PublishedCount(
    "back-substitution",
    BACK,
    Method("back-substitution", "Lᵀ L x = b", lambda L, inverse, b: Cholesky(L, inverse).solve(b)),
    polynomial(0, 0, 1),
    polynomial(0, -1, 1),
    "Both substitutions multiply by the diagonal (2n M); the printed n² includes only n of these.",
)
MATA_3 = Table(
    "Mata 2002, Table 3: forward dynamics by Gibbs-Appell and Cholesky",
    (
        _inertia("inertia matrix", *_GAH[1:]),
        PublishedCount("bias", BIAS, INVERSE_DYNAMICS["gibbs-appell"], polynomial(-108, 96), polynomial(-105, 83)),
        _CHOLESKY,
        _BACK,
        _forward("total", "gibbs-appell", "hessian-loops", "cholesky", *_TOTAL),
    ),
)
MATA_4 = Table(
    "Mata 2002, Table 4: forward dynamics of six joints",
    (
        _forward("CRBA", "newton-euler", "walker-orin", "cholesky", polynomial(1627), polynomial(1261)),
        _forward("ABA", "newton-euler", "walker-orin", "articulated-body", polynomial(1533), polynomial(1415)),
        _forward("NOC", "kane", "orthogonal-complement", "cholesky", polynomial(1353), polynomial(1165)),
        _forward("Gibbs-Appell", "gibbs-appell", "hessian-loops", "cholesky", polynomial(1042), polynomial(905)),
    ),
)
PROVENZANO_1 = Table(
    "Provenzano, Table 1: inertia matrix",
    (_inertia(*_CRBA, polynomial(-53, 67, 7)), _inertia(*_NOC), _inertia(*_GAH)),
)
VALERA_3 = Table(
    "Valera 2003, Table 3: inverse dynamics in vectors",
    (
        _inverse("Luh, Walker, Paul", "newton-euler", polynomial(-112, 121), polynomial(-82, 90)),
        _inverse("Gibbs-Appell, vector", "gibbs-appell-vector", polynomial(-136, 121), polynomial(-116, 91)),
    ),
)
UNPRINTED = Table(
    "Not in the papers, counted by the same rule",
    (
        _inverse("Gibbs-Appell, 4x4 in one pass", "gibbs-appell-4x4", polynomial(), polynomial()),
        _inverse("gradient of S", "gibbs-gradient", polynomial(), polynomial()),
        _inverse("Hollerbach (Lagrange 4x4)", "hollerbach", polynomial(), polynomial()),
        _inertia("Gibbs-Appell, any tree", "gibbs-appell", polynomial(), polynomial()),
        _inertia("Featherstone (CRBA)", "composite-bodies", polynomial(), polynomial()),
        _inertia("Gibbs-Appell, trace of 4x4", "gibbs-appell-4x4", polynomial(), polynomial()),
        _inertia("Hessian of S", "gibbs-hessian", polynomial(), polynomial()),
        _forward(
            "ABA, base coordinates", "gibbs-appell", "gibbs-appell", "articulated-body-base", polynomial(), polynomial()
        ),
        _forward("Gibbs-Appell, LDLᵀ", "gibbs-appell", "gibbs-appell", "ldl", polynomial(), polynomial()),
    ),
)
TABLES = (MATA_1, MATA_2, MATA_3, MATA_4, PROVENZANO_1, VALERA_3, UNPRINTED)
