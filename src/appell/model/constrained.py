"""A constrained robot: a tree whose loops are closed, whose wheels roll, whose velocities keep rows K(q) w + b = 0.

    q    the coordinates of the tree                v    f independent velocities, so that w = N(q) v + n(q)
    tau  forces at the actuated joints              w    the velocities of the tree, all of them

Which velocities are independent, and what N is, the formulas know: a `Manifold` is made of the tree and its
constraints when the robot is made, and asked whenever coordinates move. To everybody else this is a system like any
other: it has a Gibbs function S(q, v, a) and as many accelerations as freedoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.scalar import is_number
from appell.errors import ArgumentError, ModelError
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.closing import closed
from appell.model.constraint import Constraint, check_constraints
from appell.model.frame import Frame
from appell.model.manifold import Chosen, Manifold, manifold
from appell.model.robot import Robot
from appell.model.system import Rng, System, generator

NEARBY = 0.3  # rad or m about the start, where random configurations are looked for
TRIES = 50


@closed.register(Robot)
def constrained(
    tree: Robot,
    constraints: Iterable[Constraint],
    actuated: Iterable[str] | Mapping[str, float] | None = None,
    independent: Chosen = None,
    home: Iterable[float] | None = None,
) -> ConstrainedRobot:
    """The tree under constraints: checked, closed and counted."""
    rows = tuple(constraints)
    check_constraints(tree, rows)
    weights = _weights(tree, actuated)
    if home is not None:
        tree = replace(tree, home=tuple(tree.sized("home", home, tree.nq).tolist()))
    preferred = tuple(weights) if actuated is not None else ()
    chosen = independent if isinstance(independent, Constraint | None) else _names("independent", independent)
    found, q = manifold(tree, rows, chosen, preferred, tree.start)
    return ConstrainedRobot(tree, rows, weights, tuple(q.tolist()), found, chosen, actuated is not None)


def _weights(tree: Robot, actuated: Iterable[str] | Mapping[str, float] | None) -> dict[str, float]:
    """The velocities of the tree that carry a motor, and what a unit of force weighs there."""
    if actuated is None:
        return dict.fromkeys(tree.velocity_names, 1.0)
    weights = dict(actuated) if isinstance(actuated, Mapping) else dict.fromkeys(_names("actuated", actuated), 1.0)
    for name, weight in weights.items():
        tree.find("velocity", name, dict.fromkeys(tree.velocity_names))
        if not (is_number(weight) and np.isfinite(weight) and weight > 0.0):
            raise ModelError(f"actuator '{name}' of {tree.owner} has weight {weight!r}.", expected="a positive number")
    if not weights:
        raise ModelError(f"{tree.owner} is to have no actuator.", expected="names of joints, or None for all of them")
    return weights


def _names(what: str, given: Any) -> tuple[str, ...]:
    """Names of velocities, or an error that says what was given."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if (not names and given != ()) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{what} is {given!r}.", expected="names of velocities of the tree, or None")
    return names


def refuse_unconstrained(system: System, what: str) -> None:
    """Raise unless a system has constraints, of which `what` tells."""
    if not isinstance(system, ConstrainedRobot):
        raise ModelError(
            f"{what} is for constrained robots; {system.owner} has no constraints.", hint="robot.with_loops(...)"
        )


