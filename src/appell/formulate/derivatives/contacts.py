"""Derivatives of the dynamics of a robot on contacts, by the implicit function theorem.

The residuals of (1) of `formulate.contacts` are r₁ = ID(q, v, a) - Jᵀλ - τ and r₂ = J a + γ. With X = M⁻¹Jᵀ,
A⁺ the inverse of A in its active rows, Z = X A⁺ and P = M⁻¹ - Z Xᵀ, and R = ∂r/∂x at fixed a and λ:

    ∂a = -P R₁ - Z R₂                    ∂λ = Zᵀ R₁ - A⁺ R₂                                                        (1)

    x             R₁                                             R₂
    q             derivative of inverse dynamics, λ constant     A_q + k_d V_q + k_p E
                  in link axes
    v             derivative of inverse dynamics                 A_v + k_d J
    τ             -1                                             0
    parameters    regressor                                      0
    foothold      0                                              k_p (-T s; -½(tr Tᵀ 1 - Tᵀ) z) for a shift s and a
                                                                 turn z in its own axes

**Rows.** All twists are in the axes and at the origin of the contact frame c. S is the column of J of joint j, p the
parent of the joint, × the cross product of twists. Inward from c to the world, where v_p = a_p = 0:

    v_p = v_j - Σ S q̇           a_p = a_j - Σ S q̈ - v_j × Σ S q̇                                                   (2)
    V_q = v_p × S               A_q = a_p × S + V_q × (v_c - v_p)             A_v = (v_p + v_j - v_c) × S           (3)
    three rows: add  w × V_q.lin + V_q.ang × u  to A_q,   w × S.lin + S.ang × u  to A_v                              (4)
    E.lin = S.lin + gap × S.ang            E.ang = ½ (tr Tᵀ 1 - T) S.ang                                             (5)

A contact on another link b has the chains a and b from the nearest common link to both: (6) of `formulate.contacts`.
With (3) of each chain, at the contact frame, D = S for joints of a and D = -S for those of b:

    V_q = V_qᵃ - V_qᵇ - v_b × D            A_v = A_vᵃ - A_vᵇ + S_a × v_b + v_a × S_b                                 (6)
    A_q = A_qᵃ - A_qᵇ - a_b × D + V_qᵃ × v_b + v_a × (V_qᵇ + v_b × D)

and its wrench on b is not constant in link axes, so that R₁ of q is that without this contact, less λ·∂Dᵢ/∂qₖ:

    ∂Dᵢ/∂qₖ = Sᵢ × Sₖ for i, k in a, k outboard of i, and for i, k in b, k not outboard of i                         (7)
              -Sᵢ × Sₖ for i in b, k in a;            0 for other pairs

**Free base.** R₁ = R₁' + M own (`derivatives.inverse`); R₂' = R₂ - J own, and own is subtracted from ∂a.

**Foothold axes.** ∂λ_b = Tᵀ(∂λ + (J_w ∂q) × λ), and λ_b × z for a turn z of the foothold.

**Loops.** -(1) is the product of R with K, one row per row of R: [P, -Z] and [Zᵀ, A⁺], ∂λ in foothold axes. R is
sparse: a joint affects the rows inboard and outboard of it, and the contacts outboard. Each iteration of a loop
computes one column from the rows of K at which R is not zero, so that columns with equal numbers of such rows share
their code, whichever limb they belong to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from appell.algebra.loops import Loops, Rows
from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Matrix, Scalar, Vector, dot, is_zero
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.contacts import ContactChain, Contacted, ContactMotion, ContactRows, Foothold
from appell.formulate.derivatives.inverse import Derivatives
from appell.formulate.recursion import joint_twist
from appell.formulate.tree import Tree
from appell.model.joints import Partial

Column = tuple[str, Partial, Twist, Twist, Twist]  # name of the link, S, V_q, A_q and A_v
MAX_PADDING = 1.35  # a column may share the loop of columns with up to this many times its rows
MAX_PART = 20  # columns of K per iteration; 20 rows of them, in registers of eight numbers, fit in 32 kB


@dataclass(frozen=True)
class ContactColumn:
    """R₁ and R₂ of one scalar x, ∂λ due to turned axes by row, and what is subtracted from ∂a."""

    forces: Vector
    rows: Vector
    turned: Mapping[int, Scalar] = field(default_factory=dict)
    separate: Mapping[int, Scalar] = field(default_factory=dict)

    @cached_property
    def needed(self) -> list[int]:
        """Rows of R that are not zero."""
        return [k for k, x in enumerate([*self.forces, *self.rows]) if not is_zero(x)]


def row_derivatives(
    tree: Tree,
    contact: ContactRows,
    motion: ContactMotion,
    foot: Foothold,
    q_rates: tuple[Vector, Vector],
    gains: Vector,
) -> tuple[Matrix, Matrix]:
    """R₂ of the rows of one contact by q and by v, (size, nv) each; `q_rates` are v and a."""
    w, u, size = motion.velocity.angular, motion.velocity.linear, contact.size
    gap = Vec3.of(foot.gap(3))
    turning = 0.5 * (foot.turn.trace * IDENTITY - foot.turn.T) if size == 6 else None
    by_q: dict[str, list[Vector]] = {link.name: [] for chain in motion.chains for link in chain.links}
    by_v: dict[str, list[Vector]] = {name: [] for name in by_q}
    columns = _chain_columns(tree, motion.chains[0], q_rates)
    for name, S, V_q, A_q, A_v in columns if len(motion.chains) == 1 else _relative_columns(tree, motion, q_rates):
        of_q, of_v = A_q.linear, A_v.linear
        if size == 3:  # (4)
            of_q = of_q + w.cross(V_q.linear) + V_q.angular.cross(u)
            of_v = of_v + w.cross(S.linear) + S.angular.cross(u)
        E = S.linear + gap.cross(S.angular)  # (5)
        column_q = [*(of_q + gains[1] * V_q.linear + gains[0] * E)]
        column_v = [*(of_v + gains[1] * S.linear)]
        if turning is not None:
            column_q += A_q.angular + gains[1] * V_q.angular + gains[0] * (turning @ S.angular)
            column_v += A_v.angular + gains[1] * S.angular
        by_q[name].append(column_q)
        by_v[name].append(column_v)
    return tree.gather_columns(by_q, rows=size), tree.gather_columns(by_v, rows=size)


def rate_derivatives(tree: Tree, contact: ContactRows, motion: ContactMotion, v: Vector) -> Matrix:
    """∂(J v)/∂q of the rows of one contact with the world, (size, nv): V_q of (3)."""
    columns: dict[str, list[Vector]] = {link.name: [] for link in motion.chains[0].links}
    for name, _, V_q, *_ in _chain_columns(tree, motion.chains[0], (v, [0.0] * len(v))):
        columns[name].append([*V_q.linear, *V_q.angular][: contact.size])
    return tree.gather_columns(columns, rows=contact.size)


def _chain_columns(tree: Tree, chain: ContactChain, q_rates: tuple[Vector, Vector]) -> Iterator[Column]:
    """Link, S, V_q, A_q and A_v of every partial of a chain, by (2) and (3)."""
    v, a = q_rates
    at_frame, speed, acceleration = chain.velocity, chain.velocity, chain.acceleration
    for link in chain.links:
        partials, inner_speed, inner_acceleration = chain.partials[link.name], Twist(), Twist()
        if link is not chain.links[-1]:  # (2)
            joint = joint_twist(partials, tree.velocity(link, v))
            inner_speed = speed - joint
            changed = joint_twist(partials, tree.velocity(link, a))
            inner_acceleration = acceleration - changed - speed.cross(joint)
        relative, both = at_frame - inner_speed, inner_speed + speed - at_frame
        for S in partials:
            V_q, A_v = inner_speed.cross(S), both.cross(S)  # (3)
            yield link.name, S, V_q, inner_acceleration.cross(S) + V_q.cross(relative), A_v
        speed, acceleration = inner_speed, inner_acceleration


def _relative_columns(tree: Tree, motion: ContactMotion, q_rates: tuple[Vector, Vector]) -> Iterator[Column]:
    """The same of a contact on another link, by (6); S is its column of J."""
    a, b = motion.chains
    for name, S, V_q, A_q, A_v in _chain_columns(tree, a, q_rates):
        moved = b.velocity.cross(S)
        turned = V_q.cross(b.velocity) + a.velocity.cross(moved)
        A_q = A_q - b.acceleration.cross(S) + turned
        yield name, S, V_q - moved, A_q, A_v + S.cross(b.velocity)
    for name, S, V_q, A_q, A_v in _chain_columns(tree, b, q_rates):
        V_q = V_q - b.velocity.cross(S)
        A_q = b.acceleration.cross(S) - A_q + a.velocity.cross(V_q)
        yield name, Twist() - S, Twist() - V_q, A_q, a.velocity.cross(S) - A_v


def _force_derivatives(tree: Tree, motion: ContactMotion, forces: Vector) -> Matrix:
    """∂(Jᵀλ)/∂q of a contact on another link at fixed λ, (nv, nv), by (7)."""
    f, n = Vec3.of(forces[:3]), Vec3.of([*forces[3:], 0.0, 0.0, 0.0][:3])
    a, b = ([(link.name, chain.partials[link.name]) for link in chain.links] for chain in motion.chains)

    def block(first: Sequence[Partial], second: Sequence[Partial], sign: float) -> Matrix:
        pairs = [[x.cross(y) for y in second] for x in first]
        return [[sign * (f.dot(each.linear) + n.dot(each.angular)) for each in row] for row in pairs]

    blocks = {(i, k): block(x, y, 1.0) for j, (i, x) in enumerate(a) for k, y in a[:j]}
    blocks |= {(i, k): block(x, y, -1.0) for i, x in b for k, y in a}
    blocks |= {(i, k): block(x, y, 1.0) for j, (i, x) in enumerate(b) for k, y in b[j:]}
    return tree.gather_matrix(blocks)


def motion_columns(
    tree: Tree,
    contacts: Sequence[ContactRows],
    motions: Sequence[ContactMotion],
    solution: Contacted,
    inverse: Derivatives,
    v: Vector,
    gains: Vector,
) -> dict[str, list[ContactColumn]]:
    """Columns of q and v, from the derivatives of inverse dynamics and the motion of the contacts at the computed a."""
    rows_q: Matrix = []
    rows_v: Matrix = []
    forces_q = inverse.by_q
    stance = solution.stance
    for contact, motion, foot, span in zip(contacts, motions, stance.footholds, stance.rows, strict=True):
        by_q, by_v = row_derivatives(tree, contact, motion, foot, (v, solution.a), gains)
        rows_q, rows_v = rows_q + by_q, rows_v + by_v
        if contact.on is not None:
            changes = _force_derivatives(tree, motion, [solution.forces[k] for k in span])
            pairs = zip(forces_q, changes, strict=True)
            forces_q = [[x - y for x, y in zip(*each, strict=True)] for each in pairs]
    turned = _turned(tree, contacts, motions, solution)
    return {
        "q": _with_own(stance.J, forces_q, rows_q, inverse.own_q, turned),
        "v": _with_own(stance.J, inverse.by_v, rows_v, inverse.own_v, [{}] * len(v)),
    }


def _with_own(
    J: Matrix, forces: Matrix, rows: Matrix, base: Matrix | None, turned: Sequence[Mapping[int, Scalar]]
) -> list[ContactColumn]:
    """Columns from R₁', R₂ and, for a free base, the terms that are subtracted from ∂a."""
    columns, n = [], len(forces)
    for k in range(n):
        separate = {i: base[i][k] for i in range(n) if not is_zero(base[i][k])} if base else {}
        second = [row[k] for row in rows]
        if separate:
            second = [
                x - dot([row[i] for i in separate], list(separate.values())) for x, row in zip(second, J, strict=True)
            ]
        columns.append(ContactColumn([row[k] for row in forces], second, turned[k], separate))
    return columns


