"""The map of a tree under constraints: the motions w = N v + n that its rows allow.

The rows K of the constraints that carry forces and the rows U of the independent velocities make a square matrix E,
block triangular in an order that is known beforehand:

    E w = (-b, v)          w = N v + n            K N = 0,  U N = 1                                              (1)
    E a = (-γ, v̇ - δ)      a = N v̇ + ν            γ = dK/dt w + db/dt,  δ = dU/dt w                              (2)
    Eᵀ(λ, ·) = M a + h - Q                        the multipliers of the motion                                 (3)

Where v are velocities of the tree itself, the rows of U are unit vectors, δ = 0, and (1) is what remains of K. Motions
that are prescribed and planes that turn have b ≠ 0: n is the velocity that they impose while v = 0.

Which rows carry forces and which velocities are independent (`partition`) is decided once, from samples: the start and
a few configurations about it, all of which satisfy the constraints. For positions, the rows that tie velocities only
are left out.
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
from appell.formulate.constrained.assembling import assembled
from appell.formulate.constrained.partition import Partition, partition
from appell.formulate.constrained.rows import rows
from appell.formulate.tree import Tree
from appell.model.constraint import Constraint
from appell.model.robot import Robot

SAMPLES = 4  # configurations beside the start
SPREAD = 0.3  # rad or m about the start
TRIES = 20
CONTRADICTION = 1e-7  # of the size of its terms: what is left of an implied row that its neighbours do not keep


@dataclass(frozen=True)
class Basis:
    """The motions that rows allow at one configuration.

    `held` are the rows that carry forces, `moved` those of the velocities v; `moved` is empty where v are velocities of
    the tree.
    """

    held: Sequence[Row]
    moved: Sequence[Row]
    partition: Partition
    size: int  # of w

    @cached_property
    def E(self) -> BlockTriangular:
        units = [[float(i == k) for i in range(self.size)] for k in self.partition.independent]
        rows = [row.jacobian for row in self.held] + (units or [row.jacobian for row in self.moved])
        return BlockTriangular(rows, self.partition.blocks)

    @property
    def freedoms(self) -> int:
        return self.size - len(self.held)

    @cached_property
    def N(self) -> Matrix:
        """(1), a row for every velocity of the tree."""
        f, still = self.freedoms, [0.0] * len(self.held)
        columns = [self.E.solve([*still, *(float(i == k) for i in range(f))]) for k in range(f)]
        return [[column[i] for column in columns] for i in range(self.size)]

    def velocity(self, v: Vector) -> list[Scalar]:
        """w, by (1)."""
        return self.E.solve([*(-row.offset for row in self.held), *v])

    @cached_property
    def drift(self) -> list[Scalar]:
        """ν, by (2), if the rows were made at w."""
        shifted = [-row.drift for row in self.moved] or [0.0] * self.freedoms
        return self.E.solve([*(-row.drift for row in self.held), *shifted])

    def acceleration(self, gains: Vector) -> list[Scalar]:
        """a, by (2)."""
        return [x + y for x, y in zip(self.along(gains), self.drift, strict=True)]

    def along(self, v: Vector) -> list[Scalar]:
        """N v."""
        return self.E.solve([*([0.0] * len(self.held)), *v])

    def across(self, forces: Vector) -> list[Scalar]:
        """Nᵀ Q, for forces along the velocities of the tree."""
        return self.E.solve_transposed(forces)[len(self.held) :]

    def multipliers(self, forces: Vector) -> list[Scalar]:
        """λ, by (3), of forces that M a + h - Q leaves to the rows."""
        return self.E.solve_transposed(forces)[: len(self.held)]

    def independent(self, w: Vector) -> list[Scalar]:
        """v = U w."""
        if not self.moved:
            return [w[k] for k in self.partition.independent]
        return [dot(row.jacobian, w) for row in self.moved]


@final
@dataclass(frozen=True)
class ConstraintMap:
    """The map of one tree and its constraints; with `prescribed`, while motions are prescribed (`driven`)."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    velocities: tuple[Constraint, ...]  # whose rows are the independent velocities; none where those are of the tree
    names: tuple[str, ...]  # of the independent velocities
    units: tuple[str, ...]
    partition: Partition
    placing: Partition  # of rows on positions
    holonomic: tuple[int, ...]  # rows on positions
    labels: tuple[tuple[str, str], ...]  # constraint and label of every row
    prescribed: Vector = ()
    differentiate: Differentiate | None = None  # how rows are differentiated along a motion, for dN/dt

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def driven(self, prescribed: Vector, differentiate: Differentiate | None = None) -> ConstraintMap:
        """The same while motions are prescribed; it remembers the configurations for which it was asked last."""
        return replace(self, prescribed=prescribed, differentiate=differentiate)

    def on(self, robot: Robot) -> ConstraintMap:
        """The same map of a tree that differs in its bodies, drives, gravity or frames only."""
        return replace(self, robot=robot)

    # ---- facts

    @property
    def is_identity(self) -> bool:
        return False

    @property
    def rank(self) -> int:
        return self.partition.rank

    @property
    def implied(self) -> tuple[int, ...]:
        """Rows that others imply: they carry no force."""
        return self.partition.implied

    @property
    def positions(self) -> tuple[int, ...]:
        return self.placing.independent

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{constraint}.{label}" for constraint, label in self.labels)

    def span(self, name: str) -> slice:
        """The rows of a constraint."""
        own = [k for k, (constraint, _) in enumerate(self.labels) if constraint == name]
        return slice(own[0], own[-1] + 1)

    @cached_property
    def _tree(self) -> Tree:
        return Tree.of(self.robot)

    @cached_property
    def _rest(self) -> list[Scalar]:
        return [0.0] * self.robot.nv

    # ---- rows

    def all_rows(self, q: Vector, w: Vector | None = None) -> list[Row]:
        """All rows; with drifts, at w."""
        return rows(self._tree, self.constraints, q, self._rest if w is None else w, self.prescribed)

    def held(self, q: Vector, w: Vector | None = None) -> list[Row]:
        """The rows that carry forces."""
        found = self.all_rows(q, w)
        return [found[k] for k in self.partition.kept]

    def spread(self, carried: Sequence[Scalar]) -> list[Scalar]:
        """Numbers for all rows from those of rows that carry forces, 0 for others."""
        found: list[Scalar] = [0.0] * len(self.labels)
        for k, x in zip(self.partition.kept, carried, strict=True):
            found[k] = x
        return found

    def gap(self, q: Vector) -> list[Scalar]:
        """φ of all rows on positions."""
        return [row.gap for row in self.all_rows(q) if row.gap is not None]

    def row_jacobian(self, q: Vector) -> Matrix:
        """K of all rows."""
        return [row.jacobian for row in self.all_rows(q)]

    def row_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """K w + b of all rows."""
        return [dot(row.jacobian, w) + row.offset for row in self.all_rows(q)]

    def witness(self, q: Vector) -> list[Scalar]:
        """Of every row that carries a force, 1 / |A⁻¹| of its block over |A| at the samples: 0 where it is singular."""
        found: list[Scalar] = [0.0] * self.rank
        for block, inverse in zip(self.partition.blocks, self.at(q).E.inverses, strict=True):
            size = sqrt(sum((x * x for row in inverse for x in row), start=0.0))
            for row in block.rows:
                if row < self.rank:
                    found[row] = 1.0 / (block.size * size)
        return found

    # ---- velocities

    @cached_property
    def _remembered(self) -> dict[str, list]:
        """The last bases and velocities, by the very objects for which they were computed."""
        return {"basis": [], "velocity": []}

    def _recall(self, kind: str, one: Vector, other: Vector, make: Callable[[], Any]) -> Any:
        for known, known_other, value in self._remembered[kind]:
            if known is one and known_other is other:
                return value
        value = make()
        self._remembered[kind] = [(one, other, value), *self._remembered[kind][:1]]
        return value

    def at(self, q: Vector, w: Vector | None = None) -> Basis:
        """The basis at q; with drifts, at w."""
        w = self._rest if w is None else w

        def make() -> Basis:
            moved = rows(self._tree, self.velocities, q, w) if self.velocities else []
            return Basis(self.held(q, w), moved, self.partition, self.robot.nv)

        return self._recall("basis", q, w, make)

    def velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        return self._recall("velocity", q, v, lambda: self.at(q).velocity(v))

    def acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.at(q, self.velocity(q, v)).acceleration(a)

    def independent(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.at(q).independent(w)

    def basis(self, q: Vector) -> Matrix:
        return self.at(q).N

    def basis_rate(self, q: Vector, v: Vector) -> Matrix:
        """dN/dt along the motion, from E dN/dt = -dE/dt N."""
        basis, w, still = self.at(q), self.velocity(q, v), self.driven(())

        def entries(at: Vector) -> Matrix:
            there = still.at(at)
            return [list(row.jacobian) for row in (*there.held, *there.moved)]

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
        """Nᵀ M N, its upper half taken from the lower."""
        columns = [list(column) for column in zip(*self.basis(q), strict=True)]
        moved = [[dot(row, column) for row in matrix] for column in columns]
        f = len(columns)
        lower = [[dot(columns[i], moved[k]) for k in range(i + 1)] for i in range(f)]
        return [[lower[max(i, k)][min(i, k)] for k in range(f)] for i in range(f)]

    def coriolis(self, q: Vector, v: Vector, mass_matrix: Callable, coriolis: Callable) -> Matrix:
        w, N = self.velocity(q, v), self.basis(q)
        M, C, Ndot = mass_matrix(q), coriolis(q, w), self.basis_rate(q, v)
        moved = list(zip(zip(*Ndot, strict=True), zip(*N, strict=True), strict=True))
        inner = [[dot(m, x) + dot(c, y) for x, y in moved] for m, c in zip(M, C, strict=True)]
        return [[dot(x, y) for y in zip(*inner, strict=True)] for x in zip(*N, strict=True)]

    # ---- configurations

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.robot.rate(q, self.velocity(q, v))

    def _placed(self, q: Vector) -> Basis:
        """The basis of the rows on positions alone."""
        found = self.all_rows(q)
        return Basis([found[self.holonomic[k]] for k in self.placing.kept], [], self.placing, self.robot.nv)

    def tangents(self, q: Vector) -> Matrix:
        """The columns of dq in which loops stay closed, rolling or not."""
        moved = [self.robot.rate(q, column) for column in zip(*self._placed(q).N, strict=True)]
        return [list(row) for row in zip(*moved, strict=True)]

    def closed(self, q: Vector) -> list[Scalar]:
        """Of joints of one axis: those that are independent stay, the others close the loops."""
        basis = self._placed(q)
        gaps = [-row.gap for row in basis.held if row.gap is not None]
        step = basis.E.solve([*gaps, *([0.0] * basis.freedoms)])
        return [x + change for x, change in zip(q, self.robot.rate(q, step), strict=True)]

    def assembled(self, q: np.ndarray) -> np.ndarray:
        """The configuration near q that satisfies the constraints, or a ModelError."""
        return assembled(self.robot, self.constraints, q, prescribed=self.prescribed)

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Along N step, then back to the constraints, with every prescribed motion where it is at q."""
        still = self.driven(self._motions_at(q.tolist()))
        return still.assembled(self.robot.integrate(q, np.array(still.at(q.tolist()).along(step.tolist()), float)))

    def _motions_at(self, q: Vector) -> list[Scalar]:
        """(s, 0, 0) of every prescribed motion, as q has it; 0 for those that prescribe a velocity only."""
        motions = {(constraint.name, label) for constraint in self.constraints for label in constraint.motions}
        found: list[Scalar] = []
        for row in self.driven(()).all_rows(q) if motions else ():
            if (row.constraint, row.label) in motions:
                found += [0.0 if row.gap is None else row.gap, 0.0, 0.0]
        return found


def find_map(
    tree: Robot, constraints: Sequence[Constraint], independent: Any, preferred: Sequence[str], start: np.ndarray
) -> tuple[ConstraintMap, np.ndarray]:
    """The map of a tree under constraints, and the start with all loops closed."""
    home = assembled(tree, constraints, start)
    samples = _samples(tree, constraints, home)
    made = [rows(Tree.of(tree), constraints, q.tolist(), [0.0] * tree.nv) for q in samples]
    K = np.array([[row.jacobian for row in sample] for sample in made], float).reshape(len(made), -1, tree.nv)
    holonomic = tuple(k for k, row in enumerate(made[0]) if row.gap is not None)
    depth = _depths(tree)
    velocities = {name: k for k, name in enumerate(tree.velocity_names)}
    wanted, quasi, others = _asked(tree, independent, samples)
    labels = tuple((row.constraint, row.label) for row in made[0])
    owners, liked = [owner for owner, _ in labels], [velocities[name] for name in preferred]
    split = partition(K, depth, owners, independent=wanted, preferred=liked, quasi=quasi)
    free = split.independent if split else ()
    placing = partition(K[:, list(holonomic)], depth, [owners[k] for k in holonomic], preferred=free)
    if split is None or placing is None or sum(len(block.rows) for block in split.blocks) != tree.nv:
        raise _impossible(tree, independent, K)
    _check_consistent(tree, constraints, samples, split, labels)
    if others is None:
        names = tuple(tree.velocity_names[k] for k in split.independent)
        units = tuple(tree.velocity_units[k] for k in split.independent)
    else:
        names, units = others.row_labels, others.row_units
    own = () if others is None else (others,)
    return ConstraintMap(tree, tuple(constraints), own, names, units, split, placing, holonomic, labels), home


def _samples(tree: Robot, constraints: Sequence[Constraint], home: np.ndarray) -> list[np.ndarray]:
    """The start and configurations about it; fewer where loops hardly move."""
    rng, found = np.random.default_rng(0), [home]
    for k in range(TRIES):
        if len(found) > SAMPLES:
            break
        step = SPREAD * 0.8**k * rng.uniform(-1.0, 1.0, tree.nv)
        try:
            found.append(assembled(tree, constraints, tree.integrate(home, step)))
        except ModelError:
            continue
    return found


def _depths(tree: Robot) -> list[int]:
    """How many links lie between a velocity and the root."""
    depth: dict[str | None, int] = {None: 0}
    for link in tree.links:
        depth[link.name] = depth[link.parent] + 1
    return [depth[link.name] for link in tree.moving for _ in range(link.joint.motion.nv)]


def _asked(
    tree: Robot, independent: Any, samples: Sequence[np.ndarray]
) -> tuple[list[int], np.ndarray | None, Constraint | None]:
    """What somebody wants to be independent: velocities of the tree, or rows of others at the samples."""
    if isinstance(independent, Constraint):
        U = [[row.jacobian for row in rows(Tree.of(tree), [independent], q.tolist(), [0.0] * tree.nv)] for q in samples]
        return [], np.array(U, float), independent
    known = {name: k for k, name in enumerate(tree.velocity_names)}
    return [tree.find("velocity", name, known) for name in independent or ()], None, None


def _impossible(tree: Robot, independent: Any, K: np.ndarray) -> ModelError:
    rank = int(np.linalg.matrix_rank(K[0]))
    asked = independent.row_labels if isinstance(independent, Constraint) else tuple(independent or ())
    return ModelError(
        f"{', '.join(asked)} cannot be the independent velocities of robot '{tree.name}': "
        f"its rows leave {tree.nv - rank} of {tree.nv} velocities free, and these do not determine the others.",
        expected=f"{tree.nv - rank} velocities that do",
        hint="independent=None, which finds some",
    )


def _check_consistent(
    tree: Robot,
    constraints: Sequence[Constraint],
    samples: Sequence[np.ndarray],
    split: Partition,
    labels: Sequence[tuple[str, str]],
) -> None:
    """An implied row must be kept by the motions that the others leave."""
    if not split.implied:
        return
    rng = np.random.default_rng(1)
    frame = Tree.of(tree)
    for q in samples:
        still = rows(frame, constraints, q.tolist(), [0.0] * tree.nv)
        K = np.array([row.jacobian for row in still], float).reshape(-1, tree.nv)
        b = np.array([row.offset for row in still], float)
        kept = list(split.kept)
        w = np.linalg.lstsq(K[kept], -b[kept], rcond=None)[0] if kept else np.zeros(tree.nv)
        free = rng.normal(size=tree.nv)
        w = w + free - (np.linalg.pinv(K[kept]) @ (K[kept] @ free) if kept else 0.0)
        moving = rows(frame, constraints, q.tolist(), w.tolist())
        gamma = np.array([row.drift for row in moving], float)
        a = -np.linalg.lstsq(K[kept], gamma[kept], rcond=None)[0] if kept else np.zeros(tree.nv)
        size = 1.0 + np.abs(K) @ np.abs(w), 1.0 + np.abs(K) @ np.abs(a) + np.abs(gamma)
        for left, scale, what in ((K @ w + b, size[0], "velocity"), (K @ a + gamma, size[1], "acceleration")):
            for k in split.implied:
                if abs(left[k]) > CONTRADICTION * scale[k]:
                    name, label = labels[k]
                    raise ModelError(
                        f"constraint '{name}' of robot '{tree.name}' contradicts others: its row '{label}' says "
                        f"nothing new about velocities, but is broken by {abs(left[k]):.3g} in {what}.",
                        expected="constraints that can be kept together",
                        hint=f"leave '{name}' out, or look at {_others(labels, split, name)}",
                    )


def _others(labels: Sequence[tuple[str, str]], split: Partition, name: str) -> str:
    others = dict.fromkeys(labels[k][0] for k in split.kept if labels[k][0] != name)
    return ", ".join(f"'{other}'" for other in others) or "its own rows"
