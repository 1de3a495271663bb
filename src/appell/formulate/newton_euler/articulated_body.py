"""Forward dynamics by articulated bodies, in link coordinates: O(n), without an inertia matrix.

An acceleration a of a link with everything outboard of it requires the wrench A a + p. From the tips inward, with
U = A S and D = Sᵀ U of the joint's partials S, and c = V × S v,

    A_p += X* (A - U D⁻¹ Uᵀ) X            p_p += X* (p + Aᵃ c + U D⁻¹ (τ - Sᵀ p))                                (1)

starting from each link's own inertia I and p = V ×* I V; then outward, from the world that accelerates with -g,

    a' = X a_p + c                        v̇ = D⁻¹ (τ - Sᵀ p - Uᵀ a')                a = a' + S v̇               (2)

A joint without a rotor transmits no inertia along its own partials: (A - U D⁻¹ Uᵀ) S = 0; where S is a unit vector
along an axis, these entries are set to zero. Accelerations are spatial accelerations: those of the body point that
passes the origin, not of one material point. Featherstone 1983, 2008 §7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Wrench
from appell.formulate.recursion import ExternalWrenches, joint_twist, link_transforms
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """a(q, v, τ)."""
    transforms = link_transforms(tree, q)
    velocity: dict[str | None, Twist] = {WORLD: Twist()}
    drift, body, bias = {}, {}, {}
    for link in tree.links:
        joint_velocity = joint_twist(link.partials, tree.velocity(link, v))
        R, s = transforms[link.name].R, transforms[link.name].s
        velocity[link.name] = V = velocity[link.parent].to_inner(R, s) + joint_velocity
        drift[link.name] = V.cross(joint_velocity)
        body[link.name] = ArticulatedInertia.of(link.inertia)
        bias[link.name] = (body[link.name] @ V).crossed_by(V)
    for name, (force, moment) in (wrenches or {}).items():
        bias[name] = bias[name] - Wrench(force, moment)

    response = {}
    for link in reversed(tree.links):
        A, p, S = body[link.name], bias[link.name], link.partials
        response[link.name] = JointResponse.of(A, p, S, link.rotor, tree.velocity(link, tau))
        if link.parent is not None:
            rest, wrench = response[link.name].passed_inward(A, p, drift[link.name])
            R, s = transforms[link.name].R, transforms[link.name].s
            body[link.parent] += rest.to_parent(R, s)  # (1)
            bias[link.parent] += wrench.to_parent(R, s)

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    along_joints = {}
    for link in tree.links:
        R, s = transforms[link.name].R, transforms[link.name].s
        carried = acceleration[link.parent].to_inner(R, s) + drift[link.name]
        along_joints[link.name] = response[link.name].joint_acceleration(carried)
        acceleration[link.name] = response[link.name].link_acceleration(carried, along_joints[link.name])
    return tree.gather(along_joints)


@dataclass(frozen=True)
class JointResponse:
    """Terms that determine the acceleration of a joint: S, U, D, τ - Sᵀ p, and the reflected inertia of its rotor.

    The rotor acts on its own joint only.
    """

    S: Sequence[Twist]
    U: Sequence[Wrench]
    D: LDL
    net: Sequence[Scalar]
    rotor: Scalar = 0.0

    @staticmethod
    def of(A: ArticulatedInertia, p: Wrench, S: Sequence[Twist], rotor: Scalar, forces: Vector) -> JointResponse:
        U = [A @ twist for twist in S]
        D = [[u.power(twist) + (rotor if i == k else 0.0) for k, u in enumerate(U)] for i, twist in enumerate(S)]
        return JointResponse(S, U, LDL.of(D), [f - p.power(twist) for f, twist in zip(forces, S, strict=True)], rotor)

    def passed_inward(self, A: ArticulatedInertia, p: Wrench, drift: Twist) -> tuple[ArticulatedInertia, Wrench]:
        """Articulated inertia and bias wrench that the link passes to its parent by (1), in link coordinates."""
        units = [[float(i == k) for i in range(len(self.U))] for k in range(len(self.U))]
        rest = A.less(self.U, [_total(self.U, self.D.solve(unit)) for unit in units])
        if is_number(self.rotor) and self.rotor == 0.0:
            rest = rest.without(self.S)
        return rest, p + rest @ drift + _total(self.U, self.D.solve(self.net))

    def joint_acceleration(self, carried: Twist) -> list[Scalar]:
        """v̇, by (2)."""
        return self.D.solve([x - u.power(carried) for x, u in zip(self.net, self.U, strict=True)])

    def link_acceleration(self, carried: Twist, joint_acceleration: Vector) -> Twist:
        """a, by (2)."""
        return sum((x * twist for x, twist in zip(joint_acceleration, self.S, strict=True)), start=carried)


def _total(U: Sequence[Wrench], weights: Vector) -> Wrench:
    return sum((weight * u for weight, u in zip(weights, U, strict=True)), start=Wrench())