def impulse_columns(
    tree: Tree,
    contacts: Sequence[ContactRows],
    motions: Sequence[ContactMotion],
    solution: Contacted,
    inverse: tuple[Derivatives, Derivatives],
    v: Vector,
) -> dict[str, list[ContactColumn]]:
    """Columns of q and v for the change of velocity w of an impact: M w = Jᵀλ and J w = -J v.

    Parameters
    ----------
    tree, contacts : the robot and its contacts with the world
    motions : motions of the contacts at the velocity v after the impact
    solution : w in place of the acceleration, and the impulses
    inverse : derivatives of inverse dynamics at rest, with the acceleration w and the impulses, and without both
    v : velocity after the impact
    """

    def difference(x: Matrix, y: Matrix) -> Matrix:
        return [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(x, y, strict=True)]

    with_w, at_rest = inverse
    J, n = solution.stance.J, len(v)
    pairs = zip(contacts, motions, strict=True)
    rows = [row for contact, motion in pairs for row in rate_derivatives(tree, contact, motion, v)]
    base = difference(with_w.own_q, at_rest.own_q) if with_w.own_q and at_rest.own_q else None
    by_q = _with_own(J, difference(with_w.by_q, at_rest.by_q), rows, base, [{}] * n)
    return {"q": by_q, "v": [ContactColumn([0.0] * n, [row[k] for row in J]) for k in range(n)]}


