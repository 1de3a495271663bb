"""The impact of one point with friction, followed along its normal impulse p (Routh 1905, Stronge 1990, Batlle 1996).

The velocity of the point along normal and tangents is u = (uₙ, u_t), and B = J M⁻¹Jᵀ with b = B_tn is its response to
impulses f = (p, f_t):

    du = B df      slip     df_t = -μ s dp,  s = u_t/|u_t|                          while u_t ≠ 0                  (1)
                   stick    df_t = -B_tt⁻¹b dp                                      at u_t = 0 if |B_tt⁻¹b| ≤ μ    (2)
                   reverse  df_t = -μ s dp,  (μ B_tt + κ) s = b,  |s| = 1,  κ > 0   at u_t = 0 otherwise           (3)

In (2) and (3), and in (1) if s does not turn (planar motion), u is linear in p and the normal work W = ∫ uₙ dp is
quadratic, so that the path is exact. If s = (cos θ, sin θ) turns, (1) is integrated with dp = ρ dσ, ρ = |u_t|, in which
it is smooth up to the end of slip; it is linear again once θ has come to a root of dθ/dσ, which attracts it:

    d ln ρ/dσ = s·g      dθ/dσ = s'·g      dp/dσ = ρ      df_t/dσ = -μ ρ s      dW/dσ = ρ uₙ      g = b - μ B_tt s (4)

Compression ends at uₙ = 0 with p_c and W_c. Restitution ends, with the coefficient e, where

    newton-path   uₙ = -e uₙ⁻          poisson   p = (1 + e) p_c          energetic   W = (1 - e²) W_c             (5)

Friction takes energy along the whole path, so that the energetic law never adds any. The first law can (Kane's
paradox), and for the second law no bound is known in space; e is then reduced to the largest value without gain.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.algebra.scalar import cos, exp, sin
from appell.compile.function import Function
from appell.compile.ode.stepper import Rate, Stepper
from appell.simulation.contact.complementarity import least_norm

SLIP_TOLERANCE = 1e-13  # relative to the velocity: slower slip is none
TURN_TOLERANCE = 1e-13  # relative to B: a slower change of direction is none
ROOT_TOLERANCE = 1e-10  # relative to B: with a slower change of direction, θ is at a root that attracts it
STEP_TOLERANCE = 1e-12  # of a step of (4)
BLOCKED = 1e-12  # relative to B_nn: a smaller response along the normal is none
DECAY = 32.0  # of ln ρ: slip that has decreased by this factor has ended
ROOT_ITERATIONS = 4  # of Newton's method
FIRST_STEP = 0.05  # of (4), relative to the largest rate
GAIN_TOLERANCE = 1e-12  # of the kinetic energy
BISECTIONS = 30  # for the largest e that adds no energy


class PathImpact(NamedTuple):
    """Impulse (3,) along normal and tangents, N s, and the coefficient of restitution that was applied."""

    impulse: np.ndarray
    restitution: float


def path_impact(B: np.ndarray, u: np.ndarray, mu: float, e: float, law: str, guard: bool = True) -> PathImpact:
    """Return the impact of one point that approaches its wall.

    Parameters
    ----------
    B
        Response of the point, (3, 3), along normal and tangents.
    u
        Velocity before the impact, (3,), with u[0] < 0.
    mu, e
        Coefficients of friction and restitution.
    law
        One of (5).
    guard
        Whether to reduce e if the law would add energy.
    """
    speed, mobility = float(np.linalg.norm(u)), float(B[0, 0])
    path = _Path(B / mobility, u / speed, mu)
    path.advance((0.0, 1.0, 0.0, 0.0))
    impulse = _restituted(path, law, e)
    if guard and path.energy_gain(impulse) > GAIN_TOLERANCE:
        low, high = 0.0, e
        for _ in range(BISECTIONS):
            e = 0.5 * (low + high)
            low, high = (e, high) if path.energy_gain(_restituted(path, law, e)) <= 0.0 else (low, e)
        e, impulse = low, _restituted(path, law, low)
    return PathImpact(impulse * (speed / mobility), e)


def _restituted(path: _Path, law: str, e: float) -> np.ndarray:
    """Return the impulse at the end of the restitution (5), from the end of compression."""
    targets = {  # factors of p, uₙ, W and 1 in a sum that is negative before the end
        "newton-path": (0.0, 1.0, 0.0, e * path.u0[0]),
        "poisson": (1.0, 0.0, 0.0, -(1.0 + e) * path.f[0]),
        "energetic": (0.0, 0.0, 1.0, -(1.0 - e * e) * path.work),
    }
    path = copy(path)
    path.advance(targets[law])
    return path.f


class _Path:
    """Current impulse `f` and normal work `work` of a path; velocities and responses are relative to |u| and B_nn."""

    def __init__(self, B: np.ndarray, u: np.ndarray, mu: float):
        self.B, self.u0, self.mu = B, u, mu
        self.b, self.Btt, self.entries = B[1:, 0], B[1:, 1:], B.tolist()
        self.f, self.work = np.zeros(3), 0.0
        self.rate: np.ndarray | None = None  # df/dp; None: slip turns
        self.remaining = math.inf  # normal impulse until slip ends, if `rate` is given
        self.turning = np.zeros(6)  # ln ρ, θ, p, f_t and W of (4)
        self._start(u[1:])

    def energy_gain(self, f: np.ndarray) -> float:
        """Return the change of the kinetic energy by an impulse."""
        return float(f @ (self.u0 + 0.5 * self.B @ f))

    def _start(self, slip: np.ndarray) -> None:
        """Choose the mode of the path for an initial slip."""
        speed = math.hypot(*slip.tolist())
        if speed <= SLIP_TOLERANCE:
            return self._leave_rest()
        angle = math.atan2(slip[1], slip[0])
        self.scale = float(np.abs(self.b).max() + self.mu * np.abs(self.Btt).max())
        if abs(self._slip_rates(angle)[1]) <= TURN_TOLERANCE * self.scale:
            return self._slip_straight(speed, angle)
        self.turning[:2] = math.log(speed), angle
        self.end, self.step = self.turning[0] - DECAY, FIRST_STEP / self.scale
        self.stepper = _stepper(self.B, float(self.u0[0]), self.mu)
        return None

    def _slip_rates(self, angle: float) -> tuple[float, float, float]:
        """Return d ln ρ/dσ and dθ/dσ of (4) at θ, and the derivative of the second with respect to θ."""
        c, s, mu = math.cos(angle), math.sin(angle), self.mu
        (_, n1, n2), (_, xx, xy), (_, _, yy) = self.entries
        g1, g2 = n1 - mu * (xx * c + xy * s), n2 - mu * (xy * c + yy * s)
        along = c * g1 + s * g2
        return along, c * g2 - s * g1, -along - mu * (xx * s * s - 2.0 * xy * s * c + yy * c * c)

    def _slip_straight(self, speed: float, angle: float) -> None:
        """Slip along a constant direction."""
        along = self._slip_rates(angle)[0]
        self.rate = np.array([1.0, -self.mu * math.cos(angle), -self.mu * math.sin(angle)])
        self.remaining = speed / -along if along < 0.0 else math.inf

    def _leave_rest(self) -> None:
        """Continue from u_t = 0 by (2) or (3), for the rest of the path."""
        tangential = least_norm(self.Btt, -self.b)
        if np.linalg.norm(tangential) > self.mu:
            values, vectors = np.linalg.eigh(self.Btt)
            parts, size = vectors.T @ self.b, float(np.linalg.norm(self.b))

            def excess(kappa: float) -> float:
                return float(np.sum((parts / (self.mu * np.maximum(values, 0.0) + kappa)) ** 2)) - 1.0

            least = 1e-15 * size
            kappa = (
                scipy.optimize.brentq(excess, least, size, xtol=least) if excess(least) > 0.0 > excess(size) else size
            )
            s = vectors @ (parts / (self.mu * np.maximum(values, 0.0) + kappa))
            tangential = -self.mu * s / np.linalg.norm(s)
        self.rate, self.remaining = np.array([1.0, *tangential]), math.inf

    def advance(self, target: tuple[float, float, float, float]) -> None:
        """Follow the path until the sum with the factors `target` of p, uₙ, W and 1 is zero."""
        reached = False
        while not reached:
            if self.rate is None:
                reached = self._turn(target)
            elif not (reached := self._go_straight(self.rate, target)):
                self._leave_rest()

    def _go_straight(self, rate: np.ndarray, target: tuple[float, float, float, float]) -> bool:
        """Follow the path to the target and return True, or to the end of slip."""
        of_p, of_u, of_work, constant = target
        u, slope = float(self.u0[0] + self.B[0] @ self.f), float(self.B[0] @ rate)
        if slope <= BLOCKED and math.isinf(self.remaining):
            return True  # a point that sticks and is guided by constraints or joints has stopped along its normal, too
        value = of_p * self.f[0] + of_u * u + of_work * self.work + constant
        x = _first_root(value, of_p + of_u * slope + of_work * u, 0.5 * of_work * slope)
        reached = x <= self.remaining
        x = min(x, self.remaining)
        self.f = self.f + x * rate
        self.work += x * (u + 0.5 * x * slope)
        self.remaining -= x
        return reached

    def _turn(self, target: tuple[float, float, float, float]) -> bool:
        """Integrate (4) to the target and return True, or to the end of slip, or until its direction is constant."""
        of_p, of_u, of_work, constant = target

        def value(y: np.ndarray) -> float:
            return float(of_p * y[2] + of_u * (self.u0[0] + self.B[0] @ y[2:5]) + of_work * y[5] + constant)

        y, reached = self.turning, value(self.turning) >= 0.0
        while not reached and y[0] > self.end:
            start, y = y, self._runge_kutta(y, self.step)
            length, self.step = self.stepper.ends.item(), self.stepper.step
            reached = value(y) >= 0.0
            if reached:
                end = scipy.optimize.brentq(
                    lambda h, y=start: value(self._runge_kutta(y, h)), 0.0, length, xtol=1e-15 * length
                )
                y = self._runge_kutta(start, end)
                break
            _, across, change = self._slip_rates(y[1])
            if change < 0.0 and abs(across) <= ROOT_TOLERANCE * self.scale:
                angle = y[1]
                for _ in range(ROOT_ITERATIONS):
                    _, across, change = self._slip_rates(angle)
                    angle -= across / change
                self._slip_straight(math.exp(y[0]), angle)
                break
        self.turning, self.f, self.work = y, y[2:5].copy(), float(y[5])
        if not reached and self.rate is None:
            self._leave_rest()
        return reached

    def _runge_kutta(self, y: np.ndarray, h: float) -> np.ndarray:
        """Return y after a step of (4) of length h, or a shorter one if its error is too large."""
        if h == 0.0:
            return y
        self.stepper.start(0.0, y, math.inf, rtol=STEP_TOLERANCE, atol=STEP_TOLERANCE, first=h)
        self.stepper.advance()
        return self.stepper.y


def _first_root(value: float, slope: float, curvature: float) -> float:
    """Return the smallest x ≥ 0 at which value + slope x + curvature x² rises to zero; infinite if there is none."""
    if value >= 0.0:
        return 0.0
    radicand = slope * slope - 4.0 * curvature * value
    divisor = slope + math.sqrt(radicand) if radicand >= 0.0 else 0.0
    return -2.0 * value / divisor if divisor > 0.0 else math.inf


def _stepper(B: np.ndarray, u: float, mu: float) -> Stepper:
    """Return the integrator of (4) for a normal velocity u before the impact."""
    rate = Rate.compiled(_slip(), 1)
    rate.held["B"][:], rate.held["u"][()], rate.held["mu"][()] = B, u, mu
    return Stepper("DOP853", rate, capacity=1)


@cache
def _slip() -> Function:
    """Return the right-hand sides of (4)."""

    def body(y, B, u, mu):
        log_speed, angle, p, f1, f2, _ = y
        (nn, n1, n2), (_, xx, xy), (_, _, yy) = B
        speed, c, s = exp(log_speed), cos(angle), sin(angle)
        g1, g2 = n1 - mu * (xx * c + xy * s), n2 - mu * (xy * c + yy * s)
        normal = u + nn * p + n1 * f1 + n2 * f2
        friction = [-mu * speed * c, -mu * speed * s]
        return {"rate": [c * g1 + s * g2, c * g2 - s * g1, speed, *friction, speed * normal]}

    return Function.of("slip", {"y": 6, "B": (3, 3), "u": (), "mu": ()}, body)
