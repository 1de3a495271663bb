"""The motions of a tree under constraints: found once from samples, then asked for at any configuration.

Samples are the start and a few configurations about it, all with their loops closed. They tell which rows carry forces
and which velocities are independent (`partition`); for positions, the rows on velocities alone are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.scalar import Scalar, Vector, sqrt
from appell.errors import ModelError
from appell.formulate.constrained.assembling import assembled
from appell.formulate.constrained.basis import Basis, Matrix
from appell.formulate.constrained.partition import Partition, partition
from appell.formulate.constrained.row import Row
from appell.formulate.constrained.rows import rows
from appell.formulate.mechanism_equations import Differentiate
from appell.formulate.tree import Tree
from appell.model.constraint import Constraint
from appell.model.manifold import Chosen, Manifold, manifold
from appell.model.robot import Robot

SAMPLES = 4  # configurations beside the start
SPREAD = 0.3  # rad or m about the start
TRIES = 20
CONTRADICTION = 1e-7  # of the size of its terms: what is left of an implied row that its neighbours do not keep


@dataclass(frozen=True)
class TreeManifold(Manifold):
    """`velocities` are the rows of the independent velocities, none where they are velocities of the tree."""

    constraints: tuple[Constraint, ...]
    velocities: tuple[Constraint, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    partition: Partition
    placing: Partition  # of rows on positions
    holonomic: tuple[int, ...]  # rows on positions
    labels: tuple[tuple[str, str], ...]  # constraint and label of every row

    # ---- facts

    @property
    def rank(self) -> int:  # type: ignore[override]
        return self.partition.rank

    @property
    def implied(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.partition.implied

    @property
    def positions(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.placing.independent

    @property
    def row_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{constraint}.{label}" for constraint, label in self.labels)

    def span(self, name: str) -> slice:
        """Where a constraint's rows stand."""
        own = [k for k, (constraint, _) in enumerate(self.labels) if constraint == name]
        return slice(own[0], own[-1] + 1)

    def coordinate_of(self, tree: Robot, velocity: int) -> int | None:
        """The coordinate whose rate a velocity of the tree is; None for joints of several axes."""
        for link in tree.moving:
            q, v = tree.span(link.joint)
            if v.start == velocity and link.joint.motion.nv == 1:
                return q.start
        return None

    # ---- rows

    def all_rows(self, tree: Tree, q: Vector, w: Vector, prescribed: Vector = ()) -> list[Row]:
        return rows(tree, self.constraints, q, w, prescribed)

    def held(self, tree: Tree, q: Vector, w: Vector, prescribed: Vector = ()) -> list[Row]:
        """The rows that carry forces."""
        found = self.all_rows(tree, q, w, prescribed)
        return [found[k] for k in self.partition.kept]

    def spread(self, carried: Sequence[Scalar]) -> list[Scalar]:
        """Numbers for all rows from those of rows that carry forces, 0 for others."""
        found: list[Scalar] = [0.0] * len(self.labels)
        for k, x in zip(self.partition.kept, carried, strict=True):
            found[k] = x
        return found

    def basis(self, tree: Tree, q: Vector, w: Vector, prescribed: Vector = ()) -> Basis:
        moved = rows(tree, self.velocities, q, w) if self.velocities else []
        return Basis(self.held(tree, q, w, prescribed), moved, self.partition, tree.robot.nv)

    def position_basis(self, tree: Tree, q: Vector, prescribed: Vector = ()) -> Basis:
        """The same for rows on positions alone."""
        found = self.all_rows(tree, q, [0.0] * tree.robot.nv, prescribed)
        return Basis([found[self.holonomic[k]] for k in self.placing.kept], [], self.placing, tree.robot.nv)

    def row_change(self, tree: Tree, q: Vector, w: Vector, differentiate: Differentiate) -> Matrix:
        """The rate of the rows of E along the motion w, those of unit rows apart."""
        n = tree.robot.nv

        def entries(at: Vector) -> Matrix:
            basis = self.basis(tree, at, [0.0] * n)
            return [list(row.jacobian) for row in (*basis.held, *basis.moved)]

        return differentiate("rows", tree.robot.nq, entries).rate(q, tree.robot.rate(q, w))

    def witness(self, basis: Basis) -> list[Scalar]:
        """Of every row that carries a force, 1 / |A⁻¹| of its block over |A| at the samples: 0 where it is singular."""
        found: list[Scalar] = [0.0] * self.rank
        for block, inverse in zip(self.partition.blocks, basis.E.inverses, strict=True):
            size = sqrt(sum((x * x for row in inverse for x in row), start=0.0))
            for row in block.rows:
                if row < self.rank:
                    found[row] = 1.0 / (block.size * size)
        return found

    # ---- what a constrained robot asks

    def tree_velocity(self, tree: Robot, q: Vector, v: Vector) -> list[Scalar]:
        return self.basis(Tree.of(tree), q, [0.0] * tree.nv).velocity(v)

    def assembled(self, tree: Robot, q: np.ndarray) -> np.ndarray:
        return assembled(tree, self.constraints, q)


@manifold.register(Robot)
def found(
    tree: Robot, constraints: Sequence[Constraint], independent: Chosen, preferred: Sequence[str], start: np.ndarray
) -> tuple[Manifold, np.ndarray]:
    """The manifold of a robot's constraints, and the start with all loops closed."""
    home = assembled(tree, constraints, start)
    samples = _samples(tree, constraints, home)
    made = [rows(Tree.of(tree), constraints, q.tolist(), [0.0] * tree.nv) for q in samples]
    K = np.array([[row.jacobian for row in sample] for sample in made], float).reshape(len(made), -1, tree.nv)
    holonomic = tuple(k for k, row in enumerate(made[0]) if row.gap is not None)
    depth = _depths(tree)
    names = {name: k for k, name in enumerate(tree.velocity_names)}
    wanted, quasi, others = _asked(tree, independent, samples)
    labels = tuple((row.constraint, row.label) for row in made[0])
    owners, liked = [owner for owner, _ in labels], [names[name] for name in preferred]
    split = partition(K, depth, owners, independent=wanted, preferred=liked, quasi=quasi)
    free = split.independent if split else ()
    placing = partition(K[:, list(holonomic)], depth, [owners[k] for k in holonomic], preferred=free)
    if split is None or placing is None or sum(len(block.rows) for block in split.blocks) != tree.nv:
        raise _impossible(tree, independent, K)
    _check_consistent(tree, constraints, samples, split, labels)
    if others is None:
        own = [tree.velocity_names[k] for k in split.independent], [tree.velocity_units[k] for k in split.independent]
        return TreeManifold(
            tuple(constraints), (), tuple(own[0]), tuple(own[1]), split, placing, holonomic, labels
        ), home
    return TreeManifold(
        tuple(constraints), (others,), others.row_labels, others.row_units, split, placing, holonomic, labels
    ), home


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
    tree: Robot, independent: Chosen, samples: Sequence[np.ndarray]
) -> tuple[list[int], np.ndarray | None, Constraint | None]:
    """What somebody wants to be independent: velocities of the tree, or rows of others at the samples."""
    if isinstance(independent, Constraint):
        U = [[row.jacobian for row in rows(Tree.of(tree), [independent], q.tolist(), [0.0] * tree.nv)] for q in samples]
        return [], np.array(U, float), independent
    known = {name: k for k, name in enumerate(tree.velocity_names)}
    return [tree.find("velocity", name, known) for name in independent or ()], None, None


def _impossible(tree: Robot, independent: Chosen, K: np.ndarray) -> ModelError:
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