@dataclass(frozen=True, repr=False)
class ConstrainedRobot(System):
    """A tree with loops, rolling wheels or other rows on its velocities; made by `robot.with_loops(...)`."""

    kind: ClassVar[str] = "constrained robot"
    tree: Robot
    constraints: tuple[Constraint, ...]
    weights: dict[str, float]  # of the actuated velocities of the tree
    home: tuple[float, ...]
    manifold: Manifold = field(compare=False)
    chosen: Chosen = None  # what was asked to be independent
    motors: bool = False  # whether it was said which joints are actuated

    def __str__(self) -> str:
        rows = f"{len(self.row_names)} rows of rank {self.rank}"
        return f"{self.name} ({len(self.tree.links)} links, nq={self.nq}, nv={self.nv}, {rows})"

    def __repr__(self) -> str:
        return f"<ConstrainedRobot {self}>"

    # ---- rows

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return tuple(constraint.name for constraint in self.constraints)

    @property
    def row_names(self) -> tuple[str, ...]:
        """constraint.label of every row, in the order of multipliers."""
        return self.manifold.row_names

    @property
    def rank(self) -> int:
        return self.manifold.rank

    @property
    def idle_rows(self) -> tuple[str, ...]:
        """Rows that others imply: they carry no force."""
        return tuple(self.row_names[k] for k in self.manifold.implied)

    @property
    def prescribed(self) -> tuple[str, ...]:
        return tuple(name for constraint in self.constraints for name in constraint.motions)

    # ---- what every system has

    name = property(lambda self: self.tree.name)
    gravity = property(lambda self: self.tree.gravity)
    frames = property(lambda self: self.tree.frames)
    free = property(lambda self: self.tree.free)
    description = property(lambda self: self.tree.description)
    reference = property(lambda self: self.tree.reference)
    source = property(lambda self: self.tree.source)
    physical = property(lambda self: self.tree.physical)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.tree.coordinate_names

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return self.manifold.names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        return tuple(self.weights)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return self.tree.coordinate_units

    @property
    def velocity_units(self) -> tuple[str, ...]:
        return self.manifold.units

    @property
    def actuator_units(self) -> tuple[str, ...]:
        return tuple(self.tree.velocity_units[k] for k in self.actuated)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(self.tree.actuators[k] for k in self.actuated)

    @property
    def actuated(self) -> tuple[int, ...]:
        """The velocities of the tree that carry a motor."""
        return tuple(self.tree.velocity_names.index(name) for name in self.weights)

    @property
    def drives(self) -> dict[str, Actuator]:
        return self.tree.drives

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.tree.joint_names

    @property
    def bodies(self) -> dict[str, Body | None]:
        return self.tree.bodies

    def lacking(self) -> tuple[str, ...]:
        return self.tree.lacking()

    @property
    def sizes(self) -> dict[str, int]:
        """With w, a velocity of the tree, and forces along all of its velocities."""
        return super().sizes | {"w": self.tree.nv, "force": self.tree.nv}

    @property
    def is_flat(self) -> bool:
        return False

    @property
    def quaternions(self) -> tuple[slice, ...]:
        return self.tree.quaternions

    def rate(self, q, v):
        return self.tree.rate(q, self.manifold.tree_velocity(self.tree, q, v))

    # ---- configurations

    @property
    def start(self) -> np.ndarray:
        return np.array(self.home)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return self.tree.ranges

    def assembled(self, q) -> np.ndarray:
        """The configuration near q in which all loops are closed."""
        return self.manifold.assembled(self.tree, self.sized("q", q, self.nq))

    def integrate(self, q, step) -> np.ndarray:
        """Along the tangent, then back onto the manifold."""
        q, step = self.sized("q", q, self.nq), self.sized("step", step, self.nv)
        batch = np.broadcast_shapes(q.shape[:-1], step.shape[:-1])
        found = np.empty((*batch, self.nq))
        starts, steps = np.broadcast_to(q, found.shape), np.broadcast_to(step, (*batch, self.nv))
        for at in np.ndindex(batch):
            here = starts[at]
            w = self.manifold.tree_velocity(self.tree, here.tolist(), steps[at].tolist())
            found[at] = self.assembled(self.tree.integrate(here, np.array(w, float)))
        return found

    def difference(self, q0, q1) -> np.ndarray:
        return self.tree.difference(q0, q1)[..., list(self.manifold.positions)]

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """One about the start in which all loops are closed."""
        rng, limits = generator(rng), self.limits
        for k in range(TRIES):
            spread = NEARBY * 0.9**k
            try:
                q = self.assembled(self.tree.integrate(self.start, spread * rng.uniform(-1.0, 1.0, self.tree.nv)))
            except ModelError:
                continue
            if not within_limits or limits.contain(q):
                return q
        raise ModelError(
            f"{self.owner} can be assembled nowhere about its start within its limits.",
            hint="another home, or within_limits=False",
        )

    # ---- variations

    def with_loops(self, *constraints: Constraint) -> Self:
        """With more constraints."""
        return self._again(self.tree, (*self.constraints, *constraints))

    with_loop = with_rolling = with_loops

    def with_free(self, *names: str) -> Self:
        return replace(self, tree=self.tree.with_free(*names))

    def with_frames(self, frames: Iterable[Frame]) -> Self:
        return replace(self, tree=self.tree.with_frames(frames))

    def with_gravity(self, gravity: Iterable[float]) -> Self:
        return replace(self, tree=self.tree.with_gravity(gravity))

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        return replace(self, tree=self.tree.with_bodies(bodies))

    def with_actuators(self, change: Mapping[str, Actuator] | Callable[[str, Actuator], Actuator]) -> Self:
        return replace(self, tree=self.tree.with_actuators(change))

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Held joints become frames; the loops stay closed, with fewer freedoms."""
        held = joints if isinstance(joints, Mapping) else self._here((joints,) if isinstance(joints, str) else joints)
        return self._again(replace(self.tree, home=self.home).locked(held), self.constraints)

    def _here(self, joints: Iterable[str]) -> dict[str, Any]:
        """Where these joints stand at home."""
        return {name: self.home[self.tree.span(self.tree.joint(name))[0]] for name in joints}

    def _again(self, tree: Robot, constraints: Iterable[Constraint]) -> Self:
        """The same on another tree or with other constraints, as far as what was asked for is still there."""
        left = {name: weight for name, weight in self.weights.items() if name in tree.velocity_names}
        chosen = self.chosen
        if not isinstance(chosen, Constraint | None):
            chosen = tuple(name for name in chosen if name in tree.velocity_names)
        home = self.home if len(self.home) == tree.nq else None
        return constrained(tree, constraints, left if self.motors else None, chosen, home)  # type: ignore[return-value]
