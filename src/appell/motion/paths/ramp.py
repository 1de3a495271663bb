"""Motion from one configuration to another with trapezoidal velocity; all joints start, cruise and stop together.

    q = q₀ + σ(t) (q₁ - q₀)          σ̇ rises at rate A to V, stays, and falls at rate A                          (1)

A and V are determined by the joint that reaches its limit first. If V cannot be reached, the velocity is triangular.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import ArgumentError
from appell.motion.path import QVA, Numbers, Path, checked_duration, checked_points, numeric


class Ramp(Path):
    """Motion with trapezoidal velocity between two configurations.

    Parameters
    ----------
    start, end
        Configurations, (n,).
    velocity, acceleration
        Limits (rad/s or m/s, rad/s² or m/s²): a number, or one per joint.
    duration
        Duration, s; must not be shorter than the limits allow. None: the shortest.
    names
        Names of the coordinates. None: "1", "2", ...

    Examples
    --------
    >>> from appell.motion import Ramp
    >>> path = Ramp([0.0, 0.0], [1.0, 0.5], velocity=1.0, acceleration=2.0)
    >>> path
    <Ramp of 2 joints, 1.5 s>
    >>> q, v, a = path(0.75)
    >>> print(q, v)
    [0.5  0.25] [1.  0.5]
    """

    def __init__(
        self,
        start: Numbers,
        end: Numbers,
        velocity,
        acceleration,
        duration: float | None = None,
        names: Sequence[str] | None = None,
    ):
        (self.start, self.end), self.names = checked_points([start, end], 2, names)
        move = np.abs(self.end - self.start)
        fastest, hardest = (
            _limits(limit, name, len(move)) for limit, name in ((velocity, "velocity"), (acceleration, "acceleration"))
        )
        if not move.any():
            raise ArgumentError("start and end of the ramp are equal.", expected="two different configurations")
        moving = move > 0.0
        V, A = float(np.min(fastest[moving] / move[moving])), float(np.min(hardest[moving] / move[moving]))
        V = min(V, float(np.sqrt(A)))  # a triangle that covers σ = 1 peaks at √A
        shortest = V / A + 1.0 / V
        self.duration = shortest if duration is None else checked_duration(duration)
        if self.duration < shortest * (1.0 - 1e-12):
            raise ArgumentError(
                f"the duration of the ramp is {self.duration:g} s.",
                expected=f"{shortest:g} s or more with these limits",
            )
        stretch = shortest / self.duration
        self.cruise, self.rate = V * stretch, A * stretch**2
        self.knots = np.array([0.0, self.cruise / self.rate, self.duration - self.cruise / self.rate, self.duration])

    def _at(self, t: np.ndarray) -> QVA:
        T, V, A = self.duration, self.cruise, self.rate
        rise = V / A
        up, down = t < rise, t > T - rise
        sigma = np.where(up, 0.5 * A * t**2, np.where(down, 1.0 - 0.5 * A * (T - t) ** 2, V * (t - 0.5 * rise)))
        speed = np.where(up, A * t, np.where(down, A * (T - t), V))
        pull = np.where(up, A, np.where(down, -A, 0.0))
        move = self.end - self.start
        return self.start + sigma[:, None] * move, speed[:, None] * move, pull[:, None] * move  # (1)


def _limits(limit, name: str, n: int) -> np.ndarray:
    values = numeric(limit, f"the {name} limit")
    if values.shape not in ((), (n,)) or not (values > 0.0).all():
        raise ArgumentError(f"the {name} limit is {values.tolist()}.", expected=f"a positive number, or {n} of them")
    return np.broadcast_to(values, (n,))
