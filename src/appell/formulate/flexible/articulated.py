"""Forward dynamics of trees with flexible links by articulated bodies: O(n), without an inertia matrix.

A link with everything outboard of it requires, for accelerations a = (ω̇, s̈) of its frame and δ̈ of its modes,

    wrench = A a + U δ̈ + p            modal forces = Uᵀ a + D δ̈ + p_m                                              (1)

δ̈ is eliminated first, one mode after the other from the last, then the joint, as for rigid links. With the last mode N,

    δ̈_N = (m_N - U_Nᵀ a - Σ D_Nj δ̈_j) / D_NN        m = modal forces - p_m                                         (2)

which leaves A - U_N U_Nᵀ / D_NN, p + U_N m_N / D_NN, and likewise smaller U, D and m of the other modes. What remains
acts on the carrier: on the parent through the partials of the node to which the joint is fixed. Accelerations are those
of the link's origin, so that the drift is what `Configuration.accelerations` adds for zero accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.flexible.dynamics import required_by_body
from appell.formulate.flexible.kinematics import Configuration, NodeMotion
from appell.formulate.newton_euler.articulated_body import JointResponse
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Wrench
from appell.formulate.recursion import Acceleration, ExternalWrenches, next_acceleration
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def forward_dynamics(
    tree: Tree, q: Vector, v: Vector, forces: Vector, wrenches: ExternalWrenches = None
) -> list[Scalar]:
    """a(q, v, forces), with forces along all velocities."""
    configuration = Configuration(tree, q)
    velocity, drift = configuration.velocities(v), {}
    A, p, U, D, modal = {}, {}, {}, {}, {}
    for link in tree.links:
        body = configuration.deformation.get(link.name)
        motion = Acceleration(velocity[link.name].angular, ZERO, ZERO)
        (force, moment), on_modes = required_by_body(configuration, link, motion, v, configuration.zero)
        p[link.name] = Wrench(force, moment)
        A[link.name] = ArticulatedInertia.of(link.inertia if body is None else body.inertia)
        U[link.name] = (
            [] if body is None else [Wrench(*x) for x in zip(body.linear_coupling, body.angular_coupling, strict=True)]
        )
        D[link.name] = [] if body is None else body.modal_mass
        modal[link.name] = [x - y for x, y in zip(configuration.modal(link.name, forces), on_modes, strict=True)]
        parent = Acceleration(velocity[link.parent].angular, ZERO, ZERO)
        if (node := configuration.carrier[link.name]) is not None:
            parent = node.acceleration(parent, configuration.modal(link.parent, v), [0.0] * len(node.partials))
        rates, transform = tree.velocity(link, v), configuration.transform[link.name]
        change = next_acceleration(transform, link.partials, parent, rates, [0.0] * len(rates))
        drift[link.name] = Twist(change.alpha, change.acc)
    for name, (force, moment) in (wrenches or {}).items():
        p[name] = p[name] - Wrench(force, moment)

    of_modes, of_joint = {}, {}
    for link in reversed(tree.links):
        name = link.name
        rest, wrench, of_modes[name] = _eliminated(A[name], p[name], U[name], D[name], modal[name])
        of_joint[name] = JointResponse.of(rest, wrench, link.partials, link.rotor, tree.velocity(link, forces))
        if link.parent is not None:
            rest, wrench = of_joint[name].passed_inward(rest, wrench, drift[name])
            R, s = configuration.transform[name].R, configuration.transform[name].s
            inertia, wrench = rest.to_parent(R, s), wrench.to_parent(R, s)
            if (node := configuration.carrier[name]) is not None:
                _add_to_modes(node, inertia, wrench, U[link.parent], D[link.parent], modal[link.parent])
                inertia, wrench = inertia.shifted(node.rho), _at_origin(node, wrench)
            A[link.parent] += inertia
            p[link.parent] += wrench

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    modal_acceleration: dict[str | None, list[Scalar]] = {WORLD: []}
    along = {}
    for link in tree.links:
        name, carried = link.name, acceleration[link.parent]
        if (node := configuration.carrier[name]) is not None:
            carried = node.velocity(carried, modal_acceleration[link.parent])
        carried = carried.to_inner(configuration.transform[name].R, configuration.transform[name].s) + drift[name]
        at_joint = of_joint[name].joint_acceleration(carried)
        acceleration[name] = of_joint[name].link_acceleration(carried, at_joint)
        modal_acceleration[name] = of_modes[name].accelerations(acceleration[name])
        along[name] = [*at_joint, *modal_acceleration[name]]
    return tree.gather(along)


@dataclass(frozen=True)
class ModeResponses:
    """Terms of (2) for every mode: U and D of the earlier modes and m, divided by the pivot."""

    U: list[Wrench]
    D: list[list[Scalar]]
    net: list[Scalar]

    def accelerations(self, link: Twist) -> list[Scalar]:
        """δ̈ for the acceleration of the link, by (2)."""
        second: list[Scalar] = []
        for U, row, net in zip(self.U, self.D, self.net, strict=True):
            second.append(sum((-x * y for x, y in zip(row, second, strict=True)), start=net - U.power(link)))
        return second


def _eliminated(
    A: ArticulatedInertia, p: Wrench, U: list[Wrench], D: Matrix, modal: list[Scalar]
) -> tuple[ArticulatedInertia, Wrench, ModeResponses]:
    """What remains of (1) after the elimination of all modes, and their responses."""
    U, D, net = list(U), [list(row) for row in D], list(modal)
    response = ModeResponses([], [], [])
    for k in reversed(range(len(U))):
        inverse = 1.0 / D[k][k]
        scaled, of_net, ratios = inverse * U[k], inverse * net[k], [inverse * x for x in D[k][:k]]
        A, p = A.less([scaled], [U[k]]), p + net[k] * scaled
        for i, ratio in enumerate(ratios):
            U[i] = U[i] - ratio * U[k]
            net[i] = net[i] - ratio * net[k]
            for j in range(i + 1):
                D[i][j] = D[i][j] - ratio * D[k][j]
        response.U.insert(0, scaled)
        response.D.insert(0, ratios)
        response.net.insert(0, of_net)
    return A, p, response


def _add_to_modes(
    node: NodeMotion, inertia: ArticulatedInertia, wrench: Wrench, U: list[Wrench], D: Matrix, modal: list[Scalar]
) -> None:
    """Add what a child on a node requires to U, D and the remaining modal forces of its parent."""
    required = [inertia @ partial for partial in node.partials]
    for j, (partial, required_by_mode) in enumerate(zip(node.partials, required, strict=True)):
        U[j] = U[j] + _at_origin(node, required_by_mode)
        modal[j] = modal[j] - wrench.power(partial)
        for k in range(j + 1):
            D[j][k] = D[k][j] = D[j][k] + required_by_mode.power(node.partials[k])


def _at_origin(node: NodeMotion, wrench: Wrench) -> Wrench:
    return Wrench(wrench.force, wrench.moment + node.rho.cross(wrench.force))
