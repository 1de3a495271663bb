"""The interpolant of a step as a Chebyshev series.

With x from 0 to 1 along the step, all methods give their interpolants in the form

    y(x) = y₀ + x (R₁ + (1 - x) (R₂ + x (R₃ + (1 - x) (R₄ + x (R₅ + …)))))                                    (1)
    R₁ = h Σⱼ bⱼ kⱼ      R₂ = h k₀ - R₁      R₃ = 2 R₁ - h (k₀ + kₛ)                                          (2)

R₁ to R₃ are Hermite's cubic, through both ends with the slopes there; the others vanish at both ends with their
slopes. The factors of (1) are polynomials, whose Chebyshev coefficients in u = 2x - 1 are fractions with powers of two
below, exact in floating point:

    y = Σₖ cₖ Tₖ(u)      c₀ = y₀ + Σₘ C₀ₘ Rₘ      cₖ = Σₘ Cₖₘ Rₘ                                              (3)

The sum is taken over R and not over the slopes, because the Rₘ are small where the solution is smooth.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev


def chebyshev_factors(degree: int) -> np.ndarray:
    """C in (3), (degree + 1, degree): how much of each R there is in every coefficient."""
    rising, falling = np.array([0.5, 0.5]), np.array([0.5, -0.5])  # x and 1 - x
    columns, product = [], np.array([1.0])
    for m in range(degree):
        product = chebyshev.chebmul(product, falling if m % 2 else rising)
        columns.append(np.pad(product, (0, degree - m - 1)))
    return np.array(columns).T
