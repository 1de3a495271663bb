"""Contacts as springs: walls and stops that push back by how deep something is in them, and never pull.

    fₙ = max(0, -k d - c uₙ) where d < 0, else 0            a wall's push at a point, a stop's at a joint         (1)
    f_t = -g u_t / √(1 + (g |u_t| / μ fₙ)²),  g = 2√(k m')       Coulomb's friction, rounded off at rest          (2)
    k = m g₀ / depth          c = 2ζ √(k m')                                                                     (3)

One point alone would sink by `depth` into its wall under the weight of the whole robot, m g₀, g₀ = 9.81 m/s². m' is the
effective mass at the point (`EffectiveMasses`). ζ belongs to the contact's restitution (`restitution`): a mass m' keeps
it, a larger one keeps more; restitutions below exp(-2) are taken as that. A stop is (1) and (3) with the effective
inertia at its joint for both masses. Dry friction of joints is (2) with F(θ̇) for μ fₙ.

What is approximate: points are inside their walls by about depth, or by u/ω after an impact at speed u, ω = √(k/m'). A
point that should stick creeps, at about f_t/g. Everything is stiff: a step of an explicit method must be well below
2/`fastest`; a tenth of that resolves impacts. Forces add up over points, no sweeps are needed, and gradients exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import brentq

from appell.algebra.scalar import Scalar, Vector, dot, positive, select, sqrt
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations, Wrenches
from appell.model.frame import Frame
from appell.simulation.contact.contact import Contact
from appell.simulation.options import SpringContacts
from appell.simulation.rollouts.contacts.impulse_laws import TINY
from appell.simulation.rollouts.contacts.point_wall import PointWall, PointWallPairs

STANDARD_GRAVITY = 9.81  # m/s²
LEAST = math.exp(-2.0)  # the restitution at critical damping
SAMPLES = 8
STILL = 1e-9  # of the largest


class Penalty:
    """Contacts, stops and dry friction of a system's catalogue, as forces along its coordinates.

    `contacts` and `stops` are those of `simulate`; dry friction counts if `dyn` counts friction. The
    `stiffness` of the model takes the place of (3)'s for walls.
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
        model: SpringContacts = SpringContacts(),  # noqa: B008 - frozen
    ):
        self.walls = PointWallPairs(dyn, contacts, stops)
        known, softness = self.walls.known, STANDARD_GRAVITY / model.depth
        masses = EffectiveMasses(dyn, known.frames, [stop.velocity for stop in known.stops])
        self.points = [masses.points[p] for p, _ in self.walls.pairs]
        self.joints = [mass / stop.scale**2 for mass, stop in zip(masses.velocities, known.stops, strict=True)]
        self.drives = masses.drives
        self.softness = softness
        self.stiffness = dyn.system.mass * softness if model.stiffness is None else float(model.stiffness)
        ratios = [damping_ratio(e) for e in known.restitution]
        self.ratios, self.stop_ratios = ratios[: len(self.points)], ratios[len(self.points) :]

    @property
    def fastest(self) -> float:
        """ω of the stiffest contact, rad/s."""
        of_points = [(self.stiffness / mass) ** 0.5 for mass in self.points]
        return max([*of_points, *(self.softness**0.5 for _ in self.joints)], default=0.0)

    def directions(self, equations: Equations) -> list[float]:
        """What accelerations take for the directions of dry drives: none, as their friction is among these forces."""
        return [0.0] * len(equations.dry_drives)

    def acceleration(
        self,
        equations: Equations,
        q: Vector,
        v: Vector,
        tau: Vector,
        wrenches: Wrenches,
        t: Scalar | None = None,
    ) -> list[Scalar]:
        """a(q, v, τ) with these forces."""
        acting = equations.net(q, tau, equations.passive(q, v, self.directions(equations)))
        pushes = self.forces(equations, q, v, t)
        return equations.forward(q, v, [x + y for x, y in zip(acting, pushes, strict=True)], wrenches)

    def forces(self, equations: Equations, q: Vector, v: Vector, t: Scalar | None = None) -> list[Scalar]:
        """Along the coordinates; `t` is needed if walls come and go."""
        total: list[Scalar] = [0.0] * len(v)
        if self.points:
            for k, pair in enumerate(self.walls.at(equations, q, v, t)):
                force = self._push(k, pair)
                total = [
                    x + Vec3.of(column).dot(force)
                    for x, column in zip(total, zip(*pair.point.J, strict=True), strict=True)
                ]
        for stop, inertia, ratio in zip(self.walls.known.stops, self.joints, self.stop_ratios, strict=True):
            row = stop.row(len(v))
            spring, damper = inertia * self.softness, 2.0 * ratio * inertia * self.softness**0.5
            push = _pressed(stop.gap(q), dot(row, v), spring, damper)
            total = [x + y * push for x, y in zip(total, row, strict=True)]
        if equations.dry_drives:
            rubbed = equations.drives_along(q, self._dry(equations, q, v))
            total = [x + y for x, y in zip(total, rubbed, strict=True)]
        return total

    def _push(self, k: int, pair: PointWall) -> Vec3:
        """(1) and (2) at a point."""
        n, velocity, mu = pair.wall.normal, pair.point.velocity, self.walls.friction[k]
        speed, grip = n.dot(velocity), 2.0 * (self.stiffness * self.points[k]) ** 0.5
        normal = _pressed(pair.distance, speed, self.stiffness, self.ratios[k] * grip)
        if mu == 0.0:
            return normal * n
        across = velocity - speed * n
        return normal * n + _rubbed(across.dot(across), mu * normal, grip) * across

    def _dry(self, equations: Equations, q: Vector, v: Vector) -> list[Scalar]:
        """Of every drive."""
        found: list[Scalar] = [0.0] * len(equations.drives)
        rates = equations.drive_rates(q, v)
        for k in equations.dry_drives:
            grip = 2.0 * self.drives[k] * self.softness**0.5
            found[k] = (
                _rubbed(rates[k] * rates[k], equations.drives[k].actuator.friction.level(rates[k]), grip) * rates[k]
            )
        return found