def _turned(
    tree: Tree, contacts: Sequence[ContactRows], motions: Sequence[ContactMotion], solution: Contacted
) -> list[dict[int, Scalar]]:
    """Tᵀ(J_w × λ) by row, for every velocity."""
    result: list[dict[int, Scalar]] = [{} for _ in range(tree.robot.nv)]
    parts = zip(contacts, motions, solution.stance.footholds, solution.stance.rows, strict=True)
    for contact, motion, foot, rows in parts:
        forces = [Vec3.of(solution.forces[k] for k in rows[i : i + 3]) for i in range(0, contact.size, 3)]
        columns = {}
        for name, partials in motion.partials.items():
            moved = [[p.angular.cross(force) for force in forces] for p in partials]
            columns[name] = [foot.turned([x for vector in vectors for x in vector]) for vectors in moved]
        for i, row in zip(rows, tree.gather_columns(columns, rows=contact.size), strict=True):
            for k, entry in enumerate(row):
                if not is_zero(entry):
                    result[k][i] = entry
    return result


def foothold_columns(
    contacts: Sequence[ContactRows], solution: Contacted, gains: Vector, n: int
) -> list[ContactColumn]:
    """Columns of the shifts and turns of all footholds."""
    columns = []
    size = len(solution.forces)
    for contact, foot, rows in zip(contacts, solution.stance.footholds, solution.stance.rows, strict=True):
        T, zeros = foot.turn.T, [0.0] * n
        for unit in UNITS:
            second: list[Scalar] = [0.0] * size
            second[rows[0] : rows[0] + 3] = [-gains[0] * x for x in T @ unit]
            columns.append(ContactColumn(zeros, second))
        turning = -0.5 * (foot.turn.trace * IDENTITY - foot.turn)
        forces = [Vec3.of(solution.forces[k] for k in rows[i : i + 3]) for i in range(0, contact.size, 3)]
        for unit in UNITS:
            second = [0.0] * size
            if contact.size == 6:
                second[rows[3] : rows[3] + 3] = [gains[0] * x for x in turning @ unit]
            moved = [x for force in forces for x in (foot.turn @ force).cross(unit)]
            columns.append(ContactColumn(zeros, second, dict(zip(rows, moved, strict=True))))
    return columns


