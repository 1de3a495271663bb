"""The optimisation problem of an exciting motion, with exact derivatives.

    q(t) = q₀ + Σₖ  aₖ/(kω) sin kωt - bₖ/(kω) cos kωt          Σₖ aₖ = 0,  Σₖ k bₖ = 0                               (1)

The motion starts and ends at rest, without acceleration. The coefficients minimise one of

    condition   log σ_max/σ_min of the base regressor stacked over the motion                                     (2)
    logdet      -Σ log σ, the log volume of the confidence ellipsoid of the parameters                            (3)

With Y = Σ σ u wᵀ, the derivative of (2) with respect to Y is u₁w₁ᵀ/σ₁ - u_nw_nᵀ/σ_n, and that of (3) is -Y (YᵀY)⁻¹.
One compiled function, the gradient of G·Y(q, v, a) for any G, transforms both into derivatives with respect to q, v and
a, which are linear in the coefficients by (1).

Loads are quantities of the motion divided by their limits, so that values up to 1 are allowed:

    position, velocity, acceleration     of the coordinates
    speed, torque                        of the actuators, where they are limited; a torque limit that falls with the
                                         speed is the load τ/τ_max + w/w₀ in the direction of motion
    reach                                of the legs of a mechanism: 1 at their clearance, more beyond it
    place of <frame>                     position of a frame in its box
    margin                               1 at the margin of the nearest pair of collision shapes, 0 at 0.1 m more; while
                                         the optimiser runs, the envelope of the pairs that come near each other

Each load comes with its pullback: a function from a derivative with respect to it to those with respect to q, v and a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import null_space

from appell.compile.function import Function
from appell.dynamics.margins import Margin
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError
from appell.formulate.equations import SYMBOLS
from appell.identify.base.reduce import BaseParameters
from appell.identify.excitation.bounds import MotionBounds, envelope
from appell.identify.parameter_set import QVA
from appell.model.system import System
from appell.motion.paths.fourier import Fourier
from appell.motion.titles import path_units

INFEASIBLE_OBJECTIVE = 100.0  # objective of a motion out of reach; the log of a condition number
INFEASIBLE_LOAD = 1e3  # load of a torque or speed that is not finite
CHECKED_LOAD = 0.999  # in the final check: dry friction jumps between its instants
DISTANCE_SCALE_M = 0.1  # by which distances beyond their margin are divided
CENTRES = 200  # random ones, of which those that keep the largest distances are tried
COARSE_STRIDE = 8  # every eighth instant is checked first
BISECTION_STEPS = 30  # for the largest feasible amplitude
Pullback = Callable[[np.ndarray], tuple]
Load = tuple[str, np.ndarray, Pullback]  # name, values of shape (instants, n), pullback to q, v and a


class ExcitationProblem:
    """The optimisation over x: per coordinate, 1 + 2 (harmonics - 1) numbers for q₀ and the free directions of (1).

    Parameters
    ----------
    base : BaseParameters
    bounds : MotionBounds
    duration : in seconds
    harmonics : int
    samples : number of instants at which objective and limits are evaluated
    simulated : bool
        For the final check: torques always follow from the inverse dynamics of the robot as it is simulated (`Loads`).
    """

    def __init__(
        self,
        base: BaseParameters,
        bounds: MotionBounds,
        duration: float,
        harmonics: int,
        samples: int,
        simulated: bool = False,
    ):
        self.base, self.bounds = base, bounds
        self.system, self.duration, self.harmonics = base.parameter_set.system, duration, harmonics
        self.pull_back = base.regressor.pullback("q", "v", "a")
        self.loads = Loads(base, bounds, self.pull_back, simulated)
        self.most = CHECKED_LOAD if simulated else 1.0  # largest load of a feasible motion
        k = np.arange(1, harmonics + 1)
        self.rest = null_space(np.ones((1, harmonics))), null_space(k[None, :].astype(float))
        self.size = self.system.nv * (2 * harmonics - 1)
        self.maps = self._maps(np.linspace(0.0, duration, samples))

    def _maps(self, t: np.ndarray) -> QVA:
        """Return the matrices that map x of one coordinate to q, v and a at the instants t."""
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
        """Return q, v and a at the instants, each of shape (samples, nv)."""
        X = x.reshape(-1, self.system.nv)
        q, v, a = (part @ X for part in self.maps)
        return q, v, a

    def _to_coefficients(self, gradient) -> np.ndarray:
        """Return the derivative with respect to x for given derivatives with respect to q, v and a."""
        return np.ravel(sum(part.T @ g for part, g in zip(self.maps, gradient, strict=True)))

    # ---- (2) and (3)

    def objective(self, x: np.ndarray, criterion: str) -> tuple[float, np.ndarray]:
        """Return (2) or (3) and its gradient with respect to x."""
        motion = self.motion(x)
        with np.errstate(invalid="ignore"):  # a line search may leave the reach of a leg
            Y = np.asarray(self.base.regressor(*motion))
        if not np.isfinite(Y).all():
            return INFEASIBLE_OBJECTIVE, np.zeros_like(x)
        flat = Y.reshape(-1, self.base.count)
        _, s, Wt = np.linalg.svd(np.linalg.qr(flat, mode="r"))
        s = np.maximum(s, 1e-12 * s[0])
        if criterion == "condition":
            value = float(np.log(s[0] / s[-1]))
            G = np.outer(flat @ Wt[0], Wt[0]) / s[0] ** 2 - np.outer(flat @ Wt[-1], Wt[-1]) / s[-1] ** 2
        else:
            value = -float(np.sum(np.log(s))) / len(s)
            G = -(flat @ (Wt.T / s**2) @ Wt) / len(s)
        return value, self._to_coefficients(self.pull_back(*motion, G.reshape(Y.shape)))

    def condition(self, x: np.ndarray) -> float:
        """Return the condition number of the base regressor."""
        return float(np.exp(self.objective(x, "condition")[0]))

    # ---- limits, as numbers that must not be negative

    def slack(self, x: np.ndarray) -> np.ndarray:
        """Return 1 minus the envelope of every load; not negative if the limits hold."""
        return np.concatenate([1.0 - envelope(load)[0] for _, load, _ in self.loads(self.motion(x))])

    def slack_gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of `slack` with respect to x, one row per limit."""
        rows = []
        for _, load, pullback in self.loads(self.motion(x)):
            weights = envelope(load)[1]
            for k in range(load.shape[1]):
                only = np.zeros_like(load)
                only[:, k] = weights[:, k]
                rows.append(-self._to_coefficients(pullback(only)))
        return np.array(rows)

    def feasible(self, x: np.ndarray) -> np.ndarray:
        """Return x with its centre moved into the range and its amplitudes reduced until all limits hold."""
        X = x.reshape(-1, self.system.nv).copy()
        reach = 0.45 * (self.bounds.upper - self.bounds.lower)
        middle = 0.5 * (self.bounds.lower + self.bounds.upper)
        X[0] = np.clip(X[0], middle - reach, middle + reach)
        if self._holds(X):
            return X.ravel()
        for centre in (X[0].copy(), middle, self.system.start, *self._distant_centres(middle, reach)):
            rest = np.vstack([centre[None], np.zeros_like(X[1:])])
            if self._holds(rest):
                break
        else:
            X[0] = rest[0] = middle
            raise ArgumentError(
                f"{self.system.owner} exceeds its limits even at rest in the middle of its range: "
                f"{self._worst(rest)[1]}.",
                hint="Relax the limits on torque, workspace or margin.",
            )
        X[0] = centre
        low, high = 0.0, 1.0
        for _ in range(BISECTION_STEPS):
            size = 0.5 * (low + high)
            low, high = (size, high) if self._holds(rest + size * (X - rest)) else (low, size)
        return (rest + low * (X - rest)).ravel()

    def _distant_centres(self, middle: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return random configurations in which collision shapes keep their margins, the most distant ones first."""
        if self.bounds.margin is None:
            return np.empty((0, len(middle)))
        q = middle + reach * np.random.default_rng(0).uniform(-1.0, 1.0, (CENTRES, len(middle)))
        slack = self.bounds.margin.slack(q).min(axis=1)
        order = np.argsort(-slack)
        return q[order[slack[order] > 0.0]][:10]

    def _holds(self, X: np.ndarray) -> bool:
        """Return whether all loads hold, first at a few instants; distances, which take longest, come last."""
        motion = self.motion(X.ravel())
        few: Any = tuple(part[::COARSE_STRIDE] for part in motion)
        return all(load.max() <= self.most for part in (few, motion) for _, load, _ in self.loads(part))

    def _worst(self, X: np.ndarray) -> tuple[float, str]:
        """Return the largest load and its name."""
        return max((float(load.max()), what) for what, load, _ in self.loads(self.motion(X.ravel())))

    # ---- result

    def path(self, x: np.ndarray) -> Fourier:
        """Return the motion as a Fourier series."""
        X = x.reshape(-1, self.system.nv)
        free = self.harmonics - 1
        cosine, sine = self.rest[0] @ X[1 : 1 + free], self.rest[1] @ X[1 + free :]
        names = self.system.coordinate_names
        path = Fourier(1.0 / self.duration, cosine, sine, X[0], self.duration, names=names)
        path.units = path_units(self.system, names)
        return path


class Loads:
    """The loads of motions of one system.

    Torques follow from the described values of the base parameters. If the description has friction or rotors that are
    not estimated, torques follow from the inverse dynamics instead, because these terms act on the robot as well. So
    they do with `simulated`, because dry friction that is estimated is smoothed over a width.
    """

    def __init__(self, base: BaseParameters, bounds: MotionBounds, pull_back: Function, simulated: bool = False):
        self.bounds, self.regressor, self.beta, self.torque_back = bounds, base.regressor, base.values(), pull_back
        dynamics, system = base.parameter_set.dynamics, base.parameter_set.system
        self.speed, self.margins, self.torque = None, None, None
        moving = moving_dynamics(system, "excite")
        estimated = {(parameter.kind, parameter.owner) for parameter in base.parameter_set.parameters}
        drives = (parameter for parameter in moving.parameters if parameter.kind in SYMBOLS)
        if simulated or any(each.value and (each.kind, each.owner) not in estimated for each in drives):
            self.torque = moving.inverse_dynamics
            self.torque_back = self.torque.pullback("q", "v", "a")
        self.falling = np.isfinite(bounds.no_load_speed)
        limited = np.isfinite(bounds.speed).any() or self.falling.any()
        if limited and system.actuator_names != system.velocity_names:
            self.speed = dynamics.function(
                "actuator_rates", lambda e, q, v: {"rate": e.drive_rates(q, v)}, inertial=False
            )
            self.speed_back = self.speed.pullback("q", "v")
        if system.reaches:
            values: np.ndarray = np.array(list(system.reach_sizes(system.start.tolist())))
            self.half = 0.5 * (values[:, 2] - values[:, 1])  # half the range of every leg's length, at home
            self.margins = dynamics.function("margins", lambda e, q: _margins(system, q), inertial=False)
            self.margins_back = self.margins.pullback("q")
        self.simulated = simulated
        self.margin = bounds.margin if bounds.margin is None or simulated else bounds.margin.near
        poses = {name: dynamics.pose(name) for name in bounds.workspace}
        self.frames = {name: (pose, pose.jacobian("q")) for name, pose in poses.items()}

    def __call__(self, motion: QVA) -> Iterator[Load]:
        q, v, a = motion
        b, zero = self.bounds, np.zeros_like(q)
        middle, half = 0.5 * (b.lower + b.upper), 0.5 * (b.upper - b.lower)
        for sign in (1.0, -1.0):
            yield "position", sign * (q - middle) / half, _scaled(lambda w: (w, zero, zero), sign / half)
            yield "velocity", sign * v / b.velocity, _scaled(lambda w: (zero, w, zero), sign / b.velocity)
            yield "acceleration", sign * a / b.acceleration, _scaled(lambda w: (zero, zero, w), sign / b.acceleration)
            with np.errstate(invalid="ignore"):
                yield from self._torques(q, v, a, sign)
                yield from self._speeds(q, v, sign)
        if self.margins is not None:
            clear = b.clearance * np.tile(self.half, 2)
            scale = 1.0 / (np.tile(self.half, 2) - clear)
            load = 1.0 - (np.asarray(self.margins(q)) - clear) * scale
            yield "reach", load, _scaled(lambda w: (self.margins_back(q, w), zero, zero), -scale)
        for name in self.frames:
            yield from self._frame_positions(name, q)
        if self.margin is not None:
            yield self._distances(self.margin, q)

    def _distances(self, margin: Margin, q: np.ndarray) -> Load:
        load = 1.0 - margin.slack(q).T / DISTANCE_SCALE_M

        def pullback(w: np.ndarray) -> tuple:
            J = margin.slack_gradient(q)
            rows: Any = np.einsum("tk,kt,tkj->tj", w, envelope(load)[1], J)
            return rows / -DISTANCE_SCALE_M, np.zeros_like(q), np.zeros_like(q)

        return "margin", (load.max(axis=0) if self.simulated else envelope(load)[0])[:, None], pullback

    def _torques(self, q, v, a, sign: float) -> Iterator[Load]:
        limited = np.isfinite(self.bounds.torque)
        if limited.any():
            scale = np.where(limited, sign / np.where(limited, self.bounds.torque, 1.0), 0.0)
            if self.torque is None:
                tau = np.asarray(self.regressor(q, v, a)) @ self.beta
                pullback = _scaled(lambda w: self.torque_back(q, v, a, w[..., None] * self.beta), scale)
            else:
                tau = self.torque(q, v, a)
                pullback = _scaled(lambda w: self.torque_back(q, v, a, w), scale)
            load = tau * scale
            if self.falling.any():
                rate = v if self.speed is None else np.asarray(self.speed(q, v))
                share = sign / self.bounds.no_load_speed * (sign * rate > 0.0)  # of the speed in the load
                load, pullback = load + share * rate, self._with_speed(pullback, q, v, share)
            yield "torque", np.nan_to_num(load, nan=INFEASIBLE_LOAD), pullback

    def _with_speed(self, pullback: Pullback, q, v, share: np.ndarray) -> Pullback:
        """Return the pullback of a load to which `share` times the speed of the actuators is added."""

        def total(w):
            dq, dv, da = pullback(w)
            if self.speed is None:
                return dq, dv + w * share, da
            more_q, more_v = self.speed_back(q, v, w * share)
            return dq + more_q, dv + more_v, da

        return total

    def _speeds(self, q, v, sign: float) -> Iterator[Load]:
        if self.speed is not None:
            scale = sign / self.bounds.speed
            load = np.nan_to_num(np.asarray(self.speed(q, v)) * scale, nan=INFEASIBLE_LOAD)
            yield "speed", load, _scaled(lambda w: (*self.speed_back(q, v, w), np.zeros_like(q)), scale)

    def _frame_positions(self, name: str, q) -> Iterator[Load]:
        (pose, derivative), box, zero = self.frames[name], self.bounds.workspace[name], np.zeros_like(q)
        lower, upper = (np.asarray(corner, float) for corner in box)
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        position = (np.asarray(pose(q))[:, :3, 3] - middle) / half
        J = np.asarray(derivative(q))[:, :3, 3, :]
        for sign in (1.0, -1.0):
            pullback = _scaled(lambda w: (np.einsum("ti,tij->tj", w, J), zero, zero), sign / half)
            yield f"place of {name}", sign * position, pullback


def _scaled(pullback: Pullback, scale: np.ndarray) -> Pullback:
    """Return the pullback of a quantity multiplied by `scale`."""
    return lambda w: pullback(w * scale)


def _margins(mechanism: System, q):
    """Return the distances of every leg's length from its lower limit, then from its upper limit."""
    sizes = list(mechanism.reach_sizes(q))
    return {"margin": [size - least for size, least, _ in sizes] + [most - size for size, _, most in sizes]}
