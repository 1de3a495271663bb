"""A tree under constraints, in its own velocities w: how it may move, and how it does.

Nothing here needs independent velocities to be good ones but `basis`: accelerations come from the multipliers
(`schur`), so that a linkage passes the positions in which some of its velocities stop being independent.
"""

from __future__ import annotations

from functools import cached_property

from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.solve import LDL
from appell.formulate.body_equations import Matrix, Wrenches
from appell.formulate.constrained.basis import Basis
from appell.formulate.constrained.manifold import TreeManifold
from appell.formulate.constrained.schur import Schur
from appell.formulate.mechanism_equations import Differentiate
from appell.formulate.regular import idle_joints
from appell.formulate.tree_equations import TreeEquations


class TreeMotion:
    """`prescribed` are the motions that are given, three numbers each."""

    def __init__(
        self, tree: TreeEquations, manifold: TreeManifold, differentiate: Differentiate, prescribed: Vector = ()
    ):
        self.tree, self.manifold = tree, manifold
        self.differentiate, self.prescribed = differentiate, prescribed
        self._zeros = [0.0] * tree.system.nv
        self._known: list[tuple[Vector, Vector, Basis]] = []  # by the very objects that were asked for

    # ---- how it may move

    def basis(self, q: Vector, w: Vector | None = None) -> Basis:
        """The basis at q; with drifts, at w."""
        w = self._zeros if w is None else w
        for known_q, known_w, basis in self._known:
            if known_q is q and known_w is w:
                return basis
        found = self.manifold.basis(self.tree.tree, q, w, self.prescribed)
        self._known = [(q, w, found), *self._known[:1]]
        return found

    def moving(self, q: Vector, v: Vector) -> tuple[list[Scalar], Basis]:
        """w = N v + n, and the basis there."""
        w = self.basis(q).velocity(v)
        return w, self.basis(q, w)

    def basis_rate(self, q: Vector, w: Vector) -> Matrix:
        """dN/dt along the motion, from E dN/dt = -dE/dt N."""
        basis, n = self.basis(q), len(w)
        rates = self.manifold.row_change(self.tree.tree, q, w, self.differentiate)
        columns = []
        for column in zip(*basis.N, strict=True):
            change = [-dot(row, column) for row in rates]
            columns.append(basis.E.solve([*change, *[0.0] * (n - len(change))]))
        return [list(row) for row in zip(*columns, strict=True)]

    def position_tangents(self, q: Vector) -> Matrix:
        """The columns of dq in which loops stay closed, rolling or not."""
        basis = self.manifold.position_basis(self.tree.tree, q, self.prescribed)
        moved = [self.tree.system.rate(q, column) for column in zip(*basis.N, strict=True)]
        return [list(row) for row in zip(*moved, strict=True)]

    def closing(self, q: Vector) -> list[Scalar]:
        """A step of Newton's method towards closed loops, along the velocities that are not independent."""
        basis = self.manifold.position_basis(self.tree.tree, q, self.prescribed)
        gaps = [-row.gap for row in basis.held if row.gap is not None]
        return basis.E.solve([*gaps, *([0.0] * basis.freedoms)])

    # ---- how it moves

    @cached_property
    def is_regular(self) -> bool:
        """Whether forces determine the accelerations of the tree without its constraints."""
        return not idle_joints(self.tree.tree)

    def with_rotors(self, forces: Vector, a: Vector) -> list[Scalar]:
        """Forces along the tree, with those of rotors that are accelerated."""
        if not self.tree.rotors:
            return list(forces)
        gains = zip(self.tree.drives, self.tree.drive_rates(a, a), strict=True)
        added = self.tree.on_actuators([drive.actuator.reflected_inertia * gain for drive, gain in gains])
        return [Q + x for Q, x in zip(forces, added, strict=True)]

    def acceleration(
        self, q: Vector, w: Vector, forces: Vector, wrenches: Wrenches
    ) -> tuple[list[Scalar], list[Scalar]]:
        """dw/dt and the multipliers of the rows that carry forces, for any w that keeps the rows."""
        rows = self.manifold.held(self.tree.tree, q, w, self.prescribed)
        bias = self.tree.body_forces(q, w, self._zeros, wrenches)
        schur = Schur(LDL.of(self.tree.mass_matrix(q)), [row.jacobian for row in rows])
        return schur.solve([Q - h for Q, h in zip(forces, bias, strict=True)], [row.drift for row in rows])

    def gap(self, q: Vector) -> list[Scalar]:
        """φ of all rows on positions."""
        rows = self.manifold.all_rows(self.tree.tree, q, self._zeros, self.prescribed)
        return [row.gap for row in rows if row.gap is not None]

    def row_jacobian(self, q: Vector) -> Matrix:
        """K of all rows."""
        return [row.jacobian for row in self.manifold.all_rows(self.tree.tree, q, self._zeros, self.prescribed)]

    def row_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """K w + b of all rows."""
        rows = self.manifold.all_rows(self.tree.tree, q, self._zeros, self.prescribed)
        return [dot(row.jacobian, w) + row.offset for row in rows]
