"""Motion of the links and nodes of a tree with flexible links.

A node of a flexible link is at ρ = Σ c_b f_b in link axes. It is rotated by the Cayley map of θ = Σ δ_j Θ_j. With
p = θ/2 and κ = 2 / (1 + p·p),

    R_n = 1 + κ (p~ + p~p~)        ω_e = κ (ṗ + p × ṗ) = Σ b_j δ̇_j        b_j = ½ κ (Θ_j + p × Θ_j)                 (1)
    ρ̇ = Σ u_j δ̇_j                  u_j = Σ_b ∂c_b/∂δ_j f_b                                                         (2)
    ω̇_e = Σ b_j δ̈_j - κ (p·ṗ) ω_e   ρ̈ = Σ c̈_b f_b                                                                 (3)

so that (b_j, u_j) are the partials of mode j at the node. With the motion (ω, ω̇, s̈) of the link, the node moves with

    ω_n = ω + ω_e        ω̇_n = ω̇ + ω × ω_e + ω̇_e        s̈_n = s̈ + W ρ + 2 ω × ρ̇ + ρ̈                              (4)

in link axes, and carries the next joint like a rigid link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, axial, outer, skew
from appell.algebra.rotation import Pose, Rotation, Twist
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import (
    Acceleration,
    LinkTransform,
    Wrench,
    combine,
    joint_transform,
    next_acceleration,
    next_velocity,
    on_parent,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia
from appell.model.flexible import FlexibleBody, Node
from appell.model.frame import WORLD, Frame


@dataclass(frozen=True)
class Deformation:
    """A flexible body at modal coordinates δ: the weights c_b, and the integrals that depend on them."""

    body: FlexibleBody
    modal: Vector

    @cached_property
    def weights(self) -> list[Scalar]:
        """c_b."""
        return [1.0, *self.modal, *(self.modal[j] * self.modal[k] for j, k in self.body.pairs)]

    @cached_property
    def slopes(self) -> list[dict[int, Scalar]]:
        """∂c_b/∂δ_j that are not zero, by b, for every j."""
        slopes: list[dict[int, Scalar]] = [{1 + j: 1.0} for j in range(self.body.mode_count)]
        for b, (j, k) in enumerate(self.body.pairs, start=1 + self.body.mode_count):
            slopes[j][b] = self.modal[k] if j != k else 2.0 * self.modal[k]
            slopes[k][b] = self.modal[j] if j != k else slopes[j][b]
        return slopes

    def rates(self, rates: Vector) -> list[Scalar]:
        """ċ_b."""
        modal, pairs = self.modal, self.body.pairs
        products = [
            2.0 * (modal[j] * rates[j]) if j == k else modal[j] * rates[k] + modal[k] * rates[j] for j, k in pairs
        ]
        return [0.0, *rates, *products]

    def second_rates(self, rates: Vector, second: Vector) -> list[Scalar]:
        """c̈_b."""
        drift = (2.0 * (rates[j] * rates[k]) for j, k in self.body.pairs)
        linear = self.rates(second)
        return [*linear[: 1 + len(rates)], *(x + y for x, y in zip(linear[1 + len(rates) :], drift, strict=True))]

    def drifts(self, rates: Vector) -> list[Scalar]:
        """c̈_b of the second-order shapes for modal accelerations of zero."""
        return self.second_rates(rates, [0.0] * len(rates))[1 + len(rates) :]

    def slopes_of(self, vectors: Sequence[Vec3]) -> list[Vec3]:
        """∂(Σ c_b x_b)/∂δ_j for vectors x_b."""
        return [combine((vectors[b] for b in slope), slope.values()) for slope in self.slopes]

    def combined(self, vectors: Sequence[Vec3], slopes: Sequence[Vec3]) -> Vec3:
        """Σ c_b x_b from its slopes: c_b is homogeneous, of first or second degree, so that the slopes are reused."""
        count = 1 + self.body.mode_count
        linear = combine(vectors[:count], self.weights[:count])
        bent = [slope - vector for slope, vector in zip(slopes, vectors[1:count], strict=True)]
        return linear + 0.5 * combine(bent, self.modal)

    @cached_property
    def first(self) -> Vec3:
        """H = Σ c_b h_b, the first moment."""
        return self.combined(self.body.first, self.linear_coupling)

    @cached_property
    def moments(self) -> list[Mat3]:
        """G_b = Σ_c c_c P_bc for every b."""
        return [_combined(row, self.weights) for row in self.body.second]

    @cached_property
    def tangents(self) -> list[Mat3]:
        """∫ ∂ρ/∂δ_j ρᵀ dm = Σ_b ∂c_b/∂δ_j G_b for every j."""
        return [_combined([self.moments[b] for b in slope], list(slope.values())) for slope in self.slopes]

    @cached_property
    def second(self) -> Mat3:
        """Σ c_b G_b, the second moment about the link's origin, from the tangents.

        With G_b = P_b0 + E_b it is the symmetric part of P_00 + Σ δ_j (P_j0 + T_j) - Σ c_b E_b, with the last sum over
        second-order shapes, for which E_b is zero unless all terms of the foreshortening are kept.
        """
        P, count = self.body.second, 1 + self.body.mode_count
        parts = [P[1 + j][0] + tangent for j, tangent in enumerate(self.tangents)]
        total = _combined([P[0][0], *parts], [1.0, *self.modal])
        for b, weight in enumerate(self.weights[count:], start=count):
            total = total - weight * _combined([ZEROS, *P[b][1:]], self.weights)
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = total.rows
        return Mat3.symmetric(xx, 0.5 * (xy + yx), 0.5 * (xz + zx), yy, 0.5 * (yz + zy), zz)

    @property
    def inertia(self) -> Inertia:
        """Mass distribution of the deformed body about the link's origin."""
        return Inertia(self.body.mass, self.first, self.second)

    @cached_property
    def linear_coupling(self) -> list[Vec3]:
        """∫ ∂ρ/∂δ_j dm."""
        return self.slopes_of(self.body.first)

    @cached_property
    def angular_coupling(self) -> list[Vec3]:
        """∫ ρ × ∂ρ/∂δ_j dm."""
        return [axial(tangent) for tangent in self.tangents]

    @cached_property
    def modal_mass(self) -> list[list[Scalar]]:
        """∫ ∂ρ/∂δ_j · ∂ρ/∂δ_k dm."""
        traces = [[matrix.trace for matrix in row] for row in self.body.second]
        n = self.body.mode_count

        def entry(j: int, k: int) -> Scalar:
            pairs = ((x * y) * traces[b][c] for b, x in self.slopes[j].items() for c, y in self.slopes[k].items())
            return sum(pairs, start=0.0)

        lower = [[entry(j, k) for k in range(j + 1)] for j in range(n)]
        return [[lower[max(j, k)][min(j, k)] for k in range(n)] for j in range(n)]

    def elastic_forces(self, rates: Vector | None = None) -> list[Scalar]:
        """K δ + D δ̇, or K δ without rates."""
        forces = _product(self.body.stiffness, self.modal)
        return forces if rates is None else [x + y for x, y in zip(forces, self.damping_forces(rates), strict=True)]

    def damping_forces(self, rates: Vector) -> list[Scalar]:
        """D δ̇."""
        return _product(self.body.damping, rates)


