"""Velocity map of a tree under constraints: the motions w = N v + n that the rows of the constraints allow.

The active rows K of the constraints and the rows U of the independent velocities form a square matrix E, which is block
triangular in a precomputed order:

    E w = (-b, v)          w = N v + n            K N = 0,  U N = 1                                              (1)
    E a = (-γ, v̇ - δ)      a = N v̇ + ν            γ = dK/dt w + db/dt,  δ = dU/dt w                              (2)
    Eᵀ(λ, ·) = M a + h - Q                        the multipliers of the motion                                 (3)

Where v are velocities of the tree itself, the rows of U are unit vectors, δ = 0, and (1) reduces to the dependent
columns of K. Prescribed motions and turning planes have b ≠ 0: n is the velocity that they impose at v = 0.

The active rows and the independent velocities (`partition`) are determined once, from samples: the start and a few
configurations near it, all of which satisfy the constraints. A second partition, for positions, leaves out the rows
that restrict velocities only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, sqrt
from appell.algebra.solve import BlockTriangular
from appell.errors import ModelError
from appell.formulate.closed_form import Differentiate
from appell.formulate.constrained.action import Row
from appell.formulate.constrained.assembly import assembled
from appell.formulate.constrained.partition import Partition, partition
from appell.formulate.constrained.rows import rows
from appell.formulate.tree import Tree
from appell.model.constraint import Constraint
from appell.model.robot import Robot

SAMPLES = 4  # configurations in addition to the start
SAMPLE_RANGE = 0.3  # largest distance of a sample from the start, rad or m
MAX_SAMPLE_TRIES = 20
CONTRADICTION_TOLERANCE = 1e-7  # largest residual of a redundant row relative to its terms


@dataclass(frozen=True)
class Basis:
    """Motions that the rows allow at one configuration.

    `velocity_rows` are the rows U that define v; empty if v are velocities of the tree.
    """

    active_rows: Sequence[Row]
    velocity_rows: Sequence[Row]
    partition: Partition
    size: int  # of w

    @cached_property
    def E(self) -> BlockTriangular:
        units = [[float(i == k) for i in range(self.size)] for k in self.partition.independent]
        rows = [row.jacobian for row in self.active_rows] + (units or [row.jacobian for row in self.velocity_rows])
        return BlockTriangular(rows, self.partition.blocks)

    @property
    def freedoms(self) -> int:
        return self.size - len(self.active_rows)

    @cached_property
    def N(self) -> Matrix:
        """N of (1), with one row per velocity of the tree."""
        f, zeros = self.freedoms, [0.0] * len(self.active_rows)
        columns = [self.E.solve([*zeros, *(float(i == k) for i in range(f))]) for k in range(f)]
        return [[column[i] for column in columns] for i in range(self.size)]

    def velocity(self, v: Vector) -> list[Scalar]:
        """w, by (1)."""
        return self.E.solve([*(-row.offset for row in self.active_rows), *v])

    @cached_property
    def drift(self) -> list[Scalar]:
        """ν, by (2), if the rows were computed at w."""
        velocity_drift = [-row.drift for row in self.velocity_rows] or [0.0] * self.freedoms
        return self.E.solve([*(-row.drift for row in self.active_rows), *velocity_drift])

    def acceleration(self, v_rate: Vector) -> list[Scalar]:
        """a, by (2)."""
        return [x + y for x, y in zip(self.along(v_rate), self.drift, strict=True)]

    def along(self, v: Vector) -> list[Scalar]:
        """N v."""
        return self.E.solve([*([0.0] * len(self.active_rows)), *v])

    def across(self, forces: Vector) -> list[Scalar]:
        """Nᵀ Q for forces along the velocities of the tree."""
        return self.E.solve_transposed(forces)[len(self.active_rows) :]

    def multipliers(self, forces: Vector) -> list[Scalar]:
        """λ, by (3), for the forces M a + h - Q that the rows must supply."""
        return self.E.solve_transposed(forces)[: len(self.active_rows)]

    def independent(self, w: Vector) -> list[Scalar]:
        """v = U w."""
        if not self.velocity_rows:
            return [w[k] for k in self.partition.independent]
        return [dot(row.jacobian, w) for row in self.velocity_rows]


@final
@dataclass(frozen=True)
class ConstraintMap:
    """Velocity map of a tree and its constraints, for given prescribed motions (see `driven`)."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    velocities: tuple[Constraint, ...]  # its rows define the independent velocities; empty if these are of the tree
    names: tuple[str, ...]  # of the independent velocities
    units: tuple[str, ...]
    partition: Partition
    position_partition: Partition  # of the rows that restrict positions
    holonomic: tuple[int, ...]  # indices of the rows that restrict positions
    labels: tuple[tuple[str, str], ...]  # constraint and label of each row
    prescribed: Vector = ()
    differentiate: Differentiate | None = None  # differentiates rows along a motion, for dN/dt

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def driven(self, prescribed: Vector, differentiate: Differentiate | None = None) -> ConstraintMap:
        """Copy for prescribed motions, with its own cache of the last configurations."""
        return replace(self, prescribed=prescribed, differentiate=differentiate)

    def on(self, robot: Robot) -> ConstraintMap:
        """Copy for a tree that differs only in bodies, actuators, gravity or frames."""
        return replace(self, robot=robot)

    # ---- structure

    @property
    def is_identity(self) -> bool:
        return False

    @property
    def rank(self) -> int:
        return self.partition.rank

    @property
    def implied(self) -> tuple[int, ...]:
        """Indices of redundant rows, which carry no force."""
        return self.partition.implied

    @property
    def positions(self) -> tuple[int, ...]:
        return self.position_partition.independent

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{constraint}.{label}" for constraint, label in self.labels)

    def span(self, name: str) -> slice:
        """Slice of the rows of a constraint."""
        indices = [k for k, (constraint, _) in enumerate(self.labels) if constraint == name]
        return slice(indices[0], indices[-1] + 1)

    @cached_property
    def _tree(self) -> Tree:
        return Tree.of(self.robot)

    @cached_property
    def _rest(self) -> list[Scalar]:
        return [0.0] * self.robot.nv

    # ---- rows

    def all_rows(self, q: Vector, w: Vector | None = None) -> list[Row]:
        """All rows at q; their drifts are those at w."""
        return rows(self._tree, self.constraints, q, self._rest if w is None else w, self.prescribed)

    def active_rows(self, q: Vector, w: Vector | None = None) -> list[Row]:
        """The rows that carry forces."""
        all_rows = self.all_rows(q, w)
        return [all_rows[k] for k in self.partition.active]

    def to_all_rows(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Values of all rows from those of the active rows, 0 for redundant rows."""
        result: list[Scalar] = [0.0] * len(self.labels)
        for k, x in zip(self.partition.active, values, strict=True):
            result[k] = x
        return result

    def gap(self, q: Vector) -> list[Scalar]:
        """φ of all rows that restrict positions."""
        return [row.gap for row in self.all_rows(q) if row.gap is not None]

    def row_jacobian(self, q: Vector) -> Matrix:
        """K of all rows."""
        return [row.jacobian for row in self.all_rows(q)]

    def row_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """K w + b of all rows."""
        return [dot(row.jacobian, w) + row.offset for row in self.all_rows(q)]

    def witness(self, q: Vector) -> list[Scalar]:
        """For each active row, 1 / |A⁻¹| of its block divided by |A| at the samples: 0 where the block is singular."""
        result: list[Scalar] = [0.0] * self.rank
        for block, inverse in zip(self.partition.blocks, self.at(q).E.inverses, strict=True):
            size = sqrt(sum((x * x for row in inverse for x in row), start=0.0))
            for row in block.rows:
                if row < self.rank:
                    result[row] = 1.0 / (block.size * size)
        return result

    # ---- velocities

    @cached_property
    def _cache(self) -> dict[str, list]:
        """The last two bases and velocities, by the identity of the arguments for which they were computed."""
        return {"basis": [], "velocity": []}

    def _cached(self, kind: str, one: Vector, other: Vector, compute: Callable[[], Any]) -> Any:
        for known, known_other, value in self._cache[kind]:
            if known is one and known_other is other:
                return value
        value = compute()
        self._cache[kind] = [(one, other, value), *self._cache[kind][:1]]
        return value

    def at(self, q: Vector, w: Vector | None = None) -> Basis:
        """Basis at q; its drift is that at w."""
        w = self._rest if w is None else w

        def compute() -> Basis:
            velocity_rows = rows(self._tree, self.velocities, q, w) if self.velocities else []
            return Basis(self.active_rows(q, w), velocity_rows, self.partition, self.robot.nv)

        return self._cached("basis", q, w, compute)

    def velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        return self._cached("velocity", q, v, lambda: self.at(q).velocity(v))

    def acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.at(q, self.velocity(q, v)).acceleration(a)

    def independent(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.at(q).independent(w)

    def basis(self, q: Vector) -> Matrix:
        return self.at(q).N

    def basis_rate(self, q: Vector, v: Vector) -> Matrix:
        """dN/dt along the motion, from E dN/dt = -dE/dt N."""
        basis, w, at_rest = self.at(q), self.velocity(q, v), self.driven(())

        def entries(configuration: Vector) -> Matrix:
            other = at_rest.at(configuration)
            return [list(row.jacobian) for row in (*other.active_rows, *other.velocity_rows)]

        assert self.differentiate is not None
        rates = self.differentiate("rows", self.robot.nq, entries).rate(q, self.robot.rate(q, w))
        columns = []
        for column in zip(*basis.N, strict=True):
            change = [-dot(row, column) for row in rates]
            columns.append(basis.E.solve([*change, *[0.0] * (len(w) - len(change))]))
        return [list(row) for row in zip(*columns, strict=True)]

    # ---- forces and matrices

    def project(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.at(q).across(forces)

    def pull_back(self, q: Vector, rows: Matrix) -> Matrix:
        return [self.at(q).across(row) for row in rows]

    def congruent(self, q: Vector, matrix: Matrix) -> Matrix:
        """Nᵀ M N, with the upper half copied from the lower."""
        columns = [list(column) for column in zip(*self.basis(q), strict=True)]
        products = [[dot(row, column) for row in matrix] for column in columns]
        f = len(columns)
        lower = [[dot(columns[i], products[k]) for k in range(i + 1)] for i in range(f)]
        return [[lower[max(i, k)][min(i, k)] for k in range(f)] for i in range(f)]

    def coriolis(self, q: Vector, v: Vector, mass_matrix: Callable, coriolis: Callable) -> Matrix:
        w, N = self.velocity(q, v), self.basis(q)
        M, C, Ndot = mass_matrix(q), coriolis(q, w), self.basis_rate(q, v)
        columns = list(zip(zip(*Ndot, strict=True), zip(*N, strict=True), strict=True))
        inner = [[dot(m, x) + dot(c, y) for x, y in columns] for m, c in zip(M, C, strict=True)]
        return [[dot(x, y) for y in zip(*inner, strict=True)] for x in zip(*N, strict=True)]

    # ---- configurations

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.robot.rate(q, self.velocity(q, v))

    def _position_basis(self, q: Vector) -> Basis:
        """Basis for the rows that restrict positions only."""
        all_rows, partition = self.all_rows(q), self.position_partition
        return Basis([all_rows[self.holonomic[k]] for k in partition.active], [], partition, self.robot.nv)

    def tangents(self, q: Vector) -> Matrix:
        """Columns dq in which loops stay closed, whether or not wheels roll without slipping."""
        columns = [self.robot.rate(q, column) for column in zip(*self._position_basis(q).N, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def closed(self, q: Vector) -> list[Scalar]:
        """q after one Newton step that keeps the independent coordinates; for joints of one axis."""
        basis = self._position_basis(q)
        gaps = [-row.gap for row in basis.active_rows if row.gap is not None]
        step = basis.E.solve([*gaps, *([0.0] * basis.freedoms)])
        return [x + change for x, change in zip(q, self.robot.rate(q, step), strict=True)]

    def assembled(self, q: np.ndarray, hold: Sequence[str] = ()) -> np.ndarray:
        """Configuration near q that satisfies the constraints, with some joints held; raises a ModelError if none."""
        return assembled(self.robot, self.constraints, q, hold, self.prescribed)

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Move along N step, then back to the constraints, with prescribed motions fixed at their values at q."""
        at_rest = self.driven(self._motions_at(q.tolist()))
        moved = self.robot.integrate(q, np.array(at_rest.at(q.tolist()).along(step.tolist()), float))
        return at_rest.assembled(moved)

    def _motions_at(self, q: Vector) -> list[Scalar]:
        """(s, 0, 0) of every prescribed motion at q; s = 0 for those that prescribe a velocity only."""
        motions = {(constraint.name, label) for constraint in self.constraints for label in constraint.motions}
        values: list[Scalar] = []
        for row in self.driven(()).all_rows(q) if motions else ():
            if (row.constraint, row.label) in motions:
                values += [0.0 if row.gap is None else row.gap, 0.0, 0.0]
        return values


def find_map(
    tree: Robot, constraints: Sequence[Constraint], independent: Any, preferred: Sequence[str], start: np.ndarray
) -> tuple[ConstraintMap, np.ndarray]:
    """Create the map of a tree under constraints, and close all loops near `start`.

    See `model.system.constraint_map` for the parameters.
    """
    home = assembled(tree, constraints, start)
    samples = _samples(tree, constraints, home)
    sample_rows = [rows(Tree.of(tree), constraints, q.tolist(), [0.0] * tree.nv) for q in samples]
    K = np.array([[row.jacobian for row in sample] for sample in sample_rows], float).reshape(
        len(sample_rows), -1, tree.nv
    )
    holonomic = tuple(k for k, row in enumerate(sample_rows[0]) if row.gap is not None)
    depth = _depths(tree)
    velocities = {name: k for k, name in enumerate(tree.velocity_names)}
    requested, custom_rows, custom = _requested_velocities(tree, independent, samples)
    labels = tuple((row.constraint, row.label) for row in sample_rows[0])
    owners = [owner for owner, _ in labels]
    preferred_indices = [velocities[name] for name in preferred] + tree.modal_velocities
    split = partition(K, depth, owners, independent=requested, preferred=preferred_indices, custom_rows=custom_rows)
    free = split.independent if split else ()
    position_partition = partition(K[:, list(holonomic)], depth, [owners[k] for k in holonomic], preferred=free)
    if split is None or position_partition is None or sum(len(block.rows) for block in split.blocks) != tree.nv:
        raise _independence_error(tree, independent, K)
    _check_consistent(tree, constraints, samples, split, labels)
    if custom is None:
        names = tuple(tree.velocity_names[k] for k in split.independent)
        units = tuple(tree.velocity_units[k] for k in split.independent)
    else:
        names, units = custom.row_labels, custom.row_units
    velocity_map = ConstraintMap(
        tree,
        tuple(constraints),
        () if custom is None else (custom,),
        names,
        units,
        split,
        position_partition,
        holonomic,
        labels,
    )
    return velocity_map, home


def _samples(tree: Robot, constraints: Sequence[Constraint], home: np.ndarray) -> list[np.ndarray]:
    """The start and configurations near it; fewer if the loops can hardly move."""
    rng, samples = np.random.default_rng(0), [home]
    for k in range(MAX_SAMPLE_TRIES):
        if len(samples) > SAMPLES:
            break
        step = SAMPLE_RANGE * 0.8**k * rng.uniform(-1.0, 1.0, tree.nv) * tree.step_scales
        try:
            samples.append(assembled(tree, constraints, tree.integrate(home, step)))
        except ModelError:
            continue
    return samples


def _depths(tree: Robot) -> list[int]:
    """Depth of each velocity in the tree, 1 for a link on the world."""
    depth: dict[str | None, int] = {None: 0}
    for link in tree.links:
        depth[link.name] = depth[link.parent] + 1
    links = [
        level for link in tree.moving for level in [depth[link.name]] * link.joint.motion.nv + [0] * len(link.modes)
    ]
    return links + [0] * len(tree.elastic_joints)  # no row contains the motors of elastic joints


def _requested_velocities(
    tree: Robot, independent: Any, samples: Sequence[np.ndarray]
) -> tuple[list[int], np.ndarray | None, Constraint | None]:
    """Requested independent velocities: indices of velocities of the tree, or custom rows at the samples."""
    if isinstance(independent, Constraint):
        U = [[row.jacobian for row in rows(Tree.of(tree), [independent], q.tolist(), [0.0] * tree.nv)] for q in samples]
        return [], np.array(U, float), independent
    known = {name: k for k, name in enumerate(tree.velocity_names)}
    return [tree.find("velocity", name, known) for name in independent or ()], None, None


def _independence_error(tree: Robot, independent: Any, K: np.ndarray) -> ModelError:
    rank = int(np.linalg.matrix_rank(K[0]))
    requested = independent.row_labels if isinstance(independent, Constraint) else tuple(independent or ())
    return ModelError(
        f"{', '.join(requested)} cannot be the independent velocities of robot '{tree.name}': "
        f"its constraints leave {tree.nv - rank} of {tree.nv} velocities free, and these do not determine the others.",
        expected=f"{tree.nv - rank} velocities that determine all others",
        hint="Pass independent=None to choose them automatically.",
    )


def _check_consistent(
    tree: Robot,
    constraints: Sequence[Constraint],
    samples: Sequence[np.ndarray],
    split: Partition,
    labels: Sequence[tuple[str, str]],
) -> None:
    """Raise a ModelError if a redundant row is violated by motions that satisfy the active rows."""
    if not split.implied:
        return
    rng = np.random.default_rng(1)
    scalar_tree = Tree.of(tree)
    for q in samples:
        at_rest = rows(scalar_tree, constraints, q.tolist(), [0.0] * tree.nv)
        K = np.array([row.jacobian for row in at_rest], float).reshape(-1, tree.nv)
        b = np.array([row.offset for row in at_rest], float)
        active = list(split.active)
        w = np.linalg.lstsq(K[active], -b[active], rcond=None)[0] if active else np.zeros(tree.nv)
        free = rng.normal(size=tree.nv)
        w = w + free - (np.linalg.pinv(K[active]) @ (K[active] @ free) if active else 0.0)
        moving = rows(scalar_tree, constraints, q.tolist(), w.tolist())
        gamma = np.array([row.drift for row in moving], float)
        a = -np.linalg.lstsq(K[active], gamma[active], rcond=None)[0] if active else np.zeros(tree.nv)
        size = 1.0 + np.abs(K) @ np.abs(w), 1.0 + np.abs(K) @ np.abs(a) + np.abs(gamma)
        residuals = (K @ w + b, size[0], "velocity"), (K @ a + gamma, size[1], "acceleration")
        for residual, scale, quantity in residuals:
            for k in split.implied:
                if abs(residual[k]) > CONTRADICTION_TOLERANCE * scale[k]:
                    name, label = labels[k]
                    raise ModelError(
                        f"constraint '{name}' of robot '{tree.name}' contradicts others: its row '{label}' depends on "
                        f"theirs, but its {quantity} is {abs(residual[k]):.3g} instead of 0 if they are satisfied.",
                        expected="constraints that can be satisfied together",
                        hint=f"Remove '{name}', or check {_other_constraints(labels, split, name)}.",
                    )


def _other_constraints(labels: Sequence[tuple[str, str]], split: Partition, name: str) -> str:
    others = dict.fromkeys(labels[k][0] for k in split.active if labels[k][0] != name)
    return ", ".join(f"'{other}'" for other in others) or "its own rows"
