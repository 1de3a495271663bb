"""The optimisation problem of an exciting motion, with exact derivatives.

    q(t) = q₀ + Σₖ  aₖ/(kω) sin kωt - bₖ/(kω) cos kωt          Σₖ aₖ = 0,  Σₖ k bₖ = 0                               (1)

starts and ends at rest, without acceleration. The coefficients minimise one of

    condition   log σ_max/σ_min of the base regressor stacked over the motion                                     (2)
    logdet      -Σ log σ, the volume of what noise leaves uncertain                                               (3)

With Y = Σ σ u wᵀ, the derivative of (2) by Y is u₁w₁ᵀ/σ₁ - u_nw_nᵀ/σ_n and of (3) -Y (YᵀY)⁻¹. One compiled function,
the gradient of G·Y(q, v, a) for any G, carries both on to the motion, from where (1) is linear.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from appell.errors import ArgumentError
from appell.identify.base.reduce import BaseParameters
from appell.identify.excitation.bounds import MotionBounds, envelope
from appell.identify.excitation.loads import Loads
from appell.identify.sought import QVA
from appell.motion.paths.fourier import Fourier

LOST = 100.0  # the objective where the motion cannot be made; log of a condition number


class Problem:
    """The optimisation over x, (1 + 2 (harmonics - 1)) numbers a coordinate: q₀ and the free directions of (1)."""

    def __init__(self, base: BaseParameters, bounds: MotionBounds, duration: float, harmonics: int, samples: int):
        self.base, self.bounds = base, bounds
        self.system, self.duration, self.harmonics = base.sought.system, duration, harmonics
        self.pull_back = base.regressor.pullback("q", "v", "a")
        self.loads = Loads(base, bounds, self.pull_back)
        k = np.arange(1, harmonics + 1)
        self.rest = null_space(np.ones((1, harmonics))), null_space(k[None, :].astype(float))
        self.size = self.system.nv * (2 * harmonics - 1)
        self.maps = self._maps(np.linspace(0.0, duration, samples))

    def _maps(self, t: np.ndarray) -> QVA:
        """q, v and a at the instants as matrices times x of one coordinate."""
        k = 2.0 * np.pi / self.duration * np.arange(1, self.harmonics + 1)
        c, s = np.cos(t[:, None] * k), np.sin(t[:, None] * k)
        cosine, sine = self.rest
        one, none = np.ones((len(t), 1)), np.zeros((len(t), 1))
        return (
            np.hstack([one, (s / k) @ cosine, -(c / k) @ sine]),
            np.hstack([none, c @ cosine, s @ sine]),
            np.hstack([none, -(s * k) @ cosine, (c * k) @ sine]),
        )

    def motion(self, x: np.ndarray) -> QVA:
        X = x.reshape(-1, self.system.nv)
        q, v, a = (part @ X for part in self.maps)
        return q, v, a

    def _back(self, gradient) -> np.ndarray:
        """The derivative by x of something with these derivatives by q, v, a at every instant."""
        return np.ravel(sum(part.T @ g for part, g in zip(self.maps, gradient, strict=True)))

    # ---- (2) and (3)

    def objective(self, x: np.ndarray, criterion: str) -> tuple[float, np.ndarray]:
        motion = self.motion(x)
        with np.errstate(invalid="ignore"):  # a line search may try what no leg reaches
            Y = np.asarray(self.base.regressor(*motion))
        if not np.isfinite(Y).all():
            return LOST, np.zeros_like(x)
        flat = Y.reshape(-1, self.base.count)
        _, s, Wt = np.linalg.svd(np.linalg.qr(flat, mode="r"))
        s = np.maximum(s, 1e-12 * s[0])
        if criterion == "condition":
            value = float(np.log(s[0] / s[-1]))
            G = np.outer(flat @ Wt[0], Wt[0]) / s[0] ** 2 - np.outer(flat @ Wt[-1], Wt[-1]) / s[-1] ** 2
        else:
            value = -float(np.sum(np.log(s))) / len(s)
            G = -(flat @ (Wt.T / s**2) @ Wt) / len(s)
        return value, self._back(self.pull_back(*motion, G.reshape(Y.shape)))

    def condition(self, x: np.ndarray) -> float:
        return float(np.exp(self.objective(x, "condition")[0]))

    # ---- limits, as numbers that must not be negative

    def slack(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([1.0 - envelope(load)[0] for _, load, _ in self.loads(self.motion(x))])

    def slack_gradient(self, x: np.ndarray) -> np.ndarray:
        rows = []
        for _, load, back in self.loads(self.motion(x)):
            weights = envelope(load)[1]
            for k in range(load.shape[1]):
                only = np.zeros_like(load)
                only[:, k] = weights[:, k]
                rows.append(-self._back(back(only)))
        return np.array(rows)

    def feasible(self, x: np.ndarray) -> np.ndarray:
        """x with its amplitudes reduced, about a centre that is moved inside, until all limits hold."""
        X = x.reshape(-1, self.system.nv).copy()
        room = 0.45 * (self.bounds.upper - self.bounds.lower)
        middle = 0.5 * (self.bounds.lower + self.bounds.upper)
        X[0] = np.clip(X[0], middle - room, middle + room)
        if self._worst(X)[0] <= 1.0:
            return X.ravel()
        for centre in (X[0].copy(), middle, self.system.start):
            still = np.vstack([centre[None], np.zeros_like(X[1:])])
            if self._worst(still)[0] <= 1.0:
                break
        else:
            X[0] = still[0] = middle
            raise ArgumentError(
                f"{self.system.owner} breaks its limits even at rest in mid-range: {self._worst(still)[1]}.",
                hint="wider limits on torque or workspace",
            )
        X[0] = centre
        low, high = 0.0, 1.0
        for _ in range(30):
            size = 0.5 * (low + high)
            low, high = (size, high) if self._worst(still + size * (X - still))[0] <= 1.0 else (low, size)
        return (still + low * (X - still)).ravel()

    def _worst(self, X: np.ndarray) -> tuple[float, str]:
        """The largest load over its limit, and what it is."""
        return max((float(load.max()), what) for what, load, _ in self.loads(self.motion(X.ravel())))

    # ---- the way out

    def path(self, x: np.ndarray) -> Fourier:
        X = x.reshape(-1, self.system.nv)
        free = self.harmonics - 1
        cosine, sine = self.rest[0] @ X[1 : 1 + free], self.rest[1] @ X[1 + free :]
        names = self.system.coordinate_names
        return Fourier(1.0 / self.duration, cosine, sine, X[0], self.duration, names=names)
