"""Bodies whose poses are known functions of the coordinates: all of their dynamics from one integral.

A point with body coordinates (x, y, z) stands in the world at X r, with r = (x, y, z, 1) and X(q) = [R s], three rows
of four. All that matters of the body is the constant Σ = ∫ r rᵀ dm, four by four. With A = Ẍ - [0 g] and the inner
product ⟨A, B⟩ = Σ AᵢⱼBᵢⱼ, the Gibbs function is

    S = ½ ∫ |A r|² dm = ½ ⟨A, A Σ⟩                                                                             (1)

and, because ∂Ẍ/∂aₖ = ∂ₖX = ∂X/∂qₖ and q̇ = v, Appell's equations read

    Qₖ  = ∂S/∂aₖ = ⟨∂ₖX, A Σ⟩                                                                                  (2)
    Mⱼₖ = ⟨∂ⱼX, ∂ₖX Σ⟩                                                                                         (3)
    Cⱼₖ = ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩          so that Ṁⱼₖ - 2Cⱼₖ = ⟨d(∂ⱼX)/dt, ∂ₖX Σ⟩ - ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩ is skew     (4)
    T   = ½ ⟨Ẋ, Ẋ Σ⟩                 U = -⟨[0 g], X Σ⟩                                                        (5)

summed over all bodies. No angular velocity appears: gyroscopic terms are in Ẍ. It takes nothing but derivatives of X,
so it holds for any mechanism whose poses can be written down, closed loops included. Abedloo et al. 2014 derive M, C
and G so for spherical robots (`formulate.spherical`) and name the method promising for others.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3

Matrix = Sequence[Vector]  # 3x4 for a place X and its derivatives, 4x4 for Σ


def inner(A: Matrix, B: Matrix) -> Scalar:
    """⟨A, B⟩."""
    return sum((a * b for x, y in zip(A, B, strict=True) for a, b in zip(x, y, strict=True)), start=0.0)


def times(A: Matrix, sigma: Matrix) -> list[list[Scalar]]:
    """A Σ, of a symmetric Σ."""
    return [[sum((a * s for a, s in zip(row, column, strict=True)), start=0.0) for column in sigma] for row in A]


def less_gravity(acceleration: Matrix, gravity: Vec3) -> list[list[Scalar]]:
    """A = Ẍ - [0 g]."""
    return [[*row[:3], row[3] - g] for row, g in zip(acceleration, gravity, strict=True)]


def gibbs_function(A: Matrix, sigma: Matrix) -> Scalar:
    """The share of one body in S, by (1)."""
    return 0.5 * inner(A, times(A, sigma))


def mass_matrix(partials: Sequence[Matrix], sigma: Matrix) -> list[list[Scalar]]:
    """The share of one body in M, by (3); `partials` are ∂ₖX."""
    weighted = [times(partial, sigma) for partial in partials]
    lower = [[inner(partials[j], weighted[k]) for k in range(j + 1)] for j in range(len(partials))]
    return [[lower[max(j, k)][min(j, k)] for k in range(len(partials))] for j in range(len(partials))]


def coriolis(partials: Sequence[Matrix], rates: Sequence[Matrix], sigma: Matrix) -> list[list[Scalar]]:
    """The share of one body in C, by (4); `rates` are d(∂ₖX)/dt."""
    weighted = [times(rate, sigma) for rate in rates]
    return [[inner(partial, column) for column in weighted] for partial in partials]


def kinetic_energy(velocity: Matrix, sigma: Matrix) -> Scalar:
    """The share of one body in T, by (5)."""
    return 0.5 * inner(velocity, times(velocity, sigma))


def first_moment(place: Matrix, sigma: Matrix) -> Vec3:
    """∫ X r dm of one body, its share in U = -g·Σ ∫ X r dm and in the centre of mass."""
    return Vec3.of(row[3] for row in times(place, sigma))


def momentum(place: Matrix, velocity: Matrix, sigma: Matrix) -> tuple[Vec3, Vec3]:
    """∫ Ẋr dm and ∫ Xr × Ẋr dm of one body, X in world axes: with H = Ẋ Σ Xᵀ, the latter is the vector of H - Hᵀ."""
    weighted = times(velocity, sigma)
    H = [[inner([row], [other]) for other in place] for row in weighted]
    return (
        Vec3.of(row[3] for row in weighted),
        Vec3(H[2][1] - H[1][2], H[0][2] - H[2][0], H[1][0] - H[0][1]),
    )


def pose_of(place: Matrix) -> Pose:
    """The pose of X = [R s]."""
    return Pose(Mat3.of(row[:3] for row in place), Vec3.of(row[3] for row in place))


def applied(place: Matrix, point: Vector) -> Vec3:
    """X r, or a derivative of it."""
    return Vec3.of(inner([row], [point]) for row in place)


def turned(rotation: Mat3, place: Matrix) -> list[list[Scalar]]:
    """X in other axes."""
    columns = [rotation @ Vec3.of(row[k] for row in place) for k in range(4)]
    return [list(row) for row in zip(*columns, strict=True)]


def regressor(partials: Sequence[Matrix], A: Matrix) -> list[list[Scalar]]:
    """∂Q/∂π of one body, a row of ten for each coordinate: (2) is linear in Σ, and Σ in the ten parameters.

    With B = (∂ₖX)ᵀ A, Qₖ = ⟨B, Σ⟩. In Σ stand m, h, and ½ tr(I) 1 - I, so Ixx takes ½ (Byy + Bzz - Bxx) and Ixy takes
    -(Bxy + Byx).
    """
    rows = []
    for partial in partials:
        B = [
            [sum((x[i] * y[j] for x, y in zip(partial, A, strict=True)), start=0.0) for j in range(4)] for i in range(4)
        ]
        half = 0.5 * (B[0][0] + B[1][1] + B[2][2])
        first = [B[i][3] + B[3][i] for i in range(3)]
        xy, xz, yz = (-(B[i][j] + B[j][i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        rows.append([B[3][3], *first, half - B[0][0], xy, half - B[1][1], xz, yz, half - B[2][2]])
    return rows


def total(matrices: Sequence[Matrix]) -> list[list[Scalar]]:
    """The sum of all bodies' shares."""
    return [[sum(entries, start=0.0) for entries in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]
