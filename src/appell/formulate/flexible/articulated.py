"""Forward dynamics of trees with flexible links by articulated bodies: O(n), without an inertia matrix.

A link with everything outboard of it requires, for accelerations a = (ω̇, s̈) of its frame and δ̈ of its modes,

    wrench = A a + U δ̈ + p            modal forces = Uᵀ a + D δ̈ + p_m                                              (1)

δ̈ is eliminated first, by the factors of the N x N matrix D, then the joint, as for rigid links. What remains acts on
the carrier: on the parent through the partials of the node to which the joint is fixed. Accelerations are those of the
link's origin, so that the drift is what `Configuration.accelerations` adds for zero accelerations.
"""

from __future__ import annotations

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.solve import LDL
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
        of_modes[name] = JointResponse((), U[name], LDL.of(D[name]), modal[name])
        rest, wrench = of_modes[name].passed_inward(A[name], p[name], Twist()) if U[name] else (A[name], p[name])
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
        modal_acceleration[name] = of_modes[name].joint_acceleration(acceleration[name])
        along[name] = [*at_joint, *modal_acceleration[name]]
    return tree.gather(along)


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
