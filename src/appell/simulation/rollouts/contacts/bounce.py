"""How much of its speed a mass keeps that meets a spring with a damper.

    m ẍ = -(k x + c ẋ)          ζ = c / 2√(k m),  x(0) = 0, until it would pull: k x + c ẋ = 0                    (1)
    e = exp(-2ζ arccos ζ / √(1 - ζ²))                                                                            (2)

With ζ = cos φ the motion is x ~ exp(-ζωt) sin(ωt sin φ), and (1) ends at ωt sin φ = 2φ, where ẋ = -ẋ(0) exp(-ζωt).
At critical damping, ζ = 1, e is exp(-2); a damper that takes more would be stiffer than the spring.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

LEAST = math.exp(-2.0)  # the restitution at critical damping


def restitution(damping_ratio: float) -> float:
    """e of (2), for ζ from 0 to 1."""
    if damping_ratio >= 1.0:
        return LEAST
    return math.exp(-2.0 * damping_ratio * math.acos(damping_ratio) / math.sqrt(1.0 - damping_ratio**2))


def damping_ratio(e: float) -> float:
    """ζ of a restitution; critical damping for all that are less than it has."""
    if e <= LEAST:
        return 1.0
    return float(brentq(lambda zeta: restitution(zeta) - e, 0.0, 1.0, xtol=1e-15)) if e < 1.0 else 0.0
