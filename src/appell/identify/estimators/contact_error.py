"""Output error for contacts: stiffness, damping and friction of walls, from a record of a robot that touches them.

The robot is known, its walls are those of `SpringContacts` in rollouts. As in `output_error`, short segments are
simulated from the measured torques, and their positions are compared with the record. The unknowns are

    log k       stiffness of the walls
    log ζ       damping ratio of every contact, which gives its restitution
    log μ       coefficient of friction of every contact that has one

Accelerations are compiled with these as inputs, and so are their derivatives, which are integrated with the motion.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from appell.algebra.scalar import exp
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, SimulationError
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.estimators.output_error import Segments, maximise
from appell.model.system import System
from appell.motion.record import Record
from appell.motion.titles import record_names
from appell.simulation.contact.contact import Contact
from appell.simulation.options import SpringContacts
from appell.simulation.rollouts.contacts.penalty import Penalty, damping_ratio, restitution

RESOLUTION = 20.0  # steps per radian of the stiffest contact; fewer do not resolve when it begins and ends
MIN_TOUCHING = 10  # samples at which a wall must be touched


class ContactParameter(NamedTuple):
    """An estimated parameter of a contact: name, unit, value and 95 % interval."""

    name: str
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ContactFit:
    """Result of `fit_contacts`: `contacts` and `model` are passed to `rollout` as they are."""

    contacts: tuple[Contact, ...]
    model: SpringContacts
    parameters: tuple[ContactParameter, ...]
    delay: float  # by which the torques are late, s
    position_errors: np.ndarray  # root mean square of measured minus simulated positions, rad or m


@limit_blas_threads
def fit_contacts(
    robot: System,
    record: Record,
    contacts: Contact | Iterable[Contact],
    *,
    model: SpringContacts = SpringContacts(),  # noqa: B008 - frozen
    segment: float = 0.3,
    delay: bool = False,
    iterations: int = 30,
) -> ContactFit:
    """Estimate stiffness, damping and friction of walls from a record with contacts.

    Parameters
    ----------
    robot : Robot or Mechanism
        The robot, with as many actuators as coordinates. Its friction must be smooth.
    record : Record
        Columns q and tau, and v if it was measured, at even steps. Positions should not be filtered.
    contacts : Contact or iterable of Contact
        The walls; their restitution and friction are the start. A friction of 0 is not estimated.
    model : SpringContacts
        Its stiffness is the start.
    segment : length of the simulated segments in s
    delay : whether to estimate the time by which the torques are late
    iterations : largest number of Levenberg-Marquardt steps

    Returns
    -------
    ContactFit

    Raises
    ------
    ArgumentError
        If a wall is not touched in the record, or the robot cannot be simulated from its torques.
    SimulationError
        If the motion of the first estimate diverges.
    """
    if not robot.is_flat or robot.nu != robot.nv:
        raise ArgumentError(
            f"{robot.owner} has {robot.nq} coordinates, {robot.nv} velocities and {robot.nu} actuators.",
            expected="equal numbers of each, to simulate the robot from its torques",
        )
    walls = tuple(contacts) if isinstance(contacts, Iterable) else (contacts,)
    if others := [wall for wall in walls if not isinstance(wall, Contact)]:
        raise ArgumentError(f"contacts contains {others[0]!r}.", expected="Contact(points, surface, ...)")
    names = record_names(robot)
    q, tau = record.block("q", names["q"]), record.block("tau", names["tau"])
    v = record.block("v", names["v"]) if "v" in record else np.gradient(q, record.t, axis=0)
    equations = _ContactMotions(robot, walls, model, q)
    segments = Segments(equations, q, v, tau, record.t, segment)
    segments.choose_substeps(RESOLUTION * equations.penalty.max_frequency)
    x = np.append(equations.start, 0.0)
    if not np.isfinite(segments.residuals(x, segments.states)).all():
        raise SimulationError(
            "the motion that the described contacts give diverges.",
            hint="Pass a model with a smaller stiffness, or shorten the segments.",
        )
    maximum = maximise(segments, x, segments.states, delay, iterations)
    std = np.sqrt(np.diag(maximum.normal.covariance(maximum.residuals, np.zeros(()))))[:-1]
    half = float(norm.ppf(0.975)) * std
    values = np.exp(maximum.x[:-1])
    rows = zip(equations.names, values, np.exp(maximum.x[:-1] - half), np.exp(maximum.x[:-1] + half), strict=True)
    estimated = dict(zip([name for name, _ in equations.names], values.tolist(), strict=True))
    fitted = [
        replace(
            wall,
            restitution=restitution(estimated[f"damping ratio {k}"]),
            friction=estimated.get(f"friction {k}", wall.friction),
        )
        for k, wall in enumerate(walls)
    ]
    return ContactFit(
        tuple(fitted),
        replace(model, stiffness=estimated["stiffness"]),
        tuple(ContactParameter(*name, float(x), float(low), float(high)) for name, x, low, high in rows),
        float(maximum.x[-1]),
        np.sqrt(np.mean(maximum.residuals**2, axis=(0, 1))),
    )


class _ContactMotions:
    """Accelerations as a function of the contact parameters; a call gives them for certain parameters."""

    def __init__(self, robot: System, walls: tuple[Contact, ...], model: SpringContacts, q: np.ndarray):
        dyn = Dynamics(robot, friction=True, rotors=True)
        self.penalty = penalty = Penalty(dyn, walls, None, model)
        of_pair = [int(penalty.walls.contacts.wall[k]) for k in range(len(penalty.points))]
        _check_touching(penalty, of_pair, walls, q)
        rough = [k for k, wall in enumerate(walls) if wall.friction > 0.0]
        self.names = [("stiffness", "N/m"), *((f"damping ratio {k}", "") for k in range(len(walls)))]
        self.names += [(f"friction {k}", "") for k in rough]
        ratios = [damping_ratio(wall.restitution) for wall in walls]
        if undamped := [k for k, ratio in enumerate(ratios) if ratio == 0.0]:
            ratios = [0.01 if k in undamped else ratio for k, ratio in enumerate(ratios)]
        self.start = np.log([penalty.stiffness, *ratios, *(walls[k].friction for k in rough)])

        def body(q, v, tau, contact):
            estimated = copy(penalty)
            values = [exp(x) for x in contact]
            estimated.stiffness = values[0]
            estimated.ratios = [values[1 + k] for k in of_pair]
            estimated.walls = copy(penalty.walls)
            estimated.walls.friction = [values[1 + len(walls) + rough.index(k)] if k in rough else 0.0 for k in of_pair]
            return {"a": estimated.acceleration(dyn.equations, list(q), list(v), list(tau), {})}

        inputs = {"q": robot.nq, "v": robot.nv, "tau": robot.nu, "contact": len(self.start)}
        self.acceleration = Function.of("contact_acceleration", inputs, body, "Accelerations.", robot.owner)

    def __call__(self, contact: np.ndarray) -> _ContactMotion:
        return _ContactMotion(self.acceleration, contact)


@dataclass(frozen=True, eq=False)
class _ContactMotion:
    acceleration: Function
    contact: np.ndarray

    def slope(self, X: np.ndarray, tau: np.ndarray, tau_rate: np.ndarray) -> np.ndarray:
        """Return the derivative by time of the state and of its derivatives, as `ParameterMotion.slope` does."""
        n = X.shape[-2] // 2
        q, v, count = X[..., :n, 0], X[..., n:, 0], len(self.contact)
        below = self.acceleration(q, v, tau, self.contact)[..., None]
        if X.shape[-1] > 1:
            by_q, by_v, by_tau, by_contact = self.acceleration.jacobian("q", "v", "tau", "contact")(
                q, v, tau, self.contact
            )
            change = by_q @ X[..., :n, 1:] + by_v @ X[..., n:, 1:]
            change[..., :count] += by_contact
            change[..., count] += (by_tau @ tau_rate[..., None])[..., 0]
            below = np.concatenate([below, change], axis=-1)
        return np.concatenate([X[..., n:, :], below], axis=-2)


def _check_touching(penalty: Penalty, of_pair: list[int], walls: tuple[Contact, ...], q: np.ndarray) -> None:
    gaps = np.asarray(penalty.walls.contacts.gaps(q)).reshape(len(q), -1)[:, : len(of_pair)]
    for k, wall in enumerate(walls):
        touching = (gaps[:, [i for i, each in enumerate(of_pair) if each == k]] < 0.0).any(axis=1).sum()
        if touching < MIN_TOUCHING:
            raise ArgumentError(
                f"wall {k} ({type(wall.surface).__name__}) is touched in {touching} of {len(q)} samples.",
                expected=f"at least {MIN_TOUCHING}, to estimate its parameters",
                hint="Check the position of the wall, and the points that touch it.",
            )