def contact_derivatives(
    solution: Contacted,
    columns: Mapping[str, Sequence[ContactColumn]],
    wanted: Collection[str],
    loops: Loops,
    *,
    forces: bool,
) -> dict[str, tuple[Matrix, Matrix]]:
    """(∂a, ∂λ_b) with one column per scalar, by (1); without `forces`, ∂λ_b is empty. tau needs no columns."""
    n, size = len(solution.a), len(solution.forces)
    listed = [column for name in wanted if name != "tau" for column in columns[name]]
    groups = [_Group.of(count, members, listed, loops) for count, members in _by_count(listed).items()]
    K = _inverse_of_system(solution, loops, forces=forces)
    parts = [part.products(groups, len(listed), n + size, loops) for part in K]
    result = {}
    for name in wanted:
        if name == "tau":
            tables = [part.values(loops, n + size)[:n] for part in K]
            solutions = [[x for rows in entries for x in rows] for entries in zip(*tables, strict=True)]
        else:
            solutions = []
            for column in columns[name]:
                index = next(k for k, other in enumerate(listed) if other is column)
                entries = [x for part in parts for x in part[index]]
                for i, x in column.separate.items():
                    entries[i] = entries[i] - x
                for i, x in column.turned.items() if forces else ():
                    entries[n + i] = entries[n + i] + x
                solutions.append(entries)
        matrix = [list(row) for row in zip(*solutions, strict=True)]
        result[name] = matrix[:n], matrix[n:]
    return result


