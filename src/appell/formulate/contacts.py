"""Dynamics of a robot on a set of contacts that is data: one formula for all footholds and all subsets of contacts.

A contact frame a on a link touches at its foothold b = (R_b, p_b) in the world. Active contacts add rows J, and forces
λ on the robot:

    M a + h = τ + Jᵀλ              J a + γ = 0             γ = drift + k_d rate + k_p gap                          (1)

All rows are in the axes of frame a, in which the contact is constant on its link. With (u, w) the linear and angular
velocity of a in its own axes, (u̇, ẇ) the rates of these numbers at a = 0, and T = R_aᵀR_b:

                   rate       drift                    gap
    three rows     u          u̇ + w × u                R_aᵀ(p_a - p_b)
    six rows       u, w       u̇, ẇ                     the same, and ½ vee(Tᵀ - T)                                (2)

M = LᵀDL is factorised leaves first, and mᵢ ∈ {0, 1} marks the rows of active contacts:

    Y = L⁻ᵀJᵀ         y = L⁻ᵀ(τ - h)         b = -(γ + YᵀD⁻¹y) in active rows, 0 in others                          (3)
    A = m mᵀ ∘ YᵀD⁻¹Y + 1 on the diagonal of inactive rows
    λ = A⁻¹ b         a = L⁻¹D⁻¹(y + Yλ)                                                                             (4)

An inactive row is a row of the identity, so that its force is exactly zero, and the empty set is the robot without
contacts. Footholds enter the right-hand side only. Rows that depend on others are dropped (`algebra.semidefinite`); the
flag reports it. Forces are returned in the axes of the footholds, in which friction cones are constant: λ_b = Tᵀλ.

Impulses f = -(1 + e) A⁻¹J v⁻ change the velocity by M⁻¹Jᵀf. Inverse dynamics of a free base solves the six rows of its
motion for the forces of least norm, in N and N m:

    J_baseᵀ λ = (M a + h)_base             λ = J_base (J_baseᵀJ_base)⁻¹ (M a + h)_base                              (5)

A contact on another link has its foothold in the axes of a frame on that link, and pose, u, w and their rates in (2)
are relative to that frame. With the twists v_a of frame a and v_b of the other link, their rates a_a and a_b, all in
the axes and at the origin of a, × the cross product of twists:

    J = J_a - J_b          (u, w) = v_a - v_b          (u̇, ẇ) = a_a - a_b + v_a × v_b                               (6)

They depend on the joints between the two links only, so that twists are relative to the nearest common link of both.
λ acts at the origin of a on its link, and -λ on the other link, at the same point: the momentum of the robot is
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from appell.algebra.matrix import Mat3, axial
from appell.algebra.rotation import Pose, Twist
from appell.algebra.scalar import Matrix, Scalar, Vector, dot, select
from appell.algebra.semidefinite import SemidefiniteLDL
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.formulate.equations import Equations
from appell.formulate.kinematics import at_pose, partials_at_frame
from appell.formulate.recursion import LinkTransforms, accelerations, joint_twist, link_transforms
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import Frame
from appell.model.joints import Partial

REGULAR, REDUNDANT, CONTRADICTORY, NEARLY_SINGULAR = range(4)  # values of the flag
CONTRADICTION = 1e-12  # square of the residual of a dropped row, relative to 1 + |b|², above which rows contradict


@dataclass(frozen=True)
class ContactRows:
    """A frame that may touch, its number of rows, 3 (position) or 6 (position and orientation), and what it touches."""

    frame: Frame
    size: int
    on: Frame | None = None  # on another link; None is the world


@dataclass(frozen=True)
class ContactChain:
    """Links outboard of a base, nearest to the contact first, and their motion relative to it, at the contact frame."""

    links: list[TreeLink]
    partials: dict[str, list[Partial]]
    velocity: Twist
    acceleration: Twist

    @staticmethod
    def of(
        tree: Tree, links: list[TreeLink], partials: dict[str, list[Partial]], rates: tuple[Vector, Vector]
    ) -> ContactChain:
        """Carry the motion outward from a base at rest; `rates` are the velocities and accelerations of the tree."""
        velocity = acceleration = Twist()
        for link in reversed(links):
            joint = joint_twist(partials[link.name], tree.velocity(link, rates[0]))
            velocity = velocity + joint
            changed = joint_twist(partials[link.name], tree.velocity(link, rates[1]))
            acceleration = acceleration + changed + velocity.cross(joint)
        return ContactChain(links, partials, velocity, acceleration)


@dataclass(frozen=True)
class ContactMotion:
    """Motion of a contact frame relative to the world or to the frame it touches, in its own axes, as twists."""

    size: int
    pose: Pose  # in the world, or in the frame it touches
    partials: dict[str, list[Partial]]  # its velocity per unit of each velocity of the tree, by link
    velocity: Twist  # w, u
    acceleration: Twist  # the rates of w and u
    J: Matrix  # `size` rows, along the velocities of the tree
    chains: tuple[ContactChain, ...]  # from the world to the frame, or from the nearest common link to both frames

    @property
    def rate(self) -> list[Scalar]:
        return [*self.velocity.linear, *self.velocity.angular][: self.size]

    @property
    def drift(self) -> list[Scalar]:
        """J a + J̇ v for three rows, the rates of u and w for six."""
        if self.size == 3:
            return list(self.acceleration.linear + self.velocity.angular.cross(self.velocity.linear))
        return [*self.acceleration.linear, *self.acceleration.angular]


def contact_motions(
    equations: Equations, contacts: Sequence[ContactRows], q: Vector, v: Vector, a: Vector
) -> list[ContactMotion]:
    """Motion of the contact frames of a tree or constrained tree at the accelerations a of its velocities v."""
    tree = equations.bodies.tree  # type: ignore[union-attr]
    w, w_dot = equations.map.velocity(q, v), equations.map.acceleration(q, v, a)
    transforms = link_transforms(tree, q)
    motion_of = accelerations(tree, transforms, w, w_dot)
    motions = []
    for contact in contacts:
        if contact.on is not None:
            motions.append(_motion_on_link(tree, transforms, contact, contact.on, (w, w_dot)))
            continue
        frame, motion, path = contact.frame, motion_of[contact.frame.body], list(tree.path(contact.frame.body))
        partials, pose = partials_at_frame(path, transforms, frame)
        columns = {name: [[*p.linear, *p.angular] for p in inboard] for name, inboard in partials.items()}
        J = tree.gather_columns(columns, rows=6)
        u, inverse = Vec3.of(dot(row, w) for row in J[:3]), frame.pose.rotation.T
        omega = inverse @ motion.omega
        total = inverse @ (motion.acc + motion.W @ frame.pose.translation) + pose.rotation.T @ tree.gravity
        acceleration, velocity = Twist(inverse @ motion.alpha, total - omega.cross(u)), Twist(omega, u)
        chain = ContactChain(path, partials, velocity, acceleration)
        motions.append(ContactMotion(contact.size, pose, partials, velocity, acceleration, J[: contact.size], (chain,)))
    return motions


def _motion_on_link(
    tree: Tree, transforms: LinkTransforms, contact: ContactRows, on: Frame, rates: tuple[Vector, Vector]
) -> ContactMotion:
    """Motion of a contact frame relative to a frame on another link, by (6)."""
    ends = contact.frame, on
    paths = [list(tree.path(end.body)) for end in ends]
    common = {link.name for link in paths[0]} & {link.name for link in paths[1]}
    paths = [[link for link in path if link.name not in common] for path in paths]
    (of_a, pose), (of_b, base) = (
        partials_at_frame(path, transforms, end) for path, end in zip(paths, ends, strict=True)
    )
    pose = base.inverse @ pose
    of_b = {name: [at_pose(pose, p) for p in partials] for name, partials in of_b.items()}
    chains = ContactChain.of(tree, paths[0], of_a, rates), ContactChain.of(tree, paths[1], of_b, rates)
    v_a, v_b = (chain.velocity for chain in chains)
    acceleration = chains[0].acceleration - chains[1].acceleration + v_a.cross(v_b)
    partials = of_a | {name: [Twist() - p for p in each] for name, each in of_b.items()}
    columns = {name: [[*p.linear, *p.angular] for p in each] for name, each in partials.items()}
    J = tree.gather_columns(columns, rows=6)[: contact.size]
    return ContactMotion(contact.size, pose, partials, v_a - v_b, acceleration, J, chains)


@dataclass(frozen=True)
class Foothold:
    """Where a contact frame at `pose` should be."""

    pose: Pose
    rotation: Mat3  # R_b
    position: Vec3  # p_b

    @staticmethod
    def of(pose: Pose, rows: Sequence[Vector]) -> Foothold:
        """From the rows [R_b p_b]."""
        return Foothold(pose, Mat3.of(row[:3] for row in rows), Vec3.of(row[3] for row in rows))

    @cached_property
    def turn(self) -> Mat3:
        """Tᵀ = R_bᵀR_a, from the axes of the contact frame to those of the foothold."""
        return self.rotation.T @ self.pose.rotation

    def gap(self, size: int) -> list[Scalar]:
        linear = self.pose.rotation.T @ (self.pose.translation - self.position)
        return [*linear, *(0.5 * axial(self.turn))][:size]

    def turned(self, values: Vector) -> list[Scalar]:
        """Vectors of three numbers each, from the axes of the contact frame to those of the foothold."""
        vectors = [Vec3.of(values[k : k + 3]) for k in range(0, len(values), 3)]
        if len(vectors) == 1:  # without the product of the two rotations
            return list(self.rotation.T @ (self.pose.rotation @ vectors[0]))
        return [x for vector in vectors for x in self.turn @ vector]


@dataclass(frozen=True)
class Stance:
    """Contacts at a state: motion of their frames at a = 0, footholds, rows J along v, and the mask of active rows."""

    motions: list[ContactMotion]
    footholds: list[Foothold]
    J: Matrix
    mask: list[Scalar]
    rows: list[range]  # of each contact

    @staticmethod
    def of(
        equations: Equations,
        contacts: Sequence[ContactRows],
        q: Vector,
        v: Vector,
        footholds: Sequence[Sequence[Vector]],
        active: Vector,
    ) -> Stance:
        """Contacts on footholds with the rows [R_b p_b]; those with a number above 0.5 in `active` touch."""
        motions = contact_motions(equations, contacts, q, v, [0.0] * len(v))
        feet = [Foothold.of(motion.pose, rows) for motion, rows in zip(motions, footholds, strict=True)]
        flags = [select(x - 0.5, 1.0, 0.0) for x in active]
        mask = [flag for flag, contact in zip(flags, contacts, strict=True) for _ in range(contact.size)]
        return Stance(motions, feet, stacked_jacobian(equations, motions, q), mask, spans(contacts))

    def at_footholds(self, values: Vector) -> Matrix:
        """Forces of all rows in the axes of the footholds: one row per contact, padded with zero moments."""
        pairs = zip(self.footholds, self.rows, strict=True)
        turned = [foot.turned([values[k] for k in span]) for foot, span in pairs]
        width = max(map(len, turned))
        return [[*force, *[0.0] * (width - len(force))] for force in turned]


def spans(contacts: Sequence[ContactRows]) -> list[range]:
    """The rows of each contact."""
    starts = [sum(contact.size for contact in contacts[:k]) for k in range(len(contacts))]
    return [range(start, start + contact.size) for start, contact in zip(starts, contacts, strict=True)]


def stacked_jacobian(equations: Equations, motions: Sequence[ContactMotion], q: Vector) -> Matrix:
    """Rows of all contacts along v."""
    rows = [row for motion in motions for row in motion.J]
    return rows if equations.map.is_identity else equations.map.pull_back(q, rows)


def row_residuals(motions: Sequence[ContactMotion], footholds: Sequence[Foothold], gains: Vector) -> list[Scalar]:
    """J a + γ of all rows at the accelerations of the motions: γ at a = 0."""
    residuals = []
    for motion, foot in zip(motions, footholds, strict=True):
        terms = zip(motion.drift, motion.rate, foot.gap(motion.size), strict=True)
        residuals += [drift + gains[1] * rate + gains[0] * gap for drift, rate, gap in terms]
    return residuals


@dataclass(frozen=True)
class ContactSystem:
    """(3) and the matrix A of (4)."""

    stance: Stance
    factor: LDL
    Y: Matrix
    weighted: Matrix  # D⁻¹ Y

    @staticmethod
    def of(equations: Equations, stance: Stance, q: Vector) -> ContactSystem:
        factor = LDL.of(equations.mass_matrix(q))
        Y = [factor.solve_upper(row) for row in stance.J]
        weighted = [[x * d for x, d in zip(row, factor.inverse_pivots, strict=True)] for row in Y]
        return ContactSystem(stance, factor, Y, weighted)

    @cached_property
    def solver(self) -> SemidefiniteLDL:
        """The factors of A."""
        m, A = self.stance.mask, []
        for i, row in enumerate(self.Y):
            entries = [m[i] * m[j] * dot(row, self.weighted[j]) for j in range(i)]
            A.append([*entries, m[i] * dot(row, self.weighted[i]) + (1.0 - m[i])])
        return SemidefiniteLDL.of(A)

    def right(self, values: Vector) -> list[Scalar]:
        """Values in the rows of active contacts, 0 in others."""
        return [select(m, x, 0.0) for m, x in zip(self.stance.mask, values, strict=True)]

    def acceleration(self, reduced: Vector, forces: Vector) -> list[Scalar]:
        """a of (4) from y and λ."""
        pairs = zip(reduced, zip(*self.Y, strict=True), strict=True)
        return self.factor.solve_lower([y + dot(column, forces) for y, column in pairs])


@dataclass(frozen=True)
class Contacted:
    """The solution of (1), with what derivatives need; `forces` in the axes of the contact frames."""

    a: list[Scalar]
    forces: list[Scalar]
    flag: Scalar
    system: ContactSystem

    @property
    def stance(self) -> Stance:
        return self.system.stance

    @property
    def results(self) -> dict[str, Any]:
        """Accelerations, forces in foothold axes, and the flag, by name."""
        return {"a": self.a, "force": self.stance.at_footholds(self.forces), "flag": self.flag}


def contact_dynamics(
    equations: Equations, stance: Stance, q: Vector, v: Vector, tau: Vector, gains: Vector, *, least_norm: bool = False
) -> Contacted:
    """Solve (1) by (3) and (4).

    Parameters
    ----------
    equations : equations of a tree, or of a constrained tree in its independent velocities
    stance : the contacts at q and v
    q, v, tau : coordinates, velocities and actuator forces
    gains : k_p (1/s²) and k_d (1/s)
    least_norm : whether redundant forces have the least norm; otherwise those of dropped rows are zero
    """
    system = ContactSystem.of(equations, stance, q)
    gamma, h = row_residuals(stance.motions, stance.footholds, gains), equations.bias(q, v)
    y = system.factor.solve_upper([x - y for x, y in zip(equations.along_coordinates(q, tau), h, strict=True)])
    b = system.right([-(x + dot(row, y)) for x, row in zip(gamma, system.weighted, strict=True)])
    z = system.solver.reduce(b)
    forces = system.solver.least_norm(b) if least_norm else system.solver.back_substitute(z)
    return Contacted(system.acceleration(y, forces), forces, flag_of(system.solver, b, z), system)


def contact_adjoint(solution: Contacted, of_a: Vector, of_force: Matrix) -> tuple[list[Scalar], list[Scalar]]:
    """Adjoints t of the rows and s of the motion, for weights of a and of the forces in foothold axes.

    t = A⁻¹(J M⁻¹ y_a + T y_b) and s = M⁻¹(y_a - Jᵀt); the gradient of y_a·a + y_b·λ_b is that of -(s·r₁ + t·r₂).
    """
    system, stance = solution.system, solution.stance
    half = system.factor.solve_upper(of_a)
    in_frames: list[Scalar] = []
    for foot, rows, weights in zip(stance.footholds, stance.rows, of_force, strict=True):
        for k in range(0, len(rows), 3):
            in_frames += foot.turn.T @ Vec3.of(weights[k : k + 3])
    right = [dot(row, half) + x for row, x in zip(system.weighted, in_frames, strict=True)]
    rows_adjoint = system.solver.solve(system.right(right))
    return rows_adjoint, system.acceleration(half, [-x for x in rows_adjoint])


def flag_of(solver: SemidefiniteLDL, right: Vector, reduced: Vector) -> Scalar:
    """0: regular rows, 1: dependent rows, 2: dependent rows that contradict each other, 3: nearly dependent rows."""
    allowed = CONTRADICTION * (1.0 + dot(right, right))
    flag: Scalar = float(REGULAR)
    for kept in solver.kept:
        flag = select(kept, flag, float(REDUNDANT))
    for kept, rest in zip(solver.kept, reduced, strict=True):
        flag = select(kept, flag, select(rest * rest - allowed, float(CONTRADICTORY), flag))
    for kept, near in zip(solver.kept, solver.near, strict=True):
        flag = select(kept, select(near, float(NEARLY_SINGULAR), flag), flag)
    return flag


def contact_impulse(
    equations: Equations, stance: Stance, q: Vector, v: Vector, restitution: Scalar
) -> tuple[list[Scalar], Matrix, Scalar]:
    """Velocity after an impact of the active contacts, the impulses in foothold axes, and the flag."""
    system = ContactSystem.of(equations, stance, q)
    b = system.right([-(1.0 + restitution) * x for motion in stance.motions for x in motion.rate])
    impulses = system.solver.least_norm(b)
    change = system.acceleration([0.0] * len(v), impulses)
    flag = flag_of(system.solver, b, system.solver.reduce(b))
    return [x + d for x, d in zip(v, change, strict=True)], stance.at_footholds(impulses), flag


def contact_inverse_dynamics(
    stance: Stance, required: Vector, base: Sequence[int]
) -> tuple[list[Scalar], Matrix, Scalar]:
    """τ and the contact forces for required forces M a + h, by (5); `base` are the velocities without actuators."""
    masked = [[m * row[k] for k in base] for m, row in zip(stance.mask, stance.J, strict=True)]
    columns = list(zip(*masked, strict=True))
    solver = SemidefiniteLDL.of([[dot(x, y) for y in columns[: i + 1]] for i, x in enumerate(columns)])
    right = [required[k] for k in base]
    z = solver.reduce(right)
    weights = solver.back_substitute(z)
    forces = [dot(row, weights) for row in masked]
    tau = [x - dot(column, forces) for x, column in zip(required, zip(*stance.J, strict=True), strict=True)]
    return tau, stance.at_footholds(forces), flag_of(solver, right, z)