def _combined(matrices: Sequence[Mat3], weights: Vector) -> Mat3:
    start = weights[0] * matrices[0]
    return sum((weight * matrix for matrix, weight in zip(matrices[1:], weights[1:], strict=True)), start=start)


def _product(matrix: Sequence[Sequence[float]], vector: Vector) -> list[Scalar]:
    return [sum((x * y for x, y in zip(row, vector, strict=True)), start=0.0) for row in matrix]


@dataclass(frozen=True)
class NodeMotion:
    """A node at modal coordinates: its position, rotation and partials in link axes, by (1) and (2)."""

    node: Node
    deformation: Deformation

    @cached_property
    def rho(self) -> Vec3:
        return self.deformation.combined((self.node.position, *self.node.shapes), self.slopes)

    @cached_property
    def slopes(self) -> list[Vec3]:
        """u_j."""
        return self.deformation.slopes_of((self.node.position, *self.node.shapes))

    @cached_property
    def half_angle(self) -> Vec3:
        """p."""
        return 0.5 * combine(self.node.rotations, self.deformation.modal)

    @cached_property
    def kappa(self) -> Scalar:
        return 2.0 / (1.0 + self.half_angle.dot(self.half_angle))

    @cached_property
    def R(self) -> Mat3:
        p = self.half_angle
        scaled = self.kappa * p
        return IDENTITY + skew(scaled) + outer(scaled, p) - scaled.dot(p) * IDENTITY

    @cached_property
    def partials(self) -> list[Twist]:
        """(b_j, u_j) of every mode."""
        half, p = 0.5 * self.kappa, self.half_angle
        return [
            Twist(half * (turn + p.cross(turn)), slope)
            for turn, slope in zip(self.node.rotations, self.slopes, strict=True)
        ]

    @property
    def pose(self) -> Pose:
        """Pose of the node in its link."""
        return Pose(self.R, self.rho)

    def velocity(self, link: Twist, rates: Vector) -> Twist:
        """Velocity of the node, in link axes."""
        of_modes = sum((x * partial for x, partial in zip(rates, self.partials, strict=True)), start=Twist())
        return Twist(link.angular, link.linear + link.angular.cross(self.rho)) + of_modes

    def carried(self, link: Twist) -> Twist:
        """Velocity field of the link at the node, without modal velocities, in link axes."""
        return Twist(link.angular, link.linear + link.angular.cross(self.rho))

    def acceleration(self, link: Acceleration, rates: Vector, second: Vector) -> Acceleration:
        """Acceleration of the node, in link axes, by (4)."""
        turns, shapes, c = self.node.rotations, self.node.shapes, self.deformation
        omega_e = combine((p.angular for p in self.partials), rates)
        slowing = self.kappa * self.half_angle.dot(0.5 * combine(turns, rates))
        alpha_e = combine((p.angular for p in self.partials), second) - slowing * omega_e
        rho_rate = combine((p.linear for p in self.partials), rates)
        rho_second = combine(self.slopes, second) + combine(shapes[len(rates) :], c.drifts(rates))
        return Acceleration(
            link.omega + omega_e,
            link.alpha + link.omega.cross(omega_e) + alpha_e,
            link.acc + link.W @ self.rho + 2.0 * link.omega.cross(rho_rate) + rho_second,
        )

    def gathered(self, wrench: Wrench) -> tuple[Wrench, list[Scalar]]:
        """A wrench about the node as one about the link's origin, and its forces along the modes."""
        force, moment = wrench
        modal = [p.linear.dot(force) + p.angular.dot(moment) for p in self.partials]
        return (force, moment + self.rho.cross(force)), modal


