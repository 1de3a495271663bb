"""Contacts as springs and dampers: walls and stops push back in proportion to the penetration, and never pull.

    fₙ = max(0, -k d - c uₙ) where d < 0, else 0            force of a wall on a point, of a stop on a joint      (1)
    f_t = -g u_t / √(1 + (g |u_t| / μ fₙ)²),  g = 2√(k m')       Coulomb friction, smoothed near rest             (2)
    k = m g₀ / depth          c = 2ζ √(k m')                                                                     (3)

A single point would sink by `depth` into its wall under the weight m g₀ of the robot, g₀ = 9.81 m/s². m' is the
effective mass at the point (`EffectiveMasses`). ζ follows from the contact's restitution (`restitution`), which is
exact for a mass m' and larger for a larger mass; restitutions below exp(-2) count as exp(-2). A stop follows (1) and
(3) with the effective inertia at its joint for both masses. Dry friction of joints is (2) with F(θ̇) in place of μ fₙ.

Approximations: points penetrate their walls by about `depth`, or by u/ω after an impact at speed u, ω = √(k/m'). A
point that should stick creeps with about f_t/g. The equations are stiff: the step of an explicit method must be well
below 2/`max_frequency`; a tenth of that resolves impacts. Forces of points are summed, no sweeps are needed, and
gradients exist.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.algebra.scalar import Scalar, Vector, dot, maximum, select, sqrt
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations, Wrenches
from appell.model.frame import Frame
from appell.simulation.options import SpringContacts
from appell.simulation.rollouts.contacts.contact_pairs import ContactPairs, ContactState
from appell.simulation.rollouts.contacts.impulse_laws import MIN_DIVISOR

STANDARD_GRAVITY = 9.81  # m/s²
MIN_RESTITUTION = math.exp(-2.0)  # at critical damping
MASS_SAMPLES = 8  # configurations at which effective masses are averaged
RANK_TOLERANCE = 1e-9  # relative to the largest eigenvalue


class Penalty:
    """Contacts, stops and dry friction of a `Dynamics` as generalised forces.

    `contacts` and `stops` are those of `simulate`; dry friction is included if `dyn` has friction. For walls, the
    `stiffness` of the model replaces k of (3).
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Any = None,
        stops: float | Mapping[str, float] | None = None,
        model: SpringContacts = SpringContacts(),  # noqa: B008 - frozen
    ):
        self.walls = ContactPairs(dyn, contacts, stops)
        compiled, specific = self.walls.contacts, STANDARD_GRAVITY / model.depth
        masses = EffectiveMasses(dyn, self.walls.frames, [stop.velocity for stop in compiled.stops])
        self.points = masses.points
        self.joints = [mass / stop.scale**2 for mass, stop in zip(masses.velocities, compiled.stops, strict=True)]
        self.drives = masses.drives
        self.specific_stiffness = specific  # k / m of (3), 1/s²
        self.stiffness = dyn.system.mass * specific if model.stiffness is None else float(model.stiffness)
        self.ratios, self.stop_ratios = (
            [damping_ratio(e) for e in values] for values in (self.walls.restitution, self.walls.stop_restitution)
        )

    @property
    def max_frequency(self) -> float:
        """Angular frequency ω of the stiffest contact, rad/s."""
        of_points = [(self.stiffness / mass) ** 0.5 for mass in self.points]
        return max([*of_points, *(self.specific_stiffness**0.5 for _ in self.joints)], default=0.0)

    def directions(self, equations: Equations) -> list[float]:
        """Return zero directions of the dry drives for accelerations: their friction is among these forces."""
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
        """Return a(q, v, τ) with the forces of contacts, stops and dry friction."""
        acting = equations.net(q, tau, equations.passive(q, v, self.directions(equations)))
        pushes = self.forces(equations, q, v, t)
        return equations.forward(q, v, [x + y for x, y in zip(acting, pushes, strict=True)], wrenches)

    def forces(self, equations: Equations, q: Vector, v: Vector, t: Scalar | None = None) -> list[Scalar]:
        """Return the generalised forces; `t` is required if walls appear or disappear."""
        total: list[Scalar] = [0.0] * len(v)
        if len(self.walls):
            for k, pair in enumerate(self.walls.at(equations, q, v, t)):
                force = self._point_force(k, pair)
                total = [
                    x + Vec3.of(column).dot(force) for x, column in zip(total, zip(*pair.J, strict=True), strict=True)
                ]
        for stop, inertia, ratio in zip(self.walls.contacts.stops, self.joints, self.stop_ratios, strict=True):
            row = stop.row(len(v))
            spring, damper = inertia * self.specific_stiffness, 2.0 * ratio * inertia * self.specific_stiffness**0.5
            push = _normal_force(stop.gap(q), dot(row, v), spring, damper)
            total = [x + y * push for x, y in zip(total, row, strict=True)]
        if equations.dry_drives:
            friction = equations.drives_along(q, self._dry_friction(equations, q, v))
            total = [x + y for x, y in zip(total, friction, strict=True)]
        return total

    def _point_force(self, k: int, pair: ContactState) -> Vec3:
        """Return the force (1) and (2) on a point, in the axes of its state."""
        n, velocity, mu = pair.axes[0], pair.velocity, self.walls.friction[k]
        speed, grip = n.dot(velocity), 2.0 * (self.stiffness * self.points[k]) ** 0.5
        normal = _normal_force(pair.distance, speed, self.stiffness, self.ratios[k] * grip)
        if isinstance(mu, float) and mu == 0.0:  # an unknown friction is estimated
            return normal * n
        across = velocity - speed * n
        return normal * n + _friction_factor(across.dot(across), mu * normal, grip) * across

    def _dry_friction(self, equations: Equations, q: Vector, v: Vector) -> list[Scalar]:
        """Return the dry friction of every drive by (2)."""
        friction: list[Scalar] = [0.0] * len(equations.drives)
        rates = equations.drive_rates(q, v)
        for k in equations.dry_drives:
            grip = 2.0 * self.drives[k] * self.specific_stiffness**0.5
            level = equations.drives[k].actuator.friction.level
            friction[k] = _friction_factor(rates[k] * rates[k], level(rates[k]), grip) * rates[k]
        return friction