def _pressed(distance: Scalar, speed: Scalar, k: float, c: float) -> Scalar:
    """(1)."""
    return select(-distance, positive(-k * distance - c * speed), 0.0)


def _rubbed(square: Scalar, bound: Scalar, grip: float) -> Scalar:
    """What velocities of this square are multiplied with in (2)."""
    return -grip * bound / sqrt(bound * bound + grip * grip * square + TINY)


def restitution(damping_ratio: float) -> float:
    """e of (2), for ζ from 0 to 1.

    How much of its speed a mass keeps that meets a spring with a damper.

        m ẍ = -(k x + c ẋ)          ζ = c / 2√(k m),  x(0) = 0, until it would pull: k x + c ẋ = 0                   (1)
        e = exp(-2ζ arccos ζ / √(1 - ζ²))                                                                            (2)

    With ζ = cos φ the motion is x ~ exp(-ζωt) sin(ωt sin φ), and (1) ends at ωt sin φ = 2φ, where ẋ = -ẋ(0) exp(-ζωt).
    At critical damping, ζ = 1, e is exp(-2); a damper that takes more would be stiffer than the spring.
    """
    if damping_ratio >= 1.0:
        return LEAST
    return math.exp(-2.0 * damping_ratio * math.acos(damping_ratio) / math.sqrt(1.0 - damping_ratio**2))


def damping_ratio(e: float) -> float:
    """ζ of a restitution; critical damping for all that are less than it has."""
    if e <= LEAST:
        return 1.0
    return float(brentq(lambda zeta: restitution(zeta) - e, 0.0, 1.0, xtol=1e-15)) if e < 1.0 else 0.0


class EffectiveMasses:
    """Masses at points, velocities and drives of a catalogue, kg or kg m².

    The effective mass where something touches: how hard a unit impulse makes it go, at a few configurations.

        1/m' = mean of  trace(J M⁻¹ Jᵀ) / rank        at a point,  (M⁻¹)ⱼⱼ at a velocity,  D M⁻¹ Dᵀ at a drive       (1)

    A point that moves in a plane has rank 2. The configurations are the system's start and random ones, always the
    same.
    """

    def __init__(self, dyn: Dynamics, frames: Sequence[Frame], velocities: Sequence[int]):
        equations, rng = dyn.equations, np.random.default_rng(0)
        found: list[tuple[list[float], list[float], list[float]]] = []
        for k in range(SAMPLES):
            q = dyn.system.random_configuration(rng, within_limits=True) if k else np.array(dyn.system.start)
            inverse = np.array(equations.inverse_mass_matrix(q.tolist()), float)
            motions = equations.point_motions(frames, q.tolist(), [0.0] * dyn.system.nv) if frames else []
            drives = np.array(equations.drive_jacobian(q.tolist()), float).reshape(-1, dyn.system.nv)
            found.append(
                (
                    [_softness(np.array(motion.J, float), inverse) for motion in motions],
                    [float(inverse[j, j]) for j in velocities],
                    [float(row @ inverse @ row) for row in drives],
                )
            )
        self.points, self.velocities, self.drives = (
            [1.0 / float(np.mean(each)) for each in zip(*kind, strict=True)] for kind in zip(*found, strict=True)
        )


def _softness(J: np.ndarray, inverse: np.ndarray) -> float:
    """trace / rank of (1)."""
    sizes = np.linalg.eigvalsh(J @ inverse @ J.T)
    return float(sizes.sum() / max(1, (sizes > STILL * sizes.max()).sum()))