def deformation(tree: Tree, link: str, q: Vector) -> Deformation:
    """Deformation of a flexible link of a tree at q."""
    flexible = tree.robot.link(link)
    return Deformation(flexible.body, list(q[tree.robot.modal_span(flexible)[0]]))


def node_motion(tree: Tree, link: str, name: str, q: Vector) -> NodeMotion:
    """A node of a flexible link of a tree at q."""
    of_link = deformation(tree, link, q)
    return NodeMotion(of_link.body.node(name), of_link)


class Configuration:
    """A tree with flexible links at q: deformations, nodes, and the transform of every link to its carrier.

    The carrier of a link is its parent, or the node of its parent; transforms are to the carrier's origin in the axes
    of the parent link.
    """

    def __init__(self, tree: Tree, q: Vector):
        self.tree, self.q = tree, q
        self.deformation = {link.name: deformation(tree, link.name, q) for link in tree.robot.flexible}
        self._nodes: dict[tuple[str, str], NodeMotion] = {}
        self.carrier = {link.name: self.node(link.parent, link.at) for link in tree.robot.links}
        self.transform = {link.name: self._transform(link) for link in tree.links}

    def node(self, body: str | None, name: str | None) -> NodeMotion | None:
        """Motion of a node of a flexible link; None for the origin of a link."""
        if name is None or body is None:
            return None
        if (body, name) not in self._nodes:
            deformation = self.deformation[body]
            self._nodes[body, name] = NodeMotion(deformation.body.node(name), deformation)
        return self._nodes[body, name]

    def _transform(self, link: TreeLink) -> LinkTransform:
        transform = joint_transform(link.placement, link.joint.motion.pose(self.tree.position(link, self.q)))
        if (node := self.carrier[link.name]) is None:
            return transform
        return LinkTransform(Rotation((node.R @ transform.R.matrix,)), node.R @ transform.s)

    def modal(self, name: str | None, v: Vector) -> list[Scalar]:
        """Modal components of a link in a vector with the layout of v."""
        return list(v[self.tree.robot.modal_span(self.tree.robot.link(name))[1]]) if name in self.deformation else []

    # ---- outward

    def accelerations(self, v: Vector, a: Vector, gravity: Vec3) -> dict[str | None, Acceleration]:
        """Acceleration of every link minus gravity."""
        motion: dict[str | None, Acceleration] = {WORLD: Acceleration(ZERO, ZERO, -gravity)}
        for link in self.tree.links:
            parent = motion[link.parent]
            if (node := self.carrier[link.name]) is not None:
                parent = node.acceleration(parent, self.modal(link.parent, v), self.modal(link.parent, a))
            rates, second = self.tree.velocity(link, v), self.tree.velocity(link, a)
            motion[link.name] = next_acceleration(self.transform[link.name], link.partials, parent, rates, second)
        return motion

    def velocities(self, v: Vector) -> dict[str | None, Twist]:
        """Velocity of every link."""
        velocity: dict[str | None, Twist] = {WORLD: Twist()}
        for link in self.tree.links:
            parent = velocity[link.parent]
            if (node := self.carrier[link.name]) is not None:
                parent = node.velocity(parent, self.modal(link.parent, v))
            rates = self.tree.velocity(link, v)
            velocity[link.name] = next_velocity(self.transform[link.name], link.partials, parent, rates)
        return velocity

    @cached_property
    def poses(self) -> dict[str | None, Pose]:
        """Pose of every link in the world."""
        transforms: dict[str, LinkTransform] = dict(self.transform)
        for name, node in self.carrier.items():
            if node is not None:
                transforms[name] = LinkTransform(transforms[name].R, node.rho + transforms[name].s)
        return world_poses(self.tree, transforms)

    @cached_property
    def partials(self) -> dict[str | None, dict[str, list[Twist]]]:
        """For every link, its velocity per unit of each v at or inboard of it, by the name of the link that has the v.

        A flexible link has the partials of its joint and then those of its modes, which do not move its own frame.
        """
        partials: dict[str | None, dict[str, list[Twist]]] = {WORLD: {}}
        for link in self.tree.links:
            transform = self.transform[link.name]
            carried = self.at_node(partials[link.parent], link.parent, self.carrier[link.name])
            partials[link.name] = {
                name: [p.to_inner(transform.R, transform.s) for p in inboard] for name, inboard in carried.items()
            } | {link.name: [*link.partials, *(Twist() for _ in self.modal(link.name, self.zero))]}
        return partials

    def at_node(self, partials: dict[str, list[Twist]], body: str | None, node: NodeMotion | None):
        """Partials of a link at one of its nodes, in link axes."""
        if node is None:
            return partials
        moved = {name: [node.carried(p) for p in inboard] for name, inboard in partials.items()}
        rigid = len(moved[body]) - len(node.partials)  # type: ignore[index]
        moved[body] = [*moved[body][:rigid], *node.partials]  # type: ignore[index]
        return moved

    @property
    def zero(self) -> list[float]:
        return [0.0] * self.tree.robot.nv

    # ---- frames

    def frame_pose_in_link(self, frame: Frame) -> Pose:
        """Pose of a frame in the axes of its link."""
        node = self.node(frame.body, frame.at)
        return frame.pose if node is None else node.pose @ frame.pose

    def frame_pose(self, frame: Frame) -> Pose:
        """Pose of a frame in the world."""
        return self.poses[frame.body] @ self.frame_pose_in_link(frame)

    def frame_partials(self, frame: Frame) -> dict[str, list[Twist]]:
        """Partials of a frame, in its own axes."""
        node = self.node(frame.body, frame.at)
        partials = self.at_node(self.partials[frame.body], frame.body, node)
        R, s = frame.pose.rotation, frame.pose.translation
        if node is not None:
            R, s = node.R @ R, node.R @ s
        return {name: [p.to_inner(R, s) for p in inboard] for name, inboard in partials.items()}

    def frame_velocity(self, frame: Frame, v: Vector) -> Twist:
        """Velocity of a frame, in its own axes."""
        if frame.body is WORLD:
            return Twist()
        node, velocity = self.node(frame.body, frame.at), self.velocities(v)[frame.body]
        if node is None:
            return velocity.to_inner(frame.pose.rotation, frame.pose.translation)
        at_node = node.velocity(velocity, self.modal(frame.body, v))
        return at_node.to_inner(node.R @ frame.pose.rotation, node.R @ frame.pose.translation)

    def frame_acceleration(self, frame: Frame, motion: dict[str | None, Acceleration], v: Vector) -> tuple[Vec3, Vec3]:
        """Acceleration of a frame's origin and angular acceleration for a = 0, in link axes."""
        link, node, r = motion[frame.body], self.node(frame.body, frame.at), frame.pose.translation
        if node is not None:
            link = node.acceleration(link, self.modal(frame.body, v), self.modal(frame.body, self.zero))
            r = node.R @ r
        return link.acc + link.W @ r, link.alpha

    # ---- inward

    def on_parent(self, link: TreeLink, wrench: Wrench) -> tuple[Wrench, list[Scalar]]:
        """Wrench on the parent that a wrench on a link causes, and its forces along the modes of the parent."""
        at_carrier = on_parent(self.transform[link.name], wrench)
        node = self.carrier[link.name]
        return (at_carrier, []) if node is None else node.gathered(at_carrier)
