"""A margin between collision shapes: the pairs that keep it, and what is left of it in a configuration.

Some shapes, such as those on both sides of a wrist, are always close to each other: 95 % of their distances in random
configurations are smaller than twice the margin. Pair i keeps the distance

    mᵢ = 0 if its shapes are always close, else margin                                                             (1)

Of the pairs that are always close, those that overlap in half of these configurations or more are left out: capsules
around meshes (`describe.covers`) may overlap where the meshes do not, which only a comparison of the meshes can decide.

Optimisation uses smooth distances (`Dynamics.distances`), which exceed those of the capsules by at most an amount that
is added to mᵢ: a pair that keeps mᵢ by the smooth distance keeps (1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot

import numpy as np

from appell.compile.function import Function
from appell.dynamics.distances import PairDistances, checked_pairs, robot_of, solid_pairs
from appell.dynamics.dynamics import Dynamics
from appell.errors import ArgumentError, check_number
from appell.formulate.distance.distances import Side
from appell.model.collision import IgnoredPair, Pair
from appell.model.system import System

SAMPLES = 1000  # random configurations
FAR_SHARE = 0.95  # of them, in which shapes that are always close are nearer than twice the margin
NEAR_M = 0.03  # beyond its margin, up to which a pair counts as near in the random configurations


@dataclass(frozen=True, eq=False)
class Margin:
    """Pairs of collision shapes, and the distance that each keeps; made by `margin_of`."""

    dyn: Dynamics
    size: float  # m, the margin
    pairs: tuple[Pair, ...]
    least: np.ndarray  # (pairs), m, by (1)
    smallest: np.ndarray  # (pairs), m, in the random configurations
    ignored: tuple[IgnoredPair, ...]
    smooth: float = 0.0  # of the distances

    @property
    def near(self) -> Margin:
        """The margin of the pairs that come near each other in random configurations, and of one pair at least."""
        keep = np.flatnonzero(self.smallest <= np.maximum(self.least + NEAR_M, self.smallest.min()))
        pairs = tuple(self.pairs[k] for k in keep)
        return replace(self, pairs=pairs, least=self.least[keep], smallest=self.smallest[keep])

    @cached_property
    def distances(self) -> Function:
        """Function of q: the distances of the pairs, m."""
        return self.dyn.distances(self.pairs, witnesses=False, gradient=False, smooth=self.smooth)

    @cached_property
    def _with_gradients(self) -> Function:
        return self.dyn.distances(self.pairs, witnesses=False, smooth=self.smooth)

    def slack(self, q: np.ndarray) -> np.ndarray:
        """Return dᵢ - mᵢ (..., pairs) in m."""
        return self.distances(q) - self.least

    def slack_gradient(self, q: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., pairs, nv) of the slack along v."""
        return np.asarray(self._with_gradients(q)[1])

    def check(self, q: np.ndarray, what: str, hint: str) -> None:
        """Raise an ArgumentError if one configuration q (nq) does not keep the margin."""
        slack = np.atleast_1d(self.slack(q))
        k = int(np.argmin(slack))
        if not slack[k] >= 0.0:
            text = f"{what}, {distance_text(self.pairs[k], float(slack[k] + self.least[k]))}."
            raise ArgumentError(text, expected=f"a distance of {self.least[k]:.3g} m", hint=hint)


def distance_text(pair: Pair, distance: float) -> str:
    """Return a clause on the distance of a pair in m."""
    one, other = pair
    if distance < 0.0:
        return f"collision shapes '{one}' and '{other}' overlap by {-distance:.3g} m"
    return f"collision shapes '{one}' and '{other}' are {distance:.3g} m apart"


def has_pairs(system: System) -> bool:
    """Return whether a system has pairs of collision shapes to check."""
    return system.tree is not None and bool(system.tree.collisions) and bool(system.tree.collision_pairs.pairs)


def margin_of(
    system: System | Dynamics,
    margin: float,
    pairs: Iterable[Pair] | None = None,
    *,
    samples: int = SAMPLES,
    smooth: float = 0.0,
) -> Margin:
    """Return the pairs of a robot that keep a margin, by (1).

    Parameters
    ----------
    system : System or Dynamics
        Robot with collision shapes.
    margin : float
        In m, 0 or more.
    pairs : iterable of (str, str), optional
        Names of shapes or links; by default those of `robot.collision_pairs`.
    samples : int
        Number of random configurations.
    smooth : float
        As in `Dynamics.distances`; 0 for exact distances.

    Raises
    ------
    ArgumentError
        If the robot has no such pairs, all of them are left out, or the margin is negative.
    """
    check_number("margin, in m,", margin, least=0.0)
    dyn = system if isinstance(system, Dynamics) else Dynamics(system)
    tree, rng = robot_of(dyn), np.random.default_rng(0)
    chosen = checked_pairs(tree, pairs)
    q = np.array([dyn.system.start, *(dyn.system.random_configuration(rng) for _ in range(samples))])
    distance = PairDistances(dyn, chosen, smooth)(q)
    is_close = np.quantile(distance, FAR_SHARE, axis=0) <= 2.0 * margin
    shares = (distance <= 0.0).mean(axis=0)
    left_out = is_close & (shares >= 0.5)
    keep = np.flatnonzero(~left_out)
    ignored = tuple(
        IgnoredPair(*chosen[k], f"overlap in {shares[k]:.0%} of {len(q)} configurations")
        for k in np.flatnonzero(left_out)
    )
    if not len(keep):
        raise ArgumentError(
            f"all {len(chosen)} pairs of collision shapes of {tree.owner} overlap in half of {len(q)} configurations "
            "or more.",
            hint="Correct the collision shapes, or pass margin=None.",
        )
    kept, smallest = tuple(chosen[k] for k in keep), distance.min(axis=0)
    least = np.where(is_close[keep], 0.0, float(margin))
    if smooth:
        least = least + [_excess(*pair, smooth) for pair in solid_pairs(tree, kept, smooth)]
    return Margin(dyn, float(margin), kept, least, smallest[keep], ignored, smooth)


def _excess(one: Side, other: Side, smooth: float) -> float:
    """Return by how much the smooth distance of two sets of solids may exceed that of their capsules, in m."""
    pairs = [(a, b) for a in one.solids for b in other.solids if "plane" not in (a.core, b.core)]
    return max((smooth * hypot(a.size[0], b.size[0], a.radius + b.radius) for a, b in pairs), default=0.0)
