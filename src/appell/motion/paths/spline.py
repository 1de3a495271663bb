"""Splines through way-points: cubic, at rest at both ends, or quintic, at rest and without acceleration there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError
from appell.motion.path import QVA, Numbers, Path, checked_points, checked_times

if TYPE_CHECKING:
    from scipy.interpolate import BPoly, BSpline, CubicSpline, PPoly


class Spline(Path):
    """Spline through way-points from rest to rest.

    Parameters
    ----------
    times
        Times of the way-points, (points,), s; the first is 0.
    points
        Way-points, (points, n).
    degree
        3: cubic, at rest at both ends. 5: quintic, also without acceleration there.
    names
        Names of the coordinates. None: "1", "2", ...

    Examples
    --------
    >>> from appell.motion import Spline
    >>> path = Spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]])
    >>> q, v, a = path(0.5)
    >>> print(q.round(4), v.round(4))
    [0.4531] [1.4062]
    """

    def __init__(self, times: Numbers, points, degree: int = 3, names: Sequence[str] | None = None):
        from scipy.interpolate import CubicSpline, make_interp_spline  # imported here because it is slow

        self.knots = checked_times(times)
        self.points, self.names = checked_points(points, len(self.knots), names)
        self.degree, self.duration = degree, float(self.knots[-1])
        if degree == 3:
            self.curve: CubicSpline | BSpline | BPoly | PPoly = CubicSpline(self.knots, self.points, bc_type="clamped")
        elif degree == 5:
            still = np.zeros(self.points.shape[1])
            ends = [(1, still), (2, still)]
            self.curve = make_interp_spline(self.knots, self.points, k=5, bc_type=(ends, ends))
        else:
            raise ArgumentError(f"the degree of the spline is {degree}.", expected="3 or 5")

    def _at(self, t: np.ndarray) -> QVA:
        return self.curve(t), self.curve(t, 1), self.curve(t, 2)


class Interpolated(Path):
    """Motion through samples of q, v and a: a quintic polynomial between each two samples, exact at the samples.

    Parameters
    ----------
    times
        Times of the samples, (samples,), s; the first is 0.
    q, v, a
        Samples, (samples, n).
    names
        Names of the coordinates. None: "1", "2", ...
    """

    def __init__(self, times: Numbers, q, v, a, names: Sequence[str] | None = None):
        from scipy.interpolate import BPoly

        self.knots = checked_times(times)
        self.points, self.names = checked_points(q, len(self.knots), names)
        given = [self.points, *(checked_points(x, len(self.knots), self.names)[0] for x in (v, a))]
        self.duration = float(self.knots[-1])
        self.curve = BPoly.from_derivatives(self.knots, np.stack(given, axis=1))

    def _at(self, t: np.ndarray) -> QVA:
        return self.curve(t), self.curve(t, 1), self.curve(t, 2)
