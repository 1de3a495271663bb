"""Contacts as springs: walls and stops that push back by how deep something is in them, and never pull.

    fₙ = max(0, -k d - c uₙ) where d < 0, else 0            a wall's push at a point, a stop's at a joint         (1)
    f_t = -g u_t / √(1 + (g |u_t| / μ fₙ)²),  g = 2√(k m')       Coulomb's friction, rounded off at rest          (2)
    k = m g₀ / depth          c = 2ζ √(k m')                                                                     (3)

One point alone would sink by `depth` into its wall under the weight of the whole robot, m g₀, g₀ = 9.81 m/s². m' is the
mass that is felt at the point (`felt`). ζ belongs to the contact's restitution (`bounce`): a mass m' keeps it, a larger
one keeps more; restitutions below exp(-2) are taken as that. A stop is (1) and (3) with the inertia felt at its joint
for both masses. Dry friction of joints is (2) with F(θ̇) for μ fₙ.

What is approximate: points are inside their walls by about depth, or by u/ω after an impact at speed u, ω = √(k/m'). A
point that should stick creeps, at about f_t/g. Everything is stiff: a step of an explicit method must be well below
2/`fastest`; a tenth of that resolves impacts. Forces add up over points, no sweeps are needed, and gradients exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from appell.algebra.piecewise import positive
from appell.algebra.scalar import Scalar, Vector, dot, select, sqrt
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.errors import check_number
from appell.formulate.body_equations import Wrenches
from appell.formulate.equations import Equations
from appell.simulation.contact import Contact
from appell.simulation.rollouts.contacts.bounce import damping_ratio
from appell.simulation.rollouts.contacts.facing import Facing, Facings
from appell.simulation.rollouts.contacts.felt import Felt
from appell.simulation.rollouts.contacts.impulse_laws import TINY

STANDARD_GRAVITY = 9.81  # m/s²
DEPTH = 1e-3  # m


class Penalty:
    """Contacts, stops and dry friction of a system's catalogue, as forces along its coordinates.

    `contacts` and `stops` are those of `simulate`; dry friction counts if `dyn` counts friction. A `stiffness` in N/m
    takes the place of (3)'s for walls.
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
        *,
        depth: float = DEPTH,
        stiffness: float | None = None,
    ):
        check_number("the depth of a penalty", depth, least=0.0, above=True)
        if stiffness is not None:
            check_number("the stiffness of a penalty", stiffness, least=0.0, above=True)
        self.facings = Facings(dyn, contacts, stops)
        known, softness = self.facings.known, STANDARD_GRAVITY / depth
        felt = Felt(dyn, known.frames, [stop.velocity for stop in known.stops])
        self.points = [felt.points[p] for p, _ in self.facings.pairs]
        self.joints = [mass / stop.scale**2 for mass, stop in zip(felt.velocities, known.stops, strict=True)]
        self.drives = felt.drives
        self.softness = softness
        self.stiffness = dyn.system.mass * softness if stiffness is None else float(stiffness)
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
            for k, facing in enumerate(self.facings.at(equations, q, v, t)):
                force = self._push(k, facing)
                total = [
                    x + Vec3.of(column).dot(force)
                    for x, column in zip(total, zip(*facing.point.J, strict=True), strict=True)
                ]
        for stop, inertia, ratio in zip(self.facings.known.stops, self.joints, self.stop_ratios, strict=True):
            row = stop.row(len(v))
            spring, damper = inertia * self.softness, 2.0 * ratio * inertia * self.softness**0.5
            push = _pressed(stop.gap(q), dot(row, v), spring, damper)
            total = [x + y * push for x, y in zip(total, row, strict=True)]
        if equations.dry_drives:
            rubbed = equations.drives_along(q, self._dry(equations, q, v))
            total = [x + y for x, y in zip(total, rubbed, strict=True)]
        return total

    def _push(self, k: int, facing: Facing) -> Vec3:
        """(1) and (2) at a point."""
        n, velocity, mu = facing.wall.normal, facing.point.velocity, self.facings.friction[k]
        speed, grip = n.dot(velocity), 2.0 * (self.stiffness * self.points[k]) ** 0.5
        normal = _pressed(facing.distance, speed, self.stiffness, self.ratios[k] * grip)
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
