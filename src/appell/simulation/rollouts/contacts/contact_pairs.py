"""Contact points of a rollout over abstract scalars: points with walls, and shapes with each other.

For a point and a wall with the gap φ,

    d = φ / |∇φ|          n = ∇φ / |∇φ|                                                                      (1)

as in `simulate`. Where φ has no gradient, as in the centre of a round wall, no wall is near; n is then the x axis and
d is φ. Two shapes have the contact points of `formulate.distance.manifold`. A contact that does not exist at a time has
the distance ABSENT_DISTANCE_M.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, is_number, select
from appell.algebra.vector import UNITS, Vec3
from appell.compile.tape.tape import Tape
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.dynamics.distances import CORES
from appell.errors import ArgumentError
from appell.formulate.distance.distances import joint_lines, relative_row
from appell.formulate.distance.manifold import ABSENT_DISTANCE_M, contact_points, point_count
from appell.formulate.equations import Equations
from appell.formulate.kinematics import contact_axes, wall_motion, world_poses
from appell.formulate.recursion import link_transforms
from appell.model.frame import Frame
from appell.simulation.contact.contact import ALWAYS, Contacts, Spans, shape_pairs
from appell.simulation.contact.shapes import ContactShape

MIN_GRADIENT_SQUARED = 1e-24  # of |∇φ|²: a smaller gradient does not define a normal
ZERO_HESSIAN = (Vec3(0.0, 0.0, 0.0),) * 3


@dataclass(frozen=True)
class ContactState:
    """A contact point at a state: distance in m, its axes (normal and tangents), velocity and Jacobian (3, nv).

    Vectors are in world axes for a point and a wall, and in the axes of the contact for shapes.
    """

    distance: Scalar
    axes: tuple[Vec3, Vec3, Vec3]
    velocity: Vec3
    J: Matrix

    @property
    def rows(self) -> list[list[Scalar]]:
        """Jacobian rows of the velocity along the normal and both tangents."""
        columns = [Vec3.of(column) for column in zip(*self.J, strict=True)]
        return [[axis.dot(column) for column in columns] for axis in self.axes]


class ContactPairs:
    """The contact points of a rollout, and its joint stops.

    `restitution`, `friction`, `spans` and `names` have one entry per contact point: those of points and walls, then
    those of shapes.
    """

    def __init__(self, dyn: Dynamics, contacts: Any = None, stops: float | Mapping[str, float] | None = None):
        self.contacts = compiled = Contacts(dyn, () if contacts is None else contacts, stops)
        self.pairs = compiled.pairs.pairs
        self.shapes = [(pair, k) for pair, k in shape_pairs(dyn, compiled.contacts).items()]
        of_walls, first_stop = slice(len(self.pairs)), len(self.pairs)
        self.stop_restitution: list[float] = compiled.restitution.tolist()[
            first_stop : first_stop + len(compiled.stops)
        ]
        self.restitution: list[float] = compiled.restitution.tolist()[of_walls]
        self.friction: list[float] = compiled.friction.tolist()[of_walls]
        self.spans: list[Spans] = compiled.spans[of_walls]
        points = compiled.names[of_walls]
        names = [  # the name of a point with several walls is followed by the number of the wall
            name if points.count(name) == 1 else f"{name}_{wall + 1}"
            for name, (_, wall) in zip(points, self.pairs, strict=True)
        ]
        for (one, other), k in self.shapes:
            contact, count = compiled.contacts[k], _checked_count(one, other)
            self.restitution += [float(contact.restitution)] * count
            self.friction += [float(contact.friction)] * count
            self.spans += [contact.during or ALWAYS] * count
            names += [f"{one.name} {other.name}{f' {j + 1}' if count > 1 else ''}" for j in range(count)]
        self.names = tuple(names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def frames(self) -> list[tuple[Frame, ...]]:
        """For each contact point, the frame of its point, or those of the shapes that move."""
        frames: list[tuple[Frame, ...]] = [(self.contacts.frames[p],) for p, _ in self.pairs]
        for pair, _ in self.shapes:
            moving = [Frame(shape.name, shape.body, shape.solid.pose) for shape in pair if shape.body is not None]
            frames += [tuple(moving)] * point_count(*(shape.solid.core for shape in pair))
        return frames

    @property
    def timed(self) -> bool:
        """Whether contacts appear or disappear."""
        return any(spans != ALWAYS for spans in self.spans)

    @cached_property
    def _tapes(self) -> list[tuple[Tape, Tape, Tape] | None]:
        return [surface and surface.derivatives() for surface in self.contacts.pairs.surfaces]

    def at(self, equations: Equations, q: Vector, v: Vector, t: Scalar | None = None) -> list[ContactState]:
        """Return all contact points at a state; `t` is required if contacts appear or disappear."""
        if self.timed and t is None:
            raise ArgumentError("a wall exists at some times only, and the time is not given.", hint="Pass t.")
        states = self._at_walls(equations, q, v) + self._at_shapes(equations, q, v)
        return [
            state if spans == ALWAYS else replace(state, distance=_present(t, spans, state.distance))
            for state, spans in zip(states, self.spans, strict=True)
        ]

    def _at_walls(self, equations: Equations, q: Vector, v: Vector) -> list[ContactState]:
        points = equations.point_motions(self.contacts.frames, q, v) if self.pairs else []
        states = []
        for p, w in self.pairs:
            tapes = self._tapes[w]
            assert tapes is not None
            gap, gradient = (inline(tape, points[p].position)[0] for tape in tapes[:2])
            g = Vec3.of(gradient)
            normal = Vec3(select(g.dot(g) - MIN_GRADIENT_SQUARED, g.x, 1.0), g.y, g.z)
            wall = wall_motion(gap, normal, ZERO_HESSIAN, points[p].velocity)
            states.append(ContactState(wall.gap / wall.slope, wall.frame, points[p].velocity, points[p].J))
        return states

    def _at_shapes(self, equations: Equations, q: Vector, v: Vector) -> list[ContactState]:
        if not self.shapes:
            return []
        tree, w = equations.bodies.tree, equations.map.velocity(q, v)  # type: ignore[union-attr]
        poses = world_poses(tree, link_transforms(tree, q))
        lines, states = joint_lines(tree, poses), []
        shapes = {shape for pair, _ in self.shapes for shape in pair}
        solids = {shape: replace(shape.solid, pose=poses[shape.body] @ shape.solid.pose) for shape in shapes}
        for (one, other), _ in self.shapes:
            for distance, normal, point in contact_points(solids[one], solids[other]):
                bodies, axes = (one.body, other.body), contact_axes(normal)
                rows = [relative_row(tree, lines, bodies, axis, point) for axis in axes]
                velocity = Vec3.of(dot(row, w) for row in rows)
                J = rows if equations.map.is_identity else equations.map.pull_back(q, rows)
                states.append(ContactState(distance, UNITS, velocity, J))
        return states


def _checked_count(one: ContactShape, other: ContactShape) -> int:
    """Return the number of contact points of two shapes; raise `ArgumentError` if they have none."""
    if not (count := point_count(one.solid.core, other.solid.core)):
        kinds = [{core: kind for kind, core in CORES.items()}.get(x.solid.core, x.solid.core) for x in (one, other)]
        raise ArgumentError(
            f"'{one.name}' and '{other.name}' cannot touch in rollouts: there are no contact points for {kinds[0]} and "
            f"{kinds[1]}.",
            expected="spheres, capsules and boxes against each other; these and cylinders against planes",
            hint="Leave the pair out, or use simulate.",
        )
    return count


def _present(t: Scalar, spans: Sequence[tuple[float, float]], distance: Scalar) -> Scalar:
    """Return the distance of a contact that exists for low ≤ t < high of each span."""
    timed: Scalar = ABSENT_DISTANCE_M
    for low, high in spans:
        within = distance if math.isinf(high) else select(high - t, distance, timed)
        timed = within if math.isinf(low) else select(low - t, timed, within)
    return timed


def is_zero(row: Vector) -> bool:
    """Return whether a row is zero at all states."""
    return all(is_number(x) and x == 0.0 for x in row)