def _normal_force(distance: Scalar, speed: Scalar, k: float, c: float) -> Scalar:
    """Return fₙ of (1)."""
    return select(-distance, maximum(-k * distance - c * speed, 0.0), 0.0)


def _friction_factor(square: Scalar, bound: Scalar, grip: float) -> Scalar:
    """Return the factor of the velocity in (2), for its square, the bound μ fₙ and g."""
    return -grip * bound / sqrt(bound * bound + grip * grip * square + MIN_DIVISOR)


def restitution(damping_ratio: float) -> float:
    """Return the restitution e of a mass that meets a spring with a damper, for damping ratios ζ from 0 to 1.

        m ẍ = -(k x + c ẋ)          ζ = c / 2√(k m),  x(0) = 0, until the force vanishes: k x + c ẋ = 0              (1)
        e = exp(-2ζ arccos ζ / √(1 - ζ²))                                                                            (2)

    With ζ = cos φ the motion is x ~ exp(-ζωt) sin(ωt sin φ), and (1) ends at ωt sin φ = 2φ, where ẋ = -ẋ(0) exp(-ζωt).
    At critical damping, ζ = 1, e is exp(-2); a stronger damper would be stiffer than the spring.
    """
    if damping_ratio >= 1.0:
        return MIN_RESTITUTION
    return math.exp(-2.0 * damping_ratio * math.acos(damping_ratio) / math.sqrt(1.0 - damping_ratio**2))


def damping_ratio(e: float) -> float:
    """Return the damping ratio ζ of a restitution; 1 for restitutions below exp(-2)."""
    if e <= MIN_RESTITUTION:
        return 1.0
    return float(scipy.optimize.brentq(lambda zeta: restitution(zeta) - e, 0.0, 1.0, xtol=1e-15)) if e < 1.0 else 0.0


class EffectiveMasses:
    """Effective masses at points, velocities and drives of a `Dynamics`, kg or kg m².

    The inverse of an effective mass is the speed gained from a unit impulse, averaged over a few configurations:

        1/m' = mean of  trace(J M⁻¹ Jᵀ) / rank        at a point,  (M⁻¹)ⱼⱼ at a velocity,  D M⁻¹ Dᵀ at a drive       (1)

    A point that moves in a plane has rank 2. The configurations are the system's start and random ones with a fixed
    seed. `frames` holds one frame per point, or two, whose relative velocity has the Jacobian J.
    """

    def __init__(self, dyn: Dynamics, frames: Sequence[Sequence[Frame]], velocities: Sequence[int]):
        equations, rng = dyn.equations, np.random.default_rng(0)
        distinct = list({frame: None for point in frames for frame in point})
        samples: list[tuple[list[float], list[float], list[float]]] = []
        for k in range(MASS_SAMPLES):
            q = dyn.system.random_configuration(rng, within_limits=True) if k else np.array(dyn.system.start)
            inverse = np.array(equations.inverse_mass_matrix(q.tolist()), float)
            motions = equations.point_motions(distinct, q.tolist(), [0.0] * dyn.system.nv) if frames else []
            J = {frame: np.array(motion.J, float) for frame, motion in zip(distinct, motions, strict=True)}
            drives = np.array(equations.drive_jacobian(q.tolist()), float).reshape(-1, dyn.system.nv)
            samples.append(
                (
                    [_mobility(J[one] - sum((J[x] for x in others), start=0.0), inverse) for one, *others in frames],
                    [float(inverse[j, j]) for j in velocities],
                    [float(row @ inverse @ row) for row in drives],
                )
            )
        self.points, self.velocities, self.drives = (
            [1.0 / float(np.mean(each)) for each in zip(*kind, strict=True)] for kind in zip(*samples, strict=True)
        )


def _mobility(J: np.ndarray, inverse: np.ndarray) -> float:
    """Return trace / rank of (1)."""
    eigenvalues = np.linalg.eigvalsh(J @ inverse @ J.T)
    return float(eigenvalues.sum() / max(1, (eigenvalues > RANK_TOLERANCE * eigenvalues.max()).sum()))