@dataclass(frozen=True)
class _Group:
    """Columns with the same number of rows of K; `right` holds their entries in these rows."""

    members: Sequence[int]
    rows: Sequence[Sequence[int]]
    right: Any

    @staticmethod
    def of(count: int, members: Sequence[int], columns: Sequence[ContactColumn], loops: Loops) -> _Group:
        rows = [[*columns[c].needed, *[0] * (count - len(columns[c].needed))] for c in members]
        entries = [[*columns[c].forces, *columns[c].rows] for c in members]
        right = [
            [*(values[k] for k in columns[c].needed), *[0.0] * (count - len(columns[c].needed))]
            for c, values in zip(members, entries, strict=True)
        ]
        return _Group(members, rows, loops.given(right))


@dataclass(frozen=True)
class _Columns:
    """Columns of K, in parts of `width` that a first-level cache can hold: row j of part p is row p height + j."""

    table: Any
    size: int
    width: int

    @property
    def parts(self) -> range:
        return range(-(-self.size // self.width))

    def values(self, loops: Loops, height: int) -> Matrix:
        """The rows of these columns."""
        rows = loops.values(self.table)
        return [[x for p in self.parts for x in rows[p * height + j]][: self.size] for j in range(height)]

    def products(self, groups: Sequence[_Group], count: int, height: int, loops: Loops) -> Matrix:
        """-Rᵀ K for every column R."""
        solutions: Matrix = [[0.0] * self.size for _ in range(count)]
        for group in groups:

            def product(right: Vector, *rows: Vector) -> list[Vector]:
                return [[_negative_product(right, column) for column in zip(*rows, strict=True)]]

            order = [(p, k) for rows in _limbs(group.rows) for p in self.parts for k in rows]
            reads = [Rows(group.right, [k for _, k in order])]
            for number in range(len(group.rows[0])):
                reads.append(Rows(self.table, [p * height + group.rows[k][number] for p, k in order]))
            results = loops.table(len(order), self.width)
            loops.each([product], [0] * len(order), reads, [Rows(results, range(len(order)))])
            by_part = dict(zip(order, loops.values(results), strict=True))
            for k, c in enumerate(group.members):
                solutions[c] = [x for p in self.parts for x in by_part[p, k]][: self.size]
        return solutions


def _limbs(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Indices of columns with the same rows, which reuse what a cache holds of K."""
    limbs: dict[tuple[int, ...], list[int]] = {}
    for k, needed in enumerate(rows):
        limbs.setdefault(tuple(needed), []).append(k)
    return list(limbs.values())


def _inverse_of_system(solution: Contacted, loops: Loops, *, forces: bool) -> list[_Columns]:
    """The columns of K: [P; Zᵀ] and, with `forces`, [-Z; A⁺] turned to foothold axes."""
    system = solution.system
    n, size = len(solution.a), len(solution.forces)
    height = n + size
    inverse = system.solver.inverse()
    for k, m in enumerate(system.stance.mask):
        inverse[k][k] = inverse[k][k] - (1.0 - m)
    count = -(-n // MAX_PART)
    width = -(-n // count)
    of_a = _Columns(loops.table(count * height, width), n, width)

    def part(row: Vector, p: int) -> list[Scalar]:
        return [*row[p * width : (p + 1) * width], *[0.0] * (width - len(row[p * width : (p + 1) * width]))]

    X = [system.factor.solve_lower(row) for row in system.Y]
    M = system.factor.inverse()
    X_table = loops.given([[x for row in X for x in part(row, p)] for p in of_a.parts])
    M_table = loops.given([part(row, p) for p in of_a.parts for row in M])
    inverse_table = loops.given(inverse)
    turns = [foot.turn for foot in solution.stance.footholds]
    turn_table = loops.given([[x for turn in turns for row in turn.rows for x in row]])

    def contact_row(inverse_row: Vector, X: Vector) -> list[Vector]:
        return [[dot(inverse_row, X[j::width]) for j in range(width)]] * 2

    def velocity_row(M_row: Vector, X_row: Vector, Z: Vector) -> list[Vector]:
        return [[x + _negative_product(X_row, Z[j::width]) for j, x in enumerate(M_row)]]

    order = [(p, k) for p in of_a.parts for k in range(size)]
    reads = [Rows(inverse_table, [k for _, k in order]), Rows(X_table, [p for p, _ in order])]
    Z = loops.table(len(order), width)
    writes = [Rows(Z, range(len(order))), Rows(of_a.table, [p * height + n + k for p, k in order])]
    loops.each([contact_row], [0] * len(order), reads, writes)

    Z_values, X_values = loops.values(Z), loops.values(X_table)
    Z_rows = [Z_values[p * size : (p + 1) * size] for p in of_a.parts]
    Z_table = loops.given([[x for row in rows for x in row] for rows in Z_rows])  # these are views
    at = [(i // width, i % width) for i in range(n)]
    X_columns = loops.given([X_values[p][j::width] for p, j in at])
    Z_columns = loops.given([[row[j] for row in Z_rows[p]] for p, j in at])
    order = [(p, i) for p in of_a.parts for i in range(n)]
    reads = [
        Rows(M_table, [p * n + i for p, i in order]),
        Rows(X_columns, [i for _, i in order]),
        Rows(Z_table, [p for p, _ in order]),
    ]
    loops.each([velocity_row], [0] * len(order), reads, [Rows(of_a.table, [p * height + i for p, i in order])])
    if not forces:
        return [of_a]

    def turned(values: Vector, scalars: Vector, sign: float) -> list[Vector]:
        result = []
        for c, rows in enumerate(system.stance.rows):
            matrix = [scalars[9 * c + 3 * i : 9 * c + 3 * i + 3] for i in range(3)]
            for start in rows[::3]:
                result += [sign * dot(row, values[start : start + 3]) for row in matrix]
        return [result]

    of_forces = _Columns(loops.table(height, size), size, size)
    for source, sign, rows in ((Z_columns, -1.0, range(n)), (inverse_table, 1.0, range(n, height))):
        reads = [Rows(source, range(len(rows))), Rows(turn_table, [0] * len(rows))]
        body = partial(turned, sign=sign)
        loops.each([body], [0] * len(rows), reads, [Rows(of_forces.table, rows)])
    return [of_a, of_forces]


def _by_count(columns: Sequence[ContactColumn]) -> dict[int, list[int]]:
    """Group columns by their numbers of rows, padded to the largest number of the group."""
    groups: dict[int, list[int]] = {}
    sizes = {c: len(column.needed) for c, column in enumerate(columns) if column.needed}
    for c in sorted(sizes, key=lambda c: -sizes[c]):
        hosts = [count for count in groups if count <= MAX_PADDING * sizes[c]]
        groups.setdefault(min(hosts, default=sizes[c]), []).append(c)
    return groups


def _negative_product(x: Vector, y: Vector) -> Scalar:
    total: Scalar = 0.0
    for first, second in zip(x, y, strict=True):
        total = total - first * second
    return total
